#include "roofline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"
#include "runs.h"

/* An H200: 989.5 Tflop/s in bf16, 494.5 in tf32, 4.8 TB/s, all with the 10 % that clocks may give.
 * So this much takes 10 us at best. */
#define FLOP_BF16_10US  (989.5e12 * 1.1 * 10e-6)
#define FLOP_TF32_10US  (494.5e12 * 1.1 * 10e-6)
#define BYTES_10US      (4.8e12 * 1.1 * 10e-6)
#define BYTES_IN_CACHE  (256.0 * 1024 * 1024)
#define COPY_BYTES_10US ((uint64_t)((BYTES_IN_CACHE + BYTES_10US) / 2))

static const struct {
    const char *name, *family, *dtype;
    enum kr_kind kind;
    unsigned flags;
    double flop, bytes;
    uint64_t copy_bytes;
    double most; /* expected bound of a launch of 30 us; NAN = none */
    bool is_group;
} cases[] = {
    { "mm", "gemm", "c10::BFloat16", KR_KERNEL, 0, FLOP_BF16_10US, 0, 0, 3, false },
    { "mm", "gemm", "c10::BFloat16", KR_KERNEL, 0, FLOP_BF16_10US, 0, 0, 3, true },
    { "mm", "gemm", "float", KR_KERNEL, 0, FLOP_TF32_10US, 0, 0, 3, false },
    { "conv", "conv", "c10::Half", KR_KERNEL, 0, FLOP_BF16_10US, 0, 0, 3, false },
    { "mv", "gemm", "c10::BFloat16", KR_KERNEL, 0, 1, BYTES_IN_CACHE + BYTES_10US, 0, 3, false },
    { "mv", "gemm", "double", KR_KERNEL, 0, 1, BYTES_IN_CACHE + BYTES_10US, 0, 3, false },
    { "Memcpy DtoD", "unknown", "", KR_MEMCPY, 0, 0, 0, COPY_BYTES_10US, 3, false },
    /* no floor: unknown type, cached, fused away, over the host's link, not the op's main kernel */
    { "mm", "gemm", "long int", KR_KERNEL, 0, FLOP_BF16_10US, 0, 0, NAN, false },
    { "mv", "gemm", "double", KR_KERNEL, 0, 1, BYTES_IN_CACHE, 0, NAN, false },
    { "mv", "gemm", "double", KR_KERNEL, 0, 1, BYTES_IN_CACHE + BYTES_10US, 0, NAN, true },
    { "Memcpy HtoD", "unknown", "", KR_MEMCPY, 0, 0, 0, COPY_BYTES_10US, NAN, false },
    { "bias", "elementwise", "c10::BFloat16", KR_KERNEL, 0, FLOP_BF16_10US, 0, 0, NAN, false },
    { "splitk", "gemm", "c10::BFloat16", KR_KERNEL, KR_FLAG_HELPER, FLOP_BF16_10US, 0, 0, NAN,
      false },
    /* faster than its own floor: the shapes do not tell the truth */
    { "mm", "gemm", "c10::BFloat16", KR_KERNEL, 0, 4 * FLOP_BF16_10US, 0, 0, NAN, false },
};

struct fixture {
    struct kr_timeline *timeline;
    struct kr_tag tags[2];
    struct kr_stats sites[2];
    struct kr_device_account device;
    struct kr_account account;
    struct kr_predict_part part;
    struct kr_predict_result result;
    struct kr_sigma_entry entry;
    uint32_t owner[2];
};

static void open_fixture(struct fixture *f, const char *device)
{
    struct kr_err err = { 0 };

    *f = (struct fixture){ 0 };
    f->timeline = run_new();
    assert_int_equal(kr_timeline_device(f->timeline, 0, &err), 0);
    f->timeline->devices[0].name = run_str(f->timeline, device);
    f->account = (struct kr_account){
        .sites = f->sites, .n_sites = 2, .devices = &f->device, .n_devices = 1
    };
    f->result = (struct kr_predict_result){ .parts = &f->part, .n_parts = 1 };
    f->part.roofline_sigma = NAN;
    f->entry.file = (char *)"s.json";
    f->entry.label = (char *)"x";
    f->owner[1] = KR_SELECT_NONE;
}

static void close_fixture(struct fixture *f)
{
    for (size_t i = 0; i < f->result.n_warnings; i++)
        free(f->result.warnings[i]);
    free(f->result.warnings);
    kr_timeline_free(f->timeline);
}

/* Two launches of 30 us of one case, at the next site. */
static void add_case(struct fixture *f, size_t which)
{
    struct kr_err err = { 0 };
    struct kr_work work = { cases[which].flop, cases[which].bytes,
                            run_str(f->timeline, cases[which].dtype) };
    struct kr_site site = { .name = run_str(f->timeline, cases[which].name),
                            .kind = (uint8_t)cases[which].kind,
                            .bytes = cases[which].copy_bytes };
    size_t i = f->timeline->n_sites;

    if (work.flop > 0)
        site.work = kr_timeline_work(f->timeline, work, &err);
    assert_int_equal(kr_timeline_site(f->timeline, &site, &err), i);
    f->tags[i].family = run_family(cases[which].family);
    f->tags[i].flags = (uint8_t)cases[which].flags;
    f->sites[i] = (struct kr_stats){ .count = 2, .sum_ns = 60000, .exclusive_ns = 60000 };
}

static double bound(struct fixture *f, double sigma, bool is_group)
{
    const struct kr_predict_input in = {
        .timeline = f->timeline, .tags = f->tags, .rules = run_rules, .account = &f->account
    };
    const struct kr_selection selection = { .owner = f->owner, .n_sites = f->timeline->n_sites };
    struct kr_sigma_file file = { .entries = &f->entry, .n_entries = 1 };
    struct kr_err err = { 0 };

    f->entry.sigma = sigma;
    f->entry.is_group = is_group;
    assert_true(kr_roofline_fill(&in, &file, &selection, &f->result, &err));
    return f->part.roofline_sigma;
}

static void recorded_work_bounds_the_speedup(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct fixture f;
        double most;

        open_fixture(&f, "NVIDIA H200");
        add_case(&f, i);
        most = bound(&f, 2, cases[i].is_group);
        if (isnan(most) != isnan(cases[i].most) || fabs(most - cases[i].most) > 1e-6)
            fail_msg("case %zu: %g instead of %g", i, most, cases[i].most);
        close_fixture(&f);
    }
}

static void an_unknown_device_has_no_roofline(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, "NVIDIA H999");
    add_case(&f, 0);
    assert_true(isnan(bound(&f, 100, false)));
    assert_false(f.part.above_roofline);
    close_fixture(&f);
}

static void a_part_that_is_mostly_unknown_has_no_bound(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, "NVIDIA H200");
    add_case(&f, 0);
    add_case(&f, 11); /* as long, but without a floor */
    f.owner[1] = 0;
    assert_true(isnan(bound(&f, 4, false)));
    f.sites[1].sum_ns = 6000; /* a tenth of the rest may be unknown */
    assert_true(fabs(bound(&f, 4, false) - 3) < 1e-6);
    close_fixture(&f);
}

static void a_speedup_above_is_refused_unless_forced_and_infinity_is_a_question(void **state)
{
    struct fixture f;
    struct kr_sigma_file file;
    struct kr_err err = { 0 };

    (void)state;
    open_fixture(&f, "NVIDIA H200");
    add_case(&f, 0);
    file = (struct kr_sigma_file){ .entries = &f.entry, .n_entries = 1 };
    bound(&f, 4, false);
    assert_true(f.part.above_roofline);
    assert_false(kr_roofline_judge(&file, false, &f.result, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "entry 'x': sigma 4 is above 3, the most"));
    assert_true(kr_roofline_judge(&file, true, &f.result, &err));
    assert_int_equal(f.result.n_warnings, 1);
    bound(&f, 2.9, false);
    assert_false(f.part.above_roofline);
    bound(&f, INFINITY, false);
    assert_false(f.part.above_roofline);
    assert_true(kr_roofline_judge(&file, false, &f.result, &err));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_work_bounds_the_speedup),
        cmocka_unit_test(an_unknown_device_has_no_roofline),
        cmocka_unit_test(a_part_that_is_mostly_unknown_has_no_bound),
        cmocka_unit_test(a_speedup_above_is_refused_unless_forced_and_infinity_is_a_question),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

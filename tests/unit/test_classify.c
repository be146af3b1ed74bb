/* Tags of sites, and kernels that are suspect by their rates. */
#include "runs.h"

#include "classify.h"
#include "mem.h"
#include "peaks.h"

#define GEMM "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"

static struct kr_tag *classify(struct kr_timeline *t)
{
    struct kr_err err = { 0 };
    struct kr_tag *tags;

    run_finish(t);
    if (!kr_classify(t, run_rules, &tags, &err))
        fail_msg("%s", err.msg);
    return tags;
}

static void every_site_gets_the_tag_of_what_it_is(void **state)
{
    static const struct {
        enum kr_kind kind;
        const char *name, *op, *family;
        enum kr_class cls;
    } sites[] = {
        { KR_KERNEL, GEMM, "aten::mm", "gemm", KR_OPTIMAL },
        { KR_KERNEL, GEMM, "", "gemm", KR_OPTIMAL },
        { KR_MEMCPY, "Memcpy HtoD (Pageable -> Device)", "aten::copy_", "memcpy", KR_OVERHEAD },
        { KR_MEMSET, "Memset (Device)", "", "memset", KR_OVERHEAD },
        { KR_KERNEL, "a_name_that_no_rule_knows", "", "unknown", KR_UNCLASSIFIED },
    };
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_tag *tags;

    (void)state;
    for (size_t i = 0; i < KR_COUNT(sites); i++)
        run_event(t, track, run_site(t, sites[i].kind, sites[i].name, sites[i].op),
                  (int64_t)(100 * i), 50);
    tags = classify(t);
    for (size_t i = 0; i < KR_COUNT(sites); i++) {
        assert_string_equal(kr_rules_family(run_rules, tags[i].family), sites[i].family);
        assert_int_equal(tags[i].cls, sites[i].cls);
    }
    free(tags);
    kr_timeline_free(t);
}

static void sites_that_differ_in_geometry_only_have_one_tag(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_tag *tags;

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        struct kr_site site = { .grid = { i + 1, 1, 1 }, .kind = KR_KERNEL };

        site.name = run_str(t, i % 2 ? GEMM : "a_name_that_no_rule_knows");
        run_event(t, track, run_add_site(t, &site), 100 * i, 50);
    }
    tags = classify(t);
    for (size_t i = 2; i < 40; i++)
        assert_memory_equal(&tags[i], &tags[i - 2], sizeof *tags);
    assert_int_equal(tags[1].cls, KR_OPTIMAL);
    free(tags);
    kr_timeline_free(t);
}

/* One site of the given work on a device; returns whether it is suspect. */
static bool is_suspect(const char *device, const struct kr_site *like, const char *name,
                       struct kr_work work, const char *dtype, const uint64_t durs_ns[2])
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };
    const uint16_t track = run_track(t, 0, 7);
    struct kr_site site = *like;
    struct kr_tag *tags;
    bool suspect;

    t->devices[0].name = run_str(t, device);
    work.dtype = run_str(t, dtype);
    site.name = run_str(t, name);
    if (work.flop > 0)
        site.work = kr_timeline_work(t, work, &err);
    for (int64_t i = 0; i < 2; i++)
        run_event(t, track, run_add_site(t, &site), 100000000 * i, durs_ns[i]);
    tags = classify(t);
    suspect = tags[0].flags & KR_FLAG_SUSPECT;
    free(tags);
    kr_timeline_free(t);
    return suspect;
}

static void a_library_kernel_far_under_both_peaks_is_suspect(void **state)
{
    /* H200, bf16: 989.5 Tflop/s and 4.8 TB/s; so 100 us are 98.95 Gflop or 480 MB at the peaks. */
    static const struct {
        const char *device, *name, *dtype;
        double flop, bytes;
        uint64_t durs_ns[2];
        bool suspect;
    } cases[] = {
        { "NVIDIA H200", GEMM, "c10::BFloat16", 90e9, 1e6, { 100000, 100000 }, false },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 31e9, 1e6, { 100000, 100000 }, false },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 28e9, 1e6, { 100000, 100000 }, true },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 1e9, 300e6, { 100000, 100000 }, false },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 1e9, 100e6, { 100000, 100000 }, true },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 28e9, 1e6, { 900000, 60000 }, false }, /* best */
        { "NVIDIA H200", GEMM, "c10::BFloat16", 1e6, 1e3, { 4999, 9000 }, false }, /* too short */
        { "NVIDIA H200", GEMM, "c10::BFloat16", 1e6, 1e3, { 5000, 9000 }, true },
        { "NVIDIA H200", GEMM, "float", 2.5e9, 1e6, { 100000, 100000 }, false }, /* 67 Tflop/s */
        { "NVIDIA H200", GEMM, "float", 1.9e9, 1e6, { 100000, 100000 }, true },
        { "NVIDIA H200", GEMM, "long int", 1e6, 1e3, { 100000, 100000 }, false }, /* no peak */
        { "NVIDIA Z9", GEMM, "c10::BFloat16", 1e6, 1e3, { 100000, 100000 }, false },
        { "", GEMM, "c10::BFloat16", 1e6, 1e3, { 100000, 100000 }, false },
        { "Tesla T4", GEMM, "c10::BFloat16", 1e6, 1e3, { 100000, 100000 }, false }, /* no bf16 */
        { "Tesla T4", GEMM, "c10::Half", 1e6, 1e3, { 100000, 100000 }, true },
        { "NVIDIA H200",
          "a_name_that_no_rule_knows",
          "c10::Half",
          1e6,
          1e3,
          { 100000, 100000 },
          false },
        { "NVIDIA H200", GEMM, "c10::BFloat16", 0, 0, { 100000, 100000 }, false }, /* no shapes */
    };
    const struct kr_site kernel = { .kind = KR_KERNEL };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct kr_work work = { .flop = cases[i].flop, .bytes = cases[i].bytes };

        if (is_suspect(cases[i].device, &kernel, cases[i].name, work, cases[i].dtype,
                       cases[i].durs_ns) != cases[i].suspect)
            fail_msg("case %zu", i);
    }
}

static void a_device_copy_is_held_against_the_memory(void **state)
{
    /* 100 MB read and written: 41.7 us on an H200. */
    const struct kr_site copy = { .kind = KR_MEMCPY, .bytes = 100000000 };
    const struct kr_work none = { 0 };

    (void)state;
    assert_false(is_suspect("NVIDIA H200", &copy, "Memcpy DtoD (Device -> Device)", none, "",
                            (const uint64_t[]){ 60000, 70000 }));
    assert_true(is_suspect("NVIDIA H200", &copy, "Memcpy DtoD (Device -> Device)", none, "",
                           (const uint64_t[]){ 200000, 200000 }));
    assert_false(is_suspect("NVIDIA H200", &copy, "Memcpy HtoD (Pinned -> Device)", none, "",
                            (const uint64_t[]){ 9000000, 9000000 }));
}

static void peaks_are_chosen_by_whole_words_of_the_name(void **state)
{
    static const struct {
        const char *name;
        double bf16, bytes; /* 0 = unknown device */
    } cases[] = {
        { "NVIDIA H200", 989.5e12, 4.8e12 },
        { "NVIDIA H100 80GB HBM3", 989.5e12, 3.35e12 },
        { "NVIDIA H100 PCIe", 756.5e12, 2.0e12 },
        { "NVIDIA A100-SXM4-80GB", 312e12, 2.039e12 },
        { "NVIDIA A100 80GB PCIe", 312e12, 1.935e12 },
        { "NVIDIA A100-PG509-200", 312e12, 1.555e12 },
        { "NVIDIA GH200 480GB", 989.5e12, 4.0e12 },
        { "NVIDIA B200", 2250e12, 8.0e12 },
        { "NVIDIA GB200", 2500e12, 8.0e12 },
        { "NVIDIA L4", 121e12, 0.3e12 },
        { "NVIDIA L40S", 362e12, 0.864e12 },
        { "NVIDIA GeForce RTX 4090", 165.2e12, 1.008e12 },
        { "AMD Instinct MI300X", 1307.4e12, 5.3e12 },
        { "NVIDIA A10G", 0, 0 },
        { "NVIDIA H2000", 0, 0 },
        { "", 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct kr_peaks *peaks = kr_peaks_find(cases[i].name);

        assert_int_equal(peaks != NULL, cases[i].bf16 > 0);
        if (peaks &&
            (peaks->flop[KR_BF16] - cases[i].bf16 > 1 || cases[i].bf16 - peaks->flop[KR_BF16] > 1 ||
             peaks->bytes - cases[i].bytes > 1 || cases[i].bytes - peaks->bytes > 1))
            fail_msg("%s", cases[i].name);
    }
    assert_false(kr_peaks_find("Tesla V100-SXM2-32GB")->known & 1u << KR_BF16);
    assert_true(kr_peaks_find("Tesla V100-SXM2-32GB")->known & 1u << KR_FP16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_site_gets_the_tag_of_what_it_is),
        cmocka_unit_test(sites_that_differ_in_geometry_only_have_one_tag),
        cmocka_unit_test(a_library_kernel_far_under_both_peaks_is_suspect),
        cmocka_unit_test(a_device_copy_is_held_against_the_memory),
        cmocka_unit_test(peaks_are_chosen_by_whole_words_of_the_name),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

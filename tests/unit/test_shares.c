#include "shares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"
#include "predict.h"
#include "runs.h"

#define HEAD "{\"schema\": \"kreach.shares\", \"schema_version\": 1,\n"

static struct kr_run read_run(const char *text)
{
    struct kr_run run = { 0 };
    struct kr_err err = { 0 };

    if (!kr_shares_read_mem("s.json", text, strlen(text), run_rules, &run, &err))
        fail_msg("%s", err.msg);
    return run;
}

/* Share of the wall that a kernel name has, and its class. */
static double share_of(const struct kr_run *run, const char *name, enum kr_class *cls)
{
    for (size_t i = 0; i < run->account.n_kernels_rows; i++) {
        const struct kr_row_kernel *row = &run->account.kernels_rows[i];

        if (strcmp(kr_timeline_str(run->timeline, row->name), name) != 0)
            continue;
        *cls = (enum kr_class)row->tag.cls;
        return (double)row->stats.exclusive_ns / (double)KR_SHARES_WALL_NS;
    }
    return -1;
}

static const struct {
    const char *text, *name;
    double frac; /* of the wall; -1 = there is no such kernel */
    enum kr_class cls;
    double busy;
} readings[] = {
    { HEAD "\"shares\": [{\"name\": \"k\", \"frac\": 0.25, \"class\": \"addressable\"}]}", "k",
      0.25, KR_ADDRESSABLE, 1 },
    { HEAD "\"shares\": [{\"name\": \"k\", \"frac\": 0.25, \"class\": \"addressable\"}]}",
      KR_SHARES_REST, 0.75, KR_UNCLASSIFIED, 1 },
    { HEAD "\"of\": \"wall\", \"busy_frac\": 0.5, \"shares\": [{\"name\": \"k\", \"frac\": 0.5, "
           "\"class\": \"overhead\"}]}",
      KR_SHARES_REST, -1, KR_UNCLASSIFIED, 0.5 },
    { HEAD "\"of\": \"busy\", \"busy_frac\": 0.77, \"shares\": [{\"name\": \"k\", \"frac\": 0.052, "
           "\"class\": \"addressable\"}]}",
      "k", 0.052 * 0.77, KR_ADDRESSABLE, 0.77 },
    { HEAD "\"shares\": [{\"name\": \"all GEMM\", \"frac\": 0.1, \"family\": \"gemm\", \"origin\": "
           "\"vendor\"}]}",
      "all GEMM", 0.1, KR_OPTIMAL, 1 },
    { HEAD "\"shares\": [{\"name\": \"all GEMM\", \"frac\": 0.1, \"family\": \"gemm\", \"origin\": "
           "\"vendor\", \"class\": \"addressable\"}]}",
      "all GEMM", 0.1, KR_ADDRESSABLE, 1 },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.1}, {\"name\": \"b\", \"frac\": 0.2}, "
           "{\"name\": \"c\", \"frac\": 0.7}]}",
      "b", 0.2, KR_UNCLASSIFIED, 1 },
};

static void shares_become_a_run_of_that_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(readings); i++) {
        struct kr_run run = read_run(readings[i].text);
        enum kr_class cls = readings[i].cls;
        double frac = share_of(&run, readings[i].name, &cls);

        if (fabs(frac - readings[i].frac) > 2e-12 || cls != readings[i].cls)
            fail_msg("reading %zu: '%s' has %.15g, class %s", i, readings[i].name, frac,
                     kr_class_name(cls));
        assert_true(fabs((double)run.account.time.busy_ns / KR_SHARES_WALL_NS - readings[i].busy) <
                    2e-12);
        assert_int_equal(run.account.time.wall_ns, KR_SHARES_WALL_NS);
        kr_run_free(&run);
    }
}

static void a_known_name_is_classified_by_the_rules(void **state)
{
    struct kr_run run =
        read_run(HEAD "\"shares\": [{\"name\": \"void at::native::(anonymous namespace)::"
                      "EmbeddingBag_updateOutputKernel_sum_mean<float, int>(int)\", "
                      "\"frac\": 0.374}]}");
    const struct kr_tag *tag = &run.account.kernels_rows[1].tag;

    (void)state;
    assert_string_equal(kr_rules_family(run_rules, tag->family), "embedding");
    assert_int_equal(tag->cls, KR_ADDRESSABLE);
    kr_run_free(&run);
}

static const struct {
    const char *text, *message;
} broken[] = {
    { "{}", "s.json:1: \"schema\" must be \"kreach.shares\"" },
    { HEAD "\"shares\": []}", "s.json:2: \"shares\" must be a list" },
    { HEAD "\"shares\": [{\"name\": \"a\"}]}", "a share needs \"name\" and \"frac\"" },
    { HEAD "\"shares\": [{\"frac\": 0.1}]}", "a share needs \"name\" and \"frac\"" },
    { HEAD "\"shares\": [{\"name\": \"a\",\n\"frac\": 1.1}]}",
      "s.json:3: 'frac' is a fraction from "
      "0 to 1, not 1.1" },
    { HEAD "\"shares\": [{\"name\": \"a\",\n\"frac\": -0.1}]}", "s.json:3: 'frac' is a fraction" },
    { HEAD "\"shares\": [{\"name\": \"a\",\n\"frac\": \"inf\"}]}", "s.json:3: expected a number" },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.395}, {\"name\": \"b\", \"frac\": 0.7}]}",
      "the shares add to 1.095, more than the whole" },
    { HEAD "\"busy_frac\": 0.5, \"shares\": [{\"name\": \"a\", \"frac\": 0.6}]}",
      "the shares add to 0.6, more than the whole" },
    { HEAD "\"of\": \"busy\", \"shares\": [{\"name\": \"a\", \"frac\": 0.6}]}",
      "need \"busy_frac\"" },
    { HEAD "\"of\": \"time\", \"shares\": []}", "\"of\" must be \"wall\" or \"busy\"" },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.1},\n{\"name\": \"a\", \"frac\": 0.1}]}",
      "s.json:3: 'a' is listed twice" },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.1,\n\"family\": \"gem\"}]}",
      "s.json:3: unknown family 'gem'; did you mean 'gemm'?" },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.1,\n\"class\": \"fast\"}]}",
      "s.json:3: unknown class 'fast'" },
    { HEAD "\"shares\": [{\"name\": \"a\", \"frac\": 0.1,\n\"fraction\": 1}]}",
      "s.json:3: unknown key 'fraction' in a share" },
};

static void a_broken_list_is_refused_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(broken); i++) {
        struct kr_run run = { 0 };
        struct kr_err err = { 0 };

        if (kr_shares_read_mem("s.json", broken[i].text, strlen(broken[i].text), run_rules, &run,
                               &err))
            fail_msg("accepted: %s", broken[i].text);
        assert_int_equal(err.code, KR_EINPUT);
        if (!strstr(err.msg, broken[i].message))
            fail_msg("'%s' does not say '%s'", err.msg, broken[i].message);
        kr_run_free(&run);
    }
}

/* The shipped examples are the article's: 58.2 %, 41.7 %, 1.552x. */
static void the_articles_figure_comes_out_of_the_shipped_files(void **state)
{
    static const char dir[] = KREACH_SOURCE_DIR "/docs/examples/";
    struct kr_predict_options opt = { 0 };
    struct kr_predict_result r = { 0 };
    struct kr_predict_input in;
    struct kr_sigma_file sigma;
    struct kr_run run = { 0 };
    struct kr_err err = { 0 };
    char path[512];

    (void)state;
    snprintf(path, sizeof path, "%sarticle-dlrm.shares.json", dir);
    if (!kr_shares_read(path, run_rules, &run, &err))
        fail_msg("%s", err.msg);
    snprintf(path, sizeof path, "%sarticle-dlrm.sigma.json", dir);
    if (!kr_sigma_read(path, &sigma, &err))
        fail_msg("%s", err.msg);
    in = (struct kr_predict_input){ run.timeline, run.tags, run_rules, &run.window, &run.account };
    if (!kr_predict_run(&in, &sigma, &opt, &r, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(r.predictions[1].mode, KR_PREDICT_WIN_RATE);
    assert_true(fabs(100 * r.predictions[1].saved - 8.63) < 0.005);
    assert_true(isnan(r.smallest_detectable) && isnan(r.parts[0].launches_before));
    assert_int_equal(r.n_warnings, 0);
    kr_predict_free(&r);
    kr_sigma_free(&sigma);
    kr_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_become_a_run_of_that_shape),
        cmocka_unit_test(a_known_name_is_classified_by_the_rules),
        cmocka_unit_test(a_broken_list_is_refused_with_its_line),
        cmocka_unit_test(the_articles_figure_comes_out_of_the_shipped_files),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

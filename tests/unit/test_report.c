/* The report model on the small traces, whose numbers can be added up on paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "assertions.h"
#include "check.h"
#include "import.h"
#include "mem.h"
#include "report.h"
#include "runs.h"

#define SMALL KREACH_SOURCE_DIR "/tests/golden/small/"

static struct kr_rules *rules;

static int load_rules(void **state)
{
    const char *const files[] = { SMALL "rules.json" };
    const struct kr_rules_options options = { .rule_files = files,
                                              .n_rule_files = 1,
                                              .policy = SMALL "policy.json" };
    struct kr_err err = { 0 };

    (void)state;
    rules = kr_rules_load(&options, &err);
    if (!rules)
        fail_msg("%s", err.msg);
    return 0;
}

static int free_rules(void **state)
{
    (void)state;
    kr_rules_free(rules);
    return 0;
}

static void analyse(const char *path, const char *window, struct kr_run *run)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_file(path, NULL, &err);

    if (!t || !kr_run_analyse(t, rules, window, run, &err))
        fail_msg("%s: %s", path, err.msg);
}

static void build(const struct kr_run *runs, size_t n, uint64_t wall_step_ns,
                  struct kr_report *report)
{
    struct kr_err err = { 0 };

    if (!kr_report_build(runs, n, rules, wall_step_ns, report, &err))
        fail_msg("%s", err.msg);
}

static const struct kr_row *find_row(const struct kr_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (strcmp(rows->rows[i].name, name) == 0)
            return &rows->rows[i];
    }
    fail_msg("no row '%s'", name);
    return NULL;
}

static uint64_t sum_of(const struct kr_rows *rows)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < rows->n; i++)
        sum_ns += rows->rows[i].stats.exclusive_ns;
    return sum_ns;
}

static void close_to(double value, double expected)
{
    assert_near(value, expected, 1e-12);
}

static void one_run_keeps_every_number_of_its_account(void **state)
{
    struct kr_run run = { 0 };
    struct kr_report report;
    const struct kr_row *row;

    (void)state;
    analyse(SMALL "steps.json", "steady", &run);
    build(&run, 1, 0, &report);
    assert_int_equal(report.time.busy_ns, 4 * 295125);
    assert_int_equal(report.time.wall_ns, 3 * 400000 + 350000);
    assert_int_equal(report.n_steps, 4);
    assert_int_equal(report.distinct_kernels, 6);
    row = find_row(&report.kernel_rows, "norm_c");
    assert_int_equal(row->stats.count, 4);
    assert_int_equal(row->stats.sum_ns, 4 * 30500);
    assert_int_equal(row->stats.exclusive_ns, 4 * (20000 + 5250)); /* half of 10.5 us shared */
    assert_true(row->median_known);
    close_to(row->frac_wall, 4 * 25250.0 / 1550000);
    assert_true(isnan(row->frac_step));
    close_to(kr_report_class(&report, KR_UNCLASSIFIED)->frac_busy, 40000.0 / 295125);
    close_to(kr_report_class(&report, KR_UNCLASSIFIED)->step_lo, 40.0 / 400);
    close_to(kr_report_class(&report, KR_UNCLASSIFIED)->step_hi, 40.0 / 350);
    kr_report_free(&report);
    kr_run_free(&run);
}

static void rows_of_several_runs_are_added_by_name(void **state)
{
    struct kr_run runs[2] = { { 0 }, { 0 } };
    struct kr_report report;
    const struct kr_row *row;

    (void)state;
    analyse(SMALL "rank0.json", "all", &runs[0]);
    analyse(SMALL "rank1.json", "all", &runs[1]);
    build(runs, 2, 0, &report);
    assert_int_equal(report.n_devices, 2);
    assert_int_equal(report.distinct_kernels, 6);
    assert_int_equal(report.kernel_rows.n, 8);
    row = find_row(&report.kernel_rows, "gemm_a");
    assert_int_equal(row->stats.count, 6);
    assert_int_equal(row->stats.sum_ns, 3 * 100000 + 3 * 70000);
    assert_int_equal(row->stats.min_ns, 70000);
    assert_int_equal(row->stats.max_ns, 100000);
    assert_false(row->median_known);
    assert_int_equal(report.time.busy_ns,
                     runs[0].account.time.busy_ns + runs[1].account.time.busy_ns);
    assert_int_equal(report.collectives.count, 6);
    assert_int_equal(report.collectives.sum_ns, 3 * 20000 + 3 * 60000);
    kr_report_free(&report);
    kr_run_free(&runs[0]);
    kr_run_free(&runs[1]);
}

/* Three kernels of 100 ns back to back; the window begins in the first and ends in the third. */
static void time_of_a_kernel_that_began_before_the_window_is_in_every_row(void **state)
{
    static const char *const names[] = { "gemm_early", "norm_whole", "norm_late" };
    struct kr_timeline *t = run_new();
    struct kr_run runs[2] = { { 0 } };
    struct kr_report report;
    struct kr_err err = { 0 };

    (void)state;
    for (uint32_t i = 0; i < KR_COUNT(names); i++)
        run_event(t, run_track(t, 0, 7), run_kernel(t, names[i]), 100 * i, 100);
    run_finish(t);
    if (!kr_run_analyse(t, rules, "time:50ns..250ns", &runs[0], &err))
        fail_msg("%s", err.msg);
    runs[1] = runs[0]; /* as if two ranks had done the same */
    for (size_t n = 1; n <= 2; n++) {
        build(runs, n, 0, &report);
        assert_int_equal(find_row(&report.kernel_rows, "gemm_early")->stats.count, 0);
        assert_int_equal(find_row(&report.kernel_rows, "gemm_early")->stats.exclusive_ns, 50 * n);
        assert_int_equal(find_row(&report.kernel_rows, "norm_late")->stats.min_ns, 100);
        assert_int_equal(sum_of(&report.kernel_rows), 200 * n);
        assert_int_equal(sum_of(&report.family_rows), 200 * n);
        assert_int_equal(sum_of(&report.class_rows), 200 * n);
        kr_report_free(&report);
    }
    kr_run_free(&runs[0]);
}

static void a_plain_step_time_gives_shares_of_the_true_step(void **state)
{
    struct kr_run run = { 0 };
    struct kr_report report;

    (void)state;
    analyse(SMALL "steps.json", "steady", &run);
    build(&run, 1, 350000, &report);
    assert_true(report.step.known);
    close_to(report.step.profiled_ns, 1550000.0 / 4);
    close_to(report.step.busy_ns, 295125);
    close_to(report.step.cost_frac, 387500.0 / 350000 - 1);
    close_to(report.step.idle_frac, 1 - 295125.0 / 350000);
    close_to(find_row(&report.kernel_rows, "gemm_a")->frac_step, 100000.0 / 350000);
    close_to(report.verdict.addressable, kr_report_class(&report, KR_ADDRESSABLE)->frac_step);
    kr_report_free(&report);
    kr_run_free(&run);
}

static void busy_time_above_the_plain_step_leaves_idle_unknown(void **state)
{
    struct kr_run run = { 0 };
    struct kr_report report;

    (void)state;
    analyse(SMALL "steps.json", "steady", &run);
    build(&run, 1, 295124, &report);
    assert_true(report.step.busy_too_long);
    assert_true(isnan(report.step.idle_frac));
    close_to(report.verdict.addressable, kr_report_class(&report, KR_ADDRESSABLE)->frac_busy);
    assert_non_null(strstr(report.verdict.why, "idle is unknown"));
    kr_report_free(&report);
    build(&run, 1, 295125, &report);
    assert_false(report.step.busy_too_long);
    close_to(report.step.idle_frac, 0);
    kr_report_free(&report);
    kr_run_free(&run);
}

static void a_plain_step_time_without_steps_is_refused(void **state)
{
    struct kr_run run = { 0 };
    struct kr_report report;
    struct kr_err err = { 0 };

    (void)state;
    analyse(SMALL "plain.json", "steady", &run);
    assert_false(kr_report_build(&run, 1, rules, 1000, &report, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "plain.json"));
    kr_run_free(&run);
}

static void conditions_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        const char *what; /* NULL = refused */
        double limit;
        bool of_busy;
    } cases[] = {
        { "idle>0.5", "idle", 0.5, false },
        { "unclassified/busy >= 1%", "unclassified", 0.01, true },
        { "norm<100 %", "norm", 1, false },
        { "idle", NULL, 0, false },
        { "idle>", NULL, 0, false },
        { ">1", NULL, 0, false },
        { "idle>1e3", NULL, 0, false },
        { "idle>-1", NULL, 0, false },
        { "idle>1.2.3", NULL, 0, false },
        { "idle>1%x", NULL, 0, false },
        { "idle=1", NULL, 0, false },
        { "idle>.", NULL, 0, false },
        { "a_name_that_is_much_longer_than_any_class_or_family_could_be_in_practice>1", NULL, 0,
          false },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_check check;
        struct kr_err err = { 0 };
        bool good = kr_check_parse(cases[i].text, &check, &err);

        if (good != (cases[i].what != NULL))
            fail_msg("%s", cases[i].text);
        if (!good) {
            assert_int_equal(err.code, KR_EARG);
            continue;
        }
        assert_string_equal(check.what, cases[i].what);
        assert_true(fabs(check.limit - cases[i].limit) < 1e-15);
        assert_int_equal(check.of_busy, cases[i].of_busy);
    }
}

static void conditions_hold_or_not(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        { "idle>23.8%", true },
        { "idle>23.9%", false },
        { "idle<23.9%", true },
        { "unclassified>=10.3%", true },
        { "collective>0", true },
        { "gemm<0.25", false },
        { "unclassified/busy>13.5%", true },
    };
    struct kr_run run = { 0 };
    struct kr_report report;

    (void)state;
    analyse(SMALL "steps.json", "all", &run);
    build(&run, 1, 0, &report);
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_check check;
        struct kr_err err = { 0 };
        double value;
        bool holds;

        assert_true(kr_check_parse(cases[i].text, &check, &err));
        assert_true(kr_check_holds(&check, &report, &holds, &value, &err));
        if (holds != cases[i].holds)
            fail_msg("%s: %g", cases[i].text, value);
    }
    kr_report_free(&report);
    kr_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_keeps_every_number_of_its_account),
        cmocka_unit_test(rows_of_several_runs_are_added_by_name),
        cmocka_unit_test(time_of_a_kernel_that_began_before_the_window_is_in_every_row),
        cmocka_unit_test(a_plain_step_time_gives_shares_of_the_true_step),
        cmocka_unit_test(busy_time_above_the_plain_step_leaves_idle_unknown),
        cmocka_unit_test(a_plain_step_time_without_steps_is_refused),
        cmocka_unit_test(conditions_are_read_strictly),
        cmocka_unit_test(conditions_hold_or_not),
    };

    return cmocka_run_group_tests(tests, load_rules, free_rules);
}

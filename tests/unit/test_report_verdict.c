#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "mem.h"
#include "verdict.h"

static struct kr_verdict decide(double addressable, double unclassified, double idle)
{
    const struct kr_verdict_input in = { .addressable = addressable,
                                         .unclassified = unclassified,
                                         .idle = idle,
                                         .optimal = 1 - addressable - unclassified - idle,
                                         .whole = "the run's wall time",
                                         .top_family = "norm",
                                         .top_family_frac = addressable / 2 };

    return kr_verdict_decide(&in);
}

static void the_share_decides_whether_kernels_are_worth_it(void **state)
{
    static const struct {
        double addressable, unclassified, idle;
        enum kr_worth worth;
    } cases[] = {
        { 0.00, 0.00, 0.00, KR_WORTH_NO },         { 0.049, 0.00, 0.10, KR_WORTH_NO },
        { 0.05, 0.00, 0.10, KR_WORTH_LIMITED },    { 0.19, 0.005, 0.10, KR_WORTH_LIMITED },
        { 0.20, 0.00, 0.10, KR_WORTH_YES },        { 0.582, 0.01, 0.10, KR_WORTH_YES },
        { 0.30, 0.00, 0.29, KR_WORTH_YES },        { 0.30, 0.00, 0.31, KR_WORTH_IDLE_FIRST },
        { 0.02, 0.00, 0.92, KR_WORTH_IDLE_FIRST }, { 0.10, 0.00, 0.24, KR_WORTH_LIMITED },
        { 0.04, 0.02, 0.00, KR_WORTH_UNKNOWN },    { 0.15, 0.06, 0.50, KR_WORTH_UNKNOWN },
        { 0.30, 0.50, 0.00, KR_WORTH_YES },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_verdict v = decide(cases[i].addressable, cases[i].unclassified, cases[i].idle);

        assert_string_equal(kr_worth_name(v.worth), kr_worth_name(cases[i].worth));
    }
}

static void the_answer_names_share_ceiling_and_family(void **state)
{
    struct kr_verdict v = decide(0.234, 0.001, 0.1);

    (void)state;
    assert_string_equal(v.text, "Worth it. Addressable kernels take 23.4 % of the run's wall time: "
                                "even infinitely fast ones save at most 23.4 % (1.31x).");
    assert_non_null(strstr(v.why, "norm (11.7 %)"));
    assert_non_null(strstr(v.why, "idle is 10.0 %"));
    assert_true(fabs(v.ceiling_x - 1 / (1 - 0.234)) < 1e-12);
}

static void unknown_shares_give_no_number(void **state)
{
    struct kr_verdict v = decide((double)NAN, (double)NAN, (double)NAN);

    (void)state;
    assert_int_equal(v.worth, KR_WORTH_UNKNOWN);
    assert_true(isnan(v.ceiling_x));
    assert_null(strstr(v.text, "nan"));
}

static void profiled_idle_is_told_from_true_idle(void **state)
{
    struct kr_verdict_input in = { .addressable = 0.02,
                                   .idle = 0.9,
                                   .optimal = 0.08,
                                   .whole = "the run's wall time",
                                   .idle_is_profiled = true };

    (void)state;
    assert_non_null(strstr(kr_verdict_decide(&in).why, "--wall"));
    in.idle_is_profiled = false;
    assert_null(strstr(kr_verdict_decide(&in).why, "--wall"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_decides_whether_kernels_are_worth_it),
        cmocka_unit_test(the_answer_names_share_ceiling_and_family),
        cmocka_unit_test(unknown_shares_give_no_number),
        cmocka_unit_test(profiled_idle_is_told_from_true_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

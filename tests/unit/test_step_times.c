/* Step times with and without profiling: what a CALIBRATION chunk says and what follows from it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kreach_build.h"
#include "mem.h"
#include "step_times.h"

/* Reads a payload; returns whether its contents are possible. */
static bool read_payload(struct kr_build *b, struct kr_step_times *times)
{
    struct kr_cursor c = { .at = b->payload.data, .end = b->payload.data + b->payload.len };
    struct kr_err err = { 0 };

    assert_true(kr_step_times_read(&c, times, &err));
    kr_build_free(b);
    return !c.bad;
}

static void put_steps(struct kr_build *b, const uint64_t *steps_ns, size_t n)
{
    kr_build_fields(b, KR_FIELDS(KR_V(n)));
    for (size_t i = 0; i < n; i++)
        kr_build_fields(b, KR_FIELDS(KR_V(steps_ns[i])));
}

/* n plain stretches between n + 1 profiled ones, of two steps each: a machine that gets slower. */
static void put_turns(struct kr_build *b, size_t n, uint64_t plain_ns, uint64_t profiled_ns,
                      uint64_t slower_ns)
{
    uint64_t plain[64], profiled[64];

    for (size_t i = 0; i <= n; i++) {
        profiled[2 * i] = profiled_ns + 2 * i * slower_ns - 7; /* their mean is what counts */
        profiled[2 * i + 1] = profiled_ns + 2 * i * slower_ns + 7;
        plain[2 * i] = plain[2 * i + 1] = plain_ns + (2 * i + 1) * slower_ns;
    }
    kr_build_fields(b, KR_FIELDS(KR_T("alternating")));
    put_steps(b, plain, 2 * n);
    put_steps(b, profiled, 2 * n + 2);
    kr_build_fields(b, KR_FIELDS(KR_T("step *"), KR_V(2 * n + 1)));
    for (size_t i = 0; i < 2 * n + 1; i++)
        kr_build_fields(b, KR_FIELDS(KR_B(i % 2 == 0), KR_V(2)));
}

static void stretches_are_compared_with_their_neighbours(void **state)
{
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    put_turns(&b, 6, 1000, 1200, 0);
    assert_true(read_payload(&b, &t));
    assert_string_equal(t.method, "alternating");
    assert_string_equal(t.label, "step *");
    assert_int_equal(t.pairs, 6);
    assert_int_equal(t.plain_steps, 12);
    assert_int_equal(t.plain_step_ns, 1000);
    assert_int_equal(t.profiled_steps, 14);
    assert_int_equal(t.profiled_step_ns, 1200);
    assert_true(fabs(t.cost_frac - 0.2) < 1e-9);
    assert_true(fabs(t.cost_low_frac - 0.2) < 1e-9);
    assert_true(fabs(t.cost_high_frac - 0.2) < 1e-9);
}

/* n pairs of two steps each, by turns of plain_ns and twice as much; profiled ones so much longer.
 */
static void put_two_runs(struct kr_build *b, size_t n, uint64_t plain_ns, double ratio)
{
    uint64_t plain[64], profiled[64];

    for (size_t i = 0; i < 2 * n; i++) {
        plain[i] = plain_ns * (1 + i / 2 % 2);
        profiled[i] = (uint64_t)((double)plain[i] * ratio);
    }
    kr_build_fields(b, KR_FIELDS(KR_T("second run")));
    put_steps(b, plain, 2 * n);
    put_steps(b, profiled, 2 * n);
    kr_build_fields(b, KR_FIELDS(KR_T("step *"), KR_V(2 * n)));
    for (size_t i = 0; i < 2 * n; i++)
        kr_build_fields(b, KR_FIELDS(KR_B(i % 2), KR_V(2)));
}

static void stretches_of_two_runs_are_compared_with_the_same_steps(void **state)
{
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    put_two_runs(&b, 6, 1000, 1.1);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.pairs, 6);
    assert_int_equal(t.plain_step_ns, 1500);
    assert_int_equal(t.profiled_step_ns, 1650);
    assert_true(fabs(t.cost_frac - 0.1) < 1e-9);
    assert_true(fabs(t.cost_low_frac - 0.1) < 1e-9 && fabs(t.cost_high_frac - 0.1) < 1e-9);
}

static void fewer_than_six_stretches_of_two_runs_leave_the_means(void **state)
{
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    put_two_runs(&b, 5, 1000, 1.1);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.pairs, 0);
    assert_int_equal(t.plain_step_ns, 1400);
    assert_int_equal(t.profiled_step_ns, 1540);
    assert_true(fabs(t.cost_frac - 0.1) < 1e-9);
    assert_true(isnan(t.cost_low_frac) && isnan(t.cost_high_frac));
}

static void two_runs_that_differ_beyond_all_bounds_are_refused(void **state)
{
    static const struct {
        double ratio;
        bool possible;
    } cases[] = { { 0, false }, { 0.01, true }, { 1e15, true } };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_build b = { 0 };
        struct kr_step_times t;

        put_two_runs(&b, 6, 1000, cases[i].ratio);
        assert_int_equal(read_payload(&b, &t), cases[i].possible);
        assert_int_equal(t.plain_steps > 0, cases[i].possible);
    }
}

/* Over the run its steps get three times as slow, and each stretch still shows the same 200 ns. */
static void a_machine_that_gets_slower_does_not_pass_for_cost(void **state)
{
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    put_turns(&b, 8, 1000, 1000, 125);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.pairs, 8);
    assert_true(fabs(t.cost_frac) < 1e-9);
    assert_true(fabs(t.cost_low_frac) < 1e-9 && fabs(t.cost_high_frac) < 1e-9);
}

static void fewer_than_six_stretches_are_compared_by_the_medians_of_all_steps(void **state)
{
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    put_turns(&b, 5, 1000, 1200, 0);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.pairs, 0);
    assert_true(fabs(t.cost_frac - 0.2) < 1e-9);
    assert_true(t.cost_low_frac < 0.2 && t.cost_high_frac > 0.2); /* 1193 and 1207 */
}

/*
 * Ranks of the sign test's interval, from a table: of 10 values the 2nd to the 9th, of 100 the 40th
 * to the 61st. Steps of 1, 2, 3 ... ns beside ones that all take 1 ns show them.
 */
static void the_interval_of_a_median_has_the_ranks_of_the_sign_test(void **state)
{
    static const struct {
        size_t n;
        double low, high;
    } cases[] = { { 5, 1, 5 },    { 6, 1, 6 },    { 10, 2, 9 },   { 20, 6, 15 },
                  { 60, 22, 39 }, { 61, 22, 40 }, { 100, 40, 61 } };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const uint64_t one[] = { 1, 1, 1, 1, 1, 1 };
        struct kr_build b = { 0 };
        struct kr_step_times t;
        uint64_t steps[100];

        for (size_t k = 0; k < cases[i].n; k++)
            steps[k] = cases[i].n - k;
        kr_build_fields(&b, KR_FIELDS(KR_T("second run")));
        put_steps(&b, one, 6);
        put_steps(&b, steps, cases[i].n);
        assert_true(read_payload(&b, &t));
        if (t.cost_low_frac + 1 != cases[i].low || t.cost_high_frac + 1 != cases[i].high)
            fail_msg("%zu values: %g..%g", cases[i].n, t.cost_low_frac + 1, t.cost_high_frac + 1);
    }
}

/* What version 1.0 wrote: no label, no stretches. */
static void a_second_run_has_medians_and_the_middle_half(void **state)
{
    const uint64_t plain[] = { 900, 100, 110, 105, 120, 104, 130, 90 };
    const uint64_t profiled[] = { 130, 120, 140, 5000 };
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    kr_build_fields(&b, KR_FIELDS(KR_T("second run")));
    put_steps(&b, plain, 8);
    put_steps(&b, profiled, 4);
    assert_true(read_payload(&b, &t));
    assert_string_equal(t.label, "");
    assert_int_equal(t.plain_step_ns, 107);
    assert_int_equal(t.plain_low_ns, 104);
    assert_int_equal(t.plain_high_ns, 120);
    assert_int_equal(t.profiled_step_ns, 135);
    assert_int_equal(t.pairs, 0);
    assert_true(fabs(t.cost_frac - (135.0 / 107 - 1)) < 1e-9);
    assert_true(t.cost_low_frac < t.cost_frac && t.cost_frac < t.cost_high_frac);
}

static void what_was_not_measured_is_unknown(void **state)
{
    const uint64_t steps[] = { 100, 110, 120 };
    struct kr_build b = { 0 };
    struct kr_step_times t;

    (void)state;
    kr_build_fields(&b, KR_FIELDS(KR_T("second run")));
    put_steps(&b, steps, 3);
    put_steps(&b, NULL, 0);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.plain_step_ns, 110);
    assert_int_equal(t.profiled_steps, 0);
    assert_true(isnan(t.cost_frac) && isnan(t.cost_low_frac) && isnan(t.cost_high_frac));
    kr_build_fields(&b, KR_FIELDS(KR_T("second run")));
    put_steps(&b, NULL, 0);
    put_steps(&b, steps, 3);
    assert_true(read_payload(&b, &t));
    assert_int_equal(t.plain_steps, 0);
    assert_string_equal(t.method, "");
}

static void impossible_contents_are_refused(void **state)
{
    const struct kr_field *const cases[] = {
        KR_FIELDS(KR_T("more steps than bytes"), KR_V(9), KR_V(1)),
        KR_FIELDS(KR_T("too long"), KR_V(1), KR_V(UINT64_MAX), KR_V(0)),
        KR_FIELDS(KR_T("a method of more than 23 bytes"), KR_V(1), KR_V(5), KR_V(0)),
        KR_FIELDS(KR_T("more in stretches"), KR_V(1), KR_V(5), KR_V(1), KR_V(5), KR_T(""), KR_V(2),
                  KR_B(0), KR_V(1), KR_B(1), KR_V(2)),
        KR_FIELDS(KR_T("less in stretches"), KR_V(1), KR_V(5), KR_V(1), KR_V(5), KR_T(""), KR_V(1),
                  KR_B(0), KR_V(1)),
        KR_FIELDS(KR_T("an empty stretch"), KR_V(1), KR_V(5), KR_V(0), KR_T(""), KR_V(2), KR_B(0),
                  KR_V(0), KR_B(0), KR_V(1)),
        KR_FIELDS(KR_T("no such stretches"), KR_V(1), KR_V(5), KR_V(0), KR_T(""), KR_V(3), KR_B(0),
                  KR_V(1)),
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_build b = { 0 };
        struct kr_step_times t;

        kr_build_fields(&b, cases[i]);
        if (read_payload(&b, &t))
            fail_msg("taken: %s", cases[i]->text);
        assert_int_equal(t.plain_steps, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_are_compared_with_their_neighbours),
        cmocka_unit_test(stretches_of_two_runs_are_compared_with_the_same_steps),
        cmocka_unit_test(fewer_than_six_stretches_of_two_runs_leave_the_means),
        cmocka_unit_test(two_runs_that_differ_beyond_all_bounds_are_refused),
        cmocka_unit_test(a_machine_that_gets_slower_does_not_pass_for_cost),
        cmocka_unit_test(fewer_than_six_stretches_are_compared_by_the_medians_of_all_steps),
        cmocka_unit_test(the_interval_of_a_median_has_the_ranks_of_the_sign_test),
        cmocka_unit_test(a_second_run_has_medians_and_the_middle_half),
        cmocka_unit_test(what_was_not_measured_is_unknown),
        cmocka_unit_test(impossible_contents_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

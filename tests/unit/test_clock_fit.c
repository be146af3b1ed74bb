/* Fitting CUPTI's clock to the machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "clock_fit.h"
#include "mem.h"

#define SECOND_NS INT64_C(1000000000)

static void add(struct kr_clock *c, int64_t raw_ns, int64_t cupti_ns)
{
    struct kr_err err = { 0 };
    struct kr_clock_reading r = { .raw_ns = raw_ns, .cupti_ns = cupti_ns, .width_ns = 50 };

    assert_true(kr_clock_add(c, r, &err));
}

static void one_reading_gives_a_constant_distance(void **state)
{
    struct kr_clock c = { 0 };

    (void)state;
    add(&c, 1000, 5000);
    kr_clock_fit(&c);
    assert_int_equal(kr_clock_map(&c, 5000), 1000);
    assert_int_equal(kr_clock_map(&c, 5007), 1007);
    assert_int_equal(kr_clock_map(&c, 0), -4000);
    assert_int_equal(c.steps, 0);
    kr_clock_free(&c);
}

/* 100 ppm fast, then 100 ppm slow; both within what NTP may do. */
static void drift_is_followed_between_readings_and_not_beyond(void **state)
{
    struct kr_clock c = { 0 };

    (void)state;
    add(&c, 2 * SECOND_NS, 2 * SECOND_NS); /* any order */
    add(&c, 0, 0);
    add(&c, SECOND_NS, SECOND_NS + 100000);
    kr_clock_fit(&c);
    assert_int_equal(c.steps, 0);
    assert_int_equal(kr_clock_map(&c, 0), 0);
    assert_in_range(kr_clock_map(&c, (SECOND_NS + 100000) / 2), SECOND_NS / 2 - 1,
                    SECOND_NS / 2 + 1);
    assert_int_equal(kr_clock_map(&c, SECOND_NS + 100000), SECOND_NS);
    assert_int_equal(kr_clock_map(&c, 2 * SECOND_NS), 2 * SECOND_NS);
    assert_int_equal(kr_clock_map(&c, 3 * SECOND_NS), 3 * SECOND_NS);
    assert_int_equal(kr_clock_map(&c, -5), -5);
    kr_clock_free(&c);
}

static void a_step_is_counted_and_times_keep_to_the_nearer_side(void **state)
{
    static const int64_t steps_ns[] = { 700000, 5 * SECOND_NS };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(steps_ns); i++) {
        int64_t step_ns = steps_ns[i];
        struct kr_clock c = { 0 };

        add(&c, 0, 0);
        add(&c, SECOND_NS, SECOND_NS + step_ns);
        kr_clock_fit(&c);
        assert_int_equal(c.steps, 1);
        assert_int_equal(kr_clock_map(&c, 1000), 1000);
        assert_int_equal(kr_clock_map(&c, SECOND_NS + step_ns - 1000), SECOND_NS - 1000);
        kr_clock_free(&c);
    }
}

static void a_step_back_is_counted(void **state)
{
    struct kr_clock c = { 0 };

    (void)state;
    add(&c, 0, 10 * SECOND_NS);
    add(&c, SECOND_NS, 3 * SECOND_NS);
    add(&c, 20 * SECOND_NS, 22 * SECOND_NS);
    kr_clock_fit(&c);
    assert_int_equal(c.steps, 1);
    assert_int_equal(kr_clock_map(&c, 10 * SECOND_NS), 0);
    assert_int_equal(kr_clock_map(&c, 22 * SECOND_NS), 20 * SECOND_NS);
    kr_clock_free(&c);
}

/* A reading taken while the thread was held up is uncertain, not a step. */
static void a_wide_reading_is_no_step(void **state)
{
    struct kr_err err = { 0 };
    struct kr_clock c = { 0 };
    struct kr_clock_reading wide = { .raw_ns = SECOND_NS, .cupti_ns = SECOND_NS + 3000000 };

    (void)state;
    wide.width_ns = 4000000;
    add(&c, 0, 0);
    assert_true(kr_clock_add(&c, wide, &err));
    kr_clock_fit(&c);
    assert_int_equal(c.steps, 0);
    kr_clock_free(&c);
}

static void readings_out_of_range_are_left_out(void **state)
{
    static const int64_t wrong[] = { -1, INT64_MIN, INT64_MAX, INT64_C(1) << 62 };
    struct kr_clock c = { 0 };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(wrong); i++) {
        add(&c, wrong[i], 0);
        add(&c, 0, wrong[i]);
    }
    assert_int_equal(c.n, 0);
    add(&c, (INT64_C(1) << 62) - 1, 0);
    add(&c, 0, (INT64_C(1) << 62) - 1);
    kr_clock_fit(&c);
    kr_clock_map(&c, (INT64_C(1) << 62) - 1); /* no overflow: the sanitizer watches */
    kr_clock_map(&c, 0);
    kr_clock_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_reading_gives_a_constant_distance),
        cmocka_unit_test(drift_is_followed_between_readings_and_not_beyond),
        cmocka_unit_test(a_step_is_counted_and_times_keep_to_the_nearer_side),
        cmocka_unit_test(a_step_back_is_counted),
        cmocka_unit_test(a_wide_reading_is_no_step),
        cmocka_unit_test(readings_out_of_range_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

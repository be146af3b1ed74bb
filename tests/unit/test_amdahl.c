/* The formula by itself, against the article and field reports. */
#include "predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"

/* Printed figures of the article and of field reports; half a unit of the last digit is free. */
static const struct {
    double frac, sigma, saved_percent, speedup_percent, unit;
} published[] = {
    { 0.03, 1.235, 0.57, NAN, 0.01 },
    { 0.40, 1.235, 7.61, NAN, 0.01 },
    { 0.03, 2, 1.50, 1.52, 0.01 },
    { 0.582 * 0.417, 1.552, 8.63, NAN, 0.01 },
    { 0.089 * 0.417, 1.552, 1.32, NAN, 0.01 },
    { 0.168 * 0.417, 1.552, 2.49, NAN, 0.01 },
    { 0.582 * 5 / 12, 1.552, 8.625, NAN, 0.001 },
    { 0.089, INFINITY, 8.9, 10, 1 },
    { 0.168, INFINITY, 16.8, 20, 1 },
    { 0.553, INFINITY, 55.3, 124, 1 },
    { 0.582, INFINITY, 58.2, 139, 1 },
    { 0.374, 1.552, 13.3, NAN, 0.1 },
    { 0.374, 6.917, 32.0, NAN, 0.1 },
    { 0.052 * 0.77, 4.4, 3.09, 3.19, 0.01 },
    { 0.052, 4.4, NAN, 4.19, 0.01 },
    { 1, 0.97, -3.1, NAN, 0.1 },
};

static void published_figures_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(published); i++) {
        struct kr_err err = { 0 };
        double saved, half = published[i].unit / 2 + 1e-12;

        assert_true(kr_predict_saved(published[i].frac, published[i].sigma, &saved, &err));
        if (!isnan(published[i].saved_percent))
            assert_near(100 * saved, published[i].saved_percent, half);
        if (!isnan(published[i].speedup_percent))
            assert_near(100 * (kr_predict_speedup(saved) - 1), published[i].speedup_percent, half);
    }
}

static const struct {
    double frac, sigma;
} impossible[] = { { -0.1, 2 }, { 1.1, 2 },  { NAN, 2 },   { INFINITY, 2 },
                   { 0.5, 0 },  { 0.5, -1 }, { 0.5, NAN }, { 0.5, -INFINITY } };

static void impossible_arguments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(impossible); i++) {
        struct kr_err err = { 0 };
        double saved = 42;

        assert_false(kr_predict_saved(impossible[i].frac, impossible[i].sigma, &saved, &err));
        assert_int_equal(err.code, KR_EARG);
        assert_true(saved == 42);
    }
}

static void the_edges_are_defined(void **state)
{
    struct kr_err err = { 0 };
    double saved;

    (void)state;
    assert_true(kr_predict_saved(0, INFINITY, &saved, &err) && saved == 0);
    assert_true(kr_predict_saved(1, INFINITY, &saved, &err) && saved == 1);
    assert_true(kr_predict_saved(0.5, 1, &saved, &err) && saved == 0);
    assert_true(isinf(kr_predict_speedup(1)) && kr_predict_speedup(0) == 1);
    assert_true(isnan(kr_predict_sigma_needed(0.01, 0.01)));
    assert_true(isnan(kr_predict_sigma_needed(0.005, 0.01)));
    assert_near(kr_predict_sigma_needed(0.02, 0.01), 2, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_figures_come_out),
        cmocka_unit_test(impossible_arguments_are_refused),
        cmocka_unit_test(the_edges_are_defined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"

/* Quantiles from printed tables of Student's t, three decimals; the last rows are from the normal
 * limit's side. */
static const struct {
    size_t df;
    double t;
} quantiles[] = { { 2, 4.303 },   { 4, 2.776 },   { 6, 2.447 },    { 8, 2.306 },
                  { 10, 2.228 },  { 20, 2.086 },  { 60, 2.000 },   { 100, 1.984 },
                  { 120, 1.980 }, { 200, 1.972 }, { 1000, 1.962 }, { 10000000, 1.960 } };

static void t_quantiles_agree_with_printed_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(quantiles); i++)
        assert_near(kr_noise_t975(quantiles[i].df), quantiles[i].t, 0.0005);
    assert_true(isnan(kr_noise_t975(0)) && isnan(kr_noise_t975(3)));
    /* The two methods meet: 200 lies on the parabola through the three values after it. */
    assert_near(kr_noise_t975(200),
                3 * kr_noise_t975(202) - 3 * kr_noise_t975(204) + kr_noise_t975(206), 1e-7);
}

static void noise_needs_three_steps_and_scales_with_the_spread(void **state)
{
    const struct kr_step steps[] = { { 0, 100, 0 }, { 100, 210, 1 }, { 210, 300, 2 } };
    struct kr_noise two = kr_noise_of_steps(steps, 2), three = kr_noise_of_steps(steps, 3);

    (void)state;
    assert_true(isnan(two.cv) && isnan(two.smallest_detectable) && two.mean_step_ns == 105);
    assert_true(isnan(kr_noise_of_steps(NULL, 0).mean_step_ns));
    assert_near(three.cv, 0.1, 1e-12); /* 100, 110, 90 */
    assert_near(three.smallest_detectable, 2.776445 * 0.1 * sqrt(2.0 / 3), 1e-6);
    /* (1.95996 + 0.84162)^2 = 7.8489: the textbook's 16 s^2/d^2 for both runs together */
    assert_near(kr_noise_steps_needed(0.0284, 0.0319), 13, 0);
    assert_near(kr_noise_steps_needed(0.0284, -0.0319), 13, 0);
    assert_near(kr_noise_steps_needed(0, 0.5), 3, 0);
    assert_true(isnan(kr_noise_steps_needed(NAN, 0.1)) && isnan(kr_noise_steps_needed(0.1, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_quantiles_agree_with_printed_tables),
        cmocka_unit_test(noise_needs_three_steps_and_scales_with_the_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

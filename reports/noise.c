#include "noise.h"

#include <math.h>

enum { CLOSED_FORM_DF_MAX = 200 };

#define Z_975 1.959963984540054 /* standard normal quantiles */
#define Z_80  0.841621233572914

/* P(|T| < t) for an even number of degrees of freedom: a finite sum (26.7.4). */
static double within_even_df(double t, size_t df)
{
    double theta = atan2(t, sqrt((double)df));
    double cos2 = cos(theta) * cos(theta);
    double term = 1, sum = 1;

    for (size_t i = 2; i < df; i += 2) {
        term *= cos2 * (double)(i - 1) / (double)i;
        sum += term;
    }
    return sin(theta) * sum;
}

/* Expansion around the normal quantile in powers of 1 / df (26.7.5). */
static double expansion(double x, double df)
{
    double x2 = x * x;
    double g1 = x * (x2 + 1) / 4;
    double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
    double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;

    return x + (g1 + (g2 + g3 / df) / df) / df;
}

double kr_noise_t975(size_t even_df)
{
    double lo = Z_975, hi = 5; /* df = 2 has the largest quantile, 4.303 */

    if (even_df == 0 || even_df % 2 != 0)
        return NAN;
    if (even_df > CLOSED_FORM_DF_MAX)
        return expansion(Z_975, (double)even_df);
    for (size_t i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;

        if (within_even_df(mid, even_df) < 0.95)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

struct kr_noise kr_noise_of_steps(const struct kr_step *steps, size_t n_steps)
{
    struct kr_noise noise = { n_steps, NAN, NAN, NAN };
    double n = (double)n_steps, sum = 0, squares = 0;

    if (n_steps == 0)
        return noise;
    for (size_t i = 0; i < n_steps; i++)
        sum += (double)(steps[i].end_ns - steps[i].start_ns);
    noise.mean_step_ns = sum / n;
    if (n_steps < 3 || !(noise.mean_step_ns > 0))
        return noise;
    for (size_t i = 0; i < n_steps; i++) {
        double off = (double)(steps[i].end_ns - steps[i].start_ns) - noise.mean_step_ns;

        squares += off * off;
    }
    noise.cv = sqrt(squares / (n - 1)) / noise.mean_step_ns;
    noise.smallest_detectable = kr_noise_t975(2 * n_steps - 2) * noise.cv * sqrt(2 / n);
    return noise;
}

double kr_noise_steps_needed(double cv, double frac)
{
    double ratio = (Z_975 + Z_80) * cv / frac;

    if (isnan(ratio) || frac == 0)
        return NAN;
    return fmax(ceil(2 * ratio * ratio), 3);
}

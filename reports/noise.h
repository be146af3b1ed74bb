/* What the run's own spread lets anyone see: a predicted gain below it cannot be confirmed. */
#ifndef KR_NOISE_H
#define KR_NOISE_H

#include "window.h"

struct kr_noise {
    size_t n_steps;             /* steps that the spread is taken from */
    double mean_step_ns;        /* NAN when there are no steps */
    double cv;                  /* coefficient of variation of the step time; NAN below 3 steps */
    double smallest_detectable; /* [fraction] difference of mean step time between two runs of
                                   n_steps each that just reaches p = 0.05; NAN below 3 steps */
};

/** Spread of the durations of a window's steps. */
struct kr_noise kr_noise_of_steps(const struct kr_step *steps, size_t n_steps);

/**
 * Steps that each of two runs needs so that a true difference is found with 80 % chance at
 * two-sided p = 0.05: 2 ((z.975 + z.80) cv / frac)^2, at least 3.
 * @param frac  difference [fraction of the step time, sign ignored]
 * @return NAN when cv is NAN or frac is 0 or NAN.
 * Source: normal approximation of the two-sample t test's power; assumes independent steps.
 */
double kr_noise_steps_needed(double cv, double frac);

/**
 * 97.5 % quantile of Student's t distribution for an even number of degrees of freedom.
 * Error below 1e-8 (closed form and bisection to 200, Cornish-Fisher expansion above).
 * Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.4 and 26.7.5.
 */
double kr_noise_t975(size_t even_df);

#endif

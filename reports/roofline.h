/* The most that a device's peaks leave of a kernel's time: speed-ups beyond are not physical. */
#ifndef KR_ROOFLINE_H
#define KR_ROOFLINE_H

#include "select.h"

/**
 * Finds the largest possible speed-up of every part whose arithmetic or traffic is recorded:
 * fills roofline_sigma (NAN stays where it is not known) and above_roofline.
 *
 * Matrix products and convolutions with recorded shapes have an arithmetic floor; copies within
 * the device, and traffic beyond any cache, a memory floor (not for groups, whose intermediate
 * results need no memory). Peaks are classifier/peaks.h's with 10 % on top, as clocks may go above
 * the data sheet's. A bound is given only where at least 90 % of a part's time has a floor. An
 * infinite sigma is a question, not a measurement, and never above.
 */
bool kr_roofline_fill(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                      const struct kr_selection *selection, struct kr_predict_result *r,
                      struct kr_err *err);

/** Refuses parts above the roofline (KR_EARG), or warns of each when forced. */
bool kr_roofline_judge(const struct kr_sigma_file *sigma, bool force, struct kr_predict_result *r,
                       struct kr_err *err);

#endif

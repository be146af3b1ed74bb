/* Running gnuplot, the program that draws figures. */
#ifndef KR_GNUPLOT_H
#define KR_GNUPLOT_H

#include "plot.h"

/* Longer than any figure of ours takes, by far: one takes 0.1 s. */
#define KR_GNUPLOT_TIMEOUT_NS UINT64_C(60000000000)

/**
 * Draws a figure with the first gnuplot in PATH, without a shell and without the user's start-up
 * file. The picture goes to `out` once gnuplot has ended well; nothing does otherwise.
 *
 * @param timeout_ns  gnuplot is killed when it takes longer
 * @return false with KR_EENV when there is no gnuplot, or KR_EOUTPUT when it fails or takes too
 *         long; the message holds what it said.
 */
bool kr_gnuplot_draw(const struct kr_plot *plot, uint64_t timeout_ns, FILE *out,
                     struct kr_err *err);

#endif

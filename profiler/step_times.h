/* What a CALIBRATION chunk says of the steps of a run, with and without profiling. */
#ifndef KR_STEP_TIMES_H
#define KR_STEP_TIMES_H

#include "chunks.h"
#include "timeline.h"

/**
 * Reads the payload of a CALIBRATION chunk and works out what profiling costs.
 *
 * Where there are six or more stretches without profiling, each is compared with the profiled ones
 * beside it by the mean step time of a stretch (throughput), so that slow changes of the machine
 * cancel out; in a second run with that of the same steps in the first. There the profiled step is
 * the mean of all, what happens between them included, as it is to a report, and the plain one is
 * that without the cost, so that what befell the second run alone does not count. Fewer stretches
 * of two runs leave the means of all steps, and the interval is unknown. Files of version 1.1 and
 * before hold no stretches of two runs, and may hold fewer than six of one: there all steps of one
 * kind are compared with all of the other, by their medians.
 * @param c    at its beginning; `bad` afterwards when the contents are impossible
 * @param out  zeroed where nothing was measured or the contents are impossible
 * @return false with err filled for lack of memory.
 */
bool kr_step_times_read(struct kr_cursor *c, struct kr_step_times *out, struct kr_err *err);

#endif

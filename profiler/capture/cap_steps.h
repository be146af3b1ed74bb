/*
 * Finding the repeating step of a workload while it runs, from the sequence of its kernels.
 *
 * A step is a period of the sequence of kernel sites on the busiest device. Layers repeat too, but
 * not for long: a period counts only when its repetition has also lasted at least a second.
 */
#ifndef CAP_STEPS_H
#define CAP_STEPS_H

#include "cap_recorder.h"

/** Makes the ring of recent kernels; false when out of memory. */
bool cap_steps_open(struct cap_recorder *r);
void cap_steps_close(struct cap_recorder *r);

/** Notes a kernel in order of delivery. */
void cap_steps_add(struct cap_recorder *r, uint32_t site, int64_t start_ns);

/**
 * Looks at the recent kernels: how many equal steps in a row end at the last one.
 * @param period  out: kernels per step, 0 when nothing repeats
 */
uint32_t cap_steps_repeated(const struct cap_recorder *r, uint32_t *period);

#endif

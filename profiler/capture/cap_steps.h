/*
 * Finding the repeating step of a workload while it runs, from the sequence of its kernels.
 *
 * A step is a period of the sequence of kernel sites on the busiest stream; how streams interleave
 * is another with each step. Layers repeat too, but not for long: a period counts only when its
 * repetition has also lasted at least a second. A period that was found once is followed from
 * there on, so that steps may be any number.
 */
#ifndef CAP_STEPS_H
#define CAP_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define CAP_STEPS_TRACKS 256 /* streams with a higher id are not looked at */

/* Zeroed = not wanted. */
struct cap_steps {
    uint32_t *sites;   /* of the last kernels on the busiest stream, a ring; NULL = not wanted */
    int64_t *starts;   /* when they began [ns] */
    uint64_t n;        /* kernels met on that stream since it is the busiest */
    uint32_t period;   /* kernels per step, as far as is known; 0 = nothing repeats */
    uint64_t repeated; /* the last so many kernels are those of a period before */
    uint32_t track;    /* id of the busiest stream */
    uint64_t kernels[CAP_STEPS_TRACKS]; /* by stream */
};

/** Makes the ring of recent kernels; false when out of memory. Closed also then. */
bool cap_steps_open(struct cap_steps *s);
void cap_steps_close(struct cap_steps *s);

/** Notes a kernel in order of delivery. */
void cap_steps_add(struct cap_steps *s, uint32_t track, uint32_t site, int64_t start_ns);

/**
 * How many equal steps in a row end at the last kernel.
 * @param period  out: kernels per step, 0 when nothing repeats
 */
uint64_t cap_steps_repeated(struct cap_steps *s, uint32_t *period);

#endif

/* Stretches in which a process was not recorded, as its section of a .kreach file tells them. */
#ifndef KR_GAPS_H
#define KR_GAPS_H

#include "chunks.h"

/* Times are CUPTI's clock, 0 <= from_ns <= to_ns; from 0 = since the process began. */
struct kr_gap {
    uint64_t kind; /* enum kreach_gap */
    int64_t from_ns, to_ns;
    int64_t
        unasked_to_ns; /* once sorted: where gaps by window or to calibrate up to here have ended */
};

/* Zeroed to start with. */
struct kr_gaps {
    struct kr_gap *items;
    size_t n, cap;
};

/**
 * Adds the gaps of a GAP chunk; those with impossible times are left out, and make c bad.
 * @return false with err filled for lack of memory.
 */
bool kr_gaps_read(struct kr_gaps *g, struct kr_cursor *c, struct kr_err *err);

/** Puts them in time order, when all are read. */
void kr_gaps_sort(struct kr_gaps *g);

/** Whether a time lies outside of what was asked for: in a gap by window or to calibrate. Needs
 *  kr_gaps_sort before. */
bool kr_gaps_outside(const struct kr_gaps *g, int64_t at_ns);

void kr_gaps_free(struct kr_gaps *g);

#endif

/*
 * Puts the CUPTI times of a process on the machine's common clock. CUPTI's clock is the process's
 * own business (it may follow CLOCK_REALTIME, which is stepped and slewed); CLOCK_MONOTONIC_RAW is
 * one for all processes of a machine and never steps, so readings of both carry times across.
 */
#ifndef KR_CLOCK_FIT_H
#define KR_CLOCK_FIT_H

#include <stddef.h>

#include "err.h"

struct kr_clock_reading {
    int64_t real_ns, raw_ns, cupti_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC_RAW, CUPTI: one moment */
    uint64_t width_ns;                 /* uncertainty */
};

/* Zeroed to start with. */
struct kr_clock {
    struct kr_clock_reading *readings; /* once fitted: in time order, all usable */
    size_t n, cap;
    uint64_t steps; /* moments between readings at which the CUPTI clock jumped */
};

/** Takes in a reading; one with a time outside [0, 2^62) is ignored. */
bool kr_clock_add(struct kr_clock *c, struct kr_clock_reading reading, struct kr_err *err);

/** Orders the readings, leaves out unusable ones, and finds steps. */
void kr_clock_fit(struct kr_clock *c);

/**
 * The CLOCK_MONOTONIC_RAW time of a CUPTI time: linear between two readings; beyond the ends, and
 * at a step, as far from the nearest reading as on the CUPTI clock.
 * Needs at least one reading; 0 <= cupti_ns < 2^62.
 */
int64_t kr_clock_map(const struct kr_clock *c, int64_t cupti_ns);

void kr_clock_free(struct kr_clock *c);

#endif

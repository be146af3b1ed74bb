/*
 * The sweep: one device's work in time order, time shared evenly among what runs at once.
 *
 * With k pieces running, each nanosecond gives 1/k to each. F(t) is the integral of 1/k up to t, so
 * a piece's share is F(end) - F(start): a site needs only the sum of F over its ends minus that
 * over its starts, and an event costs O(log k), not O(k).
 */
#ifndef KR_SWEEP_H
#define KR_SWEEP_H

#include "account.h"
#include "apportion.h"

/* What the sweep knows of a site, and what it finds. */
struct kr_sweep_site {
    kr_fixed share;     /* exclusive time on this device; wraps around while work is open */
    uint64_t count;     /* events that start in the window; all devices so far */
    uint64_t sum_ns;    /* clipped durations; all devices so far */
    uint8_t cls, kind;  /* given: enum kr_class, enum kr_kind */
    uint8_t collective; /* given: 1 if its family is "collective" */
    uint8_t met;        /* on this device */
};

struct kr_sweep_step {
    kr_fixed share[KR_CLASS_COUNT];
    uint64_t busy_ns, kind_sum_ns[KR_KIND_COUNT], count;
    uint64_t paused_ns; /* not busy and not recorded */
};

struct kr_sweep {
    /* Given */
    const struct kr_timeline *timeline;
    const struct kr_window *window;
    struct kr_sweep_site *sites; /* by timeline site; added to */
    struct kr_sweep_step *steps; /* by window step; added to */
    uint32_t *met;               /* room for every site: those met on this device */
    /* Found, of one device */
    size_t n_met;
    uint64_t busy_ns, kind_sum_ns[KR_KIND_COUNT];
    uint64_t paused_ns; /* not busy and not recorded */
    uint64_t collective_ns, collective_exposed_ns;
    struct kr_gaps gaps;
    /* State */
    int64_t now_ns;
    int64_t idle_since_ns;
    uint64_t idle_paused_ns; /* of the idle time since then: not recorded */
    size_t pause;            /* the first that has not ended */
    kr_fixed integral;       /* F(now) */
    uint32_t active, active_cls[KR_CLASS_COUNT], active_kind[KR_KIND_COUNT], active_collective;
    size_t step;
    struct kr_sweep_end *heap; /* running work, earliest end on top */
    size_t n_heap, cap_heap;
};

/** True when an event with this start counts in the window: see account.h. */
bool kr_sweep_counts(const struct kr_window *window, int64_t start_ns);

/**
 * Sweeps one device, after forgetting what was found of the one before.
 * @param order  indices of the device's events in time order; NULL = all events of the timeline
 * @param n      number of them
 */
bool kr_sweep_device(struct kr_sweep *sweep, const uint32_t *order, size_t n, struct kr_err *err);

/** Frees what the sweep itself allocated. */
void kr_sweep_free(struct kr_sweep *sweep);

#endif

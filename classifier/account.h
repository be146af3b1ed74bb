/*
 * The account of time: where a window's wall time went, per device, class, family, kernel and site.
 *
 * Work that runs at the same time on one device shares that time evenly, so exclusive times add to
 * busy, and busy + idle = wall, to the nanosecond: in total, per device and per step. Sums of
 * durations are kept beside, never mixed. Idle is device time in which no kernel, memcpy or memset
 * runs.
 * An event counts in the window it starts in; its time is clipped to the window. Windows that
 * follow each other therefore add to the whole.
 */
#ifndef KR_ACCOUNT_H
#define KR_ACCOUNT_H

#include "classify.h"
#include "window.h"

struct kr_time {
    uint64_t wall_ns; /* window length times number of devices, without what was not recorded:
                         pauses in which the device did nothing that is known of */
    uint64_t busy_ns; /* union of work per device */
    uint64_t idle_ns; /* wall - busy */
    uint64_t kernel_sum_ns, memcpy_sum_ns, memset_sum_ns; /* sums of (clipped) durations */
};

struct kr_stats {
    uint64_t count;
    uint64_t sum_ns;                    /* sum of clipped durations */
    uint64_t exclusive_ns;              /* time shared evenly with what runs beside it */
    uint64_t min_ns, median_ns, max_ns; /* of the whole durations of counted events; 0 for none */
};

/** Adds times of another run or device. */
void kr_time_add(struct kr_time *sum, const struct kr_time *more);

/**
 * Adds what more launches took. Their median cannot be told from two medians: the sum keeps its
 * own. Time without a count is that of launches that began before the window; it counts as time.
 */
void kr_stats_add(struct kr_stats *sum, const struct kr_stats *more);

struct kr_row_family {
    uint16_t family;
    uint8_t cls;
    struct kr_stats stats;
};

struct kr_row_kernel {
    uint32_t name;     /* string id in the timeline */
    uint32_t op;       /* op of its largest site, 0 unknown */
    struct kr_tag tag; /* kernels with one name but several tags have several rows */
    struct kr_stats stats;
};

/* Idle that ends within KR_GAP_HOST_NS is put down to the cost of single launches. */
#define KR_GAP_HOST_NS UINT64_C(1000000)
/* From the start of a launch call to work on an empty device; more means the work was queued. */
#define KR_GAP_LATENCY_NS UINT64_C(10000)
/* Idle shorter than this is unlikely to be anything but launch cost, also without launch times. */
#define KR_GAP_SHORT_NS UINT64_C(50000)

/* Why a device was idle, by the work that ended each gap. The times add to the idle time. */
struct kr_gaps {
    uint64_t count;        /* gaps ended by work */
    uint64_t launch_ns;    /* the work was launched during the gap, of at most KR_GAP_HOST_NS */
    uint64_t launch_count; /* such gaps */
    uint64_t host_ns;      /* the same in longer gaps: the host was busy elsewhere */
    uint64_t queued_ns;    /* launched in time, yet it waited: for other streams, copies, ranks */
    uint64_t unknown_ns;   /* launch time not recorded */
    uint64_t unknown_short_ns; /* part of unknown_ns in gaps of at most KR_GAP_SHORT_NS */
    uint64_t tail_ns;          /* after the last work of the window */
};

struct kr_device_account {
    uint32_t device; /* index into the timeline's devices */
    struct kr_time time;
    uint64_t class_exclusive_ns[KR_CLASS_COUNT];
    uint64_t collective_exposed_ns; /* collectives with no other work beside them */
    uint64_t collective_ns;         /* union of collectives */
    struct kr_gaps gaps;            /* its idle time */
};

struct kr_step_account {
    struct kr_time time; /* of the step, all devices */
    uint64_t class_exclusive_ns[KR_CLASS_COUNT];
    uint64_t count; /* device events that start in it */
};

struct kr_account {
    struct kr_time time;
    uint64_t kernels, memcpys, memsets; /* that start in the window */
    uint64_t distinct_kernels;          /* distinct kernel names among them */
    struct kr_stats classes[KR_CLASS_COUNT];
    struct kr_row_family *families; /* by exclusive time, largest first; ties by name, class */
    size_t n_families;
    struct kr_row_kernel *kernels_rows; /* all device work by exclusive time, largest first; ties by
                                           name, op, class */
    size_t n_kernels_rows;
    struct kr_stats *sites; /* by timeline site index (median/min/max left 0) */
    size_t n_sites;
    struct kr_device_account *devices; /* one for each device with work in the timeline */
    size_t n_devices;
    struct kr_step_account *steps; /* one for each step of the window */
    size_t n_steps;
    size_t empty_steps; /* steps in which no work starts, although they were recorded */
};

/* A kernel waited for others when its longest launch is this many times its median one ... */
enum { KR_WAITS_RATIO = 10 };
/* ... and takes at least this share of the window [1/wall]. */
enum { KR_WAITS_WALL = 100 };

/**
 * Accounts for a window of a timeline.
 * @param tags  kr_classify's, one for each site
 * Cost: O(n log k) for n events of which at most k run at once, and at most 12 bytes an event.
 * Free with kr_account_free.
 */
bool kr_account_make(const struct kr_timeline *t, const struct kr_tag *tags,
                     const struct kr_rules *rules, const struct kr_window *window,
                     struct kr_account *out, struct kr_err *err);
void kr_account_free(struct kr_account *a);

/**
 * True when a row's duration is mostly waiting: a kernel flagged KR_FLAG_WAITS (a collective) whose
 * longest launch dwarfs its median one and matters to the window, as when ranks start apart.
 */
bool kr_account_waits(const struct kr_account *a, const struct kr_row_kernel *row);

#endif

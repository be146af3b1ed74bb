/*
 * What ties device work to the host: launch calls (by correlation id) and the host ranges (NVTX)
 * that enclose them. One of these for each process.
 */
#ifndef KR_LINKS_H
#define KR_LINKS_H

#include <stddef.h>

#include "err.h"

#define KR_NO_RANGE UINT32_MAX

struct kr_launch {
    int64_t start_ns; /* CUPTI clock, like all times here */
    uint64_t thread;
    uint32_t correlation;
    uint32_t range; /* innermost range around it, index into ranges; KR_NO_RANGE = none */
    bool graph;     /* launches a whole CUDA graph */
};

struct kr_range {
    int64_t start_ns, end_ns;
    uint64_t thread;
    uint32_t name;   /* string id */
    uint32_t label;  /* string id: what the range is called on the sites of the work inside it */
    bool holds;      /* that label also counts for the ranges inside it */
    uint32_t parent; /* the range around it; KR_NO_RANGE = none */
    bool nests;      /* push/pop: encloses what its thread does meanwhile */
    bool has_work;   /* the four fields below are known */
    int64_t first_work_ns, last_work_ns; /* extent on the device of what was launched inside */
    uint32_t track;                      /* where the first of it ran */
};

/* Zeroed to start with. */
struct kr_links {
    struct kr_launch *launches; /* once resolved: by correlation id, one for each */
    size_t n_launches, cap_launches;
    struct kr_range *ranges; /* once resolved: by thread, then start, outer before inner */
    size_t n_ranges, cap_ranges;
};

bool kr_links_add_launch(struct kr_links *l, struct kr_launch launch, struct kr_err *err);
bool kr_links_add_range(struct kr_links *l, struct kr_range range, struct kr_err *err);

/**
 * Finds the range around each launch, then keeps one launch for each correlation id: the runtime
 * and the driver both report a call, and the outer of the two is the one that the program made.
 */
void kr_links_resolve(struct kr_links *l);

/** The launch with this id, or NULL. Needs kr_links_resolve before. */
const struct kr_launch *kr_links_find(const struct kr_links *l, uint32_t correlation);

/** Notes device work [start, end) that was launched inside a range. */
void kr_links_cover(struct kr_links *l, uint32_t range, int64_t start_ns, int64_t end_ns,
                    uint32_t track);

/** Lets every range also cover what the ranges inside it cover. */
void kr_links_widen(struct kr_links *l);

void kr_links_free(struct kr_links *l);

#endif

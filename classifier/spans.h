/* Spans: stretches of host time, and the device work that was launched in them. */
#ifndef KR_SPANS_H
#define KR_SPANS_H

#include "timeline.h"

struct kr_span {
    int64_t host_start_ns, host_end_ns; /* [start, end) */
    int64_t twin_start_ns, twin_end_ns; /* the recorder's own extent on the device */
    bool has_host, has_twin;
    /* Found by kr_spans_measure */
    int64_t work_start_ns, work_end_ns; /* of the first and last work; unset when count is 0 */
    uint64_t work_ns;                   /* sum of durations */
    uint64_t count;                     /* pieces of device work */
};

/**
 * Finds the device work of each span: by the time of its launch where that is known, else by its
 * start on the device within the twin, or within the host's extent where there is no twin.
 * @param spans  in time order, not overlapping
 * Cost: O(n log spans), near O(n) in practice; no memory.
 */
void kr_spans_measure(const struct kr_timeline *t, struct kr_span *spans, size_t n);

/**
 * Device time of the work that starts from one time to another [ns]; a duration that is suspicious
 * would outweigh all, and is left out.
 */
uint64_t kr_work_between_ns(const struct kr_timeline *t, int64_t from_ns, int64_t to_ns);

#endif

/* Decodes the definitions and records of one process's section into a timeline. */
#ifndef KR_KREACH_DECODE_H
#define KR_KREACH_DECODE_H

#include "clock_fit.h"
#include "gaps.h"
#include "links.h"
#include "section.h"
#include "timeline.h"

/* A kind of work as the section numbers it. */
struct kr_decode_site {
    uint32_t site;      /* index in the timeline; KR_UNDEFINED */
    uint32_t annotated; /* the same with the annotation below; KR_UNDEFINED */
    uint32_t annotation;
    uint8_t kind; /* enum kreach_kind */
};

#define KR_UNDEFINED UINT32_MAX

/* A device as the section numbers it. */
struct kr_decode_device {
    bool described;
    uint32_t device; /* index in the timeline; KR_UNDEFINED until work refers to it */
    struct kr_device facts;
};

struct kr_decode {
    struct kr_timeline *t;
    const struct kr_section *section;
    struct kr_clock clock;
    struct kr_links links;
    struct kr_gaps gaps;
    bool common_clock;                /* put times on the clock of all processes */
    int64_t anchor_ns;                /* REALTIME minus MONOTONIC_RAW of that clock */
    int64_t first_range_ns;           /* CUPTI clock: where a gap since the start begins to matter;
                                         INT64_MAX = no ranges */
    struct kr_decode_device *devices; /* by the section's ids */
    size_t n_devices, cap_devices;
    uint32_t *names; /* string ids by the section's ids; KR_UNDEFINED */
    size_t n_names, cap_names;
    uint32_t *tracks; /* indices in the timeline; KR_UNDEFINED */
    size_t n_tracks, cap_tracks;
    struct kr_decode_site *sites;
    size_t n_sites, cap_sites;
    uint32_t nameless; /* site of work whose description is lost; KR_UNDEFINED until needed */
    uint64_t works, launches, ranges; /* records found, usable or not */
};

/** A decoder for one section, or NULL with err filled. Freed with kr_decode_free. */
struct kr_decode *kr_decode_new(struct kr_timeline *t, const struct kr_section *section,
                                struct kr_err *err);
void kr_decode_free(struct kr_decode *d);

/**
 * First pass: takes in names, devices, tracks, sites, clock readings, gaps, launches and ranges;
 * other chunks are ignored.
 * @return false with err filled only for lack of memory or when a limit of the model is reached;
 *         impossible contents are counted in the timeline's warnings.
 */
bool kr_decode_definitions(struct kr_decode *d, const struct kr_chunk *chunk, struct kr_err *err);

/** Between the passes: fits the clock, puts gaps in order and ties launches to ranges. */
void kr_decode_resolve(struct kr_decode *d);

/**
 * Second pass: adds the work of an EVENTS chunk to the timeline. Work of CUDA graphs that begins
 * outside of what was asked for is left out and counted (KR_WARN_OUTSIDE): its beginning is true,
 * but it ends where the graph's next recorded replay does, seconds later.
 */
bool kr_decode_events(struct kr_decode *d, const struct kr_chunk *chunk, struct kr_err *err);

/** Adds the gaps as pauses; one since the process began, from its first range on. */
bool kr_decode_gaps(struct kr_decode *d, struct kr_err *err);

/** At last: adds the ranges as annotations. */
bool kr_decode_ranges(struct kr_decode *d, struct kr_err *err);

#endif

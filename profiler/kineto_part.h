/*
 * What one stretch of a Kineto trace holds of interest. Parts are filled by one thread each and
 * added to the reader's totals in the order of the file, so that the result never depends on how
 * the file was cut.
 */
#ifndef KR_KINETO_PART_H
#define KR_KINETO_PART_H

#include "recpool.h"
#include "timeline.h"

/* A distinct launching op; recpool record without padding. */
struct kr_kineto_op {
    double flop, bytes; /* 0 = unknown; see kr_work */
    uint32_t name, dtype;
};

struct kr_kineto_op_row {
    uint32_t external_id, op; /* op: place among the part's ops */
};

/* A host call that put work on a device. */
struct kr_kineto_launch {
    int64_t start_ns;
    uint32_t correlation, external_id;
};

/* A place where work runs, as the file names it; recpool record without padding. */
struct kr_kineto_track {
    int64_t device, stream;
    uint64_t context;
};

struct kr_kineto_note {
    int64_t start_ns;
    uint64_t dur_ns;
    int64_t device, stream; /* of a device annotation */
    uint32_t name, thread;
    uint32_t on_device;
};

/* Device rows by what they are told apart with. */
struct kr_kineto_tally {
    uint64_t device_rows;  /* of a known category, kept or not */
    uint64_t counter_rows; /* cuda_profiler_range: CUPTI counters, no time line */
};

enum { KR_PART_RECENT = 1024 };

/* A string seen before, without escapes and damage. */
struct kr_kineto_recent {
    const char *text; /* of the part's strings; NULL = none */
    size_t len;
    uint32_t id;
};

struct kr_kineto_part {
    struct kr_strpool *strings;
    struct kr_kineto_recent recent[KR_PART_RECENT]; /* by a few of their bytes */
    uint8_t *text_flags;                            /* per string: bits of enum kr_json_text_flag */
    size_t cap_text_flags;
    struct kr_recpool sites;  /* struct kr_site without op, annotation and work */
    struct kr_recpool tracks; /* struct kr_kineto_track */
    struct kr_recpool ops;    /* struct kr_kineto_op */
    uint32_t *plain_ops;      /* per name: place + 1 of the op without work, 0 = none yet */
    size_t cap_plain_ops;
    struct kr_event *events; /* site, track: places in the pools above; lead unknown */
    size_t n_events, cap_events;
    struct kr_event *guesses; /* rows that look like device work in files without categories */
    size_t n_guesses, cap_guesses;
    struct kr_kineto_op_row *op_rows;
    size_t n_op_rows, cap_op_rows;
    struct kr_kineto_launch *launches;
    size_t n_launches, cap_launches;
    struct kr_kineto_note *notes;
    size_t n_notes, cap_notes;
    struct kr_counts counts;
    struct kr_kineto_tally tally;
    struct kr_warning warnings[KR_WARN_COUNT];
    char *scratch; /* for decoded strings */
    size_t cap_scratch;
};

/** An empty part; NULL with err filled. */
struct kr_kineto_part *kr_kineto_part_new(struct kr_err *err);
void kr_kineto_part_free(struct kr_kineto_part *part);

/** Counts a warning at a byte of the text. */
void kr_kineto_part_warn(struct kr_kineto_part *part, enum kr_warn warn, uint64_t offset);

/**
 * The id of a string given by its raw inside, escapes undone; damage in it is counted at `offset`.
 * @return KR_STR_NONE with err filled.
 */
uint32_t kr_kineto_part_string(struct kr_kineto_part *part, const char *raw, size_t len,
                               uint64_t offset, struct kr_err *err);

bool kr_kineto_part_add_event(struct kr_kineto_part *part, const struct kr_site *site,
                              const struct kr_kineto_track *track, struct kr_event event,
                              struct kr_err *err);
/** The same for a row that only looks like device work; forgotten once real device rows exist. */
bool kr_kineto_part_add_guess(struct kr_kineto_part *part, const struct kr_site *site,
                              const struct kr_kineto_track *track, struct kr_event event,
                              struct kr_err *err);
bool kr_kineto_part_add_op(struct kr_kineto_part *part, uint32_t external_id,
                           const struct kr_kineto_op *op, struct kr_err *err);
bool kr_kineto_part_add_launch(struct kr_kineto_part *part, struct kr_kineto_launch launch,
                               struct kr_err *err);
bool kr_kineto_part_add_note(struct kr_kineto_part *part, struct kr_kineto_note note,
                             struct kr_err *err);

#endif

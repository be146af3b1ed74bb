/* The marks in one part of a run: NVTX ranges, and where recording paused to calibrate. */
#ifndef KR_RECORD_MARKS_H
#define KR_RECORD_MARKS_H

#include "kreach_decode.h"

/* A stretch without recording; CUPTI's clock, like ranges. Lists are in time order. */
struct kr_record_pause {
    int64_t from_ns, to_ns;
};

struct kr_record_marks {
    struct kr_timeline *timeline;   /* its strings hold the ranges' names */
    struct kr_decode *decode;       /* its links hold the ranges: by thread, label, start */
    struct kr_record_pause *pauses; /* to calibrate */
    size_t n_pauses;
    struct kr_record_pause *shut; /* outside the window */
    size_t n_shut;
    char step_range[128]; /* the label by which they were timed; "" = none */
};

/* Ranges of one label on one thread, in time order. Borrowed from the marks. */
struct kr_record_group {
    const struct kr_range *ranges;
    size_t n;
    const char *label;   /* the ranges' name with digit runs as '*' */
    uint64_t covered_ns; /* sum of their lengths */
};

/** Reads a part; false with err filled. Freed with kr_record_marks_free, also after a failure. */
bool kr_record_marks_read(const char *folder, const char *part, struct kr_record_marks *marks,
                          struct kr_err *err);
void kr_record_marks_free(struct kr_record_marks *marks);

/** The group that begins at ranges[*at]; moves *at behind it. False at the end. */
bool kr_record_marks_group(const struct kr_record_marks *marks, size_t *at,
                           struct kr_record_group *group);

#endif

/* One import on its way: shared by the ways to bring text to the Kineto reader. Private. */
#ifndef KR_IMPORT_READER_H
#define KR_IMPORT_READER_H

#include "import.h"
#include "input.h"
#include "kineto_doc.h"
#include "kineto_scan.h"
#include "kineto_total.h"

/* Sizes that tests make small, to cut small inputs in many places. */
struct kr_import_tuning {
    size_t segment_bytes; /* text that one part covers */
    size_t block_bytes;   /* read at once from compressed input and pipes */
    struct kr_input_limits limits;
};

#define KR_IMPORT_TUNING                                                                           \
    ((struct kr_import_tuning){ (size_t)16 << 20, (size_t)1 << 20, KR_INPUT_LIMITS })

enum kr_import_stage { KR_STAGE_HEAD, KR_STAGE_EVENTS, KR_STAGE_TAIL };

struct kr_import {
    struct kr_input *in;
    struct kr_import_tuning tuning;
    unsigned threads;
    kr_progress_fn *progress;
    void *progress_user;
    uint64_t next_progress_ns;
    struct kr_timeline *timeline;
    struct kr_kineto_total total;
    struct kr_kineto_doc doc;
    struct kr_kineto_scan scan; /* its part: the one being filled, NULL = none */
    enum kr_import_stage stage;
    uint64_t text_bytes; /* consumed */
};

/** Reads what it can of text from *pos on: head, events, tail. Events from `stop` on are left. */
bool kr_import_feed(struct kr_import *im, const struct kr_json_text *text, uint64_t base,
                    size_t *pos, size_t stop, struct kr_err *err);

/** Adds the part being filled to the totals and drops it. */
bool kr_import_flush(struct kr_import *im, struct kr_err *err);

/** Tells the caller how far it is, ten times a second at most. */
void kr_import_tell(struct kr_import *im, uint64_t done_bytes, uint64_t total_bytes);

/** All of a text in memory, on this thread. */
bool kr_import_whole(struct kr_import *im, const struct kr_json_text *text, struct kr_err *err);

/** The events of a text in memory by several threads; im->stage is EVENTS, *pos behind the '['. */
bool kr_import_segments(struct kr_import *im, const struct kr_json_text *text, size_t *pos,
                        struct kr_err *err);

/** Text that comes in blocks; read (and inflated) by a second thread unless im->threads is 1. */
bool kr_import_stream(struct kr_import *im, struct kr_err *err);

/** kr_import_mem with other sizes, for tests. */
struct kr_timeline *kr_import_mem_tuned(const char *name, const void *data, size_t len,
                                        const struct kr_import_options *opt,
                                        const struct kr_import_tuning *tuning, struct kr_err *err);

#endif

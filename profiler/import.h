/* Opens a recorded timeline of any known format; the format is found from the content. */
#ifndef KR_IMPORT_H
#define KR_IMPORT_H

#include "timeline.h"

/* Told while reading, at most ten times a second; text bytes so far and in all (0 = unknown). */
typedef void kr_progress_fn(void *user, uint64_t done_bytes, uint64_t total_bytes);

struct kr_import_options {
    unsigned threads;         /* 0 = as many as there are processors, at most 8 */
    kr_progress_fn *progress; /* NULL = none; called on the calling thread */
    void *progress_user;
};

/**
 * Reads a recorded run: Kineto JSON, plain or in gzip or zstd, or a .kreach file; "-" is standard
 * input. The format is told by content. Threads share a plain JSON file; the answer is the same for
 * any number of them.
 *
 * Damage that leaves the rest usable is counted in the timeline's warnings; source.truncated says
 * that the input ended early. A file with no device work at all is an error.
 * @param opt  NULL for the defaults
 * @return a finished timeline owned by the caller (kr_timeline_free), or NULL with err filled:
 *         KR_EINPUT with the path in the message and the byte offset where there is one.
 */
struct kr_timeline *kr_import_file(const char *path, const struct kr_import_options *opt,
                                   struct kr_err *err);

/** The same for bytes in memory (compressed or not); `name` stands in messages. */
struct kr_timeline *kr_import_mem(const char *name, const void *data, size_t len,
                                  const struct kr_import_options *opt, struct kr_err *err);

#endif

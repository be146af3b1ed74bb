/* Where data goes: a stream that is there, or a file that appears whole or not at all. */
#ifndef KR_OUTPUT_H
#define KR_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

struct kr_output {
    FILE *file;       /* write here */
    bool owned;       /* `file` is ours to close */
    bool replace;     /* an existing file may be replaced */
    const char *path; /* its name, borrowed; NULL = a stream that was there before */
    char *temporary;  /* its name until all is written; NULL = written in place */
};

/**
 * Opens a file for data. A regular file is written under a temporary name in the same folder; a
 * device or a pipe is written in place.
 *
 * @param path   borrowed until the output is closed; NULL or "-" = use `stream`
 * @return false with KR_EOUTPUT when it cannot be created, or KR_EARG when it exists and `replace`
 *         is not set.
 */
bool kr_output_open(struct kr_output *out, const char *path, FILE *stream, bool replace,
                    struct kr_err *err);

/**
 * Ends an output: flushes, checks that every byte was taken, and gives the file its name.
 * @return false with KR_EOUTPUT (a full disk, a closed pipe: errno EPIPE stays in errno).
 */
bool kr_output_commit(struct kr_output *out, struct kr_err *err);

/** Drops an output that is not wanted: no file is left behind. Safe after commit. */
void kr_output_discard(struct kr_output *out);

#endif

/*
 * Reads a file, a pipe, standard input or memory as text, inflating gzip and zstd on the way.
 *
 * The compression is found from the first bytes, never from the name. Memory is bounded by a few
 * hundred KiB whatever the input; a text that grows beyond all reason is an error (see limits).
 */
#ifndef KR_INPUT_H
#define KR_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct kr_input;

/* When decompression is refused: more than free_bytes of text, and more than max_ratio times the
 * compressed bytes read so far. Real traces deflate 10 to 20 times. */
struct kr_input_limits {
    uint64_t free_bytes;
    uint64_t max_ratio;
};

#define KR_INPUT_LIMITS ((struct kr_input_limits){ UINT64_C(1) << 30, 400 })

/* What was met on the way; complete once kr_input_read has returned 0 bytes. */
struct kr_input_state {
    const char *compression; /* "none", "gzip", "zstd" */
    uint64_t input_bytes;    /* as stored, read so far */
    uint64_t input_total;    /* 0 = unknown (a pipe) */
    bool damaged;            /* the compressed stream ends early or is corrupt from there on */
    uint64_t damaged_at;     /* [byte] in the compressed input */
    bool gzip_trailing;      /* bytes that are no gzip member follow the last member */
};

/**
 * Opens a file, FIFO or "-" for standard input.
 * @return NULL with err filled (KR_EINPUT, the path in the message) when it cannot be opened, is a
 *         directory, or is empty. Freed with kr_input_close.
 */
struct kr_input *kr_input_open(const char *path, struct kr_err *err);

/** The same for bytes in memory, borrowed until kr_input_close; `name` stands in messages. */
struct kr_input *kr_input_open_mem(const char *name, const void *data, size_t len,
                                   struct kr_err *err);

void kr_input_close(struct kr_input *in);

/** Replaces the limits; before the first read. */
void kr_input_set_limits(struct kr_input *in, struct kr_input_limits limits);

/** The whole text when it lies in memory uncompressed, borrowed until close; else NULL. */
const unsigned char *kr_input_text(const struct kr_input *in, size_t *len);

/** The first bytes of the input as stored (16 of them when there are so many), before any read. */
const unsigned char *kr_input_peek(const struct kr_input *in, size_t *len);

/** Tells that text before `end` [byte] is not needed for now, so its pages may leave memory. */
void kr_input_forget(struct kr_input *in, size_t end);

/**
 * The next bytes of text.
 *
 * Damage of the compressed stream ends the text early and is told by kr_input_state.
 * @param got  bytes stored, 0 only at the end
 * @return false with err filled: KR_EINPUT when reading fails or the limits are passed (offset: of
 *         the text), KR_ENOMEM.
 */
bool kr_input_read(struct kr_input *in, void *buf, size_t cap, size_t *got, struct kr_err *err);

struct kr_input_state kr_input_state(const struct kr_input *in);

#endif

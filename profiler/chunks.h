/*
 * Chunks of a .kreach file (kreach_format.h): walking over them whatever happened to the bytes,
 * decoding their fields, and writing them.
 */
#ifndef KR_CHUNKS_H
#define KR_CHUNKS_H

#include <stddef.h>
#include <stdio.h>

#include "err.h"
#include "kreach_format.h"

/* Fields being decoded. A read past the end gives 0 and sets `bad`, so that a row of reads needs
   one check; so does a varint that is no 64-bit number. */
struct kr_cursor {
    const uint8_t *at, *end;
    bool bad;
};

/* Bytes inside the payload, borrowed; not NUL-terminated, any bytes. */
struct kr_text {
    const char *s;
    size_t len;
};

uint8_t kr_cursor_u8(struct kr_cursor *c);
uint64_t kr_cursor_varint(struct kr_cursor *c);
int64_t kr_cursor_svarint(struct kr_cursor *c);
/** A varint that must fit 32 bits. */
uint32_t kr_cursor_u32(struct kr_cursor *c);
struct kr_text kr_cursor_text(struct kr_cursor *c);
/** `len` raw bytes, or NULL (and `bad`) when fewer are left. */
const uint8_t *kr_cursor_bytes(struct kr_cursor *c, size_t len);
/** True while there is more to read and nothing was wrong. */
bool kr_cursor_more(const struct kr_cursor *c);

/* What kr_chunks_next found: a chunk, or the signature before a section (type 0). */
struct kr_chunk {
    uint16_t type;   /* enum kreach_chunk_type or unknown; KR_CHUNK_SIGNATURE */
    uint64_t offset; /* [byte] where its header begins */
    const uint8_t *payload;
    size_t len;
};

#define KR_CHUNK_SIGNATURE 0

/** A cursor over the payload. */
struct kr_cursor kr_chunk_fields(const struct kr_chunk *chunk);

/* A walk over a file's chunks. */
struct kr_chunks {
    const uint8_t *data;
    size_t len, at;
    uint64_t damaged;       /* stretches that were skipped because their bytes are wrong */
    uint64_t first_damaged; /* [byte] where the first begins */
    bool torn;              /* the file ends inside a chunk */
    uint64_t torn_at;       /* [byte] where that chunk begins */
    uint64_t crc_budget;    /* [byte] left for checking what only looks like a chunk */
};

/** True for bytes that begin as a .kreach file does. */
bool kr_chunks_detect(const void *data, size_t len);

/** Starts a walk; the bytes stay borrowed. */
void kr_chunks_start(struct kr_chunks *c, const void *data, size_t len);

/**
 * The next intact chunk or signature; false at the end.
 *
 * Damage is skipped to the next intact chunk (found by its magic and checksum) and counted. The
 * whole walk is linear in the file's size: once what merely looks like chunks has cost two readings
 * of the file, the rest counts as one damaged stretch.
 */
bool kr_chunks_next(struct kr_chunks *c, struct kr_chunk *out);

/* A growing buffer of encoded fields. Zeroed to start with; released by kr_bytes_free. */
struct kr_bytes {
    uint8_t *data;
    size_t len, cap;
};

void kr_bytes_free(struct kr_bytes *b);
bool kr_bytes_put(struct kr_bytes *b, const void *data, size_t len, struct kr_err *err);
bool kr_bytes_varint(struct kr_bytes *b, uint64_t value, struct kr_err *err);
bool kr_bytes_svarint(struct kr_bytes *b, int64_t value, struct kr_err *err);
bool kr_bytes_text(struct kr_bytes *b, const char *s, size_t len, struct kr_err *err);

/** Appends a whole chunk (header, checksum, payload) to `file`. */
bool kr_bytes_chunk(struct kr_bytes *file, uint16_t type, const struct kr_bytes *payload,
                    struct kr_err *err);

#endif

#include "chunks.h"

#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "mem.h"

enum { HEADER_BYTES = sizeof(struct kreach_chunk), HEADER_CHECKED = 12, VARINT_MAX_BYTES = 10 };

/* The most that one buffer of ours may hold; far above any chunk. */
#define MAX_BYTES ((size_t)1 << 32)

_Static_assert(HEADER_BYTES == 16, "the header is 16 bytes without padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are read as they lie");

bool kr_cursor_more(const struct kr_cursor *c)
{
    return !c->bad && c->at < c->end;
}

const uint8_t *kr_cursor_bytes(struct kr_cursor *c, size_t len)
{
    const uint8_t *bytes = c->at;

    if (c->bad || len > (size_t)(c->end - c->at)) {
        c->bad = true;
        return NULL;
    }
    c->at += len;
    return bytes;
}

uint8_t kr_cursor_u8(struct kr_cursor *c)
{
    const uint8_t *byte = kr_cursor_bytes(c, 1);

    return byte ? *byte : 0;
}

uint64_t kr_cursor_varint(struct kr_cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 7 * VARINT_MAX_BYTES && kr_cursor_more(c); shift += 7) {
        uint8_t byte = *c->at++;

        if (shift == 63 && byte > 1)
            break; /* more than 64 bits */
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return 0;
}

int64_t kr_cursor_svarint(struct kr_cursor *c)
{
    uint64_t zigzag = kr_cursor_varint(c);

    return (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
}

uint32_t kr_cursor_u32(struct kr_cursor *c)
{
    uint64_t value = kr_cursor_varint(c);

    if (value <= UINT32_MAX)
        return (uint32_t)value;
    c->bad = true;
    return 0;
}

struct kr_text kr_cursor_text(struct kr_cursor *c)
{
    uint64_t len = kr_cursor_varint(c);
    const uint8_t *bytes = kr_cursor_bytes(c, len);

    return bytes ? (struct kr_text){ (const char *)bytes, len } : (struct kr_text){ "", 0 };
}

struct kr_cursor kr_chunk_fields(const struct kr_chunk *chunk)
{
    struct kr_cursor fields = { .at = chunk->payload, .end = chunk->payload };

    if (chunk->len) /* an empty chunk has no payload to point to */
        fields.end += chunk->len;
    return fields;
}

bool kr_chunks_detect(const void *data, size_t len)
{
    return len >= KREACH_SIGNATURE_BYTES &&
           memcmp(data, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES) == 0;
}

void kr_chunks_start(struct kr_chunks *c, const void *data, size_t len)
{
    *c = (struct kr_chunks){ .data = data, .len = len, .crc_budget = 2 * (uint64_t)len };
}

/* The header at a place, when it claims to be a chunk that lies inside the file. */
static bool read_header(const struct kr_chunks *c, size_t at, struct kreach_chunk *header)
{
    if (c->len - at < HEADER_BYTES)
        return false;
    memcpy(header, c->data + at, HEADER_BYTES);
    return header->magic == KREACH_CHUNK_MAGIC && header->payload_bytes <= KREACH_CHUNK_MAX_BYTES &&
           header->payload_bytes <= c->len - at - HEADER_BYTES;
}

/* Takes the signature or the intact chunk at a place. */
static bool take(struct kr_chunks *c, size_t at, struct kr_chunk *out)
{
    struct kreach_chunk header;
    const uint8_t *payload = c->data + at + HEADER_BYTES;
    uint32_t crc;

    if (kr_chunks_detect(c->data + at, c->len - at)) {
        *out = (struct kr_chunk){ .type = KR_CHUNK_SIGNATURE, .offset = at };
        c->at = at + KREACH_SIGNATURE_BYTES;
        return true;
    }
    if (!read_header(c, at, &header))
        return false;
    crc = kr_crc32c(0, c->data + at, HEADER_CHECKED);
    crc = kr_crc32c(crc, payload, header.payload_bytes);
    if (crc != header.crc) {
        uint64_t cost = HEADER_BYTES + (uint64_t)header.payload_bytes;

        c->crc_budget -= cost < c->crc_budget ? cost : c->crc_budget;
        return false;
    }
    *out = (struct kr_chunk){ header.type, at, payload, header.payload_bytes };
    c->at = at + HEADER_BYTES + header.payload_bytes;
    return true;
}

/* True when what lies at a place is the beginning of a chunk or signature whose rest is missing. */
static bool looks_torn(const struct kr_chunks *c, size_t at)
{
    static const uint32_t magic = KREACH_CHUNK_MAGIC;
    struct kreach_chunk header;
    size_t left = c->len - at;
    size_t n = left < sizeof magic ? left : sizeof magic;

    if (left < KREACH_SIGNATURE_BYTES && memcmp(c->data + at, KREACH_SIGNATURE, left) == 0)
        return true;
    if (memcmp(c->data + at, &magic, n) != 0)
        return false;
    if (left < HEADER_BYTES)
        return true;
    memcpy(&header, c->data + at, HEADER_BYTES);
    return header.payload_bytes <= KREACH_CHUNK_MAX_BYTES &&
           header.payload_bytes > left - HEADER_BYTES;
}

/* Skips wrong bytes up to the next intact chunk; both magics begin with the same letter. */
static bool resync(struct kr_chunks *c, struct kr_chunk *out)
{
    size_t from = c->at;
    const uint8_t *end = c->data + c->len;
    const uint8_t *p = c->data + from + 1;
    bool found = false;

    while (!found && c->crc_budget > 0 && p < end) {
        p = memchr(p, KREACH_SIGNATURE[0], (size_t)(end - p));
        if (!p)
            break;
        found = take(c, (size_t)(p - c->data), out);
        p++;
    }
    if (!found && looks_torn(c, from)) {
        c->torn = true;
        c->torn_at = from;
    } else if (c->damaged++ == 0) {
        c->first_damaged = from;
    }
    if (!found)
        c->at = c->len;
    return found;
}

bool kr_chunks_next(struct kr_chunks *c, struct kr_chunk *out)
{
    if (c->at >= c->len)
        return false;
    return take(c, c->at, out) || resync(c, out);
}

void kr_bytes_free(struct kr_bytes *b)
{
    free(b->data);
    *b = (struct kr_bytes){ 0 };
}

bool kr_bytes_put(struct kr_bytes *b, const void *data, size_t len, struct kr_err *err)
{
    if (!len)
        return true;
    if (len > MAX_BYTES - b->len)
        return kr_fail(err, KR_ENOMEM, "more than %zu bytes to write at once", MAX_BYTES);
    if (!kr_grow(&b->data, &b->cap, b->len + len, 1, MAX_BYTES, err))
        return false;
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return true;
}

bool kr_bytes_varint(struct kr_bytes *b, uint64_t value, struct kr_err *err)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    size_t n = 0;

    for (; value > 0x7f; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    return kr_bytes_put(b, bytes, n, err);
}

bool kr_bytes_svarint(struct kr_bytes *b, int64_t value, struct kr_err *err)
{
    return kr_bytes_varint(b, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63), err);
}

bool kr_bytes_text(struct kr_bytes *b, const char *s, size_t len, struct kr_err *err)
{
    return kr_bytes_varint(b, len, err) && kr_bytes_put(b, s, len, err);
}

bool kr_bytes_chunk(struct kr_bytes *file, uint16_t type, const struct kr_bytes *payload,
                    struct kr_err *err)
{
    struct kreach_chunk header = { .magic = KREACH_CHUNK_MAGIC, .type = type };

    if (payload->len > KREACH_CHUNK_MAX_BYTES)
        return kr_fail(err, KR_EARG, "a chunk of %zu bytes, where %u is the most", payload->len,
                       KREACH_CHUNK_MAX_BYTES);
    header.payload_bytes = (uint32_t)payload->len;
    header.crc = kr_crc32c(0, &header, HEADER_CHECKED);
    header.crc = kr_crc32c(header.crc, payload->data, payload->len);
    return kr_bytes_put(file, &header, HEADER_BYTES, err) &&
           kr_bytes_put(file, payload->data, payload->len, err);
}

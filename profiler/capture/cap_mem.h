/*
 * Memory of libkreach: pages of its own, so that the program's allocator (replaced, locked in a
 * fork, or corrupt) is never involved.
 */
#ifndef CAP_MEM_H
#define CAP_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAP_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/** Zeroed pages, or NULL. */
void *cap_pages(size_t bytes);

/** Gives pages back; NULL is fine. */
void cap_pages_free(void *pages, size_t bytes);

/* A growing run of bytes. Zeroed = empty. A failed allocation sticks until cap_bytes_clear. */
struct cap_bytes {
    uint8_t *data;
    size_t len, cap;
    bool failed;
};

/** Forgets the contents, keeps the memory. */
void cap_bytes_clear(struct cap_bytes *b);
void cap_bytes_free(struct cap_bytes *b);

/** Room for `more` further bytes at data + len; false when out of memory (then b->failed). */
bool cap_bytes_reserve(struct cap_bytes *b, size_t more);

void cap_put(struct cap_bytes *b, const void *data, size_t len);
void cap_put_u8(struct cap_bytes *b, uint8_t value);
/** LEB128. */
void cap_put_varint(struct cap_bytes *b, uint64_t value);
/** Zigzag, then LEB128. */
void cap_put_svarint(struct cap_bytes *b, int64_t value);
/** varint length and the bytes. */
void cap_put_text(struct cap_bytes *b, const char *text, size_t len);

#define CAP_VARINT_MAX_BYTES 10

/** Writes a varint at p, which must have CAP_VARINT_MAX_BYTES of room; returns the end. */
static inline uint8_t *cap_varint(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

/** Maps small magnitudes of either sign to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t cap_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

#endif

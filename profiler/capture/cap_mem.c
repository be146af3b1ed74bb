#include "cap_mem.h"

#include <string.h>
#include <sys/mman.h>

void *cap_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

void cap_pages_free(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

void cap_bytes_clear(struct cap_bytes *b)
{
    b->len = 0;
    b->failed = false;
}

void cap_bytes_free(struct cap_bytes *b)
{
    cap_pages_free(b->data, b->cap);
    *b = (struct cap_bytes){ 0 };
}

static bool grow(struct cap_bytes *b, size_t need)
{
    size_t cap = b->cap ? b->cap : 16384;

    while (cap < need)
        cap *= 2;
    void *data = b->data ? mremap(b->data, b->cap, cap, MREMAP_MAYMOVE) : cap_pages(cap);
    if (!data || data == MAP_FAILED) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

bool cap_bytes_reserve(struct cap_bytes *b, size_t more)
{
    if (b->failed)
        return false;
    if (b->cap - b->len >= more)
        return true;
    return grow(b, b->len + more);
}

void cap_put(struct cap_bytes *b, const void *data, size_t len)
{
    if (len > 0 && cap_bytes_reserve(b, len)) {
        memcpy(b->data + b->len, data, len);
        b->len += len;
    }
}

void cap_put_u8(struct cap_bytes *b, uint8_t value)
{
    cap_put(b, &value, 1);
}

void cap_put_varint(struct cap_bytes *b, uint64_t value)
{
    if (cap_bytes_reserve(b, CAP_VARINT_MAX_BYTES))
        b->len = (size_t)(cap_varint(b->data + b->len, value) - b->data);
}

void cap_put_svarint(struct cap_bytes *b, int64_t value)
{
    cap_put_varint(b, cap_zigzag(value));
}

void cap_put_text(struct cap_bytes *b, const char *text, size_t len)
{
    cap_put_varint(b, len);
    cap_put(b, text, len);
}

/* Text 64 bytes at a time, as bits: which bytes are quotes, brackets and so on. */
#ifndef KR_JSON_BLOCK_H
#define KR_JSON_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KR_BLOCK_BYTES = 64, KR_BLOCKS_AHEAD = 128 };

/* One bit a byte, whether inside of a string or not. */
struct kr_block {
    uint64_t quote, backslash;
    uint64_t brace;     /* { } */
    uint64_t structure; /* { } [ ] , */
    uint64_t follow;    /* what may follow a string: structure, a colon, a byte up to space */
};

/* A window of blocks over a text; blocks count from the text's first byte. */
struct kr_blocks {
    const char *p;
    size_t len;
    size_t first, n; /* blocks in the window */
    struct kr_block window[KR_BLOCKS_AHEAD];
};

/** Starts on a text; every other use of b follows it. */
void kr_blocks_start(struct kr_blocks *b, const char *p, size_t len);

/** Moves the window so that it starts with block `index`, which holds a byte of the text. Bytes
 * behind the text's end count as spaces. */
void kr_blocks_move(struct kr_blocks *b, size_t index);

/**
 * The block with this index; valid until another is asked for. Text of the window behind is fetched
 * early, so that the processor need not wait for memory when that comes.
 */
static inline const struct kr_block *kr_blocks_at(struct kr_blocks *b, size_t index)
{
    if (index - b->first >= b->n)
        kr_blocks_move(b, index);
    __builtin_prefetch(
        (const void *)((uintptr_t)b->p + (index + KR_BLOCKS_AHEAD) * KR_BLOCK_BYTES));
    return &b->window[index - b->first];
}

/** True when the text holds `"key"`, quotes included, wherever. `n` is the length of key. */
bool kr_blocks_mention(const char *p, size_t len, const char *key, size_t n);

/* How blocks are made, the fastest last. All ways see the same. */
enum kr_blocks_way { KR_BLOCKS_PLAIN, KR_BLOCKS_SSE2, KR_BLOCKS_AVX2, KR_BLOCKS_AVX512 };

/** Uses no way behind this one from now on, whatever the processor can do; for tests. */
void kr_blocks_limit(enum kr_blocks_way way);

#endif

#include "json_block.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static enum kr_blocks_way best_way = KR_BLOCKS_AVX512;

void kr_blocks_limit(enum kr_blocks_way way)
{
    best_way = way;
}

static void classify_plain(const char *p, size_t n, struct kr_block *out)
{
    for (size_t i = 0; i < n; i++) {
        struct kr_block b = { 0 };

        for (int k = 0; k < KR_BLOCK_BYTES; k++) {
            unsigned char c = (unsigned char)p[i * KR_BLOCK_BYTES + (size_t)k];
            uint64_t bit = UINT64_C(1) << k;
            bool brace = c == '{' || c == '}';
            bool structure = brace || c == '[' || c == ']' || c == ',';

            b.quote |= c == '"' ? bit : 0;
            b.backslash |= c == '\\' ? bit : 0;
            b.brace |= brace ? bit : 0;
            b.structure |= structure ? bit : 0;
            b.follow |= structure || c == ':' || c <= 0x20 ? bit : 0;
        }
        out[i] = b;
    }
}

#ifdef __x86_64__
/*
 * The same by vectors. '{' is 0x7b, '}' 0x7d, and '[' and ']' are these without bit 0x20, so that
 * (c | 0x20) - 0x7b without bit 2 is zero for all four.
 */
static inline uint64_t bits128(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(a) |
           (uint64_t)(unsigned)_mm_movemask_epi8(b) << 16 |
           (uint64_t)(unsigned)_mm_movemask_epi8(c) << 32 |
           (uint64_t)(unsigned)_mm_movemask_epi8(d) << 48;
}

static inline __m128i curly128(__m128i c)
{
    return _mm_cmpeq_epi8(_mm_and_si128(_mm_sub_epi8(c, _mm_set1_epi8('{')), _mm_set1_epi8(~2)),
                          _mm_setzero_si128());
}

static void classify_sse2(const char *p, size_t n, struct kr_block *out)
{
    const __m128i space = _mm_set1_epi8(0x20);

    for (size_t i = 0; i < n; i++, p += KR_BLOCK_BYTES) {
        __m128i quote[4], backslash[4], brace[4], structure[4], follow[4];

        for (int k = 0; k < 4; k++) {
            __m128i c =
                _mm_loadu_si128((const __m128i *)(const void *)(p + (size_t)16 * (size_t)k));

            quote[k] = _mm_cmpeq_epi8(c, _mm_set1_epi8('"'));
            backslash[k] = _mm_cmpeq_epi8(c, _mm_set1_epi8('\\'));
            brace[k] = curly128(c);
            structure[k] = _mm_or_si128(curly128(_mm_or_si128(c, space)),
                                        _mm_cmpeq_epi8(c, _mm_set1_epi8(',')));
            follow[k] =
                _mm_or_si128(_mm_or_si128(structure[k], _mm_cmpeq_epi8(c, _mm_set1_epi8(':'))),
                             _mm_cmpeq_epi8(_mm_min_epu8(c, space), c));
        }
        out[i].quote = bits128(quote[0], quote[1], quote[2], quote[3]);
        out[i].backslash = bits128(backslash[0], backslash[1], backslash[2], backslash[3]);
        out[i].brace = bits128(brace[0], brace[1], brace[2], brace[3]);
        out[i].structure = bits128(structure[0], structure[1], structure[2], structure[3]);
        out[i].follow = bits128(follow[0], follow[1], follow[2], follow[3]);
    }
}

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline uint64_t bits256(__m256i a, __m256i b)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(a) | (uint64_t)(unsigned)_mm256_movemask_epi8(b)
                                                             << 32;
}

AVX2 static inline __m256i curly256(__m256i c)
{
    __m256i shifted = _mm256_sub_epi8(c, _mm256_set1_epi8('{'));

    return _mm256_cmpeq_epi8(_mm256_and_si256(shifted, _mm256_set1_epi8(~2)),
                             _mm256_setzero_si256());
}

AVX2 static void classify_avx2(const char *p, size_t n, struct kr_block *out)
{
    const __m256i space = _mm256_set1_epi8(0x20);

    for (size_t i = 0; i < n; i++, p += KR_BLOCK_BYTES) {
        __m256i quote[2], backslash[2], brace[2], structure[2], follow[2];

        for (int k = 0; k < 2; k++) {
            __m256i c =
                _mm256_loadu_si256((const __m256i *)(const void *)(p + (size_t)32 * (size_t)k));

            quote[k] = _mm256_cmpeq_epi8(c, _mm256_set1_epi8('"'));
            backslash[k] = _mm256_cmpeq_epi8(c, _mm256_set1_epi8('\\'));
            brace[k] = curly256(c);
            structure[k] = _mm256_or_si256(curly256(_mm256_or_si256(c, space)),
                                           _mm256_cmpeq_epi8(c, _mm256_set1_epi8(',')));
            follow[k] = _mm256_or_si256(
                _mm256_or_si256(structure[k], _mm256_cmpeq_epi8(c, _mm256_set1_epi8(':'))),
                _mm256_cmpeq_epi8(_mm256_min_epu8(c, space), c));
        }
        out[i].quote = bits256(quote[0], quote[1]);
        out[i].backslash = bits256(backslash[0], backslash[1]);
        out[i].brace = bits256(brace[0], brace[1]);
        out[i].structure = bits256(structure[0], structure[1]);
        out[i].follow = bits256(follow[0], follow[1]);
    }
}

/* The same with masks, which need no gathering of bits. */
__attribute__((target("avx512bw"))) static void classify_avx512(const char *p, size_t n,
                                                                struct kr_block *out)
{
    const __m512i space = _mm512_set1_epi8(0x20);
    const __m512i open = _mm512_set1_epi8('{');
    const __m512i either = _mm512_set1_epi8(~2);

    for (size_t i = 0; i < n; i++, p += KR_BLOCK_BYTES) {
        __m512i c = _mm512_loadu_si512(p);
        __m512i folded = _mm512_sub_epi8(_mm512_or_si512(c, space), open);
        uint64_t structure = _mm512_testn_epi8_mask(folded, either) |
                             _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(','));

        out[i].quote = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('"'));
        out[i].backslash = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\\'));
        out[i].brace = _mm512_testn_epi8_mask(_mm512_sub_epi8(c, open), either);
        out[i].structure = structure;
        out[i].follow = structure | _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(':')) |
                        _mm512_cmple_epu8_mask(c, space);
    }
}
#endif

static bool quotes(const char *p, size_t len, const char *key, size_t n)
{
    return len >= n + 2 && p[0] == '"' && p[n + 1] == '"' && memcmp(p + 1, key, n) == 0;
}

bool kr_blocks_mention(const char *p, size_t len, const char *key, size_t n)
{
#ifdef __x86_64__
    const __m128i first = _mm_set1_epi8(key[0]);

    for (; len > 16; p += 16, len -= 16) { /* 17 bytes are looked at */
        __m128i quote =
            _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('"'));
        __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
        unsigned hits =
            (unsigned)_mm_movemask_epi8(_mm_and_si128(quote, _mm_cmpeq_epi8(next, first)));

        for (; hits; hits &= hits - 1) {
            size_t at = (size_t)__builtin_ctz(hits);

            if (quotes(p + at, len - at, key, n))
                return true;
        }
    }
#endif
    for (; len; p++, len--) {
        if (quotes(p, len, key, n))
            return true;
    }
    return false;
}

static void classify(const char *p, size_t n, struct kr_block *out)
{
#ifdef __x86_64__
    if (best_way >= KR_BLOCKS_AVX512 && __builtin_cpu_supports("avx512bw"))
        classify_avx512(p, n, out);
    else if (best_way >= KR_BLOCKS_AVX2 && __builtin_cpu_supports("avx2"))
        classify_avx2(p, n, out);
    else if (best_way >= KR_BLOCKS_SSE2)
        classify_sse2(p, n, out);
    else
#endif
        classify_plain(p, n, out);
}

void kr_blocks_start(struct kr_blocks *b, const char *p, size_t len)
{
    b->p = p;
    b->len = len;
    b->first = b->n = 0;
}

void kr_blocks_move(struct kr_blocks *b, size_t index)
{
    size_t at = index * KR_BLOCK_BYTES;
    size_t whole = (b->len - at) / KR_BLOCK_BYTES;

    b->first = index;
    if (whole > 0) {
        b->n = whole < KR_BLOCKS_AHEAD ? whole : KR_BLOCKS_AHEAD;
        classify(b->p + at, b->n, b->window);
    } else {
        char padded[KR_BLOCK_BYTES];

        memset(padded, ' ', sizeof padded);
        memcpy(padded, b->p + at, b->len - at);
        b->n = 1;
        classify(padded, 1, b->window);
    }
}

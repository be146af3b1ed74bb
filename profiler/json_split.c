#include "json_split.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 64 };

/* One bit a byte of a block. */
struct masks {
    uint64_t quote, backslash, open, close;
    uint64_t follow; /* what may follow a string: space , : } ] */
};

#ifdef __SSE2__
static uint64_t bits16(__m128i lanes, int shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(lanes) << shift;
}

static inline void load_masks(const char *p, struct masks *m)
{
    const __m128i space = _mm_set1_epi8(0x20);

    memset(m, 0, sizeof *m);
    for (int i = 0; i < BLOCK; i += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        /* ']' is '}' without bit 0x20 */
        __m128i closer = _mm_cmpeq_epi8(_mm_or_si128(c, space), _mm_set1_epi8('}'));
        __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8(',')),
                                    _mm_cmpeq_epi8(c, _mm_set1_epi8(':')));
        __m128i blank = _mm_cmpeq_epi8(_mm_min_epu8(c, space), c);

        m->quote |= bits16(_mm_cmpeq_epi8(c, _mm_set1_epi8('"')), i);
        m->backslash |= bits16(_mm_cmpeq_epi8(c, _mm_set1_epi8('\\')), i);
        m->open |= bits16(_mm_cmpeq_epi8(c, _mm_set1_epi8('{')), i);
        m->close |= bits16(_mm_cmpeq_epi8(c, _mm_set1_epi8('}')), i);
        m->follow |= bits16(_mm_or_si128(_mm_or_si128(closer, mark), blank), i);
    }
}
#else
static inline void load_masks(const char *p, struct masks *m)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < BLOCK; i++) {
        unsigned char c = (unsigned char)p[i];
        uint64_t bit = UINT64_C(1) << i;

        m->quote |= c == '"' ? bit : 0;
        m->backslash |= c == '\\' ? bit : 0;
        m->open |= c == '{' ? bit : 0;
        m->close |= c == '}' ? bit : 0;
        m->follow |= c <= 0x20 || c == ',' || c == ':' || c == '}' || c == ']' ? bit : 0;
    }
}
#endif

/* Bit i of the result: parity of the bits 0..i, which is "inside a string" for quotes. */
static uint64_t prefix_xor(uint64_t bits)
{
    for (int shift = 1; shift < BLOCK; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* The bytes that a backslash escapes; *carry says so for the first byte, of this block and then of
 * the next. */
static uint64_t escaped_bytes(uint64_t backslash, bool *carry)
{
    uint64_t escaped = *carry ? 1 : 0;

    backslash &= ~escaped;
    *carry = false;
    while (backslash) {
        int i = __builtin_ctzll(backslash);

        if (i == BLOCK - 1) {
            *carry = true;
            break;
        }
        escaped |= UINT64_C(2) << i;
        backslash &= ~(UINT64_C(3) << i);
    }
    return escaped;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

char kr_split_byte_before(const struct kr_json_text *text, size_t pos)
{
    while (pos > 0 && is_space(text->p[pos - 1]))
        pos--;
    return pos > 0 ? text->p[pos - 1] : text->before;
}

static size_t skip_space(const char *p, size_t len, size_t pos)
{
    while (pos < len && is_space(p[pos]))
        pos++;
    return pos;
}

bool kr_split_is_event(const struct kr_json_text *text, size_t pos)
{
    static const char keys[][6] = { "ph",  "cat", "name", "pid", "tid", "ts",
                                    "dur", "id",  "args", "s",   "bp" };
    char before = kr_split_byte_before(text, pos);
    size_t key = skip_space(text->p, text->len, pos + 1);

    if ((before != ',' && before != '[' && before != '\0') || key >= text->len ||
        text->p[key++] != '"')
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i]);

        if (text->len - key > n && memcmp(text->p + key, keys[i], n) == 0 &&
            text->p[key + n] == '"') {
            size_t colon = skip_space(text->p, text->len, key + n + 1);

            return colon < text->len && text->p[colon] == ':';
        }
    }
    return false;
}

size_t kr_split_find_event(const struct kr_json_text *text, size_t from, size_t limit)
{
    while (from < limit) {
        const char *brace = memchr(text->p + from, '{', limit - from);

        if (!brace)
            break;
        from = (size_t)(brace - text->p);
        if (kr_split_is_event(text, from))
            return from;
        from++;
    }
    return limit;
}

/* Braces of one block in order; false while the object goes on. `in` = bytes inside strings. */
static bool walk_braces(struct kr_splitter *s, const struct kr_json_text *text,
                        const struct masks *m, uint64_t in, uint64_t wrong, enum kr_split_end *end)
{
    uint64_t braces = m->open | (m->close & ~in);

    while (braces) {
        uint64_t bit = braces & (0 - braces);
        size_t at = s->pos + (size_t)__builtin_ctzll(braces);

        if (wrong & (bit | (bit - 1)))
            break;
        braces ^= bit;
        *end = KR_SPLIT_LOST;
        if (bit & m->open & in) {
            if (kr_split_is_event(text, at))
                return true;
        } else if (bit & m->open) {
            if (s->depth++ > 0 && kr_split_byte_before(text, at) == ',')
                return true;
        } else if (--s->depth == 0) {
            s->pos = at + 1;
            *end = KR_SPLIT_END;
            return true;
        }
    }
    *end = KR_SPLIT_LOST;
    return wrong != 0;
}

enum kr_split_end kr_split_strict(struct kr_splitter *s, const struct kr_json_text *text,
                                  size_t limit)
{
    while (s->pos < limit && s->pos < text->len) {
        const char *block = text->p + s->pos;
        char padded[BLOCK];
        struct masks m;
        uint64_t in, closing, wrong;
        enum kr_split_end end;

        if (text->len - s->pos < BLOCK) {
            if (!text->last)
                return KR_SPLIT_MORE;
            memset(padded, ' ', sizeof padded);
            memcpy(padded, block, text->len - s->pos);
            block = padded;
        }
        load_masks(block, &m);
        if (m.backslash || s->escaped)
            m.quote &= ~escaped_bytes(m.backslash, &s->escaped);
        in = prefix_xor(m.quote) ^ s->in_string;
        closing = m.quote & ~in;
        wrong = (closing << 1 | (s->after_string ? 1 : 0)) & ~m.follow;
        if ((m.open | m.close | wrong) && walk_braces(s, text, &m, in, wrong, &end))
            return end;
        s->in_string = in >> (BLOCK - 1) ? ~UINT64_C(0) : 0;
        s->after_string = closing >> (BLOCK - 1);
        s->pos += BLOCK;
    }
    return KR_SPLIT_MORE;
}

/* After an escaped quote: does the text go on as it only does behind a string? Backslashes of
 * Windows paths end names in \" so that the quote is meant to close. */
static bool goes_on_outside(const char *p, size_t len, size_t pos)
{
    size_t next = skip_space(p, len, pos);

    if (next >= len)
        return false;
    if (p[next] == ',') {
        next = skip_space(p, len, next + 1);
        return next < len && p[next] == '"';
    }
    if (p[next] != '}')
        return false;
    next = skip_space(p, len, next + 1);
    return next < len && (p[next] == ',' || p[next] == '}' || p[next] == ']');
}

size_t kr_split_backslash_length(const char *p, size_t len, bool lenient)
{
    return lenient && len > 1 && p[1] == '"' && goes_on_outside(p, len, 2) ? 1 : 2;
}

bool kr_split_quote_closes(const char *p, size_t len, size_t pos)
{
    size_t next = skip_space(p, len, pos + 1);

    return next >= len || p[next] == ',' || p[next] == ':' || p[next] == '}' || p[next] == ']';
}

/* Brackets around a place, as bits: 1 is an object. Below the deepest kept level all are lists. */
struct context {
    uint64_t objects;
    uint64_t depth;
};

static void push(struct context *c, bool object)
{
    c->objects = c->objects << 1 | (object ? 1 : 0);
    c->depth++;
}

static void pop(struct context *c)
{
    c->objects >>= 1;
    c->depth--;
}

/* A list that lost its bracket ends with the object around it; a stray ']' ends nothing. */
static void close_bracket(struct context *c, bool object)
{
    bool in_object = c->objects & 1;

    if (object && !in_object && c->depth > 1)
        pop(c);
    if (object || !in_object)
        pop(c);
}

/* Skips the string whose opening quote is at *pos; see kr_split_lenient for the results. */
static enum kr_split_end skip_string(const struct kr_json_text *text, size_t *pos, size_t limit)
{
    size_t len = limit < text->len ? limit : text->len;

    for (size_t i = *pos + 1; i < len; i++) {
        char c = text->p[i];

        if (c == '\\') {
            i += kr_split_backslash_length(text->p + i, text->len - i, true) - 1;
        } else if (c == '"' && kr_split_quote_closes(text->p, text->len, i)) {
            *pos = i + 1;
            return KR_SPLIT_END;
        } else if (c == '{' && kr_split_is_event(text, i)) {
            *pos = i;
            return KR_SPLIT_LOST;
        }
    }
    return KR_SPLIT_MORE;
}

enum kr_split_end kr_split_lenient(const struct kr_json_text *text, size_t start, size_t limit,
                                   size_t *pos)
{
    struct context context = { 0 };
    size_t len = limit < text->len ? limit : text->len;
    size_t i = start;

    while (i < len) {
        char c = text->p[i];

        if (c == '"') {
            enum kr_split_end end = skip_string(text, &i, limit);

            if (end == KR_SPLIT_END)
                continue;
            *pos = i;
            return end;
        }
        if (c == '{' && (context.objects & 1) && kr_split_byte_before(text, i) == ',' &&
            kr_split_is_event(text, i)) {
            *pos = i;
            return KR_SPLIT_LOST;
        }
        if (c == ']' && context.depth == 1) { /* the list of events ends inside this one */
            *pos = i;
            return KR_SPLIT_LOST;
        }
        if (c == '{' || c == '[')
            push(&context, c == '{');
        else if (c == '}' || c == ']')
            close_bracket(&context, c == '}');
        i++;
        if (context.depth == 0) {
            *pos = i;
            return KR_SPLIT_END;
        }
    }
    *pos = len;
    return KR_SPLIT_MORE;
}

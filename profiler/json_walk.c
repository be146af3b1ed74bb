#include "json_walk.h"

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json_split.h"

struct kr_json_walk kr_json_walk_object(const char *text, size_t len, bool lenient)
{
    return (struct kr_json_walk){ .p = text + 1, .end = text + len, .lenient = lenient };
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The next byte that is no space, NUL at the end. */
static char peek(struct kr_json_walk *w)
{
    while (w->p < w->end && is_space(*w->p))
        w->p++;
    return w->p < w->end ? *w->p : '\0';
}

/* The first quote or backslash in [p, end), or end. */
static const char *find_quote(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(c, _mm_set1_epi8('\\')));
        unsigned bits = (unsigned)_mm_movemask_epi8(hit);

        if (bits)
            return p + __builtin_ctz(bits);
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Passes over the string whose opening quote is at p. */
static bool take_string(struct kr_json_walk *w, struct kr_json_span *s)
{
    const char *p = w->p + 1;

    s->p = p;
    for (;;) {
        p = find_quote(p, w->end);
        if (p >= w->end)
            break;
        if (*p == '\\' && w->end - p >= 2) {
            p += kr_split_backslash_length(p, (size_t)(w->end - p), w->lenient);
            continue;
        }
        if (*p == '\\')
            break;
        if (!w->lenient || kr_split_quote_closes(p, (size_t)(w->end - p), 0)) {
            s->len = (size_t)(p - s->p);
            w->p = p + 1;
            return true;
        }
        w->repairs++;
        p++;
    }
    w->broken = true;
    return false;
}

/* Passes over a number, a literal, or another run of bytes that ends where a value may end. */
static bool take_bare(struct kr_json_walk *w, struct kr_json_span *s)
{
    s->p = w->p;
    while (w->p < w->end && !is_space(*w->p) && *w->p != ',' && *w->p != '}' && *w->p != ']' &&
           *w->p != '"' && *w->p != ':' && *w->p != '{' && *w->p != '[')
        w->p++;
    s->len = (size_t)(w->p - s->p);
    if (s->len == 0)
        w->broken = true;
    return !w->broken;
}

/* The first quote or bracket in [p, end), or end. */
static const char *find_bracket(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i folded = _mm_or_si128(c, _mm_set1_epi8(0x20)); /* [ as {, ] as } */
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                   _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')),
                                                _mm_cmpeq_epi8(c, _mm_set1_epi8('"'))));
        unsigned bits = (unsigned)_mm_movemask_epi8(hit);

        if (bits)
            return p + __builtin_ctz(bits);
    }
#endif
    while (p < end && (*p | 0x20) != '{' && (*p | 0x20) != '}' && *p != '"')
        p++;
    return p;
}

bool kr_json_walk_skip(struct kr_json_walk *w, struct kr_json_member *m)
{
    size_t depth = 0;
    struct kr_json_span text;

    w->pending = false;
    do {
        w->p = find_bracket(w->p, w->end);
        if (w->p >= w->end) {
            w->broken = true;
            return false;
        }
        if (*w->p == '"') {
            if (!take_string(w, &text))
                return false;
            continue;
        }
        depth += (*w->p | 0x20) == '{' ? 1 : (size_t)-1;
        w->p++;
    } while (depth > 0);
    m->value.len = (size_t)(w->p - m->value.p);
    return true;
}

static bool take_value(struct kr_json_walk *w, struct kr_json_member *m)
{
    char c = peek(w);

    if (c == '"') {
        m->type = KR_JSON_STRING;
        return take_string(w, &m->value);
    }
    if (c != '{' && c != '[') {
        m->type = KR_JSON_BARE;
        return take_bare(w, &m->value);
    }
    m->type = c == '{' ? KR_JSON_OBJECT : KR_JSON_LIST;
    m->value = (struct kr_json_span){ w->p, (size_t)(w->end - w->p) };
    w->pending = true;
    return true;
}

bool kr_json_walk_next(struct kr_json_walk *w, struct kr_json_member *m)
{
    char c;

    if (w->pending && !kr_json_walk_skip(w, m))
        return false;
    c = peek(w);
    if (c == '}') {
        w->p++;
        return false;
    }
    if (w->started) {
        if (c != ',') {
            w->broken = true;
            return false;
        }
        w->p++;
        c = peek(w);
    }
    w->started = true;
    if (c != '"') {
        w->broken = true;
        return false;
    }
    if (!take_string(w, &m->key))
        return false;
    if (peek(w) != ':') {
        w->broken = true;
        return false;
    }
    w->p++;
    return take_value(w, m);
}

struct kr_json_walk kr_json_walk_enter(const struct kr_json_walk *w)
{
    return (struct kr_json_walk){ .p = w->p + 1, .end = w->end, .lenient = w->lenient };
}

void kr_json_walk_leave(struct kr_json_walk *w, const struct kr_json_walk *inner)
{
    w->p = inner->p;
    w->pending = false;
    w->broken |= inner->broken;
    w->repairs += inner->repairs;
}

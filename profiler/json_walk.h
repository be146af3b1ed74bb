/*
 * Walks the members of one JSON object that lies complete in memory, without building anything.
 *
 * It goes from mark to mark (json_split.h), so that the bytes between cost nothing. All of it is
 * inline: a walk is the reader's innermost loop, and its state should live in registers.
 */
#ifndef KR_JSON_WALK_H
#define KR_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KR_INLINE static inline __attribute__((always_inline))

enum kr_json_type { KR_JSON_STRING, KR_JSON_BARE, KR_JSON_OBJECT, KR_JSON_LIST };

/* Part of the walked text, borrowed. */
struct kr_json_span {
    const char *p; /* NULL = absent */
    size_t len;
};

struct kr_json_member {
    struct kr_json_span key; /* raw inside of the key string */
    enum kr_json_type type;
    /* string: raw inside; bare: the token (number, true, NaN, ...); object, list: with brackets,
     * but up to the end of the text until kr_json_walk_skip has made it the value alone */
    struct kr_json_span value;
};

struct kr_json_walk {
    const char *text;      /* where bit 0 of the marks is: in front of the object or at it */
    size_t end;            /* of the object */
    const uint64_t *marks; /* a bit a byte of text */
    size_t block;          /* where `bits` come from [byte], a multiple of 64 */
    uint64_t bits;         /* marks of the block behind `at` */
    size_t at;             /* the mark that comes next; end = none is left */
    char mark;             /* its byte, NUL when none is left */
    bool broken;           /* not JSON; the walk is over */
    bool started;          /* past the first member */
};

KR_INLINE void kr_json_walk_advance(struct kr_json_walk *w)
{
    while (__builtin_expect(!w->bits, 0)) { /* most blocks hold several */
        w->block += 64;
        if (w->block >= w->end) {
            w->at = w->end;
            w->mark = '\0';
            return;
        }
        w->bits = w->marks[w->block / 64];
    }
    w->at = w->block + (size_t)__builtin_ctzll(w->bits);
    w->bits &= w->bits - 1;
    w->mark = w->text[w->at];
}

/** Starts a walk over the object text[start..end), start < 64; see json_split.h for its marks. */
KR_INLINE struct kr_json_walk kr_json_walk_object(const char *text, size_t end,
                                                  const uint64_t *marks)
{
    struct kr_json_walk w = { text, end, marks, 0, marks[0], 0, '\0', false, false };

    kr_json_walk_advance(&w); /* to the opening brace */
    kr_json_walk_advance(&w);
    return w;
}

KR_INLINE bool kr_json_walk_fail(struct kr_json_walk *w)
{
    w->broken = true;
    return false;
}

/* Spaces between tokens; other control characters pass for spaces too. */
KR_INLINE bool kr_json_is_space(char c)
{
    return (unsigned char)c <= ' ';
}

/* The first byte from p on that is no space. There has to be a next mark, behind which it is not.
 */
KR_INLINE const char *kr_json_walk_token(const char *p)
{
    while (kr_json_is_space(*p))
        p++;
    return p;
}

/* The string that starts at the next mark; the mark behind it, which there is, comes next. */
KR_INLINE bool kr_json_walk_string(struct kr_json_walk *w, struct kr_json_span *s)
{
    s->p = w->text + w->at + 1;
    kr_json_walk_advance(w);
    s->len = (size_t)(w->text + w->at - s->p);
    if (w->mark != '"')
        return kr_json_walk_fail(w);
    kr_json_walk_advance(w);
    return w->mark || kr_json_walk_fail(w);
}

/* True when there is nothing but spaces from p to the next mark. */
KR_INLINE bool kr_json_walk_clear(struct kr_json_walk *w, const char *p)
{
    return (w->mark && kr_json_walk_token(p) == w->text + w->at) || kr_json_walk_fail(w);
}

/** Passes over the object or list that is the last member's value and cuts *value to it. */
KR_INLINE bool kr_json_walk_skip(struct kr_json_walk *w, struct kr_json_span *value)
{
    size_t depth = 0;

    do {
        char c = w->mark;

        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        else if (!c)
            return kr_json_walk_fail(w);
        value->len = (size_t)(w->text + w->at + 1 - value->p);
        kr_json_walk_advance(w);
    } while (depth > 0);
    return kr_json_walk_clear(w, value->p + value->len);
}

/**
 * The value that starts at p or behind spaces there. An object or a list has to be skipped or
 * entered before the next key.
 */
KR_INLINE bool kr_json_walk_value(struct kr_json_walk *w, const char *p, struct kr_json_member *m)
{
    const char *end = w->text + w->at;
    char c = w->mark;

    p = kr_json_walk_token(p);
    m->value = (struct kr_json_span){ p, (size_t)(end - p) };
    if (p < end) {
        while (kr_json_is_space(p[m->value.len - 1]))
            m->value.len--;
        m->type = KR_JSON_BARE;
        return c == ',' || c == '}' || kr_json_walk_fail(w);
    }
    if (c == '"') {
        m->type = KR_JSON_STRING;
        return kr_json_walk_string(w, &m->value) &&
               kr_json_walk_clear(w, m->value.p + m->value.len + 1);
    }
    m->type = c == '{' ? KR_JSON_OBJECT : KR_JSON_LIST;
    return c == '{' || c == '[' || kr_json_walk_fail(w);
}

/**
 * The key of the next member, and where the text behind its colon starts; false at the end of the
 * object or, with broken set, where it is not JSON. Its value has to be read or passed over before
 * the next call. After the end, w->at is the mark behind the object's closing bracket.
 */
KR_INLINE bool kr_json_walk_key(struct kr_json_walk *w, struct kr_json_span *key, const char **rest)
{
    char c = w->mark;
    const char *colon;

    if (w->started && c == ',') {
        kr_json_walk_advance(w);
        c = w->mark;
    } else if (w->started && c != '}') {
        return kr_json_walk_fail(w);
    }
    w->started = true;
    if (c == '}') {
        kr_json_walk_advance(w);
        return false;
    }
    if (c != '"' || !kr_json_walk_string(w, key))
        return kr_json_walk_fail(w);
    colon = kr_json_walk_token(key->p + key->len + 1);
    if (*colon != ':')
        return kr_json_walk_fail(w);
    *rest = colon + 1;
    return true;
}

/** Passes over the value behind a key without looking at it. */
KR_INLINE bool kr_json_walk_pass(struct kr_json_walk *w)
{
    size_t depth = 0;

    while (depth > 0 || (w->mark != ',' && w->mark != '}')) {
        char c = w->mark;

        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || (c == ']' && depth > 0))
            depth--;
        else if (!c || c == ']')
            return kr_json_walk_fail(w);
        kr_json_walk_advance(w);
    }
    return true;
}

/** Goes into the object that is the last member's value; its members come next. */
KR_INLINE void kr_json_walk_enter(struct kr_json_walk *w)
{
    w->started = false;
    kr_json_walk_advance(w);
}

/** Goes on with the outer object, once the walk of the entered one has ended. */
KR_INLINE void kr_json_walk_leave(struct kr_json_walk *w)
{
    w->started = true;
}

#endif

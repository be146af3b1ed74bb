#include "json_split.h"

#include <string.h>

#include "ascii.h"

enum { BLOCK = KR_BLOCK_BYTES };

/* Bit i of the result: parity of the bits 0..i, which is "inside a string" for quotes. */
static uint64_t prefix_xor(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* The bytes that a backslash escapes, given those that come so from the block before. *carry tells
 * whether the first byte of the next block is one. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t escaped, bool *carry)
{
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

char kr_split_byte_before(const struct kr_json_text *text, size_t pos)
{
    while (pos > 0 && kr_is_space(text->p[pos - 1]))
        pos--;
    return pos > 0 ? text->p[pos - 1] : text->before;
}

static size_t skip_space(const char *p, size_t len, size_t pos)
{
    while (pos < len && kr_is_space(p[pos]))
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

/* Judges a brace outside of strings, the object still being open. */
static enum kr_split_end take_brace(uint64_t *depth, const struct kr_json_text *text, size_t at)
{
    if (text->p[at] == '}')
        return --*depth == 0 ? KR_SPLIT_END : KR_SPLIT_MORE;
    if ((*depth)++ > 0 && kr_split_byte_before(text, at) == ',')
        return KR_SPLIT_LOST;
    return KR_SPLIT_MORE;
}

/* Braces of the block at *pos in order, up to the first byte that is wrong. When the object ends,
 * *pos is set to its last byte. */
static enum kr_split_end take_braces(uint64_t *depth, const struct kr_json_text *text, size_t *pos,
                                     uint64_t braces, uint64_t wrong)
{
    for (; braces; braces &= braces - 1) {
        int i = __builtin_ctzll(braces);
        enum kr_split_end end;

        if (wrong & ((UINT64_C(2) << i) - 1))
            return KR_SPLIT_LOST;
        end = take_brace(depth, text, *pos + (size_t)i);
        if (end == KR_SPLIT_END)
            *pos += (size_t)i;
        if (end != KR_SPLIT_MORE)
            return end;
    }
    return wrong ? KR_SPLIT_LOST : KR_SPLIT_MORE;
}

/* The rounds work on a copy of the state, which can live in registers. */
enum kr_split_end kr_split_strict(struct kr_splitter *state, const struct kr_json_text *text,
                                  size_t limit)
{
    struct kr_splitter s = *state;
    enum kr_split_end end = KR_SPLIT_MORE;
    uint64_t depth = s.depth;

    while (s.pos < limit && s.pos < text->len) {
        size_t base = s.pos / BLOCK * BLOCK;
        int skip = (int)(s.pos - base); /* bytes of the block before pos */
        uint64_t ours = ~UINT64_C(0) << skip;
        const struct kr_block *b;
        uint64_t quote, in, braces, closing, wrong;

        if (text->len - base < BLOCK && !text->last)
            break;
        b = kr_blocks_at(s.blocks, base / BLOCK);
        quote = b->quote & ours;
        if ((b->backslash & ours) || s.escaped)
            quote &= ~escaped_bytes(b->backslash & ours, (uint64_t)s.escaped << skip, &s.escaped);
        in = prefix_xor(quote) ^ s.in_string;
        closing = quote & ~in;
        wrong = (closing << 1 | (uint64_t)s.after_string << skip) & ~b->follow;
        if (s.marks)
            *s.marks = quote | (b->structure & ~in & ours);
        braces = b->brace & ~in & ours;
        if (braces | wrong) {
            end = take_braces(&depth, text, &base, braces, wrong);
            if (end == KR_SPLIT_END && s.marks)
                *s.marks &= ~UINT64_C(0) >> (BLOCK - 1 - base % BLOCK);
            if (end == KR_SPLIT_END)
                s.pos = base + 1;
            if (end != KR_SPLIT_MORE)
                break;
        }
        if (s.marks)
            s.marks++;
        s.in_string = in >> (BLOCK - 1) ? ~UINT64_C(0) : 0;
        s.after_string = closing >> (BLOCK - 1);
        s.pos = base + BLOCK;
    }
    s.depth = depth;
    *state = s;
    return end;
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

/* Does the quote behind the backslash at pos close the string after all? */
static bool ends_path(const struct kr_json_text *text, size_t pos)
{
    return pos + 1 < text->len && text->p[pos + 1] == '"' &&
           goes_on_outside(text->p, text->len, pos + 2);
}

static bool quote_closes(const struct kr_json_text *text, size_t pos)
{
    size_t next = skip_space(text->p, text->len, pos + 1);
    char c = next < text->len ? text->p[next] : ',';

    return c == ',' || c == ':' || c == '}' || c == ']';
}

/* A lenient search on its way. Brackets are bits: 1 is an object. Below the deepest kept level all
 * are lists. */
struct lenient {
    const struct kr_json_text *text;
    size_t start, end; /* bytes to look at */
    bool paths;
    uint64_t *marks;
    size_t n_marks; /* words that hold bits */
    uint64_t objects, depth;
    unsigned repairs;
};

/* The word of marks that holds pos, all before it being set. */
static uint64_t *mark_word(struct lenient *l, size_t pos)
{
    size_t word = pos / BLOCK - l->start / BLOCK;

    while (l->n_marks <= word)
        l->marks[l->n_marks++] = 0;
    return &l->marks[word];
}

static void mark(struct lenient *l, size_t pos)
{
    if (l->marks)
        *mark_word(l, pos) |= UINT64_C(1) << pos % BLOCK;
}

/* Passes over the string whose opening quote is at *pos. */
static enum kr_split_end skip_string(struct lenient *l, size_t *pos)
{
    mark(l, *pos);
    for (size_t i = *pos + 1; i < l->end; i++) {
        char c = l->text->p[i];

        if (c == '\\') {
            i += l->paths && ends_path(l->text, i) ? 0 : 1;
        } else if (c == '"' && quote_closes(l->text, i)) {
            mark(l, i);
            *pos = i + 1;
            return KR_SPLIT_END;
        } else if (c == '{' && kr_split_is_event(l->text, i)) {
            *pos = i;
            return KR_SPLIT_LOST;
        }
        l->repairs += c == '"';
    }
    *pos = l->end;
    return KR_SPLIT_MORE;
}

static void pop(struct lenient *l)
{
    l->objects >>= 1;
    l->depth--;
}

/* A list that lost its bracket ends with the object around it; a stray ']' ends nothing. */
static void close_bracket(struct lenient *l, bool object)
{
    bool in_object = l->objects & 1;

    if (object && !in_object && l->depth > 1)
        pop(l);
    if (object || !in_object)
        pop(l);
}

/* Does the object end here without its brace: before the next event, or with the list of events? */
static bool ends_early(const struct lenient *l, size_t pos)
{
    char c = l->text->p[pos];

    if (c == ']')
        return l->depth == 1;
    return c == '{' && (l->objects & 1) && kr_split_byte_before(l->text, pos) == ',' &&
           kr_split_is_event(l->text, pos);
}

/* The byte at *pos, or the string that starts there. */
static enum kr_split_end step(struct lenient *l, size_t *pos)
{
    char c = l->text->p[*pos];

    if (c == '"')
        return skip_string(l, pos);
    if (ends_early(l, *pos))
        return KR_SPLIT_LOST;
    if (c == '{' || c == '[') {
        l->objects = l->objects << 1 | (c == '{' ? 1 : 0);
        l->depth++;
    } else if (c == '}' || c == ']') {
        close_bracket(l, c == '}');
    }
    if (c == '{' || c == '[' || c == '}' || c == ']' || c == ',')
        mark(l, *pos);
    (*pos)++;
    return KR_SPLIT_END;
}

struct kr_split_found kr_split_lenient(const struct kr_json_text *text, size_t start,
                                       struct kr_split_how how)
{
    struct lenient l = { .text = text,
                         .start = start,
                         .end = how.limit < text->len ? how.limit : text->len,
                         .paths = how.paths,
                         .marks = how.marks };
    size_t pos = start;
    enum kr_split_end end = KR_SPLIT_END;

    while (pos < l.end && end == KR_SPLIT_END) {
        end = step(&l, &pos);
        if (l.depth == 0)
            break;
    }
    if (end == KR_SPLIT_END && l.depth > 0)
        end = KR_SPLIT_MORE;
    if (l.marks)
        mark_word(&l, pos);
    return (struct kr_split_found){ end, pos, l.repairs };
}

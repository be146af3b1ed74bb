#include "section.h"

#include <string.h>

bool kr_text_is(struct kr_text text, const char *s)
{
    return strlen(s) == text.len && memcmp(text.s, s, text.len) == 0;
}

bool kr_text_number(struct kr_text text, uint64_t *value)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned char)text.s[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(n, UINT64_C(10), &n) ||
            __builtin_add_overflow(n, (uint64_t)digit, &n))
            return false;
    }
    *value = n;
    return text.len > 0;
}

bool kr_section_info(struct kr_cursor *c, struct kr_text *key, struct kr_text *value)
{
    if (!kr_cursor_more(c))
        return false;
    *key = kr_cursor_text(c);
    *value = kr_cursor_text(c);
    return !c->bad;
}

static void note_head(struct kr_section *s, struct kr_cursor *c)
{
    s->version_major = kr_cursor_varint(c);
    s->version_minor = kr_cursor_varint(c);
    s->pid = kr_cursor_varint(c);
    s->parent_pid = kr_cursor_varint(c);
    s->started_ticks = kr_cursor_varint(c);
    s->run = kr_cursor_text(c);
    s->has_head = !c->bad;
}

static void note_info(struct kr_section *s, struct kr_cursor *c)
{
    struct kr_text key, value;

    while (kr_section_info(c, &key, &value)) {
        if (kr_text_is(key, "failed"))
            s->error = value;
        else if (kr_text_is(key, "recorder"))
            s->is_recorder = true;
        else if (kr_text_is(key, "sections") && !kr_text_number(value, &s->follow))
            c->bad = true;
    }
}

static void note_loss(struct kr_section *s, struct kr_cursor *c)
{
    uint64_t kind = kr_cursor_varint(c);
    uint64_t count = kr_cursor_varint(c);

    kr_cursor_varint(c);
    kr_cursor_svarint(c);
    kr_cursor_svarint(c);
    kr_cursor_text(c);
    if (c->bad)
        return;
    if (!count)
        s->lost_uncounted = true;
    if (__builtin_add_overflow(s->lost[kind < KR_SECTION_LOSSES ? kind : 0], count,
                               &s->lost[kind < KR_SECTION_LOSSES ? kind : 0]))
        c->bad = true;
}

static void note_gap(struct kr_section *s, struct kr_cursor *c)
{
    uint64_t kind = kr_cursor_varint(c);
    struct kr_text detail;

    kr_cursor_svarint(c);
    kr_cursor_svarint(c);
    detail = kr_cursor_text(c);
    if (c->bad)
        return;
    s->gaps[kind < KR_SECTION_GAPS ? kind : 0]++;
    if (kind == KREACH_GAP_BUSY && !s->other.len)
        s->other = detail;
}

static void note_totals(struct kr_section *s, struct kr_cursor *c)
{
    while (kr_cursor_more(c)) {
        uint64_t key = kr_cursor_varint(c);
        uint64_t value = kr_cursor_varint(c);

        if (!c->bad && key < KR_SECTION_TOTALS)
            s->totals[key] = value;
    }
    s->has_totals = true;
}

/* Index into next_id for a chunk of definitions, -1 for others. */
static int id_space(uint16_t type)
{
    switch (type) {
    case KREACH_NAMES:
        return 0;
    case KREACH_TRACKS:
        return 1;
    case KREACH_SITES:
        return 2;
    default:
        return -1;
    }
}

void kr_section_note(struct kr_section *s, const struct kr_chunk *chunk)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    int space = id_space(chunk->type);

    if (space >= 0) {
        /* How many ids the chunk defines is known by decoding it; its first one is enough here. */
        s->next_id[space] = kr_cursor_varint(&c) + 1;
    } else if (chunk->type == KREACH_HEAD) {
        note_head(s, &c);
    } else if (chunk->type == KREACH_INFO) {
        note_info(s, &c);
    } else if (chunk->type == KREACH_LOST) {
        do {
            note_loss(s, &c);
        } while (kr_cursor_more(&c));
    } else if (chunk->type == KREACH_GAP) {
        do {
            note_gap(s, &c);
        } while (kr_cursor_more(&c));
    } else if (chunk->type == KREACH_TOTALS) {
        note_totals(s, &c);
    } else if (chunk->type == KREACH_END) {
        s->ended = true;
    } else if (chunk->type == KREACH_EVENTS) {
        if (__builtin_add_overflow(s->events, kr_cursor_varint(&c), &s->events))
            c.bad = true;
    } else if (chunk->type > KREACH_CALIBRATION) {
        s->unknown_chunks++;
    }
    s->bad_chunks += c.bad;
}

bool kr_section_restarts(const struct kr_section *s, const struct kr_chunk *chunk)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    int space = id_space(chunk->type);

    return space >= 0 && kr_cursor_varint(&c) < s->next_id[space] && !c.bad;
}

uint64_t kr_section_dropped(const struct kr_section *s)
{
    uint64_t dropped = 0;

    for (size_t kind = 0; kind < KR_SECTION_LOSSES; kind++) {
        if (kind != KREACH_LOST_ZERO_TIME && kind != KREACH_LOST_BAD_TIME &&
            __builtin_add_overflow(dropped, s->lost[kind], &dropped))
            return UINT64_MAX;
    }
    return dropped;
}

bool kr_section_drops_known(const struct kr_section *s)
{
    return !s->lost_uncounted;
}

uint64_t kr_section_written(const struct kr_section *s)
{
    static const uint8_t parts[] = { KREACH_TOTAL_KERNELS, KREACH_TOTAL_MEMCPYS,
                                     KREACH_TOTAL_MEMSETS, KREACH_TOTAL_GRAPHS };
    uint64_t unwritten = s->lost[KREACH_LOST_WRITE];
    uint64_t taken = 0;

    for (size_t i = 0; i < sizeof parts; i++) {
        if (__builtin_add_overflow(taken, s->totals[parts[i]], &taken))
            return UINT64_MAX;
    }
    return taken > unwritten ? taken - unwritten : 0;
}

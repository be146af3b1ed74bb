#include "kineto_scan.h"

#include <stdlib.h>
#include <string.h>

#include "kineto_event.h"
#include "mem.h"

/* How far a strict search goes before the lenient one confirms that it has not lost a quote. */
#define FIRST_CHECK ((size_t)4 << 10)
/* Text that a likely event start needs behind it before it can be told. */
#define START_BYTES ((size_t)1 << 10)

/* One call's arguments. */
struct pass {
    struct kr_kineto_scan *scan;
    const struct kr_json_text *text;
    uint64_t base;
    struct kr_err *err;
};

enum step { STEP_ON, STEP_MORE, STEP_FAILED };

static void warn(const struct pass *p, enum kr_warn what, size_t pos)
{
    kr_kineto_part_warn(p->scan->part, what, p->base + pos);
}

static bool room_for_marks(const struct pass *p, size_t len)
{
    if (kr_split_marks(len) <= p->scan->cap_marks)
        return true;
    return kr_grow(&p->scan->marks, &p->scan->cap_marks, kr_split_marks(len),
                   sizeof *p->scan->marks, SIZE_MAX, p->err);
}

/* The event [start, end), whose marks have been set. */
static enum kr_kineto_taken take(const struct pass *p, size_t start, size_t end,
                                 const struct kr_split_found *repaired)
{
    struct kr_kineto_text event = { .p = p->text->p + start,
                                    .len = end - start,
                                    .offset = p->base + start,
                                    .marks = p->scan->marks,
                                    .shift = start % KR_BLOCK_BYTES };

    if (repaired) {
        event.lenient = true;
        event.repairs = repaired->repairs;
    }
    return kr_kineto_take(p->scan->part, &event, p->err);
}

/* One lenient search for the event at `start`, and its reading when that found an end. */
static enum kr_kineto_taken try_lenient(const struct pass *p, size_t start, bool paths,
                                        struct kr_split_found *found)
{
    struct kr_split_how how = { start + KR_SCAN_MAX_EVENT, paths, p->scan->marks };

    *found = kr_split_lenient(p->text, start, how);
    return found->kind == KR_SPLIT_END ? take(p, start, found->pos, found) : KR_KINETO_BROKEN;
}

/* Nothing could be made of the event at *pos: goes on behind it. */
static void give_up(const struct pass *p, size_t *pos, const struct kr_split_found *found)
{
    size_t start = *pos;

    *pos = found->pos;
    if (found->kind != KR_SPLIT_MORE) {
        warn(p, KR_WARN_MALFORMED, start);
    } else if (found->pos - start >= KR_SCAN_MAX_EVENT) {
        warn(p, KR_WARN_TOO_LARGE, start);
        p->scan->lost = true;
    } else {
        p->scan->cut = true;
    }
}

/* The strict search failed, or found no JSON: reads the event at *pos by the lenient rules. */
static enum step take_lenient(const struct pass *p, size_t *pos)
{
    size_t start = *pos;
    size_t left = p->text->len - start;
    enum kr_kineto_taken taken;
    struct kr_split_found found, again;

    if (!room_for_marks(p, left < KR_SCAN_MAX_EVENT ? left : KR_SCAN_MAX_EVENT))
        return STEP_FAILED;
    taken = try_lenient(p, start, false, &found);
    if (found.kind == KR_SPLIT_MORE && !p->text->last && left < KR_SCAN_MAX_EVENT)
        return STEP_MORE;
    if (taken == KR_KINETO_BROKEN) {
        taken = try_lenient(p, start, true, &again);
        if (taken != KR_KINETO_BROKEN)
            found = again;
    }
    if (taken == KR_KINETO_BROKEN)
        give_up(p, pos, &found);
    else
        *pos = found.pos;
    return taken == KR_KINETO_FAILED ? STEP_FAILED : STEP_ON;
}

/* Goes on inside an event that is too large, whose bytes need not stay. */
static enum step skip_on(const struct pass *p, size_t *pos)
{
    struct kr_kineto_scan *scan = p->scan;
    enum kr_split_end found;

    scan->splitter.pos = *pos;
    scan->splitter.blocks = &scan->blocks;
    found = kr_split_strict(&scan->splitter, p->text, p->text->len);
    *pos = scan->splitter.pos < p->text->len ? scan->splitter.pos : p->text->len;
    if (found == KR_SPLIT_MORE) {
        scan->cut = p->text->last;
        return STEP_MORE;
    }
    scan->skipping = false;
    scan->lost = found == KR_SPLIT_LOST;
    return STEP_ON;
}

/* A strict search has come to its limit: unless it lost a quote, the lenient one goes as far. */
static bool is_confirmed(const struct pass *p, size_t start, size_t limit)
{
    return kr_split_lenient(p->text, start, (struct kr_split_how){ limit, false, NULL }).kind ==
           KR_SPLIT_MORE;
}

static enum step take_event(const struct pass *p, size_t *pos)
{
    struct kr_splitter splitter = { .pos = *pos, .blocks = &p->scan->blocks };
    size_t start = *pos;

    for (size_t check = FIRST_CHECK;; check *= 2) {
        enum kr_split_end found;

        if (!room_for_marks(p, check))
            return STEP_FAILED;
        splitter.marks = p->scan->marks + splitter.pos / KR_BLOCK_BYTES - start / KR_BLOCK_BYTES;
        found = kr_split_strict(&splitter, p->text, start + check);
        if (found == KR_SPLIT_END) {
            enum kr_kineto_taken taken = take(p, start, splitter.pos, NULL);

            if (taken == KR_KINETO_BROKEN)
                return take_lenient(p, pos);
            *pos = splitter.pos;
            return taken == KR_KINETO_FAILED ? STEP_FAILED : STEP_ON;
        }
        if (found == KR_SPLIT_MORE && splitter.pos < start + check && !p->text->last)
            return STEP_MORE;
        if (found == KR_SPLIT_LOST || splitter.pos < start + check ||
            !is_confirmed(p, start, start + check))
            return take_lenient(p, pos);
        if (check >= KR_SCAN_MAX_EVENT)
            break;
    }
    warn(p, KR_WARN_TOO_LARGE, start);
    p->scan->skipping = true;
    p->scan->splitter = splitter;
    p->scan->splitter.marks = NULL;
    *pos = splitter.pos;
    return STEP_ON;
}

/* Searches the next event start before `stop`. */
static enum step find_event(const struct pass *p, size_t *pos, size_t stop)
{
    const struct kr_json_text *text = p->text;
    size_t limit = stop < text->len ? stop : text->len;

    while (*pos < limit) {
        const char *brace = memchr(text->p + *pos, '{', limit - *pos);

        if (!brace) {
            *pos = limit;
            break;
        }
        *pos = (size_t)(brace - text->p);
        if (kr_split_is_event(text, *pos)) {
            p->scan->lost = false;
            return STEP_ON;
        }
        if (!text->last && text->len - *pos < START_BYTES)
            return STEP_MORE;
        (*pos)++;
    }
    return *pos < text->len ? STEP_ON : STEP_MORE;
}

/* Something that is no object where an event should be: a bare value, or worse. */
static enum step take_garbage(const struct pass *p, size_t *pos)
{
    const struct kr_json_text *text = p->text;
    size_t i = *pos;
    size_t end;

    while (i < text->len && ((text->p[i] | 0x20) >= 'a'
                                 ? (text->p[i] | 0x20) <= 'z'
                                 : text->p[i] >= '+' && text->p[i] <= '9' && text->p[i] != ','))
        i++;
    end = i;
    while (i < text->len &&
           (text->p[i] == ' ' || text->p[i] == '\n' || text->p[i] == '\r' || text->p[i] == '\t'))
        i++;
    if (i == text->len && !text->last && i - *pos < START_BYTES)
        return STEP_MORE;
    warn(p, KR_WARN_MALFORMED, *pos);
    if (end > *pos && (i == text->len || text->p[i] == ',' || text->p[i] == ']')) {
        *pos = i;
    } else {
        (*pos)++;
        p->scan->lost = true;
    }
    return STEP_ON;
}

void kr_kineto_scan_end(struct kr_kineto_scan *scan)
{
    free(scan->marks);
    scan->marks = NULL;
    scan->cap_marks = 0;
}

enum kr_scan_end kr_kineto_scan(struct kr_kineto_scan *scan, const struct kr_json_text *text,
                                uint64_t base, size_t *pos, size_t stop, struct kr_err *err)
{
    const struct pass p = { scan, text, base, err };

    kr_blocks_start(&scan->blocks, text->p, text->len);
    for (;;) {
        enum step step;

        if (scan->lost && *pos >= stop)
            return KR_SCAN_STOPPED;
        if (scan->skipping) {
            step = skip_on(&p, pos);
        } else if (scan->lost) {
            step = find_event(&p, pos, stop);
        } else {
            char c;

            while (*pos < text->len &&
                   ((unsigned char)text->p[*pos] <= 0x20 || text->p[*pos] == ','))
                (*pos)++;
            if (*pos >= text->len)
                return KR_SCAN_MORE;
            c = text->p[*pos];
            if (c == ']') {
                (*pos)++;
                return KR_SCAN_CLOSED;
            }
            if (c == '{' && *pos >= stop)
                return KR_SCAN_STOPPED;
            step = c == '{' ? take_event(&p, pos) : take_garbage(&p, pos);
        }
        if (step == STEP_MORE)
            return KR_SCAN_MORE;
        if (step == STEP_FAILED)
            return KR_SCAN_FAILED;
    }
}

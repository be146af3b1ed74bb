#include "kineto_scan.h"

#include <string.h>

#include "kineto_event.h"

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

static enum kr_kineto_taken take(const struct pass *p, size_t start, size_t end, bool lenient)
{
    const struct kr_kineto_text event = { p->text->p + start, end - start, p->base + start,
                                          lenient };

    return kr_kineto_take(p->scan->part, &event, p->err);
}

/* The strict search failed, or found no JSON: reads the event at *pos by the lenient rules. */
static enum step take_lenient(const struct pass *p, size_t *pos)
{
    size_t start = *pos;
    size_t end;
    enum kr_split_end found = kr_split_lenient(p->text, start, start + KR_SCAN_MAX_EVENT, &end);
    enum kr_kineto_taken taken = KR_KINETO_BROKEN;

    if (found == KR_SPLIT_MORE && end - start >= KR_SCAN_MAX_EVENT) {
        warn(p, KR_WARN_TOO_LARGE, start);
        p->scan->lost = true;
        *pos = end;
        return STEP_ON;
    }
    if (found == KR_SPLIT_MORE) {
        if (!p->text->last)
            return STEP_MORE;
        p->scan->cut = true;
        *pos = p->text->len;
        return STEP_ON;
    }
    if (found == KR_SPLIT_END)
        taken = take(p, start, end, true);
    if (taken == KR_KINETO_FAILED)
        return STEP_FAILED;
    if (taken == KR_KINETO_BROKEN)
        warn(p, KR_WARN_MALFORMED, start);
    *pos = end;
    return STEP_ON;
}

/* Goes on inside an event that is too large, whose bytes need not stay. */
static enum step skip_on(const struct pass *p, size_t *pos)
{
    struct kr_kineto_scan *scan = p->scan;
    enum kr_split_end found;

    scan->splitter.pos = *pos;
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

static enum step take_event(const struct pass *p, size_t *pos)
{
    struct kr_splitter splitter = { .pos = *pos };
    size_t start = *pos;

    for (size_t check = FIRST_CHECK;; check *= 2) {
        enum kr_split_end found = kr_split_strict(&splitter, p->text, start + check);
        size_t end;

        if (found == KR_SPLIT_END) {
            enum kr_kineto_taken taken = take(p, start, splitter.pos, false);

            if (taken == KR_KINETO_FAILED)
                return STEP_FAILED;
            if (taken == KR_KINETO_BROKEN)
                break;
            *pos = splitter.pos;
            return STEP_ON;
        }
        if (found == KR_SPLIT_LOST)
            break;
        if (splitter.pos < start + check) { /* the text ended */
            if (!p->text->last)
                return STEP_MORE;
            break;
        }
        if (check >= KR_SCAN_MAX_EVENT) {
            warn(p, KR_WARN_TOO_LARGE, start);
            p->scan->skipping = true;
            p->scan->splitter = splitter;
            *pos = splitter.pos;
            return STEP_ON;
        }
        if (kr_split_lenient(p->text, start, start + check, &end) != KR_SPLIT_MORE)
            break;
    }
    return take_lenient(p, pos);
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

enum kr_scan_end kr_kineto_scan(struct kr_kineto_scan *scan, const struct kr_json_text *text,
                                uint64_t base, size_t *pos, size_t stop, struct kr_err *err)
{
    const struct pass p = { scan, text, base, err };

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

#include "kineto_part.h"

#include <stdlib.h>
#include <string.h>

#include "json_value.h"
#include "json_walk.h"
#include "mem.h"

/* struct kr_event numbers tracks with 16 bits. */
#define MAX_TRACKS ((size_t)UINT16_MAX)
#define MAX_ROWS   ((size_t)UINT32_MAX)

struct kr_kineto_part *kr_kineto_part_new(struct kr_err *err)
{
    struct kr_kineto_part *part = kr_xnew(sizeof *part, err);

    if (!part)
        return NULL;
    part->strings = kr_strpool_new(err);
    if (!part->strings) {
        free(part);
        return NULL;
    }
    kr_recpool_init(&part->sites, sizeof(struct kr_site));
    kr_recpool_init(&part->tracks, sizeof(struct kr_kineto_track));
    kr_recpool_init(&part->ops, sizeof(struct kr_kineto_op));
    return part;
}

void kr_kineto_part_free(struct kr_kineto_part *part)
{
    if (!part)
        return;
    kr_strpool_free(part->strings);
    kr_recpool_free(&part->sites);
    kr_recpool_free(&part->tracks);
    kr_recpool_free(&part->ops);
    free(part->plain_ops);
    free(part->text_flags);
    free(part->events);
    free(part->guesses);
    free(part->op_rows);
    free(part->launches);
    free(part->notes);
    free(part->scratch);
    free(part);
}

void kr_kineto_part_warn(struct kr_kineto_part *part, enum kr_warn warn, uint64_t offset)
{
    if (part->warnings[warn].count++ == 0)
        part->warnings[warn].first_offset = offset;
}

static void warn_of_text(struct kr_kineto_part *part, unsigned flags, uint64_t offset)
{
    static const struct {
        unsigned flag;
        enum kr_warn warn;
    } warns[] = { { KR_JSON_BAD_UTF8, KR_WARN_UTF8 },
                  { KR_JSON_LONE_SURROGATE, KR_WARN_SURROGATE },
                  { KR_JSON_CONTROL, KR_WARN_CONTROL },
                  { KR_JSON_BAD_ESCAPE, KR_WARN_ESCAPE } };

    for (size_t i = 0; i < KR_COUNT(warns); i++) {
        if (flags & warns[i].flag)
            kr_kineto_part_warn(part, warns[i].warn, offset);
    }
}

static uint64_t load64(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

/* Where a string of 8 bytes or more is remembered. Names come again and again, and bytes from their
 * begin, middle and end tell nearly all apart, so that the pool need not be asked. */
static struct kr_kineto_recent *recent(struct kr_kineto_part *part, const char *raw, size_t len)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = load64(raw) * odd ^ load64(raw + len / 2 - 4);

    h = (h * odd ^ load64(raw + len - 8) ^ len) * odd;
    return &part->recent[(h >> 32) % KR_PART_RECENT];
}

/* The same through the pool; *plain = the raw bytes stand for themselves and are in good order. */
static uint32_t intern(struct kr_kineto_part *part, struct kr_json_span raw, uint64_t offset,
                       bool *plain, struct kr_err *err)
{
    size_t before = kr_strpool_count(part->strings);
    const char *text = raw.p;
    size_t len = raw.len;
    unsigned flags = 0;
    uint32_t id;

    if (memchr(raw.p, '\\', len)) {
        if (!kr_grow(&part->scratch, &part->cap_scratch, len, 1, SIZE_MAX / 4, err))
            return KR_STR_NONE;
        text = part->scratch;
        len = kr_json_unescape(raw.p, len, part->scratch, &flags);
    }
    id = kr_strpool_intern(part->strings, text, len, err);
    if (id == KR_STR_NONE)
        return KR_STR_NONE;
    if (id >= before) { /* new: look at its bytes once */
        if (!kr_grow(&part->text_flags, &part->cap_text_flags, (size_t)id + 1, 1, MAX_ROWS, err))
            return KR_STR_NONE;
        part->text_flags[id] = (uint8_t)kr_json_text_check(raw.p, raw.len);
    }
    if (id > 0)
        flags |= part->text_flags[id];
    if (flags)
        warn_of_text(part, flags, offset);
    *plain = text == raw.p && !flags;
    return id;
}

uint32_t kr_kineto_part_string(struct kr_kineto_part *part, const char *raw, size_t len,
                               uint64_t offset, struct kr_err *err)
{
    struct kr_kineto_recent *r;
    bool plain;
    uint32_t id;

    if (len < sizeof(uint64_t))
        return intern(part, (struct kr_json_span){ raw, len }, offset, &plain, err);
    r = recent(part, raw, len);
    if (r->len == len && memcmp(r->text, raw, len) == 0)
        return r->id;
    id = intern(part, (struct kr_json_span){ raw, len }, offset, &plain, err);
    if (id != KR_STR_NONE && plain)
        *r = (struct kr_kineto_recent){ kr_strpool_get(part->strings, id, NULL), len, id };
    return id;
}

static bool place_event(struct kr_kineto_part *part, const struct kr_site *site,
                        const struct kr_kineto_track *track, struct kr_event *event,
                        struct kr_err *err)
{
    uint32_t place = kr_recpool_intern(&part->tracks, track, err);

    if (place == UINT32_MAX)
        return false;
    if (place >= MAX_TRACKS)
        return kr_fail(err, KR_ENOMEM, "more than %zu streams", MAX_TRACKS);
    event->track = (uint16_t)place;
    event->site = kr_recpool_intern(&part->sites, site, err);
    return event->site != UINT32_MAX;
}

bool kr_kineto_part_add_event(struct kr_kineto_part *part, const struct kr_site *site,
                              const struct kr_kineto_track *track, struct kr_event event,
                              struct kr_err *err)
{
    if (!place_event(part, site, track, &event, err) ||
        !kr_grow(&part->events, &part->cap_events, part->n_events + 1, sizeof event, MAX_ROWS, err))
        return false;
    part->events[part->n_events++] = event;
    return true;
}

bool kr_kineto_part_add_guess(struct kr_kineto_part *part, const struct kr_site *site,
                              const struct kr_kineto_track *track, struct kr_event event,
                              struct kr_err *err)
{
    if (part->tally.device_rows)
        return true;
    if (!place_event(part, site, track, &event, err) ||
        !kr_grow(&part->guesses, &part->cap_guesses, part->n_guesses + 1, sizeof event, MAX_ROWS,
                 err))
        return false;
    part->guesses[part->n_guesses++] = event;
    return true;
}

/* The place of an op; UINT32_MAX with err filled. Most have no work, so that the name is enough. */
static uint32_t place_op(struct kr_kineto_part *part, const struct kr_kineto_op *op,
                         struct kr_err *err)
{
    size_t cap = part->cap_plain_ops;

    if (op->flop > 0 || op->bytes > 0 || op->dtype)
        return kr_recpool_intern(&part->ops, op, err);
    if (!kr_grow(&part->plain_ops, &part->cap_plain_ops, (size_t)op->name + 1,
                 sizeof *part->plain_ops, MAX_ROWS, err))
        return UINT32_MAX;
    if (part->cap_plain_ops > cap)
        memset(part->plain_ops + cap, 0, (part->cap_plain_ops - cap) * sizeof *part->plain_ops);
    if (!part->plain_ops[op->name])
        part->plain_ops[op->name] = kr_recpool_intern(&part->ops, op, err) + 1;
    return part->plain_ops[op->name] - 1;
}

bool kr_kineto_part_add_op(struct kr_kineto_part *part, uint32_t external_id,
                           const struct kr_kineto_op *op, struct kr_err *err)
{
    struct kr_kineto_op_row row = { external_id, place_op(part, op, err) };

    if (row.op == UINT32_MAX || !kr_grow(&part->op_rows, &part->cap_op_rows, part->n_op_rows + 1,
                                         sizeof row, MAX_ROWS, err))
        return false;
    part->op_rows[part->n_op_rows++] = row;
    return true;
}

bool kr_kineto_part_add_launch(struct kr_kineto_part *part, struct kr_kineto_launch launch,
                               struct kr_err *err)
{
    if (!kr_grow(&part->launches, &part->cap_launches, part->n_launches + 1, sizeof launch,
                 MAX_ROWS, err))
        return false;
    part->launches[part->n_launches++] = launch;
    return true;
}

bool kr_kineto_part_add_note(struct kr_kineto_part *part, struct kr_kineto_note note,
                             struct kr_err *err)
{
    if (!kr_grow(&part->notes, &part->cap_notes, part->n_notes + 1, sizeof note, MAX_ROWS, err))
        return false;
    part->notes[part->n_notes++] = note;
    return true;
}

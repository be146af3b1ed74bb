#include "import_kreach.h"

#include <stdlib.h>
#include <string.h>

#include "kreach_decode.h"
#include "mem.h"
#include "step_times.h"

#define MAX_CHUNKS ((size_t)1 << 31)

/* A section and where its chunks stand in the list of all. */
struct part {
    struct kr_section section;
    size_t first_chunk, n_chunks;
    struct kr_decode *decode; /* between the passes */
    struct kr_text host;
};

struct reader {
    struct kr_timeline *t;
    struct kr_chunk *chunks;
    size_t n_chunks, cap_chunks;
    struct part *parts;
    size_t n_parts, cap_parts;
    bool fresh;         /* a signature was seen: the next chunk begins a section */
    bool has_rank;      /* a process told its rank */
    size_t older_facts; /* facts of the sections before the one in hand; those stay */
};

bool kr_import_kreach_detect(const void *data, size_t len)
{
    return kr_chunks_detect(data, len);
}

/* Whether a chunk begins a section, also where signature or head were damaged. */
static bool begins_section(const struct reader *r, const struct kr_chunk *chunk)
{
    const struct part *last = r->n_parts ? &r->parts[r->n_parts - 1] : NULL;

    return !last || r->fresh || chunk->type == KREACH_HEAD || last->section.ended ||
           kr_section_restarts(&last->section, chunk);
}

static bool index_chunk(struct reader *r, const struct kr_chunk *chunk, struct kr_err *err)
{
    struct part *part;

    if (chunk->type == KR_CHUNK_SIGNATURE) {
        r->fresh = true;
        return true;
    }
    if (begins_section(r, chunk)) {
        if (!kr_grow(&r->parts, &r->cap_parts, r->n_parts + 1, sizeof *r->parts, KR_MAX_SECTIONS,
                     err))
            return kr_wrap(err, "processes");
        r->parts[r->n_parts++] =
            (struct part){ .section.offset = chunk->offset, .first_chunk = r->n_chunks };
        r->fresh = false;
    }
    if (!kr_grow(&r->chunks, &r->cap_chunks, r->n_chunks + 1, sizeof *r->chunks, MAX_CHUNKS, err))
        return kr_wrap(err, "chunks");
    r->chunks[r->n_chunks++] = *chunk;
    part = &r->parts[r->n_parts - 1];
    part->n_chunks++;
    kr_section_note(&part->section, chunk);
    if (part->section.version_major > KREACH_VERSION_MAJOR)
        return kr_fail_at(err, KR_EINPUT, chunk->offset,
                          "written by a newer kreach (format %llu.%llu, this one reads up to %u); "
                          "please update",
                          (unsigned long long)part->section.version_major,
                          (unsigned long long)part->section.version_minor, KREACH_VERSION_MAJOR);
    return true;
}

static bool index_file(struct reader *r, const void *data, size_t len, struct kr_err *err)
{
    struct kr_chunks walk;
    struct kr_chunk chunk;

    kr_chunks_start(&walk, data, len);
    while (kr_chunks_next(&walk, &chunk)) {
        if (!index_chunk(r, &chunk, err))
            return false;
    }
    kr_timeline_warn(r->t, KR_WARN_DAMAGED, walk.damaged, walk.first_damaged);
    if (walk.torn) {
        kr_timeline_warn(r->t, KR_WARN_TRUNCATED, 1, walk.torn_at);
        r->t->source.truncated = true;
        r->t->source.truncated_at = walk.torn_at;
    }
    return true;
}

/* What a section says is missing. */
static void warn_of_losses(struct reader *r, const struct kr_section *s)
{
    const struct {
        enum kr_warn warn;
        uint64_t count;
    } losses[] = {
        { KR_WARN_LOST, kr_section_dropped(s) },
        { KR_WARN_ZERO_TIME, s->lost[KREACH_LOST_ZERO_TIME] },
        { KR_WARN_NEGATIVE_DUR, s->lost[KREACH_LOST_BAD_TIME] },
        { KR_WARN_DROPS_UNKNOWN, !kr_section_drops_known(s) },
        { KR_WARN_GAP, s->gaps[KREACH_GAP_TAKEOVER] + s->gaps[KREACH_GAP_BUSY] +
                           s->gaps[KREACH_GAP_MISSED] + s->gaps[0] },
        { KR_WARN_PAUSED, s->gaps[KREACH_GAP_WINDOW] + s->gaps[KREACH_GAP_CALIBRATE] },
        { KR_WARN_NOT_ENDED, !s->ended },
        { KR_WARN_BAD_RECORD, s->bad_chunks },
        { KR_WARN_UNKNOWN_CHUNK, s->unknown_chunks },
    };

    for (size_t i = 0; i < KR_COUNT(losses); i++)
        kr_timeline_warn(r->t, losses[i].warn, losses[i].count, s->offset);
    r->t->counts.dropped += s->lost[KREACH_LOST_ZERO_TIME] + s->lost[KREACH_LOST_BAD_TIME];
}

/* Records on which a total and the file do not agree. */
static uint64_t disagreement(uint64_t written, uint64_t found, bool ended)
{
    if (written > found)
        return written - found;
    return ended ? found - written : 0; /* a killed process wrote more since its last totals */
}

static void check_totals(struct reader *r, const struct part *part)
{
    const struct kr_section *s = &part->section;
    const struct kr_decode *d = part->decode;

    if (!s->has_totals)
        return;
    kr_timeline_warn(r->t, KR_WARN_TOTALS,
                     disagreement(kr_section_written(s), d->works, s->ended) +
                         disagreement(s->totals[KREACH_TOTAL_LAUNCHES], d->launches, s->ended) +
                         disagreement(s->totals[KREACH_TOTAL_RANGES], d->ranges, s->ended),
                     s->offset);
}

static bool is_older_fact(const struct reader *r, uint32_t key)
{
    for (size_t i = 0; i < r->older_facts; i++) {
        if (r->t->source.facts[i].key == key)
            return true;
    }
    return false;
}

/* A file of several ranks is of none. */
static void note_rank(struct reader *r, int64_t rank)
{
    bool first = !r->has_rank;

    r->has_rank = true;
    if (first)
        r->t->source.rank = rank;
    else if (r->t->source.rank != rank)
        r->t->source.rank = -1;
}

static bool take_info(struct reader *r, struct part *part, const struct kr_chunk *chunk,
                      struct kr_err *err)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    struct kr_text key, value;
    uint64_t rank;

    while (kr_section_info(&c, &key, &value)) {
        uint32_t key_id = kr_strpool_intern(r->t->strings, key.s, key.len, err);
        uint32_t value_id = kr_strpool_intern(r->t->strings, value.s, value.len, err);

        if (key_id == KR_STR_NONE || value_id == KR_STR_NONE ||
            (!is_older_fact(r, key_id) && !kr_timeline_set_fact(r->t, key_id, value_id, err)))
            return false;
        if (kr_text_is(key, "host"))
            part->host = value;
        if (kr_text_is(key, "rank") && kr_text_number(value, &rank) && rank <= INT32_MAX)
            note_rank(r, (int64_t)rank);
    }
    return true;
}

static bool take_calibration(struct reader *r, const struct kr_chunk *chunk, struct kr_err *err)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    struct kr_step_times steps;

    if (!kr_step_times_read(&c, &steps, err))
        return false;
    if (c.bad)
        kr_timeline_warn(r->t, KR_WARN_BAD_RECORD, 1, chunk->offset);
    if (steps.plain_steps)
        r->t->source.steps = steps;
    return true;
}

/* First pass over one section. */
static bool define(struct reader *r, struct part *part, struct kr_err *err)
{
    r->older_facts = r->t->source.n_facts;
    part->decode = kr_decode_new(r->t, &part->section, err);
    if (!part->decode)
        return false;
    for (size_t i = 0; i < part->n_chunks; i++) {
        const struct kr_chunk *chunk = &r->chunks[part->first_chunk + i];
        bool good = kr_decode_definitions(part->decode, chunk, err);

        if (good && chunk->type == KREACH_INFO)
            good = take_info(r, part, chunk, err);
        if (good && chunk->type == KREACH_CALIBRATION)
            good = take_calibration(r, chunk, err);
        if (!good)
            return false;
    }
    kr_decode_resolve(part->decode);
    return true;
}

/* Second pass over one section. */
static bool record(struct reader *r, struct part *part, struct kr_err *err)
{
    for (size_t i = 0; i < part->n_chunks; i++) {
        const struct kr_chunk *chunk = &r->chunks[part->first_chunk + i];

        if (chunk->type == KREACH_EVENTS && !kr_decode_events(part->decode, chunk, err))
            return false;
    }
    if (part->section.events && !kr_decode_gaps(part->decode, err))
        return false;
    if (!kr_decode_ranges(part->decode, err))
        return false;
    check_totals(r, part);
    kr_decode_free(part->decode);
    part->decode = NULL;
    return true;
}

static bool same_host(struct kr_text a, struct kr_text b)
{
    return a.len == b.len && memcmp(a.s ? a.s : "", b.s ? b.s : "", a.len) == 0;
}

static int64_t anchor_of(const struct kr_clock *clock)
{
    return clock->readings[0].real_ns - clock->readings[0].raw_ns;
}

/*
 * Decides on which clock the times go. Processes of one machine share MONOTONIC_RAW and so also the
 * first one's distance between that and REALTIME; other machines bring their own.
 */
static void choose_clocks(struct reader *r)
{
    bool several = r->t->source.processes > 1;

    for (size_t i = 0; i < r->n_parts; i++) {
        struct kr_decode *d = r->parts[i].decode;
        size_t twin = 0;

        kr_timeline_warn(r->t, KR_WARN_CLOCK_STEP, d->clock.steps, r->parts[i].section.offset);
        if (!several || !r->parts[i].section.events)
            continue;
        if (!d->clock.n) {
            kr_timeline_warn(r->t, KR_WARN_NO_CLOCK, 1, r->parts[i].section.offset);
            continue;
        }
        while (!r->parts[twin].decode->clock.n || !same_host(r->parts[twin].host, r->parts[i].host))
            twin++; /* ends at i */
        d->common_clock = true;
        d->anchor_ns = anchor_of(&r->parts[twin].decode->clock);
    }
}

static bool decode(struct reader *r, struct kr_err *err)
{
    uint64_t expected = 0;
    uint64_t found = 0;

    for (size_t i = 0; i < r->n_parts; i++) {
        const struct kr_section *s = &r->parts[i].section;

        warn_of_losses(r, s);
        r->t->source.processes += s->events > 0;
        found += !s->is_recorder;
        expected += s->is_recorder ? s->follow : 0;
        if (!define(r, &r->parts[i], err))
            return false;
    }
    if (expected > found)
        kr_timeline_warn(r->t, KR_WARN_NO_SECTION, expected - found, KR_NO_OFFSET);
    choose_clocks(r);
    for (size_t i = 0; i < r->n_parts; i++) {
        if (!record(r, &r->parts[i], err))
            return false;
    }
    return true;
}

/* The sum of what was dropped, when every process knows its own. */
static void sum_drops(struct reader *r)
{
    struct kr_source *source = &r->t->source;

    source->drops_known = true;
    for (size_t i = 0; i < r->n_parts; i++) {
        source->drops_known &= kr_section_drops_known(&r->parts[i].section);
        if (__builtin_add_overflow(source->drops, kr_section_dropped(&r->parts[i].section),
                                   &source->drops))
            source->drops = UINT64_MAX;
    }
}

/* Bytes of a text to print in a message. */
static int shown(struct kr_text text)
{
    return text.len < 200 ? (int)text.len : 200;
}

/* No device work: says why, as far as the processes themselves know. */
static bool fail_empty(const struct reader *r, struct kr_err *err)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct kr_section *s = &r->parts[i].section;

        if (s->error.len)
            return kr_fail(err, KR_EINPUT, "no device work: in process %llu %.*s",
                           (unsigned long long)s->pid, shown(s->error), s->error.s);
        if (s->gaps[KREACH_GAP_BUSY])
            return kr_fail(err, KR_EINPUT,
                           "no device work: in process %llu another CUPTI client ('%.*s') held "
                           "the records",
                           (unsigned long long)s->pid, shown(s->other), s->other.s);
    }
    return kr_fail(err, KR_EINPUT, "no device work in it");
}

static bool read_all(struct reader *r, const char *name, const void *data, size_t len,
                     struct kr_err *err)
{
    struct kr_source *source = &r->t->source;

    if (!kr_chunks_detect(data, len))
        return kr_fail_at(err, KR_EINPUT, 0, "not a .kreach file");
    source->path = kr_xstrndup(name, strlen(name), err);
    if (!source->path)
        return false;
    source->format = "kreach";
    source->whole_program = true;
    source->compression = "none";
    source->input_bytes = source->text_bytes = len;
    memcpy(source->events_at, "EVENTS", sizeof "EVENTS");
    if (!index_file(r, data, len, err) || !decode(r, err))
        return false;
    sum_drops(r);
    if (!r->t->n_events)
        return fail_empty(r, err);
    if (!kr_timeline_finish(r->t, err))
        return false;
    if (!r->t->counts.kernels)
        kr_timeline_warn(r->t, KR_WARN_NO_KERNELS,
                         r->t->counts.launches + r->t->counts.graph_launches, KR_NO_OFFSET);
    /* records come in the order of delivery, so their order says nothing about the file */
    r->t->warnings[KR_WARN_OUT_OF_ORDER] = (struct kr_warning){ 0, KR_NO_OFFSET };
    return true;
}

struct kr_timeline *kr_import_kreach(const char *name, const void *data, size_t len,
                                     struct kr_err *err)
{
    struct reader r = { .t = kr_timeline_new(err) };
    bool good = r.t && read_all(&r, name, data, len, err);

    for (size_t i = 0; i < r.n_parts; i++)
        kr_decode_free(r.parts[i].decode);
    free(r.parts);
    free(r.chunks);
    if (good)
        return r.t;
    kr_timeline_free(r.t);
    kr_wrap(err, "'%s'", name);
    return NULL;
}

/* The recorder's other half: what was gathered becomes chunks. */
#include "cap_recorder.h"

#include "cap_say.h"
#include "cap_self.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_MAX_BYTES (3u << 20) /* definitions that wait for space on a full disk */
#define FILES_MAX         10000      /* of one process */

static void give_up(struct cap_recorder *r, const char *what)
{
    if (!r->dead)
        cap_say("cannot %s '%s': %s; the program goes on, the recording does not", what,
                r->sink.path, strerror(errno));
    r->dead = true;
}

static void put_head(struct cap_recorder *r, struct cap_bytes *out)
{
    cap_put_varint(out, KREACH_VERSION_MAJOR);
    cap_put_varint(out, KREACH_VERSION_MINOR);
    cap_put_varint(out, r->identity.pid);
    cap_put_varint(out, r->identity.parent_pid);
    cap_put_varint(out, r->identity.start_ticks);
    cap_put_text(out, r->opts->run_id, strlen(r->opts->run_id));
}

static bool begin_section(struct cap_recorder *r)
{
    struct cap_bytes head = { 0 };

    put_head(r, &head);
    const struct cap_piece piece = { head.data, head.len };
    const bool begun = cap_sink_section(&r->sink, &piece);
    cap_bytes_free(&head);
    return begun;
}

/*
 * A process that became another program has the same number and the same start, and another one in
 * another container may have them, too.
 */
static bool create(struct cap_recorder *r)
{
    bool created = false;

    cap_self_identify(&r->identity);
    r->sink.in_run = r->opts->run_id[0] != '\0';
    do {
        cap_self_file_name(r, r->file_number, r->sink.path, sizeof r->sink.path);
        created = cap_sink_open(&r->sink, r->append);
    } while (!created && errno == EEXIST && ++r->file_number < FILES_MAX);
    return created;
}

/* The process or the disk is at a limit: later it may go well. */
static bool may_pass(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC ||
           error == EDQUOT || error == EINTR;
}

/* Creates the file with its signature and head. False while that has not worked. */
static bool ensure_open(struct cap_recorder *r)
{
    if (r->opened || r->dead)
        return r->opened && !r->dead;
    if ((r->sink.fd >= 0 || create(r)) && begin_section(r)) {
        cap_self_describe(r);
        r->opened = true;
    } else if (!may_pass(errno)) {
        give_up(r, "create");
    } else if (!r->hindered) {
        cap_say("cannot create '%s' yet: %s", r->sink.path, strerror(errno));
        r->hindered = true;
    }
    return r->opened;
}

static bool put_chunk(struct cap_recorder *r, enum kreach_chunk_type type,
                      const struct cap_piece *pieces, size_t n)
{
    const bool first_failure = r->sink.failures == 0;

    if (cap_sink_chunk(&r->sink, (uint16_t)type, pieces, n))
        return true;
    if (first_failure)
        cap_say("cannot write '%s': %s; what is lost is counted", r->sink.path, strerror(errno));
    return false;
}

/* Writes "varint lead, body" and empties the body; keeps it when the file refuses. */
static bool put_list(struct cap_recorder *r, enum kreach_chunk_type type, const uint64_t *lead,
                     struct cap_bytes *body)
{
    uint8_t front[CAP_VARINT_MAX_BYTES];
    size_t front_len = 0;

    if (body->len == 0)
        return true;
    if (lead)
        front_len = (size_t)(cap_varint(front, *lead) - front);
    const struct cap_piece pieces[] = { { front, front_len }, { body->data, body->len } };
    if (front_len + body->len > KREACH_CHUNK_MAX_BYTES) {
        errno = EFBIG; /* no reader would take it */
        give_up(r, "write");
        return false;
    }
    if (!put_chunk(r, type, pieces, 2)) {
        if (body->len > PENDING_MAX_BYTES)
            give_up(r, "write");
        return false;
    }
    cap_bytes_clear(body);
    return true;
}

static bool put_pending(struct cap_recorder *r, enum kreach_chunk_type type, bool numbered,
                        struct cap_pending *pending)
{
    if (!put_list(r, type, numbered ? &pending->first_id : NULL, &pending->body))
        return false;
    pending->first_id += pending->n;
    pending->n = 0;
    return true;
}

/* Definitions go first: rows name them. */
static bool put_definitions(struct cap_recorder *r)
{
    r->new_names.n = r->names.by_text.next_id - r->new_names.first_id;
    return put_pending(r, KREACH_NAMES, true, &r->new_names) &&
           put_pending(r, KREACH_DEVICES, false, &r->new_devices) &&
           put_pending(r, KREACH_TRACKS, true, &r->new_tracks) &&
           put_pending(r, KREACH_SITES, true, &r->new_sites);
}

/* What names rows, counts losses or ends the file is little, and still comes. */
static bool is_full(struct cap_recorder *r, size_t bytes)
{
    if (r->opts->file_bytes == 0 || r->sink.end_bytes + bytes <= r->opts->file_bytes)
        return false;
    if (!r->full)
        cap_say("'%s' is as large as it may be; the program goes on, and what is lost is counted",
                r->sink.path);
    r->full = true;
    return true;
}

/* Writes rows, or counts them as lost. */
static void put_rows(struct cap_recorder *r, enum kreach_chunk_type type, struct cap_rows *rows,
                     bool defined)
{
    uint8_t front[2 * CAP_VARINT_MAX_BYTES];

    if (rows->n == 0)
        return;
    uint8_t *end = cap_varint(cap_varint(front, rows->n), cap_zigzag(rows->base_ns));
    const struct cap_piece pieces[] = { { front, (size_t)(end - front) },
                                        { rows->body.data, rows->body.len } };
    if (!defined || is_full(r, rows->body.len) || !put_chunk(r, type, pieces, 2))
        r->unwritten += rows->n;
    cap_bytes_clear(&rows->body);
    rows->n = 0;
}

void cap_recorder_lost(struct cap_recorder *r, enum kreach_loss loss, uint64_t count,
                       uint32_t device, const char *detail)
{
    cap_put_varint(&r->losses, loss);
    cap_put_varint(&r->losses, count);
    cap_put_varint(&r->losses, device);
    cap_put_svarint(&r->losses, r->first_ns);
    cap_put_svarint(&r->losses, r->last_ns);
    cap_put_text(&r->losses, detail, strlen(detail));
    r->n_losses++;
    r->lost_ever += count ? count : 1;
}

void cap_recorder_gap(struct cap_recorder *r, enum kreach_gap gap, int64_t from_ns, int64_t to_ns,
                      const char *detail)
{
    cap_put_varint(&r->gaps, gap);
    cap_put_svarint(&r->gaps, from_ns);
    cap_put_svarint(&r->gaps, to_ns);
    cap_put_text(&r->gaps, detail, strlen(detail));
    r->n_gaps++;
}

void cap_recorder_clock(struct cap_recorder *r, const struct cap_clock_reading *reading)
{
    cap_put_svarint(&r->clocks, reading->realtime_ns);
    cap_put_svarint(&r->clocks, reading->monotonic_raw_ns);
    cap_put_svarint(&r->clocks, reading->cupti_ns);
    cap_put_varint(&r->clocks, reading->width_ns);
}

/* Why records may have no times, or none that can be. */
static const struct {
    enum kreach_loss loss;
    const char *detail;
} timeless[] = {
    { KREACH_LOST_ZERO_TIME, "no device memory was left for their times" },
    { KREACH_LOST_BAD_TIME, "end before start" },
    { KREACH_LOST_UNFINISHED, "still under way on the device when the recording ended" },
    { KREACH_LOST_TAKEOVER, "another CUPTI client took over before their times were collected" },
};

/* Turns the counters of bad records into losses. */
static void gather_losses(struct cap_recorder *r)
{
    for (size_t k = 0; k < CAP_COUNT(timeless); k++) {
        uint64_t *counts = r->timeless[timeless[k].loss];
        for (uint32_t i = 0; i < CAP_DEVICES_MAX; i++) {
            if (counts[i])
                cap_recorder_lost(r, timeless[k].loss, counts[i], i + 1, timeless[k].detail);
            counts[i] = 0;
        }
    }
    if (r->unknown)
        cap_recorder_lost(r, KREACH_LOST_UNKNOWN, r->unknown, 0, "records of an unknown kind");
    r->unknown = 0;
    if (r->unwritten)
        cap_recorder_lost(r, KREACH_LOST_WRITE, r->unwritten, 0, "the file could not be written");
    r->unwritten = 0;
}

static void put_totals(struct cap_recorder *r)
{
    struct cap_bytes out = { 0 };

    r->totals[KREACH_TOTAL_FILE_BYTES] = r->sink.end_bytes;
    for (uint32_t key = 0; key < CAP_TOTALS_MAX; key++) {
        if (r->totals[key] == 0)
            continue;
        cap_put_varint(&out, key);
        cap_put_varint(&out, r->totals[key]);
    }
    put_list(r, KREACH_TOTALS, NULL, &out);
    cap_bytes_free(&out);
}

static void drop_rows(struct cap_recorder *r, struct cap_rows *rows)
{
    r->unwritten += rows->n;
    cap_bytes_clear(&rows->body);
    rows->n = 0;
}

/* Without a file: what has gathered waits while it is little, and goes when there will be none. */
static void hold_back(struct cap_recorder *r)
{
    struct cap_bytes *const all[] = {
        &r->new_names.body, &r->new_sites.body, &r->ranges, &r->clocks,
        &r->gaps,           &r->losses,         &r->info
    };
    size_t bytes = 0;

    if (r->dead || r->events.body.len + r->launches.body.len >= CAP_CHUNK_BYTES) {
        drop_rows(r, &r->events);
        drop_rows(r, &r->launches);
    }
    gather_losses(r);
    for (size_t i = 0; i < CAP_COUNT(all); i++)
        bytes += all[i]->len;
    if (bytes > PENDING_MAX_BYTES)
        give_up(r, "create");
    for (size_t i = 0; r->dead && i < CAP_COUNT(all); i++)
        cap_bytes_clear(all[i]);
    if (r->dead) {
        r->n_ranges = 0;
        r->n_gaps = 0;
        r->n_losses = 0;
    }
}

bool cap_recorder_has_news(const struct cap_recorder *r)
{
    uint64_t bad = r->unknown + r->unwritten;

    for (size_t k = 0; k < CAP_COUNT(timeless); k++) {
        for (uint32_t i = 0; i < CAP_DEVICES_MAX; i++)
            bad += r->timeless[timeless[k].loss][i];
    }
    return r->wanted || r->events.n || r->launches.n || r->n_ranges || r->n_losses || bad;
}

void cap_recorder_flush(struct cap_recorder *r, bool with_totals)
{
    if (!r->opened && !cap_recorder_has_news(r))
        return;
    if (!ensure_open(r)) {
        hold_back(r);
        r->names_kept_bytes = r->new_names.body.len;
        return;
    }
    const bool defined = put_list(r, KREACH_INFO, NULL, &r->info) && put_definitions(r);
    r->names_kept_bytes = r->new_names.body.len;
    put_rows(r, KREACH_EVENTS, &r->events, defined);
    put_rows(r, KREACH_LAUNCHES, &r->launches, defined);
    gather_losses(r);
    if (defined && put_list(r, KREACH_RANGES, &r->n_ranges, &r->ranges))
        r->n_ranges = 0;
    if (put_list(r, KREACH_CLOCK, NULL, &r->clocks) && put_list(r, KREACH_GAP, NULL, &r->gaps) &&
        put_list(r, KREACH_LOST, NULL, &r->losses)) {
        r->n_gaps = 0;
        r->n_losses = 0;
    }
    if (with_totals)
        put_totals(r);
}

void cap_recorder_end(struct cap_recorder *r, enum kreach_end end, const char *detail)
{
    struct cap_bytes out = { 0 };

    cap_recorder_flush(r, true);
    if (r->hindered && !r->opened) {
        give_up(r, "create");
        hold_back(r);
    }
    if (r->opened && !r->dead) {
        cap_put_varint(&out, end);
        cap_put_text(&out, detail, strlen(detail));
        put_list(r, KREACH_END, NULL, &out);
        cap_bytes_free(&out);
    }
    cap_sink_close(&r->sink);
}

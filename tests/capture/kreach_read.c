#include "kreach_read.h"

#include "kreach_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct site {
    unsigned kind;
    uint64_t name, grid, bytes, peer, graph;
};

struct track {
    uint64_t device, stream;
};

struct read_event {
    int64_t correlation, start_ns;
    uint64_t dur_ns;
};

struct cursor {
    const uint8_t *p, *end;
    bool bad;
};

/* Tables of the current section. */
struct state {
    struct read_file *out;
    struct site *sites;
    size_t sites_cap;
    struct track *tracks;
    size_t tracks_cap;
    FILE *log; /* NULL = not wanted */
};

static uint64_t varint(struct cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->p >= c->end)
            break;
        const uint8_t byte = *c->p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    c->bad = true;
    return 0;
}

static int64_t svarint(struct cursor *c)
{
    const uint64_t value = varint(c);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static unsigned u8(struct cursor *c)
{
    if (c->p >= c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}

static void text(struct cursor *c, char *out, size_t room)
{
    const uint64_t len = varint(c);

    if (c->bad || len > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        return;
    }
    const size_t kept = len < room - 1 ? (size_t)len : room - 1;
    memcpy(out, c->p, kept);
    out[kept] = '\0';
    c->p += len;
}

/* Bit by bit, from the definition. */
static uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0u - (crc & 1)));
    }
    return ~crc;
}

static void read_head(struct state *s, struct cursor *c)
{
    struct read_file *f = s->out;

    if (varint(c) != KREACH_VERSION_MAJOR)
        c->bad = true;
    varint(c);
    f->pid = varint(c);
    f->parent_pid = varint(c);
    varint(c);
    text(c, f->run_id, sizeof f->run_id);
    f->n_names = 1;
    f->n_sites = 0;
    f->n_tracks = 0;
}

static void read_info(struct state *s, struct cursor *c)
{
    char key[64];
    char value[4200];

    while (c->p < c->end && !c->bad) {
        text(c, key, sizeof key);
        text(c, value, sizeof value);
        const size_t len = strlen(s->out->info);
        snprintf(s->out->info + len, sizeof s->out->info - len, "%s=%s\n", key, value);
    }
}

static void read_names(struct state *s, struct cursor *c)
{
    struct read_file *f = s->out;

    if (varint(c) != f->n_names)
        c->bad = true;
    while (c->p < c->end && !c->bad) {
        char name[1024];
        text(c, name, sizeof name);
        if (f->n_names < READ_NAMES_MAX)
            memcpy(f->names[f->n_names], name, sizeof name);
        f->n_names++;
    }
}

static void read_devices(struct state *s, struct cursor *c)
{
    while (c->p < c->end && !c->bad) {
        const uint64_t id = varint(c);
        char name[64] = "";
        for (int i = 0; i < 16; i++)
            u8(c);
        text(c, name, sizeof name);
        for (int i = 0; i < 4; i++)
            varint(c);
        const uint64_t flags = varint(c);
        if (id < READ_DEVICES_MAX) {
            memcpy(s->out->device_name[id], name, sizeof name);
            s->out->device_flags[id] = flags;
        }
        s->out->n_devices++;
    }
}

static void *at_least(void *array, size_t *cap, uint64_t need, size_t item)
{
    if (need < *cap)
        return array;
    *cap = (size_t)need * 2 + 64;
    return realloc(array, *cap * item);
}

static void read_tracks(struct state *s, struct cursor *c)
{
    if (varint(c) != s->out->n_tracks)
        c->bad = true;
    while (c->p < c->end && !c->bad) {
        s->tracks = at_least(s->tracks, &s->tracks_cap, s->out->n_tracks, sizeof *s->tracks);
        struct track *track = &s->tracks[s->out->n_tracks++];
        track->device = varint(c);
        varint(c);
        track->stream = varint(c);
    }
}

static void read_site(struct cursor *c, struct site *site)
{
    *site = (struct site){ .kind = u8(c) };
    site->name = varint(c);
    switch (site->kind) {
    case KREACH_KERNEL:
        site->grid = varint(c);
        for (int i = 1; i < 8; i++)
            varint(c);
        break;
    case KREACH_MEMCPY:
        u8(c);
        u8(c);
        u8(c);
        site->bytes = varint(c);
        site->peer = varint(c);
        break;
    case KREACH_MEMSET:
        u8(c);
        site->bytes = varint(c);
        break;
    case KREACH_GRAPH:
        site->graph = varint(c);
        return;
    default:
        c->bad = true;
        return;
    }
    site->graph = varint(c);
    varint(c);
}

static void read_sites(struct state *s, struct cursor *c)
{
    if (varint(c) != s->out->n_sites)
        c->bad = true;
    while (c->p < c->end && !c->bad) {
        s->sites = at_least(s->sites, &s->sites_cap, s->out->n_sites, sizeof *s->sites);
        read_site(c, &s->sites[s->out->n_sites++]);
    }
}

static void count_event(struct read_file *f, const struct site *site, uint64_t device,
                        uint64_t dur_ns)
{
    uint64_t *const by_kind[] = { &f->kernels, &f->memcpys, &f->memsets, &f->graphs };

    (*by_kind[site->kind])++;
    f->peer_copies += site->kind == KREACH_MEMCPY && site->peer != 0;
    f->graph_kernels += site->kind == KREACH_KERNEL && site->graph != 0;
    if (device < READ_DEVICES_MAX)
        f->per_device[device]++;
    if (site->name < READ_NAMES_MAX) {
        f->by_name[site->name]++;
        f->dur_by_name[site->name] += dur_ns;
    }
}

static void log_event(const struct state *s, const struct site *site, const struct track *track,
                      const struct read_event *e)
{
    static const char letters[] = {
        [KREACH_KERNEL] = 'K', [KREACH_MEMCPY] = 'C', [KREACH_MEMSET] = 'S', [KREACH_GRAPH] = 'G'
    };
    const char *name = site->name < READ_NAMES_MAX ? s->out->names[site->name] : "?";

    fprintf(s->log,
            "%c device %" PRIu64 " stream %" PRIu64 " id %" PRId64 " at %" PRId64 "+%" PRIu64
            " grid %" PRIu64 " bytes %" PRIu64 " peer %" PRIu64 " graph %" PRIu64 " %s\n",
            letters[site->kind], track->device, track->stream, e->correlation, e->start_ns,
            e->dur_ns, site->grid, site->bytes, site->peer, site->graph, name);
}

static void read_events(struct state *s, struct cursor *c)
{
    struct read_file *f = s->out;
    const uint64_t n = varint(c);
    int64_t start_ns = svarint(c);
    int64_t correlation = 0;

    f->event_bytes += (uint64_t)(c->end - c->p);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        const uint64_t track = varint(c);
        const uint64_t site = varint(c);
        const int64_t delta_ns = svarint(c);
        const uint64_t dur_ns = varint(c);
        const int64_t step = svarint(c);
        start_ns += delta_ns;
        correlation += step;
        if (track >= f->n_tracks || site >= f->n_sites) {
            c->bad = true;
            return;
        }
        f->duplicates += i > 0 && delta_ns == 0 && step == 0;
        f->instant_events += dur_ns == 0;
        count_event(f, &s->sites[site], s->tracks[track].device, dur_ns);
        if (s->log)
            log_event(s, &s->sites[site], &s->tracks[track],
                      &(struct read_event){ correlation, start_ns, dur_ns });
        if (f->first_ns == 0 || start_ns < f->first_ns)
            f->first_ns = start_ns;
        if (start_ns + (int64_t)dur_ns > f->last_ns)
            f->last_ns = start_ns + (int64_t)dur_ns;
    }
}

/* How many there are, *n of which are kept. */
static uint64_t read_rows(struct cursor *c, bool is_loss, struct read_row *rows, unsigned *n)
{
    uint64_t all = 0;

    while (c->p < c->end && !c->bad) {
        struct read_row row = { .kind = varint(c) };
        if (is_loss) {
            row.count = varint(c);
            row.device = varint(c);
        }
        row.from_ns = svarint(c);
        row.to_ns = svarint(c);
        text(c, row.detail, sizeof row.detail);
        if (*n < READ_ROWS_MAX)
            rows[(*n)++] = row;
        all++;
    }
    return all;
}

static void read_ranges(struct state *s, struct cursor *c)
{
    struct read_file *f = s->out;

    for (uint64_t n = varint(c); n > 0 && !c->bad; n--) {
        struct read_range range = { { 0 }, 0, 0, 0 };
        const uint64_t name = varint(c);
        if (name >= f->n_names)
            c->bad = true;
        else if (name < READ_NAMES_MAX)
            snprintf(range.name, sizeof range.name, "%.63s", f->names[name]);
        range.thread = varint(c);
        range.kind = u8(c);
        svarint(c);
        range.dur_ns = varint(c);
        f->range_rows++;
        if (f->n_ranges < READ_ROWS_MAX)
            f->ranges[f->n_ranges++] = range;
    }
}

static void read_launches(struct state *s, struct cursor *c)
{
    const uint64_t n = varint(c);

    svarint(c);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        s->out->launch_thread = varint(c);
        for (int field = 1; field < 6; field++)
            varint(c); /* signed or not, a varint is skipped the same way */
    }
    s->out->launches += n;
}

static void read_clocks(struct state *s, struct cursor *c)
{
    while (c->p < c->end && !c->bad) {
        const int64_t realtime_ns = svarint(c);
        svarint(c);
        s->out->clock_offset_ns = svarint(c) - realtime_ns;
        varint(c);
        s->out->clocks++;
    }
}

static void read_totals(struct state *s, struct cursor *c)
{
    while (c->p < c->end && !c->bad) {
        const uint64_t key = varint(c);
        const uint64_t value = varint(c);
        if (key < 16)
            s->out->totals[key] = value;
    }
}

static uint64_t skip_times(struct cursor *c)
{
    const uint64_t n = varint(c);

    for (uint64_t i = 0; i < n && !c->bad; i++)
        varint(c);
    return n;
}

static void read_calibration(struct state *s, struct cursor *c)
{
    char text_of[128]; /* method, then label */
    uint64_t used[2] = { 0 };
    uint64_t stretches;

    text(c, text_of, sizeof text_of);
    s->out->plain_steps = skip_times(c);
    s->out->profiled_steps = skip_times(c);
    if (c->p == c->end) /* version 1.0 */
        return;
    text(c, text_of, sizeof text_of);
    stretches = varint(c);
    for (uint64_t i = 0; i < stretches && !c->bad; i++) {
        const uint64_t profiled = u8(c);
        used[profiled & 1] += varint(c);
    }
    if (stretches && (used[0] != s->out->plain_steps || used[1] != s->out->profiled_steps))
        c->bad = true;
}

static void read_payload(struct state *s, unsigned type, struct cursor *c)
{
    struct read_file *f = s->out;

    switch (type) {
    case KREACH_HEAD:
        read_head(s, c);
        break;
    case KREACH_INFO:
        read_info(s, c);
        break;
    case KREACH_NAMES:
        read_names(s, c);
        break;
    case KREACH_DEVICES:
        read_devices(s, c);
        break;
    case KREACH_TRACKS:
        read_tracks(s, c);
        break;
    case KREACH_SITES:
        read_sites(s, c);
        break;
    case KREACH_EVENTS:
        read_events(s, c);
        break;
    case KREACH_CLOCK:
        read_clocks(s, c);
        break;
    case KREACH_LOST:
        read_rows(c, true, f->lost, &f->n_lost);
        break;
    case KREACH_GAP:
        f->gap_rows += read_rows(c, false, f->gaps, &f->n_gaps);
        break;
    case KREACH_RANGES:
        read_ranges(s, c);
        break;
    case KREACH_LAUNCHES:
        read_launches(s, c);
        break;
    case KREACH_TOTALS:
        read_totals(s, c);
        break;
    case KREACH_CALIBRATION:
        read_calibration(s, c);
        break;
    case KREACH_END:
        f->end = varint(c);
        text(c, f->end_detail, sizeof f->end_detail);
        f->ends++;
        break;
    default:
        c->bad = true;
    }
}

/* One chunk; how many bytes it took, 0 when it is not whole. */
static size_t read_chunk(struct state *s, const uint8_t *p, size_t left)
{
    struct kreach_chunk head;

    if (left < sizeof head)
        return 0;
    memcpy(&head, p, sizeof head);
    if (head.magic != KREACH_CHUNK_MAGIC || head.payload_bytes > KREACH_CHUNK_MAX_BYTES ||
        head.payload_bytes > left - sizeof head)
        return 0;
    uint32_t crc = crc32c(0, p, 12);
    if (crc32c(crc, p + sizeof head, head.payload_bytes) != head.crc)
        return 0;
    struct cursor c = { p + sizeof head, p + sizeof head + head.payload_bytes, false };
    read_payload(s, head.type, &c);
    if ((c.bad || c.p != c.end) && s->out->why[0] == '\0')
        snprintf(s->out->why, sizeof s->out->why, "chunk %u of type %u is malformed",
                 s->out->chunks, head.type);
    s->out->chunks++;
    return sizeof head + head.payload_bytes;
}

static void read_all(struct state *s, const uint8_t *data, size_t len)
{
    struct read_file *f = s->out;

    for (size_t at = 0; at < len;) {
        if (len - at >= KREACH_SIGNATURE_BYTES &&
            memcmp(data + at, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES) == 0) {
            f->sections++;
            at += KREACH_SIGNATURE_BYTES;
            continue;
        }
        const size_t took = read_chunk(s, data + at, len - at);
        if (took == 0) {
            f->torn = true;
            snprintf(f->why, sizeof f->why, "torn at byte %zu of %zu", at, len);
            break;
        }
        at += took;
    }
    f->ok = !f->torn && f->why[0] == '\0';
}

bool kreach_read(const char *path, struct read_file *out)
{
    return kreach_read_log(path, out, NULL);
}

bool kreach_read_log(const char *path, struct read_file *out, FILE *log)
{
    struct state s = { .out = out, .log = log };
    uint8_t *data = NULL;
    FILE *in = fopen(path, "rb");

    memset(out, 0, sizeof *out);
    if (!in)
        return false;
    fseek(in, 0, SEEK_END);
    const size_t len = (size_t)ftell(in);
    rewind(in);
    data = malloc(len + 1);
    const bool whole = data && fread(data, 1, len, in) == len;
    fclose(in);
    out->bytes = len;
    const bool known = whole && len >= KREACH_SIGNATURE_BYTES &&
                       memcmp(data, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES) == 0;
    if (known)
        read_all(&s, data, len);
    free(data);
    free(s.sites);
    free(s.tracks);
    return known;
}

uint64_t kreach_read_lost(const struct read_file *f, uint64_t kind, bool *present)
{
    uint64_t sum = 0;

    *present = false;
    for (unsigned i = 0; i < f->n_lost; i++) {
        if (f->lost[i].kind != kind)
            continue;
        *present = true;
        sum += f->lost[i].count;
    }
    return sum;
}

bool kreach_read_info(const struct read_file *f, const char *key, char *out, size_t room)
{
    const size_t key_len = strlen(key);
    bool found = false;

    for (const char *line = f->info; *line;) {
        const char *end = strchr(line, '\n');
        if (!end)
            break;
        if (strncmp(line, key, key_len) == 0 && line[key_len] == '=') {
            snprintf(out, room, "%.*s", (int)(end - line - (long)key_len - 1), line + key_len + 1);
            found = true;
        }
        line = end + 1;
    }
    return found;
}

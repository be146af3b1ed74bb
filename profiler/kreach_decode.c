#include "kreach_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "note_name.h"

#define MAX_DEVICES ((size_t)1024)

/* Launch calls of a whole graph; numbers of CUPTI's callback ids, which never change. */
enum { DOMAIN_RUNTIME = 0, DOMAIN_DRIVER = 1 };
enum { RUNTIME_GRAPH_LAUNCH = 311, RUNTIME_GRAPH_LAUNCH_PTSZ = 312 };
enum { DRIVER_GRAPH_LAUNCH = 514, DRIVER_GRAPH_LAUNCH_PTSZ = 515 };

struct kr_decode *kr_decode_new(struct kr_timeline *t, const struct kr_section *section,
                                struct kr_err *err)
{
    struct kr_decode *d = kr_xnew(sizeof *d, err);

    if (!d)
        return NULL;
    d->t = t;
    d->section = section;
    d->nameless = KR_UNDEFINED;
    return d;
}

void kr_decode_free(struct kr_decode *d)
{
    if (!d)
        return;
    kr_clock_free(&d->clock);
    kr_links_free(&d->links);
    kr_gaps_free(&d->gaps);
    free(d->devices);
    free(d->names);
    free(d->tracks);
    free(d->sites);
    free(d);
}

static void warn(struct kr_decode *d, enum kr_warn what, const struct kr_chunk *chunk)
{
    kr_timeline_warn(d->t, what, 1, chunk->offset);
}

/*
 * Ids count up from the beginning of a section and each definition takes a byte or more, so an id
 * beyond the section's bytes so far is impossible, and tables stay linear in the file.
 */
static bool id_possible(const struct kr_decode *d, const struct kr_chunk *chunk, uint64_t id)
{
    return id < chunk->offset - d->section->offset + sizeof(struct kreach_chunk) + chunk->len &&
           id < KR_UNDEFINED;
}

/* Makes entry `id` of a table of string ids or track indices; what is skipped stays undefined. */
static bool set_id(uint32_t **table, size_t *n, size_t *cap, size_t id, struct kr_err *err)
{
    if (!kr_grow(table, cap, id + 1, sizeof **table, KR_UNDEFINED, err))
        return false;
    for (; *n <= id; ++*n)
        (*table)[*n] = KR_UNDEFINED;
    return true;
}

static bool take_names(struct kr_decode *d, struct kr_cursor *c, const struct kr_chunk *chunk,
                       struct kr_err *err)
{
    uint64_t id = kr_cursor_varint(c);

    for (; kr_cursor_more(c); id++) {
        struct kr_text text = kr_cursor_text(c);

        if (c->bad || !id_possible(d, chunk, id)) {
            c->bad = true;
            break;
        }
        if (!set_id(&d->names, &d->n_names, &d->cap_names, id, err))
            return false;
        d->names[id] = kr_strpool_intern(d->t->strings, text.s, text.len, err);
        if (d->names[id] == KR_STR_NONE)
            return false;
    }
    return true;
}

/* The string of a name id of the section; "" (unknown) when its definition is lost. */
static uint32_t name_of(const struct kr_decode *d, uint64_t id)
{
    return id < d->n_names && d->names[id] != KR_UNDEFINED ? d->names[id] : 0;
}

/* The section's device with an id, made when new; NULL with err filled. */
static struct kr_decode_device *local_device(struct kr_decode *d, uint32_t id, struct kr_err *err)
{
    static const struct kr_decode_device undefined = { .device = KR_UNDEFINED };

    if (!kr_grow(&d->devices, &d->cap_devices, (size_t)id + 1, sizeof *d->devices, MAX_DEVICES,
                 err))
        return NULL;
    for (; d->n_devices <= id; d->n_devices++)
        d->devices[d->n_devices] = undefined;
    return &d->devices[id];
}

static bool take_devices(struct kr_decode *d, struct kr_cursor *c, struct kr_err *err)
{
    while (kr_cursor_more(c)) {
        struct kr_device facts = { .id = kr_cursor_u32(c) };
        const uint8_t *uuid = kr_cursor_bytes(c, sizeof facts.uuid);
        struct kr_text name = kr_cursor_text(c);
        struct kr_decode_device *local;

        facts.sm_count = kr_cursor_u32(c);
        facts.memory_bytes = kr_cursor_varint(c);
        facts.cc_major = kr_cursor_u32(c);
        facts.cc_minor = kr_cursor_u32(c);
        kr_cursor_varint(c); /* flags: MIG shows in the name and the UUID */
        if (c->bad || facts.id >= (int64_t)MAX_DEVICES) {
            c->bad = true;
            break;
        }
        memcpy(facts.uuid, uuid, sizeof facts.uuid);
        facts.name = kr_strpool_intern(d->t->strings, name.s, name.len, err);
        local = local_device(d, (uint32_t)facts.id, err);
        if (facts.name == KR_STR_NONE || !local)
            return false;
        local->facts = facts;
        local->described = true;
    }
    return true;
}

/* The timeline's device with this UUID, or KR_UNDEFINED; an unknown UUID is nobody's. */
static uint32_t find_uuid(const struct kr_timeline *t, const uint8_t *uuid)
{
    static const uint8_t unknown[sizeof t->devices->uuid];

    for (size_t i = 0; memcmp(uuid, unknown, sizeof unknown) != 0 && i < t->n_devices; i++) {
        if (memcmp(t->devices[i].uuid, uuid, sizeof unknown) == 0)
            return (uint32_t)i;
    }
    return KR_UNDEFINED;
}

/* The id if no device of the timeline holds it, else one above all of them. */
static int64_t free_device_id(const struct kr_timeline *t, int64_t id)
{
    int64_t highest = -1;
    bool taken = false;

    for (size_t i = 0; i < t->n_devices; i++) {
        taken |= t->devices[i].id == id;
        if (t->devices[i].id > highest)
            highest = t->devices[i].id;
    }
    return taken ? highest + 1 : id;
}

/*
 * The timeline's device for one of the section. Processes may see the same device under different
 * numbers (CUDA_VISIBLE_DEVICES), so the UUID decides; a number that another device holds already
 * is replaced.
 */
static bool find_device(struct kr_decode *d, uint32_t id, uint32_t *device, struct kr_err *err)
{
    struct kr_decode_device *local = local_device(d, id, err);

    if (!local)
        return false;
    *device = local->device;
    if (*device == KR_UNDEFINED && local->described)
        *device = find_uuid(d->t, local->facts.uuid);
    if (*device == KR_UNDEFINED) {
        int64_t free_id = local->described ? free_device_id(d->t, id) : id;

        *device = kr_timeline_device(d->t, free_id, err);
        if (*device == UINT32_MAX)
            return false;
        if (local->described) {
            d->t->devices[*device] = local->facts;
            d->t->devices[*device].id = free_id;
        }
    }
    local->device = *device;
    return true;
}

static bool take_tracks(struct kr_decode *d, struct kr_cursor *c, const struct kr_chunk *chunk,
                        struct kr_err *err)
{
    uint64_t id = kr_cursor_varint(c);

    for (; kr_cursor_more(c); id++) {
        struct kr_track track = { .process = (uint32_t)d->section->pid };
        uint64_t device = kr_cursor_varint(c);
        uint64_t stream;

        track.context = kr_cursor_u32(c);
        stream = kr_cursor_varint(c);
        if (c->bad || device >= MAX_DEVICES || stream > INT64_MAX || !id_possible(d, chunk, id)) {
            c->bad = true;
            break;
        }
        track.stream = (int64_t)stream;
        if (!find_device(d, (uint32_t)device, &track.device, err) ||
            !set_id(&d->tracks, &d->n_tracks, &d->cap_tracks, id, err))
            return false;
        d->tracks[id] = kr_timeline_track(d->t, track, err);
        if (d->tracks[id] == UINT32_MAX)
            return false;
    }
    return true;
}

/* CUPTI's numbers in the words that PyTorch's profiler uses, so that rules see one spelling. */
static const char *copy_text(uint8_t copy)
{
    static const char *const texts[] = { "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP" };

    return texts[copy < KR_COUNT(texts) ? copy : 0];
}

static const char *memory_text(uint8_t memory)
{
    static const char *const texts[] = { "Unknown", "Pageable", "Pinned",        "Device",
                                         "Array",   "Managed",  "Device Static", "Managed Static" };

    return texts[memory < KR_COUNT(texts) ? memory : 0];
}

static bool intern_text(struct kr_decode *d, const char *text, uint32_t *id, struct kr_err *err)
{
    *id = kr_strpool_intern(d->t->strings, text, strlen(text), err);
    return *id != KR_STR_NONE;
}

static void read_graph_ids(struct kr_cursor *c, struct kr_site *site)
{
    site->graph_id = kr_cursor_u32(c);
    site->graph_node_id = kr_cursor_varint(c);
}

static bool read_kernel(struct kr_cursor *c, struct kr_site *site)
{
    site->kind = KR_KERNEL;
    for (size_t i = 0; i < 3; i++)
        site->grid[i] = kr_cursor_u32(c);
    for (size_t i = 0; i < 3; i++)
        site->block[i] = kr_cursor_u32(c);
    site->registers = kr_cursor_u32(c);
    site->shared_bytes = kr_cursor_u32(c);
    read_graph_ids(c, site);
    return true;
}

static bool read_memcpy(struct kr_decode *d, struct kr_cursor *c, struct kr_site *site,
                        struct kr_err *err)
{
    char text[80];
    const char *copy = copy_text(kr_cursor_u8(c));
    const char *from = memory_text(kr_cursor_u8(c));
    const char *to = memory_text(kr_cursor_u8(c));

    site->kind = KR_MEMCPY;
    site->bytes = kr_cursor_varint(c);
    kr_cursor_varint(c); /* peer device: the copy kind says that there is one */
    read_graph_ids(c, site);
    snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", copy, from, to);
    return c->bad || intern_text(d, text, &site->name, err);
}

static bool read_memset(struct kr_decode *d, struct kr_cursor *c, struct kr_site *site,
                        struct kr_err *err)
{
    char text[80];
    const char *memory = memory_text(kr_cursor_u8(c));

    site->kind = KR_MEMSET;
    site->bytes = kr_cursor_varint(c);
    read_graph_ids(c, site);
    snprintf(text, sizeof text, "Memset (%s)", memory);
    return c->bad || intern_text(d, text, &site->name, err);
}

/* A whole graph in graph-level mode is device work of unknown contents. */
static bool read_graph(struct kr_decode *d, struct kr_cursor *c, struct kr_site *site,
                       struct kr_err *err)
{
    char text[40];

    site->kind = KR_KERNEL;
    site->graph_id = kr_cursor_u32(c);
    snprintf(text, sizeof text, "CUDA graph %u", site->graph_id);
    return c->bad || intern_text(d, text, &site->name, err);
}

/* Reads one site; false only with err filled. */
static bool read_site(struct kr_decode *d, struct kr_cursor *c, uint8_t *kind, struct kr_site *site,
                      struct kr_err *err)
{
    *kind = kr_cursor_u8(c);
    site->name = name_of(d, kr_cursor_varint(c));
    switch (*kind) {
    case KREACH_KERNEL:
        return read_kernel(c, site);
    case KREACH_MEMCPY:
        return read_memcpy(d, c, site, err);
    case KREACH_MEMSET:
        return read_memset(d, c, site, err);
    case KREACH_GRAPH:
        return read_graph(d, c, site, err);
    default:
        c->bad = true; /* nobody knows how long it is */
        return true;
    }
}

static bool take_sites(struct kr_decode *d, struct kr_cursor *c, const struct kr_chunk *chunk,
                       struct kr_err *err)
{
    static const struct kr_decode_site undefined = { .site = KR_UNDEFINED };
    uint64_t id = kr_cursor_varint(c);

    for (; kr_cursor_more(c); id++) {
        struct kr_site site = { 0 };
        uint8_t kind;

        if (!read_site(d, c, &kind, &site, err))
            return false;
        if (c->bad || !id_possible(d, chunk, id)) {
            c->bad = true;
            break;
        }
        if (!kr_grow(&d->sites, &d->cap_sites, id + 1, sizeof *d->sites, KR_UNDEFINED, err))
            return false;
        for (; d->n_sites <= id; d->n_sites++)
            d->sites[d->n_sites] = undefined;
        d->sites[id] = (struct kr_decode_site){ .annotated = KR_UNDEFINED, .kind = kind };
        d->sites[id].site = kr_timeline_site(d->t, &site, err);
        if (d->sites[id].site == UINT32_MAX)
            return false;
    }
    return true;
}

static bool take_clock(struct kr_decode *d, struct kr_cursor *c, struct kr_err *err)
{
    while (kr_cursor_more(c)) {
        struct kr_clock_reading reading = { .real_ns = kr_cursor_svarint(c) };

        reading.raw_ns = kr_cursor_svarint(c);
        reading.cupti_ns = kr_cursor_svarint(c);
        reading.width_ns = kr_cursor_varint(c);
        if (!c->bad && !kr_clock_add(&d->clock, reading, err))
            return false;
    }
    return true;
}

static bool launches_graph(uint64_t domain, uint64_t cbid)
{
    if (domain == DOMAIN_RUNTIME)
        return cbid == RUNTIME_GRAPH_LAUNCH || cbid == RUNTIME_GRAPH_LAUNCH_PTSZ;
    return domain == DOMAIN_DRIVER &&
           (cbid == DRIVER_GRAPH_LAUNCH || cbid == DRIVER_GRAPH_LAUNCH_PTSZ);
}

/* A start time coded against the one before; false when it leaves the clock's range. */
static bool next_time(struct kr_cursor *c, int64_t *time_ns)
{
    if (__builtin_add_overflow(*time_ns, kr_cursor_svarint(c), time_ns) || *time_ns < 0 ||
        *time_ns >= KREACH_TIME_LIMIT_NS)
        c->bad = true;
    return !c->bad;
}

static bool next_correlation(struct kr_cursor *c, int64_t *correlation)
{
    if (__builtin_add_overflow(*correlation, kr_cursor_svarint(c), correlation) ||
        *correlation < 0 || *correlation > UINT32_MAX)
        c->bad = true;
    return !c->bad;
}

static bool take_launches(struct kr_decode *d, struct kr_cursor *c, struct kr_err *err)
{
    uint64_t count = kr_cursor_varint(c);
    int64_t start_ns = kr_cursor_svarint(c);
    int64_t correlation = 0;

    for (; count && kr_cursor_more(c); count--) {
        struct kr_launch launch = { .thread = kr_cursor_varint(c), .range = KR_NO_RANGE };
        uint64_t domain = kr_cursor_varint(c);
        uint64_t cbid = kr_cursor_varint(c);

        next_time(c, &start_ns);
        kr_cursor_varint(c); /* duration */
        if (!next_correlation(c, &correlation))
            break;
        launch.start_ns = start_ns;
        launch.correlation = (uint32_t)correlation;
        launch.graph = launches_graph(domain, cbid);
        d->launches++;
        if (!kr_links_add_launch(&d->links, launch, err))
            return false;
    }
    c->bad |= count != 0;
    return true;
}

static bool take_ranges(struct kr_decode *d, struct kr_cursor *c, struct kr_err *err)
{
    enum { PUSH_POP = 0 };
    uint64_t count = kr_cursor_varint(c);

    for (; count && kr_cursor_more(c); count--) {
        struct kr_range range = { .name = name_of(d, kr_cursor_varint(c)), .parent = KR_NO_RANGE };
        uint64_t dur_ns;

        range.thread = kr_cursor_varint(c);
        range.nests = kr_cursor_u8(c) == PUSH_POP;
        range.start_ns = kr_cursor_svarint(c);
        dur_ns = kr_cursor_varint(c);
        if (range.start_ns < 0 || range.start_ns >= KREACH_TIME_LIMIT_NS ||
            dur_ns >= KREACH_TIME_LIMIT_NS)
            c->bad = true;
        if (c->bad)
            break;
        range.end_ns = range.start_ns + (int64_t)dur_ns;
        range.label = kr_note_name_pattern(d->t->strings, range.name, err);
        if (range.label == KR_STR_NONE)
            return false;
        range.holds = kr_note_name_holds(kr_timeline_str(d->t, range.name));
        d->ranges++;
        if (!kr_links_add_range(&d->links, range, err))
            return false;
    }
    c->bad |= count != 0;
    return true;
}

bool kr_decode_definitions(struct kr_decode *d, const struct kr_chunk *chunk, struct kr_err *err)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    bool good = true;

    switch (chunk->type) {
    case KREACH_NAMES:
        good = take_names(d, &c, chunk, err);
        break;
    case KREACH_DEVICES:
        good = take_devices(d, &c, err);
        break;
    case KREACH_TRACKS:
        good = take_tracks(d, &c, chunk, err);
        break;
    case KREACH_SITES:
        good = take_sites(d, &c, chunk, err);
        break;
    case KREACH_CLOCK:
        good = take_clock(d, &c, err);
        break;
    case KREACH_GAP:
        good = kr_gaps_read(&d->gaps, &c, err);
        break;
    case KREACH_LAUNCHES:
        good = take_launches(d, &c, err);
        break;
    case KREACH_RANGES:
        good = take_ranges(d, &c, err);
        break;
    default:
        break;
    }
    if (good && c.bad)
        warn(d, KR_WARN_BAD_RECORD, chunk);
    return good;
}

static int64_t first_range_ns(const struct kr_decode *d)
{
    int64_t first_ns = INT64_MAX;

    for (size_t i = 0; i < d->links.n_ranges; i++) {
        if (d->links.ranges[i].start_ns < first_ns)
            first_ns = d->links.ranges[i].start_ns;
    }
    return first_ns;
}

void kr_decode_resolve(struct kr_decode *d)
{
    kr_clock_fit(&d->clock);
    kr_links_resolve(&d->links);
    kr_gaps_sort(&d->gaps);
    d->first_range_ns = first_range_ns(d);
    for (size_t i = 0; i < d->links.n_launches; i++) {
        if (d->links.launches[i].graph)
            d->t->counts.graph_launches++;
        else
            d->t->counts.launches++;
    }
}

/* A time of this process on the timeline's clock; false when it is out of range. */
static bool place(const struct kr_decode *d, int64_t cupti_ns, int64_t *out_ns)
{
    *out_ns = cupti_ns;
    if (d->common_clock &&
        __builtin_add_overflow(kr_clock_map(&d->clock, cupti_ns), d->anchor_ns, out_ns))
        return false;
    return *out_ns > -KREACH_TIME_LIMIT_NS && *out_ns < KREACH_TIME_LIMIT_NS;
}

/* The timeline's site for work of a kind launched inside a range. */
static bool annotated_site(struct kr_decode *d, struct kr_decode_site *kind, uint32_t range,
                           uint32_t *site, struct kr_err *err)
{
    uint32_t annotation = d->links.ranges[range].label;
    struct kr_site key;

    if (kind->annotated == KR_UNDEFINED || kind->annotation != annotation) {
        key = d->t->sites[kind->site];
        key.annotation = annotation;
        kind->annotated = kr_timeline_site(d->t, &key, err);
        kind->annotation = annotation;
    }
    *site = kind->annotated;
    return *site != UINT32_MAX;
}

/* One record as it stands in the file. */
struct record {
    uint64_t track, site, dur_ns;
    int64_t start_ns, correlation;
};

/* Drops work whose times or place cannot be used, counting it. */
static bool usable(struct kr_decode *d, const struct record *r, const struct kr_chunk *chunk)
{
    enum kr_warn why;

    if (r->track >= d->n_tracks || d->tracks[r->track] == KR_UNDEFINED)
        why = KR_WARN_BAD_RECORD;
    else if (r->start_ns == 0)
        why = KR_WARN_ZERO_TIME;
    else if (r->start_ns < 0 || r->start_ns >= KREACH_TIME_LIMIT_NS ||
             r->dur_ns >= KREACH_TIME_LIMIT_NS)
        why = KR_WARN_HUGE_TIME;
    else
        return true;
    warn(d, why, chunk);
    d->t->counts.dropped++;
    return false;
}

/* Finds the site and kind of a record; work whose description is lost is kept without a name. */
static bool find_site(struct kr_decode *d, const struct record *r, const struct kr_chunk *chunk,
                      struct kr_event *event, struct kr_err *err)
{
    const struct kr_site nameless = { .kind = KR_KERNEL };

    if (r->site < d->n_sites && d->sites[r->site].site != KR_UNDEFINED) {
        event->site = d->sites[r->site].site;
        event->kind = d->t->sites[event->site].kind;
        if (!d->t->sites[event->site].name)
            warn(d, KR_WARN_NO_NAME, chunk);
        if (d->sites[r->site].kind == KREACH_GRAPH)
            warn(d, KR_WARN_GRAPH_LEVEL, chunk);
        return true;
    }
    warn(d, KR_WARN_LOST_SITE, chunk);
    if (d->nameless == KR_UNDEFINED)
        d->nameless = kr_timeline_site(d->t, &nameless, err);
    event->site = d->nameless;
    event->kind = KR_KERNEL;
    return d->nameless != UINT32_MAX;
}

/* Ties an event to its launch and to the ranges around that. */
static bool link_event(struct kr_decode *d, const struct record *r, struct kr_event *event,
                       struct kr_err *err)
{
    const struct kr_launch *launch = kr_links_find(&d->links, event->correlation);

    if (!launch || !event->correlation)
        return true;
    if (r->start_ns < launch->start_ns)
        kr_timeline_warn(d->t, KR_WARN_BEFORE_LAUNCH, 1, KR_NO_OFFSET);
    else if (r->start_ns - launch->start_ns < KR_LEAD_UNKNOWN)
        event->lead_ns = (uint32_t)(r->start_ns - launch->start_ns);
    if (launch->range == KR_NO_RANGE)
        return true;
    kr_links_cover(&d->links, launch->range, event->start_ns,
                   event->start_ns + (int64_t)event->dur_ns, event->track);
    return event->site == d->nameless ||
           annotated_site(d, &d->sites[r->site], launch->range, &event->site, err);
}

static bool add_work(struct kr_decode *d, const struct record *r, const struct kr_chunk *chunk,
                     struct kr_err *err)
{
    struct kr_event event = { .dur_ns = r->dur_ns, .lead_ns = KR_LEAD_UNKNOWN };

    if (!usable(d, r, chunk))
        return true;
    if (!place(d, r->start_ns, &event.start_ns)) {
        warn(d, KR_WARN_HUGE_TIME, chunk);
        d->t->counts.dropped++;
        return true;
    }
    event.correlation = (uint32_t)r->correlation;
    event.track = (uint16_t)d->tracks[r->track];
    if (!find_site(d, r, chunk, &event, err))
        return false;
    if (d->t->sites[event.site].graph_id && kr_gaps_outside(&d->gaps, r->start_ns)) {
        warn(d, KR_WARN_OUTSIDE, chunk);
        return true;
    }
    return link_event(d, r, &event, err) && kr_timeline_add_event(d->t, event, err);
}

bool kr_decode_events(struct kr_decode *d, const struct kr_chunk *chunk, struct kr_err *err)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    uint64_t count = kr_cursor_varint(&c);
    struct record r = { .start_ns = kr_cursor_svarint(&c) };

    for (; count && kr_cursor_more(&c); count--) {
        r.track = kr_cursor_varint(&c);
        r.site = kr_cursor_varint(&c);
        if (__builtin_add_overflow(r.start_ns, kr_cursor_svarint(&c), &r.start_ns))
            c.bad = true;
        r.dur_ns = kr_cursor_varint(&c);
        if (!next_correlation(&c, &r.correlation))
            break;
        d->works++;
        d->t->counts.events_read++;
        if (!add_work(d, &r, chunk, err))
            return false;
    }
    if (c.bad || count || c.at != c.end)
        warn(d, KR_WARN_BAD_RECORD, chunk);
    return true;
}

bool kr_decode_gaps(struct kr_decode *d, struct kr_err *err)
{
    for (size_t i = 0; i < d->gaps.n; i++) {
        const struct kr_gap *gap = &d->gaps.items[i];
        const int64_t from_ns = gap->from_ns ? gap->from_ns : d->first_range_ns;
        struct kr_pause pause;

        if (from_ns < gap->to_ns && place(d, from_ns, &pause.start_ns) &&
            place(d, gap->to_ns, &pause.end_ns) && !kr_timeline_add_pause(d->t, pause, err))
            return false;
    }
    return true;
}

static bool add_annotation(struct kr_decode *d, const struct kr_range *r, struct kr_err *err)
{
    struct kr_annotation host = { .name = r->name, .track = -1 };
    struct kr_annotation device = { .name = r->name, .on_device = 1 };
    char thread[24];

    snprintf(thread, sizeof thread, "%llu", (unsigned long long)r->thread);
    if (!place(d, r->start_ns, &host.start_ns)) {
        kr_timeline_warn(d->t, KR_WARN_BAD_RECORD, 1, KR_NO_OFFSET);
        return true;
    }
    host.dur_ns = (uint64_t)(r->end_ns - r->start_ns);
    if (!intern_text(d, thread, &host.thread, err) || !kr_timeline_add_annotation(d->t, host, err))
        return false;
    if (!r->has_work)
        return true;
    device.start_ns = r->first_work_ns;
    device.dur_ns = (uint64_t)(r->last_work_ns - r->first_work_ns);
    device.track = (int32_t)r->track;
    return kr_timeline_add_annotation(d->t, device, err);
}

bool kr_decode_ranges(struct kr_decode *d, struct kr_err *err)
{
    kr_links_widen(&d->links);
    for (size_t i = 0; i < d->links.n_ranges; i++) {
        if (!add_annotation(d, &d->links.ranges[i], err))
            return false;
    }
    d->t->counts.annotations += d->links.n_ranges;
    return true;
}

#include "cap_recorder.h"

#include "cap_cuda.h"
#include "cap_say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TRACK_LIMIT (1u << 20)
#define SITE_LIMIT  (1u << 20) /* about 140 MB of table at most */

/*
 * Keys are words of 64 bits, each of them written at once: the table reads them as such a moment
 * later, and the CPU would have to wait until narrower writes have reached its cache.
 */
struct site_key {
    uint64_t what; /* enum kreach_kind | copy kind << 8 | source << 16 | destination << 24, name */
    uint64_t shape[3]; /* grid[3], block[3] */
    uint64_t needs;    /* registers, shared memory [byte] */
    uint64_t where;    /* graph, peer: device + 1 */
    uint64_t node, bytes;
};

struct track_key {
    uint64_t place; /* device, context */
    uint64_t stream;
};

static uint64_t pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static uint32_t low_of(uint64_t word)
{
    return (uint32_t)word;
}

static uint32_t high_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

bool cap_recorder_open(struct cap_recorder *r, const struct cap_opts *opts)
{
    *r = (struct cap_recorder){ .opts = opts, .sink = { .fd = -1 } };
    if (!cap_names_init(&r->names))
        return false;
    r->new_names.first_id = 1;
    cap_table_init(&r->tracks, sizeof(struct track_key), TRACK_LIMIT);
    cap_table_init(&r->sites, sizeof(struct site_key), SITE_LIMIT);
    return opts->steps == 0 || cap_steps_open(&r->steps);
}

void cap_recorder_close(struct cap_recorder *r)
{
    struct cap_bytes *all[] = { &r->info,
                                &r->new_names.body,
                                &r->new_devices.body,
                                &r->new_tracks.body,
                                &r->new_sites.body,
                                &r->events.body,
                                &r->launches.body,
                                &r->ranges,
                                &r->losses,
                                &r->gaps,
                                &r->clocks };

    cap_sink_close(&r->sink);
    for (size_t i = 0; i < CAP_COUNT(all); i++)
        cap_bytes_free(all[i]);
    cap_names_free(&r->names);
    cap_table_free(&r->tracks);
    cap_table_free(&r->sites);
    cap_steps_close(&r->steps);
}

void cap_recorder_info(struct cap_recorder *r, const char *key, const char *value)
{
    cap_put_text(&r->info, key, strlen(key));
    cap_put_text(&r->info, value, strlen(value));
}

static void describe_device(struct cap_recorder *r, uint32_t ordinal)
{
    struct cap_bytes *out = &r->new_devices.body;
    struct cap_device device;

    for (uint32_t i = 0; i < r->n_devices; i++) {
        if (r->devices[i] == ordinal)
            return;
    }
    if (r->n_devices == CAP_DEVICES_MAX)
        return;
    r->devices[r->n_devices++] = ordinal;
    cap_cuda_device(ordinal, &device);
    cap_put_varint(out, ordinal);
    cap_put(out, device.uuid, sizeof device.uuid);
    cap_put_text(out, device.name, strlen(device.name));
    cap_put_varint(out, device.sm_count);
    cap_put_varint(out, device.memory_bytes);
    cap_put_varint(out, device.cc_major);
    cap_put_varint(out, device.cc_minor);
    cap_put_varint(out, device.mig ? KREACH_DEVICE_MIG : 0);
    r->new_devices.n++;
}

static uint32_t track_of(struct cap_recorder *r, uint32_t device, uint32_t context, uint32_t stream)
{
    const struct track_key key = { pair(device, context), stream };
    bool is_new = false;
    uint32_t id = cap_table_id(&r->tracks, &key, &is_new);

    if (is_new) {
        describe_device(r, device);
        cap_put_varint(&r->new_tracks.body, device);
        cap_put_varint(&r->new_tracks.body, context);
        cap_put_varint(&r->new_tracks.body, stream);
        r->new_tracks.n++;
    }
    return id;
}

static void put_site(struct cap_bytes *out, const struct site_key *key)
{
    const uint8_t kind = (uint8_t)key->what;

    cap_put_u8(out, kind);
    cap_put_varint(out, high_of(key->what));
    switch (kind) {
    case KREACH_KERNEL:
        for (int i = 0; i < 3; i++) {
            cap_put_varint(out, low_of(key->shape[i]));
            cap_put_varint(out, high_of(key->shape[i]));
        }
        cap_put_varint(out, low_of(key->needs));
        cap_put_varint(out, high_of(key->needs));
        break;
    case KREACH_MEMCPY:
        cap_put_u8(out, (uint8_t)(key->what >> 8));
        cap_put_u8(out, (uint8_t)(key->what >> 16));
        cap_put_u8(out, (uint8_t)(key->what >> 24));
        cap_put_varint(out, key->bytes);
        cap_put_varint(out, high_of(key->where));
        break;
    case KREACH_MEMSET:
        cap_put_u8(out, (uint8_t)(key->what >> 24));
        cap_put_varint(out, key->bytes);
        break;
    default: /* KREACH_GRAPH has its id only */
        cap_put_varint(out, low_of(key->where));
        return;
    }
    cap_put_varint(out, low_of(key->where));
    cap_put_varint(out, key->node);
}

static uint32_t site_of(struct cap_recorder *r, const struct site_key *key)
{
    bool is_new = false;
    uint32_t id = cap_table_id(&r->sites, key, &is_new);

    if (is_new) {
        put_site(&r->new_sites.body, key);
        r->new_sites.n++;
        r->graphs_seen =
            r->graphs_seen || (uint8_t)key->what == KREACH_GRAPH || low_of(key->where) != 0;
    }
    return id;
}

/* What all device records have in common. */
struct work {
    uint64_t start, end;
    uint32_t device, context, stream, correlation;
};

/* Counts a record whose times cannot be used; true when it was one. */
static bool is_untimed(struct cap_recorder *r, const struct work *w)
{
    uint32_t device = w->device < CAP_DEVICES_MAX ? w->device : CAP_DEVICES_MAX - 1;

    if (w->end == 0 && (w->start == 0 || r->untimed != KREACH_LOST_ZERO_TIME)) {
        r->timeless[r->untimed][device]++;
        return true;
    }
    if (w->start == 0 || w->end < w->start || w->end > INT64_MAX) {
        r->timeless[KREACH_LOST_BAD_TIME][device]++;
        return true;
    }
    return false;
}

static void add_event(struct cap_recorder *r, const struct work *w, uint32_t track, uint32_t site)
{
    struct cap_rows *rows = &r->events;
    const int64_t start = (int64_t)w->start;

    if (track == CAP_ID_NONE || site == CAP_ID_NONE ||
        !cap_bytes_reserve(&rows->body, (size_t)5 * CAP_VARINT_MAX_BYTES)) {
        r->unwritten++;
        return;
    }
    if (rows->n == 0) {
        rows->base_ns = start;
        rows->previous_ns = start;
        rows->previous_correlation = 0;
    }
    uint8_t *p = rows->body.data + rows->body.len;
    p = cap_varint(p, track);
    p = cap_varint(p, site);
    p = cap_varint(p, cap_zigzag(start - rows->previous_ns));
    p = cap_varint(p, w->end - w->start);
    p = cap_varint(p, cap_zigzag((int64_t)w->correlation - rows->previous_correlation));
    rows->body.len = (size_t)(p - rows->body.data);
    rows->previous_ns = start;
    rows->previous_correlation = w->correlation;
    rows->n++;
    if (r->first_ns == 0 || start < r->first_ns)
        r->first_ns = start;
    if ((int64_t)w->end > r->last_ns)
        r->last_ns = (int64_t)w->end;
}

static void add_kernel(struct cap_recorder *r, const struct cupti_kernel *k)
{
    const struct work w = { k->start, k->end, k->device, k->context, k->stream, k->correlation };

    if (is_untimed(r, &w))
        return;
    const uint32_t name = cap_names_id(&r->names, k->name, &r->new_names.body);
    const uint32_t shared_bytes = (uint32_t)k->static_shared + (uint32_t)k->dynamic_shared;
    const struct site_key key = { .what = pair(KREACH_KERNEL, name),
                                  .shape = { pair((uint32_t)k->grid[0], (uint32_t)k->grid[1]),
                                             pair((uint32_t)k->grid[2], (uint32_t)k->block[0]),
                                             pair((uint32_t)k->block[1], (uint32_t)k->block[2]) },
                                  .needs = pair(k->registers, shared_bytes),
                                  .where = pair(k->graph, 0),
                                  .node = k->graph_node };
    const uint32_t site = site_of(r, &key);
    const uint32_t track = track_of(r, k->device, k->context, k->stream);
    add_event(r, &w, track, site);
    r->totals[KREACH_TOTAL_KERNELS]++;
    if (r->steps.sites)
        cap_steps_add(&r->steps, track, site, (int64_t)k->start);
}

/* The low half of a copy's or a set's site_key.what. */
static uint32_t moved(enum kreach_kind kind, uint8_t copy_kind, uint8_t source, uint8_t destination)
{
    return (uint32_t)kind | (uint32_t)copy_kind << 8 | (uint32_t)source << 16 |
           (uint32_t)destination << 24;
}

static void add_memcpy(struct cap_recorder *r, const struct cupti_memcpy *m)
{
    const struct work w = { m->start, m->end, m->device, m->context, m->stream, m->correlation };
    const struct site_key key = { .what =
                                      moved(KREACH_MEMCPY, m->copy_kind, m->source, m->destination),
                                  .where = pair(m->graph, 0),
                                  .node = m->graph_node,
                                  .bytes = m->bytes };

    if (is_untimed(r, &w))
        return;
    add_event(r, &w, track_of(r, m->device, m->context, m->stream), site_of(r, &key));
    r->totals[KREACH_TOTAL_MEMCPYS]++;
}

static void add_memcpy_peer(struct cap_recorder *r, const struct cupti_memcpy_peer *m)
{
    const struct work w = { m->start, m->end, m->device, m->context, m->stream, m->correlation };
    const uint32_t peer = m->device == m->source_device ? m->destination_device : m->source_device;
    const struct site_key key = { .what =
                                      moved(KREACH_MEMCPY, m->copy_kind, m->source, m->destination),
                                  .where = pair(m->graph, peer + 1),
                                  .node = m->graph_node,
                                  .bytes = m->bytes };

    if (is_untimed(r, &w))
        return;
    add_event(r, &w, track_of(r, m->device, m->context, m->stream), site_of(r, &key));
    r->totals[KREACH_TOTAL_MEMCPYS]++;
}

static void add_memset(struct cap_recorder *r, const struct cupti_memset *m)
{
    const struct work w = { m->start, m->end, m->device, m->context, m->stream, m->correlation };
    const struct site_key key = { .what = moved(KREACH_MEMSET, 0, 0, (uint8_t)m->memory),
                                  .where = pair(m->graph, 0),
                                  .node = m->graph_node,
                                  .bytes = m->bytes };

    if (is_untimed(r, &w))
        return;
    add_event(r, &w, track_of(r, m->device, m->context, m->stream), site_of(r, &key));
    r->totals[KREACH_TOTAL_MEMSETS]++;
}

static void add_graph(struct cap_recorder *r, const struct cupti_graph *g)
{
    const struct work w = { g->start, g->end, g->device, g->context, g->stream, g->correlation };
    const struct site_key key = { .what = KREACH_GRAPH, .where = pair(g->graph, 0) };

    if (is_untimed(r, &w))
        return;
    add_event(r, &w, track_of(r, g->device, g->context, g->stream), site_of(r, &key));
    r->totals[KREACH_TOTAL_GRAPHS]++;
}

static void add_launch(struct cap_recorder *r, const struct cupti_api *a)
{
    struct cap_rows *rows = &r->launches;
    const uint8_t domain = a->kind == CUPTI_KIND_DRIVER;
    const int64_t start = (int64_t)a->start;

    if (!r->opts->launches || !cap_cupti_is_launch(domain, a->cbid) || a->end < a->start)
        return;
    if (rows->n == 0) {
        rows->base_ns = start;
        rows->previous_ns = start;
        rows->previous_correlation = 0;
    }
    cap_put_varint(&rows->body, a->thread);
    cap_put_varint(&rows->body, domain);
    cap_put_varint(&rows->body, a->cbid);
    cap_put_svarint(&rows->body, start - rows->previous_ns);
    cap_put_varint(&rows->body, a->end - a->start);
    cap_put_svarint(&rows->body, (int64_t)a->correlation - rows->previous_correlation);
    rows->previous_ns = start;
    rows->previous_correlation = a->correlation;
    rows->n++;
    r->totals[KREACH_TOTAL_LAUNCHES]++;
}

/* Records of the host (contexts, markers, overhead, ...) come when another client wants them. */
static bool may_be_work(uint32_t kind)
{
    return kind == 0 || kind == CUPTI_KIND_CDP_KERNEL || kind > CUPTI_KIND_JIT;
}

static void add_record(struct cap_recorder *r, const void *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    switch (kind) {
    case CUPTI_KIND_KERNEL:
    case CUPTI_KIND_CONCURRENT_KERNEL:
        add_kernel(r, record);
        break;
    case CUPTI_KIND_MEMCPY:
        add_memcpy(r, record);
        break;
    case CUPTI_KIND_MEMCPY2:
        add_memcpy_peer(r, record);
        break;
    case CUPTI_KIND_MEMSET:
        add_memset(r, record);
        break;
    case CUPTI_KIND_GRAPH_TRACE:
        add_graph(r, record);
        break;
    case CUPTI_KIND_DRIVER:
    case CUPTI_KIND_RUNTIME:
        add_launch(r, record);
        break;
    default:
        if (may_be_work(kind))
            r->unknown++;
    }
}

/* Long names reach the size of a chunk before the rows that have them. */
static bool fills_a_chunk(const struct cap_recorder *r)
{
    return r->events.body.len >= CAP_CHUNK_BYTES || r->launches.body.len >= CAP_CHUNK_BYTES ||
           r->new_names.body.len >= r->names_kept_bytes + CAP_CHUNK_BYTES;
}

void cap_recorder_buffer(struct cap_recorder *r, const struct cap_cupti *c, uint8_t *buffer,
                         size_t valid_bytes, enum kreach_loss untimed)
{
    void *record = NULL;
    int result;

    r->untimed = untimed;
    cap_names_batch(&r->names);
    for (;;) {
        result = c->next_record(buffer, valid_bytes, &record);
        if (result != CUPTI_OK)
            break;
        add_record(r, record);
        if (fills_a_chunk(r))
            cap_recorder_flush(r, false);
    }
    /* Any other end than "no more" leaves the rest of the buffer unread. */
    if (result != CUPTI_E_MAX_LIMIT_REACHED && valid_bytes > 0)
        r->unknown++;
    r->totals[KREACH_TOTAL_BUFFERS]++;
}

void cap_recorder_range(struct cap_recorder *r, const struct cap_range *range)
{
    uint32_t name = cap_names_id_of(&r->names, range->name, range->name_len, &r->new_names.body);

    cap_put_varint(&r->ranges, name == CAP_ID_NONE ? 0 : name);
    cap_put_varint(&r->ranges, range->thread);
    cap_put_u8(&r->ranges, range->kind);
    cap_put_svarint(&r->ranges, range->start_ns);
    cap_put_varint(&r->ranges, range->dur_ns);
    r->n_ranges++;
    r->totals[KREACH_TOTAL_RANGES]++;
}

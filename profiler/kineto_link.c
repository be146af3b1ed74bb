#include "kineto_notes.h"
#include "kineto_total.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { CACHE_SITES = 1 << 13 };

/* A site found before: the file's site seen together with an op and an annotation. */
struct cached_site {
    uint32_t raw, op, annotation;
    uint32_t site; /* + 1, 0 = free */
};

struct linking {
    struct kr_kineto_total *total;
    struct kr_timeline *t;
    struct kr_note_map notes;
    const struct kr_note_scope *host;
    const struct kr_note_scope **scopes; /* per track of the file */
    uint16_t *tracks;                    /* per track of the file: the timeline's */
    uint32_t *works;                     /* per op: index + 1, 0 = not asked yet */
    struct cached_site *cache;
    size_t near; /* the last launch that was found, or would have been */
    uint64_t kernels;
};

/* Says what was found instead of device work. */
static bool fail_empty(const struct kr_kineto_total *total, struct kr_err *err)
{
    const struct kr_timeline *t = total->timeline;
    const struct kr_counts *c = &t->counts;
    const uint64_t at = t->source.truncated ? t->source.truncated_at : KR_NO_OFFSET;
    char cut[64] = "";

    if (t->source.truncated)
        snprintf(cut, sizeof cut, "; the input ends early at byte %" PRIu64, at);
    if (total->tally.counter_rows)
        return kr_fail_at(err, KR_EINPUT, at,
                          "no device work: %" PRIu64 " events, of them %" PRIu64 " rows of CUPTI "
                          "counters (cuda_profiler_range); record the run without counters%s",
                          c->events_read, total->tally.counter_rows, cut);
    if (c->launches + c->graph_launches)
        return kr_fail_at(err, KR_EINPUT, at,
                          "no device work: %" PRIu64 " kernel launches and %" PRIu64 " graph "
                          "launches were recorded but no kernels; the profiler could not trace the "
                          "GPU%s",
                          c->launches, c->graph_launches, cut);
    return kr_fail_at(err, KR_EINPUT, at,
                      "no device work: %" PRIu64 " events, of them %" PRIu64 " CPU ops and %" PRIu64
                      " annotations, %" PRIu64 " unusable device rows; record with "
                      "ProfilerActivity.CUDA%s",
                      c->events_read, c->cpu_ops, c->annotations, c->dropped, cut);
}

/* Files without categories: the rows that look like device work are taken for it. */
static bool use_guesses(struct kr_kineto_total *total, struct kr_err *err)
{
    for (size_t i = 0; i < total->n_guesses; i++) {
        if (!kr_timeline_add_event(total->timeline, total->guesses[i], err))
            return false;
    }
    kr_timeline_warn(total->timeline, KR_WARN_ROWS, total->n_guesses, KR_NO_OFFSET);
    return true;
}

static bool link_track(struct linking *l, size_t place, struct kr_err *err)
{
    const struct kr_kineto_track *from = (struct kr_kineto_track *)l->total->tracks.items + place;
    struct kr_track to = { .context = (uint32_t)from->context, .stream = from->stream };
    uint32_t track;

    to.device = kr_timeline_device(l->t, from->device, err);
    if (to.device == UINT32_MAX)
        return false;
    track = kr_timeline_track(l->t, to, err);
    if (track == UINT32_MAX)
        return false;
    l->tracks[place] = (uint16_t)track;
    l->scopes[place] = kr_note_map_scope(&l->notes, true, from->device, from->stream);
    return true;
}

/* The tracks that the chosen events use, in the order of their first event. */
static bool link_tracks(struct linking *l, struct kr_err *err)
{
    for (size_t i = 0; i < l->t->n_events; i++) {
        uint16_t place = l->t->events[i].track;

        if (l->tracks[place] == UINT16_MAX && !link_track(l, place, err))
            return false;
    }
    return true;
}

static int compare_launches(const void *pa, const void *pb)
{
    const struct kr_kineto_launch *a = pa;
    const struct kr_kineto_launch *b = pb;

    if (a->correlation != b->correlation)
        return KR_COMPARE(a->correlation, b->correlation);
    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    return KR_COMPARE(a->external_id, b->external_id);
}

/* Recorders write calls in the order of their correlation, nearly always; then nothing is moved. */
static void sort_launches(struct kr_kineto_total *total)
{
    for (size_t i = 1; i < total->n_launches; i++) {
        if (compare_launches(&total->launches[i - 1], &total->launches[i]) > 0) {
            qsort(total->launches, total->n_launches, sizeof *total->launches, compare_launches);
            return;
        }
    }
}

static bool start_linking(struct linking *l, struct kr_err *err)
{
    struct kr_kineto_total *total = l->total;
    size_t n_tracks = total->tracks.n;

    if (!kr_note_map_build(&l->notes, total->notes, total->n_notes, l->t->strings, err))
        return false;
    sort_launches(total);
    l->host = kr_note_map_scope(&l->notes, false, 0, 0);
    l->scopes = kr_xcalloc(n_tracks, sizeof *l->scopes, err);
    l->tracks = kr_xcalloc(n_tracks, sizeof *l->tracks, err);
    l->works = kr_xcalloc(total->ops.n, sizeof *l->works, err);
    l->cache = kr_xcalloc(CACHE_SITES, sizeof *l->cache, err);
    if (!l->scopes || !l->tracks || !l->works || !l->cache)
        return false;
    memset(l->tracks, 0xff, n_tracks * sizeof *l->tracks);
    return link_tracks(l, err);
}

static void end_linking(struct linking *l)
{
    kr_note_map_free(&l->notes);
    free(l->scopes);
    free(l->tracks);
    free(l->works);
    free(l->cache);
}

/* The launching call, the last where several have the correlation; NULL when none was recorded.
 * The work of a stream comes in the order of its launches, so that the search starts near. */
static const struct kr_kineto_launch *launch_of(struct linking *l, const struct kr_event *e)
{
    const struct kr_kineto_launch *launches = l->total->launches;
    size_t low = 0;
    size_t high = l->total->n_launches;
    size_t near = l->near;

    if (!e->correlation)
        return NULL;
    if (near < high && launches[near].correlation <= e->correlation) {
        low = near;
        for (size_t step = 1; low + step < high; step *= 2) {
            if (launches[low + step].correlation > e->correlation)
                high = low + step;
            else
                low += step;
        }
    }
    while (low < high) { /* the first call of a larger correlation */
        size_t middle = low + (high - low) / 2;

        if (launches[middle].correlation <= e->correlation)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    l->near = low - 1;
    return launches[low - 1].correlation == e->correlation ? &launches[low - 1] : NULL;
}

/* The place of the launching op, by the event's id or else by its launch's. */
static uint32_t op_of(const struct linking *l, struct kr_event *e,
                      const struct kr_kineto_launch *launch)
{
    uint32_t op = KR_IDMAP_NONE;

    if (e->external_id)
        op = kr_idmap_get(&l->total->op_of_external, e->external_id);
    if (op == KR_IDMAP_NONE && launch && launch->external_id) {
        op = kr_idmap_get(&l->total->op_of_external, launch->external_id);
        if (!e->external_id)
            e->external_id = launch->external_id;
    }
    return op;
}

static void set_lead(struct linking *l, struct kr_event *e, const struct kr_kineto_launch *launch)
{
    int64_t lead;

    if (!launch || __builtin_sub_overflow(e->start_ns, launch->start_ns, &lead))
        return;
    if (lead < 0)
        kr_timeline_warn(l->t, KR_WARN_BEFORE_LAUNCH, 1, KR_NO_OFFSET);
    else if (lead < KR_LEAD_UNKNOWN)
        e->lead_ns = (uint32_t)lead;
}

/* The annotation of the device that covers the event, else that of the host around its launch: work
 * that another thread launched (autograd does) has none on the device. */
static uint32_t annotation_of(const struct linking *l, const struct kr_event *e,
                              const struct kr_kineto_launch *launch)
{
    uint32_t name = kr_note_map_at(&l->notes, l->scopes[e->track], e->start_ns);

    if (!name && launch)
        name = kr_note_map_at(&l->notes, l->host, launch->start_ns);
    return name;
}

static bool set_op(struct linking *l, uint32_t place, struct kr_site *site, struct kr_err *err)
{
    const struct kr_kineto_op *op = (struct kr_kineto_op *)l->total->ops.items + place;

    site->op = op->name;
    if (!l->works[place]) {
        struct kr_work work = { op->flop, op->bytes, op->dtype };
        uint32_t index = op->flop > 0 ? kr_timeline_work(l->t, work, err) : 0;

        if (index == UINT32_MAX)
            return false;
        l->works[place] = index + 1;
    }
    site->work = l->works[place] - 1;
    return true;
}

static bool set_site(struct linking *l, struct kr_event *e, uint32_t op, uint32_t annotation,
                     struct kr_err *err)
{
    uint64_t key = e->site + (uint64_t)op * 0x9e3779b1u + (uint64_t)annotation * 0x85ebca77u;
    struct cached_site *c = &l->cache[(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CACHE_SITES];

    if (!c->site || c->raw != e->site || c->op != op || c->annotation != annotation) {
        struct kr_site site;

        memcpy(&site, (struct kr_site *)l->total->sites.items + e->site, sizeof site);
        site.annotation = annotation;
        if (op != KR_IDMAP_NONE && !set_op(l, op, &site, err))
            return false;
        *c = (struct cached_site){ e->site, op, annotation, 0 };
        c->site = kr_timeline_site(l->t, &site, err) + 1;
        if (!c->site)
            return false;
    }
    e->site = c->site - 1;
    return true;
}

static bool link_event(struct linking *l, struct kr_event *e, struct kr_err *err)
{
    const struct kr_kineto_launch *launch = launch_of(l, e);
    uint32_t op = op_of(l, e, launch);
    uint32_t annotation = annotation_of(l, e, launch);

    set_lead(l, e, launch);
    l->kernels += e->kind == KR_KERNEL;
    e->track = l->tracks[e->track];
    return set_site(l, e, op, annotation, err);
}

/* The track of a device annotation: the first that works on its stream. */
static int32_t track_of_note(const struct kr_timeline *t, const struct kr_kineto_note *note)
{
    for (size_t i = 0; note->on_device && i < t->n_tracks; i++) {
        if (t->tracks[i].stream == note->stream &&
            t->devices[t->tracks[i].device].id == note->device)
            return (int32_t)i;
    }
    return -1;
}

static bool add_annotations(struct linking *l, struct kr_err *err)
{
    int32_t track = -1;

    for (size_t i = 0; i < l->total->n_notes; i++) {
        const struct kr_kineto_note *n = &l->total->notes[i];
        const struct kr_kineto_note *last = i ? n - 1 : NULL;
        struct kr_annotation a = { .start_ns = n->start_ns,
                                   .dur_ns = n->dur_ns,
                                   .name = n->name,
                                   .thread = n->thread,
                                   .on_device = (uint8_t)n->on_device };

        /* notes are sorted by stream now */
        if (!last || last->on_device != n->on_device || last->device != n->device ||
            last->stream != n->stream)
            track = track_of_note(l->t, n);
        a.track = track;
        if (!kr_timeline_add_annotation(l->t, a, err))
            return false;
    }
    return true;
}

bool kr_kineto_total_link(struct kr_kineto_total *total, struct kr_err *err)
{
    struct linking l = { .total = total, .t = total->timeline };
    bool ok = true;

    if (total->tally.device_rows == 0)
        ok = use_guesses(total, err);
    if (ok && l.t->n_events == 0)
        return fail_empty(total, err);
    ok = ok && start_linking(&l, err);
    for (size_t i = 0; ok && i < l.t->n_events; i++)
        ok = link_event(&l, &l.t->events[i], err);
    ok = ok && add_annotations(&l, err);
    if (ok && !l.kernels && l.t->counts.launches + l.t->counts.graph_launches)
        kr_timeline_warn(l.t, KR_WARN_NO_KERNELS, l.t->counts.launches + l.t->counts.graph_launches,
                         KR_NO_OFFSET);
    end_linking(&l);
    kr_kineto_total_free(total);
    return ok;
}

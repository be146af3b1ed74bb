#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "recpool.h"

enum { MAX_TRACKS = UINT16_MAX, MAX_DEVICES = 4096, MAX_FACTS = 256 };
#define MAX_EVENTS ((size_t)UINT32_MAX)

/* An overrun: see kr_timeline_finish. */
enum { OVERRUN_SUCCESSORS = 4 };
#define OVERRUN_NS INT64_C(1000000)

struct kr_timeline_build {
    struct kr_recpool sites, tracks, works; /* hold what the timeline's arrays of that name show */
    size_t cap_events, cap_devices, cap_annotations, cap_facts, cap_pauses;
};

static const struct {
    const char *key, *text;
    bool loses;
} warn_facts[KR_WARN_COUNT] = {
#define WARN_FACT(id, key, loses, text) [id] = { key, text, loses },
    KR_WARN_LIST(WARN_FACT)
#undef WARN_FACT
};

const char *kr_warn_key(enum kr_warn warn)
{
    return warn_facts[warn].key;
}

const char *kr_warn_text(enum kr_warn warn)
{
    return warn_facts[warn].text;
}

bool kr_warn_loses_data(enum kr_warn warn)
{
    return warn_facts[warn].loses;
}

const char *kr_kind_name(enum kr_kind kind)
{
    static const char *const names[KR_KIND_COUNT] = { "kernel", "memcpy", "memset" };

    return names[kind];
}

struct kr_timeline *kr_timeline_new(struct kr_err *err)
{
    struct kr_timeline *t = kr_xnew(sizeof *t, err);

    if (!t)
        return NULL;
    t->source.rank = -1;
    for (size_t i = 0; i < KR_WARN_COUNT; i++)
        t->warnings[i].first_offset = KR_NO_OFFSET;
    t->strings = kr_strpool_new(err);
    t->build = kr_xnew(sizeof *t->build, err);
    if (t->build) {
        kr_recpool_init(&t->build->sites, sizeof(struct kr_site));
        kr_recpool_init(&t->build->tracks, sizeof(struct kr_track));
        kr_recpool_init(&t->build->works, sizeof(struct kr_work));
        t->build->tracks.limit = MAX_TRACKS;
    }
    if (!t->strings || !t->build || kr_timeline_work(t, (struct kr_work){ 0 }, err) == UINT32_MAX) {
        kr_timeline_free(t);
        return NULL;
    }
    return t;
}

static void free_build(struct kr_timeline *t)
{
    if (!t->build)
        return;
    kr_recpool_release(&t->build->sites);
    kr_recpool_release(&t->build->tracks);
    kr_recpool_release(&t->build->works);
    free(t->build);
    t->build = NULL;
}

void kr_timeline_free(struct kr_timeline *t)
{
    if (!t)
        return;
    free_build(t);
    kr_strpool_free(t->strings);
    free(t->events);
    free(t->sites);
    free(t->works);
    free(t->tracks);
    free(t->devices);
    free(t->annotations);
    free(t->pauses);
    free(t->source.path);
    free(t->source.facts);
    free(t);
}

void kr_timeline_warn(struct kr_timeline *t, enum kr_warn warn, uint64_t count, uint64_t offset)
{
    if (count && !t->warnings[warn].count)
        t->warnings[warn].first_offset = offset;
    t->warnings[warn].count += count;
}

bool kr_timeline_set_fact(struct kr_timeline *t, uint32_t key, uint32_t value, struct kr_err *err)
{
    struct kr_source *s = &t->source;

    for (size_t i = 0; i < s->n_facts; i++) {
        if (s->facts[i].key == key) {
            s->facts[i].value = value;
            return true;
        }
    }
    if (!kr_grow(&s->facts, &t->build->cap_facts, s->n_facts + 1, sizeof *s->facts, MAX_FACTS, err))
        return kr_wrap(err, "facts about the run");
    s->facts[s->n_facts++] = (struct kr_fact){ key, value };
    return true;
}

const char *kr_timeline_fact(const struct kr_timeline *t, const char *key)
{
    uint32_t id = kr_strpool_find(t->strings, key, strlen(key));

    for (size_t i = 0; i < t->source.n_facts; i++) {
        if (t->source.facts[i].key == id)
            return kr_timeline_str(t, t->source.facts[i].value);
    }
    return NULL;
}

uint32_t kr_timeline_device(struct kr_timeline *t, int64_t id, struct kr_err *err)
{
    for (size_t i = 0; i < t->n_devices; i++) {
        if (t->devices[i].id == id)
            return (uint32_t)i;
    }
    if (!kr_grow(&t->devices, &t->build->cap_devices, t->n_devices + 1, sizeof *t->devices,
                 MAX_DEVICES, err)) {
        kr_wrap(err, "devices");
        return UINT32_MAX;
    }
    t->devices[t->n_devices] = (struct kr_device){ .id = id };
    return (uint32_t)t->n_devices++;
}

uint32_t kr_timeline_track(struct kr_timeline *t, struct kr_track key, struct kr_err *err)
{
    struct kr_track packed;
    uint32_t track;

    memset(&packed, 0, sizeof packed);
    packed.device = key.device;
    packed.context = key.context;
    packed.process = key.process;
    packed.stream = key.stream;
    track = kr_recpool_intern(&t->build->tracks, &packed, err);
    t->tracks = t->build->tracks.items;
    t->n_tracks = t->build->tracks.n;
    if (track == UINT32_MAX)
        kr_wrap(err, "streams");
    return track;
}

uint32_t kr_timeline_site(struct kr_timeline *t, const struct kr_site *site, struct kr_err *err)
{
    struct kr_site packed;
    uint32_t place;

    memset(&packed, 0, sizeof packed);
    packed.name = site->name;
    packed.op = site->op;
    packed.annotation = site->annotation;
    memcpy(packed.grid, site->grid, sizeof packed.grid);
    memcpy(packed.block, site->block, sizeof packed.block);
    packed.registers = site->registers;
    packed.shared_bytes = site->shared_bytes;
    packed.graph_id = site->graph_id;
    packed.work = site->work;
    packed.graph_node_id = site->graph_node_id;
    packed.bytes = site->bytes;
    packed.kind = site->kind;
    place = kr_recpool_intern(&t->build->sites, &packed, err);
    t->sites = t->build->sites.items;
    t->n_sites = t->build->sites.n;
    return place;
}

uint32_t kr_timeline_work(struct kr_timeline *t, struct kr_work work, struct kr_err *err)
{
    struct kr_work packed;
    uint32_t place;

    memset(&packed, 0, sizeof packed);
    packed.flop = work.flop;
    packed.bytes = work.bytes;
    packed.dtype = work.dtype;
    place = kr_recpool_intern(&t->build->works, &packed, err);
    t->works = t->build->works.items;
    t->n_works = t->build->works.n;
    return place;
}

bool kr_timeline_add_event(struct kr_timeline *t, struct kr_event event, struct kr_err *err)
{
    if (!kr_grow(&t->events, &t->build->cap_events, t->n_events + 1, sizeof *t->events, MAX_EVENTS,
                 err))
        return kr_wrap(err, "device events");
    t->events[t->n_events++] = event;
    return true;
}

bool kr_timeline_add_annotation(struct kr_timeline *t, struct kr_annotation a, struct kr_err *err)
{
    if (!kr_grow(&t->annotations, &t->build->cap_annotations, t->n_annotations + 1,
                 sizeof *t->annotations, MAX_EVENTS, err))
        return kr_wrap(err, "annotations");
    t->annotations[t->n_annotations++] = a;
    return true;
}

bool kr_timeline_add_pause(struct kr_timeline *t, struct kr_pause pause, struct kr_err *err)
{
    if (pause.start_ns >= pause.end_ns)
        return true;
    if (!kr_grow(&t->pauses, &t->build->cap_pauses, t->n_pauses + 1, sizeof *t->pauses, MAX_EVENTS,
                 err))
        return kr_wrap(err, "pauses");
    t->pauses[t->n_pauses++] = pause;
    return true;
}

static int compare_pauses(const void *pa, const void *pb)
{
    const struct kr_pause *a = pa;
    const struct kr_pause *b = pb;

    return a->start_ns != b->start_ns ? KR_COMPARE(a->start_ns, b->start_ns)
                                      : KR_COMPARE(a->end_ns, b->end_ns);
}

/* Pauses of several processes may overlap: where they do, they become one. */
static void join_pauses(struct kr_timeline *t)
{
    size_t n = 0;

    if (t->n_pauses)
        qsort(t->pauses, t->n_pauses, sizeof *t->pauses, compare_pauses);
    for (size_t i = 0; i < t->n_pauses; i++) {
        const struct kr_pause pause = t->pauses[i];

        if (!n || pause.start_ns > t->pauses[n - 1].end_ns)
            t->pauses[n++] = pause;
        else if (pause.end_ns > t->pauses[n - 1].end_ns)
            t->pauses[n - 1].end_ns = pause.end_ns;
    }
    t->n_pauses = n;
}

static int compare_events(const void *pa, const void *pb)
{
    const struct kr_event *a = pa;
    const struct kr_event *b = pb;

    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    if (a->track != b->track)
        return KR_COMPARE(a->track, b->track);
    if (a->correlation != b->correlation)
        return KR_COMPARE(a->correlation, b->correlation);
    if (a->site != b->site)
        return KR_COMPARE(a->site, b->site);
    return KR_COMPARE(a->dur_ns, b->dur_ns);
}

static int compare_annotations(const void *pa, const void *pb)
{
    const struct kr_annotation *a = pa;
    const struct kr_annotation *b = pb;

    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    if (a->dur_ns != b->dur_ns)
        return KR_COMPARE(b->dur_ns, a->dur_ns);
    if (a->name != b->name)
        return KR_COMPARE(a->name, b->name);
    return KR_COMPARE(a->track, b->track);
}

static void sort_events(struct kr_timeline *t)
{
    uint64_t descents = 0;
    bool sorted = true;

    for (size_t i = 1; i < t->n_events; i++) {
        descents += t->events[i].start_ns < t->events[i - 1].start_ns;
        sorted = sorted && compare_events(&t->events[i - 1], &t->events[i]) <= 0;
    }
    kr_timeline_warn(t, KR_WARN_OUT_OF_ORDER, descents, KR_NO_OFFSET);
    if (!sorted)
        qsort(t->events, t->n_events, sizeof *t->events, compare_events);
}

static void count_events(struct kr_timeline *t)
{
    uint64_t by_kind[KR_KIND_COUNT] = { 0 };
    uint64_t twins = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        by_kind[e->kind]++;
        if (i > 0 && e->correlation && compare_events(e - 1, e) == 0)
            twins++;
    }
    kr_timeline_warn(t, KR_WARN_DUPLICATE, twins, KR_NO_OFFSET);
    t->counts.device_events = t->n_events;
    t->counts.kernels = by_kind[KR_KERNEL];
    t->counts.memcpys = by_kind[KR_MEMCPY];
    t->counts.memsets = by_kind[KR_MEMSET];
}

/* The event of a track that reaches furthest so far, and what started under it. */
struct reach {
    struct kr_event *event;
    int64_t end_ns, first_successor_ns;
    uint32_t successors;
};

static void close_reach(struct kr_timeline *t, struct reach *r)
{
    if (!r->event || r->successors < OVERRUN_SUCCESSORS ||
        r->end_ns - r->first_successor_ns <= OVERRUN_NS)
        return;
    r->event->flags |= KR_EVENT_OVERRUN;
    kr_timeline_warn(t, KR_WARN_OVERRUN, 1, KR_NO_OFFSET);
}

static bool flag_overruns(struct kr_timeline *t, struct kr_err *err)
{
    struct reach *reaches = kr_xcalloc(t->n_tracks, sizeof *reaches, err);

    if (!reaches)
        return false;
    for (size_t i = 0; i < t->n_events; i++) {
        struct kr_event *e = &t->events[i];
        struct reach *r = &reaches[e->track];
        const int64_t end_ns = kr_end_ns(e->start_ns, e->dur_ns);

        if (r->event && e->start_ns < r->end_ns && end_ns <= r->end_ns) {
            if (r->successors++ == 0)
                r->first_successor_ns = e->start_ns;
            continue;
        }
        close_reach(t, r);
        *r = (struct reach){ e, end_ns, 0, 0 };
    }
    for (size_t i = 0; i < t->n_tracks; i++)
        close_reach(t, &reaches[i]);
    free(reaches);
    return true;
}

/* One launch of a graph, and the graph itself (correlation 0). Correlation ids are a process's. */
struct graph_launch {
    uint32_t process, graph, correlation;
};

/* What the launches of a graph hold; all but the first and the one seen last are in least..most. */
struct graph_size {
    uint32_t launches, last, least, most;
};

/* In place of the number of events: the recording paused beside some of them. */
#define CUT UINT32_MAX

/* Whether a pause began since the time that *pause stands for, which moves on. */
static bool has_paused(const struct kr_timeline *t, int64_t now_ns, size_t *pause)
{
    const size_t before = *pause;

    while (*pause < t->n_pauses && t->pauses[*pause].start_ns <= now_ns)
        ++*pause;
    return *pause > before;
}

/* How many events each launch has, in order of first appearance; CUT for those around a pause.
 * Launches must be empty. */
static bool count_launches(const struct kr_timeline *t, struct kr_recpool *launches,
                           uint32_t **counts, struct kr_err *err)
{
    struct graph_launch current = { 0 };
    uint32_t *count = NULL; /* of the current launch */
    size_t cap = 0;
    size_t pause = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];
        const struct graph_launch launch = { t->tracks[e->track].process,
                                             t->sites[e->site].graph_id, e->correlation };

        if (!launch.graph || !launch.correlation)
            continue;
        const bool paused = has_paused(t, e->start_ns, &pause);
        if (paused && count)
            *count = CUT;
        if (!count || memcmp(&launch, &current, sizeof launch) != 0) {
            const size_t known = launches->n;
            const uint32_t place = kr_recpool_intern(launches, &launch, err);

            if (place == UINT32_MAX ||
                !kr_grow(counts, &cap, launches->n, sizeof **counts, MAX_EVENTS, err))
                return false;
            current = launch;
            count = *counts + place;
            if (launches->n > known)
                *count = 0;
        }
        if (paused)
            *count = CUT;
        *count += *count != CUT;
    }
    return true;
}

static void add_launch(struct graph_size *g, uint32_t count)
{
    if (g->launches >= 2) {
        g->least = g->launches == 2 || g->last < g->least ? g->last : g->least;
        g->most = g->launches == 2 || g->last > g->most ? g->last : g->most;
    }
    g->launches++;
    g->last = count;
}

static bool compare_launches(struct kr_timeline *t, const struct kr_recpool *launches,
                             const uint32_t *counts, struct kr_recpool *graphs, struct kr_err *err)
{
    const struct graph_launch *all = launches->items;
    struct graph_size *sizes = kr_xcalloc(launches->n, sizeof *sizes, err);
    uint64_t uneven = 0;
    bool good = sizes;

    for (size_t i = 0; good && i < launches->n; i++) {
        if (counts[i] == CUT)
            continue;
        const struct graph_launch graph = { all[i].process, all[i].graph, 0 };
        const uint32_t place = kr_recpool_intern(graphs, &graph, err);

        good = place != UINT32_MAX;
        if (good)
            add_launch(&sizes[place], counts[i]);
    }
    for (size_t i = 0; good && i < graphs->n; i++)
        uneven += sizes[i].least != sizes[i].most;
    kr_timeline_warn(t, KR_WARN_UNEVEN_GRAPH, uneven, KR_NO_OFFSET);
    free(sizes);
    return good;
}

static bool count_uneven_graphs(struct kr_timeline *t, struct kr_err *err)
{
    struct kr_recpool launches, graphs;
    uint32_t *counts = NULL;
    bool good;

    kr_recpool_init(&launches, sizeof(struct graph_launch));
    kr_recpool_init(&graphs, sizeof(struct graph_launch));
    good = count_launches(t, &launches, &counts, err) &&
           (!counts || compare_launches(t, &launches, counts, &graphs, err));
    kr_recpool_free(&launches);
    kr_recpool_free(&graphs);
    free(counts);
    return good;
}

bool kr_timeline_finish(struct kr_timeline *t, struct kr_err *err)
{
    sort_events(t);
    if (t->n_annotations)
        qsort(t->annotations, t->n_annotations, sizeof *t->annotations, compare_annotations);
    join_pauses(t);
    count_events(t);
    if (!flag_overruns(t, err) || !count_uneven_graphs(t, err))
        return false;
    free_build(t);
    return true;
}

bool kr_timeline_complete(const struct kr_timeline *t)
{
    for (size_t i = 0; i < KR_WARN_COUNT; i++) {
        if (t->warnings[i].count && kr_warn_loses_data((enum kr_warn)i))
            return false;
    }
    return !(t->source.drops_known && t->source.drops);
}

const char *kr_timeline_str(const struct kr_timeline *t, uint32_t id)
{
    return kr_strpool_get(t->strings, id, NULL);
}

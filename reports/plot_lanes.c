#include "plot_lanes.h"

#include <math.h>
#include <stdlib.h>

#include "mem.h"

/* What is known of a track while lanes are laid out. */
struct track {
    uint32_t index, device;
    uint64_t work_ns;
    size_t lane; /* SIZE_MAX = none */
};

struct layout {
    const struct kr_timeline *timeline;
    const struct kr_tag *tags;
    const struct kr_step *stretch;
    struct track *tracks; /* by index, while events are read; else by device and work */
    size_t *idle_lane;    /* by device; SIZE_MAX = none */
    int64_t *busy_until;  /* by device */
    struct kr_lanes *lanes;
};

/* The part of an event inside the stretch; false when there is none. */
static bool clip(const struct layout *l, const struct kr_event *event, int64_t *from, int64_t *to)
{
    const int64_t end = kr_end_ns(event->start_ns, event->dur_ns);

    *from = event->start_ns > l->stretch->start_ns ? event->start_ns : l->stretch->start_ns;
    *to = end < l->stretch->end_ns ? end : l->stretch->end_ns;
    return *from < *to;
}

static void measure_tracks(struct layout *l)
{
    for (size_t i = 0; i < l->timeline->n_tracks; i++)
        l->tracks[i] = (struct track){ .index = (uint32_t)i,
                                       .device = l->timeline->tracks[i].device,
                                       .lane = SIZE_MAX };
    for (size_t i = 0; i < l->timeline->n_events; i++) {
        const struct kr_event *event = &l->timeline->events[i];
        int64_t from, to;

        if (clip(l, event, &from, &to))
            l->tracks[event->track].work_ns += (uint64_t)(to - from);
    }
}

static int by_device_and_work(const void *left, const void *right)
{
    const struct track *a = left;
    const struct track *b = right;

    if (a->device != b->device)
        return KR_COMPARE(a->device, b->device);
    if (a->work_ns != b->work_ns)
        return KR_COMPARE(b->work_ns, a->work_ns);
    return KR_COMPARE(a->index, b->index);
}

static int by_index(const void *left, const void *right)
{
    const struct track *a = left;
    const struct track *b = right;

    return KR_COMPARE(a->index, b->index);
}

static struct kr_lane *add_lane(struct layout *l, uint32_t device, uint32_t track)
{
    struct kr_lane *lane = &l->lanes->items[l->lanes->n++];

    *lane = (struct kr_lane){ .device = device, .track = track };
    return lane;
}

/* Lanes of one device from its tracks with work, busiest first. */
static void lay_out_device(struct layout *l, struct track *tracks, size_t n)
{
    struct kr_lane *lane = NULL;

    l->lanes->n_devices++;
    if (l->lanes->n_devices > KR_LANES_DEVICES_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        if (i <= KR_LANES_STREAMS_MAX)
            lane = add_lane(l, tracks[i].device, tracks[i].index);
        lane->n_tracks++;
        tracks[i].lane = l->lanes->n - 1;
    }
    l->idle_lane[tracks[0].device] = l->lanes->n;
    add_lane(l, tracks[0].device, UINT32_MAX);
}

static void lay_out(struct layout *l)
{
    size_t n = l->timeline->n_tracks;

    qsort(l->tracks, n, sizeof *l->tracks, by_device_and_work);
    for (size_t i = 0, end; i < n; i = end) {
        size_t used = i;

        for (end = i; end < n && l->tracks[end].device == l->tracks[i].device; end++)
            used += l->tracks[end].work_ns > 0;
        if (used > i)
            lay_out_device(l, &l->tracks[i], used - i);
    }
    qsort(l->tracks, n, sizeof *l->tracks, by_index);
}

/*
 * Adds an interval to a part of a lane. What covers whole columns is noted as a rise and a fall,
 * which finish_lane sums up, so that an event costs the same however long it is.
 */
static void add_interval(struct kr_lanes *lanes, const struct kr_step *stretch, size_t lane,
                         unsigned part, const int64_t ns[2])
{
    double(*parts)[KR_PLOT_PARTS] = lanes->items[lane].parts;
    double scale = (double)lanes->n_columns / (double)(stretch->end_ns - stretch->start_ns);
    double from = (double)(ns[0] - stretch->start_ns) * scale;
    double to = fmin((double)(ns[1] - stretch->start_ns) * scale, (double)lanes->n_columns);
    size_t first = (size_t)from;
    size_t last = (size_t)to;

    /* Row n_columns + 1 + c holds the changes from column c on. */
    if (first == last) {
        parts[first][part] += to - from;
        return;
    }
    parts[first][part] += (double)(first + 1) - from;
    parts[last][part] += to - (double)last;
    parts[lanes->n_columns + 1 + first + 1][part] += 1;
    parts[lanes->n_columns + 1 + last][part] -= 1;
}

static void add_event(struct layout *l, const struct kr_event *event)
{
    size_t lane = l->tracks[event->track].lane;
    uint32_t device = l->timeline->tracks[event->track].device;
    int64_t ns[2];

    if (lane == SIZE_MAX || !clip(l, event, &ns[0], &ns[1]))
        return;
    add_interval(l->lanes, l->stretch, lane, l->tags[event->site].cls, ns);
    if (ns[0] > l->busy_until[device])
        add_interval(l->lanes, l->stretch, l->idle_lane[device], KR_PLOT_IDLE,
                     (const int64_t[]){ l->busy_until[device], ns[0] });
    if (ns[1] > l->busy_until[device])
        l->busy_until[device] = ns[1];
}

static void finish_lane(struct kr_lane *lane, size_t n_columns)
{
    double level[KR_PLOT_PARTS] = { 0 };

    for (size_t c = 0; c < n_columns; c++) {
        double sum = 0;

        for (unsigned p = 0; p < KR_PLOT_PARTS; p++) {
            level[p] += lane->parts[n_columns + 1 + c][p];
            lane->parts[c][p] += level[p];
            sum += lane->parts[c][p];
        }
        for (unsigned p = 0; p < KR_PLOT_PARTS && sum > 1; p++)
            lane->parts[c][p] /= sum;
    }
}

static bool fill(struct layout *l, struct kr_err *err)
{
    struct kr_lanes *lanes = l->lanes;

    for (size_t i = 0; i < lanes->n; i++) {
        /* One more of each: an interval may end where the last column does. */
        lanes->items[i].parts =
            kr_xcalloc(2 * (lanes->n_columns + 1) + 1, sizeof *lanes->items[i].parts, err);
        if (!lanes->items[i].parts)
            return false;
    }
    for (size_t d = 0; d < l->timeline->n_devices; d++)
        l->busy_until[d] = l->stretch->start_ns;
    for (size_t i = 0; i < l->timeline->n_events; i++)
        add_event(l, &l->timeline->events[i]);
    for (size_t d = 0; d < l->timeline->n_devices; d++) {
        if (l->idle_lane[d] != SIZE_MAX && l->busy_until[d] < l->stretch->end_ns)
            add_interval(lanes, l->stretch, l->idle_lane[d], KR_PLOT_IDLE,
                         (const int64_t[]){ l->busy_until[d], l->stretch->end_ns });
    }
    for (size_t i = 0; i < lanes->n; i++)
        finish_lane(&lanes->items[i], lanes->n_columns);
    return true;
}

bool kr_lanes_make(const struct kr_timeline *t, const struct kr_tag *tags,
                   const struct kr_step *stretch, size_t n_columns, struct kr_lanes *out,
                   struct kr_err *err)
{
    struct layout l = { .timeline = t, .tags = tags, .stretch = stretch, .lanes = out };
    size_t most = (size_t)KR_LANES_DEVICES_MAX * (KR_LANES_STREAMS_MAX + 2);
    bool good = false;

    *out = (struct kr_lanes){ .n_columns = n_columns };
    out->items = kr_xcalloc(most, sizeof *out->items, err);
    if (out->items)
        l.tracks = kr_xcalloc(t->n_tracks, sizeof *l.tracks, err);
    if (l.tracks)
        l.idle_lane = kr_xcalloc(t->n_devices, sizeof *l.idle_lane, err);
    if (l.idle_lane)
        l.busy_until = kr_xcalloc(t->n_devices, sizeof *l.busy_until, err);
    if (l.busy_until) {
        for (size_t d = 0; d < t->n_devices; d++)
            l.idle_lane[d] = SIZE_MAX;
        measure_tracks(&l);
        lay_out(&l);
        good = fill(&l, err);
    }
    free(l.tracks);
    free(l.idle_lane);
    free(l.busy_until);
    return good;
}

void kr_lanes_free(struct kr_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        free(lanes->items[i].parts);
    free(lanes->items);
    *lanes = (struct kr_lanes){ 0 };
}

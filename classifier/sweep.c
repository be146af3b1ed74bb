#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* Events ahead to fetch where those of one device lie apart in memory. */
enum { PREFETCH = 16 };

struct kr_sweep_end {
    int64_t end_ns;
    uint32_t site;
};

bool kr_sweep_counts(const struct kr_window *window, int64_t start_ns)
{
    /* The whole timeline ends where its last work ends; work of no duration may start just there.
     */
    return start_ns >= window->start_ns &&
           (start_ns < window->end_ns || window->kind == KR_WINDOW_ALL);
}

static bool heap_push(struct kr_sweep *s, struct kr_sweep_end item, struct kr_err *err)
{
    size_t i = s->n_heap;

    if (!kr_grow(&s->heap, &s->cap_heap, s->n_heap + 1, sizeof *s->heap, UINT32_MAX, err))
        return kr_wrap(err, "work running at once");
    for (s->n_heap++; i > 0 && s->heap[(i - 1) / 2].end_ns > item.end_ns; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = item;
    return true;
}

static struct kr_sweep_end heap_pop(struct kr_sweep *s)
{
    const struct kr_sweep_end top = s->heap[0];
    const struct kr_sweep_end last = s->heap[--s->n_heap];
    size_t i = 0;

    for (size_t child = 1; child < s->n_heap; child = 2 * i + 1) {
        if (child + 1 < s->n_heap && s->heap[child + 1].end_ns < s->heap[child].end_ns)
            child++;
        if (s->heap[child].end_ns >= last.end_ns)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* The step that holds `now`, or NULL; *stop_ns is lowered to where that answer changes. */
static struct kr_sweep_step *step_at_now(struct kr_sweep *s, int64_t *stop_ns)
{
    const struct kr_window *w = s->window;
    int64_t edge_ns;

    while (s->step < w->n_steps && w->steps[s->step].end_ns <= s->now_ns)
        s->step++;
    if (s->step == w->n_steps)
        return NULL;
    edge_ns = w->steps[s->step].start_ns;
    if (edge_ns <= s->now_ns) {
        edge_ns = w->steps[s->step].end_ns;
        if (edge_ns < *stop_ns)
            *stop_ns = edge_ns;
        return &s->steps[s->step];
    }
    if (edge_ns < *stop_ns)
        *stop_ns = edge_ns;
    return NULL;
}

/* 1/k of a stretch. Most stretches are short and belong to one piece alone. */
static kr_fixed share_of(uint64_t dur_ns, uint32_t active)
{
    if (active == 1)
        return (kr_fixed)dur_ns << KR_FIXED_BITS;
    if (dur_ns <= UINT32_MAX)
        return (dur_ns << KR_FIXED_BITS) / active;
    return ((kr_fixed)dur_ns << KR_FIXED_BITS) / active;
}

static void add_to_step(const struct kr_sweep *s, struct kr_sweep_step *step, uint64_t dur_ns,
                        kr_fixed share)
{
    step->busy_ns += dur_ns;
    for (size_t i = 0; i < KR_CLASS_COUNT; i++)
        step->share[i] += share * s->active_cls[i];
    for (size_t i = 0; i < KR_KIND_COUNT; i++)
        step->kind_sum_ns[i] += dur_ns * s->active_kind[i];
}

/* Books the part of an idle stretch from now to stop_ns in which nothing was recorded. */
static void skip_pauses(struct kr_sweep *s, struct kr_sweep_step *step, int64_t stop_ns)
{
    const struct kr_timeline *t = s->timeline;

    while (s->pause < t->n_pauses && t->pauses[s->pause].end_ns <= s->now_ns)
        s->pause++;
    for (size_t i = s->pause; i < t->n_pauses && t->pauses[i].start_ns < stop_ns; i++) {
        const struct kr_pause *p = &t->pauses[i];
        const int64_t from_ns = p->start_ns > s->now_ns ? p->start_ns : s->now_ns;
        const int64_t to_ns = p->end_ns < stop_ns ? p->end_ns : stop_ns;
        const uint64_t paused_ns = (uint64_t)to_ns - (uint64_t)from_ns;

        s->paused_ns += paused_ns;
        s->idle_paused_ns += paused_ns;
        if (step)
            step->paused_ns += paused_ns;
    }
}

/* Books the stretch from now to `until`, in which nothing starts or ends. */
static void advance(struct kr_sweep *s, int64_t until_ns)
{
    while (s->now_ns < until_ns) {
        int64_t stop_ns = until_ns;
        struct kr_sweep_step *step = step_at_now(s, &stop_ns);
        const uint64_t dur_ns = (uint64_t)stop_ns - (uint64_t)s->now_ns;

        if (s->active) {
            const kr_fixed share = share_of(dur_ns, s->active);

            s->integral += share;
            s->busy_ns += dur_ns;
            if (s->active_collective)
                s->collective_ns += dur_ns;
            if (s->active_collective == s->active)
                s->collective_exposed_ns += dur_ns;
            if (step)
                add_to_step(s, step, dur_ns, share);
        } else {
            skip_pauses(s, step, stop_ns);
        }
        s->now_ns = stop_ns;
    }
}

static void count_active(struct kr_sweep *s, const struct kr_sweep_site *site, uint32_t by)
{
    /* Adding UINT32_MAX takes one away. */
    s->active += by;
    s->active_cls[site->cls] += by;
    s->active_kind[site->kind] += by;
    s->active_collective += by * site->collective;
}

static void end_earliest(struct kr_sweep *s)
{
    const struct kr_sweep_end ended = heap_pop(s);
    struct kr_sweep_site *site = &s->sites[ended.site];

    advance(s, ended.end_ns);
    site->share += s->integral;
    count_active(s, site, UINT32_MAX);
    if (!s->active) {
        s->idle_since_ns = s->now_ns;
        s->idle_paused_ns = 0;
    }
}

/* Idle time that ends with this event: was the device waiting for the launch itself? */
static void close_gap(struct kr_sweep *s, const struct kr_event *e, int64_t start_ns)
{
    const uint64_t gap_ns = (uint64_t)start_ns - (uint64_t)s->idle_since_ns - s->idle_paused_ns;
    struct kr_gaps *gaps = &s->gaps;

    if (!gap_ns)
        return;
    gaps->count++;
    if (e->lead_ns == KR_LEAD_UNKNOWN || s->idle_paused_ns) {
        gaps->unknown_ns += gap_ns;
        if (gap_ns <= KR_GAP_SHORT_NS)
            gaps->unknown_short_ns += gap_ns;
    } else if (e->lead_ns > gap_ns + KR_GAP_LATENCY_NS) {
        gaps->queued_ns += gap_ns;
    } else if (gap_ns <= KR_GAP_HOST_NS) {
        gaps->launch_ns += gap_ns;
        gaps->launch_count++;
    } else {
        gaps->host_ns += gap_ns;
    }
}

static void meet(struct kr_sweep *s, uint32_t index)
{
    struct kr_sweep_site *site = &s->sites[index];

    if (site->met)
        return;
    site->met = 1;
    site->share = 0;
    s->met[s->n_met++] = index;
}

static bool start_event(struct kr_sweep *s, const struct kr_event *e, struct kr_err *err)
{
    const struct kr_window *w = s->window;
    const int64_t start_ns = e->start_ns > w->start_ns ? e->start_ns : w->start_ns;
    int64_t end_ns = kr_end_ns(e->start_ns, e->dur_ns);
    struct kr_sweep_site *site = &s->sites[e->site];

    if (end_ns > w->end_ns)
        end_ns = w->end_ns;
    while (s->n_heap && s->heap[0].end_ns <= start_ns)
        end_earliest(s);
    advance(s, start_ns);
    meet(s, e->site);
    if (kr_sweep_counts(w, e->start_ns)) {
        int64_t stop_ns = INT64_MAX;
        struct kr_sweep_step *step = step_at_now(s, &stop_ns);

        site->count++;
        if (step)
            step->count++;
    }
    if (end_ns <= start_ns)
        return true;
    if (!s->active)
        close_gap(s, e, start_ns);
    site->sum_ns += (uint64_t)end_ns - (uint64_t)start_ns;
    s->kind_sum_ns[site->kind] += (uint64_t)end_ns - (uint64_t)start_ns;
    site->share -= s->integral;
    count_active(s, site, 1);
    return heap_push(s, (struct kr_sweep_end){ end_ns, e->site }, err);
}

static void forget_device(struct kr_sweep *s)
{
    for (size_t i = 0; i < s->n_met; i++)
        s->sites[s->met[i]].met = 0;
    s->n_met = 0;
    s->busy_ns = 0;
    memset(s->kind_sum_ns, 0, sizeof s->kind_sum_ns);
    s->collective_ns = 0;
    s->collective_exposed_ns = 0;
    s->gaps = (struct kr_gaps){ 0 };
    s->now_ns = s->window->start_ns;
    s->idle_since_ns = s->window->start_ns;
    s->idle_paused_ns = 0;
    s->paused_ns = 0;
    s->pause = 0;
    s->integral = 0;
    s->step = 0;
}

bool kr_sweep_device(struct kr_sweep *s, const uint32_t *order, size_t n, struct kr_err *err)
{
    const struct kr_window *w = s->window;

    forget_device(s);
    for (size_t i = 0; i < n; i++) {
        const struct kr_event *e = &s->timeline->events[order ? order[i] : i];

        if (order && i + PREFETCH < n)
            __builtin_prefetch(&s->timeline->events[order[i + PREFETCH]]);
        if (!kr_sweep_counts(w, e->start_ns)) {
            if (e->start_ns >= w->end_ns)
                break;
            if (kr_end_ns(e->start_ns, e->dur_ns) <= w->start_ns)
                continue;
        }
        if (!start_event(s, e, err))
            return false;
    }
    while (s->n_heap)
        end_earliest(s);
    advance(s, w->end_ns);
    s->gaps.tail_ns = (uint64_t)w->end_ns - (uint64_t)s->idle_since_ns - s->idle_paused_ns;
    return true;
}

void kr_sweep_free(struct kr_sweep *s)
{
    free(s->heap);
    s->heap = NULL;
    s->n_heap = 0;
    s->cap_heap = 0;
}

#include "spans.h"

static bool on_device(const struct kr_span *span)
{
    return span->has_twin || !span->has_host;
}

static int64_t span_start_ns(const struct kr_span *span, bool device)
{
    return device && on_device(span) ? span->twin_start_ns : span->host_start_ns;
}

static int64_t span_end_ns(const struct kr_span *span, bool device)
{
    return device && on_device(span) ? span->twin_end_ns : span->host_end_ns;
}

static bool holds(const struct kr_span *span, int64_t at_ns, bool device)
{
    return at_ns >= span_start_ns(span, device) && at_ns < span_end_ns(span, device);
}

/* The span that holds a time, or n. Neighbours in time share a span, so `guess` is tried first. */
static size_t find_span(const struct kr_span *spans, size_t n, int64_t at_ns, bool device,
                        size_t guess)
{
    size_t low = 0;
    size_t high = n;

    if (guess < n && holds(&spans[guess], at_ns, device))
        return guess;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (span_start_ns(&spans[mid], device) <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && holds(&spans[low - 1], at_ns, device) ? low - 1 : n;
}

static void add_work(struct kr_span *span, const struct kr_event *e)
{
    const int64_t end_ns = kr_end_ns(e->start_ns, e->dur_ns);

    if (!span->count || e->start_ns < span->work_start_ns)
        span->work_start_ns = e->start_ns;
    if (!span->count || end_ns > span->work_end_ns)
        span->work_end_ns = end_ns;
    span->work_ns += e->dur_ns;
    span->count++;
}

void kr_spans_measure(const struct kr_timeline *t, struct kr_span *spans, size_t n)
{
    size_t guess = n;
    bool any_host = false;

    for (size_t i = 0; i < n; i++) {
        any_host = any_host || spans[i].has_host;
        spans[i].work_ns = 0;
        spans[i].count = 0;
    }
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];
        const bool device = !any_host || e->lead_ns == KR_LEAD_UNKNOWN;
        const int64_t at_ns = device ? e->start_ns : e->start_ns - e->lead_ns;

        guess = find_span(spans, n, at_ns, device, guess);
        if (guess < n)
            add_work(&spans[guess], e);
    }
}

uint64_t kr_work_between_ns(const struct kr_timeline *t, int64_t from_ns, int64_t to_ns)
{
    uint64_t total = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (e->start_ns >= from_ns && e->start_ns < to_ns && !(e->flags & KR_EVENT_OVERRUN))
            total += e->dur_ns;
    }
    return total;
}

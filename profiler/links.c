#include "links.h"

#include <stdlib.h>

#include "mem.h"

#define MAX_LINKS ((size_t)UINT32_MAX - 1)

bool kr_links_add_launch(struct kr_links *l, struct kr_launch launch, struct kr_err *err)
{
    if (!kr_grow(&l->launches, &l->cap_launches, l->n_launches + 1, sizeof *l->launches, MAX_LINKS,
                 err))
        return kr_wrap(err, "launch calls");
    l->launches[l->n_launches++] = launch;
    return true;
}

bool kr_links_add_range(struct kr_links *l, struct kr_range range, struct kr_err *err)
{
    if (!kr_grow(&l->ranges, &l->cap_ranges, l->n_ranges + 1, sizeof *l->ranges, MAX_LINKS, err))
        return kr_wrap(err, "host ranges");
    l->ranges[l->n_ranges++] = range;
    return true;
}

static int by_thread_and_start(const void *pa, const void *pb)
{
    const struct kr_range *a = pa;
    const struct kr_range *b = pb;

    if (a->thread != b->thread)
        return KR_COMPARE(a->thread, b->thread);
    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    if (a->end_ns != b->end_ns)
        return KR_COMPARE(b->end_ns, a->end_ns);
    return KR_COMPARE(a->name, b->name);
}

static int launches_by_thread(const void *pa, const void *pb)
{
    const struct kr_launch *a = pa;
    const struct kr_launch *b = pb;

    if (a->thread != b->thread)
        return KR_COMPARE(a->thread, b->thread);
    return KR_COMPARE(a->start_ns, b->start_ns);
}

static int launches_by_correlation(const void *pa, const void *pb)
{
    const struct kr_launch *a = pa;
    const struct kr_launch *b = pb;

    if (a->correlation != b->correlation)
        return KR_COMPARE(a->correlation, b->correlation);
    return KR_COMPARE(a->start_ns, b->start_ns);
}

/* The ranges open at one moment of one thread, through `parent` of the innermost. */
struct open_ranges {
    struct kr_links *links;
    size_t next;        /* the next range to open */
    uint32_t innermost; /* KR_NO_RANGE = none is open */
};

static void close_ended(struct open_ranges *open, int64_t now_ns)
{
    while (open->innermost != KR_NO_RANGE && open->links->ranges[open->innermost].end_ns <= now_ns)
        open->innermost = open->links->ranges[open->innermost].parent;
}

/* Opens every range that began on this thread up to now; each is opened and closed once. */
static void open_until(struct open_ranges *open, uint64_t thread, int64_t now_ns)
{
    struct kr_links *l = open->links;

    for (; open->next < l->n_ranges; open->next++) {
        struct kr_range *r = &l->ranges[open->next];

        if (r->thread > thread || (r->thread == thread && r->start_ns > now_ns))
            break;
        if (open->innermost != KR_NO_RANGE && l->ranges[open->innermost].thread != r->thread)
            open->innermost = KR_NO_RANGE;
        close_ended(open, r->start_ns);
        r->parent = open->innermost;
        if (r->parent != KR_NO_RANGE && l->ranges[r->parent].holds && !r->holds) {
            r->label = l->ranges[r->parent].label;
            r->holds = true;
        }
        if (r->nests)
            open->innermost = (uint32_t)open->next;
    }
    if (open->innermost != KR_NO_RANGE && l->ranges[open->innermost].thread != thread)
        open->innermost = KR_NO_RANGE;
    close_ended(open, now_ns);
}

void kr_links_resolve(struct kr_links *l)
{
    struct open_ranges open = { .links = l, .innermost = KR_NO_RANGE };
    size_t kept = 0;

    if (l->n_ranges)
        qsort(l->ranges, l->n_ranges, sizeof *l->ranges, by_thread_and_start);
    if (l->n_launches)
        qsort(l->launches, l->n_launches, sizeof *l->launches, launches_by_thread);
    for (size_t i = 0; i < l->n_launches; i++) {
        open_until(&open, l->launches[i].thread, l->launches[i].start_ns);
        l->launches[i].range = open.innermost;
    }
    open_until(&open, UINT64_MAX, INT64_MAX);
    if (l->n_launches)
        qsort(l->launches, l->n_launches, sizeof *l->launches, launches_by_correlation);
    for (size_t i = 0; i < l->n_launches; i++) {
        if (kept && l->launches[kept - 1].correlation == l->launches[i].correlation)
            continue;
        l->launches[kept++] = l->launches[i];
    }
    l->n_launches = kept;
}

const struct kr_launch *kr_links_find(const struct kr_links *l, uint32_t correlation)
{
    const struct kr_launch key = { .correlation = correlation, .start_ns = INT64_MIN };
    size_t low = 0;
    size_t high = l->n_launches;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (launches_by_correlation(&l->launches[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n_launches && l->launches[low].correlation == correlation ? &l->launches[low]
                                                                              : NULL;
}

void kr_links_cover(struct kr_links *l, uint32_t range, int64_t start_ns, int64_t end_ns,
                    uint32_t track)
{
    struct kr_range *r = &l->ranges[range];

    if (!r->has_work || start_ns < r->first_work_ns) {
        r->first_work_ns = start_ns;
        r->track = track;
    }
    if (!r->has_work || end_ns > r->last_work_ns)
        r->last_work_ns = end_ns;
    r->has_work = true;
}

void kr_links_widen(struct kr_links *l)
{
    /* Inner ranges stand behind outer ones. */
    for (size_t i = l->n_ranges; i-- > 0;) {
        const struct kr_range *r = &l->ranges[i];

        if (r->has_work && r->parent != KR_NO_RANGE)
            kr_links_cover(l, r->parent, r->first_work_ns, r->last_work_ns, r->track);
    }
}

void kr_links_free(struct kr_links *l)
{
    free(l->launches);
    free(l->ranges);
    *l = (struct kr_links){ 0 };
}

#include "gaps.h"

#include <stdlib.h>

#include "kreach_format.h"
#include "mem.h"

#define MAX_GAPS ((size_t)1 << 31)

bool kr_gaps_read(struct kr_gaps *g, struct kr_cursor *c, struct kr_err *err)
{
    bool bad = false;

    while (kr_cursor_more(c)) {
        struct kr_gap gap = { .kind = kr_cursor_varint(c) };

        gap.from_ns = kr_cursor_svarint(c);
        gap.to_ns = kr_cursor_svarint(c);
        kr_cursor_text(c);
        if (c->bad)
            break;
        if (gap.from_ns < 0 || gap.to_ns < gap.from_ns || gap.to_ns >= KREACH_TIME_LIMIT_NS) {
            bad = true;
            continue;
        }
        if (!kr_grow(&g->items, &g->cap, g->n + 1, sizeof *g->items, MAX_GAPS, err))
            return false;
        g->items[g->n++] = gap;
    }
    c->bad |= bad;
    return true;
}

static int by_start(const void *pa, const void *pb)
{
    const struct kr_gap *a = pa;
    const struct kr_gap *b = pb;

    return KR_COMPARE(a->from_ns, b->from_ns);
}

void kr_gaps_sort(struct kr_gaps *g)
{
    int64_t unasked_to_ns = 0;

    if (g->n)
        qsort(g->items, g->n, sizeof *g->items, by_start);
    for (size_t i = 0; i < g->n; i++) {
        struct kr_gap *gap = &g->items[i];

        if ((gap->kind == KREACH_GAP_WINDOW || gap->kind == KREACH_GAP_CALIBRATE) &&
            gap->to_ns > unasked_to_ns)
            unasked_to_ns = gap->to_ns;
        gap->unasked_to_ns = unasked_to_ns;
    }
}

bool kr_gaps_outside(const struct kr_gaps *g, int64_t at_ns)
{
    size_t low = 0;
    size_t high = g->n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (g->items[mid].from_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && at_ns < g->items[low - 1].unasked_to_ns;
}

void kr_gaps_free(struct kr_gaps *g)
{
    free(g->items);
    *g = (struct kr_gaps){ 0 };
}

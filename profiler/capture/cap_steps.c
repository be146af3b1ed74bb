#include "cap_steps.h"

#include "cap_mem.h"

#define RING_ITEMS  (1u << 18) /* a power of two; a step has half as many kernels at most */
#define LAST_NS_MIN 1000000000LL

bool cap_steps_open(struct cap_steps *s)
{
    s->sites = cap_pages(RING_ITEMS * sizeof *s->sites);
    s->starts = cap_pages(RING_ITEMS * sizeof *s->starts);
    return s->sites && s->starts;
}

void cap_steps_close(struct cap_steps *s)
{
    cap_pages_free(s->sites, RING_ITEMS * sizeof *s->sites);
    cap_pages_free(s->starts, RING_ITEMS * sizeof *s->starts);
    *s = (struct cap_steps){ 0 };
}

/* Counts the kernel; whether its stream is the busiest. One that has become so begins anew. */
static bool is_busiest(struct cap_steps *s, uint32_t track)
{
    if (track >= CAP_STEPS_TRACKS)
        return false;
    s->kernels[track]++;
    if (track != s->track && s->kernels[track] > 2 * s->kernels[s->track]) {
        s->track = track;
        s->period = 0;
        s->n = 0;
    }
    return track == s->track;
}

void cap_steps_add(struct cap_steps *s, uint32_t track, uint32_t site, int64_t start_ns)
{
    if (!is_busiest(s, track))
        return;
    if (s->period != 0 && s->sites[(s->n - s->period) % RING_ITEMS] == site)
        s->repeated++;
    else
        s->period = 0;
    s->sites[s->n % RING_ITEMS] = site;
    s->starts[s->n % RING_ITEMS] = start_ns;
    s->n++;
}

/* The i-th kernel counted back from the last. */
static uint64_t back(const struct cap_steps *s, uint32_t i)
{
    return (s->n - 1 - i) % RING_ITEMS;
}

/*
 * The Z function of the sequence read backwards: z[p] is how long the sequence, moved by p, goes on
 * matching itself. One pass, linear: the window [left, right) is the match that reaches furthest.
 */
static void self_matches(const struct cap_steps *s, uint32_t n, uint32_t *z)
{
    uint32_t left = 0;
    uint32_t right = 0;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t len = 0;
        if (i < right)
            len = z[i - left] < right - i ? z[i - left] : right - i;
        while (i + len < n && s->sites[back(s, len)] == s->sites[back(s, i + len)])
            len++;
        z[i] = len;
        if (i + len > right) {
            left = i;
            right = i + len;
        }
    }
}

/* Takes the period that repeats most often, of those that went on for long enough. */
static void find_period(struct cap_steps *s)
{
    const uint32_t n = s->n < RING_ITEMS ? (uint32_t)s->n : RING_ITEMS;
    uint32_t *z = cap_pages((n + 1) * sizeof *z);
    uint32_t best = 1;

    if (!z)
        return;
    if (n > 1)
        self_matches(s, n, z);
    for (uint32_t p = 1; p <= n / 2; p++) {
        const uint32_t length = p + z[p]; /* kernels that repeat with period p */
        if (length / p <= best)
            continue;
        int64_t lasted = s->starts[back(s, 0)] - s->starts[back(s, length - 1)];
        if (lasted < LAST_NS_MIN)
            continue;
        best = length / p;
        s->period = p;
        s->repeated = z[p];
    }
    cap_pages_free(z, (n + 1) * sizeof *z);
}

uint64_t cap_steps_repeated(struct cap_steps *s, uint32_t *period)
{
    if (s->period == 0)
        find_period(s);
    *period = s->period;
    return s->period == 0 ? 0 : 1 + s->repeated / s->period;
}

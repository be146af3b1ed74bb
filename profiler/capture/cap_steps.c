#include "cap_steps.h"

#define RING_ITEMS  (1u << 18) /* a power of two: the longest stretch that is looked at */
#define LAST_NS_MIN 1000000000LL

bool cap_steps_open(struct cap_recorder *r)
{
    r->steps = cap_pages(RING_ITEMS * sizeof *r->steps);
    r->step_starts = cap_pages(RING_ITEMS * sizeof *r->step_starts);
    return r->steps && r->step_starts;
}

void cap_steps_close(struct cap_recorder *r)
{
    cap_pages_free(r->steps, RING_ITEMS * sizeof *r->steps);
    cap_pages_free(r->step_starts, RING_ITEMS * sizeof *r->step_starts);
    r->steps = NULL;
    r->step_starts = NULL;
}

void cap_steps_add(struct cap_recorder *r, uint32_t site, int64_t start_ns)
{
    const uint64_t at = r->n_steps++ % RING_ITEMS;

    r->steps[at] = site;
    r->step_starts[at] = start_ns;
}

/* The i-th kernel counted back from the last. */
static uint64_t back(const struct cap_recorder *r, uint32_t i)
{
    return (r->n_steps - 1 - i) % RING_ITEMS;
}

/*
 * The Z function of the sequence read backwards: z[p] is how long the sequence, moved by p, goes on
 * matching itself. One pass, linear: the window [left, right) is the match that reaches furthest.
 */
static void self_matches(const struct cap_recorder *r, uint32_t n, uint32_t *z)
{
    uint32_t left = 0;
    uint32_t right = 0;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t len = 0;
        if (i < right)
            len = z[i - left] < right - i ? z[i - left] : right - i;
        while (i + len < n && r->steps[back(r, len)] == r->steps[back(r, i + len)])
            len++;
        z[i] = len;
        if (i + len > right) {
            left = i;
            right = i + len;
        }
    }
}

uint32_t cap_steps_repeated(const struct cap_recorder *r, uint32_t *period)
{
    const uint32_t n = r->n_steps < RING_ITEMS ? (uint32_t)r->n_steps : RING_ITEMS;
    uint32_t *z = cap_pages((n + 1) * sizeof *z);
    uint32_t best = 0;

    *period = 0;
    if (!z)
        return 0;
    if (n > 1)
        self_matches(r, n, z);
    for (uint32_t p = 1; p <= n / 2; p++) {
        const uint32_t length = p + z[p]; /* kernels that repeat with period p */
        const uint32_t repeats = length / p;
        if (repeats < 2 || repeats <= best)
            continue;
        int64_t lasted = r->step_starts[back(r, 0)] - r->step_starts[back(r, length - 1)];
        if (lasted < LAST_NS_MIN)
            continue;
        best = repeats;
        *period = p;
    }
    cap_pages_free(z, (n + 1) * sizeof *z);
    return best;
}

#include "clock_fit.h"

#include <stdlib.h>

#include "mem.h"

#define LIMIT_NS     (INT64_C(1) << 62) /* so that differences of differences still fit */
#define MAX_READINGS ((size_t)1 << 24)

/* Two clocks of one machine part by at most 500 ppm (the kernel's largest slew); the rest is what
   a reading may be off beyond its own width. */
#define SLEW_PPM 600
#define SLACK_NS 1000

static bool usable(int64_t ns)
{
    return ns >= 0 && ns < LIMIT_NS;
}

bool kr_clock_add(struct kr_clock *c, struct kr_clock_reading r, struct kr_err *err)
{
    if (!usable(r.real_ns) || !usable(r.raw_ns) || !usable(r.cupti_ns))
        return true;
    if (!kr_grow(&c->readings, &c->cap, c->n + 1, sizeof *c->readings, MAX_READINGS, err))
        return kr_wrap(err, "clock readings");
    c->readings[c->n++] = r;
    return true;
}

static int compare_raw(const void *pa, const void *pb)
{
    const struct kr_clock_reading *a = pa;
    const struct kr_clock_reading *b = pb;

    if (a->raw_ns != b->raw_ns)
        return KR_COMPARE(a->raw_ns, b->raw_ns);
    return KR_COMPARE(a->cupti_ns, b->cupti_ns);
}

/* True when the clocks part between two readings by more than slewing and uncertainty explain. */
static bool steps_between(const struct kr_clock_reading *a, const struct kr_clock_reading *b)
{
    int64_t raw_ns = b->raw_ns - a->raw_ns;
    int64_t apart_ns = llabs((b->cupti_ns - a->cupti_ns) - raw_ns);
    uint64_t slack_ns = SLACK_NS + (uint64_t)raw_ns / 1000000 * SLEW_PPM;

    if (__builtin_add_overflow(slack_ns, a->width_ns, &slack_ns) ||
        __builtin_add_overflow(slack_ns, b->width_ns, &slack_ns))
        return false;
    return (uint64_t)apart_ns > slack_ns;
}

void kr_clock_fit(struct kr_clock *c)
{
    size_t kept = 0;

    if (c->n)
        qsort(c->readings, c->n, sizeof *c->readings, compare_raw);
    for (size_t i = 0; i < c->n; i++) {
        const struct kr_clock_reading *last = kept ? &c->readings[kept - 1] : NULL;

        if (last && c->readings[i].raw_ns == last->raw_ns)
            continue;
        c->steps += last && steps_between(&c->readings[i - 1], &c->readings[i]);
        if (last && c->readings[i].cupti_ns <= last->cupti_ns)
            continue; /* stepped back: which of two moments is meant cannot be told */
        c->readings[kept++] = c->readings[i];
    }
    c->n = kept;
}

int64_t kr_clock_map(const struct kr_clock *c, int64_t cupti_ns)
{
    size_t low = 0;
    size_t high = c->n; /* readings[low] <= cupti_ns < readings[high], where they exist */
    const struct kr_clock_reading *a;
    const struct kr_clock_reading *b;
    int64_t since_ns;
    double drift;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (c->readings[middle].cupti_ns <= cupti_ns)
            low = middle;
        else
            high = middle;
    }
    a = &c->readings[low];
    since_ns = cupti_ns - a->cupti_ns;
    if (since_ns < 0 || high == c->n)
        return a->raw_ns + since_ns;
    b = &c->readings[high];
    if (steps_between(a, b))
        return b->cupti_ns - cupti_ns < since_ns ? b->raw_ns - (b->cupti_ns - cupti_ns)
                                                 : a->raw_ns + since_ns;
    drift = (double)((b->raw_ns - a->raw_ns) - (b->cupti_ns - a->cupti_ns)) /
            (double)(b->cupti_ns - a->cupti_ns);
    return a->raw_ns + since_ns + (int64_t)((double)since_ns * drift);
}

void kr_clock_free(struct kr_clock *c)
{
    free(c->readings);
    *c = (struct kr_clock){ 0 };
}

#include "step_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "section.h"

/* Fewer pairs do not tell their median apart with 95 % confidence, whatever they are. */
enum { MIN_PAIRS = 6 };
/* Up to so many values, ranks are counted out; beyond, the normal approximation is as good. */
enum { MOST_COUNTED = 60 };
#define LIMIT_NS (UINT64_C(1) << 62)

/* Step times of one kind, stretch after stretch. */
struct side {
    uint64_t *steps_ns; /* once measured: sorted */
    uint64_t n, used;   /* of them, in the stretches read so far */
    double *means_ns;   /* of stretches; once measured: sorted */
    size_t n_stretches;
};

struct reading {
    bool two_runs;
    struct side plain, profiled;
    double *ratios; /* profiled over plain, one for each plain stretch with a profiled one beside */
    size_t n_ratios;
};

static int compare_doubles(const void *pa, const void *pb)
{
    const double *a = pa;
    const double *b = pb;

    return KR_COMPARE(*a, *b);
}

static int compare_times(const void *pa, const void *pb)
{
    const uint64_t *a = pa;
    const uint64_t *b = pb;

    return KR_COMPARE(*a, *b);
}

/*
 * How many values to leave out at each end of n sorted ones so that the rest holds their true
 * median with 95 % confidence, whatever their distribution: the sign test, turned round.
 */
static size_t outer_ranks(size_t n)
{
    double chance = pow(0.5, (double)n); /* that exactly k of n lie below */
    double below = 0;
    size_t k = 0;

    if (n > MOST_COUNTED)
        return (size_t)((double)n / 2 - 0.98 * sqrt((double)n)) - 1;
    for (;; k++) {
        below += chance;
        if (2 * below > 0.05)
            break;
        chance *= (double)(n - k) / (double)(k + 1);
    }
    return k ? k - 1 : 0;
}

static double median_of(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static bool read_steps(struct kr_cursor *c, struct side *side, struct kr_err *err)
{
    side->n = kr_cursor_varint(c);
    if (side->n > (uint64_t)(c->end - c->at)) /* each takes a byte or more */
        c->bad = true;
    if (c->bad) {
        side->n = 0;
        return true;
    }
    side->steps_ns = kr_xcalloc(side->n, sizeof *side->steps_ns, err);
    for (uint64_t i = 0; side->steps_ns && i < side->n; i++) {
        side->steps_ns[i] = kr_cursor_varint(c);
        c->bad |= side->steps_ns[i] >= LIMIT_NS;
    }
    return side->steps_ns != NULL;
}

/* A stretch: the mean of the side's next steps. */
static double read_mean(struct kr_cursor *c, struct side *side)
{
    const uint64_t n = kr_cursor_varint(c);
    double sum_ns = 0;

    if (!n || n > side->n - side->used)
        c->bad = true;
    if (c->bad)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        sum_ns += (double)side->steps_ns[side->used++];
    side->means_ns[side->n_stretches++] = sum_ns / (double)n;
    return sum_ns / (double)n;
}

/* Compares a plain stretch with the mean of its profiled neighbours; NAN = none. */
static void add_ratio(struct reading *r, double before_ns, double plain_ns, double after_ns)
{
    const bool both = !isnan(before_ns) && !isnan(after_ns);
    const double beside_ns = both               ? (before_ns + after_ns) / 2
                             : isnan(before_ns) ? after_ns
                                                : before_ns;

    if (!isnan(beside_ns) && plain_ns > 0)
        r->ratios[r->n_ratios++] = beside_ns / plain_ns;
}

static bool make_room(struct reading *r, uint64_t n, struct kr_err *err)
{
    r->ratios = kr_xcalloc(n, sizeof *r->ratios, err);
    r->plain.means_ns = kr_xcalloc(n, sizeof *r->plain.means_ns, err);
    r->profiled.means_ns = kr_xcalloc(n, sizeof *r->profiled.means_ns, err);
    return r->ratios && r->plain.means_ns && r->profiled.means_ns;
}

/* The stretches in the order in which they ran. */
static bool read_stretches(struct kr_cursor *c, struct reading *r, struct kr_err *err)
{
    const uint64_t n = kr_cursor_varint(c);
    double profiled_ns = NAN; /* the stretch before, when it was a profiled one */
    double before_ns = NAN;   /* the one before a plain stretch that waits for its other side */
    double plain_ns = NAN;

    if (n > (uint64_t)(c->end - c->at))
        c->bad = true;
    if (c->bad)
        return true;
    if (!make_room(r, n, err))
        return false;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        const bool profiled = kr_cursor_u8(c);
        const double mean_ns = read_mean(c, profiled ? &r->profiled : &r->plain);

        if (!isnan(plain_ns))
            add_ratio(r, before_ns, plain_ns, profiled ? mean_ns : (double)NAN);
        before_ns = r->two_runs ? (double)NAN : profiled_ns; /* that is of other steps */
        plain_ns = profiled ? (double)NAN : mean_ns;
        profiled_ns = profiled ? mean_ns : (double)NAN;
    }
    if (!isnan(plain_ns))
        add_ratio(r, before_ns, plain_ns, NAN);
    if (n && (r->plain.used != r->plain.n || r->profiled.used != r->profiled.n))
        c->bad = true;
    return true;
}

/* The time of a step, which is that of its stretch where stretches are compared. */
static uint64_t step_of(const struct side *side, bool by_stretch)
{
    const uint64_t low_ns = side->steps_ns[(side->n - 1) / 2];

    if (by_stretch)
        return (uint64_t)llround(median_of(side->means_ns, side->n_stretches));
    return low_ns + (side->steps_ns[side->n / 2] - low_ns) / 2;
}

static void compare_stretches(const struct reading *r, struct kr_step_times *out)
{
    const size_t outer = outer_ranks(r->n_ratios);

    out->pairs = r->n_ratios;
    out->cost_frac = median_of(r->ratios, r->n_ratios) - 1;
    out->cost_low_frac = r->ratios[outer] - 1;
    out->cost_high_frac = r->ratios[r->n_ratios - 1 - outer] - 1;
}

static void compare_medians(const struct reading *r, struct kr_step_times *out)
{
    const struct side *plain = &r->plain;
    const struct side *profiled = &r->profiled;
    const size_t plain_outer = outer_ranks(plain->n);
    const size_t outer = outer_ranks(profiled->n);

    out->cost_frac = (double)out->profiled_step_ns / (double)out->plain_step_ns - 1;
    out->cost_low_frac =
        (double)profiled->steps_ns[outer] / (double)plain->steps_ns[plain->n - 1 - plain_outer] - 1;
    out->cost_high_frac =
        (double)profiled->steps_ns[profiled->n - 1 - outer] / (double)plain->steps_ns[plain_outer] -
        1;
}

static double mean_of(const struct side *side)
{
    double sum_ns = 0;

    for (uint64_t i = 0; i < side->n; i++)
        sum_ns += (double)side->steps_ns[i];
    return sum_ns / (double)side->n;
}

/*
 * Of two runs. Too few stretches leave the totals, whose interval nobody knows. False when no run
 * could have such steps.
 */
static bool compare_runs(const struct reading *r, bool by_stretch, struct kr_step_times *out)
{
    const double profiled_ns = mean_of(&r->profiled);
    const double plain_ns = by_stretch ? profiled_ns / (1 + out->cost_frac) : mean_of(&r->plain);

    if (!(plain_ns >= 1 && plain_ns < (double)LIMIT_NS))
        return false;
    out->profiled_step_ns = (uint64_t)llround(profiled_ns);
    out->plain_step_ns = (uint64_t)llround(plain_ns);
    if (!by_stretch)
        out->cost_frac = profiled_ns / plain_ns - 1;
    return true;
}

static void sort_side(struct side *side)
{
    if (side->n)
        qsort(side->steps_ns, side->n, sizeof *side->steps_ns, compare_times);
    if (side->n_stretches)
        qsort(side->means_ns, side->n_stretches, sizeof *side->means_ns, compare_doubles);
}

static bool measure(struct reading *r, struct kr_step_times *out)
{
    const bool by_stretch = r->n_ratios >= MIN_PAIRS;
    const struct side *plain = &r->plain;
    const struct side *profiled = &r->profiled;

    sort_side(&r->plain);
    sort_side(&r->profiled);
    out->plain_steps = plain->n;
    out->plain_step_ns = step_of(plain, by_stretch);
    out->plain_low_ns = plain->steps_ns[plain->n / 4];
    out->plain_high_ns = plain->steps_ns[plain->n - 1 - plain->n / 4];
    out->cost_frac = out->cost_low_frac = out->cost_high_frac = NAN;
    if (!profiled->n)
        return true;
    out->profiled_steps = profiled->n;
    out->profiled_step_ns = step_of(profiled, by_stretch);
    out->profiled_low_ns = profiled->steps_ns[profiled->n / 4];
    out->profiled_high_ns = profiled->steps_ns[profiled->n - 1 - profiled->n / 4];
    if (by_stretch) {
        qsort(r->ratios, r->n_ratios, sizeof *r->ratios, compare_doubles);
        compare_stretches(r, out);
    }
    if (r->two_runs && r->n_ratios)
        return compare_runs(r, by_stretch, out);
    if (!by_stretch && plain->steps_ns[0])
        compare_medians(r, out);
    return true;
}

static bool read_all(struct kr_cursor *c, struct reading *r, struct kr_step_times *out,
                     struct kr_err *err)
{
    struct kr_text method = kr_cursor_text(c);
    struct kr_text label = { 0 };

    r->two_runs = kr_text_is(method, "second run");
    if (!read_steps(c, &r->plain, err) || !read_steps(c, &r->profiled, err))
        return false;
    /* Version 1.0 ends here. */
    if (kr_cursor_more(c))
        label = kr_cursor_text(c);
    if (kr_cursor_more(c) && !read_stretches(c, r, err))
        return false;
    if (method.len >= sizeof out->method || (method.len && memchr(method.s, '\0', method.len)))
        c->bad = true;
    if (c->bad || !r->plain.n)
        return true;
    memcpy(out->method, method.s, method.len);
    if (label.len)
        memcpy(out->label, label.s,
               label.len < sizeof out->label ? label.len : sizeof out->label - 1);
    if (!measure(r, out)) {
        *out = (struct kr_step_times){ 0 };
        c->bad = true;
    }
    return true;
}

bool kr_step_times_read(struct kr_cursor *c, struct kr_step_times *out, struct kr_err *err)
{
    struct reading r = { 0 };
    bool good;

    *out = (struct kr_step_times){ 0 };
    good = read_all(c, &r, out, err);
    free(r.plain.steps_ns);
    free(r.plain.means_ns);
    free(r.profiled.steps_ns);
    free(r.profiled.means_ns);
    free(r.ratios);
    return good;
}

#include "window.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "mem.h"
#include "spans.h"
#include "spread.h"
#include "steps.h"

/* Work items of a step within this share of the median [1/count] make it a step like the others. */
enum { COUNT_TOLERANCE = 50 };
/* Steps that must follow each other without a pause, to be taken alone. */
enum { MIN_UNPAUSED = 3 };
/* A first step longer than 5/4 of the later ones is warm-up. */
enum { SLOW_NUM = 5, SLOW_DEN = 4 };

const char *kr_window_kind_name(enum kr_window_kind kind)
{
    static const char *const names[] = { "all", "steady", "step", "name", "time" };

    return names[kind];
}

const char *kr_steps_from_name(enum kr_steps_from from)
{
    static const char *const names[] = { "none", "annotation", "repetition" };

    return names[from];
}

/* A decimal number as mantissa * 10^exponent, cut where 64 bits end; returns what follows it. */
static const char *parse_decimal(const char *s, uint64_t *mantissa, int *exponent)
{
    uint64_t next;
    bool any = false;
    bool fraction = false;

    *mantissa = 0;
    *exponent = 0;
    for (; kr_is_digit(*s) || (*s == '.' && !fraction); s++) {
        if (*s == '.') {
            fraction = true;
            continue;
        }
        any = true;
        if (!__builtin_mul_overflow(*mantissa, 10, &next) &&
            !__builtin_add_overflow(next, (uint64_t)(*s - '0'), &next)) {
            *mantissa = next;
            *exponent -= fraction;
            continue;
        }
        /* Rounding up keeps 2^64 and more from passing for less. */
        *mantissa += !fraction;
        *exponent += !fraction;
        if (*exponent > 1000 || *exponent < -1000)
            return NULL;
    }
    if (!any)
        return NULL;
    if ((*s == 'e' || *s == 'E') &&
        (kr_is_digit(s[1]) || ((s[1] == '-' || s[1] == '+') && kr_is_digit(s[2])))) {
        const bool negative = s[1] == '-';
        int power = 0;

        for (s += kr_is_digit(s[1]) ? 1 : 2; kr_is_digit(*s); s++)
            power = power < 10000 ? power * 10 + (*s - '0') : power;
        *exponent += negative ? -power : power;
    }
    return s;
}

/* mantissa * 10^exponent, rounded to the nearest, halves up. */
static bool scale(uint64_t mantissa, int exponent, uint64_t *out)
{
    for (; exponent > 0 && mantissa; exponent--) {
        if (__builtin_mul_overflow(mantissa, 10, &mantissa))
            return false;
    }
    for (; exponent < -1 && mantissa; exponent++)
        mantissa /= 10;
    if (exponent < 0)
        mantissa = mantissa / 10 + (mantissa % 10 >= 5);
    *out = mantissa;
    return true;
}

bool kr_parse_duration(const char *text, uint64_t *out_ns, struct kr_err *err)
{
    static const struct {
        const char *name;
        int exponent;
    } units[] = { { "ns", 0 },        { "us", 3 }, { "\xc2\xb5s", 3 },
                  { "\xce\xbcs", 3 }, { "ms", 6 }, { "s", 9 } };
    uint64_t mantissa;
    int exponent;
    const char *unit = parse_decimal(text, &mantissa, &exponent);

    if (!unit)
        return kr_fail(err, KR_EARG, "'%.60s' is no duration; write one such as 31.4ms", text);
    unit += *unit == ' ';
    for (size_t i = 0; i < KR_COUNT(units); i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (!scale(mantissa, exponent + units[i].exponent, out_ns))
            return kr_fail(err, KR_EARG, "the duration '%.60s' is too long", text);
        return true;
    }
    return kr_fail(err, KR_EARG, "'%.60s' needs a unit: ns, us, ms or s, as in 31.4ms", text);
}

/* What the steps hold, for telling warm-up and incomplete steps from the others. */
struct contents {
    uint64_t *counts;   /* device events that start in the step */
    uint64_t *spans_ns; /* from its begin to the end of its last work */
};

static bool measure_steps(const struct kr_timeline *t, const struct kr_steps *steps,
                          struct contents *out, struct kr_err *err)
{
    size_t step = 0;

    out->counts = kr_xcalloc(steps->n, sizeof *out->counts, err);
    out->spans_ns = kr_xcalloc(steps->n, sizeof *out->spans_ns, err);
    if (!out->counts || !out->spans_ns)
        return false;
    for (size_t i = 0; i < t->n_events && steps->n; i++) {
        const struct kr_event *e = &t->events[i];
        uint64_t span_ns;

        while (step + 1 < steps->n && e->start_ns >= steps->items[step].end_ns)
            step++;
        if (e->start_ns < steps->items[step].start_ns || e->start_ns >= steps->items[step].end_ns)
            continue;
        span_ns =
            (uint64_t)kr_end_ns(e->start_ns, e->dur_ns) - (uint64_t)steps->items[step].start_ns;
        out->counts[step]++;
        if (span_ns > out->spans_ns[step])
            out->spans_ns[step] = span_ns;
    }
    return true;
}

static bool within(uint64_t count, uint64_t usual)
{
    const uint64_t off = count > usual ? count - usual : usual - count;

    return off <= usual / COUNT_TOLERANCE;
}

static uint64_t median_of(const uint64_t *values, size_t from, size_t to)
{
    return kr_spread_of(values + from, to - from).median;
}

/* Steps that differ in every round (a server under changing load) have no usual size. */
static bool counts_agree(const uint64_t *counts, size_t n)
{
    const uint64_t usual = median_of(counts, 0, n);
    size_t agree = 0;

    for (size_t i = 0; i < n; i++)
        agree += within(counts[i], usual);
    return 2 * agree > n;
}

static bool is_warm_up(const struct contents *c, size_t step, size_t end)
{
    if (!within(c->counts[step], median_of(c->counts, step + 1, end)))
        return true;
    return c->spans_ns[step] / SLOW_NUM > median_of(c->spans_ns, step + 1, end) / SLOW_DEN;
}

/* steps[first .. end). */
struct run {
    size_t first, end;
};

/* The steps of a run that are alike: see kr_window_choose. */
static struct run trim_steps(const struct contents *all, struct run run)
{
    const struct contents c = { all->counts + run.first, all->spans_ns + run.first };
    const size_t n = run.end - run.first;
    size_t first = 0;
    size_t end = n;

    if (n < 2 || (n > 2 && !counts_agree(c.counts, n)))
        return run;
    if (n == 2) {
        /* Of two unlike counts nothing says which is the odd one. */
        first = within(c.counts[0], c.counts[1]) && is_warm_up(&c, 0, n);
        return (struct run){ run.first + first, run.end };
    }
    if (c.counts[n - 1] < median_of(c.counts, 0, n - 1) &&
        !within(c.counts[n - 1], median_of(c.counts, 0, n - 1)))
        end--;
    while (first < n / 2 && first + 1 < end && is_warm_up(&c, first, end))
        first++;
    return (struct run){ run.first + first, run.first + end };
}

/* Longer than the other, the steps beside pauses left out: work of theirs may be missing. */
static void keep_longer(const struct kr_steps *steps, struct run run, struct run *best)
{
    if (run.first == run.end)
        return;
    run.first += run.first > 0;
    run.end -= run.end < steps->n;
    if (run.end > run.first && run.end - run.first > best->end - best->first)
        *best = run;
}

/* The longest run of steps without a pause; all steps where there is none worth the name. */
static struct run unpaused_run(const struct kr_timeline *t, const struct kr_steps *steps)
{
    struct run best = { 0 };
    size_t first = 0;
    size_t pause = 0;

    for (size_t i = 0; i < steps->n; i++) {
        while (pause < t->n_pauses && t->pauses[pause].end_ns <= steps->items[i].start_ns)
            pause++;
        if (pause == t->n_pauses || t->pauses[pause].start_ns >= steps->items[i].end_ns)
            continue;
        keep_longer(steps, (struct run){ first, i }, &best);
        first = i + 1;
    }
    if (first < steps->n)
        keep_longer(steps, (struct run){ first, steps->n }, &best);
    return best.end - best.first >= MIN_UNPAUSED ? best : (struct run){ 0, steps->n };
}

/* What kr_window_choose gathers once. */
struct choice {
    const struct kr_timeline *t;
    struct kr_steps steps;
    int64_t first_ns, last_ns; /* from the first work to the end of the last */
};

/* Adds to the line that says how the window was chosen; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void say(struct kr_window *w, const char *fmt, ...)
{
    const size_t len = strlen(w->how);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(w->how + len, sizeof w->how - len, fmt, args);
    va_end(args);
}

static void use_stretch(struct kr_window *w, enum kr_window_kind kind, int64_t start_ns,
                        int64_t end_ns)
{
    w->kind = kind;
    w->start_ns = start_ns;
    w->end_ns = end_ns;
}

/* True for a step that began while nothing was recorded; *pause moves on with the steps. */
static bool begins_paused(const struct kr_timeline *t, const struct kr_step *step, size_t *pause)
{
    while (*pause < t->n_pauses && t->pauses[*pause].end_ns <= step->start_ns)
        ++*pause;
    return *pause < t->n_pauses && t->pauses[*pause].start_ns <= step->start_ns;
}

/* Takes over steps[first, end), but for those that were not recorded. */
static bool use_steps(struct kr_window *w, const struct choice *c, size_t first, size_t end,
                      struct kr_err *err)
{
    size_t pause = 0;

    w->steps = kr_xcalloc(end - first, sizeof *w->steps, err);
    if (!w->steps)
        return false;
    for (size_t i = first; i < end; i++) {
        if (!begins_paused(c->t, &c->steps.items[i], &pause))
            w->steps[w->n_steps++] = c->steps.items[i];
    }
    w->steps_from = w->n_steps ? c->steps.from : KR_STEPS_NONE;
    return true;
}

/* The steps that lie wholly in the window. */
static bool use_steps_inside(struct kr_window *w, const struct choice *c, struct kr_err *err)
{
    const struct kr_steps *steps = &c->steps;
    size_t first = 0;
    size_t end = steps->n;

    while (first < end && steps->items[first].start_ns < w->start_ns)
        first++;
    while (end > first && steps->items[end - 1].end_ns > w->end_ns)
        end--;
    return use_steps(w, c, first, end, err);
}

static bool choose_all(const struct choice *c, struct kr_window *w, struct kr_err *err)
{
    use_stretch(w, KR_WINDOW_ALL, c->first_ns, c->last_ns);
    say(w, "all device work%s%s", c->steps.n ? "; " : "", c->steps.how);
    return use_steps_inside(w, c, err);
}

/* What a program does before and after its steps may be most of what it does. */
static void say_outside(const struct kr_timeline *t, struct kr_window *w)
{
    const double all_ns = (double)kr_work_between_ns(t, INT64_MIN, INT64_MAX);
    const double outside_frac =
        all_ns > 0 ? 1 - (double)kr_work_between_ns(t, w->start_ns, w->end_ns) / all_ns : 0;

    if (outside_frac >= 0.01)
        say(w, "; %.0f %% of device time outside", 100 * outside_frac);
}

/* `taken` of the steps without a pause among them. */
static void describe_steady(const struct choice *c, struct run unpaused, struct run taken,
                            struct kr_window *w)
{
    if (taken.end - taken.first < c->steps.n)
        say(w, "%zu of ", taken.end - taken.first);
    say(w, "%s", c->steps.how);
    if (unpaused.end - unpaused.first < c->steps.n)
        say(w, "; the longest run without a pause");
    if (taken.first > unpaused.first)
        say(w, "; warm-up left out");
    if (taken.end < unpaused.end)
        say(w, "; incomplete last one left out");
    if (taken.end - taken.first < 2)
        say(w, "; one step shows no spread");
    say_outside(c->t, w);
}

static bool choose_steady(const struct choice *c, struct kr_window *w, struct kr_err *err)
{
    const struct kr_steps *steps = &c->steps;
    struct contents contents = { 0 };
    bool done = measure_steps(c->t, steps, &contents, err);

    if (done && !steps->n) {
        use_stretch(w, KR_WINDOW_STEADY, c->first_ns, c->last_ns);
        say(w, "no repeating step found; all work is used");
    } else if (done) {
        const struct run unpaused = unpaused_run(c->t, steps);
        const struct run taken = trim_steps(&contents, unpaused);

        use_stretch(w, KR_WINDOW_STEADY, steps->items[taken.first].start_ns,
                    steps->items[taken.end - 1].end_ns);
        w->dropped_steps = steps->n - (taken.end - taken.first);
        describe_steady(c, unpaused, taken, w);
        done = use_steps(w, c, taken.first, taken.end, err);
    }
    free(contents.counts);
    free(contents.spans_ns);
    return done;
}

static bool choose_step(const struct choice *c, const char *text, struct kr_window *w,
                        struct kr_err *err)
{
    const struct kr_steps *steps = &c->steps;
    int64_t number = 0;
    size_t pause = 0;
    size_t i = 0;

    for (const char *s = text; *s; s++) {
        if (!kr_is_digit(*s) || s - text >= 18)
            return kr_fail(err, KR_EARG, "'step:%.60s': write the number of a step", text);
        number = number * 10 + (*s - '0');
    }
    if (!*text)
        return kr_fail(err, KR_EARG, "'step:' needs the number of a step, as in step:3");
    while (i < steps->n && steps->items[i].number != number)
        i++;
    if (i == steps->n && !steps->n)
        return kr_fail(err, KR_EINPUT, "no step %lld; no steps were found at all",
                       (long long)number);
    if (i == steps->n)
        return kr_fail(err, KR_EINPUT, "no step %lld; steps are %lld..%lld", (long long)number,
                       (long long)steps->items[0].number,
                       (long long)steps->items[steps->n - 1].number);
    if (begins_paused(c->t, &steps->items[i], &pause))
        return kr_fail(err, KR_EINPUT, "step %lld was not recorded: it lies in a pause",
                       (long long)number);
    use_stretch(w, KR_WINDOW_STEP, steps->items[i].start_ns, steps->items[i].end_ns);
    say(w, "step %lld of %s", (long long)number, steps->how);
    return use_steps(w, c, i, i + 1, err);
}

/* Host annotations with the text, merged where they overlap: they come sorted by start. */
static size_t merge_annotations(const struct kr_timeline *t, const char *text,
                                struct kr_span *spans)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_annotations; i++) {
        const struct kr_annotation *a = &t->annotations[i];
        const int64_t end_ns = kr_end_ns(a->start_ns, a->dur_ns);

        if (a->on_device || !strstr(kr_timeline_str(t, a->name), text))
            continue;
        if (n > 0 && a->start_ns <= spans[n - 1].host_end_ns) {
            if (end_ns > spans[n - 1].host_end_ns)
                spans[n - 1].host_end_ns = end_ns;
            continue;
        }
        spans[n++] = (struct kr_span){ .host_start_ns = a->start_ns,
                                       .host_end_ns = end_ns,
                                       .has_host = true };
    }
    return n;
}

static void widen(struct kr_window *w, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < w->start_ns)
        w->start_ns = start_ns;
    if (end_ns > w->end_ns)
        w->end_ns = end_ns;
}

static bool fail_name(const struct kr_timeline *t, const char *text, struct kr_err *err)
{
    char names[200] = "";
    size_t len = 0;
    uint32_t last = 0;

    for (size_t i = 0; i < t->n_annotations && len < 120; i++) {
        if (t->annotations[i].name == last)
            continue;
        last = t->annotations[i].name;
        len += (size_t)snprintf(names + len, sizeof names - len, "%s'%.50s'", len ? ", " : "",
                                kr_timeline_str(t, last));
    }
    if (!len)
        return kr_fail(err, KR_EINPUT, "no work under '%.60s': the run has no annotations", text);
    return kr_fail(err, KR_EINPUT, "no work under an annotation with '%.60s'; there are %s", text,
                   names);
}

/* Each stretch under the annotation is a step: it ends where the work of the next one begins. */
static bool use_named_steps(struct kr_window *w, const struct kr_span *spans, size_t n,
                            struct kr_err *err)
{
    w->steps = kr_xcalloc(n, sizeof *w->steps, err);
    if (!w->steps)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!spans[i].count)
            continue;
        if (w->n_steps)
            w->steps[w->n_steps - 1].end_ns = spans[i].work_start_ns;
        w->steps[w->n_steps] =
            (struct kr_step){ spans[i].work_start_ns, spans[i].work_end_ns, (int64_t)w->n_steps };
        widen(w, spans[i].work_start_ns, spans[i].work_end_ns);
        w->n_steps++;
    }
    if (w->n_steps)
        w->steps_from = KR_STEPS_ANNOTATION;
    return true;
}

/* Traces that recorded the device's side of annotations only. */
static void widen_to_twins(const struct kr_timeline *t, const char *text, struct kr_window *w)
{
    for (size_t i = 0; i < t->n_annotations; i++) {
        const struct kr_annotation *a = &t->annotations[i];

        if (a->on_device && strstr(kr_timeline_str(t, a->name), text))
            widen(w, a->start_ns, kr_end_ns(a->start_ns, a->dur_ns));
    }
}

static bool choose_name(const struct choice *c, const char *text, struct kr_window *w,
                        struct kr_err *err)
{
    const struct kr_timeline *t = c->t;
    struct kr_span *spans;
    bool done;
    size_t n;

    if (!*text)
        return kr_fail(err, KR_EARG, "'name:' needs part of an annotation's name");
    spans = kr_xcalloc(t->n_annotations, sizeof *spans, err);
    if (!spans)
        return false;
    use_stretch(w, KR_WINDOW_NAME, INT64_MAX, INT64_MIN);
    n = merge_annotations(t, text, spans);
    kr_spans_measure(t, spans, n);
    done = use_named_steps(w, spans, n, err);
    free(spans);
    if (!done)
        return false;
    if (!w->n_steps)
        widen_to_twins(t, text, w);
    if (w->start_ns >= w->end_ns)
        return fail_name(t, text, err);
    say(w, "from the first to the last work under annotation '%.80s'", text);
    return true;
}

/* One bound of time:A..B, counted from the first work; an empty one leaves *out_ns alone. */
static bool parse_bound(const struct choice *c, const char *text, size_t len, int64_t *out_ns,
                        struct kr_err *err)
{
    char bound[64];
    uint64_t offset_ns = 0;

    if (!len)
        return true;
    if (len >= sizeof bound)
        return kr_fail(err, KR_EARG, "'%.60s' is no duration; write one such as 31.4ms", text);
    memcpy(bound, text, len);
    bound[len] = '\0';
    if (!kr_parse_duration(bound, &offset_ns, err))
        return false;
    if (offset_ns > (uint64_t)c->last_ns - (uint64_t)c->first_ns)
        *out_ns = c->last_ns;
    else
        *out_ns = (int64_t)((uint64_t)c->first_ns + offset_ns);
    return true;
}

static bool has_work_in(const struct kr_timeline *t, const struct kr_window *w)
{
    for (size_t i = 0; i < t->n_events && t->events[i].start_ns < w->end_ns; i++) {
        if (t->events[i].start_ns >= w->start_ns ||
            kr_end_ns(t->events[i].start_ns, t->events[i].dur_ns) > w->start_ns)
            return true;
    }
    return false;
}

static bool choose_time(const struct choice *c, const char *text, struct kr_window *w,
                        struct kr_err *err)
{
    const char *dots = strstr(text, "..");
    int64_t start_ns = c->first_ns;
    int64_t end_ns = c->last_ns;

    if (!dots)
        return kr_fail(err, KR_EARG, "'time:%.60s': write time:A..B, as in time:10ms..25ms", text);
    if (!parse_bound(c, text, (size_t)(dots - text), &start_ns, err) ||
        !parse_bound(c, dots + 2, strlen(dots + 2), &end_ns, err))
        return false;
    use_stretch(w, KR_WINDOW_TIME, start_ns, end_ns);
    if (start_ns >= end_ns || !has_work_in(c->t, w))
        return kr_fail(err, KR_EINPUT, "no work in time:%.60s; work lasts from 0 to %.3fms", text,
                       (double)((uint64_t)c->last_ns - (uint64_t)c->first_ns) / 1e6);
    say(w, "time %.120s after the first work", text);
    return use_steps_inside(w, c, err);
}

static bool choose(const struct choice *c, const char *spec, struct kr_window *w,
                   struct kr_err *err)
{
    static const struct {
        const char *prefix;
        bool (*choose)(const struct choice *c, const char *text, struct kr_window *w,
                       struct kr_err *err);
    } forms[] = { { "step:", choose_step }, { "name:", choose_name }, { "time:", choose_time } };

    if (strcmp(spec, "all") == 0)
        return choose_all(c, w, err);
    if (strcmp(spec, "steady") == 0)
        return choose_steady(c, w, err);
    for (size_t i = 0; i < KR_COUNT(forms); i++) {
        const size_t len = strlen(forms[i].prefix);

        if (strncmp(spec, forms[i].prefix, len) == 0)
            return forms[i].choose(c, spec + len, w, err);
    }
    return kr_fail(err, KR_EARG,
                   "no window '%.60s'; write all, steady, step:N, name:TEXT or time:A..B", spec);
}

/* Recorders round the ends of annotations: a step may stick out of the work by a nanosecond. */
static int64_t clamp(const struct choice *c, int64_t at_ns)
{
    if (at_ns < c->first_ns)
        return c->first_ns;
    return at_ns > c->last_ns ? c->last_ns : at_ns;
}

bool kr_window_choose(const struct kr_timeline *t, const char *spec, struct kr_window *out,
                      struct kr_err *err)
{
    struct choice c = { .t = t };
    size_t pause = 0;
    bool done;

    *out = (struct kr_window){ 0 };
    if (!t->n_events)
        return kr_fail(err, KR_EINPUT, "no device work to account for");
    c.first_ns = t->events[0].start_ns;
    c.last_ns = t->events[0].start_ns;
    for (size_t i = 0; i < t->n_events; i++) {
        const int64_t end_ns = kr_end_ns(t->events[i].start_ns, t->events[i].dur_ns);

        if (end_ns > c.last_ns)
            c.last_ns = end_ns;
    }
    done = kr_steps_find(t, &c.steps, err);
    for (size_t i = 0; i < c.steps.n; i++) {
        if (begins_paused(t, &c.steps.items[i], &pause))
            continue;
        c.steps.items[i].start_ns = clamp(&c, c.steps.items[i].start_ns);
        c.steps.items[i].end_ns = clamp(&c, c.steps.items[i].end_ns);
    }
    done = done && choose(&c, spec, out, err);
    kr_steps_free(&c.steps);
    if (!done)
        kr_window_free(out);
    return done;
}

void kr_window_free(struct kr_window *w)
{
    free(w->steps);
    *w = (struct kr_window){ 0 };
}

/* See kr_window_check_plain_step. */
#define PLAIN_STEP_MAX_RATIO 1.5
#define BUSY_MAX_RATIO       1.02
#define STEPS_MIN_COVER_FRAC 0.9

static double covered_by_steps_ns(const struct kr_window *w)
{
    double covered_ns = 0;

    for (size_t i = 0; i < w->n_steps; i++)
        covered_ns += (double)(w->steps[i].end_ns - w->steps[i].start_ns);
    return covered_ns;
}

bool kr_window_check_plain_step(const struct kr_window *w, uint64_t plain_step_ns,
                                struct kr_err *err)
{
    const double covered_ns = covered_by_steps_ns(w);
    double mean_ns;

    if (covered_ns <= 0)
        return kr_fail(
            err, KR_EARG,
            "a plain step time needs steps to compare with, and the window has none (%s)", w->how);
    if (covered_ns < STEPS_MIN_COVER_FRAC * (double)(w->end_ns - w->start_ns))
        return kr_fail(
            err, KR_EARG,
            "a plain step time needs a window of whole steps, and these leave out %.0f %% "
            "of it (%s); try --window steady",
            100 * (1 - covered_ns / (double)(w->end_ns - w->start_ns)), w->how);
    mean_ns = covered_ns / (double)w->n_steps;
    if ((double)plain_step_ns > PLAIN_STEP_MAX_RATIO * mean_ns)
        return kr_fail(
            err, KR_EARG,
            "a plain step of %.3f ms is %.1f times the profiled step of %.3f ms: it must "
            "be of other steps than these (%s); choose them with --window name:TEXT",
            (double)plain_step_ns / 1e6, (double)plain_step_ns / mean_ns, mean_ns / 1e6, w->how);
    return true;
}

bool kr_window_check_timed_steps(const struct kr_window *w, const struct kr_step_times *times,
                                 double busy_step_ns, struct kr_err *err)
{
    double mean_ns;

    if (!kr_window_check_plain_step(w, times->plain_step_ns, err))
        return false;
    mean_ns = covered_by_steps_ns(w) / (double)w->n_steps;
    if (times->profiled_steps && mean_ns > PLAIN_STEP_MAX_RATIO * (double)times->profiled_step_ns)
        return kr_fail(err, KR_EARG,
                       "while recording, its marks lay %.3f ms apart and the GPU took %.3f ms for "
                       "a step: it had run ahead of the GPU, or these are other steps (%s)",
                       (double)times->profiled_step_ns / 1e6, mean_ns / 1e6, w->how);
    if (busy_step_ns > BUSY_MAX_RATIO * (double)times->plain_step_ns)
        return kr_fail(err, KR_EARG,
                       "it is %.3f ms without profiling, and the GPU works for %.3f ms in a step: "
                       "the marks do not show how long a step takes, or these are other steps (%s)",
                       (double)times->plain_step_ns / 1e6, busy_step_ns / 1e6, w->how);
    return true;
}

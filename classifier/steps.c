#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "mem.h"
#include "note_name.h"
#include "repeat.h"
#include "spans.h"

/* Families of counting annotations that are measured against the device work, at most. */
enum { MAX_FAMILIES = 8 };

/* So many marks of one family are a loop of which what went before is no part. */
enum { LOOP_MARKS = 5 };
#define PROFILER_STEP "ProfilerStep#*"

/* One annotation of a counting name. */
struct mark {
    uint32_t pattern; /* id in the finder's pool */
    uint32_t thread;
    uint32_t name;
    bool on_device;
    int64_t number; /* UNCOUNTED: their order numbers them */
    int64_t start_ns, end_ns;
};

#define UNCOUNTED INT64_C(-1)

/* marks[first .. first + n): one pattern on one thread. */
struct family {
    size_t first, n;
    uint64_t length_ns;
    bool is_chosen; /* somebody calls these steps: torch.profiler, or who timed them */
};

struct name_facts {
    uint32_t pattern; /* KR_STR_NONE: marks no step */
    int64_t number;
    bool known;
};

struct finder {
    const struct kr_timeline *t;
    struct kr_strpool *patterns;
    struct name_facts *facts; /* by string id */
    char *scratch;
    size_t cap_scratch;
    struct mark *marks;
    size_t n_marks;
    struct family families[MAX_FAMILIES]; /* longest first */
    size_t n_families;
};

static bool is_word(char c)
{
    return kr_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

bool kr_steps_counting_name(const char *name, size_t len, char *pattern, int64_t *number)
{
    size_t end = len;
    size_t begin;

    while (end > 0 && !is_word(name[end - 1]))
        end--;
    begin = end;
    while (begin > 0 && kr_is_digit(name[begin - 1]))
        begin--;
    if (begin == end || end - begin > 18)
        return false;
    *number = 0;
    for (size_t i = begin; i < end; i++)
        *number = *number * 10 + (name[i] - '0');
    kr_note_name_write(name, len, pattern);
    return true;
}

/* Names of the steps that the recording itself was timed by, which need not count. */
static bool is_timed_name(const struct finder *f, const char *name, size_t len, char *pattern)
{
    const char *label = f->t->source.steps.label;

    kr_note_name_write(name, len, pattern);
    return *label && strcmp(pattern, label) == 0;
}

static bool learn_name(struct finder *f, uint32_t id, struct kr_err *err)
{
    struct name_facts *facts = &f->facts[id];
    size_t len;
    const char *name = kr_strpool_get(f->t->strings, id, &len);

    facts->known = true;
    facts->pattern = KR_STR_NONE;
    if (!kr_grow(&f->scratch, &f->cap_scratch, len + 1, 1, SIZE_MAX / 2, err))
        return false;
    if (!kr_steps_counting_name(name, len, f->scratch, &facts->number)) {
        if (!is_timed_name(f, name, len, f->scratch))
            return true;
        facts->number = UNCOUNTED;
    }
    facts->pattern = kr_strpool_intern(f->patterns, f->scratch, strlen(f->scratch), err);
    return facts->pattern != KR_STR_NONE;
}

static int compare_marks(const void *pa, const void *pb)
{
    const struct mark *a = pa;
    const struct mark *b = pb;

    if (a->pattern != b->pattern)
        return KR_COMPARE(a->pattern, b->pattern);
    if (a->on_device != b->on_device)
        return a->on_device ? 1 : -1;
    if (a->thread != b->thread)
        return KR_COMPARE(a->thread, b->thread);
    if (a->on_device && a->number != b->number)
        return KR_COMPARE(a->number, b->number);
    if (a->on_device && a->name != b->name)
        return KR_COMPARE(a->name, b->name);
    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    return KR_COMPARE(a->end_ns, b->end_ns);
}

static bool collect_marks(struct finder *f, struct kr_err *err)
{
    const struct kr_timeline *t = f->t;

    f->patterns = kr_strpool_new(err);
    f->facts = kr_xcalloc(kr_strpool_count(t->strings), sizeof *f->facts, err);
    f->marks = kr_xcalloc(t->n_annotations, sizeof *f->marks, err);
    if (!f->patterns || !f->facts || !f->marks)
        return false;
    for (size_t i = 0; i < t->n_annotations; i++) {
        const struct kr_annotation *a = &t->annotations[i];
        struct mark *mark = &f->marks[f->n_marks];

        if (!f->facts[a->name].known && !learn_name(f, a->name, err))
            return false;
        if (f->facts[a->name].pattern == KR_STR_NONE)
            continue;
        *mark = (struct mark){ .pattern = f->facts[a->name].pattern,
                               .thread = a->on_device ? 0 : a->thread,
                               .name = a->name,
                               .on_device = a->on_device,
                               .number = f->facts[a->name].number,
                               .start_ns = a->start_ns,
                               .end_ns = kr_end_ns(a->start_ns, a->dur_ns) };
        f->n_marks++;
    }
    qsort(f->marks, f->n_marks, sizeof *f->marks, compare_marks);
    return true;
}

/* Host marks of one family count upwards and do not overlap, or they are no steps. */
static bool counts_up(struct mark *marks, size_t n)
{
    for (size_t i = 0; i < n && marks[i].number == UNCOUNTED; i++)
        marks[i].number = (int64_t)i;
    for (size_t i = 1; i < n; i++) {
        if (marks[i].number <= marks[i - 1].number || marks[i].start_ns < marks[i - 1].end_ns)
            return false;
    }
    return true;
}

/* Device marks of one name are extents of the same step on several streams: one is made of all. */
static void merge_device_marks(struct finder *f)
{
    size_t out = 0;

    for (size_t i = 0; i < f->n_marks; i++) {
        const struct mark *m = &f->marks[i];
        struct mark *last = out > 0 ? &f->marks[out - 1] : NULL;

        if (!last || !m->on_device || !last->on_device || last->name != m->name) {
            f->marks[out++] = *m;
            continue;
        }
        if (m->start_ns < last->start_ns)
            last->start_ns = m->start_ns;
        if (m->end_ns > last->end_ns)
            last->end_ns = m->end_ns;
    }
    f->n_marks = out;
}

static void keep_family(struct finder *f, struct family family)
{
    const char *pattern = kr_strpool_get(f->patterns, f->marks[family.first].pattern, NULL);
    size_t i = f->n_families;

    for (size_t j = 0; j < family.n; j++)
        family.length_ns += (uint64_t)f->marks[family.first + j].end_ns -
                            (uint64_t)f->marks[family.first + j].start_ns;
    family.is_chosen =
        strcmp(pattern, PROFILER_STEP) == 0 || strcmp(pattern, f->t->source.steps.label) == 0;
    if (family.is_chosen)
        family.length_ns = UINT64_MAX; /* always among those measured */
    if (i == MAX_FAMILIES && f->families[--i].length_ns >= family.length_ns)
        return;
    for (; i > 0 && f->families[i - 1].length_ns < family.length_ns; i--)
        f->families[i] = f->families[i - 1];
    f->families[i] = family;
    if (f->n_families < MAX_FAMILIES)
        f->n_families++;
}

static size_t run_length(const struct mark *marks, size_t n)
{
    size_t i = 1;

    while (i < n && marks[i].pattern == marks[0].pattern &&
           marks[i].on_device == marks[0].on_device && marks[i].thread == marks[0].thread)
        i++;
    return i;
}

/* Device marks make a family of their own only where the host has none of that pattern. */
static void collect_families(struct finder *f)
{
    uint32_t host_pattern = KR_STR_NONE;
    size_t n;

    for (size_t i = 0; i < f->n_marks; i += n) {
        struct mark *mark = &f->marks[i];

        n = run_length(mark, f->n_marks - i);
        if (!mark->on_device)
            host_pattern = mark->pattern;
        if ((!mark->on_device || mark->pattern != host_pattern) && counts_up(mark, n))
            keep_family(f, (struct family){ .first = i, .n = n });
    }
}

/* The device mark of the same name, or NULL. */
static const struct mark *find_twin(const struct finder *f, const struct mark *host)
{
    struct mark key = *host;
    size_t low = 0;
    size_t high = f->n_marks;

    key.on_device = true;
    key.thread = 0;
    key.start_ns = INT64_MIN;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (compare_marks(&f->marks[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < f->n_marks && f->marks[low].on_device && f->marks[low].name == host->name)
        return &f->marks[low];
    return NULL;
}

/* The family's marks as spans, measured; owned by the caller. */
static struct kr_span *measure_family(const struct finder *f, const struct family *family,
                                      struct kr_err *err)
{
    struct kr_span *spans = kr_xcalloc(family->n, sizeof *spans, err);
    bool in_order = true;

    if (!spans)
        return NULL;
    for (size_t i = 0; i < family->n; i++) {
        const struct mark *mark = &f->marks[family->first + i];
        const struct mark *twin = mark->on_device ? mark : find_twin(f, mark);

        spans[i].has_host = !mark->on_device;
        spans[i].host_start_ns = mark->start_ns;
        spans[i].host_end_ns = mark->end_ns;
        spans[i].has_twin = twin != NULL;
        spans[i].twin_start_ns = twin ? twin->start_ns : 0;
        spans[i].twin_end_ns = twin ? twin->end_ns : 0;
        if (i > 0 && twin && spans[i - 1].has_twin)
            in_order = in_order && twin->start_ns >= spans[i - 1].twin_start_ns;
    }
    for (size_t i = 0; i < family->n && !in_order; i++)
        spans[i].has_twin = spans[i].has_twin && !spans[i].has_host;
    kr_spans_measure(f->t, spans, family->n);
    return spans;
}

static bool has_work(const struct kr_span *span)
{
    return span->count > 0 || span->has_twin;
}

static int64_t first_work_ns(const struct kr_span *span)
{
    return span->has_twin ? span->twin_start_ns : span->work_start_ns;
}

static int64_t last_work_ns(const struct kr_span *span)
{
    if (!span->count)
        return span->twin_end_ns;
    return span->has_twin && span->twin_end_ns > span->work_end_ns ? span->twin_end_ns
                                                                   : span->work_end_ns;
}

/* A step without work begins when the host began it, but not before the work that precedes it. */
static int64_t empty_step_start_ns(const struct kr_span *span, int64_t after_ns)
{
    return span->host_start_ns > after_ns ? span->host_start_ns : after_ns;
}

/*
 * Marks are saved before the work that they launched. Where a recording was cut, the last of them
 * have no work for that reason alone, and are no steps.
 */
static size_t count_steps(const struct finder *f, const struct family *family,
                          const struct kr_span *spans)
{
    const struct kr_timeline *t = f->t;
    size_t n = family->n;

    if (!t->source.truncated && t->warnings[KR_WARN_NOT_ENDED].count == 0)
        return n;
    while (n > 1 && !has_work(&spans[n - 1]))
        n--;
    return n;
}

static bool make_steps(const struct finder *f, const struct family *family,
                       const struct kr_span *spans, struct kr_steps *out, struct kr_err *err)
{
    const size_t n = count_steps(f, family, spans);
    int64_t reach_ns = INT64_MIN;

    out->items = kr_xcalloc(n, sizeof *out->items, err);
    if (!out->items)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct kr_step *step = &out->items[i];

        step->number = f->marks[family->first + i].number;
        step->start_ns = has_work(&spans[i]) ? first_work_ns(&spans[i])
                                             : empty_step_start_ns(&spans[i], reach_ns);
        if (has_work(&spans[i]) && last_work_ns(&spans[i]) > reach_ns)
            reach_ns = last_work_ns(&spans[i]);
    }
    if (out->items[n - 1].start_ns > reach_ns)
        reach_ns = out->items[n - 1].start_ns; /* marked after the last work */
    for (size_t i = n; i-- > 0;) {
        struct kr_step *step = &out->items[i];

        /* Work of two steps may begin out of order on two streams. */
        step->end_ns = i + 1 < n ? step[1].start_ns : reach_ns;
        if (step->start_ns > step->end_ns)
            step->start_ns = step->end_ns;
    }
    out->n = n;
    out->from = KR_STEPS_ANNOTATION;
    (void)snprintf(out->how, sizeof out->how, "%zu step%s from annotation '%.40s'", n,
                   n == 1 ? "" : "s",
                   kr_strpool_get(f->patterns, f->marks[family->first].pattern, NULL));
    return true;
}

static uint64_t covered_ns(const struct kr_span *spans, size_t n)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += spans[i].work_ns;
    return total;
}

/* Better: chosen steps, then more than one instance, then more work; more steps where that ties. */
struct candidate {
    const struct family *family;
    struct kr_span *spans;
    uint64_t work_ns;
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (!b->family)
        return true;
    if ((a->family->n > 1) != (b->family->n > 1))
        return a->family->n > 1;
    if (a->family->is_chosen != b->family->is_chosen)
        return a->family->is_chosen;
    if (a->work_ns / 50 * 49 <= b->work_ns && b->work_ns / 50 * 49 <= a->work_ns)
        return a->family->n > b->family->n;
    return a->work_ns > b->work_ns;
}

/*
 * The least work that a family of marks must cover to be the steps of the run. What goes before the
 * first mark of a longer family, such as making weights, says nothing about its being the loop.
 */
static uint64_t least_work_ns(const struct finder *f, const struct family *family,
                              uint64_t half_of_all_ns)
{
    const struct mark *first = &f->marks[family->first];
    const struct mark *last = &first[family->n - 1];

    if (family->is_chosen)
        return 1;
    if (family->n < LOOP_MARKS)
        return half_of_all_ns > 0 ? half_of_all_ns : 1;
    return kr_work_between_ns(f->t, first->start_ns, last->end_ns) / 2 + 1;
}

static bool choose_family(struct finder *f, struct candidate *best, struct kr_err *err)
{
    const uint64_t half_ns = kr_work_between_ns(f->t, INT64_MIN, INT64_MAX) / 2;

    for (size_t i = 0; i < f->n_families; i++) {
        struct candidate c = { .family = &f->families[i] };

        c.spans = measure_family(f, c.family, err);
        if (!c.spans)
            return false;
        c.work_ns = covered_ns(c.spans, c.family->n);
        if (c.work_ns < least_work_ns(f, c.family, half_ns) || !is_better(&c, best)) {
            free(c.spans);
            continue;
        }
        free(best->spans);
        *best = c;
    }
    return true;
}

static bool steps_from_annotations(const struct kr_timeline *t, struct kr_steps *out,
                                   struct kr_err *err)
{
    struct finder f = { .t = t };
    struct candidate best = { 0 };
    bool done = collect_marks(&f, err);

    if (done) {
        merge_device_marks(&f);
        collect_families(&f);
        done = choose_family(&f, &best, err);
    }
    if (done && best.family)
        done = make_steps(&f, best.family, best.spans, out, err);
    free(best.spans);
    kr_strpool_free(f.patterns);
    free(f.facts);
    free(f.scratch);
    free(f.marks);
    return done;
}

static bool steps_from_repetition(const struct kr_timeline *t, struct kr_steps *out,
                                  struct kr_err *err)
{
    struct kr_repeat repeat;

    if (!kr_repeat_find(t, &repeat, err))
        return false;
    out->items = kr_xcalloc(repeat.n, sizeof *out->items, err);
    if (!out->items) {
        kr_repeat_free(&repeat);
        return false;
    }
    for (size_t i = 0; i < repeat.n; i++) {
        out->items[i].start_ns = repeat.starts_ns[i];
        out->items[i].end_ns = i + 1 < repeat.n ? repeat.starts_ns[i + 1] : repeat.end_ns;
        out->items[i].number = (int64_t)i;
    }
    out->n = repeat.n;
    if (repeat.n) {
        out->from = KR_STEPS_REPETITION;
        (void)snprintf(out->how, sizeof out->how, "%zu steps by repetition of %zu launches",
                       repeat.n, repeat.period);
    }
    kr_repeat_free(&repeat);
    return true;
}

bool kr_steps_find(const struct kr_timeline *t, struct kr_steps *out, struct kr_err *err)
{
    struct kr_steps repeated = { 0 };

    *out = (struct kr_steps){ 0 };
    if (!steps_from_annotations(t, out, err))
        return false;
    if (out->n > 1)
        return true;
    if (!steps_from_repetition(t, &repeated, err)) {
        kr_steps_free(out);
        return false;
    }
    if (repeated.n || !out->n) {
        kr_steps_free(out);
        *out = repeated;
    } else {
        kr_steps_free(&repeated);
    }
    return true;
}

void kr_steps_free(struct kr_steps *steps)
{
    free(steps->items);
    *steps = (struct kr_steps){ 0 };
}

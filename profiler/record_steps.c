#include "record_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "note_name.h"
#include "record_marks.h"
#include "record_parts.h"
#include "spread.h"

/* Fewer repeats are no loop. */
enum { MIN_REPEATS = 5 };

/* Steps left out at the ends of a stretch, and how many must remain. */
enum { SETTLING_STEPS = 2, LAST_STEPS = 1, MIN_STEPS = 3 };
#define SETTLING_NS INT64_C(20000000)

/* Fewer pairs of stretches do not tell a cost, more than the most bring no more; two steps or more
 * to a stretch where that leaves enough of them. */
enum { MIN_PAIRS = 6, MOST_PAIRS = 20 };

/* A first step that takes longer than 5/4 of the median is warm-up. */
enum { SLOW_NUM = 5, SLOW_DEN = 4 };

/* What a step takes at least to pass for one like another. */
#define LEAST_OF_LIKE 0.875

#define MAX_STEPS ((size_t)1 << 32)

/* A search for the range that marks steps. */
struct search {
    const char *name; /* NULL = any */
    bool outside;     /* those outside of the window, in place of the recorded ones */
    struct kr_record_steps *best;
    uint64_t best_covered_ns;
};

/* Adds the step that the group's range i begins; it is not the last. */
static bool add_step(struct kr_record_steps *steps, const struct kr_record_group *group, size_t i,
                     struct kr_err *err)
{
    if (!kr_grow(&steps->items, &steps->cap, steps->n + 1, sizeof *steps->items, MAX_STEPS, err))
        return false;
    steps->items[steps->n++] = (struct kr_record_step){
        .dur_ns = (uint64_t)(group->ranges[i + 1].start_ns - group->ranges[i].start_ns),
        .place = i,
    };
    return true;
}

/* A list of pauses, looked at for steps in time order. */
struct pauses {
    const struct kr_record_pause *items;
    size_t n, at;
};

/* Whether one of the pauses lies, in part, in a stretch of time. */
static bool paused_in(struct pauses *p, int64_t from_ns, int64_t to_ns)
{
    while (p->at < p->n && p->items[p->at].to_ns <= from_ns)
        p->at++;
    return p->at < p->n && p->items[p->at].from_ns < to_ns;
}

/* Adds the steps of a group that were recorded as a whole; those of a window by range end in one of
 * its pauses, and begin when it opens. */
static bool add_recorded(struct kr_record_steps *steps, const struct kr_record_marks *marks,
                         const struct kr_record_group *group, struct kr_err *err)
{
    struct pauses calibrating = { .items = marks->pauses, .n = marks->n_pauses };
    struct pauses shut = { .items = marks->shut, .n = marks->n_shut };

    for (size_t i = 0; i + 1 < group->n; i++) {
        const int64_t start_ns = group->ranges[i].start_ns;

        if (!paused_in(&calibrating, start_ns, group->ranges[i + 1].start_ns) &&
            !paused_in(&shut, start_ns, start_ns + 1) && !add_step(steps, group, i, err))
            return false;
    }
    return true;
}

/*
 * The range, from `at` on, with which steps have settled after a change: behind the first two, and
 * those within 20 ms. May be none of the group's.
 */
static size_t settle(const struct kr_record_group *group, size_t at, int64_t changed_ns)
{
    while (at < group->n && group->ranges[at].start_ns < changed_ns)
        at++;
    for (at += SETTLING_STEPS;
         at < group->n && group->ranges[at].start_ns - changed_ns < SETTLING_NS;)
        at++;
    return at;
}

/* Adds the steps of a group that were left alone once the window had been open. */
static bool add_outside(struct kr_record_steps *steps, const struct kr_record_marks *marks,
                        const struct kr_record_group *group, struct kr_err *err)
{
    const struct kr_range *ranges = group->ranges;
    size_t i = 0;

    for (size_t k = 0; k < marks->n_shut; k++) {
        const struct kr_record_pause *shut = &marks->shut[k];

        if (shut->from_ns <= ranges[0].start_ns)
            continue;
        i = settle(group, i, shut->from_ns);
        for (; i + 1 < group->n && ranges[i + 1].start_ns <= shut->to_ns; i++) {
            if (!add_step(steps, group, i, err))
                return false;
        }
    }
    return true;
}

/* Takes a group of ranges when it is the best so far. */
static bool offer(struct search *s, const struct kr_record_marks *marks,
                  const struct kr_record_group *group, struct kr_err *err)
{
    struct kr_record_steps steps = { 0 };
    bool good;

    if (group->n < MIN_REPEATS || group->covered_ns <= s->best_covered_ns)
        return true;
    good = s->outside ? add_outside(&steps, marks, group, err)
                      : add_recorded(&steps, marks, group, err);
    if (!good || steps.n + 1 < MIN_REPEATS) {
        kr_record_steps_free(&steps);
        return good;
    }
    kr_record_steps_free(s->best);
    *s->best = steps;
    snprintf(s->best->label, sizeof s->best->label, "%s", group->label);
    s->best_covered_ns = group->covered_ns;
    return true;
}

/* The label that is wanted, as an id of this timeline; KR_STR_NONE = any. */
static bool intern_wanted(const struct search *s, struct kr_timeline *t, uint32_t *wanted,
                          struct kr_err *err)
{
    *wanted = KR_STR_NONE;
    if (!s->name)
        return true;
    *wanted = kr_strpool_intern(t->strings, s->name, strlen(s->name), err);
    if (*wanted != KR_STR_NONE)
        *wanted = kr_note_name_pattern(t->strings, *wanted, err);
    return *wanted != KR_STR_NONE;
}

static bool search_part(struct search *s, const struct kr_record_marks *marks, struct kr_err *err)
{
    struct kr_record_group group;
    uint32_t wanted;
    bool good = intern_wanted(s, marks->timeline, &wanted, err);

    for (size_t at = 0; good && kr_record_marks_group(marks, &at, &group);) {
        if (wanted == KR_STR_NONE || group.ranges->label == wanted)
            good = offer(s, marks, &group, err);
    }
    return good;
}

static bool search_folder(struct search *search, const char *folder, struct kr_err *err)
{
    struct kr_parts parts;
    bool good = kr_parts_list(folder, &parts, err);

    for (size_t i = 0; good && i < parts.n; i++) {
        struct kr_record_marks marks;

        good = kr_record_marks_read(folder, parts.items[i].name, &marks, err) &&
               search_part(search, &marks, err);
        kr_record_marks_free(&marks);
    }
    free(parts.items);
    return good;
}

bool kr_record_steps_find(const char *folder, const char *name, struct kr_record_steps *steps,
                          struct kr_err *err)
{
    struct search search = { .name = name, .best = steps };

    return search_folder(&search, folder, err);
}

bool kr_record_steps_outside(const char *folder, const char *name, struct kr_record_steps *steps,
                             struct kr_err *err)
{
    struct search search = { .name = name, .outside = true, .best = steps };

    return search_folder(&search, folder, err);
}

void kr_record_steps_free(struct kr_record_steps *steps)
{
    free(steps->items);
    *steps = (struct kr_record_steps){ 0 };
}

void kr_record_calibration_free(struct kr_record_calibration *c)
{
    kr_record_steps_free(&c->plain);
    kr_record_steps_free(&c->profiled);
    free(c->stretches);
    *c = (struct kr_record_calibration){ 0 };
}

static bool note_stretch(struct kr_record_calibration *c, bool profiled, size_t n,
                         struct kr_err *err)
{
    if (!kr_grow(&c->stretches, &c->cap_stretches, c->n_stretches + 1, sizeof *c->stretches,
                 MAX_STEPS, err))
        return false;
    c->stretches[c->n_stretches++] = (struct kr_record_stretch){ .profiled = profiled, .n = n };
    return true;
}

/* The steps [first, end) of two runs that have the same ones, or of a stretch beside itself. */
struct common {
    const struct kr_record_steps *plain, *profiled;
    size_t first, end;
    double least_ns; /* what may be an end takes so long in both */
};

static double mean_step(const struct kr_record_steps *steps, size_t first, size_t end)
{
    double sum_ns = 0;

    for (size_t i = first; i < end; i++)
        sum_ns += (double)steps->items[i].dur_ns;
    return sum_ns / (double)(end - first);
}

/* What step i takes in both runs; what disturbed only one does not count. */
static double lesser_ns(const struct common *c, size_t i)
{
    return fmin((double)c->plain->items[i].dur_ns, (double)c->profiled->items[i].dur_ns);
}

static bool may_end_with(const struct common *c, size_t i)
{
    return lesser_ns(c, i) >= c->least_ns;
}

/* The part that begins behind a step that may be an end, and ends with one. */
static struct common between_ends(struct common c)
{
    while (c.first < c.end && !may_end_with(&c, c.first))
        c.first++;
    c.first += c.first < c.end;
    while (c.first < c.end && !may_end_with(&c, c.end - 1))
        c.end--;
    return c;
}

/*
 * A program that waits for the device every few steps only launches the others in less time than
 * they take, and the step that waits takes the rest. So what is measured runs from one that waits
 * to another: the longest where they come again, else those of about the mean.
 */
static void leave_out_ends(struct common *c)
{
    const double mean_ns = c->first < c->end ? fmin(mean_step(c->plain, c->first, c->end),
                                                    mean_step(c->profiled, c->first, c->end))
                                             : 0;
    double longest_ns = 0;
    struct common part;

    for (size_t i = c->first; i < c->end; i++)
        longest_ns = fmax(longest_ns, lesser_ns(c, i));
    c->least_ns = LEAST_OF_LIKE * longest_ns;
    part = between_ends(*c);
    c->least_ns = LEAST_OF_LIKE * mean_ns;
    if (part.end - part.first < (c->end - c->first) / 2)
        part = between_ends(*c);
    part.least_ns = c->least_ns; /* within, any that keeps the pace will do */
    *c = part;
}

/* Makes a stretch of the steps from `first` on, unless they are too few. */
static bool end_stretch(struct kr_record_calibration *out, bool profiled, size_t first,
                        struct kr_err *err)
{
    struct kr_record_steps *steps = profiled ? &out->profiled : &out->plain;
    struct common part = { .plain = steps, .profiled = steps, .first = first, .end = steps->n };

    leave_out_ends(&part);
    steps->n = first;
    if (part.end - part.first < MIN_STEPS)
        return true;
    memmove(steps->items + first, steps->items + part.first,
            (part.end - part.first) * sizeof *steps->items);
    steps->n += part.end - part.first;
    return note_stretch(out, profiled, part.end - part.first, err);
}

/* Adds the settled steps of a stretch of time, unless they are too few. */
static bool add_stretch(struct kr_record_calibration *out, const struct kr_record_group *group,
                        const struct kr_record_pause *time, bool profiled, struct kr_err *err)
{
    struct kr_record_steps *steps = profiled ? &out->profiled : &out->plain;
    const struct kr_range *ranges = group->ranges;
    const size_t before = steps->n;
    const size_t first = settle(group, 0, time->from_ns);
    size_t end = first;

    while (end + 1 < group->n && ranges[end + 1].start_ns <= time->to_ns)
        end++;
    if (end < first + LAST_STEPS + MIN_STEPS)
        return true;
    for (size_t i = first; i < end - LAST_STEPS; i++) {
        if (!add_step(steps, group, i, err))
            return false;
    }
    return end_stretch(out, profiled, before, err);
}

/* The stretches of a process; beside the outer pauses, as much time as they took. */
static bool take_turns(const struct kr_record_marks *marks, const struct kr_record_group *group,
                       struct kr_record_calibration *out, struct kr_err *err)
{
    const struct kr_record_pause *pauses = marks->pauses;
    const size_t n = marks->n_pauses;
    bool good = true;

    for (size_t i = 0; good && i < n; i++) {
        const int64_t length_ns = pauses[i].to_ns - pauses[i].from_ns;
        const int64_t since_ns = i ? pauses[i - 1].to_ns : pauses[i].from_ns - length_ns;
        const struct kr_record_pause before = { since_ns, pauses[i].from_ns };
        const struct kr_record_pause after = { pauses[i].to_ns, pauses[i].to_ns + length_ns };

        good = add_stretch(out, group, &before, true, err) &&
               add_stretch(out, group, &pauses[i], false, err) &&
               (i + 1 < n || add_stretch(out, group, &after, true, err));
    }
    return good;
}

static bool take_part(const struct kr_record_marks *marks, struct kr_record_calibration *out,
                      struct kr_err *err)
{
    struct kr_record_group group;
    struct kr_record_group best = { 0 };

    for (size_t at = 0; kr_record_marks_group(marks, &at, &group);) {
        if (strcmp(group.label, marks->step_range) == 0 && group.covered_ns > best.covered_ns)
            best = group;
    }
    snprintf(out->plain.label, sizeof out->plain.label, "%s", marks->step_range);
    return take_turns(marks, &best, out, err);
}

/* Plain stretches beside a profiled one. */
static size_t count_pairs(const struct kr_record_calibration *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_stretches; i++)
        n +=
            !c->stretches[i].profiled && ((i && c->stretches[i - 1].profiled) ||
                                          (i + 1 < c->n_stretches && c->stretches[i + 1].profiled));
    return n;
}

/* Why the stretches of a run say nothing; true when they do. */
static bool check_turns(const struct kr_record_calibration *c, size_t n_processes,
                        struct kr_err *err)
{
    if (!n_processes)
        return kr_fail(err, KR_EENV, "no NVTX range repeated long enough to mark steps");
    if (n_processes > 1)
        return kr_fail(err, KR_EENV,
                       "%zu processes mark steps, and what one of them saves by not recording the "
                       "others may wait for",
                       n_processes);
    if (count_pairs(c) < MIN_PAIRS)
        return kr_fail(err, KR_EENV, "too few steps '%s' to compare stretches of them",
                       c->plain.label);
    return true;
}

bool kr_record_steps_alternating(const char *folder, struct kr_record_calibration *out,
                                 struct kr_err *err)
{
    struct kr_parts parts;
    size_t n_processes = 0;
    bool good = kr_parts_list(folder, &parts, err);

    out->method = "alternating";
    for (size_t i = 0; good && i < parts.n; i++) {
        struct kr_record_marks marks;

        good = kr_record_marks_read(folder, parts.items[i].name, &marks, err);
        if (good && marks.n_pauses) {
            n_processes++;
            good = take_part(&marks, out, err);
        }
        kr_record_marks_free(&marks);
    }
    free(parts.items);
    return good && check_turns(out, n_processes, err);
}

/* Drops the steps that only one of the runs has. */
static void keep_common(struct kr_record_steps *a, struct kr_record_steps *b)
{
    size_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        const uint64_t left = a->items[i].place;
        const uint64_t right = b->items[k].place;

        if (left == right) {
            a->items[n] = a->items[i];
            b->items[n++] = b->items[k];
        }
        i += left <= right;
        k += right <= left;
    }
    a->n = n;
    b->n = n;
}

static bool median_step(const struct kr_record_steps *steps, uint64_t *out_ns, struct kr_err *err)
{
    uint64_t *times_ns = kr_xcalloc(steps->n, sizeof *times_ns, err);

    if (!times_ns)
        return false;
    for (size_t i = 0; i < steps->n; i++)
        times_ns[i] = steps->items[i].dur_ns;
    *out_ns = kr_spread_of(times_ns, steps->n).median;
    free(times_ns);
    return true;
}

static bool is_slow(const struct kr_record_steps *steps, size_t i, uint64_t median_ns)
{
    return steps->items[i].dur_ns / SLOW_NUM > median_ns / SLOW_DEN;
}

static bool leave_out_warm_up(struct common *c, struct kr_err *err)
{
    uint64_t plain_ns, profiled_ns;

    if (!median_step(c->plain, &plain_ns, err) || !median_step(c->profiled, &profiled_ns, err))
        return false;
    c->end = c->plain->n;
    c->first = SETTLING_STEPS < c->end ? SETTLING_STEPS : c->end;
    while (c->first < c->end / 2 &&
           (is_slow(c->plain, c->first, plain_ns) || is_slow(c->profiled, c->first, profiled_ns)))
        c->first++;
    return true;
}

static bool cut_into_stretches(struct kr_record_calibration *out, const struct common *c,
                               struct kr_err *err)
{
    const size_t n = c->end - c->first;
    const size_t shortest = n / 2 >= MIN_PAIRS ? 2 : 1;
    const size_t steps = n / MOST_PAIRS > shortest ? n / MOST_PAIRS : shortest;
    size_t begin = c->first;

    for (size_t i = c->first; i < c->end; i++) {
        const size_t left = c->end - i - 1;

        if (i + 1 - begin < steps || !may_end_with(c, i) || (left && left < steps))
            continue;
        if (!note_stretch(out, false, i + 1 - begin, err) ||
            !note_stretch(out, true, i + 1 - begin, err))
            return false;
        begin = i + 1;
    }
    return true;
}

static void keep_between(struct kr_record_steps *steps, size_t first, size_t end)
{
    steps->n = end - first;
    memmove(steps->items, steps->items + first, steps->n * sizeof *steps->items);
}

bool kr_record_steps_pair(struct kr_record_calibration *c, struct kr_err *err)
{
    struct common common = { .plain = &c->plain, .profiled = &c->profiled };

    keep_common(&c->plain, &c->profiled);
    if (!leave_out_warm_up(&common, err))
        return false;
    leave_out_ends(&common);
    if (common.end - common.first < MIN_PAIRS)
        return kr_fail(err, KR_EENV,
                       "too few steps '%s' to compare two runs: %zu of both, without warm-up, and "
                       "%d are needed",
                       c->plain.label, common.end - common.first, MIN_PAIRS);
    if (!cut_into_stretches(c, &common, err))
        return false;
    keep_between(&c->plain, common.first, common.end);
    keep_between(&c->profiled, common.first, common.end);
    return true;
}

static bool put_steps(const struct kr_record_steps *steps, struct kr_bytes *payload,
                      struct kr_err *err)
{
    if (!kr_bytes_varint(payload, steps->n, err))
        return false;
    for (size_t i = 0; i < steps->n; i++) {
        if (!kr_bytes_varint(payload, steps->items[i].dur_ns, err))
            return false;
    }
    return true;
}

bool kr_record_calibration_payload(const struct kr_record_calibration *c, struct kr_bytes *payload,
                                   struct kr_err *err)
{
    if (!kr_bytes_text(payload, c->method, strlen(c->method), err) ||
        !put_steps(&c->plain, payload, err) || !put_steps(&c->profiled, payload, err) ||
        !kr_bytes_text(payload, c->plain.label, strlen(c->plain.label), err) ||
        !kr_bytes_varint(payload, c->n_stretches, err))
        return false;
    for (size_t i = 0; i < c->n_stretches; i++) {
        const uint8_t profiled = c->stretches[i].profiled;

        if (!kr_bytes_put(payload, &profiled, 1, err) ||
            !kr_bytes_varint(payload, c->stretches[i].n, err))
            return false;
    }
    return true;
}

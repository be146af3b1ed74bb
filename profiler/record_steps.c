#include "record_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "note_name.h"
#include "record_marks.h"
#include "record_parts.h"

/* Fewer repeats are no loop. */
enum { MIN_REPEATS = 5 };

/* Steps left out at the ends of a stretch, and how many must remain. */
enum { SETTLING_STEPS = 2, LAST_STEPS = 1, MIN_STEPS = 3 };
#define SETTLING_NS INT64_C(20000000)

#define MAX_STEPS ((size_t)1 << 32)

/* A search for the range that marks steps. */
struct search {
    const char *name; /* NULL = any */
    struct kr_record_steps *best;
    uint64_t best_covered_ns;
};

static bool add_step(struct kr_record_steps *steps, const struct kr_range *ranges,
                     struct kr_err *err)
{
    if (!kr_grow(&steps->steps_ns, &steps->cap, steps->n + 1, sizeof *steps->steps_ns, MAX_STEPS,
                 err))
        return false;
    steps->steps_ns[steps->n++] = (uint64_t)(ranges[1].start_ns - ranges[0].start_ns);
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
            !paused_in(&shut, start_ns, start_ns + 1) && !add_step(steps, &group->ranges[i], err))
            return false;
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
    good = add_recorded(&steps, marks, group, err);
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

bool kr_record_steps_find(const char *folder, const char *name, struct kr_record_steps *steps,
                          struct kr_err *err)
{
    struct search search = { .name = name, .best = steps };
    struct kr_parts parts;
    bool good = kr_parts_list(folder, &parts, err);

    for (size_t i = 0; good && i < parts.n; i++) {
        struct kr_record_marks marks;

        good = kr_record_marks_read(folder, parts.items[i].name, &marks, err) &&
               search_part(&search, &marks, err);
        kr_record_marks_free(&marks);
    }
    free(parts.items);
    return good;
}

void kr_record_steps_free(struct kr_record_steps *steps)
{
    free(steps->steps_ns);
    *steps = (struct kr_record_steps){ 0 };
}

void kr_record_calibration_free(struct kr_record_calibration *c)
{
    kr_record_steps_free(&c->plain);
    kr_record_steps_free(&c->profiled);
    free(c->stretches);
    *c = (struct kr_record_calibration){ 0 };
}

/* Adds the settled steps of a stretch of time, unless they are too few. */
static bool add_stretch(struct kr_record_calibration *out, const struct kr_record_group *group,
                        const struct kr_record_pause *time, bool profiled, struct kr_err *err)
{
    struct kr_record_steps *steps = profiled ? &out->profiled : &out->plain;
    const struct kr_range *ranges = group->ranges;
    size_t first = 0;
    size_t end;

    while (first < group->n && ranges[first].start_ns < time->from_ns)
        first++;
    for (end = first; end + 1 < group->n && ranges[end + 1].start_ns <= time->to_ns;)
        end++;
    for (first += SETTLING_STEPS;
         first < end && ranges[first].start_ns - time->from_ns < SETTLING_NS;)
        first++;
    if (end < first + LAST_STEPS + MIN_STEPS)
        return true;
    end -= LAST_STEPS;
    if (!kr_grow(&out->stretches, &out->cap_stretches, out->n_stretches + 1, sizeof *out->stretches,
                 MAX_STEPS, err))
        return false;
    out->stretches[out->n_stretches++] =
        (struct kr_record_stretch){ .profiled = profiled, .n = end - first };
    for (size_t i = first; i < end; i++) {
        if (!add_step(steps, &ranges[i], err))
            return false;
    }
    return true;
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
    if (!c->plain.n || !c->profiled.n)
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

static bool put_steps(const struct kr_record_steps *steps, struct kr_bytes *payload,
                      struct kr_err *err)
{
    if (!kr_bytes_varint(payload, steps->n, err))
        return false;
    for (size_t i = 0; i < steps->n; i++) {
        if (!kr_bytes_varint(payload, steps->steps_ns[i], err))
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

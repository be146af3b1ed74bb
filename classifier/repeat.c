#include "repeat.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "sweep.h"

/* Limits of what counts as a loop; all shares are of launches, but for EXCESS (of time). */
enum { MIN_ROUNDS = 3, MIN_PERIOD = 2, MAX_ANCHORS = 24, MAX_TOKENS = 1 << 20 };
static const double MIN_LIKENESS = 0.95; /* of neighbouring rounds */
static const double MIN_COVERAGE = 0.5;  /* of the sequence by the loop */
static const double MAX_EXCESS = 0.05;   /* of a round's time: foreign work after the last round */
static const double LIKENESS_TIE = 0.002;
static const double MAX_UNEVENNESS = 0.5; /* of an anchor's spacing: deviation over mean */

/* What the sequence says of one distinct name. */
struct name_use {
    size_t count, first, last;
    double spacing_squares; /* sum of squared distances between neighbours */
    uint64_t gap_ns;        /* idle time before its launches, the first one excepted */
    double unevenness;
    uint32_t token;
};

/* A cut of the sequence at the places of one name. */
struct cut {
    size_t *at; /* places of the anchor, n of them */
    size_t n;
    size_t first;  /* the loop's first round begins at at[first] */
    size_t rounds; /* full rounds, the last one included when the tail is one */
    bool tail_is_round;
    double likeness;
    double gap_ns; /* mean idle time before a round */
};

struct search {
    const struct kr_timeline *t;
    uint16_t track;
    uint32_t *events; /* of the track, in time order */
    uint32_t *tokens; /* dense number of each event's name */
    size_t n, n_names;
    size_t base; /* the search looks at tokens[base .. n) */
    struct name_use *names;
    uint32_t *bags[2]; /* counts by token of a round and of the one before */
};

static uint16_t busiest_track(const struct kr_timeline *t, size_t *counts)
{
    size_t best = 0;

    for (size_t i = 0; i < t->n_events; i++)
        counts[t->events[i].track]++;
    for (size_t i = 1; i < t->n_tracks; i++) {
        if (counts[i] > counts[best])
            best = i;
    }
    return (uint16_t)best;
}

static const struct kr_event *event_at(const struct search *s, size_t i)
{
    return &s->t->events[s->events[i]];
}

static bool read_sequence(struct search *s, struct kr_err *err)
{
    const struct kr_timeline *t = s->t;
    size_t *counts = kr_xcalloc(t->n_tracks, sizeof *counts, err);
    uint32_t *dense = kr_xcalloc(kr_strpool_count(t->strings), sizeof *dense, err);
    bool done = false;

    if (!counts || !dense)
        goto end;
    s->track = busiest_track(t, counts);
    s->events = kr_xcalloc(counts[s->track], sizeof *s->events, err);
    s->tokens = kr_xcalloc(counts[s->track], sizeof *s->tokens, err);
    if (!s->events || !s->tokens)
        goto end;
    for (size_t i = 0; i < t->n_events; i++) {
        const uint32_t name = t->sites[t->events[i].site].name;

        if (t->events[i].track != s->track)
            continue;
        if (!dense[name])
            dense[name] = (uint32_t)++s->n_names;
        s->events[s->n] = (uint32_t)i;
        s->tokens[s->n++] = dense[name] - 1;
    }
    s->base = s->n > MAX_TOKENS ? s->n - MAX_TOKENS : 0;
    done = true;
end:
    free(counts);
    free(dense);
    return done;
}

static bool study_names(struct search *s, struct kr_err *err)
{
    int64_t reach_ns = INT64_MAX;

    s->names = kr_xcalloc(s->n_names, sizeof *s->names, err);
    s->bags[0] = kr_xcalloc(s->n_names, sizeof *s->bags[0], err);
    s->bags[1] = kr_xcalloc(s->n_names, sizeof *s->bags[1], err);
    if (!s->names || !s->bags[0] || !s->bags[1])
        return false;
    for (size_t i = s->base; i < s->n; i++) {
        const struct kr_event *e = event_at(s, i);
        const int64_t end_ns = kr_sweep_end_ns(e);
        struct name_use *use = &s->names[s->tokens[i]];

        if (use->count++) {
            const double spacing = (double)(i - use->last);

            use->spacing_squares += spacing * spacing;
        } else {
            use->first = i;
        }
        use->last = i;
        if (e->start_ns > reach_ns && use->count > 1)
            use->gap_ns += (uint64_t)e->start_ns - (uint64_t)reach_ns;
        if (reach_ns == INT64_MAX || end_ns > reach_ns)
            reach_ns = end_ns;
    }
    for (uint32_t i = 0; i < s->n_names; i++) {
        struct name_use *use = &s->names[i];
        const double spaces = (double)use->count - 1;
        const double mean = (double)(use->last - use->first) / (spaces > 0 ? spaces : 1);

        use->token = i;
        use->unevenness =
            spaces > 0 ? use->spacing_squares / spaces / (mean * mean) - 1 : 1; /* squared */
    }
    return true;
}

static bool may_be_anchor(const struct name_use *use)
{
    return use->count >= MIN_ROUNDS && use->unevenness <= MAX_UNEVENNESS * MAX_UNEVENNESS;
}

/* By count; within one count the name that follows the most idle time, where a round begins. */
static int compare_uses(const void *pa, const void *pb)
{
    const struct name_use *a = pa;
    const struct name_use *b = pb;

    if (may_be_anchor(a) != may_be_anchor(b))
        return may_be_anchor(a) ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    if (a->gap_ns != b->gap_ns)
        return a->gap_ns > b->gap_ns ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static int compare_evenness(const void *pa, const void *pb)
{
    const struct name_use *a = pa;
    const struct name_use *b = pb;

    if (a->unevenness != b->unevenness)
        return a->unevenness < b->unevenness ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Moves one anchor of each count to the front, the most even ones first. */
static size_t choose_anchors(struct search *s)
{
    size_t n = 0;

    qsort(s->names, s->n_names, sizeof *s->names, compare_uses);
    for (size_t i = 0; i < s->n_names && may_be_anchor(&s->names[i]); i++) {
        if (n == 0 || s->names[i].count != s->names[n - 1].count)
            s->names[n++] = s->names[i];
    }
    qsort(s->names, n, sizeof *s->names, compare_evenness);
    return n < MAX_ANCHORS ? n : MAX_ANCHORS;
}

/*
 * Likeness of the round [from, to) and the one before, whose bag is bags[1]: launches that pair up,
 * over those of the longer round. Leaves the round's own bag in bags[0].
 */
static double compare_round(struct search *s, size_t from, size_t to, size_t before_len)
{
    const size_t len = to - from;
    size_t common = 0;

    for (size_t i = from; i < to; i++) {
        const uint32_t token = s->tokens[i];

        common += ++s->bags[0][token] <= s->bags[1][token];
    }
    return (double)common / (double)(len > before_len ? len : before_len);
}

static void empty_bag(const struct search *s, uint32_t *bag, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        bag[s->tokens[i]] = 0;
}

static void swap_bags(struct search *s)
{
    uint32_t *bag = s->bags[0];

    s->bags[0] = s->bags[1];
    s->bags[1] = bag;
}

/* Time of the launches of [from, to) that a round with the bag bags[1] does not have. */
static double excess_ns(const struct search *s, size_t from, size_t to)
{
    double excess = 0;

    for (size_t i = from; i < to; i++) {
        const uint32_t token = s->tokens[i];

        if (s->bags[1][token])
            s->bags[1][token]--;
        else
            excess += (double)event_at(s, i)->dur_ns;
    }
    return excess;
}

static double work_ns(const struct search *s, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += (double)event_at(s, i)->dur_ns;
    return sum;
}

static size_t round_end(const struct search *s, const struct cut *c, size_t i)
{
    return i + 1 < c->n ? c->at[i + 1] : s->n;
}

/* likeness[i] of round i and round i - 1; false when the sequence goes on with something else. */
static bool compare_rounds(struct search *s, const struct cut *c, double *likeness)
{
    const size_t last = c->n - 1;
    bool ends_well;

    for (size_t i = 0; i < c->n; i++) {
        const size_t end = round_end(s, c, i);

        likeness[i] = compare_round(s, c->at[i], end, i ? c->at[i] - c->at[i - 1] : 0);
        if (i < last) {
            if (i)
                empty_bag(s, s->bags[1], c->at[i - 1], c->at[i]);
            swap_bags(s);
        }
    }
    ends_well =
        excess_ns(s, c->at[last], s->n) <= MAX_EXCESS * work_ns(s, c->at[last - 1], c->at[last]);
    empty_bag(s, s->bags[1], c->at[last - 1], c->at[last]);
    empty_bag(s, s->bags[0], c->at[last], s->n);
    return ends_well;
}

/* The longest run of rounds up to the end that are alike on the whole. */
static void find_loop(const struct search *s, struct cut *c, const double *likeness)
{
    const size_t last = c->n - 1;
    const size_t end = likeness[last] >= MIN_LIKENESS ? c->n : last;
    double alike = 0;
    double launches = 0;

    c->tail_is_round = end == c->n;
    for (size_t i = end; i-- > 1;) {
        const double len = (double)(round_end(s, c, i) - c->at[i]);

        alike += likeness[i] * len;
        launches += len;
        if (alike < MIN_LIKENESS * launches)
            break;
        if (likeness[i] < MIN_LIKENESS)
            continue;
        c->first = i - 1;
        c->rounds = end - c->first;
        c->likeness = alike / launches;
    }
}

/* Cuts at one anchor; c->rounds stays 0 when that shows no loop. The caller frees c->at. */
static bool try_anchor(struct search *s, const struct name_use *anchor, struct cut *c,
                       struct kr_err *err)
{
    double *likeness = kr_xcalloc(anchor->count, sizeof *likeness, err);

    *c = (struct cut){ .at = kr_xcalloc(anchor->count, sizeof *c->at, err),
                       .gap_ns = (double)anchor->gap_ns / (double)(anchor->count - 1) };
    if (!likeness || !c->at) {
        free(likeness);
        return false;
    }
    for (size_t i = anchor->first; i <= anchor->last; i++) {
        if (s->tokens[i] == anchor->token)
            c->at[c->n++] = i;
    }
    if (compare_rounds(s, c, likeness))
        find_loop(s, c, likeness);
    if (c->rounds < MIN_ROUNDS || s->n - c->at[c->first] < c->rounds * MIN_PERIOD ||
        (double)(s->n - c->at[c->first]) < MIN_COVERAGE * (double)(s->n - s->base))
        c->rounds = 0;
    free(likeness);
    return true;
}

/*
 * More alike is better; where that ties, more rounds, for twice a period is a period too; where
 * they differ by less than half, it is one loop cut at two places, and the longer idle time begins
 * it.
 */
static bool is_better(const struct cut *a, const struct cut *b)
{
    if (!a->rounds || !b->rounds)
        return a->rounds > 0;
    if (a->likeness > b->likeness + LIKENESS_TIE || b->likeness > a->likeness + LIKENESS_TIE)
        return a->likeness > b->likeness;
    if (2 * a->rounds > 3 * b->rounds || 2 * b->rounds > 3 * a->rounds)
        return a->rounds > b->rounds;
    if (a->gap_ns > b->gap_ns || b->gap_ns > a->gap_ns)
        return a->gap_ns > b->gap_ns;
    return a->rounds > b->rounds;
}

static bool search_loop(struct search *s, struct cut *best, struct kr_err *err)
{
    size_t n_anchors;

    if (!study_names(s, err))
        return false;
    n_anchors = choose_anchors(s);
    for (size_t i = 0; i < n_anchors; i++) {
        struct cut c;

        if (!try_anchor(s, &s->names[i], &c, err)) {
            free(c.at);
            return false;
        }
        if (is_better(&c, best)) {
            free(best->at);
            *best = c;
        } else {
            free(c.at);
        }
    }
    return true;
}

static int compare_sizes(const void *pa, const void *pb)
{
    const size_t a = *(const size_t *)pa;
    const size_t b = *(const size_t *)pb;

    return (a > b) - (a < b);
}

static bool measure_period(struct search *s, const struct cut *c, struct kr_repeat *out,
                           struct kr_err *err)
{
    size_t *lengths = kr_xcalloc(c->rounds, sizeof *lengths, err);

    if (!lengths)
        return false;
    for (size_t i = 0; i < c->rounds; i++)
        lengths[i] = round_end(s, c, c->first + i) - c->at[c->first + i];
    qsort(lengths, c->rounds, sizeof *lengths, compare_sizes);
    out->period = lengths[c->rounds / 2];
    free(lengths);
    return true;
}

/* A loop that fills the part that was searched goes on backwards by the same anchor. */
static bool make_rounds(struct search *s, const struct cut *c, struct kr_repeat *out,
                        struct kr_err *err)
{
    const uint32_t anchor = s->tokens[c->at[0]];
    const size_t begin = s->base > 0 && c->first == 0 ? 0 : c->at[c->first];
    const size_t end = c->tail_is_round ? s->n : c->at[c->n - 1];
    size_t cap = 0;

    for (size_t i = begin; i < end; i++) {
        if (s->tokens[i] != anchor)
            continue;
        if (!kr_grow(&out->starts_ns, &cap, out->n + 1, sizeof *out->starts_ns, SIZE_MAX / 16, err))
            return false;
        out->starts_ns[out->n++] = event_at(s, i)->start_ns;
    }
    out->end_ns = c->tail_is_round ? INT64_MIN : event_at(s, end)->start_ns;
    for (size_t i = 0; c->tail_is_round && i < s->t->n_events; i++) {
        const int64_t end_ns = kr_sweep_end_ns(&s->t->events[i]);

        if (end_ns > out->end_ns)
            out->end_ns = end_ns;
    }
    return measure_period(s, c, out, err);
}

bool kr_repeat_find(const struct kr_timeline *t, struct kr_repeat *out, struct kr_err *err)
{
    struct search s = { .t = t };
    struct cut best = { 0 };
    bool done;

    *out = (struct kr_repeat){ 0 };
    done = read_sequence(&s, err) && search_loop(&s, &best, err) &&
           (!best.rounds || make_rounds(&s, &best, out, err));
    free(best.at);
    free(s.events);
    free(s.tokens);
    free(s.names);
    free(s.bags[0]);
    free(s.bags[1]);
    if (!done)
        kr_repeat_free(out);
    return done;
}

void kr_repeat_free(struct kr_repeat *repeat)
{
    free(repeat->starts_ns);
    *repeat = (struct kr_repeat){ 0 };
}

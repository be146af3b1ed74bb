#include "repeat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* Limits of what counts as a loop; shares are of launches, but for MAX_FOREIGN_TIME. */
enum { MIN_ROUNDS = 3, MIN_PERIOD = 2, MAX_ANCHORS = 24, MAX_TOKENS = 1 << 20 };
static const double MIN_LIKENESS = 0.95;  /* of two rounds that are alike */
static const double MIN_ALIKE = 0.9;      /* of the loop in rounds like the one before */
static const double ALIKE_TIE = 0.005;    /* shares this close are the same */
static const double GAP_TIE = 0.01;       /* idle times this close, of a round, are the same */
static const double MIN_COVERAGE = 0.5;   /* of the sequence by the loop */
static const double MAX_UNEVENNESS = 0.5; /* of an anchor's spacing: deviation over mean */

/* Kernels before and after the loop that a round does not have: number, and share of its time. */
enum { MAX_FOREIGN_BEFORE = 1, MAX_FOREIGN_AFTER = 3 };
static const double MAX_FOREIGN_TIME = 0.05;
/* The same after a loop whose rounds are no layers: so long, or with a loop inside. */
enum { MAX_EPILOGUE = 16, MIN_STEP_PERIOD = 128 };
static const double MAX_EPILOGUE_TIME = 0.25;
static const double MAX_TAIL_TIME = 2; /* of a round's time, for all that follows the last one */

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
    size_t rounds; /* full rounds, the last one included when the tail begins with one */
    bool tail_is_round;
    size_t tail_end; /* where that round ends */
    double alike;    /* share of launches in rounds like the one before */
    double gap_ns;   /* mean idle time before a round */
    double round_ns; /* mean time from one to the next */
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
        const int64_t end_ns = kr_end_ns(e->start_ns, e->dur_ns);
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

static void free_study(struct search *s)
{
    free(s->names);
    free(s->bags[0]);
    free(s->bags[1]);
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
        return KR_COMPARE(a->count, b->count);
    if (a->gap_ns != b->gap_ns)
        return KR_COMPARE(b->gap_ns, a->gap_ns);
    return KR_COMPARE(a->first, b->first);
}

static int compare_evenness(const void *pa, const void *pb)
{
    const struct name_use *a = pa;
    const struct name_use *b = pb;

    if (a->unevenness != b->unevenness)
        return KR_COMPARE(a->unevenness, b->unevenness);
    return KR_COMPARE(a->first, b->first);
}

/* The names of one count, from names[begin] on; where they end. */
static size_t end_of_count(const struct search *s, size_t begin)
{
    size_t end = begin;

    while (end < s->n_names && may_be_anchor(&s->names[end]) &&
           s->names[end].count == s->names[begin].count)
        end++;
    return end;
}

/* Where the last of these names is met, less a round: what ends before is no part of the loop. */
static size_t least_end(const struct search *s, size_t begin, size_t end)
{
    const struct name_use *latest = &s->names[begin];

    for (size_t i = begin + 1; i < end; i++) {
        if (s->names[i].last > latest->last)
            latest = &s->names[i];
    }
    return latest->last - (latest->last - latest->first) / (latest->count - 1);
}

/*
 * Moves two anchors of each count to the front, most even counts first: the one after the most idle
 * time, and the one that comes first, which finds three rounds where only three were recorded.
 */
static size_t choose_anchors(struct search *s)
{
    size_t n = 0;
    size_t next;

    qsort(s->names, s->n_names, sizeof *s->names, compare_uses);
    for (size_t i = 0; i < s->n_names && may_be_anchor(&s->names[i]); i = next) {
        struct name_use idle = { 0 };
        struct name_use first = { 0 };

        next = end_of_count(s, i);
        const size_t late = least_end(s, i, next);
        for (size_t k = i; k < next; k++) {
            const struct name_use *use = &s->names[k];

            if (use->last < late)
                continue;
            if (!idle.count) /* they are sorted by idle time */
                idle = *use;
            if (!first.count || use->first < first.first)
                first = *use;
        }
        s->names[n++] = idle;
        if (first.token != idle.token)
            s->names[n++] = first;
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

static double work_ns(const struct search *s, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += (double)event_at(s, i)->dur_ns;
    return sum;
}

/* A stretch of the sequence. */
struct stretch {
    size_t from, to;
};

/* What a piece may hold that a round does not. */
struct allowance {
    size_t kernels;
    double time; /* of a round's */
};

/*
 * True when a piece may be a round that the recording cut: it holds hardly anything that the round
 * does not, and takes not much longer. Both bags are empty before and after.
 */
static bool is_part_of_round(struct search *s, struct stretch piece, struct stretch round,
                             struct allowance allowed)
{
    const double round_ns = work_ns(s, round.from, round.to);
    double foreign_ns = 0;
    size_t foreign = 0;

    for (size_t i = round.from; i < round.to; i++)
        s->bags[0][s->tokens[i]]++;
    for (size_t i = piece.from; i < piece.to; i++) {
        const uint32_t token = s->tokens[i];

        if (s->bags[0][token]) {
            s->bags[0][token]--;
        } else {
            foreign += event_at(s, i)->kind == KR_KERNEL;
            foreign_ns += (double)event_at(s, i)->dur_ns;
        }
    }
    empty_bag(s, s->bags[0], round.from, round.to);
    return foreign <= allowed.kernels && foreign_ns <= allowed.time * round_ns &&
           work_ns(s, piece.from, piece.to) <= MAX_TAIL_TIME * round_ns;
}

static size_t round_end(const struct cut *c, size_t i)
{
    return i + 1 < c->n ? c->at[i + 1] : c->tail_end;
}

/*
 * Likeness of the last round and the one before. Something else may follow it: where it is not like
 * the one before, as many launches as that had may be.
 */
static double compare_tail(struct search *s, struct cut *c, size_t before_len)
{
    const size_t from = c->at[c->n - 1];
    double likeness;

    c->tail_end = s->n;
    likeness = compare_round(s, from, c->tail_end, before_len);
    if (likeness >= MIN_LIKENESS || s->n - from <= before_len)
        return likeness;
    empty_bag(s, s->bags[0], from, c->tail_end);
    c->tail_end = from + before_len;
    return compare_round(s, from, c->tail_end, before_len);
}

/* likeness[i] of round i and round i - 1. */
static void compare_rounds(struct search *s, struct cut *c, double *likeness)
{
    for (size_t i = 0; i < c->n; i++) {
        const size_t before_len = i ? c->at[i] - c->at[i - 1] : 0;

        likeness[i] = i + 1 < c->n ? compare_round(s, c->at[i], c->at[i + 1], before_len)
                                   : compare_tail(s, c, before_len);
        if (i)
            empty_bag(s, s->bags[1], c->at[i - 1], c->at[i]);
        swap_bags(s);
    }
    empty_bag(s, s->bags[1], c->at[c->n - 1], c->tail_end);
}

/* An inner loop is broken again and again: what comes before the break is like what comes after. */
static bool is_inner_loop(struct search *s, const struct cut *c)
{
    const size_t from = c->at[c->first];
    const size_t to = c->at[c->first + 1];
    bool inner = false;

    for (size_t back = 1; back <= 3 && back <= c->first && !inner; back++) {
        const size_t before_from = c->at[c->first - back];
        const size_t before_to = c->at[c->first - back + 1];

        for (size_t i = from; i < to; i++)
            s->bags[1][s->tokens[i]]++;
        inner = compare_round(s, before_from, before_to, to - from) >= MIN_LIKENESS;
        empty_bag(s, s->bags[0], before_from, before_to);
        empty_bag(s, s->bags[1], from, to);
    }
    return inner;
}

/* Where the last round of the loop ends. */
static size_t loop_end(const struct cut *c)
{
    return c->tail_is_round ? c->tail_end : c->at[c->n - 1];
}

/* The longest run of rounds up to the end that are alike on the whole. */
static void find_loop(struct cut *c, const double *likeness)
{
    const size_t last = c->n - 1;
    const size_t end = likeness[last] >= MIN_LIKENESS ? c->n : last;
    double alike = 0;
    double launches = 0;

    c->tail_is_round = end == c->n;
    for (size_t i = end; i-- > 1;) {
        const double len = (double)(round_end(c, i) - c->at[i]);

        launches += len;
        if (likeness[i] >= MIN_LIKENESS)
            alike += len;
        if (alike < MIN_ALIKE * launches)
            break;
        if (likeness[i] < MIN_LIKENESS)
            continue;
        c->first = i - 1;
        c->rounds = end - c->first;
        c->alike = alike / launches;
    }
}

/* Cuts at one anchor; c->rounds stays 0 when no loop ends there. The caller frees c->at. */
static bool cut_at(struct search *s, const struct name_use *anchor, struct cut *c,
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
    c->round_ns = (double)((uint64_t)event_at(s, anchor->last)->start_ns -
                           (uint64_t)event_at(s, anchor->first)->start_ns) /
                  (double)(anchor->count - 1);
    compare_rounds(s, c, likeness);
    find_loop(c, likeness);
    const size_t covered = loop_end(c) - c->at[c->first];
    if (c->rounds < MIN_ROUNDS || covered < c->rounds * MIN_PERIOD ||
        (double)covered < MIN_COVERAGE * (double)(s->n - s->base))
        c->rounds = 0;
    free(likeness);
    return true;
}

/* Whether a round repeats something in turn, as a step does its layers. */
static bool has_loop_inside(const struct search *outer, struct stretch round, bool *found,
                            struct kr_err *err)
{
    struct search s = *outer;
    size_t n_anchors;
    bool done;

    s.base = round.from;
    s.n = round.to;
    s.names = NULL;
    s.bags[0] = s.bags[1] = NULL;
    *found = false;
    done = study_names(&s, err);
    n_anchors = done ? choose_anchors(&s) : 0;
    for (size_t i = 0; i < n_anchors && done && !*found; i++) {
        struct cut c;

        done = cut_at(&s, &s.names[i], &c, err);
        *found = done && c.rounds > 0;
        free(c.at);
    }
    free_study(&s);
    return done;
}

/* Layers are short, and have no layers. */
static bool are_no_layers(const struct search *s, struct stretch round, bool *known,
                          struct kr_err *err)
{
    *known = round.to - round.from >= MIN_STEP_PERIOD;
    return *known || has_loop_inside(s, round, known, err);
}

/*
 * A loop goes on until the recording stops, and a recording that starts inside of it starts with
 * part of a round. Layers do not: they come between an embedding and a head. What is as long as a
 * round, a prompt or a warm-up, may precede the loop. Rounds that cannot be layers may have a few
 * kernels behind them, such as those of a mean that is printed; and anything around them in a
 * recording of a whole program, which makes its weights before and evaluates them afterwards.
 */
static bool has_loop_ends(struct search *s, const struct cut *c, bool *good, struct kr_err *err)
{
    static const struct allowance around[] = { { MAX_FOREIGN_BEFORE, MAX_FOREIGN_TIME },
                                               { MAX_FOREIGN_AFTER, MAX_FOREIGN_TIME },
                                               { MAX_EPILOGUE, MAX_EPILOGUE_TIME } };
    const size_t last = c->n - 1;
    const struct stretch before = { s->base, c->at[c->first] };
    const struct stretch first = { c->at[c->first], c->at[c->first + 1] };
    const struct stretch last_full = { c->at[last - 1], c->at[last] };
    const struct stretch tail = { c->at[last], s->n };
    const bool begins = before.to - before.from >= first.to - first.from ||
                        work_ns(s, before.from, before.to) >= work_ns(s, first.from, first.to) ||
                        is_part_of_round(s, before, first, around[0]);

    *good = begins && is_part_of_round(s, tail, last_full, around[1]);
    if (*good || !(s->t->source.whole_program ||
                   (begins && is_part_of_round(s, tail, last_full, around[2]))))
        return true;
    return are_no_layers(s, last_full, good, err);
}

/* A cut whose rounds are no steps has none in the end. */
static bool try_anchor(struct search *s, const struct name_use *anchor, struct cut *c,
                       struct kr_err *err)
{
    bool good = false;

    if (!cut_at(s, anchor, c, err))
        return false;
    if (c->rounds && !is_inner_loop(s, c) && !has_loop_ends(s, c, &good, err))
        return false;
    if (!good)
        c->rounds = 0;
    return true;
}

/*
 * More alike is better; where that ties, more rounds, for twice a period is a period too; where
 * they differ by less than half, it is one loop cut at two places, and the longer idle time begins
 * it, if there is any to speak of.
 */
static bool is_better(const struct cut *a, const struct cut *b)
{
    if (!a->rounds || !b->rounds)
        return a->rounds > 0;
    if (a->alike > b->alike + ALIKE_TIE || b->alike > a->alike + ALIKE_TIE)
        return a->alike > b->alike;
    if (2 * a->rounds > 3 * b->rounds || 2 * b->rounds > 3 * a->rounds)
        return a->rounds > b->rounds;
    if (fabs(a->gap_ns - b->gap_ns) > GAP_TIE * a->round_ns)
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

    return KR_COMPARE(a, b);
}

static bool measure_period(const struct cut *c, struct kr_repeat *out, struct kr_err *err)
{
    size_t *lengths = kr_xcalloc(c->rounds, sizeof *lengths, err);

    if (!lengths)
        return false;
    for (size_t i = 0; i < c->rounds; i++)
        lengths[i] = round_end(c, c->first + i) - c->at[c->first + i];
    qsort(lengths, c->rounds, sizeof *lengths, compare_sizes);
    out->period = lengths[c->rounds / 2];
    free(lengths);
    return true;
}

/* The end of the last round: where the next would begin, or with its own last work. */
static int64_t end_of_rounds(const struct search *s, const struct cut *c)
{
    int64_t last_ns = INT64_MIN;

    if (!c->tail_is_round)
        return event_at(s, c->at[c->n - 1])->start_ns;
    if (c->tail_end < s->n) {
        const struct kr_event *last = event_at(s, c->tail_end - 1);

        return kr_end_ns(last->start_ns, last->dur_ns);
    }
    for (size_t i = 0; i < s->t->n_events; i++) {
        const int64_t end_ns = kr_end_ns(s->t->events[i].start_ns, s->t->events[i].dur_ns);

        if (end_ns > last_ns)
            last_ns = end_ns;
    }
    return last_ns;
}

/* A loop that fills the part that was searched goes on backwards by the same anchor. */
static bool make_rounds(struct search *s, const struct cut *c, struct kr_repeat *out,
                        struct kr_err *err)
{
    const uint32_t anchor = s->tokens[c->at[0]];
    const size_t begin = s->base > 0 && c->first == 0 ? 0 : c->at[c->first];
    const size_t end = loop_end(c);
    size_t cap = 0;

    for (size_t i = begin; i < end; i++) {
        if (s->tokens[i] != anchor)
            continue;
        if (!kr_grow(&out->starts_ns, &cap, out->n + 1, sizeof *out->starts_ns, SIZE_MAX / 16, err))
            return false;
        out->starts_ns[out->n++] = event_at(s, i)->start_ns;
    }
    out->end_ns = end_of_rounds(s, c);
    return measure_period(c, out, err);
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
    free_study(&s);
    if (!done)
        kr_repeat_free(out);
    return done;
}

void kr_repeat_free(struct kr_repeat *repeat)
{
    free(repeat->starts_ns);
    *repeat = (struct kr_repeat){ 0 };
}

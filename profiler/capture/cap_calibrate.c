#include "cap_calibrate.h"

#include "cap_say.h"

#include <string.h>

/* A stretch lasts that many steps and that long, whichever takes more. */
#define STRETCH_STEPS 8
#define STRETCH_NS    250000000

/* Stretches without recording. Each differs by so much from the recorded ones around it; the second
 * least and the second greatest of nine such differences hold the true median with 96 % confidence,
 * and one stretch at either end may be disturbed. */
#define STRETCHES 9

/* A program that marks no step for so many times the longest one, and a second, has left its loop.
 */
#define LOST_STEPS 4
#define LOST_NS    1000000000

#define MIN_REPEATS 5
#define LABELS      256 /* a power of two; further labels are not considered */
#define LABELS_MOST 192
#define LABEL_BYTES 104
#define NO_KEY      0

/* All ranges of one name (but for its digits) on one thread. */
struct label {
    uint64_t key; /* NO_KEY = free */
    uint64_t n, covered_ns;
    char text[LABEL_BYTES];
};

static struct calibration {
    _Atomic uint64_t key;       /* of the steps; NO_KEY = not known */
    _Atomic uint32_t turn;      /* stretches begun; odd = without recording */
    _Atomic uint32_t last_turn; /* the one that lasts for ever; even */
    _Atomic uint32_t detached;  /* what the worker has made of it */
    /* Of the thread that makes steps, by MONOTONIC: programs set the other clocks. */
    _Atomic uint32_t steps; /* begun in this stretch */
    _Atomic int64_t stretch_start_ns, step_start_ns, longest_ns;
    /* The worker's: */
    struct label labels[LABELS];
    uint32_t n_labels;
    uint64_t from_ns, to_ns; /* CUPTI's clock: a stretch without recording; to 0 = goes on */
    bool over;               /* another client came: whose records are on is not ours to say */
} calibration;

/* Other threads may be counting the steps of the session before. */
void cap_calibrate_open(void)
{
    struct calibration *c = &calibration;

    atomic_store(&c->key, NO_KEY);
    atomic_store(&c->turn, 0);
    atomic_store(&c->last_turn, 0);
    atomic_store(&c->detached, 0);
    memset(c->labels, 0, sizeof c->labels);
    c->n_labels = 0;
    c->from_ns = 0;
    c->to_ns = 0;
    c->over = false;
}

/* The name with digits as they do not matter: "step 12" and "step 7" are both "step *". */
static size_t make_label(const char *name, size_t name_len, char *label)
{
    size_t len = 0;

    for (size_t i = 0; i < name_len && len + 1 < LABEL_BYTES; i++) {
        const bool digit = name[i] >= '0' && name[i] <= '9';
        if (!digit)
            label[len++] = name[i];
        else if (i == 0 || name[i - 1] < '0' || name[i - 1] > '9')
            label[len++] = '*';
    }
    label[len] = '\0';
    return len;
}

/* FNV-1a of the label and its thread. */
static uint64_t key_of(const char *label, size_t len, uint32_t thread)
{
    uint64_t key = 14695981039346656037ULL ^ thread;

    for (size_t i = 0; i < len; i++)
        key = (key ^ (uint8_t)label[i]) * 1099511628211ULL;
    key *= 1099511628211ULL;
    return key == NO_KEY ? 1 : key;
}

/* The first step after a move begins the stretch; enough of them end it. */
static void count_step(struct calibration *c, int64_t now_ns)
{
    uint32_t turn = atomic_load(&c->turn);

    if (turn >= atomic_load(&c->last_turn) || atomic_load(&c->detached) != (turn & 1))
        return;
    if (atomic_fetch_add(&c->steps, 1) == 0) {
        atomic_store(&c->stretch_start_ns, now_ns);
        return;
    }
    if (atomic_load(&c->steps) <= STRETCH_STEPS ||
        now_ns - atomic_load(&c->stretch_start_ns) < STRETCH_NS)
        return;
    atomic_store(&c->steps, 0);
    if (atomic_compare_exchange_strong(&c->turn, &turn, turn + 1))
        cap_wake_up(&cap_session.wake);
}

void cap_calibrate_begin(const char *name, size_t name_len, uint32_t thread)
{
    struct calibration *c = &calibration;
    const uint64_t key = atomic_load_explicit(&c->key, memory_order_relaxed);
    char label[LABEL_BYTES];

    if (key == NO_KEY || key_of(label, make_label(name, name_len, label), thread) != key)
        return;
    const int64_t now_ns = (int64_t)cap_now_ns();
    const int64_t before_ns = atomic_exchange(&c->step_start_ns, now_ns);
    if (before_ns != 0 && now_ns - before_ns > atomic_load(&c->longest_ns))
        atomic_store(&c->longest_ns, now_ns - before_ns);
    count_step(c, now_ns);
}

static struct label *find_label(struct calibration *c, uint64_t key)
{
    uint64_t at = key % LABELS;

    while (c->labels[at].key != NO_KEY && c->labels[at].key != key)
        at = (at + 1) % LABELS;
    return &c->labels[at];
}

void cap_calibrate_learn(const struct cap_recorder *r, const struct cap_range *range)
{
    struct calibration *c = &calibration;
    char text[LABEL_BYTES];

    if (!r->opts->calibrate || range->dur_ns == 0)
        return;
    const size_t len = make_label(range->name, range->name_len, text);
    const uint64_t key = key_of(text, len, range->thread);
    struct label *label = find_label(c, key);
    if (label->key == NO_KEY) {
        if (c->n_labels == LABELS_MOST)
            return;
        c->n_labels++;
        label->key = key;
        memcpy(label->text, text, len + 1);
    }
    label->n++;
    label->covered_ns += range->dur_ns;
}

/*
 * Steps cover the most time. So may their parts, of which the last may have ended and the step not
 * yet: of those that cover about as much, steps are the longest.
 */
static const struct label *best_label(const struct calibration *c)
{
    const struct label *best = NULL;
    uint64_t most_ns = 0;

    for (size_t i = 0; i < LABELS; i++) {
        if (c->labels[i].n >= MIN_REPEATS && c->labels[i].covered_ns > most_ns)
            most_ns = c->labels[i].covered_ns;
    }
    for (size_t i = 0; i < LABELS; i++) {
        const struct label *label = &c->labels[i];
        if (label->n < MIN_REPEATS || label->covered_ns < most_ns - most_ns / 5)
            continue;
        if (!best || label->covered_ns / label->n > best->covered_ns / best->n)
            best = label;
    }
    return best;
}

void cap_calibrate_choose(struct cap_recorder *r)
{
    struct calibration *c = &calibration;

    /* Only where there is something to stop, and steps that are part of what is recorded. */
    if (!r->opts->calibrate || c->over || atomic_load(&cap_session.window) != CAP_OPEN)
        return;
    const struct label *best = best_label(c);
    if (!best || best->key == atomic_load(&c->key))
        return;
    /* What was measured of other steps does not count: as many stretches again. */
    const uint32_t turn = atomic_load(&c->turn);
    atomic_store(&c->steps, 0);
    atomic_store(&c->step_start_ns, 0);
    atomic_store(&c->longest_ns, 0);
    atomic_store(&c->last_turn, turn + (turn & 1) + 2 * STRETCHES);
    atomic_store(&c->key, best->key);
    cap_recorder_info(r, "step_range", best->text);
}

/* Ends a stretch without recording that the program will not end, or must not. */
static void end_early(struct calibration *c, bool for_good)
{
    uint32_t turn = atomic_load(&c->turn);

    if (for_good) {
        c->over = true;
        atomic_store(&c->key, NO_KEY);
    }
    if (turn & 1 && atomic_compare_exchange_strong(&c->turn, &turn, turn + 1))
        atomic_store(&c->steps, 0);
}

static bool has_left_its_loop(const struct calibration *c)
{
    const int64_t since_ns = (int64_t)cap_now_ns() - atomic_load(&c->step_start_ns);

    return since_ns > LOST_STEPS * atomic_load(&c->longest_ns) + LOST_NS;
}

/* Records again. Where CUPTI refuses, the gap lasts to the end of the session. */
static void attach(struct cap_session *s, struct calibration *c)
{
    const int result = c->over ? CUPTI_OK : cap_kinds_enable(s);

    if (result == CUPTI_OK) {
        c->to_ns = cap_cupti_now(s);
        return;
    }
    cap_say("cannot record from here: %s", cap_cupti_explain(result).text);
    end_early(c, true);
}

void cap_calibrate_move(struct cap_session *s)
{
    struct calibration *c = &calibration;

    if (!s->opts.calibrate)
        return;
    if (atomic_load(&s->taken_over_ns) != 0 || s->rearmed_ns != 0 || atomic_load(&s->window_done))
        end_early(c, true);
    else if (atomic_load(&c->detached) && has_left_its_loop(c))
        end_early(c, false);
    const uint32_t detach = atomic_load(&c->turn) & 1;
    if (detach == atomic_load(&c->detached))
        return;
    if (detach) {
        c->from_ns = cap_cupti_now(s);
        cap_kinds_disable(s);
        s->cupti.flush_all(CUPTI_FLUSH_COMPLETE); /* now, and not amid the steps to be measured */
    } else {
        attach(s, c);
    }
    atomic_store(&c->detached, detach);
}

static void put_gap(struct cap_session *s, uint64_t to_ns)
{
    cap_recorder_gap(&s->recorder, KREACH_GAP_CALIBRATE, (int64_t)calibration.from_ns,
                     (int64_t)to_ns, "");
    calibration.from_ns = 0;
    calibration.to_ns = 0;
}

void cap_calibrate_note(struct cap_session *s)
{
    if (calibration.to_ns != 0)
        put_gap(s, calibration.to_ns);
}

void cap_calibrate_end(struct cap_session *s, uint64_t now_ns)
{
    cap_calibrate_note(s);
    if (calibration.from_ns != 0)
        put_gap(s, now_ns);
}

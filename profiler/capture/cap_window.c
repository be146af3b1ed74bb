#include "cap_window.h"

#include "cap_say.h"
#include "cap_steps.h"

#include <stdio.h>
#include <string.h>

#define FOREVER_NS 3600000000000ULL

/*
 * The longest that the program waits for a window that is being moved. Switching the kinds takes
 * 15 to 30 us (H200, CUPTI 13.0, tests/gpu/results/window_costs.json), and our thread may have to
 * wait for a CPU: this much means that CUPTI is stuck.
 */
#define WAIT_NS_MAX 1000000000ULL

/* What is refused now is tried again as the opening of a window: it is missed until then. */
static void take_back(struct cap_session *s, uint64_t from_ns)
{
    s->cupti.register_callbacks(cap_request, cap_complete);
    s->rearmed_from_ns = from_ns;
    if (atomic_load(&s->window) == CAP_OPEN && cap_kinds_enable(s) != CUPTI_OK) {
        cap_kinds_disable(s);
        atomic_store(&s->window, CAP_SHUT);
        s->window_shut_ns = cap_cupti_now(s);
    }
    s->rearmed_ns = cap_cupti_now(s);
    atomic_store(&s->taken_over_ns, 0);
}

/* Takes the buffers back from another client that has finished. */
static void rearm(struct cap_session *s)
{
    const uint64_t from_ns = atomic_load(&s->taken_over_ns);

    if (from_ns == 0)
        return;
    atomic_store(&s->rearming, 1); /* before looking: who takes over now waits */
    if (atomic_exchange(&s->rearm, 0) != 0)
        take_back(s, from_ns);
    atomic_store(&s->rearming, 0);
}

static bool move_window(struct cap_session *s, uint32_t from)
{
    return atomic_compare_exchange_strong(&s->window, &from, CAP_MOVING);
}

static void end_move(struct cap_session *s, uint32_t to)
{
    atomic_store(&s->window, to);
    cap_wake_up(&s->moved);
}

/* Opens unless it is open, over or being moved by another thread; false when CUPTI refuses. */
static bool open_window(struct cap_session *s)
{
    if (!move_window(s, CAP_SHUT))
        return true;
    if (atomic_load(&s->window_done)) {
        end_move(s, CAP_SHUT);
        return true;
    }
    const int result = cap_kinds_enable(s);
    if (result == CUPTI_OK) {
        atomic_store(&s->window_refused, CUPTI_OK);
        atomic_store(&s->window_opened_ns, cap_cupti_now(s));
        end_move(s, CAP_OPEN);
        return true;
    }
    cap_kinds_disable(s); /* the kinds before the one that was refused */
    end_move(s, CAP_SHUT);
    if (atomic_exchange(&s->window_refused, result) != result)
        cap_say("cannot record from here: %s", cap_cupti_explain(result).text);
    return false;
}

/*
 * The gap begins before the kinds go off one by one, and the flush comes when others may open
 * again: it takes far longer than the move.
 */
static void shut_window(struct cap_session *s)
{
    const uint64_t now_ns = cap_cupti_now(s);

    if (!move_window(s, CAP_OPEN))
        return;
    if (atomic_load(&s->window_wanted)) { /* who wants it has seen it open, and relies on that */
        end_move(s, CAP_OPEN);
        return;
    }
    cap_kinds_disable(s);
    s->window_shut_ns = now_ns;
    end_move(s, CAP_SHUT);
    s->cupti.flush_all(CUPTI_FLUSH_COMPLETE);
}

static uint64_t stamp(const struct cap_session *s)
{
    const uint64_t now_ns = cap_cupti_now(s);

    return now_ns ? now_ns : 1;
}

static void mark_missed(struct cap_session *s)
{
    uint64_t not_missing = 0;

    atomic_compare_exchange_strong(&s->missed_from_ns, &not_missing, stamp(s));
}

/* Opens before it returns, whoever is moving the window; what cannot be had in time is missed. */
static void open_now(struct cap_session *s)
{
    uint64_t until_ns = 0;

    for (;;) {
        const uint32_t ticket = cap_wake_ticket(&s->moved);
        if (atomic_load(&s->window) == CAP_OPEN || atomic_load(&s->window_done))
            return;
        if (!open_window(s))
            break;
        if (atomic_load(&s->window) != CAP_MOVING)
            continue;
        const uint64_t now_ns = cap_now_ns();
        if (until_ns == 0)
            until_ns = now_ns + WAIT_NS_MAX;
        if (now_ns >= until_ns || atomic_load(&s->missed_from_ns) != 0)
            break;
        cap_wake_wait(&s->moved, ticket, until_ns - now_ns);
    }
    mark_missed(s);
}

static bool is_early(const struct cap_session *s)
{
    return s->opts.delay_ns > 0 && cap_now_ns() < s->ready_ns + s->opts.delay_ns;
}

void cap_window_want(struct cap_session *s, bool open)
{
    if (!cap_session_active() || s->opts.plain || atomic_load(&s->window_done))
        return;
    if (!open)
        atomic_store(&s->unwanted_ns, cap_now_ns());
    atomic_store(&s->window_wanted, open);
    if (!open && atomic_load(&s->missed_from_ns) != 0)
        atomic_store(&s->missed_to_ns, stamp(s));
    if (open && (atomic_load(&s->window) == CAP_OPEN || is_early(s)))
        return;
    if (open)
        open_now(s);
    else if (atomic_load(&s->lingering))
        return; /* the worker will look */
    cap_wake_up(&s->wake);
}

/* Shuts a window that is not wanted, when its time is over; how long that still takes [ns]. */
static uint64_t let_go(struct cap_session *s, uint64_t now_ns)
{
    atomic_store(&s->lingering, 0); /* before looking: who wants it no more then wakes us */
    if (atomic_load(&s->window_wanted) || atomic_load(&s->window) != CAP_OPEN)
        return FOREVER_NS;
    const uint64_t until_ns = atomic_load(&s->unwanted_ns) + s->opts.linger_ns;
    if (until_ns > now_ns) {
        atomic_store(&s->lingering, 1);
        return until_ns - now_ns;
    }
    if (atomic_load(&s->window_opened_ns) != 0)
        return 0; /* the stretch before this opening has to be noted first */
    shut_window(s);
    return FOREVER_NS;
}

uint64_t cap_window_step(struct cap_session *s, uint64_t now_ns)
{
    rearm(s);
    if (atomic_load(&s->taken_over_ns) != 0)
        return FOREVER_NS; /* whose records are on is the other client's matter */
    if (s->opts.delay_ns > 0 && !s->delay_over) {
        const uint64_t opens_ns = s->ready_ns + s->opts.delay_ns;
        if (now_ns < opens_ns)
            return opens_ns - now_ns;
        s->delay_over = true;
        if (!s->opts.range[0] && !s->opts.profiler_api)
            atomic_store(&s->window_wanted, 1);
    }
    if (atomic_load(&s->window_wanted) && !open_window(s))
        mark_missed(s);
    if (s->opened_mono_ns == 0 && atomic_load(&s->window) == CAP_OPEN)
        s->opened_mono_ns = now_ns;
    return let_go(s, now_ns);
}

uint64_t cap_window_left_ns(const struct cap_session *s, uint64_t now_ns)
{
    if (s->opts.plain || s->opts.duration_ns == 0 || s->opened_mono_ns == 0 ||
        atomic_load(&s->window) != CAP_OPEN)
        return FOREVER_NS;
    const uint64_t ends_ns = s->opened_mono_ns + s->opts.duration_ns;
    return ends_ns > now_ns ? ends_ns - now_ns : 0;
}

static const char *window_spec(const struct cap_session *s)
{
    return s->opts.range[0] ? s->opts.range : s->opts.text;
}

/* Nothing else may be there to say of this process. */
static void note_takeover(struct cap_session *s, uint64_t from_ns, uint64_t to_ns)
{
    if (atomic_load(&s->window_done))
        return; /* nothing was to be recorded */
    s->recorder.wanted = true;
    cap_recorder_gap(&s->recorder, KREACH_GAP_TAKEOVER, (int64_t)from_ns, (int64_t)to_ns,
                     "another CUPTI client took over the buffers");
}

static uint64_t earlier_after(uint64_t from_ns, uint64_t a_ns, uint64_t b_ns)
{
    if (a_ns <= from_ns)
        return b_ns;
    return b_ns <= from_ns || a_ns < b_ns ? a_ns : b_ns;
}

/* Once it is over: missed until the window opened or was not wanted any more. */
static void note_missed(struct cap_session *s, uint64_t opened_ns, uint64_t now_ns)
{
    const uint64_t from_ns = atomic_exchange(&s->missed_from_ns, 0);
    const int refused = atomic_load(&s->window_refused);

    if (from_ns == 0)
        return;
    s->recorder.wanted = true; /* nothing else may be there to say */
    const uint64_t to_ns = earlier_after(from_ns, opened_ns, atomic_load(&s->missed_to_ns));
    cap_recorder_gap(&s->recorder, KREACH_GAP_MISSED, (int64_t)from_ns,
                     (int64_t)(to_ns > from_ns ? to_ns : now_ns),
                     refused ? cap_cupti_explain(refused).text : "CUPTI was busy");
}

static bool is_missing(const struct cap_session *s)
{
    return atomic_load(&s->window_wanted) && atomic_load(&s->window) != CAP_OPEN;
}

void cap_window_note(struct cap_session *s)
{
    const uint64_t opened_ns = atomic_exchange(&s->window_opened_ns, 0);

    if (atomic_load(&s->missed_from_ns) != 0 && !is_missing(s))
        note_missed(s, opened_ns, stamp(s));

    if (s->rearmed_ns) {
        note_takeover(s, s->rearmed_from_ns, s->rearmed_ns);
        cap_say("the other CUPTI client has finished; recording again");
        s->rearmed_ns = 0;
    }
    if (opened_ns == 0)
        return;
    /* A window that was never shut before has been shut since the start: 0. */
    cap_recorder_gap(&s->recorder, KREACH_GAP_WINDOW, (int64_t)s->window_shut_ns,
                     (int64_t)opened_ns, window_spec(s));
}

void cap_window_end(struct cap_session *s, uint64_t now_ns)
{
    const uint64_t taken_ns = atomic_load(&s->taken_over_ns);

    cap_window_note(s);
    note_missed(s, 0, now_ns);
    if (taken_ns != 0)
        note_takeover(s, taken_ns, now_ns);
    if (atomic_load(&s->window) != CAP_OPEN)
        cap_recorder_gap(&s->recorder, KREACH_GAP_WINDOW, (int64_t)s->window_shut_ns,
                         (int64_t)now_ns, window_spec(s));
}

bool cap_window_over(struct cap_session *s)
{
    uint32_t period = 0;

    if (s->opts.plain || atomic_load(&s->window_done))
        return false;
    if (cap_window_left_ns(s, cap_now_ns()) == 0)
        return true;
    if (s->opts.steps == 0 || cap_steps_repeated(&s->recorder.steps, &period) < s->opts.steps)
        return false;
    char text[64];
    snprintf(text, sizeof text, "%u", period);
    cap_recorder_info(&s->recorder, "step_kernels", text);
    return true;
}

/* Who wants it open finds that it is over, or had looked before: that wish comes too late. */
void cap_window_close(struct cap_session *s)
{
    atomic_store(&s->window_done, 1);
    for (;;) {
        const uint32_t ticket = cap_wake_ticket(&s->moved);
        if (atomic_load(&s->window) == CAP_SHUT)
            return;
        atomic_store(&s->window_wanted, 0);
        shut_window(s);
        if (atomic_load(&s->window) == CAP_MOVING)
            cap_wake_wait(&s->moved, ticket, WAIT_NS_MAX);
    }
}

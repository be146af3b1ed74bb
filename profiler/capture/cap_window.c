#include "cap_window.h"

#include "cap_say.h"
#include "cap_steps.h"

#include <stdio.h>
#include <string.h>

#define FOREVER_NS 3600000000000ULL

/* Takes the buffers back from another client that has finished. */
static void rearm(struct cap_session *s)
{
    const uint64_t from_ns = atomic_load(&s->taken_over_ns);

    if (from_ns == 0 || atomic_exchange(&s->rearm, 0) == 0)
        return;
    s->cupti.register_callbacks(cap_request, cap_complete);
    if (atomic_load(&s->window) == CAP_OPEN)
        cap_kinds_enable(s);
    s->rearmed_from_ns = from_ns;
    s->rearmed_ns = cap_cupti_now(s);
    atomic_store(&s->taken_over_ns, 0);
}

static bool move_window(struct cap_session *s, uint32_t from)
{
    return atomic_compare_exchange_strong(&s->window, &from, CAP_MOVING);
}

/* Opens unless it is open or being moved by another thread, which then looks at window_wanted. */
static void open_window(struct cap_session *s)
{
    if (!move_window(s, CAP_SHUT))
        return;
    int result = cap_kinds_enable(s);
    if (result != CUPTI_OK)
        cap_say("cannot record from here: %s", cap_cupti_explain(result).text);
    atomic_store(&s->window_opened_ns, cap_cupti_now(s));
    atomic_store(&s->window, result == CUPTI_OK ? CAP_OPEN : CAP_SHUT);
}

static void shut_window(struct cap_session *s)
{
    if (!move_window(s, CAP_OPEN))
        return;
    cap_kinds_disable(s);
    s->cupti.flush_all(CUPTI_FLUSH_COMPLETE);
    s->window_shut_ns = cap_cupti_now(s);
    atomic_store(&s->window, CAP_SHUT);
}

void cap_window_want(struct cap_session *s, bool open)
{
    if (!cap_session_active() || s->opts.plain)
        return;
    atomic_store(&s->window_wanted, open);
    if (open)
        open_window(s);
    cap_wake_up(&s->wake);
}

uint64_t cap_window_step(struct cap_session *s, uint64_t now_ns)
{
    rearm(s);
    if (s->opts.delay_ns > 0 && !s->delay_over) {
        const uint64_t opens_ns = s->ready_ns + s->opts.delay_ns;
        if (now_ns < opens_ns)
            return opens_ns - now_ns;
        s->delay_over = true;
        if (!s->opts.range[0] && !s->opts.profiler_api) {
            atomic_store(&s->window_wanted, 1);
            s->opened_mono_ns = now_ns;
        }
    }
    if (atomic_load(&s->window_wanted))
        open_window(s);
    else if (atomic_load(&s->window_opened_ns) == 0)
        shut_window(s);
    else
        return 0; /* the stretch before this opening has to be noted first */
    if (s->opts.duration_ns > 0 && atomic_load(&s->window) == CAP_OPEN) {
        const uint64_t ends_ns = s->opened_mono_ns + s->opts.duration_ns;
        return ends_ns > now_ns ? ends_ns - now_ns : 1;
    }
    return FOREVER_NS;
}

static const char *window_spec(const struct cap_session *s)
{
    return s->opts.range[0] ? s->opts.range : s->opts.text;
}

static const char takeover_text[] = "another CUPTI client took over the buffers";

void cap_window_note(struct cap_session *s)
{
    const uint64_t opened_ns = atomic_exchange(&s->window_opened_ns, 0);

    if (s->rearmed_ns) {
        cap_recorder_gap(&s->recorder, KREACH_GAP_TAKEOVER, (int64_t)s->rearmed_from_ns,
                         (int64_t)s->rearmed_ns, takeover_text);
        cap_say("the other CUPTI client has finished; recording again");
        s->rearmed_ns = 0;
    }
    if (opened_ns == 0)
        return;
    /* A window that was never shut before has been shut since the start: 0. */
    cap_recorder_gap(&s->recorder, KREACH_GAP_WINDOW, (int64_t)s->window_shut_ns,
                     (int64_t)opened_ns, window_spec(s));
    if (s->opened_mono_ns == s->ready_ns)
        s->opened_mono_ns = cap_now_ns();
}

void cap_window_end(struct cap_session *s, uint64_t now_ns)
{
    const uint64_t taken_ns = atomic_load(&s->taken_over_ns);

    cap_window_note(s);
    if (taken_ns != 0)
        cap_recorder_gap(&s->recorder, KREACH_GAP_TAKEOVER, (int64_t)taken_ns, (int64_t)now_ns,
                         takeover_text);
    if (atomic_load(&s->window) == CAP_SHUT)
        cap_recorder_gap(&s->recorder, KREACH_GAP_WINDOW, (int64_t)s->window_shut_ns,
                         (int64_t)now_ns, window_spec(s));
}

bool cap_window_over(struct cap_session *s)
{
    uint32_t period = 0;

    if (s->opts.plain)
        return false;
    if (s->opts.duration_ns > 0 && atomic_load(&s->window) == CAP_OPEN &&
        cap_now_ns() - s->opened_mono_ns >= s->opts.duration_ns)
        return true;
    if (s->opts.steps == 0 || cap_steps_repeated(&s->recorder, &period) < s->opts.steps)
        return false;
    char text[64];
    snprintf(text, sizeof text, "%u", period);
    cap_recorder_info(&s->recorder, "step_kernels", text);
    return true;
}

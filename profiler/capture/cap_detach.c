#include "cap_detach.h"

#include "cap_cuda.h"

#include <stdio.h>

#define VERSION_MIN 24 /* CUDA 12.6: before it, programs with graphs crash later on */

/* Set around the worker's own call, and touched by no other thread. */
static enum { NOTHING, WANTED, DONE } wish;
static int finalize_result;

void cap_detach_at_exit(struct cap_session *s)
{
    if (!pthread_equal(pthread_self(), s->worker) || wish != WANTED)
        return; /* a call of the program's */
    wish = DONE;
    finalize_result = s->cupti.finalize();
}

static const char *why_not(const struct cap_session *s, bool for_good)
{
    if (!for_good)
        return "it is needed again";
    if (s->opts.marks_after)
        return "what that costs is measured";
    if (!s->opts.finalize)
        return "not asked to leave";
    if (!s->cupti.finalize || !s->cupti.enable_callback || s->cupti.version < VERSION_MIN)
        return "this version cannot leave";
    if (atomic_load(&s->foreign_complete) || atomic_load(&s->taken_over_ns) != 0)
        return "another client uses it";
    if (s->recorder.graphs_seen)
        return "CUDA graphs were used, which would fail without it";
    return NULL;
}

/* The subscription goes with the rest; handle: ours. */
static const char *finalize(struct cap_session *s, cupti_subscriber_handle handle)
{
    if (s->cupti.enable_callback(1, handle, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_GET_VERSION) !=
        CUPTI_OK)
        return "it refuses callbacks";
    wish = WANTED;
    cap_cuda_version();
    const bool came = wish == DONE;
    wish = NOTHING;
    if (!came)
        return "its callback never came";
    return finalize_result == CUPTI_OK ? NULL : "it refuses to leave";
}

struct cap_detached cap_detach(struct cap_session *s, bool for_good)
{
    struct cap_detached result = { .gone = false };
    const char *why = why_not(s, for_good);
    const uint64_t start_ns = cap_now_ns();

    cap_kinds_disable(s);
    cupti_subscriber_handle handle = why ? NULL : atomic_exchange(&s->subscriber, NULL);
    if (!why && !handle)
        why = "another client has the subscription";
    if (!why)
        why = finalize(s, handle);
    if (!why) {
        result.gone = true;
        snprintf(result.text, sizeof result.text, "finalized in %llu us",
                 (unsigned long long)((cap_now_ns() - start_ns) / 1000));
        return result;
    }
    if (handle && s->cupti.unsubscribe)
        s->cupti.unsubscribe(handle);
    cap_session_unsubscribe(s);
    snprintf(result.text, sizeof result.text, "CUPTI stays: %s", why);
    return result;
}

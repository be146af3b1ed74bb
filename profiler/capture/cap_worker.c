/* The worker thread: decodes what CUPTI delivers, flushes on time, and ends the session. */
#include "cap_calibrate.h"
#include "cap_cuda.h"
#include "cap_detach.h"
#include "cap_nvtx.h"
#include "cap_say.h"
#include "cap_session.h"
#include "cap_steps.h"
#include "cap_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define CLOCK_ATTEMPTS 5
#define NEVER_NS       3600000000000ULL

/* For work to end that was launched before a window did. */
#define LATE_NS_MAX       10000000000ULL
#define LATE_PAUSE_NS     2000000ULL /* the first; then longer ones */
#define LATE_PAUSE_NS_MAX 100000000ULL

/* Stays out of the way until the process is gone: another thread has taken the recorder. */
static void park(struct cap_session *s)
{
    for (;;)
        cap_wake_wait(&s->wake, cap_wake_ticket(&s->wake), NEVER_NS);
}

static void enter_cupti(struct cap_session *s)
{
    uint32_t expected = CAP_OWNER_WORKER;

    if (!atomic_compare_exchange_strong(&s->owner, &expected, CAP_OWNER_IN_CUPTI))
        park(s);
}

static void leave_cupti(struct cap_session *s)
{
    uint32_t expected = CAP_OWNER_IN_CUPTI;

    if (!atomic_compare_exchange_strong(&s->owner, &expected, CAP_OWNER_WORKER))
        park(s);
}

static void flush_cupti(struct cap_session *s, uint32_t flag)
{
    enter_cupti(s);
    int result = s->cupti.flush_all(flag);
    leave_cupti(s);
    s->recorder.totals[KREACH_TOTAL_FLUSHES]++;
    if (result != CUPTI_OK && s->opts.verbose)
        cap_say("flush: %s", cap_cupti_explain(result).text);
}

/*
 * Decodes everything delivered so far and gives the buffers back to the pool. untimed: what records
 * without times are, unless another client took over while CUPTI had their buffer.
 */
static void take_buffers(struct cap_session *s, enum kreach_loss untimed)
{
    if (s->opts.plain)
        return;
    uint32_t at = cap_pool_collect(&s->pool);
    while (at != CAP_POOL_NONE) {
        const struct cap_buffer *buffer = &s->pool.buffers[at];
        const uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
        if (!s->opts.floor)
            cap_recorder_buffer(&s->recorder, &s->cupti, cap_pool_data(&s->pool, at),
                                buffer->valid_bytes,
                                buffer->outdated ? KREACH_LOST_TAKEOVER : untimed);
        cap_pool_recycle(&s->pool, at);
        at = next;
    }
    cap_pool_refill(&s->pool);
}

static void read_clocks(struct cap_session *s)
{
    struct cap_clock_reading best = { .width_ns = UINT64_MAX };

    enter_cupti(s);
    for (int i = 0; i < CLOCK_ATTEMPTS; i++) {
        const int64_t before_ns = cap_clock_ns(CLOCK_REALTIME);
        const uint64_t cupti_ns = cap_cupti_now(s);
        const int64_t raw_ns = cap_clock_ns(CLOCK_MONOTONIC_RAW);
        const int64_t after_ns = cap_clock_ns(CLOCK_REALTIME);
        const uint64_t width_ns = (uint64_t)(after_ns - before_ns);
        if (cupti_ns == 0 || after_ns < before_ns || width_ns >= best.width_ns)
            continue;
        best = (struct cap_clock_reading){ .realtime_ns = before_ns + (after_ns - before_ns) / 2,
                                           .monotonic_raw_ns = raw_ns,
                                           .cupti_ns = (int64_t)cupti_ns,
                                           .width_ns = width_ns };
    }
    leave_cupti(s);
    if (best.width_ns == UINT64_MAX)
        return;
    s->offset_ns = best.cupti_ns - best.realtime_ns;
    cap_recorder_clock(&s->recorder, &best);
}

static void read_drops(struct cap_session *s)
{
    size_t dropped = 0;

    enter_cupti(s);
    int result = s->cupti.dropped(NULL, 0, &dropped);
    leave_cupti(s);
    if (result != CUPTI_OK && !s->drops_unknown) {
        s->drops_unknown = true;
        cap_recorder_lost(&s->recorder, KREACH_LOST_COUNTER, 0, 0, cap_cupti_explain(result).text);
    } else if (result == CUPTI_OK && dropped > 0) {
        cap_recorder_lost(&s->recorder, KREACH_LOST_CUPTI, dropped, 0, "CUPTI's buffers were full");
    }
    uint64_t discarded = atomic_exchange(&s->discarded, 0);
    if (discarded > 0)
        cap_recorder_lost(&s->recorder, KREACH_LOST_MEMORY_CAP, discarded, 0,
                          "records came faster than the GPU finished them or the disk took them");
}

static void write_all(struct cap_session *s)
{
    struct cap_recorder *r = &s->recorder;
    const struct cap_pool *p = &s->pool;

    cap_nvtx_collect(r, s->offset_ns);
    cap_recorder_total(r, KREACH_TOTAL_OWN_CPU_NS, (uint64_t)cap_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    cap_recorder_total(r, KREACH_TOTAL_REQUESTS, atomic_load(&p->requests));
    cap_recorder_total(r, KREACH_TOTAL_REQUESTS_SLOW, atomic_load(&p->requests_slow));
    cap_recorder_total(r, KREACH_TOTAL_PEAK_POOL_BYTES, atomic_load(&p->made) * p->buffer_bytes);
    cap_recorder_flush(r, true);
}

/*
 * CUPTI keeps a kernel's times in buffers on the device, some 100,000 in each, until it can
 * complete the record; when all buffers are in use, times are lost (parcagpu issue 23 saw it at 25
 * million kernels with the limit of 250, at 0.9 million with 8). What can be counted is what fills
 * the buffers that CUPTI has of ours: not the kernels of graphs that are still queued, for which it
 * asks none until they ran.
 */
#define DEVICE_BUFFERS      250 /* CUPTI's default limit */
#define DEVICE_BUFFER_BYTES 3200000
#define DEVICE_RECORD_BYTES 32
#define KERNEL_RECORD_BYTES 216 /* CUPTI 13's, the longest */

static void watch_device_buffers(struct cap_session *s)
{
    const uint64_t buffers = s->opts.device_limit ? s->opts.device_limit : DEVICE_BUFFERS;
    const uint64_t bytes =
        s->opts.device_buffer_bytes ? s->opts.device_buffer_bytes : DEVICE_BUFFER_BYTES;
    const uint64_t limit = buffers * (bytes / DEVICE_RECORD_BYTES);
    const uint64_t waiting =
        cap_pool_outstanding(&s->pool) * (s->pool.buffer_bytes / KERNEL_RECORD_BYTES);
    char text[32];

    if (s->device_warned || waiting < limit / 10 * 8)
        return;
    s->device_warned = true;
    snprintf(text, sizeof text, "%llu", (unsigned long long)waiting);
    cap_recorder_info(&s->recorder, "device_records_waiting", text);
    cap_say("CUPTI has about %s records that are not complete; beyond %llu it may lose their "
            "times: wait for the device now and then, or raise device-limit",
            text, (unsigned long long)limit);
}

/*
 * CUPTI asks for a buffer when there is work: the file begins then, so that a process which is
 * killed before anything is flushed can be told from one that did nothing.
 */
static void begin_file(struct cap_session *s)
{
    if (s->recorder.wanted || s->opts.floor ||
        atomic_load(&s->pool.requests) == atomic_load(&s->requests_before))
        return;
    s->recorder.wanted = true;
    cap_recorder_flush(&s->recorder, false);
}

/* In a plain run there are ranges and no CUPTI: REALTIME stands for its clock. */
static void write_plain(struct cap_session *s)
{
    cap_nvtx_collect(&s->recorder, 0);
    if (cap_recorder_has_news(&s->recorder))
        write_all(s);
}

/* Once per flush period. CUPTI is left alone until it has asked for a buffer. */
static void tick(struct cap_session *s)
{
    if (s->opts.plain) {
        write_plain(s);
        return;
    }
    if (atomic_load(&s->pool.requests) == 0 && !cap_recorder_has_news(&s->recorder))
        return;
    /* While another client has the callbacks, a flush would hand its buffers over. */
    if (cap_pool_outstanding(&s->pool) > 0 && atomic_load(&s->taken_over_ns) == 0)
        flush_cupti(s, CUPTI_FLUSH_COMPLETE);
    take_buffers(s, KREACH_LOST_ZERO_TIME);
    watch_device_buffers(s);
    if (!cap_recorder_has_news(&s->recorder) && !s->recorder.opened)
        return;
    read_drops(s);
    read_clocks(s);
    write_all(s);
}

/* Between ticks: profilers that mark each operation make a hundred thousand ranges a second. */
static void write_many_ranges(struct cap_session *s)
{
    if (!cap_nvtx_has_many() || !s->recorder.opened)
        return;
    if (!s->opts.plain)
        read_clocks(s);
    write_all(s);
}

/*
 * Once, at the end: what CUPTI never gives back went to a client that took over unseen, or is stuck
 * in it. How many records that are, nobody can tell.
 */
static void force_buffers(struct cap_session *s)
{
    const uint64_t asked = atomic_load(&s->pool.requests);
    char detail[64];

    flush_cupti(s, CUPTI_FLUSH_FORCED);
    const uint64_t back = atomic_load(&s->pool.completions);
    if (back >= asked)
        return;
    snprintf(detail, sizeof detail, "CUPTI never gave back %llu buffers",
             (unsigned long long)(asked - back));
    cap_recorder_lost(&s->recorder, KREACH_LOST_TAKEOVER, 0, 0, detail);
}

static void take_complete(struct cap_session *s)
{
    flush_cupti(s, CUPTI_FLUSH_COMPLETE);
    take_buffers(s, KREACH_LOST_ZERO_TIME);
}

/*
 * The program goes on, and what it had launched when the kinds went off is still to come; a launch
 * of a graph that was under way then is recorded whole. Waiting for the device would be quicker,
 * and would break the capture of a graph that may be going on. Nobody waits for us, unless the
 * program ends.
 */
static void take_late(struct cap_session *s)
{
    const uint64_t until_ns = cap_now_ns() + LATE_NS_MAX;
    uint64_t pause_ns = LATE_PAUSE_NS;

    take_complete(s);
    while (cap_pool_outstanding(&s->pool) > 0 && cap_now_ns() < until_ns) {
        const uint32_t ticket = cap_wake_ticket(&s->wake);
        if (atomic_load(&s->hurried))
            return;
        cap_wake_wait(&s->wake, ticket, pause_ns);
        take_complete(s);
        pause_ns += pause_ns < LATE_PAUSE_NS_MAX ? pause_ns : 0;
    }
}

/* What the program had launched when it ended. */
static void wait_and_take(struct cap_session *s)
{
    enter_cupti(s);
    cap_cuda_synchronize(atomic_load(&s->exit_context), s->recorder.devices, s->recorder.n_devices);
    leave_cupti(s);
    take_complete(s);
}

/* What CUPTI still has. A flush can block where the GPU was never used: CUPTI then asked nothing.
 */
static void take_the_rest(struct cap_session *s)
{
    enum kreach_loss untimed = KREACH_LOST_ZERO_TIME;

    if (atomic_load(&s->taken_over_ns) == 0) {
        if (s->end == KREACH_END_WINDOW)
            take_late(s);
        if (s->end != KREACH_END_WINDOW || atomic_load(&s->hurried))
            wait_and_take(s);
        if (cap_pool_outstanding(&s->pool) > 0) {
            /* What the flush before did not give is not complete: CUPTI may still get its times. */
            force_buffers(s);
            untimed = KREACH_LOST_UNFINISHED;
        }
    }
    take_buffers(s, untimed);
}

static void collect_the_rest(struct cap_session *s)
{
    if (atomic_load(&s->pool.requests) > 0)
        take_the_rest(s);
    else if (!cap_recorder_has_news(&s->recorder) && atomic_load(&s->missed_from_ns) == 0 &&
             atomic_load(&s->taken_over_ns) == 0)
        return;
    enter_cupti(s);
    const uint64_t now_ns = cap_cupti_now(s);
    leave_cupti(s);
    cap_window_end(s, now_ns);
    cap_calibrate_end(s, now_ns);
    read_drops(s);
    read_clocks(s);
}

/* Gives CUPTI up in a process that goes on; whether it is gone is part of the file. */
static void detach(struct cap_session *s, bool for_good)
{
    enter_cupti(s);
    const struct cap_detached detached = cap_detach(s, for_good);
    leave_cupti(s);
    if (!for_good)
        return;
    cap_recorder_info(&s->recorder, "detach", detached.text);
    if (!detached.gone)
        cap_say("the window is over. %s; launches cost a little more than without it",
                detached.text);
}

static void drain(struct cap_session *s)
{
    const enum kreach_end end = (enum kreach_end)s->end;
    const bool goes_on = !s->opts.plain && (end == KREACH_END_WINDOW || end == KREACH_END_EXEC);

    if (goes_on) {
        enter_cupti(s);
        s->exec_ns = end == KREACH_END_EXEC ? cap_cupti_now(s) : 0;
        cap_kinds_disable(s);
        leave_cupti(s);
    }
    if (s->opts.plain)
        write_plain(s);
    else
        collect_the_rest(s);
    if (cap_recorder_has_news(&s->recorder) || s->recorder.opened)
        write_all(s); /* before anything can go wrong with CUPTI */
    if (goes_on)
        detach(s, end == KREACH_END_WINDOW);
    else if (s->opts.steps > 0 && !atomic_load(&s->window_done) && s->recorder.opened)
        cap_say("process %d: no %u steps in a row looked alike; all of it was recorded",
                (int)s->pid, s->opts.steps);
    cap_recorder_end(&s->recorder, end, s->end_detail);
    if (s->recorder.lost_ever > 0)
        cap_say("process %d: the recording is incomplete; 'kreach report' tells what is missing",
                (int)s->pid);
}

/* The window is over; the session goes on, with nothing but the program's ranges. */
static void go_on_with_marks(struct cap_session *s)
{
    enter_cupti(s);
    cap_window_close(s);
    leave_cupti(s);
    detach(s, true);
}

/* The worker ends the session itself when the window is over. */
static bool window_is_over(struct cap_session *s)
{
    uint32_t on = CAP_ON;

    if (!cap_window_over(s))
        return false;
    if (s->opts.marks_after) {
        go_on_with_marks(s);
        return false;
    }
    if (!atomic_compare_exchange_strong(&s->phase, &on, CAP_DRAINING))
        return false;
    s->end = KREACH_END_WINDOW;
    snprintf(s->end_detail, sizeof s->end_detail, "%s", "the window is over");
    return true;
}

/* Moves the window where it is wanted; how long until it must be looked at again [ns]. */
static uint64_t step_window(struct cap_session *s, uint64_t now_ns)
{
    if (s->opts.plain)
        return NEVER_NS;
    enter_cupti(s);
    const uint64_t window_ns = cap_window_step(s, now_ns);
    cap_calibrate_move(s);
    const uint64_t devices_ns = cap_kinds_fit_devices(s, now_ns);
    leave_cupti(s);
    cap_window_note(s);
    cap_calibrate_note(s);
    const uint64_t left_ns = cap_window_left_ns(s, now_ns);
    const uint64_t sooner_ns = window_ns < devices_ns ? window_ns : devices_ns;
    return sooner_ns < left_ns ? sooner_ns : left_ns;
}

void *cap_worker_main(void *session)
{
    struct cap_session *s = session;
    uint64_t next_ns = cap_now_ns() + s->opts.flush_ns;

    prctl(PR_SET_NAME, "kreach");
    cap_calibrate_open();
    for (;;) {
        const uint32_t ticket = cap_wake_ticket(&s->wake);
        uint64_t now_ns = cap_now_ns();

        if (atomic_load(&s->end_asked))
            break;
        take_buffers(s, KREACH_LOST_ZERO_TIME);
        begin_file(s);
        if (now_ns >= next_ns || cap_window_left_ns(s, now_ns) == 0) {
            tick(s);
            next_ns = now_ns + s->opts.flush_ns;
            if (window_is_over(s))
                break;
        }
        write_many_ranges(s);
        const uint64_t step_ns = step_window(s, now_ns);
        now_ns = cap_now_ns();
        if (next_ns > now_ns)
            cap_wake_wait(&s->wake, ticket,
                          step_ns < next_ns - now_ns ? step_ns : next_ns - now_ns);
    }
    drain(s);
    atomic_store(&s->phase, CAP_DONE);
    cap_wake_up(&s->done);
    return NULL;
}

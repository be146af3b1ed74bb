#include "cap_session.h"

#include "cap_cuda.h"
#include "cap_detach.h"
#include "cap_nvtx.h"
#include "cap_quiet.h"
#include "cap_say.h"
#include "cap_self.h"
#include "cap_thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cap_session cap_session;

static bool advance(struct cap_session *s, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&s->phase, &from, to);
}

bool cap_session_active(void)
{
    return atomic_load(&cap_session.phase) == CAP_ON && cap_session.pid == getpid();
}

/*
 * A process that cannot be recorded says so once, on stderr and in a file of its own, and leaves
 * CUPTI to others.
 */
static void fail(struct cap_session *s, const char *what, const char *why)
{
    struct cap_quiet quiet;
    char text[768];

    snprintf(text, sizeof text, "%s: %s", what, why);
    cap_say("process %d is not recorded: %s", (int)s->pid, text);
    cap_recorder_info(&s->recorder, "failed", text);
    s->recorder.wanted = true;
    cap_quiet_begin(&quiet);
    cap_recorder_end(&s->recorder, KREACH_END_EXIT, "not recorded");
    cap_quiet_end(&quiet);
    cap_recorder_close(&s->recorder);
    cap_session_unsubscribe(s);
    atomic_store(&s->phase, CAP_INERT);
}

/* With what met what: "not compatible" is no help without. */
static void fail_refused(struct cap_session *s, const char *what, int result)
{
    const int driver = cap_cuda_version();
    char text[640];

    snprintf(text, sizeof text, "%s ('%.300s' of version %u, driver for CUDA %d.%d)",
             cap_cupti_explain(result).text, s->cupti.path, s->cupti.version, driver / 1000,
             driver % 1000 / 10);
    fail(s, what, text);
}

static void fail_busy(struct cap_session *s, const char *other)
{
    char text[160];

    snprintf(text, sizeof text, "%s holds CUPTI", other[0] ? other : "another client");
    cap_recorder_gap(&s->recorder, KREACH_GAP_BUSY, 0, 0, other);
    fail(s, text,
         "end that tool, or use its recording; kreach cannot share CUPTI with it (result 39)");
}

/* What the program asked for stands in the file as a range: the window itself stays open longer. */
static _Atomic uint64_t profiler_range; /* 0 = none is open */
static atomic_bool profiler_on;         /* it is between a start and a stop */

static void profiler_stop(void)
{
    atomic_store(&profiler_on, false);
    const uint64_t id = atomic_exchange(&profiler_range, 0);

    cap_nvtx_finish(id);
    cap_window_want(&cap_session, false);
}

/* A start that follows a start changes nothing. */
static void profiler_start(void)
{
    uint64_t none = 0;

    atomic_store(&profiler_on, true);
    cap_window_want(&cap_session, true);
    if (atomic_load(&profiler_range) != 0)
        return;
    const uint64_t id = cap_nvtx_start("cudaProfilerStart");
    if (!atomic_compare_exchange_strong(&profiler_range, &none, id))
        cap_nvtx_finish(id);
}

static void on_driver_call(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback_data *call = data;

    (void)user;
    if (domain != CUPTI_DOMAIN_DRIVER || call->site != CUPTI_SITE_EXIT)
        return;
    if (cbid == CUPTI_DRIVER_PROFILER_START)
        profiler_start();
    else if (cbid == CUPTI_DRIVER_PROFILER_STOP)
        profiler_stop();
    else if (cbid == CUPTI_DRIVER_GET_VERSION)
        cap_detach_at_exit(&cap_session);
}

/* Takes the only subscription, so that a conflict shows now and not as an empty recording. */
static bool subscribe(struct cap_session *s)
{
    char other[CUPTI_SUBSCRIBER_NAME_BYTES * 2] = "";
    struct cupti_subscriber_params params = { .struct_bytes = sizeof params,
                                              .name = "kreach",
                                              .other_name = other,
                                              .other_bytes = sizeof other };
    cupti_subscriber_handle handle = NULL;
    int result = CUPTI_OK;

    if ((s->opts.yield || s->cupti.built_in_torch) && !s->opts.profiler_api)
        return true;
    if (s->cupti.subscribe_v2)
        result = s->cupti.subscribe_v2(&handle, on_driver_call, NULL, &params);
    else if (s->cupti.subscribe)
        result = s->cupti.subscribe(&handle, on_driver_call, NULL);
    if (result == CUPTI_E_BUSY || result == CUPTI_E_MAX_LIMIT_REACHED) {
        fail_busy(s, other);
        return false;
    }
    if (result != CUPTI_OK) {
        fail_refused(s, "CUPTI refused to start", result);
        return false;
    }
    atomic_store(&s->subscriber, handle);
    if (s->opts.profiler_api && s->cupti.enable_callback) {
        s->cupti.enable_callback(1, handle, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_START);
        s->cupti.enable_callback(1, handle, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_STOP);
    }
    return true;
}

bool cap_session_unsubscribe(struct cap_session *s)
{
    cupti_subscriber_handle handle = atomic_exchange(&s->subscriber, NULL);

    return handle && s->cupti.unsubscribe && s->cupti.unsubscribe(handle) == CUPTI_OK;
}

static const uint32_t host_kinds[] = { CUPTI_KIND_RUNTIME, CUPTI_KIND_DRIVER, CUPTI_KIND_OVERHEAD };

#define KINDS_MAX      5
#define COUNT_PAUSE_NS 5000000 /* the first; then longer and longer ones */

/* The kinds of records to be switched on, in that order; returns how many. */
static size_t kinds_of(const struct cap_session *s, uint32_t *kinds)
{
    size_t n = 0;

    if (s->opts.graph_level)
        kinds[n++] = CUPTI_KIND_GRAPH_TRACE;
    kinds[n++] = CUPTI_KIND_CONCURRENT_KERNEL;
    if (s->opts.kernels_only)
        return n;
    kinds[n++] = CUPTI_KIND_MEMCPY;
    if (s->opts.peers || !atomic_load(&s->one_device))
        kinds[n++] = CUPTI_KIND_MEMCPY2;
    kinds[n++] = CUPTI_KIND_MEMSET;
    return n;
}

int cap_kinds_enable(struct cap_session *s)
{
    uint32_t kinds[KINDS_MAX];
    const size_t n = kinds_of(s, kinds);

    if (atomic_load(&s->pool.requests) == atomic_load(&s->requests_before))
        atomic_store(&s->kinds_early, 1);
    for (size_t i = 0; i < n; i++) {
        int result = s->cupti.enable(kinds[i]);
        if (result != CUPTI_OK)
            return result;
    }
    for (size_t i = 0; s->opts.all_calls && i < CAP_COUNT(host_kinds); i++)
        s->cupti.enable(host_kinds[i]);
    if (s->opts.launches && !cap_cupti_enable_launches(&s->cupti))
        cap_say("this CUPTI records no launch calls");
    return CUPTI_OK;
}

void cap_kinds_keep(struct cap_session *s, uint32_t kind)
{
    uint32_t kinds[KINDS_MAX];

    /* Where turns are taken, they may be off on purpose. */
    if (!cap_session_active() || s->opts.plain || s->opts.calibrate ||
        atomic_load(&s->window) != CAP_OPEN || atomic_load(&s->taken_over_ns) != 0)
        return;
    for (size_t i = kinds_of(s, kinds); i > 0; i--) {
        if (kinds[i - 1] == kind)
            s->cupti.enable(kind);
    }
}

static void switch_kinds_off(struct cap_session *s)
{
    static const uint32_t kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY,
                                      CUPTI_KIND_MEMCPY2, CUPTI_KIND_MEMSET,
                                      CUPTI_KIND_GRAPH_TRACE };
    const size_t n = s->opts.graph_level ? 5 : 4;

    for (size_t i = 0; i < n; i++)
        s->cupti.disable(kinds[i]);
}

/*
 * What went on before there was a context does not go off for graphs: CUPTI 13.0 goes on recording
 * their kernels, at the full cost, until it has been switched on and off once more (H200,
 * tests/gpu/window_costs.cu, case stays, word early). Whether there is one shows when CUPTI asks
 * for a first buffer.
 */
void cap_kinds_disable(struct cap_session *s)
{
    uint32_t kinds[KINDS_MAX];

    switch_kinds_off(s);
    if (atomic_exchange(&s->kinds_early, 0) != 0) {
        for (size_t i = kinds_of(s, kinds); i > 0; i--)
            s->cupti.enable(kinds[i - 1]);
        switch_kinds_off(s);
    }
    for (size_t i = 0; s->opts.all_calls && i < CAP_COUNT(host_kinds); i++)
        s->cupti.disable(host_kinds[i]);
    if (s->opts.launches)
        cap_cupti_disable_launches(&s->cupti);
}

/*
 * With this kind a kernel of a graph takes the launching thread 70 to 90 ns longer, though no copy
 * is made (H200, CUPTI 13.0, docs/performance.md); copies of one device to itself, between contexts
 * too, are records of the other kind. cuInit calls us before the driver can count: so it is on
 * until the worker knows. A window that opens at this very moment may have it on still, which does
 * no harm.
 */
uint64_t cap_kinds_fit_devices(struct cap_session *s, uint64_t now_ns)
{
    if (s->count_devices_ns > now_ns)
        return s->count_devices_ns - now_ns;
    const uint32_t count = cap_cuda_device_count();
    if (count == 0) {
        s->count_pause_ns = 2 * s->count_pause_ns + COUNT_PAUSE_NS;
        s->count_devices_ns = now_ns + s->count_pause_ns;
        return s->count_pause_ns;
    }
    s->count_devices_ns = UINT64_MAX;
    if (count == 1) {
        atomic_store(&s->one_device, 1);
        if (!s->opts.peers && atomic_load(&s->foreign_on) == 0)
            s->cupti.disable(CUPTI_KIND_MEMCPY2);
    }
    return s->count_devices_ns;
}

uint64_t cap_cupti_now(const struct cap_session *s)
{
    uint64_t now = 0;

    return s->cupti.get_timestamp(&now) == CUPTI_OK ? now : 0;
}

static void set_attribute(struct cap_session *s, uint32_t attribute, size_t bytes,
                          const void *value)
{
    size_t in_out = bytes;
    uint64_t copy = 0; /* CUPTI takes a pointer to what may change */

    memcpy(&copy, value, bytes);
    const int result = s->cupti.set_attribute(attribute, &in_out, &copy);
    if (result != CUPTI_OK)
        cap_say("CUPTI attribute %u: %s", attribute, cap_cupti_explain(result).text);
}

static uint64_t read_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)cap_clock_ns(CLOCK_MONOTONIC_RAW);
#endif
}

/* Before any context exists, as CUPTI asks for. */
static void set_attributes(struct cap_session *s)
{
    const struct cap_opts *o = &s->opts;
    const uint8_t yes = 1;
    const uint8_t no = 0;
    const struct {
        uint32_t attribute;
        size_t value;
    } sizes[] = { { CUPTI_ATTR_DEVICE_BUFFER_SIZE, o->device_buffer_bytes },
                  { CUPTI_ATTR_DEVICE_BUFFER_LIMIT, o->device_limit },
                  { CUPTI_ATTR_DEVICE_BUFFER_PREALLOCATED, o->device_ready } };

    if (s->cupti.set_thread_id_type && !o->own_ids)
        s->cupti.set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
    if (s->cupti.set_timestamp_callback && o->ticks)
        s->cupti.set_timestamp_callback(read_ticks);
    if (!s->cupti.set_attribute)
        return;
    /* Zeroing then happens on our thread, not on the one that launches. */
    if (!o->unzeroed)
        set_attribute(s, CUPTI_ATTR_ZEROED_BUFFERS, sizeof yes, &yes);
    if (o->pinned)
        set_attribute(s, CUPTI_ATTR_HOST_PINNED, sizeof yes, &yes);
    if (o->one_buffer)
        set_attribute(s, CUPTI_ATTR_PER_THREAD_BUFFERS, sizeof no, &no);
    for (size_t i = 0; i < CAP_COUNT(sizes); i++) {
        if (sizes[i].value > 0)
            set_attribute(s, sizes[i].attribute, sizeof sizes[i].value, &sizes[i].value);
    }
}

static void describe(struct cap_session *s, int driver_version)
{
    char text[32];

    snprintf(text, sizeof text, "%u", s->cupti.version);
    cap_recorder_info(&s->recorder, "cupti", text);
    cap_recorder_info(&s->recorder, "cupti_path", s->cupti.path);
    snprintf(text, sizeof text, "%d.%d", driver_version / 1000, driver_version % 1000 / 10);
    cap_recorder_info(&s->recorder, "cuda", text);
    /* Calls of its profiler do not pass us: it may have the subscription. */
    if (s->cupti.built_in_torch)
        cap_recorder_info(&s->recorder, "torch_cupti", "built in");
}

static bool start_recording(struct cap_session *s)
{
    const uint64_t now_ns = cap_now_ns();
    if (s->sections == 0)
        s->ready_ns = now_ns;
    const bool shut = (s->opts.range[0] && !cap_nvtx_inside()) ||
                      (s->opts.profiler_api && !atomic_load(&profiler_on)) ||
                      now_ns < s->ready_ns + s->opts.delay_ns;
    const bool foreign = atomic_load(&s->foreign_on) != 0;

    set_attributes(s);
    int result = foreign ? CUPTI_OK : s->cupti.register_callbacks(cap_request, cap_complete);
    if (s->opened_mono_ns == 0 && !shut)
        s->opened_mono_ns = now_ns;
    atomic_store(&s->window, shut ? CAP_SHUT : CAP_OPEN);
    atomic_store(&s->window_wanted, !shut);
    if (result == CUPTI_OK && !shut && !foreign)
        result = cap_kinds_enable(s);
    if (result != CUPTI_OK) {
        cap_kinds_disable(s); /* those before the one that was refused */
        fail_refused(s, "CUPTI refused to record", result);
        return false;
    }
    if (s->exec_ns != 0 && !shut) /* what other threads have launched since then */
        cap_recorder_gap(&s->recorder, KREACH_GAP_MISSED, (int64_t)s->exec_ns,
                         (int64_t)cap_cupti_now(s), "an exec failed");
    if (s->opts.range[0] || s->opts.profiler_api) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)s->opts.linger_ns);
        cap_recorder_info(&s->recorder, "window_linger_ns", text);
    }
    if (foreign) {
        const uint64_t taken_ns = cap_cupti_now(s);
        atomic_store(&s->taken_over_ns, taken_ns ? taken_ns : 1);
        cap_say("another CUPTI client was here before CUDA came up; kreach records after it");
    }
    atomic_store(&s->phase, CAP_ON);
    if (s->opts.range[0] && cap_nvtx_inside())
        cap_window_want(s, true); /* one that began on another thread meanwhile */
    if (!cap_thread_start(&s->worker, cap_worker_main, s)) {
        cap_kinds_disable(s);
        fail(s, "cannot start a thread", "the process is at its limit of threads or memory");
        return false;
    }
    return true;
}

static void at_exit(void)
{
    cap_session_finish(KREACH_END_EXIT, "");
}

static void at_quick_exit_(void)
{
    cap_session_finish(KREACH_END_FAST, "quick_exit");
}

static void register_ends(struct cap_session *s)
{
    static atomic_bool registered; /* handlers cannot be taken back, and a fork inherits them */

    cap_signals_open(s);
    if (atomic_exchange(&registered, true))
        return;
    atexit(at_exit);
    at_quick_exit(at_quick_exit_);
    pthread_atfork(NULL, NULL, cap_session_forget);
}

/* Without CUPTI: the program runs as it would alone, and only its own marks are kept. */
static void start_plain(struct cap_session *s)
{
    atomic_store(&s->window, CAP_OPEN);
    atomic_store(&s->window_wanted, 1);
    atomic_store(&s->phase, CAP_ON);
    if (cap_thread_start(&s->worker, cap_worker_main, s))
        register_ends(s);
    else
        fail(s, "cannot start a thread", "the process is at its limit of threads or memory");
}

/* Once in a process; false when there is nowhere to say anything, or it has begun before. */
static bool begin(struct cap_session *s)
{
    if (!advance(s, CAP_UNINIT, CAP_STARTING))
        return false;
    s->pid = getpid();
    cap_opts_read(&s->opts);
    if (s->opts.out[0] == '\0') {
        cap_say("KREACH_OUT is not set, so nothing is recorded");
        atomic_store(&s->phase, CAP_INERT);
        return false;
    }
    if (!cap_recorder_open(&s->recorder, &s->opts)) {
        cap_say("process %d is not recorded: out of memory", (int)s->pid);
        atomic_store(&s->phase, CAP_INERT);
        return false;
    }
    s->recorder.append = s->sections > 0;
    s->recorder.file_number = s->file_number;
    cap_self_note_ranks(&s->recorder);
    return true;
}

void cap_session_start(void)
{
    struct cap_session *s = &cap_session;
    char why[512];

    if (!begin(s))
        return;
    cap_cuda_open();
    const int driver_version = cap_cuda_version();
    if (s->opts.plain) {
        start_plain(s);
        return;
    }
    if (!cap_cupti_open(&s->cupti, driver_version, why, sizeof why)) {
        fail(s, "CUPTI is missing", why);
        return;
    }
    describe(s, driver_version);
    if (!cap_callbacks_open(s)) {
        fail(s, "no buffers", "out of memory");
        return;
    }
    if (subscribe(s) && start_recording(s))
        register_ends(s);
}

void cap_session_missed(void)
{
    struct cap_session *s = &cap_session;
    const char *tool = getenv("CUDA_INJECTION64_PATH");
    char why[512];

    if (atomic_load(&s->phase) != CAP_UNINIT)
        return;
    cap_cuda_open();
    if (!cap_cuda_was_used() || !begin(s))
        return;
    snprintf(why, sizeof why,
             "end '%s' (CUDA_INJECTION64_PATH), or use its recording; there is room for one",
             tool ? tool : "");
    fail(s, "CUDA loads another tool in our place", why);
}

/*
 * The worker is stuck inside CUPTI and will not come back. What it had gathered is written from
 * here without another CUPTI call, since that might block the same way.
 */
static void last_words(struct cap_session *s)
{
    struct cap_quiet quiet;
    char detail[96];

    snprintf(detail, sizeof detail, "CUPTI did not answer for %llu ms; it holds %llu buffers",
             (unsigned long long)(s->opts.deadline_ns / 1000000),
             (unsigned long long)cap_pool_outstanding(&s->pool));
    cap_say("%s; the end of this recording is missing", detail);
    cap_recorder_lost(&s->recorder, KREACH_LOST_DEADLINE, 0, 0, detail);
    cap_quiet_begin(&quiet);
    cap_recorder_end(&s->recorder, (enum kreach_end)s->end, s->end_detail);
    cap_quiet_end(&quiet);
    atomic_store(&s->phase, CAP_DONE);
}

static void wait_for_end(struct cap_session *s)
{
    const uint64_t start_ns = cap_now_ns();

    for (;;) {
        uint32_t ticket = cap_wake_ticket(&s->done);
        uint32_t in_cupti = CAP_OWNER_IN_CUPTI;
        uint64_t waited_ns = cap_now_ns() - start_ns;

        if (atomic_load(&s->phase) != CAP_DRAINING)
            return;
        if (waited_ns >= s->opts.deadline_ns &&
            atomic_compare_exchange_strong(&s->owner, &in_cupti, CAP_OWNER_STOLEN)) {
            last_words(s);
            return;
        }
        /* Decoding or writing may take as long again before we leave it behind. */
        if (waited_ns >= 2 * s->opts.deadline_ns)
            return;
        uint64_t until_ns = waited_ns < s->opts.deadline_ns ? s->opts.deadline_ns - waited_ns
                                                            : s->opts.deadline_ns / 20 + 1;
        cap_wake_wait(&s->done, ticket, until_ns);
    }
}

void cap_session_finish(enum kreach_end end, const char *detail)
{
    struct cap_session *s = &cap_session;
    int cancelable = 0;

    if (atomic_load(&s->phase) < CAP_ON || s->pid != getpid())
        return;
    const int signo = cap_signals_caught();
    /* _exit and exec are no points where a thread may be cancelled, and so we are none. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    if (advance(s, CAP_ON, CAP_DRAINING)) {
        s->end = signo ? KREACH_END_SIGNAL : end;
        if (signo)
            snprintf(s->end_detail, sizeof s->end_detail, "signal %d", signo);
        else
            snprintf(s->end_detail, sizeof s->end_detail, "%s", detail);
        atomic_store(&s->exit_context, cap_cuda_current_context());
        atomic_store(&s->end_asked, 1);
        cap_wake_up(&s->wake);
    } else if (atomic_load(&s->phase) == CAP_DRAINING) {
        atomic_store(&s->exit_context, cap_cuda_current_context());
        atomic_store(&s->hurried, 1);
        cap_wake_up(&s->wake);
    }
    wait_for_end(s);
    if (signo) /* it would not have come so far */
        cap_signals_die_of(signo);
    pthread_setcancelstate(cancelable, NULL);
}

void cap_session_resume(void)
{
    struct cap_session *s = &cap_session;

    if (atomic_load(&s->phase) != CAP_DONE || atomic_load(&s->window_done))
        return;
    if (atomic_load(&s->owner) == CAP_OWNER_STOLEN) {
        cap_say("process %d is not recorded any more: CUPTI did not answer", (int)s->pid);
        return; /* a thread of ours is in there, and might come back amid the next section */
    }
    s->file_number = s->recorder.file_number;
    cap_recorder_close(&s->recorder);
    s->sections++;
    atomic_store(&s->requests_before, atomic_load(&s->pool.requests));
    atomic_store(&s->subscriber, NULL);
    atomic_store(&s->exit_context, NULL);
    s->window_shut_ns = 0;
    atomic_store(&s->missed_from_ns, 0);
    atomic_store(&s->lingering, 0);
    s->drops_unknown = false;
    atomic_store(&s->end_asked, 0);
    atomic_store(&s->hurried, 0);
    atomic_store(&s->owner, CAP_OWNER_WORKER);
    atomic_store(&s->taken_over_ns, 0);
    atomic_store(&s->phase, CAP_UNINIT);
    cap_session_start();
}

void cap_session_forget(void)
{
    struct cap_session *s = &cap_session;

    if (atomic_load(&s->phase) == CAP_UNINIT)
        return;
    cap_signals_forget();
    cap_sink_close(&s->recorder.sink);
    /* CUPTI's copy of its state in this process still points into the pool: it stays mapped. */
    memset(s, 0, sizeof *s);
}

/*
 * A CUPTI for tests of libkreach.so: the activity interface with the habits of the real one that
 * profilers of the field have fallen over.
 *
 * Settings (in FAKE, see fake_cuda.h):
 *   abi=4..10            size of kernel records (10)
 *   version=N            what cuptiGetVersion says (130001)
 *   subscribe=R          result of cuptiSubscribe; other=NAME is who holds it
 *   enable=R enable_kind=K   result of cuptiActivityEnable, for one kind or all
 *   enable_again=R       the same, once a kind was switched off
 *   dropped=N            the drop counter says N once; dropped_error=R it fails
 *   zero_every=N         every N-th record has no times
 *   bad_every=N          every N-th record ends before it starts
 *   reverse=1            buffers come back newest first
 *   per_thread=0         one buffer for all threads
 *   hang=1               a complete flush never returns; hang=2: the forced one
 *   hang_from=N          not before there are N records: later launches would hang with it
 *   slow_ms=N            every flush takes that long
 *   late_ms=N            every flush returns so much later; others can go on meanwhile
 *   move_us=N            switching a kind takes that long; move_once=1: only the first one off
 *   stale_ms=N           graph kernels that begin when kernels are switched off end that much later
 *   cost_us=N            a kernel's launch takes so much longer while it is recorded
 *   stay_us=N            the same while it is not, once kernels have been
 *   told=1               cuptiFinalize says where it was called; stays=R: it fails
 *   silent=1             callbacks of cuDriverGetVersion never come
 *   garbage=1            a buffer's records cannot be walked to the end
 *   twice=1              every buffer is delivered twice
 *   no_time=1            cuptiGetTimestamp fails
 *   strict=1             a flush before any buffer was asked for never returns
 *   bare=1               whoever enables a callback, records of calls or a clock of its own ends
 *                        the process
 *   noise=K              a record of kind K stands behind every record of work
 *   deaf=1               records of work never come
 *   keep=1               no buffer ever comes back; all are written to once more at the end
 *   clock_ms=N           its clock, and all times, are that much later than REALTIME
 *   settle=N             the first N readings of its clock are an hour off
 *
 * Kernels of graphs stay recorded when their kind goes off that went on before there was a context,
 * until it has been on and off once more, as CUPTI 13.0 was seen to do.
 *
 * cuptiFinalize while a flush is under way ends the process with a message: there it crashes.
 *
 * One internal lock is held during every call and every callback, and a callback that calls back
 * into CUPTI (walking a buffer excepted) ends the process with a message: that is the deadlock.
 */
#include "cupti_abi.h"
#include "fake_cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

#define KINDS 64

struct buffer {
    struct buffer *next;
    uint8_t *data;
    size_t bytes, used;
    uint64_t last_end_ns; /* of its records */
    bool full;
};

struct subscriber {
    cupti_callback_fn *callback;
    void *user;
    char name[CUPTI_SUBSCRIBER_NAME_BYTES];
    atomic_bool profiler_calls, version_calls;
};

static pthread_mutex_t lock;
static bool enabled[KINDS];
static atomic_bool switched_off; /* a kind was, once */
static bool graphs_seen;
static bool early; /* kernels went on within cuInit, and not anew since */
static bool api_enabled[2][1024];
static bool calls_refused[2]; /* a kind of call that was switched off whole: single ones stay off */
static cupti_request_fn *request;
static cupti_complete_fn *complete;
static struct buffer *buffers; /* newest first */
static struct buffer *shared_current;
static __thread struct buffer *thread_current;
static struct subscriber only_subscriber;
static atomic_bool subscribed;
static uint64_t n_records;
static uint64_t n_requests;
static size_t dropped;
static bool buffers_zeroed, kernels_thread_ids;
static atomic_int flushing;
static long kernel_abi, garbage, noise, clock_ms, deaf; /* settings that every record asks for */

static void acquire(const char *who)
{
    if (pthread_mutex_lock(&lock) == EDEADLK) {
        fprintf(stderr, "fake CUPTI: %s called inside a callback: deadlock\n", who);
        abort();
    }
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t record_bytes(uint32_t kind)
{
    static const size_t kernel_bytes[] = { 144, 160, 168, 176, 200, 208, 216 };

    switch (kind) {
    case CUPTI_KIND_CONCURRENT_KERNEL: {
        return kernel_bytes[(kernel_abi >= 4 && kernel_abi <= 10 ? kernel_abi : 10) - 4];
    }
    case CUPTI_KIND_MEMCPY:
    case CUPTI_KIND_MEMCPY2:
        return 96;
    case CUPTI_KIND_MEMSET:
        return 88;
    case CUPTI_KIND_GRAPH_TRACE:
        return 56;
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER:
        return 40;
    default:
        return 64;
    }
}

static void hand_over(struct buffer *b)
{
    complete(NULL, 0, b->data, b->bytes, b->used);
    if (fake_setting("twice", 0))
        complete(NULL, 0, b->data, b->bytes, b->used);
}

/* Takes a buffer out of the list; its thread will ask for another. */
static void retire(struct buffer **link)
{
    struct buffer *b = *link;

    *link = b->next;
    if (shared_current == b)
        shared_current = NULL;
    b->data = NULL; /* threads that still point here see it and ask anew */
}

/* Cuts the times of records that are still running: what a forced flush does. */
static void cut_running(struct buffer *b)
{
    const uint64_t now = now_ns();

    for (size_t at = 0; at < b->used;) {
        uint32_t kind;
        memcpy(&kind, b->data + at, sizeof kind);
        const size_t end_at = at + (kind == CUPTI_KIND_GRAPH_TRACE ? 16 : 24);
        uint64_t end_ns;
        memcpy(&end_ns, b->data + end_at, sizeof end_ns);
        if (end_ns > now && kind != CUPTI_KIND_RUNTIME && kind != CUPTI_KIND_DRIVER) {
            uint64_t start_ns;
            memcpy(&start_ns, b->data + end_at - 8, sizeof start_ns);
            memset(b->data + end_at, 0, sizeof end_ns);
            if (start_ns > now)
                memset(b->data + end_at - 8, 0, sizeof start_ns);
        }
        at += record_bytes(kind);
    }
}

enum which { FULL_ONLY, COMPLETE, FORCED };

static void deliver(enum which which)
{
    struct buffer *ready = NULL;
    const uint64_t now = now_ns();
    const bool reverse = fake_setting("reverse", 0) != 0;

    if (fake_setting("keep", 0))
        return;
    for (struct buffer **link = &buffers; *link;) {
        struct buffer *b = *link;
        const bool running = b->last_end_ns > now;
        if (b->used == 0 || (which == FULL_ONLY && !b->full) || (which != FORCED && running)) {
            link = &b->next;
            continue;
        }
        if (running)
            cut_running(b);
        struct buffer *copy = malloc(sizeof *copy);
        *copy = *b;
        retire(link);
        copy->next = ready; /* turns the order round: oldest first */
        ready = copy;
    }
    if (reverse) {
        struct buffer *turned = NULL;
        while (ready) {
            struct buffer *next = ready->next;
            ready->next = turned;
            turned = ready;
            ready = next;
        }
        ready = turned;
    }
    while (ready) {
        struct buffer *next = ready->next;
        hand_over(ready);
        free(ready);
        ready = next;
    }
}

static void check_zeroed(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != 0) {
            fprintf(stderr, "fake CUPTI: a buffer promised to be zeroed is not\n");
            abort();
        }
    }
}

static struct buffer *new_buffer(void)
{
    struct buffer *b = calloc(1, sizeof *b);
    size_t max_records = 0;

    n_requests++;
    request(&b->data, &b->bytes, &max_records);
    if (!b->data) {
        free(b);
        if (fake_setting("version", 130001) < 27) {
            fprintf(stderr, "fake CUPTI: NULL buffer before 12.9: crash\n");
            abort();
        }
        return NULL;
    }
    if (buffers_zeroed)
        check_zeroed(b->data, b->bytes);
    else
        memset(b->data, 0, b->bytes);
    b->next = buffers;
    buffers = b;
    return b;
}

/* Room for a record in the calling thread's buffer. Retired buffers are leaked: threads may still
 * point to them, and tests are short. */
static uint8_t *room(size_t bytes, uint64_t end_ns)
{
    struct buffer **current = fake_setting("per_thread", 1) ? &thread_current : &shared_current;

    if (*current && !(*current)->data)
        *current = NULL;
    if (*current && (*current)->bytes - (*current)->used < bytes) {
        (*current)->full = true;
        *current = NULL;
        deliver(FULL_ONLY);
    }
    if (!*current)
        *current = new_buffer();
    if (!*current) {
        dropped++;
        return NULL;
    }
    struct buffer *b = *current;
    uint8_t *at = b->data + b->used;
    b->used += bytes;
    if (end_ns > b->last_end_ns)
        b->last_end_ns = end_ns;
    return at;
}

/* Spoils the times of some records, as settings say. */
static void spoil(uint64_t *start_ns, uint64_t *end_ns)
{
    const long zero_every = fake_setting("zero_every", 0);
    const long bad_every = fake_setting("bad_every", 0);
    const uint64_t n = ++n_records;

    *start_ns += (uint64_t)clock_ms * 1000000;
    *end_ns += (uint64_t)clock_ms * 1000000;
    if (zero_every > 0 && n % (uint64_t)zero_every == 0) {
        *start_ns = 0;
        *end_ns = 0;
    } else if (bad_every > 0 && n % (uint64_t)bad_every == 0) {
        *end_ns = *start_ns - 1000;
    }
}

static void put(const void *prefix, size_t prefix_bytes, uint32_t kind, uint64_t end_ns)
{
    const size_t bytes = record_bytes(kind);
    uint8_t *at = room(bytes, end_ns);

    if (at)
        memcpy(at, prefix, prefix_bytes < bytes ? prefix_bytes : bytes);
}

static void put_kernel(const struct fake_work *w, uint32_t node, uint64_t start_ns)
{
    struct cupti_kernel k = { .kind = CUPTI_KIND_CONCURRENT_KERNEL,
                              .registers = 32,
                              .start = start_ns,
                              .end = start_ns + w->duration_ns,
                              .device = w->device,
                              .context = w->device + 1,
                              .stream = w->stream,
                              .grid = { (int32_t)w->grid, 1, 1 },
                              .block = { 128, 1, 1 },
                              .static_shared = 1024,
                              .dynamic_shared = 512,
                              .correlation = w->correlation,
                              .name = w->name,
                              .graph_node = w->what == FAKE_GRAPH ? 100 + node : 0,
                              .graph = w->what == FAKE_GRAPH ? FAKE_GRAPH_ID : 0 };
    const uint64_t real_end_ns = k.end;

    spoil(&k.start, &k.end);
    put(&k, sizeof k, k.kind, real_end_ns);
}

static void put_copy(const struct fake_work *w)
{
    struct cupti_memcpy m = { .kind = CUPTI_KIND_MEMCPY,
                              .copy_kind = 1,
                              .source = 1,
                              .destination = 3,
                              .bytes = w->bytes,
                              .start = w->start_ns,
                              .end = w->end_ns,
                              .device = w->device,
                              .context = w->device + 1,
                              .stream = w->stream,
                              .correlation = w->correlation };

    spoil(&m.start, &m.end);
    put(&m, sizeof m, m.kind, w->end_ns);
}

static void put_peer_copy(const struct fake_work *w)
{
    struct cupti_memcpy_peer m = { .kind = CUPTI_KIND_MEMCPY2,
                                   .copy_kind = 10,
                                   .source = 3,
                                   .destination = 3,
                                   .bytes = w->bytes,
                                   .start = w->start_ns,
                                   .end = w->end_ns,
                                   .device = w->device,
                                   .context = w->device + 1,
                                   .stream = w->stream,
                                   .source_device = w->device,
                                   .destination_device = w->peer,
                                   .correlation = w->correlation };

    spoil(&m.start, &m.end);
    put(&m, sizeof m, m.kind, w->end_ns);
}

static void put_memset(const struct fake_work *w)
{
    struct cupti_memset m = { .kind = CUPTI_KIND_MEMSET,
                              .bytes = w->bytes,
                              .start = w->start_ns,
                              .end = w->end_ns,
                              .device = w->device,
                              .context = w->device + 1,
                              .stream = w->stream,
                              .correlation = w->correlation,
                              .memory = 2 };

    spoil(&m.start, &m.end);
    put(&m, sizeof m, m.kind, w->end_ns);
}

static void put_graph(const struct fake_work *w)
{
    if (enabled[CUPTI_KIND_GRAPH_TRACE]) {
        struct cupti_graph g = { .kind = CUPTI_KIND_GRAPH_TRACE,
                                 .correlation = w->correlation,
                                 .start = w->start_ns,
                                 .end = w->end_ns,
                                 .device = w->device,
                                 .graph = FAKE_GRAPH_ID,
                                 .context = w->device + 1,
                                 .stream = w->stream };
        put(&g, sizeof g, g.kind, w->end_ns);
        return;
    }
    for (uint32_t i = 0; i < w->n_nodes; i++)
        put_kernel(w, i, w->start_ns + (uint64_t)i * w->duration_ns);
}

/* The runtime call and the driver call below it; both are recorded when enabled. */
static void put_calls(const struct fake_work *w)
{
    const bool graph = w->what == FAKE_GRAPH;
    const uint32_t kinds[] = { CUPTI_KIND_RUNTIME, CUPTI_KIND_DRIVER };
    const uint32_t cbids[] = { graph ? 311 : w->what == FAKE_KERNEL ? 211 : 41, graph ? 514 : 307 };

    for (int i = 0; i < 2; i++) {
        if (!enabled[kinds[i]] && (!api_enabled[i][cbids[i]] || calls_refused[i]))
            continue;
        struct cupti_api a = { .kind = kinds[i],
                               .cbid = cbids[i],
                               .start = now_ns(),
                               .process = (uint32_t)getpid(),
                               .thread = kernels_thread_ids ? (uint32_t)gettid()
                                                            : (uint32_t)(uintptr_t)pthread_self(),
                               .correlation = w->correlation };
        a.end = a.start + 1000;
        put(&a, sizeof a, a.kind, 0);
    }
}

static void put_noise(void)
{
    uint8_t record[64];
    const uint32_t kind = (uint32_t)noise;

    memset(record, 0xff, sizeof record);
    memcpy(record, &kind, sizeof kind);
    put(record, sizeof record, kind, 0);
}

static void launched(const struct fake_work *w)
{
    acquire("launch");
    graphs_seen |= w->what == FAKE_GRAPH;
    const bool recorded = request && enabled[CUPTI_KIND_CONCURRENT_KERNEL];
    if (request && !deaf) {
        if (w->what == FAKE_KERNEL && enabled[CUPTI_KIND_CONCURRENT_KERNEL])
            put_kernel(w, 0, w->start_ns);
        else if (w->what == FAKE_GRAPH && (enabled[CUPTI_KIND_CONCURRENT_KERNEL] || early))
            put_graph(w);
        else if (w->what == FAKE_MEMCPY && enabled[CUPTI_KIND_MEMCPY])
            put_copy(w);
        else if (w->what == FAKE_MEMCPY_PEER && enabled[CUPTI_KIND_MEMCPY] &&
                 enabled[CUPTI_KIND_MEMCPY2])
            put_peer_copy(w);
        else if (w->what == FAKE_MEMSET && enabled[CUPTI_KIND_MEMSET])
            put_memset(w);
        if (noise)
            put_noise();
    }
    if (request)
        put_calls(w);
    release();
    const long cost_us = fake_setting(recorded ? "cost_us" : "stay_us", 0);
    if (w->what == FAKE_KERNEL && cost_us > 0 && (recorded || switched_off))
        usleep((useconds_t)cost_us);
}

/* The strings of CUDA 11 point nowhere. */
struct call_with_strings {
    struct cupti_callback_data data;
    uintptr_t strings[8];
};
static const struct call_with_strings call_at_exit = { { .site = CUPTI_SITE_EXIT },
                                                       { 16, 16, 16, 16, 16, 16, 16, 16 } };

static __thread bool in_callback;

static void version_asked(void)
{
    if (!subscribed || !only_subscriber.version_calls || fake_setting("silent", 0))
        return;
    in_callback = true;
    only_subscriber.callback(only_subscriber.user, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_GET_VERSION,
                             &call_at_exit);
    in_callback = false;
}

static void profiler(bool start)
{
    if (subscribed && only_subscriber.profiler_calls)
        only_subscriber.callback(only_subscriber.user, CUPTI_DOMAIN_DRIVER,
                                 start ? CUPTI_DRIVER_PROFILER_START : CUPTI_DRIVER_PROFILER_STOP,
                                 &call_at_exit);
}

static bool records(uint32_t which)
{
    bool on = false;

    acquire("a question of the test");
    for (uint32_t kind = 0; kind < KINDS; kind++)
        on |= enabled[kind] && (which == 0 || kind == which);
    on |= early && graphs_seen && (which == 0 || which == CUPTI_KIND_CONCURRENT_KERNEL);
    release();
    return on;
}

__attribute__((constructor)) static void on_load(void)
{
    static const struct fake_tracer tracer = { launched, profiler, version_asked, records };
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attr);
    dropped = (size_t)fake_setting("dropped", 0);
    kernel_abi = fake_setting("abi", 10);
    garbage = fake_setting("garbage", 0);
    noise = fake_setting("noise", 0);
    clock_ms = fake_setting("clock_ms", 0);
    deaf = fake_setting("deaf", 0);
    fake_set_tracer(&tracer);
}

/* After the handlers of atexit. The buffers are CUPTI's until it has given them back. */
__attribute__((destructor)) static void on_unload(void)
{
    for (struct buffer *b = buffers; b && fake_setting("keep", 0); b = b->next)
        memset(b->data, 0xee, b->bytes);
}

static void want_bare(const char *what)
{
    if (!fake_setting("bare", 0))
        return;
    fprintf(stderr, "fake CUPTI: %s are enabled\n", what);
    abort();
}

API int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version)
{
    *version = (uint32_t)fake_setting("version", 130001);
    return CUPTI_OK;
}

API int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    (void)clock;
    want_bare("clocks of a client");
    return CUPTI_OK;
}

API int cuptiGetTimestamp(uint64_t *ns);
int cuptiGetTimestamp(uint64_t *ns)
{
    if (fake_setting("no_time", 0))
        return CUPTI_E_NOT_INITIALIZED;
    static atomic_long readings;
    const bool settled = atomic_fetch_add(&readings, 1) >= fake_setting("settle", 0);
    *ns = now_ns() + (uint64_t)clock_ms * 1000000 + (settled ? 0 : 3600000000000u);
    return CUPTI_OK;
}

API int cuptiActivityRegisterCallbacks(cupti_request_fn *req, cupti_complete_fn *comp);
int cuptiActivityRegisterCallbacks(cupti_request_fn *req, cupti_complete_fn *comp)
{
    acquire("RegisterCallbacks");
    request = req;
    complete = comp;
    release();
    return CUPTI_OK;
}

/* Switching takes its time, with the lock held. */
static void move_slowly(bool on)
{
    static bool moved;
    const long us = fake_setting("move_us", 0);

    if (us == 0 || (fake_setting("move_once", 0) && (on || moved)))
        return;
    moved = !on;
    usleep((useconds_t)us);
}

/* As CUPTI 13.0 was seen to do: 7,527 of 18,243 launches were recorded, none behind a pause. */
static void refuse_calls(uint32_t kind, bool refused)
{
    if (kind == CUPTI_KIND_RUNTIME)
        calls_refused[0] = refused;
    else if (kind == CUPTI_KIND_DRIVER)
        calls_refused[1] = refused;
}

API int cuptiActivityEnable(uint32_t kind);
int cuptiActivityEnable(uint32_t kind)
{
    const long result = fake_setting("enable", 0);

    if (result != 0 && fake_setting("enable_kind", (long)kind) == (long)kind)
        return (int)result;
    if (switched_off && fake_setting("enable_again", 0) != 0)
        return (int)fake_setting("enable_again", 0);
    if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER)
        want_bare("records of calls");
    acquire("Enable");
    move_slowly(true);
    if (kind == CUPTI_KIND_CONCURRENT_KERNEL && !enabled[kind])
        early = !fake_has_context();
    if (kind < KINDS)
        enabled[kind] = true;
    refuse_calls(kind, false);
    release();
    return kind < KINDS ? CUPTI_OK : CUPTI_E_KIND;
}

/* Kernels of replays that are queued get their end from the next replay that is recorded. */
static void make_stale(struct buffer *b, uint64_t stale_ns)
{
    const uint64_t now = now_ns();

    for (size_t at = 0; at < b->used;) {
        struct cupti_kernel k;
        memcpy(&k.kind, b->data + at, sizeof k.kind);
        const size_t bytes = record_bytes(k.kind);
        if (k.kind == CUPTI_KIND_CONCURRENT_KERNEL) {
            memcpy(&k, b->data + at, bytes < sizeof k ? bytes : sizeof k);
            k.end += k.graph != 0 && k.start > now ? stale_ns : 0;
            memcpy(b->data + at, &k, bytes < sizeof k ? bytes : sizeof k);
        }
        at += bytes;
    }
}

API int cuptiActivityDisable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind)
{
    acquire("Disable");
    move_slowly(false);
    early &= kind != CUPTI_KIND_CONCURRENT_KERNEL || fake_has_context();
    if (kind < KINDS)
        enabled[kind] = false;
    refuse_calls(kind, true);
    switched_off = true;
    for (struct buffer *b = buffers; b && kind == CUPTI_KIND_CONCURRENT_KERNEL; b = b->next)
        make_stale(b, (uint64_t)fake_setting("stale_ms", 0) * 1000000);
    release();
    return CUPTI_OK;
}

API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on)
{
    want_bare("records of calls");
    acquire("EnableApi");
    api_enabled[0][cbid % 1024] = on != 0;
    release();
    return CUPTI_OK;
}

API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
    want_bare("records of calls");
    acquire("EnableApi");
    api_enabled[1][cbid % 1024] = on != 0;
    release();
    return CUPTI_OK;
}

API int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushAll(uint32_t flag)
{
    long hang = fake_setting("hang", 0);

    atomic_fetch_add(&flushing, 1);
    acquire("FlushAll");
    if (n_records < (uint64_t)fake_setting("hang_from", 0))
        hang = 0;
    while (hang == 1 + (long)flag || (n_requests == 0 && fake_setting("strict", 0)))
        pause();
    if (fake_cuda_is_down()) {
        atomic_fetch_sub(&flushing, 1);
        release();
        return CUPTI_E_NOT_INITIALIZED;
    }
    if (fake_setting("slow_ms", 0))
        usleep((useconds_t)fake_setting("slow_ms", 0) * 1000);
    if (complete)
        deliver(flag == CUPTI_FLUSH_FORCED ? FORCED : COMPLETE);
    release();
    if (fake_setting("late_ms", 0))
        usleep((useconds_t)fake_setting("late_ms", 0) * 1000);
    atomic_fetch_sub(&flushing, 1);
    return CUPTI_OK;
}

/* The cursor comes from the caller's pointer, so that any number of buffers is walked at once. */
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    size_t at = 0;

    if (*record) {
        uint32_t kind;
        memcpy(&kind, *record, sizeof kind);
        at = (size_t)((uint8_t *)*record - buffer) + record_bytes(kind);
        if (garbage)
            return CUPTI_E_KIND;
    }
    if (at >= valid)
        return CUPTI_E_MAX_LIMIT_REACHED;
    *record = buffer + at;
    return CUPTI_OK;
}

API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
    (void)context;
    (void)stream;
    if (fake_setting("dropped_error", 0))
        return (int)fake_setting("dropped_error", 0);
    acquire("GetNumDroppedRecords");
    *n = dropped;
    dropped = 0;
    release();
    return CUPTI_OK;
}

API int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value);
int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    if (attribute == CUPTI_ATTR_ZEROED_BUFFERS && *bytes == 1)
        buffers_zeroed = *(uint8_t *)value != 0;
    return CUPTI_OK;
}

API int cuptiSetThreadIdType(uint32_t type);
int cuptiSetThreadIdType(uint32_t type)
{
    kernels_thread_ids = type == CUPTI_THREAD_ID_SYSTEM;
    return kernels_thread_ids ? CUPTI_OK : 1;
}

API int cuptiSubscribe_v2(struct subscriber **out, cupti_callback_fn *callback, void *user,
                          struct cupti_subscriber_params *params);
int cuptiSubscribe_v2(struct subscriber **out, cupti_callback_fn *callback, void *user,
                      struct cupti_subscriber_params *params)
{
    const long result = fake_setting("subscribe", subscribed ? CUPTI_E_BUSY : 0);

    if (result != CUPTI_OK) {
        if (params->other_name && params->other_bytes > 0 &&
            !fake_setting_text("other", params->other_name, params->other_bytes))
            snprintf(params->other_name, params->other_bytes, "%s", only_subscriber.name);
        return (int)result;
    }
    only_subscriber = (struct subscriber){ .callback = callback, .user = user };
    snprintf(only_subscriber.name, sizeof only_subscriber.name, "CUPTI for %s", params->name);
    subscribed = true;
    *out = &only_subscriber;
    return CUPTI_OK;
}

API int cuptiUnsubscribe(struct subscriber *subscriber);
int cuptiUnsubscribe(struct subscriber *subscriber)
{
    if (!subscribed || subscriber != &only_subscriber)
        return 1;
    subscribed = false;
    return CUPTI_OK;
}

API int cuptiEnableCallback(uint32_t on, struct subscriber *subscriber, uint32_t domain,
                            uint32_t cbid);
int cuptiEnableCallback(uint32_t on, struct subscriber *subscriber, uint32_t domain, uint32_t cbid)
{
    want_bare("callbacks");
    if (subscribed && domain == CUPTI_DOMAIN_DRIVER && cbid == CUPTI_DRIVER_PROFILER_START)
        subscriber->profiler_calls = on != 0;
    if (subscribed && domain == CUPTI_DOMAIN_DRIVER && cbid == CUPTI_DRIVER_GET_VERSION)
        subscriber->version_calls = on != 0;
    return CUPTI_OK;
}

API int cuptiFinalize(void);
int cuptiFinalize(void)
{
    if (atomic_load(&flushing) > 0) {
        fprintf(stderr, "fake CUPTI: Finalize during a flush: crash\n");
        abort();
    }
    if (fake_setting("told", 0))
        fprintf(stderr, "fake CUPTI: finalized %s\n",
                in_callback ? "at the end of a call" : "anywhere");
    if (fake_setting("stays", 0))
        return (int)fake_setting("stays", 0);
    acquire("Finalize");
    memset(enabled, 0, sizeof enabled);
    early = false;
    request = NULL;
    complete = NULL;
    subscribed = false;
    while (buffers)
        retire(&buffers);
    release();
    return CUPTI_OK;
}

#include "fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES    8
#define STREAMS    64
#define NAMES      16
#define NAME_BYTES 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stream_end_ns[DEVICES][STREAMS];
static uint64_t busy_until_ns;
static _Atomic uint32_t correlation;
static _Atomic(const struct fake_tracer *) tracer;
static char names[NAMES][NAME_BYTES];
static unsigned generation;
static pid_t initialised_by;
static pthread_once_t launched_before = PTHREAD_ONCE_INIT;
static atomic_bool is_up, is_down;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool fake_setting_text(const char *key, char *out, unsigned long room)
{
    const char *p = getenv("FAKE");
    const size_t key_len = strlen(key);

    while (p && *p) {
        const size_t len = strcspn(p, ",");
        if (len > key_len && p[key_len] == '=' && strncmp(p, key, key_len) == 0) {
            size_t n = len - key_len - 1;
            n = n < room - 1 ? n : room - 1;
            memcpy(out, p + key_len + 1, n);
            out[n] = '\0';
            return true;
        }
        p += len + (p[len] == ',');
    }
    return false;
}

long fake_setting(const char *key, long otherwise)
{
    char text[32];

    return fake_setting_text(key, text, sizeof text) ? atol(text) : otherwise;
}

static void fill_names(void)
{
    for (unsigned i = 0; i < NAMES; i++)
        snprintf(names[i], NAME_BYTES, "_Z%ukernel_%u_of_generation_%uPfS_i", 20 + i, i,
                 generation);
}

/* As the driver does: the first cuInit loads the injection and lets it start. */
int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");

    (void)flags;
    if (fake_setting("init", 0) != 0)
        return (int)fake_setting("init", 0);
    if (initialised_by == getpid())
        return 0;
    if (initialised_by != 0)
        return 3; /* a forked child cannot use the parent's CUDA */
    initialised_by = getpid();
    fill_names();
    void *injection = path ? dlopen(path, RTLD_NOW) : NULL;
    if (injection) {
        int (*start)(void);
        *(void **)&start = dlsym(injection, "InitializeInjection");
        if (start)
            start();
    }
    is_up = true;
    return 0;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    const struct fake_tracer *t = atomic_load(&tracer);

    *version = (int)fake_setting("driver", 13000);
    if (t)
        t->version_asked();
    return 0;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    *count = (int)fake_setting("gpus", DEVICES);
    if (is_down)
        return 4;
    return is_up && initialised_by == getpid() ? 0 : 3;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < DEVICES ? 0 : 101;
}

int cuDeviceGetUuid_v2(uint8_t *uuid, int device);
int cuDeviceGetUuid_v2(uint8_t *uuid, int device)
{
    memset(uuid, 0xa0 + device, 16);
    return 0;
}

int cuDeviceGetName(char *name, int room, int device);
int cuDeviceGetName(char *name, int room, int device)
{
    snprintf(name, (size_t)room, "Fake GPU %d%s", device, fake_setting("mig", 0) ? " MIG 1g" : "");
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)80 << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 16 ? 132 : attribute == 75 ? 9 : 0;
    return 0;
}

int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
    *context = initialised_by ? &lock : NULL;
    return 0;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context)
{
    (void)context;
    return 0;
}

int cuCtxPopCurrent_v2(void **context);
int cuCtxPopCurrent_v2(void **context)
{
    *context = &lock;
    return 0;
}

uint64_t fake_busy_until_ns(void)
{
    pthread_mutex_lock(&lock);
    uint64_t until = busy_until_ns;
    pthread_mutex_unlock(&lock);
    return until;
}

int cuCtxSynchronize(void)
{
    const uint64_t until = fake_busy_until_ns();

    if (is_down)
        return 4; /* deinitialised */
    if (fake_setting("nosync", 0))
        return 700; /* as after a kernel's illegal access */
    if (fake_setting("capturing", 0)) {
        fprintf(stderr, "fake CUDA: a graph's capture is broken off\n");
        return 900;
    }
    for (uint64_t now = now_ns(); now < until; now = now_ns()) {
        const struct timespec wait = { .tv_sec = (time_t)((until - now) / 1000000000u),
                                       .tv_nsec = (long)((until - now) % 1000000000u) };
        nanosleep(&wait, NULL);
    }
    return 0;
}

void fake_set_tracer(const struct fake_tracer *t)
{
    atomic_store(&tracer, t);
}

/* One line as kreach_read_log writes it; i: which kernel of a graph. */
static void tell(FILE *out, const struct fake_work *w, uint32_t i)
{
    static const char letters[] = { [FAKE_KERNEL] = 'K',
                                    [FAKE_MEMCPY] = 'C',
                                    [FAKE_MEMCPY_PEER] = 'C',
                                    [FAKE_MEMSET] = 'S',
                                    [FAKE_GRAPH] = 'K' };
    const bool is_kernel = letters[w->what] == 'K';

    fprintf(out, "%c device %u stream %u id %u at %llu+%u grid %u bytes %llu peer %u graph %d %s\n",
            letters[w->what], w->device, w->stream, w->correlation,
            (unsigned long long)(w->start_ns + (uint64_t)i * w->duration_ns), w->duration_ns,
            is_kernel ? w->grid : 0, (unsigned long long)(is_kernel ? 0 : w->bytes),
            w->what == FAKE_MEMCPY_PEER ? w->peer + 1 : 0,
            w->what == FAKE_GRAPH ? FAKE_GRAPH_ID : 0, is_kernel ? w->name : "");
}

/* Under the lock. */
static void tell_truth(const struct fake_work *w)
{
    static FILE *out;
    static bool asked;

    if (!asked && fake_setting("truth", 0))
        out = fopen("truth", "w");
    asked = true;
    for (uint32_t i = 0; out && i < (w->what == FAKE_GRAPH ? w->n_nodes : 1); i++)
        tell(out, w, i);
}

static void go_down(void)
{
    is_down = true;
}

/* No launch goes on before the handler stands, as in CUDA, which initialises under a lock. */
static void before_first_launch(void)
{
    if (fake_setting("early", 0))
        atexit(go_down);
}

bool fake_has_context(void)
{
    return atomic_load(&correlation) > 0;
}

bool fake_cuda_is_down(void)
{
    return is_down;
}

void fake_launch(struct fake_work work)
{
    const struct fake_tracer *t = atomic_load(&tracer);
    const uint64_t kernels = work.what == FAKE_GRAPH ? work.n_nodes : 1;

    pthread_once(&launched_before, before_first_launch);
    work.correlation = atomic_fetch_add(&correlation, 1) + 1;
    pthread_mutex_lock(&lock);
    uint64_t *end_ns = &stream_end_ns[work.device % DEVICES][work.stream % STREAMS];
    const uint64_t now = now_ns();
    work.start_ns = *end_ns > now ? *end_ns : now;
    work.end_ns = work.start_ns + kernels * work.duration_ns;
    *end_ns = work.end_ns;
    if (work.end_ns > busy_until_ns)
        busy_until_ns = work.end_ns;
    tell_truth(&work);
    pthread_mutex_unlock(&lock);
    if (t)
        t->launched(&work);
}

const char *fake_kernel_name(unsigned i)
{
    return names[i % NAMES];
}

void fake_reload_modules(void)
{
    generation++;
    fill_names();
}

void fake_profiler(bool start)
{
    const struct fake_tracer *t = atomic_load(&tracer);

    if (t)
        t->profiler(start);
}

bool fake_records(uint32_t kind)
{
    const struct fake_tracer *t = atomic_load(&tracer);

    return t && t->records(kind);
}

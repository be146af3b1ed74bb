/* What the library shows to the outside: its constructor, the entries for CUDA and NVTX, and the
 * functions that it stands in front of. */
#include "cap_nvtx.h"
#include "cap_say.h"
#include "cap_session.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

#define TAKEOVER_FLUSHES 20 /* at most, once, where a profiler of the program's starts */
#define TAKEOVER_WAIT_US 1000
#define FINALIZE_WAITS   1000 /* at most */
#define REARMING_WAITS   1000 /* at most */

/* Finds the object that holds our own code. */
static int find_self(struct dl_phdr_info *info, size_t size, void *user)
{
    const uintptr_t here = (uintptr_t)find_self;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= start &&
            here < start + info->dlpi_phdr[i].p_memsz) {
            *(const char **)user = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* The process, where CUDA loads another tool (nsys sets the variable, too); 0 where it loads us. */
static pid_t without_us;

static void note_process(void)
{
    without_us = getpid();
}

/* Not in a child of vfork, whose memory is its parent's. */
static void miss(void)
{
    if (without_us == getpid())
        cap_session_missed();
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/*
 * Another tool keeps its place. Another copy of us does not, such as an outer recording's: of those
 * that are preloaded, the one whose functions stand in front comes here last.
 */
static void announce(const char *variable, const char *path)
{
    const char *before = getenv(variable);

    if (!before || (strcmp(before, path) != 0 && strcmp(file_name(before), file_name(path)) == 0))
        setenv(variable, path, 1);
}

/*
 * Every process of the run passes here, shells included: two variables, nothing else. CUDA loads
 * us by the first one in the processes that use it, statically linked ones too.
 */
__attribute__((constructor)) static void on_load(void)
{
    const char *path = NULL;

    if (cap_opts_disabled() || dl_iterate_phdr(find_self, &path) == 0 || !path || path[0] == '\0')
        return;
    announce("CUDA_INJECTION64_PATH", path);
    if (cap_nvtx_wanted())
        announce("NVTX_INJECTION64_PATH", path);
    const char *loaded = getenv("CUDA_INJECTION64_PATH");
    if (loaded && strcmp(loaded, path) != 0) {
        note_process();
        pthread_atfork(NULL, NULL, note_process);
        atexit(miss);
    }
}

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t));

/* cuInit calls this. The answer 1 means that all is well; an injection never makes cuInit fail. */
int InitializeInjection(void)
{
    if (!cap_opts_disabled())
        cap_session_start();
    return 1;
}

/* NVTX calls this at the program's first range; 0 makes its functions do nothing. */
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t))
{
    return !cap_opts_disabled() && cap_nvtx_wanted() && cap_nvtx_install(get_export_table);
}

static _Noreturn void leave(const char *name, int status)
{
    miss();
    cap_session_finish(KREACH_END_FAST, name);
    for (;;)
        syscall(SYS_exit_group, status);
}

/* multiprocessing's workers and others that skip atexit end here. */
EXPORT void _exit(int status)
{
    leave("_exit", status);
}

EXPORT void _Exit(int status)
{
    leave("_Exit", status);
}

/*
 * Another CUPTI client in the process, such as torch.profiler. There is one subscription, which we
 * hold only so that conflicts show at the start: whoever asks gets it. There is one pair of buffer
 * callbacks, too, and whoever registers last gets all buffers: we let it, note the gap, and take
 * over again when it has finished.
 */
EXPORT int cuptiSubscribe(void **subscriber, cupti_callback_fn *callback, void *user);
EXPORT int cuptiSubscribe_v2(void **subscriber, cupti_callback_fn *callback, void *user,
                             struct cupti_subscriber_params *params);
EXPORT int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete);
EXPORT int cuptiActivityDisable(uint32_t kind);
EXPORT int cuptiFinalize(void);

/* Among the libraries that the caller's own brought along, which Python loads for itself alone. */
static void *callers_own(const void *caller, const char *name)
{
    Dl_info where;
    void *found = NULL;

    if (dladdr(caller, &where) == 0)
        return NULL;
    void *library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        found = dlsym(library, name);
        dlclose(library);
    }
    return found;
}

/* CUPTI's own function, where the caller would have found it without us in front. */
static void *next_cupti(const void *caller, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        found = callers_own(caller, name);
    if (!found && cap_session.cupti.handle)
        found = dlsym(cap_session.cupti.handle, name);
    return found;
}

/* A client's name: that of the library which calls. */
static const char *name_of(const void *caller)
{
    Dl_info where;

    if (dladdr(caller, &where) == 0 || !where.dli_fname)
        return "unknown";
    const char *slash = strrchr(where.dli_fname, '/');
    const char *name = slash ? slash + 1 : where.dli_fname;
    return strncmp(name, "libtorch", strlen("libtorch")) == 0 ? "torch.profiler" : name;
}

static void give_way(const void *caller)
{
    if (cap_session_active() && cap_session_unsubscribe(&cap_session))
        cap_say("another CUPTI client (%s) subscribes; kreach gives way and goes on",
                name_of(caller));
}

int cuptiSubscribe(void **subscriber, cupti_callback_fn *callback, void *user)
{
    int (*real)(void **, cupti_callback_fn *, void *);

    *(void **)&real = next_cupti(CALLER, "cuptiSubscribe");
    give_way(CALLER);
    return real ? real(subscriber, callback, user) : CUPTI_E_NOT_INITIALIZED;
}

int cuptiSubscribe_v2(void **subscriber, cupti_callback_fn *callback, void *user,
                      struct cupti_subscriber_params *params)
{
    int (*real)(void **, cupti_callback_fn *, void *, struct cupti_subscriber_params *);

    *(void **)&real = next_cupti(CALLER, "cuptiSubscribe_v2");
    give_way(CALLER);
    return real ? real(subscriber, callback, user, params) : CUPTI_E_NOT_INITIALIZED;
}

/* What is complete, or about to be, still comes to us with its times. */
static void get_buffers_back(struct cap_session *s)
{
    atomic_fetch_add(&s->pool.generation, 1);
    for (int i = 0; i < TAKEOVER_FLUSHES && cap_pool_outstanding(&s->pool) > 0; i++) {
        if (i > 0)
            usleep(TAKEOVER_WAIT_US);
        s->cupti.flush_all(CUPTI_FLUSH_COMPLETE);
    }
}

/* From now on the records go elsewhere; foreign: whom buffers that are not ours belong to. */
static void be_taken_over(struct cap_session *s, cupti_complete_fn *foreign, const void *caller)
{
    const uint64_t now_ns = cap_cupti_now(s);
    uint64_t not_taken = 0;

    /* Our thread may be taking the buffers back from the client before, and then comes first. */
    atomic_store(&s->rearm, 0);
    for (int i = 0; i < REARMING_WAITS && atomic_load(&s->rearming); i++)
        usleep(TAKEOVER_WAIT_US);
    if (atomic_load(&s->taken_over_ns) == 0)
        get_buffers_back(s);
    atomic_store(&s->foreign_complete, foreign);
    if (atomic_compare_exchange_strong(&s->taken_over_ns, &not_taken, now_ns ? now_ns : 1))
        cap_say("another CUPTI client (%s) takes over the records; kreach notes a gap and goes on "
                "after it",
                name_of(caller));
}

int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete)
{
    struct cap_session *s = &cap_session;
    int (*real)(cupti_request_fn *, cupti_complete_fn *);

    *(void **)&real = next_cupti(CALLER, "cuptiActivityRegisterCallbacks");
    if (!real)
        return CUPTI_E_NOT_INITIALIZED;
    atomic_store(&s->foreign_on, 1);
    if (cap_session_active())
        be_taken_over(s, complete, CALLER);
    atomic_store(&s->foreign_complete, complete);
    /* CUPTI may still hold buffers of ours, which the client would not know, or free: all come to
     * us, and we pass on what is not ours. */
    if (cap_session_active() || cap_pool_outstanding(&s->pool) > 0)
        complete = cap_complete;
    return real(request, complete);
}

static void foreign_is_done(void)
{
    struct cap_session *s = &cap_session;

    atomic_store(&s->foreign_on, 0);
    if (!cap_session_active() || atomic_load(&s->taken_over_ns) == 0)
        return;
    atomic_store(&s->rearm, 1);
    cap_wake_up(&s->wake);
}

int cuptiActivityDisable(uint32_t kind)
{
    int (*real)(uint32_t);

    *(void **)&real = next_cupti(CALLER, "cuptiActivityDisable");
    int result = real ? real(kind) : CUPTI_E_NOT_INITIALIZED;
    if (kind == CUPTI_KIND_CONCURRENT_KERNEL || kind == CUPTI_KIND_KERNEL)
        foreign_is_done();
    cap_kinds_keep(&cap_session, kind);
    return result;
}

/* A flush that is under way while CUPTI goes down crashes. No other begins: we are taken over. */
static void wait_for_worker(struct cap_session *s)
{
    for (int i = 0; i < FINALIZE_WAITS && atomic_load(&s->owner) == CAP_OWNER_IN_CUPTI; i++)
        usleep(TAKEOVER_WAIT_US);
}

/* Takes everything down for everybody: our subscription, our callbacks, and what is not flushed. */
int cuptiFinalize(void)
{
    int (*real)(void);
    struct cap_session *s = &cap_session;

    *(void **)&real = next_cupti(CALLER, "cuptiFinalize");
    if (real && cap_session_active()) {
        be_taken_over(s, atomic_load(&s->foreign_complete), CALLER);
        cap_session_unsubscribe(s);
        wait_for_worker(s);
    }
    int result = real ? real() : CUPTI_E_NOT_INITIALIZED;
    foreign_is_done();
    return result;
}

/*
 * A program that uses the fake CUDA as its arguments say, one after the other:
 *   init              cuInit
 *   kernels=N         N launches of 16 names on stream 7 of device 0
 *   on=D              the next work runs on device D
 *   us=N ns=N         the next work takes that long each (us=0: 500 ns)
 *   copies=N sets=N peers=N
 *   graph=N,K         N launches of a graph of K kernels
 *   steps=N,K         N times the same K kernels, a millisecond apart
 *   laps=N,MS         N ranges "lap I", each of MS milliseconds and one kernel
 *   lapsoff=N,MS      such laps until nothing is recorded, N at most
 *   perlap=K          the next laps have K kernels each
 *   threads=T,N       T threads with N kernels each
 *   steady calm       a thread launches a kernel every tenth of a millisecond, until calm
 *   sleep=MS sync reload profstart profstop
 *   open shut         waits until kernels are recorded; until nothing is
 *   nopeers           waits until work is recorded, and copies between devices are not
 *   recorded=N        waits until that many kernels are in its own recording, and promised
 *   closed            waits until its recording is no longer open: a window is over, and written
 *   ready             makes a file "ready" in the current folder
 *   push=NAME pop dpush=D/NAME dpop=D start=NAME end mark=NAME   see fake_nvtx.h
 *   fork=OPS...;      a child does the operations up to ";" and calls _exit(0); the parent waits
 *   storm=N           N children that exit at once, while a thread launches
 *   exec=PATH badexec noexec vexec vexit   badexec: of a folder; noexec: of nothing that is there;
 *                     v: in a child of vfork
 *   again=N           becomes itself with N kernels, an exec that fails, and N more
 *   become=CALL       that call of the exec family makes this a shell that checks its arguments
 *   spawn             a child by posix_spawn
 *   clone             a child that no fork handler sees calls _exit
 *   load=PATH torch   a library; torch.profiler of the one that was loaded, see torch_static.c
 *   unload            dlclose of libkreach.so, as often as it may have been opened
 *   setenv=NAME=VALUE
 *   clock=S           its clock of REALTIME is that much ahead from here on
 *   newpid            goes on as the first process of a new namespace
 *   cancelled=S       a thread that is to be cancelled calls _exit(S)
 *   nopart            complains about an open descriptor of a recording
 *   closefds reuse    closes every descriptor above 2; opens a file of its own at each number
 *   rival unrival     another CUPTI client registers its callbacks, and ends (victim_rival only)
 *   halt              it ends without fetching its records
 *   finalize          it takes CUPTI down
 *   subscribe enable  it subscribes; it enables kernel records
 *                     rival=direct subscribe=direct: by a symbol of CUPTI's own handle
 *   ranges=N          N ranges "range" with nothing in them, fifty a millisecond
 *   windows=N         N ranges "window" of two kernels; complains when memory grows
 *   alarm=US          a signal with a handler every so often
 *   strayed=US        the same, blocked on all threads of its own: complains when it is handled
 *   leavers=T,S       T threads call _exit(S) at once
 *   quiet             ignores SIGTERM by a handler of its own
 *   exit=S _exit=S _Exit=S quick_exit=S return=S kill=SIGNAL abort hang daemon
 * It prints nothing but errors.
 */
#include "cupti_abi.h"
#include "fake_cuda.h"
#include "fake_nvtx.h"
#include "kreach_format.h"
#include "kreach_read.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef RIVAL
int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiFinalize(void);
int cuptiSubscribe_v2(void **out, cupti_callback_fn *callback, void *user,
                      struct cupti_subscriber_params *params);

static unsigned rival_buffers, rival_strange;

static void rival_subscribe(bool direct)
{
    struct cupti_subscriber_params params = { .struct_bytes = sizeof params, .name = "rival" };
    int (*subscribe)(void **, cupti_callback_fn *, void *, struct cupti_subscriber_params *) =
        cuptiSubscribe_v2;
    void *handle = NULL;

    if (direct)
        *(void **)&subscribe =
            dlsym(dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD), "cuptiSubscribe_v2");
    const int result = subscribe(&handle, NULL, NULL, &params);

    if (result != 0)
        fprintf(stderr, "victim: subscribe: %d\n", result);
}

/* A client knows its own buffers, and leaks what it does not know. */
static uint8_t *rival_given[1024];
static unsigned rival_n_given;

static void rival_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *bytes = 1 << 16;
    *buffer = calloc(1, *bytes);
    *max_records = 0;
    rival_given[rival_n_given++ % 1024] = *buffer;
}

static void rival_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                           size_t valid)
{
    (void)context;
    (void)stream;
    (void)bytes;
    (void)valid;
    rival_buffers++;
    for (unsigned i = 0; i < 1024; i++) {
        if (rival_given[i] == buffer) {
            rival_given[i] = NULL;
            free(buffer);
            return;
        }
    }
    rival_strange++;
}

/* direct: by a symbol of CUPTI's own handle, past whoever stands in front of it. */
static void rival_register(bool direct)
{
    int (*real)(cupti_request_fn *, cupti_complete_fn *) = cuptiActivityRegisterCallbacks;

    if (direct)
        *(void **)&real = dlsym(dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD),
                                "cuptiActivityRegisterCallbacks");
    real(rival_request, rival_complete);
}
#endif

#define WAIT_MS_MAX 30000

static uint32_t device;
static uint32_t duration_ns = 500;

static void kernels(unsigned n, uint32_t stream)
{
    for (unsigned i = 0; i < n; i++)
        fake_launch((struct fake_work){ .what = FAKE_KERNEL,
                                        .device = device,
                                        .stream = stream,
                                        .name = fake_kernel_name(i % 16),
                                        .grid = 1 + i % 16,
                                        .duration_ns = duration_ns });
}

static void others(enum fake_what what, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fake_launch((struct fake_work){ .what = what,
                                        .device = device,
                                        .peer = device + 1,
                                        .stream = 9,
                                        .bytes = 4096,
                                        .duration_ns = duration_ns });
}

static void graphs(unsigned n, unsigned nodes)
{
    for (unsigned i = 0; i < n; i++)
        fake_launch((struct fake_work){ .what = FAKE_GRAPH,
                                        .device = device,
                                        .stream = 11,
                                        .name = fake_kernel_name(3),
                                        .grid = 5,
                                        .n_nodes = nodes,
                                        .duration_ns = duration_ns });
}

#define THREADS_MAX 2048

struct thread_work {
    unsigned n;
    uint32_t stream;
};

static void *launch_many(void *arg)
{
    const struct thread_work *w = arg;

    kernels(w->n, w->stream);
    return NULL;
}

static void threads(unsigned n, unsigned each)
{
    static pthread_t ids[THREADS_MAX];
    static struct thread_work work[THREADS_MAX];

    if (n > THREADS_MAX)
        abort();
    for (unsigned i = 0; i < n; i++) {
        work[i] = (struct thread_work){ each, i % 64 };
        if (pthread_create(&ids[i], NULL, launch_many, &work[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
}

static atomic_int storming = 1;

static void *launch_during_storm(void *unused)
{
    (void)unused;
    while (storming)
        kernels(10, 1);
    return NULL;
}

static void storm(unsigned n)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, launch_during_storm, NULL) != 0)
        abort();
    for (unsigned i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i % 3 == 0)
                exit(0);
            if (i % 3 == 1)
                _exit(0);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) {
            fprintf(stderr, "victim: child %u ended with %x\n", i, (unsigned)status);
            abort();
        }
    }
    storming = 0;
    pthread_join(thread, NULL);
}

static atomic_bool calm;

static void *launch_until_calm(void *unused)
{
    while (!calm) {
        kernels(1, 3);
        usleep(100);
    }
    return unused;
}

static void steady(bool begins)
{
    static pthread_t thread;

    calm = !begins;
    if (begins && pthread_create(&thread, NULL, launch_until_calm, NULL) != 0)
        abort();
    if (!begins)
        pthread_join(thread, NULL);
}

static unsigned per_lap = 1;
static void *loaded; /* by "load" */

static void laps(unsigned n, unsigned ms, bool until_shut)
{
    char name[32];

    for (unsigned i = 0; i < n && !(until_shut && !fake_records(0)); i++) {
        snprintf(name, sizeof name, "lap %u", i);
        fake_nvtx("push", name);
        kernels(per_lap, 7);
        usleep(ms * 1000);
        fake_nvtx("pop", "");
    }
}

static long resident_kib(void)
{
    long size = 0;
    long resident = 0;
    FILE *in = fopen("/proc/self/statm", "r");

    if (!in || fscanf(in, "%ld %ld", &size, &resident) != 2)
        abort();
    fclose(in);
    return resident * 4;
}

static void windows(unsigned n)
{
    long early = 0;

    for (unsigned i = 0; i < n; i++) {
        fake_nvtx("push", "window");
        kernels(2, 7);
        fake_nvtx("pop", "");
        usleep(20);
        if (i == n / 5)
            early = resident_kib();
    }
    if (resident_kib() - early > 4096)
        fprintf(stderr, "victim: memory grew by %ld KiB\n", resident_kib() - early);
}

static void ranges(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fake_nvtx("push", "range");
        fake_nvtx("pop", "");
        if (i % 50 == 49)
            usleep(1000);
    }
}

static void on_alarm(int signo)
{
    (void)signo;
}

static void on_stray_alarm(int signo)
{
    static const char complaint[] = "victim: a signal on a thread that is not the program's\n";

    (void)signo;
    if (write(STDERR_FILENO, complaint, sizeof complaint - 1) < 0)
        abort();
}

static void alarms(unsigned us, bool blocked)
{
    const struct itimerval every = { { 0, (suseconds_t)us }, { 0, (suseconds_t)us } };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (blocked)
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGALRM, blocked ? on_stray_alarm : on_alarm);
    setitimer(ITIMER_REAL, &every, NULL);
}

static pthread_barrier_t at_the_door;
static unsigned leavers_status;

static void *leave_at_once(void *unused)
{
    pthread_barrier_wait(&at_the_door);
    _exit((int)leavers_status);
    return unused;
}

static void leavers(unsigned n, unsigned status)
{
    pthread_t thread;

    leavers_status = status;
    pthread_barrier_init(&at_the_door, NULL, n);
    for (unsigned i = 0; i < n; i++) {
        if (pthread_create(&thread, NULL, leave_at_once, NULL) != 0)
            abort();
    }
    for (;;)
        pause();
}

static void *leave_though_cancelled(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    _exit((int)leavers_status);
}

static void cancelled(unsigned status)
{
    pthread_t thread;

    leavers_status = status;
    if (pthread_create(&thread, NULL, leave_though_cancelled, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    fprintf(stderr, "victim: _exit came back\n");
}

static _Atomic long clock_ahead_s;

/* In front of libc's, for all libraries of the process. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
    const long result = syscall(SYS_clock_gettime, id, now);

    if (id == CLOCK_REALTIME)
        now->tv_sec += clock_ahead_s;
    return (int)result;
}

/* The parent ends as its child does. */
static void enter_namespace(void)
{
    int status = 0;

    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        fprintf(stderr, "victim: no namespace\n");
        _exit(0);
    }
    const pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 111);
}

static void on_term(int signo)
{
    (void)signo;
    exit(42);
}

static int run(char **ops);

/* A child does the operations up to ";"; returns where to go on. */
static char **in_child(char **ops)
{
    char **end = ops;

    while (*end && strcmp(*end, ";") != 0)
        end++;
    pid_t child = fork();
    if (child == 0) {
        *end = NULL;
        _exit(run(ops));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
        fprintf(stderr, "victim: the child ended with %x\n", (unsigned)status);
    return *end ? end : end - 1;
}

static void close_all(bool reuse)
{
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
    for (int fd = 3; reuse && fd < 1000; fd++) {
        if (open("bystander", O_WRONLY | O_CREAT, 0666) < 0)
            return;
    }
}

/* The first descriptor above `after` that is a recording, and its path; 0 = none. */
static int find_part(int after, char *path, size_t room)
{
    char link[64];

    for (int fd = after + 1; fd < 1024; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t len = readlink(link, path, room - 1);
        if (len > 5 && memcmp(path + len - 5, ".part", 5) == 0) {
            path[len] = '\0';
            return fd;
        }
    }
    return 0;
}

static void complain_about_parts(void)
{
    char path[4096];

    for (int fd = find_part(2, path, sizeof path); fd; fd = find_part(fd, path, sizeof path))
        fprintf(stderr, "victim: descriptor %d is a recording\n", fd);
}

static bool has_recorded(unsigned n)
{
    static struct read_file file;
    char path[4096];

    return find_part(2, path, sizeof path) && kreach_read(path, &file) && file.kernels >= n &&
           file.totals[KREACH_TOTAL_KERNELS] >= n;
}

static bool is_so(const char *op, unsigned n)
{
    if (!strcmp(op, "open"))
        return fake_records(CUPTI_KIND_CONCURRENT_KERNEL);
    if (!strcmp(op, "nopeers"))
        return fake_records(0) && !fake_records(CUPTI_KIND_MEMCPY2);
    if (!strcmp(op, "closed")) {
        char path[4096];
        return find_part(2, path, sizeof path) == 0;
    }
    return !strcmp(op, "shut") ? !fake_records(0) : has_recorded(n);
}

/* How far recording has come decides what comes next, however busy the machine is. */
/* torch.profiler of the library that "load" loaded. */
static void profile(void)
{
    int (*torch_profile)(void);

    *(void **)&torch_profile = dlsym(loaded, "torch_profile");
    const int result = torch_profile();
    if (result != 0)
        fprintf(stderr, "victim: torch.profiler: %d\n", result);
}

static void wait_for_recording(const char *op, unsigned n)
{
    for (unsigned ms = 0; ms < WAIT_MS_MAX; ms++) {
        if (is_so(op, n))
            return;
        usleep(1000);
    }
    fprintf(stderr, "victim: waited for %s=%u in vain\n", op, n);
}

static void leave(const char *op, int status)
{
    if (!strcmp(op, "exit"))
        exit(status);
    else if (!strcmp(op, "_exit"))
        _exit(status);
    else if (!strcmp(op, "_Exit"))
        _Exit(status);
    else if (!strcmp(op, "quick_exit"))
        quick_exit(status);
    else if (!strcmp(op, "abort"))
        abort();
}

#define CHECK "test \"$#$0$1$HELLO\" = \"2zero'one'there\" || exit 9"
#define TEN   "x", "x", "x", "x", "x", "x", "x", "x", "x", "x"

/* Becomes a shell that ends with 0 when arguments and environment arrived as they were given. */
static void become(const char *call)
{
    char *argv[] = { (char *)"sh",    (char *)"-c", (char *)CHECK, (char *)"zero",
                     (char *)"'one'", (char *)"",   NULL };
    char *envp[] = { (char *)"HELLO=there", NULL };

    if (call[strlen(call) - 1] != 'e')
        setenv("HELLO", "there", 1);
    if (!strcmp(call, "execl"))
        execl("/bin/sh", "sh", "-c", CHECK, "zero", "'one'", "", (char *)NULL);
    else if (!strcmp(call, "execle"))
        execle("/bin/sh", "sh", "-c", CHECK, "zero", "'one'", "", (char *)NULL, envp);
    else if (!strcmp(call, "execlp"))
        execlp("sh", "sh", "-c", CHECK, "zero", "'one'", "", (char *)NULL);
    else if (!strcmp(call, "execl-long"))
        execl("/bin/sh", "sh", "-c", "test $#$0${70} = 70xlast || exit 9", TEN, TEN, TEN, TEN, TEN,
              TEN, TEN, "last", (char *)NULL);
    else if (!strcmp(call, "execv"))
        execv("/bin/sh", argv);
    else if (!strcmp(call, "execve"))
        execve("/bin/sh", argv, envp);
    else if (!strcmp(call, "execvp"))
        execvp("sh", argv);
    else if (!strcmp(call, "execvpe"))
        execvpe("sh", argv, envp);
    else if (!strcmp(call, "fexecve"))
        fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), argv, envp);
    else if (!strcmp(call, "execveat-e"))
        execveat(AT_FDCWD, "/bin/sh", argv, envp, 0);
    perror("victim: exec");
}

static void again(const char *n)
{
    char ops[64];
    char *argv[] = { (char *)"victim", (char *)"init", ops, (char *)"badexec", ops, NULL };

    snprintf(ops, sizeof ops, "kernels=%s", n);
    execv("/proc/self/exe", argv);
    perror("victim: exec");
}

static void spawn(void)
{
    char *argv[] = { (char *)"true", NULL };
    int status = 0;
    pid_t child;

    if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) != 0)
        abort();
    waitpid(child, &status, 0);
    if (status != 0)
        fprintf(stderr, "victim: the spawned child ended with %x\n", (unsigned)status);
}

static void exec_something(const char *op, char *path)
{
    char *argv[] = { path, NULL };

    if (!strcmp(op, "exec")) {
        execv(path, argv);
        perror("victim: exec");
    } else if (!strcmp(op, "badexec")) {
        execv("/", argv);
    } else if (!strcmp(op, "noexec")) {
        execv("/nonexistent/program", argv);
        execvp("nonexistent-program", argv);
    } else if (!strcmp(op, "vexec") || !strcmp(op, "vexit")) {
        char *true_argv[] = { (char *)"true", NULL };
        pid_t child = vfork();
        if (child == 0) {
            if (!strcmp(op, "vexec"))
                execv("/bin/true", true_argv);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    } else if (!strcmp(op, "become")) {
        become(path);
    } else if (!strcmp(op, "again")) {
        again(path);
    } else if (!strcmp(op, "spawn")) {
        spawn();
    } else if (!strcmp(op, "clone")) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}

static void wait_a_bit(const char *op, unsigned n)
{
    if (!strcmp(op, "sleep"))
        usleep(n * 1000);
    else if (!strcmp(op, "sync"))
        cuCtxSynchronize();
    else if (!strcmp(op, "kill"))
        raise((int)n);
    else if (!strcmp(op, "open") || !strcmp(op, "shut") || !strcmp(op, "nopeers") ||
             !strcmp(op, "closed") || !strcmp(op, "recorded"))
        wait_for_recording(op, n);
    else if (!strcmp(op, "ready"))
        close(open("ready", O_WRONLY | O_CREAT, 0666));
    while (!strcmp(op, "hang"))
        pause();
}

static void work(const char *op, unsigned n, unsigned each)
{
    if (!strcmp(op, "kernels"))
        kernels(n, 7);
    else if (!strcmp(op, "copies"))
        others(FAKE_MEMCPY, n);
    else if (!strcmp(op, "sets"))
        others(FAKE_MEMSET, n);
    else if (!strcmp(op, "peers"))
        others(FAKE_MEMCPY_PEER, n);
    else if (!strcmp(op, "graph"))
        graphs(n, each);
    else if (!strcmp(op, "threads"))
        threads(n, each);
    else if (!strcmp(op, "storm"))
        storm(n);
    else if (!strcmp(op, "steady") || !strcmp(op, "calm"))
        steady(!strcmp(op, "steady"));
    else if (!strcmp(op, "laps") || !strcmp(op, "lapsoff"))
        laps(n, each, !strcmp(op, "lapsoff"));
    else if (!strcmp(op, "windows"))
        windows(n);
    else if (!strcmp(op, "ranges"))
        ranges(n);
    else if (!strcmp(op, "alarm") || !strcmp(op, "strayed"))
        alarms(n, op[0] == 's');
    else if (!strcmp(op, "leavers"))
        leavers(n, each);
    for (unsigned i = 0; !strcmp(op, "steps") && i < n; i++) {
        kernels(each, 7);
        usleep(1000);
    }
}

static void unload(void)
{
    for (int i = 0; i < 4; i++) {
        void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
        if (!library)
            return;
        dlclose(library);
        dlclose(library);
    }
}

static void settings(const char *op, const char *value)
{
    if (!strcmp(op, "init") && cuInit(0) != 0)
        fprintf(stderr, "victim: cuInit failed\n");
    else if (!strcmp(op, "on"))
        device = (uint32_t)atoi(value);
    else if (!strcmp(op, "us"))
        duration_ns = atoi(value) ? (uint32_t)atoi(value) * 1000 : 500;
    else if (!strcmp(op, "ns"))
        duration_ns = (uint32_t)atoi(value);
    else if (!strcmp(op, "perlap"))
        per_lap = (unsigned)atoi(value);
    else if (!strcmp(op, "reload"))
        fake_reload_modules();
    else if (!strncmp(op, "prof", 4))
        fake_profiler(!strcmp(op, "profstart"));
    else if (!strcmp(op, "quiet"))
        signal(SIGTERM, on_term);
    else if (!strcmp(op, "closefds") || !strcmp(op, "reuse"))
        close_all(!strcmp(op, "reuse"));
    else if (!strcmp(op, "load"))
        loaded = dlopen(value, RTLD_NOW);
    else if (!strcmp(op, "torch"))
        profile();
    else if (!strcmp(op, "unload"))
        unload();
    else if (!strcmp(op, "setenv"))
        putenv((char *)(uintptr_t)value);
    else if (!strcmp(op, "clock"))
        clock_ahead_s = atol(value);
    else if (!strcmp(op, "newpid"))
        enter_namespace();
    else if (!strcmp(op, "cancelled"))
        cancelled((unsigned)atoi(value));
    else if (!strcmp(op, "nopart"))
        complain_about_parts();
    else if (!strcmp(op, "daemon") && fork() != 0)
        _exit(0);
#ifdef RIVAL
    else if (!strcmp(op, "rival"))
        rival_register(!strcmp(value, "direct"));
    else if (!strcmp(op, "subscribe"))
        rival_subscribe(!strcmp(value, "direct"));
    else if (!strcmp(op, "enable"))
        cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL);
    else if (!strcmp(op, "finalize"))
        cuptiFinalize();
    else if (!strcmp(op, "halt"))
        cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL);
    else if (!strcmp(op, "unrival")) {
        cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL);
        cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
        if (rival_buffers == 0)
            fprintf(stderr, "victim: the rival got no buffer\n");
        if (rival_strange > 0)
            fprintf(stderr, "victim: the rival got %u buffers of another\n", rival_strange);
    }
#endif
}

static int run(char **ops)
{
    for (; *ops; ops++) {
        char *value = strchr(*ops, '=');
        if (value)
            *value++ = '\0';
        const char *comma = value ? strchr(value, ',') : NULL;
        const unsigned n = value ? (unsigned)atoi(value) : 0;
        const unsigned each = comma ? (unsigned)atoi(comma + 1) : 0;
        if (!strcmp(*ops, "return"))
            return (int)n;
        if (!strcmp(*ops, "fork")) {
            ops = in_child(ops + 1);
            continue;
        }
        settings(*ops, value ? value : "");
        work(*ops, n, each);
        wait_a_bit(*ops, n);
        fake_nvtx(*ops, value ? value : "");
        exec_something(*ops, value);
        leave(*ops, (int)n);
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    return run(argv + 1);
}

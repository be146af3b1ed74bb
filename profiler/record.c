#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem.h"
#include "search_path.h"

extern char **environ;

/* Where the library lies, seen from the folder of the program: installed, then built. */
static const char *const library_places[] = {
    "../lib/kreach/libkreach.so",
    "../lib/libkreach.so",
    "../lib/x86_64-linux-gnu/libkreach.so",
    "../lib/aarch64-linux-gnu/libkreach.so",
    "libkreach.so",
};

static bool check_library(const char *path, struct kr_err *err)
{
    if (strpbrk(path, " :"))
        return kr_fail(err, KR_EENV,
                       "the path of '%s' has a space or colon, which LD_PRELOAD cannot hold; set "
                       "KREACH_LIB to a copy elsewhere",
                       path);
    return true;
}

bool kr_record_find_library(char *path, size_t room, struct kr_err *err)
{
    const char *chosen = getenv("KREACH_LIB");
    char program[PATH_MAX];
    char candidate[PATH_MAX + 64];
    char found[PATH_MAX];
    ssize_t len;

    if (chosen && *chosen) {
        if (!realpath(chosen, found))
            return kr_fail(err, KR_EENV, "KREACH_LIB names '%s': %s", chosen, strerror(errno));
        snprintf(path, room, "%s", found);
        return check_library(path, err);
    }
    len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
    if (strrchr(program, '/'))
        strrchr(program, '/')[1] = '\0';
    for (size_t i = 0; i < KR_COUNT(library_places); i++) {
        snprintf(candidate, sizeof candidate, "%s%s", program, library_places[i]);
        if (!realpath(candidate, found))
            continue;
        snprintf(path, room, "%s", found);
        return check_library(path, err);
    }
    return kr_fail(err, KR_EENV,
                   "libkreach.so is not beside '%s' (in ../lib); install kreach whole, or set "
                   "KREACH_LIB to its path",
                   program);
}

bool kr_record_make_folder(const char *prefix, char *path, size_t room, struct kr_err *err)
{
    char absolute[PATH_MAX] = "";
    int len;

    if (prefix[0] != '/' && !getcwd(absolute, sizeof absolute))
        return kr_fail(err, KR_EOUTPUT, "the current folder is gone: %s", strerror(errno));
    len = snprintf(path, room, "%s%s%s.parts.XXXXXX", absolute, *absolute ? "/" : "", prefix);
    if (len < 0 || (size_t)len >= room)
        return kr_fail(err, KR_EOUTPUT, "the path of '%s' is too long", prefix);
    if (!mkdtemp(path))
        return kr_fail(err, KR_EOUTPUT, "cannot make a folder beside '%s': %s", prefix,
                       strerror(errno));
    return true;
}

void kr_record_remove_folder(const char *path)
{
    DIR *dir = opendir(path);

    if (!dir)
        return;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    }
    closedir(dir);
    rmdir(path);
}

void kr_record_new_id(char *id)
{
    snprintf(id, KR_RUN_ID_BYTES, "%016llx", (unsigned long long)kr_random_seed());
}

/* The program's environment: ours with the variables that carry the recording. */
struct environment {
    char **items; /* ends with NULL; the first n_own are ours to free */
    size_t n_own;
};

/* Appends "NAME=VALUE[SEPARATOR OLD]", where OLD is what the user had there. */
static bool add_variable(struct environment *env, const char *name, const char *value,
                         char separator, struct kr_err *err)
{
    const char *old = separator ? getenv(name) : NULL;
    size_t room = strlen(name) + strlen(value) + (old ? strlen(old) : 0) + 3;
    char *item = kr_xcalloc(room, 1, err);

    if (!item)
        return false;
    snprintf(item, room, old && *old ? "%s=%s%c%s" : "%s=%s", name, value, separator, old);
    env->items[env->n_own++] = item;
    return true;
}

static bool is_name_of(const char *item, const char *other)
{
    size_t len = strcspn(other, "=");

    return strncmp(item, other, len + 1) == 0;
}

static bool make_environment(const struct kr_record_plan *plan, struct environment *env,
                             struct kr_err *err)
{
    size_t n = 0;
    size_t n_all;

    while (environ[n])
        n++;
    env->items = kr_xcalloc(n + 5, sizeof *env->items, err);
    if (!env->items || !add_variable(env, "LD_PRELOAD", plan->library, ':', err) ||
        !add_variable(env, "KREACH_OUT", plan->folder, 0, err) ||
        !add_variable(env, "KREACH_RUN", plan->run_id, 0, err) ||
        !add_variable(env, "KREACH_OPTIONS", plan->options, ',', err))
        return false;
    n_all = env->n_own;
    for (size_t i = 0; i < n; i++) {
        bool replaced = false;

        for (size_t own = 0; own < env->n_own; own++)
            replaced |= is_name_of(environ[i], env->items[own]);
        if (!replaced)
            env->items[n_all++] = environ[i];
    }
    return true;
}

static void free_environment(struct environment *env)
{
    for (size_t i = 0; i < env->n_own; i++)
        free(env->items[i]);
    free(env->items);
}

void kr_record_take_signals(struct kr_record_signals *s)
{
    static const int wanted[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

    signal(SIGCHLD, SIG_DFL); /* were it ignored, nobody could learn the program's status */
    sigemptyset(&s->taken);
    sigaddset(&s->taken, SIGCHLD);
    for (size_t i = 0; i < KR_COUNT(wanted); i++) {
        struct sigaction action;

        /* nohup and its like: what we were told to ignore stays ignored, for the program too */
        if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&s->taken, wanted[i]);
    }
    sigprocmask(SIG_BLOCK, &s->taken, &s->before);
    sigemptyset(&s->own);
    sigaddset(&s->own, SIGPIPE);
    sigaddset(&s->own, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &s->own, NULL);
}

void kr_record_give_signals_back(const struct kr_record_signals *s)
{
    static const struct timespec now = { 0, 0 };
    sigset_t meant_for_program = s->taken;

    sigdelset(&meant_for_program, SIGTERM);
    sigdelset(&meant_for_program, SIGHUP);
    while (sigtimedwait(&meant_for_program, NULL, &now) > 0)
        ; /* what came for the program, or too late for it, must not end us */
    while (sigtimedwait(&s->own, NULL, &now) > 0)
        ;
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* Starts argv[0]; returns 0 or an error number. */
static int spawn_argv(const struct kr_record_plan *plan, char *const *argv, char *const *env,
                      const struct kr_record_signals *s, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc;

    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_setsigmask(&attributes, &s->before);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (plan->hide_output)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(pid, argv[0], &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

/* A file of no known format is a script for the shell, as for execvp(3) and env(1). */
static int spawn_script(const struct kr_record_plan *plan, char *const *env,
                        const struct kr_record_signals *s, pid_t *pid)
{
    struct kr_err no_memory;
    char path[PATH_MAX];
    char **argv;
    size_t n = 1;
    int rc;

    while (plan->argv[n])
        n++;
    argv = kr_xcalloc(n + 2, sizeof *argv, &no_memory);
    if (!argv)
        return ENOMEM;
    if (strchr(plan->argv[0], '/') || !kr_search_path(plan->argv[0], path, sizeof path))
        snprintf(path, sizeof path, "%s", plan->argv[0]);
    argv[0] = (char *)(uintptr_t) "/bin/sh";
    argv[1] = path;
    for (size_t i = 1; i < n; i++)
        argv[1 + i] = plan->argv[i];
    rc = spawn_argv(plan, argv, env, s, pid);
    free(argv);
    return rc;
}

/* Starts the program; returns 0 or an error number. */
static int spawn(const struct kr_record_plan *plan, char *const *env,
                 const struct kr_record_signals *s, pid_t *pid)
{
    int rc = spawn_argv(plan, plan->argv, env, s, pid);

    return rc == ENOEXEC ? spawn_script(plan, env, s, pid) : rc;
}

static int shell_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The user's interrupts so far. */
struct interrupts {
    unsigned n;
    int64_t last_ms;
};

/*
 * Counts an interrupt. timeout(1) and shells send one signal twice, to us and to our group; what
 * comes that close together is one.
 */
static unsigned count_interrupt(struct interrupts *in)
{
    enum { CLOSE_MS = 100 };
    struct timespec now;
    int64_t now_ms;

    clock_gettime(CLOCK_MONOTONIC, &now);
    now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (!in->n || now_ms - in->last_ms > CLOSE_MS)
        in->n++;
    in->last_ms = now_ms;
    return in->n;
}

/* Acts on a signal to us while the program runs. */
static void pass_on(const siginfo_t *info, struct kr_record_end *end, struct interrupts *in)
{
    bool to_us_alone = info->si_code <= 0; /* by kill(2); the terminal's reach the program too */

    if (info->si_signo == SIGINT && count_interrupt(in) > 1) {
        end->stopped = true;
        kill(end->pid, SIGKILL);
    } else if (to_us_alone || info->si_signo == SIGTERM) {
        kill(end->pid, info->si_signo);
    }
}

static void wait_for_program(const struct kr_record_signals *s, struct kr_record_end *end)
{
    struct interrupts interrupts = { 0 };
    int status = 0;
    pid_t ended = 0;

    while (ended == 0) {
        siginfo_t info;

        if (sigwaitinfo(&s->taken, &info) < 0)
            continue; /* EINTR, after a stop and a continuation */
        if (info.si_signo != SIGCHLD)
            pass_on(&info, end, &interrupts);
        ended = waitpid(end->pid, &status, WNOHANG);
    }
    end->status = ended > 0 ? shell_status(status) : KR_RECORD_FAILED;
}

/* A script whose interpreter is missing fails like a missing program. */
static const char *explain(const char *program, int rc)
{
    char path[PATH_MAX];
    bool is_there = strchr(program, '/') ? access(program, F_OK) == 0
                                         : kr_search_path(program, path, sizeof path);

    if (rc != ENOENT)
        return strerror(rc);
    return is_there ? "the interpreter that it names is not there" : "not found";
}

bool kr_record_run(const struct kr_record_plan *plan, const struct kr_record_signals *signals,
                   struct kr_record_end *end, struct kr_err *err)
{
    struct environment env = { 0 };
    int rc;

    *end = (struct kr_record_end){ .status = KR_RECORD_FAILED };
    if (!make_environment(plan, &env, err)) {
        free_environment(&env);
        return false;
    }
    rc = spawn(plan, env.items, signals, &end->pid);
    free_environment(&env);
    if (rc == 0) {
        wait_for_program(signals, end);
        return true;
    }
    end->pid = 0;
    if (rc != EAGAIN && rc != ENOMEM)
        end->status = rc == ENOENT ? KR_RECORD_NOT_FOUND : KR_RECORD_NOT_EXECUTABLE;
    return kr_fail(err, KR_EENV, "cannot run '%s': %s", plan->argv[0], explain(plan->argv[0], rc));
}

#include "scene.h"

#include "../support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGS_MAX 128

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Splits text at spaces in place. */
static size_t split(char *text, char **parts)
{
    size_t n = 0;

    for (char *p = strtok(text, " "); p && n + 1 < ARGS_MAX; p = strtok(NULL, " "))
        parts[n++] = p;
    parts[n] = NULL;
    return n;
}

static void set_environment(const struct scene *scene, const char *folder)
{
    char *pairs[ARGS_MAX];
    char *copy = strdup(scene->env ? scene->env : "");

    setenv("LD_LIBRARY_PATH", FAKE_LIB, 1);
    setenv("FAKE", scene->fake ? scene->fake : "", 1);
    setenv("KREACH_OUT", folder, 1);
    setenv("KREACH_RUN", "0123456789abcdef", 1);
    setenv("KREACH_OPTIONS", scene->options ? scene->options : "", 1);
    unsetenv("KREACH_DISABLE");
    /* Our library comes before the sanitizer's run-time here, which is harmless. */
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0:handle_segv=0:handle_abort=0",
           1);
    setenv("TSAN_OPTIONS", "halt_on_error=1:handle_segv=0:handle_abort=0", 1);
    if (scene->no_preload)
        setenv("CUDA_INJECTION64_PATH", LIBKREACH, 1);
    else
        setenv("LD_PRELOAD", LIBKREACH, 1);
    split(copy, pairs);
    for (char **pair = pairs; *pair; pair++) {
        if (strchr(*pair, '='))
            putenv(*pair);
        else
            unsetenv(*pair);
    }
}

static _Noreturn void become_victim(const struct scene *scene, const char *folder)
{
    char *argv[ARGS_MAX + 1];
    char err_path[300];
    const struct rlimit limit = { scene->file_limit_bytes, scene->file_limit_bytes };
    const struct rlimit data_limit = { scene->data_limit_bytes, scene->data_limit_bytes };

    snprintf(err_path, sizeof err_path, "%s/stderr", folder);
    int fd = open(err_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    dup2(fd, STDERR_FILENO);
    close(fd);
    if (chdir(folder) != 0)
        _exit(120);
    argv[0] = (char *)(scene->rival ? RIVAL_VICTIM : VICTIM);
    split(strdup(scene->ops), argv + 1);
    if (scene->file_limit_bytes)
        setrlimit(RLIMIT_FSIZE, &limit);
    if (scene->data_limit_bytes)
        setrlimit(RLIMIT_DATA, &data_limit);
    set_environment(scene, folder);
    execv(argv[0], argv);
    _exit(121);
}

static int is_part(const struct dirent *entry)
{
    const size_t len = strlen(entry->d_name);

    return len > 5 && strcmp(entry->d_name + len - 5, ".part") == 0;
}

static bool may_count(const struct scene *scene, const struct outcome *o)
{
    char path[300];

    snprintf(path, sizeof path, "%s/ready", o->folder);
    return !scene->kill_counts_from_ready || access(path, F_OK) == 0;
}

/* Waits; sends the scene's signal when it is time, SIGKILL when the run has hung. */
static void wait_for(const struct scene *scene, struct outcome *o, pid_t pid)
{
    const double start = now_s();
    const double limit = scene->timeout_s ? scene->timeout_s : 200;
    bool counting = false;
    bool sent = scene->kill_after_us == 0;
    double from = start;

    while (waitpid(pid, &o->status, WNOHANG) == 0) {
        if (!sent && !counting && may_count(scene, o)) {
            counting = true;
            from = now_s();
        }
        if (!sent && counting && now_s() - from >= scene->kill_after_us / 1e6) {
            kill(pid, scene->signal ? scene->signal : SIGKILL);
            sent = true;
        }
        if (now_s() - start > limit) {
            o->hung = true;
            kill(pid, SIGKILL);
        }
        usleep(200);
    }
    o->seconds = now_s() - start;
}

static void read_folder(struct outcome *o)
{
    struct dirent **entries = NULL;
    char path[600];
    const int n = scandir(o->folder, &entries, is_part, alphasort);

    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", o->folder, entries[i]->d_name);
        free(entries[i]);
        if (o->n_files == SCENE_FILES_MAX)
            continue;
        struct read_file *f = malloc(sizeof *f);
        if (!kreach_read(path, f)) {
            snprintf(f->why, sizeof f->why, "no .kreach file, %llu bytes",
                     (unsigned long long)f->bytes);
        }
        o->files[o->n_files++] = f;
    }
    free(entries);
    snprintf(path, sizeof path, "%s/stderr", o->folder);
    FILE *in = fopen(path, "r");
    if (in) {
        const size_t len = fread(o->stderr_text, 1, sizeof o->stderr_text - 1, in);
        o->stderr_text[len] = '\0';
        fclose(in);
    }
}

/* A test that fails leaves its outcome behind, and the folder must not stay. */
static struct outcome *unfreed;

static void free_rest(void)
{
    while (unfreed)
        scene_free(unfreed);
}

/* Nor when the test is ended, by its reader or by hand. */
static void remove_rest_and_die(int signo)
{
    for (struct outcome *o = unfreed; o; o = o->next) {
        const pid_t child = fork();
        if (child == 0) {
            execl("/bin/rm", "rm", "-rf", o->folder, (char *)NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
    }
    signal(signo, SIG_DFL);
    raise(signo);
}

static void clean_up_at_the_end(void)
{
    static const int endings[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
    static bool registered;

    if (registered)
        return;
    registered = true;
    atexit(free_rest);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (signal(endings[i], remove_rest_and_die) == SIG_IGN)
            signal(endings[i], SIG_IGN);
    }
}

struct outcome *scene_run(const struct scene *scene)
{
    struct outcome *o = calloc(1, sizeof *o);

    clean_up_at_the_end();
    snprintf(o->folder, sizeof o->folder, "%s/kreach-scene-XXXXXX", scratch_root());
    if (!mkdtemp(o->folder))
        abort();
    o->next = unfreed;
    unfreed = o;
    const pid_t pid = fork();
    if (pid == 0)
        become_victim(scene, o->folder);
    wait_for(scene, o, pid);
    read_folder(o);
    return o;
}

void scene_free(struct outcome *o)
{
    char command[400];
    struct outcome **link = &unfreed;

    while (*link != o)
        link = &(*link)->next;
    *link = o->next;
    for (unsigned i = 0; i < o->n_files; i++)
        free(o->files[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", o->folder);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", o->folder);
    free(o);
}

bool scene_exited(const struct outcome *o, int status)
{
    if (!o->hung && WIFEXITED(o->status) && WEXITSTATUS(o->status) == status)
        return true;
    print_error("status %x, %s after %.1f s; stderr:\n%s\n", (unsigned)o->status,
                o->hung ? "hung" : "ended", o->seconds, o->stderr_text);
    return false;
}

struct read_file *scene_file(struct outcome *o)
{
    if (o->n_files != 1)
        print_error("%u files, status %x, stderr:\n%s\n", o->n_files, (unsigned)o->status,
                    o->stderr_text);
    assert_int_equal(o->n_files, 1);
    if (!o->files[0]->ok)
        print_error("file: %s; stderr:\n%s\n", o->files[0]->why, o->stderr_text);
    assert_true(o->files[0]->ok);
    return o->files[0];
}

#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem.h"

extern char **environ;

/* What gnuplot has open: files in memory, so that no side ever waits for the other. */
enum { SCRIPT, PICTURE, SAID, DATA, FILES };

/* Theirs, in gnuplot: the standard streams and one more. */
static const int theirs[FILES] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, 3 };

#define DATA_PATH "/dev/fd/3"

/* Above all of theirs, so that none is overwritten before it is handed on. */
enum { LEAST_FD = 10 };

/* How often to look whether gnuplot has ended [ns]. */
enum { LOOK_NS = 2000000 };

static bool fail_system(struct kr_err *err, const char *what)
{
    return kr_fail(err, KR_EOUTPUT, "cannot hand a figure to gnuplot: %s: %s", what,
                   strerror(errno));
}

static bool open_files(int fds[FILES], struct kr_err *err)
{
    for (size_t i = 0; i < FILES; i++)
        fds[i] = -1;
    for (size_t i = 0; i < FILES; i++) {
        int fd = memfd_create("kreach-plot", MFD_CLOEXEC);

        if (fd < 0)
            return fail_system(err, "memfd_create");
        fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, LEAST_FD);
        close(fd);
        if (fds[i] < 0)
            return fail_system(err, "dup");
    }
    return true;
}

static void close_files(const int fds[FILES])
{
    for (size_t i = 0; i < FILES; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static bool write_all(int fd, const char *text, size_t len, struct kr_err *err)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_system(err, "write");
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_input(const struct kr_plot *plot, const int fds[FILES], struct kr_err *err)
{
    char *script = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&script, &len);
    bool good;

    if (!stream)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    good = kr_plot_write_script(plot, DATA_PATH, NULL, stream, err);
    if (fclose(stream) != 0)
        good = kr_fail(err, KR_ENOMEM, "out of memory");
    good = good && write_all(fds[SCRIPT], script, len, err) &&
           write_all(fds[DATA], plot->data, plot->data_len, err);
    free(script);
    if (good && lseek(fds[SCRIPT], 0, SEEK_SET) != 0)
        return fail_system(err, "lseek");
    return good;
}

/* Our environment, but for the locale: names are UTF-8. Owned by the caller. */
static char **make_environment(struct kr_err *err)
{
    size_t n = 0, kept = 0;
    char **copy;

    while (environ[n])
        n++;
    copy = kr_xcalloc(n + 2, sizeof *copy, err);
    for (size_t i = 0; copy && i < n; i++) {
        if (strncmp(environ[i], "LC_ALL=", sizeof "LC_ALL=" - 1) != 0)
            copy[kept++] = environ[i];
    }
    if (copy)
        copy[kept] = (char *)"LC_ALL=C.UTF-8";
    return copy;
}

static bool start(const int fds[FILES], pid_t *pid, struct kr_err *err)
{
    /* Without the user's start-up file: the same input gives the same picture. */
    char *const argv[] = { (char *)"gnuplot", (char *)"--default-settings", NULL };
    posix_spawn_file_actions_t actions;
    char **environment = make_environment(err);
    int rc;

    if (!environment)
        return false;
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        for (size_t i = 0; i < FILES && rc == 0; i++)
            rc = posix_spawn_file_actions_adddup2(&actions, fds[i], theirs[i]);
        if (rc == 0)
            rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    if (rc == 0)
        return true;
    if (rc == ENOENT)
        return kr_fail(err, KR_EENV,
                       "gnuplot is not installed; it comes with the package gnuplot-nox");
    return kr_fail(err, KR_EENV, "cannot run gnuplot: %s", strerror(rc));
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits for the end of a process; false when it had to be killed. */
static bool wait_for(pid_t pid, uint64_t timeout_ns, int *status)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    uint64_t start_ns = now_ns();

    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);

        if (ended == pid)
            return true;
        if ((ended < 0 && errno != EINTR) || now_ns() - start_ns >= timeout_ns)
            break;
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        continue;
    return false;
}

/* What gnuplot said, as one line. */
static void read_said(int fd, char *out, size_t size)
{
    char text[512];
    ssize_t n = pread(fd, text, sizeof text, 0);
    size_t len = 0;

    for (ssize_t i = 0; i < n && len + 1 < size; i++) {
        bool space = strchr(" \t\r\n", text[i]) != NULL;

        if (!space)
            out[len++] = text[i];
        else if (len && out[len - 1] != ' ')
            out[len++] = ' ';
    }
    while (len && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
}

static bool judge(const int fds[FILES], bool ended, int status, struct kr_err *err)
{
    char said[320];
    const char *colon;

    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    read_said(fds[SAID], said, sizeof said);
    colon = *said ? ": " : "";
    errno = 0;
    if (!ended)
        return kr_fail(err, KR_EOUTPUT, "gnuplot took too long and was stopped%s%s", colon, said);
    if (WIFSIGNALED(status))
        return kr_fail(err, KR_EOUTPUT, "gnuplot died of signal %d%s%s", WTERMSIG(status), colon,
                       said);
    return kr_fail(err, KR_EOUTPUT, "gnuplot failed with status %d%s%s", WEXITSTATUS(status), colon,
                   said);
}

/*
 * Writes characters without form feeds and the blanks at the ends of lines; *blanks are those not
 * yet written.
 */
static void put_trimmed(FILE *out, const char *text, size_t len, size_t *blanks)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == ' ')
            ++*blanks;
        if (text[i] == ' ' || text[i] == '\f')
            continue;
        for (; *blanks && text[i] != '\n'; --*blanks)
            fputc(' ', out);
        *blanks = 0;
        fputc(text[i], out);
    }
}

/* Errors of `out` show when the output is committed. */
static bool copy_picture(int fd, bool is_text, FILE *out, struct kr_err *err)
{
    char buffer[65536];
    size_t blanks = 0;
    off_t at = 0;

    for (;;) {
        ssize_t n = pread(fd, buffer, sizeof buffer, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_system(err, "read");
        if (n == 0)
            break;
        if (is_text)
            put_trimmed(out, buffer, (size_t)n, &blanks);
        else
            fwrite(buffer, 1, (size_t)n, out);
        at += n;
    }
    if (is_text)
        fputc('\n', out);
    errno = 0;
    return at > 0 || kr_fail(err, KR_EOUTPUT, "gnuplot drew nothing");
}

bool kr_gnuplot_draw(const struct kr_plot *plot, uint64_t timeout_ns, FILE *out, struct kr_err *err)
{
    int fds[FILES];
    int status = 0;
    pid_t pid = 0;
    bool good = open_files(fds, err) && write_input(plot, fds, err) && start(fds, &pid, err);

    if (good) {
        bool ended = wait_for(pid, timeout_ns, &status);

        good = judge(fds, ended, status, err) &&
               copy_picture(fds[PICTURE], plot->format == KR_PLOT_DUMB, out, err);
    }
    close_files(fds);
    return good;
}

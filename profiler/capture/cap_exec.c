/*
 * The exec family: a process that becomes another program has its recording completed first. When
 * the exec fails, it lives on and is recorded again.
 *
 * These run in every process of a run, in children between vfork and exec too, so they go straight
 * to the kernel: no allocation, no dlsym, no lock.
 */
#include "cap_mem.h"
#include "cap_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define FEW_ARGUMENTS 64

/*
 * Nothing ends for a program that is not there: what other threads launch meanwhile would be lost,
 * and Python tries out all folders of PATH in this way. A window that is over may still be waiting
 * for what it had launched: that ends now, too.
 */
static bool before_exec(int fd, const char *path)
{
    const bool active = cap_session_active();

    if (active && path[0] && faccessat(fd, path, X_OK, AT_EACCESS) != 0)
        return false;
    cap_session_finish(KREACH_END_EXEC, "");
    return active;
}

static int after_failed_exec(bool was_active)
{
    const int saved = errno;

    if (was_active)
        cap_session_resume();
    errno = saved;
    return -1;
}

static int exec_path(const char *path, char *const argv[], char *const envp[])
{
    return (int)syscall(SYS_execve, path, argv, envp);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    const bool active = before_exec(AT_FDCWD, path);

    exec_path(path, argv, envp);
    return after_failed_exec(active);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

/* Declared here because C libraries before 2.34 do not. */
EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);

int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    const bool active = before_exec(fd, path);

    syscall(SYS_execveat, fd, path, argv, envp, flags);
    return after_failed_exec(active);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    return execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

/* A file without a known format is a script for the shell (POSIX). */
static void exec_script(const char *path, char *const argv[], char *const envp[])
{
    size_t n = 0;

    while (argv[n])
        n++;
    const size_t bytes = (n + 3) * sizeof(char *);
    const char **shell_argv = cap_pages(bytes);
    if (!shell_argv)
        return;
    shell_argv[0] = "/bin/sh";
    shell_argv[1] = path;
    if (n > 1)
        memcpy(shell_argv + 2, argv + 1, (n - 1) * sizeof *argv);
    exec_path("/bin/sh", (char *const *)(uintptr_t)shell_argv, envp);
    cap_pages_free(shell_argv, bytes);
}

/* True when a recording has ended for it. */
static bool exec_or_script(const char *path, char *const argv[], char *const envp[])
{
    const bool active = before_exec(AT_FDCWD, path);

    exec_path(path, argv, envp);
    if (errno == ENOEXEC)
        exec_script(path, argv, envp);
    return active;
}

/* True when another folder of PATH may hold the program. */
static bool may_be_elsewhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
           error == ENODEV || error == ETIMEDOUT;
}

/* The caller's PATH counts, whatever environment the new program gets. */
static const char *path_variable(void)
{
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, "PATH=", 5) == 0)
            return *entry + 5;
    }
    return "/bin:/usr/bin";
}

static bool exec_search(const char *file, char *const argv[], char *const envp[])
{
    char path[PATH_MAX];
    bool denied = false;
    bool active = false;

    errno = ENOENT;
    for (const char *folder = path_variable(); *file;) {
        const size_t len = strcspn(folder, ":");
        const size_t file_len = strlen(file);
        if (len + file_len + 2 <= sizeof path) {
            memcpy(path, folder, len);
            path[len] = '/';
            /* An empty entry is the current folder. */
            memcpy(path + (len ? len + 1 : 0), file, file_len + 1);
            active |= exec_or_script(path, argv, envp);
            denied |= errno == EACCES;
            if (!may_be_elsewhere(errno))
                return active;
        }
        if (folder[len] == '\0')
            break;
        folder += len + 1;
    }
    if (denied)
        errno = EACCES;
    return active;
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return after_failed_exec(strchr(file, '/') ? exec_or_script(file, argv, envp)
                                               : exec_search(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* The arguments of a call with a variable number of them, as a vector. */
struct vector {
    char *few[FEW_ARGUMENTS];
    char **argv; /* few, or pages of their own when there are more */
    size_t bytes;
};

/* Reads up to and with the NULL that ends the list; false with errno when there is no memory. */
static bool vector_read(struct vector *v, const char *first, va_list *list)
{
    const char *argument = first;
    va_list ahead;
    size_t n = 1;

    va_copy(ahead, *list);
    for (; argument; n++)
        argument = va_arg(ahead, const char *);
    va_end(ahead);
    v->bytes = n * sizeof *v->argv;
    v->argv = n <= FEW_ARGUMENTS ? v->few : cap_pages(v->bytes);
    if (!v->argv) {
        errno = ENOMEM;
        return false;
    }
    argument = first;
    for (size_t i = 0; i < n; i++) {
        v->argv[i] = (char *)(uintptr_t)argument;
        if (argument)
            argument = va_arg(*list, const char *);
    }
    return true;
}

static void vector_free(struct vector *v)
{
    const int saved = errno;

    if (v->argv && v->argv != v->few)
        cap_pages_free(v->argv, v->bytes);
    errno = saved;
}

EXPORT int execl(const char *path, const char *first, ...)
{
    struct vector v;
    va_list list;

    va_start(list, first);
    if (vector_read(&v, first, &list))
        execv(path, v.argv);
    va_end(list);
    vector_free(&v);
    return -1;
}

EXPORT int execle(const char *path, const char *first, ...)
{
    struct vector v;
    va_list list;

    va_start(list, first);
    if (vector_read(&v, first, &list))
        execve(path, v.argv, va_arg(list, char *const *));
    va_end(list);
    vector_free(&v);
    return -1;
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    struct vector v;
    va_list list;

    va_start(list, first);
    if (vector_read(&v, first, &list))
        execvp(file, v.argv);
    va_end(list);
    vector_free(&v);
    return -1;
}

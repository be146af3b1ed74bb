#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the other end closes; false when the time is up before. */
static bool read_answer(int fd, char *out, size_t room, size_t *len, int timeout_ms)
{
    int64_t end_ms = now_ms() + timeout_ms;
    char beyond[256];

    for (;;) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int64_t left_ms = end_ms - now_ms();
        ssize_t got;

        if (left_ms <= 0)
            return false;
        if (poll(&wait, 1, (int)left_ms) <= 0)
            continue;
        got = *len < room ? read(fd, out + *len, room - *len) : read(fd, beyond, sizeof beyond);
        if (got == 0)
            return true;
        if (got > 0 && *len < room)
            *len += (size_t)got;
    }
}

enum kr_probe_end kr_probe(kr_probe_fn *work, const void *arg, void *out, size_t room, size_t *len,
                           int timeout_ms)
{
    int ends[2];
    int status = 0;
    bool answered;
    pid_t pid;

    *len = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return KR_PROBE_FAILED;
    pid = fork();
    if (pid == 0) {
        work(ends[1], arg);
        _exit(0);
    }
    close(ends[1]);
    answered = pid > 0 && read_answer(ends[0], out, room, len, timeout_ms);
    close(ends[0]);
    if (pid < 0)
        return KR_PROBE_FAILED;
    if (!answered)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!answered)
        return KR_PROBE_HUNG;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? KR_PROBE_ANSWERED : KR_PROBE_FAILED;
}

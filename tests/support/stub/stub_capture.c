/*
 * Stands in for libkreach.so in tests of `kreach record`: every process that loads it writes a part
 * of its own, without any GPU. KREACH_STUB says what (words, separated by spaces):
 *
 *   work     three kernels (the default); "unended" the same without a clean end
 *   nothing  no part at all
 *   window   a part without work
 *   busy     a part that says that another client held CUPTI
 *   refused  a part that says why CUPTI could not record
 *   ranges   twelve steps, 12 ms apart; with "plain" among KREACH_OPTIONS 10 ms apart and no
 * kernels stubborn does not know "plain"
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kreach_build.h"

static char part_path[4096];
static pid_t author; /* a forked child is somebody else until it loads a program */

static bool asked(const char *word)
{
    const char *words = getenv("KREACH_STUB");

    return words && strstr(words, word);
}

static void append(struct kr_build *b)
{
    int fd = open(part_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0 && errno != ENOENT) /* that is a process that comes after the recording */
        perror("stub: cannot open the part");
    if (fd >= 0 && write(fd, b->file.data, b->file.len) != (ssize_t)b->file.len)
        perror("stub: cannot write the part");
    if (fd >= 0)
        close(fd);
    kr_build_free(b);
}

/* Field 22 of /proc/self/stat. */
static uint64_t own_start_ticks(void)
{
    unsigned long long started = 0;
    char text[1024] = "";
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const char *field;

    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        abort();
    close(fd);
    field = strrchr(text, ')');
    for (int i = 0; field && i < 20; i++)
        field = strchr(field + 1, ' ');
    if (field)
        started = strtoull(field, NULL, 10);
    return started;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void put_work(struct kr_build *b)
{
    int64_t real_ns = now_ns(CLOCK_REALTIME);

    kr_build_chunk(
        b, KREACH_CLOCK,
        KR_FIELDS(KR_S(real_ns), KR_S(now_ns(CLOCK_MONOTONIC_RAW)), KR_S(real_ns), KR_V(50)));
    kr_build_one_kernel(b, "stub_kernel");
    for (uint32_t i = 1; i <= 3; i++)
        kr_build_events(b, &(struct kr_build_work){ 0, 0, real_ns + 1000 * i, 100, i }, 1);
}

static void put_ranges(struct kr_build *b, int64_t period_ns)
{
    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(2), KR_T("step 1"), KR_T("step 2")));
    for (int64_t i = 0; i < 12; i++)
        kr_build_chunk(b, KREACH_RANGES,
                       KR_FIELDS(KR_V(1), KR_V(2 + i % 2), KR_V(7), KR_B(0),
                                 KR_S(1000000 + i * period_ns), KR_V(period_ns / 2)));
}

static void begin_section(struct kr_build *b)
{
    struct kr_err err = { 0 };

    kr_bytes_put(&b->file, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES, &err);
    kr_build_chunk(b, KREACH_HEAD,
                   KR_FIELDS(KR_V(1), KR_V(0), KR_V(getpid()), KR_V(getppid()),
                             KR_V(own_start_ticks()), KR_T("stub")));
}

__attribute__((constructor)) static void start(void)
{
    const char *out = getenv("KREACH_OUT");
    const char *options = getenv("KREACH_OPTIONS");
    bool plain = options && strstr(options, "plain") && !asked("stubborn");
    struct kr_build b = { 0 };

    if (!out || asked("nothing"))
        return;
    snprintf(part_path, sizeof part_path, "%s/stub.%ld.part", out, (long)getpid());
    author = getpid();
    begin_section(&b);
    if (asked("busy"))
        kr_build_chunk(&b, KREACH_GAP, KR_FIELDS(KR_V(4), KR_S(0), KR_S(0), KR_T("nsys")));
    else if (asked("refused"))
        kr_build_chunk(&b, KREACH_INFO, KR_FIELDS(KR_T("failed"), KR_T("CUPTI is too old")));
    else if (!plain && !asked("window"))
        put_work(&b);
    if (asked("ranges"))
        put_ranges(&b, plain ? 10000000 : 12000000);
    append(&b);
}

static void end_section(void)
{
    static bool ended;
    struct kr_build b = { 0 };

    if (getpid() != author || ended || asked("unended"))
        return;
    ended = true;
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(KREACH_END_EXIT), KR_T("")));
    append(&b);
}

__attribute__((destructor)) static void end(void)
{
    end_section();
}

/* Shells leave by _exit and exec, where no destructor runs. */
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
    end_section();
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) int execve(const char *path, char *const *argv,
                                                  char *const *envp)
{
    end_section();
    return (int)syscall(SYS_execve, path, argv, envp);
}

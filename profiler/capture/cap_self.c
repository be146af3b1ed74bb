#include "cap_self.h"

#include "cap_wake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef KREACH_VERSION
#define KREACH_VERSION "unknown"
#endif

/* A small file as a string; "" when it cannot be read. Returns its length. */
static size_t read_file(const char *path, char *out, size_t room)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && len + 1 < room) {
        ssize_t got = read(fd, out + len, room - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    out[len] = '\0';
    return len;
}

void cap_self_identify(struct cap_identity *id)
{
    char stat_line[1024];

    id->pid = (uint64_t)getpid();
    id->parent_pid = (uint64_t)getppid();
    id->start_ticks = 0;
    read_file("/proc/self/stat", stat_line, sizeof stat_line);
    /* The command, field 2, may hold anything; the last ')' ends it. */
    const char *p = strrchr(stat_line, ')');
    for (int field = 2; p && field < 22; field++) {
        p = strchr(p + 1, ' ');
    }
    if (p)
        id->start_ticks = strtoull(p, NULL, 10);
}

void cap_self_file_name(const struct cap_recorder *r, uint32_t number, char *out, size_t room)
{
    const struct cap_opts *opts = r->opts;
    const struct cap_identity *id = &r->identity;
    char nth[16] = "";
    const size_t len = strlen(opts->out);
    const bool slash = len > 0 && opts->out[len - 1] == '/';
    struct statx st;
    const char *joint = ".";

    if (slash)
        joint = "kreach.";
    else if (opts->run_id[0]) /* a folder even when it is gone, the run being over */
        joint = "/kreach.";
    else if (statx(AT_FDCWD, opts->out, 0, STATX_TYPE, &st) == 0 && S_ISDIR(st.stx_mode))
        joint = "/kreach.";
    if (number > 0)
        snprintf(nth, sizeof nth, "_%u", number);
    snprintf(out, room, "%s%s%llu.%llu%s.part", opts->out, joint, (unsigned long long)id->pid,
             (unsigned long long)id->start_ticks, nth);
}

static void describe_command(struct cap_recorder *r)
{
    char command[4096];
    size_t len = read_file("/proc/self/cmdline", command, sizeof command);

    for (size_t i = 0; i + 1 < len; i++) {
        if (command[i] == '\0')
            command[i] = ' ';
    }
    cap_recorder_info(r, "command", command);
}

void cap_self_note_ranks(struct cap_recorder *r)
{
    static const char *const variables[][2] = { { "rank", "RANK" },
                                                { "local_rank", "LOCAL_RANK" },
                                                { "world_size", "WORLD_SIZE" } };

    for (size_t i = 0; i < CAP_COUNT(variables); i++) {
        const char *value = getenv(variables[i][1]);
        if (value && value[0])
            cap_recorder_info(r, variables[i][0], value);
    }
}

void cap_self_describe(struct cap_recorder *r)
{
    char text[CAP_PATH_MAX];
    struct utsname machine;

    describe_command(r);
    cap_recorder_info(r, "version", KREACH_VERSION);
    cap_recorder_info(r, "options", r->opts->text);
    if (getcwd(text, sizeof text))
        cap_recorder_info(r, "cwd", text);
    if (uname(&machine) == 0) {
        cap_recorder_info(r, "host", machine.nodename);
        cap_recorder_info(r, "kernel", machine.release);
    }
    snprintf(text, sizeof text, "%lld", (long long)cap_clock_ns(CLOCK_REALTIME));
    cap_recorder_info(r, "started_ns", text);
    if (read_file("/proc/driver/nvidia/version", text, sizeof text) > 0) {
        text[strcspn(text, "\n")] = '\0';
        cap_recorder_info(r, "driver", text);
    }
}

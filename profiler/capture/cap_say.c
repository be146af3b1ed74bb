#include "cap_say.h"

#include "cap_quiet.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define PREFIX     "kreach: "
#define LINE_BYTES 512

/* One write, so that lines of several processes do not mix. A closed stderr is no error. */
static void say(const char *fmt, va_list args)
{
    char line[LINE_BYTES] = PREFIX;
    const size_t room = sizeof line - sizeof PREFIX; /* keeps one byte for the newline */
    const int len = vsnprintf(line + sizeof PREFIX - 1, room, fmt, args);
    size_t total = sizeof PREFIX - 1;

    if (len > 0)
        total += (size_t)len < room ? (size_t)len : room - 1;
    line[total++] = '\n';
    if (write(STDERR_FILENO, line, total) < 0)
        errno = 0;
}

void cap_say(const char *fmt, ...)
{
    const int saved = errno;
    struct cap_quiet quiet;
    va_list args;

    cap_quiet_begin(&quiet);
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    cap_quiet_end(&quiet);
    errno = saved;
}

#include "cap_say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define PREFIX "kreach: "

void cap_say(const char *fmt, ...)
{
    char line[512] = PREFIX;
    const size_t room = sizeof line - sizeof PREFIX; /* keeps one byte for the newline */
    const int saved = errno;
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(line + sizeof PREFIX - 1, room, fmt, args);
    va_end(args);
    if (len < 0)
        len = 0;
    if ((size_t)len >= room)
        len = (int)room - 1;
    size_t total = sizeof PREFIX - 1 + (size_t)len;
    line[total++] = '\n';
    /* One write, so that lines of several processes do not mix. A closed stderr is no error. */
    if (write(STDERR_FILENO, line, total) < 0)
        errno = 0;
    errno = saved;
}

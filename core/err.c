#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct kr_err *err, enum kr_code code, uint64_t offset, const char *fmt,
                 va_list args)
{
    err->code = code;
    err->offset = offset;
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
}

bool kr_fail(struct kr_err *err, enum kr_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, KR_NO_OFFSET, fmt, args);
    va_end(args);
    return false;
}

bool kr_fail_at(struct kr_err *err, enum kr_code code, uint64_t offset, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, offset, fmt, args);
    va_end(args);
    return false;
}

bool kr_wrap(struct kr_err *err, const char *fmt, ...)
{
    char joined[256 + sizeof err->msg];
    va_list args;
    size_t n;

    va_start(args, fmt);
    vsnprintf(joined, 254, fmt, args);
    va_end(args);
    n = strlen(joined);
    memcpy(joined + n, ": ", 2);
    memcpy(joined + n + 2, err->msg, sizeof err->msg);
    memcpy(err->msg, joined, sizeof err->msg - 1);
    err->msg[sizeof err->msg - 1] = '\0';
    return false;
}

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
    char inner[sizeof err->msg];
    char outer[sizeof err->msg];
    va_list args;

    memcpy(inner, err->msg, sizeof inner);
    va_start(args, fmt);
    vsnprintf(outer, sizeof outer, fmt, args);
    va_end(args);
    snprintf(err->msg, sizeof err->msg, "%.*s: %.*s", 255, outer, (int)sizeof inner - 1, inner);
    return false;
}

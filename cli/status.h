/* Exit statuses of the programs. */
#ifndef KR_STATUS_H
#define KR_STATUS_H

#include <stdio.h>

#include "err.h"

/* docs/cli.md lists them for users. */
enum kr_status {
    KR_STATUS_DONE = 0,
    KR_STATUS_NO = 1,      /* a check said no */
    KR_STATUS_USAGE = 2,   /* the command line is wrong */
    KR_STATUS_INPUT = 3,   /* input unreadable, malformed or incomplete */
    KR_STATUS_MISSING = 4, /* something needed is not on this machine */
    KR_STATUS_FAILED = 5   /* output failed, out of memory, or a bug of ours */
};

/** The exit status of a failure: the only place where codes become statuses. */
enum kr_status kr_status_of(enum kr_code code);

/** The error as data, kreach.error: who asked for JSON gets one JSON document, whatever happens. */
void kr_status_write_json(FILE *out, const struct kr_err *err);

#endif

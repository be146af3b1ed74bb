/* Error codes and the one error struct that every fallible kreach function fills. */
#ifndef KR_ERR_H
#define KR_ERR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Error codes; the command line maps them to exit statuses in one place (cli/main.c). */
enum kr_code {
    KR_OK = 0,
    KR_EARG,    /* the caller or the user asked for something impossible: exit 2 */
    KR_EINPUT,  /* a file is unreadable or malformed: exit 3 */
    KR_EENV,    /* something needed is missing on this machine: exit 4 */
    KR_EOUTPUT, /* writing failed: exit 5 */
    KR_ENOMEM   /* out of memory, or a limit of ours was reached: exit 5 */
};

#define KR_NO_OFFSET UINT64_MAX

struct kr_err {
    enum kr_code code;
    uint64_t offset; /* [byte] place in the (decompressed) input; KR_NO_OFFSET when there is none */
    char msg[512];   /* one sentence for the user: what, where, and what to do */
};

/**
 * Fills err and returns false, so that callers can write: return kr_fail(...).
 * The message is lower case, quotes names, and carries no newline; it is cut at the buffer's size.
 */
bool kr_fail(struct kr_err *err, enum kr_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** Like kr_fail, for an error at a byte of the input. */
bool kr_fail_at(struct kr_err *err, enum kr_code code, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));

/** Puts "context: " before a message already in err; returns false. Once per layer. */
bool kr_wrap(struct kr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

#ifdef __cplusplus
}
#endif

#endif

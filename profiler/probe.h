/* Questions that may crash or hang whoever asks: asked in a process of their own. */
#ifndef KR_PROBE_H
#define KR_PROBE_H

#include <stddef.h>
#include <sys/types.h>

/* Runs in the child: writes its answer to fd and returns, or becomes another program. */
typedef void kr_probe_fn(int fd, const void *arg);

enum kr_probe_end {
    KR_PROBE_ANSWERED, /* it ended well */
    KR_PROBE_FAILED,   /* it crashed or ended with a failure */
    KR_PROBE_HUNG      /* it was killed when the time was up */
};

/**
 * Forks, lets `work` answer, and waits for it.
 * @param out  filled with at most `room` bytes of the answer
 * @param len  how many; also what came before a failure
 */
enum kr_probe_end kr_probe(kr_probe_fn *work, const void *arg, void *out, size_t room, size_t *len,
                           int timeout_ms);

#endif

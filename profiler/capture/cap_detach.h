/*
 * Taking CUPTI out of a process that goes on when its recording is over.
 *
 * A client that only switches its records off is not gone: launches keep CUPTI's way through the
 * driver (H200, CUPTI 13.0, docs/windows.md: an eager launch takes up to 250 ns more, and that of
 * a graph of 1000 kernels 0.2 to 0.6 ms of the host instead of 5 us, though the GPU waits for
 * little of it; unsubscribing changes nothing). So a stretch with the kinds off is no plain time
 * either. Only cuptiFinalize ends that, and CUPTI wants it called at the end of a CUDA call. We
 * make that call ourselves, on the thread that makes all others of CUPTI's: no flush can run into
 * it, and there is no call of the program's to wait for.
 *
 * It is not safe where there are graphs: two of three programs that went on replaying one died of
 * an illegal memory access. What no record has told us of, such as a graph that is not launched
 * before, we do not know. So this is for those who ask, option finalize.
 */
#ifndef CAP_DETACH_H
#define CAP_DETACH_H

#include "cap_session.h"

/** Why CUPTI stays, and that it is gone, for the file and for people. */
struct cap_detached {
    bool gone;
    char text[96];
};

/**
 * Lets go of CUPTI as far as it can be: by cuptiFinalize when that is asked for and nobody else is
 * there, else by switching off and unsubscribing. Worker only, after the last flush. Calls CUPTI.
 * @param for_good  this process will not be recorded again
 */
struct cap_detached cap_detach(struct cap_session *s, bool for_good);

/** The end of a cuDriverGetVersion, by whatever thread; in a callback of CUPTI's. */
void cap_detach_at_exit(struct cap_session *s);

#endif

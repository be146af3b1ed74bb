/* When to record: from the start, after a delay, inside ranges, for a while, for some steps. */
#ifndef CAP_WINDOW_H
#define CAP_WINDOW_H

#include "cap_session.h"

/**
 * Opens or shuts as wanted by now; worker only. Calls CUPTI.
 * @return how long until it has to be called again [ns]
 */
uint64_t cap_window_step(struct cap_session *s, uint64_t now_ns);

/** Puts a gap into the recording for each stretch that was shut; worker only. */
void cap_window_note(struct cap_session *s);

/** The same at the end of the session, for stretches that last until now_ns (CUPTI's clock). */
void cap_window_end(struct cap_session *s, uint64_t now_ns);

/** How long until the window's duration is over [ns]: 0 = it is. Worker only. */
uint64_t cap_window_left_ns(const struct cap_session *s, uint64_t now_ns);

/** True when nothing more will be recorded: the duration is over or the steps are complete. */
bool cap_window_over(struct cap_session *s);

/** Shuts it for good in a session that goes on with NVTX ranges; worker only. Calls CUPTI. */
void cap_window_close(struct cap_session *s);

#endif

/*
 * Learning the true step time while the program runs: stretches of whole steps are recorded and
 * left alone by turns, so that what recording costs shows in the distances between steps.
 *
 * Steps are the beginnings of an NVTX range that repeats on one thread. The program's thread counts
 * them and looks at the clock, no more; the worker moves. Ranges are recorded all the time, each
 * stretch without recording becomes a gap, and whoever reads the file compares the two.
 */
#ifndef CAP_CALIBRATE_H
#define CAP_CALIBRATE_H

#include "cap_session.h"

/** Forgets everything: a session begins. Worker only. */
void cap_calibrate_open(void);

/** A range begins on the calling thread. Any thread. */
void cap_calibrate_begin(const char *name, size_t name_len, uint32_t thread);

/** Takes a finished range into account; worker only. */
void cap_calibrate_learn(const struct cap_recorder *r, const struct cap_range *range);

/** Decides which range marks the steps, from what was learnt so far; worker only. */
void cap_calibrate_choose(struct cap_recorder *r);

/** Stops or resumes recording when it is time to; worker only. Calls CUPTI. */
void cap_calibrate_move(struct cap_session *s);

/** Puts a gap into the recording for a stretch that is over; worker only. */
void cap_calibrate_note(struct cap_session *s);

/** The same at the end of the session, for a stretch that lasts until now_ns (CUPTI's clock). */
void cap_calibrate_end(struct cap_session *s, uint64_t now_ns);

#endif

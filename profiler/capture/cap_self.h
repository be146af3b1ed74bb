/* What the process knows about itself and its machine. */
#ifndef CAP_SELF_H
#define CAP_SELF_H

#include "cap_recorder.h"

/** Process ids and start time. */
void cap_self_identify(struct cap_identity *id);

/**
 * OUT/kreach.PID.START_N.part; OUT.PID.START_N.part when OUT is no folder and belongs to no run.
 * Without the _N where number is 0.
 */
void cap_self_file_name(const struct cap_recorder *r, uint32_t number, char *out, size_t room);

/** Adds ranks to the recorder's info; on a thread of the program, which may read its environment.
 */
void cap_self_note_ranks(struct cap_recorder *r);

/** Adds command, cwd, host and versions. */
void cap_self_describe(struct cap_recorder *r);

#endif

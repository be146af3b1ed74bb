/* The recording that a command means when it is given no file. */
#ifndef KR_LATEST_H
#define KR_LATEST_H

#include "err.h"

/**
 * The .kreach file of the current folder that was changed last; of several changed at the same
 * moment, the last by name.
 * @return NULL with KR_EARG when the folder has none, or with KR_ENOMEM; freed with free.
 */
char *kr_latest_recording(struct kr_err *err);

#endif

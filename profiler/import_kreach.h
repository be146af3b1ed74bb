/* Reads .kreach files (kreach_format.h): the sections of one or several processes on one clock. */
#ifndef KR_IMPORT_KREACH_H
#define KR_IMPORT_KREACH_H

#include "timeline.h"

/** True for bytes that begin as a .kreach file does. */
bool kr_import_kreach_detect(const void *data, size_t len);

/**
 * Reads a whole .kreach file from memory.
 *
 * Whatever is damaged, torn or impossible is skipped and counted in the timeline's warnings; so is
 * what the recorder itself says is missing. Times of a single process stay as recorded; with
 * several they are put on one clock, which is REALTIME as of the first reading of the first
 * process. Devices are one by UUID, whatever their numbers in the processes.
 * @param name  stands in messages and in source.path
 * @return a finished timeline owned by the caller, or NULL with err filled: KR_EINPUT when the
 *         bytes are no .kreach file, one of a newer major version, or hold no device work at all.
 */
struct kr_timeline *kr_import_kreach(const char *name, const void *data, size_t len,
                                     struct kr_err *err);

#endif

/* NVTX ranges: the program's own marks, for windows by name and for the recording. */
#ifndef CAP_NVTX_H
#define CAP_NVTX_H

#include "cap_recorder.h"

#include <stdbool.h>
#include <stdint.h>

/** True when KREACH_OPTIONS asks for ranges. Cheap: called in every process. */
bool cap_nvtx_wanted(void);

/** Puts our functions into NVTX's tables; false when it has none that we know. */
bool cap_nvtx_install(const void *(*get_export_table)(uint32_t));

/** True inside a range with the window's name, on any thread. */
bool cap_nvtx_inside(void);

/**
 * A range that the program marks in another way than by NVTX, from now until cap_nvtx_finish; it is
 * part of every recording. Any thread.
 * @return its id, 0 = no room, which finishing does nothing about
 */
uint64_t cap_nvtx_start(const char *name);
void cap_nvtx_finish(uint64_t id);

/** True when so many ranges have finished that there will soon be no room for more. */
bool cap_nvtx_has_many(void);

/** Moves finished ranges into the recording; worker only. offset_ns: CUPTI clock - REALTIME. */
void cap_nvtx_collect(struct cap_recorder *r, int64_t offset_ns);

#endif

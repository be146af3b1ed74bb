/* How annotations (record_function, NVTX ranges) are named on the sites of the work inside them. */
#ifndef KR_NOTE_NAME_H
#define KR_NOTE_NAME_H

#include <stddef.h>

#include "strpool.h"

/**
 * Writes the name with each run of digits replaced by '*', and a NUL behind it.
 * @param pattern  room for len + 1 bytes
 * @return the bytes written, without the NUL
 */
size_t kr_note_name_write(const char *name, size_t len, char *pattern);

/**
 * The name as kr_note_name_write writes it, so that the steps of a loop share a site.
 * @return its string id, or KR_STR_NONE with err filled.
 */
uint32_t kr_note_name_pattern(struct kr_strpool *strings, uint32_t name, struct kr_err *err);

/** True for "Optimizer.step...": such an annotation keeps what is inside it, whatever nests there.
 */
bool kr_note_name_holds(const char *name);

#endif

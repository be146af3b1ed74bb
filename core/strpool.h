/* String pool: every distinct name once, known afterwards by a 32-bit id. */
#ifndef KR_STRPOOL_H
#define KR_STRPOOL_H

#include <stddef.h>

#include "err.h"

struct kr_strpool;

/* Returned by kr_strpool_intern on failure; never a valid id. */
#define KR_STR_NONE UINT32_MAX

/** A pool that already holds the empty string as id 0; NULL with err filled. One thread at a time.
 */
struct kr_strpool *kr_strpool_new(struct kr_err *err);
void kr_strpool_free(struct kr_strpool *pool);

/**
 * The id of the string s[0..len), which may hold any bytes, NUL included.
 * Ids count up from 0 in order of first appearance.
 * @return KR_STR_NONE with err filled (KR_ENOMEM) when memory or the pool's limits are reached
 *         (2^31 strings, 4 GiB of text).
 */
uint32_t kr_strpool_intern(struct kr_strpool *pool, const char *s, size_t len, struct kr_err *err);

/** The id of a string that is already there, or KR_STR_NONE; changes nothing. */
uint32_t kr_strpool_find(const struct kr_strpool *pool, const char *s, size_t len);

/** Number of strings; valid ids are 0 .. count-1. */
size_t kr_strpool_count(const struct kr_strpool *pool);

/** The string with this id, NUL-terminated; borrowed until kr_strpool_free. `len` may be NULL. */
const char *kr_strpool_get(const struct kr_strpool *pool, uint32_t id, size_t *len);

#endif

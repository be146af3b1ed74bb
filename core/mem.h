/* Memory: zeroed allocation and growing arrays that report failure through kr_err. */
#ifndef KR_MEM_H
#define KR_MEM_H

#include <stddef.h>

#include "err.h"

#define KR_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Order of two numbers as qsort wants it: below, equal to or above 0. Each is evaluated twice. */
#define KR_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/** Zeroed memory of n items, or NULL with err filled (KR_ENOMEM). Freed with free(). */
void *kr_xcalloc(size_t n, size_t size, struct kr_err *err);

/** Zeroed memory of one item; see kr_xcalloc. */
void *kr_xnew(size_t size, struct kr_err *err);

/**
 * Makes room for at least `need` items in a growing array.
 *
 * The capacity doubles; large arrays grow in place (mremap inside realloc), so untouched
 * capacity costs no resident memory.
 * @param items  the array's pointer variable, passed as &array [may hold NULL when *cap is 0]
 * @param limit  most items the array may ever hold; reaching it is KR_ENOMEM
 * @return false with err filled; the array is then unchanged.
 */
bool kr_grow(void *items, size_t *cap, size_t need, size_t item_size, size_t limit,
             struct kr_err *err);

/** A copy of len bytes with a NUL after them; NULL with err filled. Freed with free(). */
char *kr_xstrndup(const char *s, size_t len, struct kr_err *err);

/** A seed for hash tables over input, so that a hostile file cannot choose collisions. */
uint64_t kr_random_seed(void);

#endif

#include "mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void *kr_xcalloc(size_t n, size_t size, struct kr_err *err)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        kr_fail(err, KR_ENOMEM, "out of memory: %zu items of %zu bytes", n, size);
    return p;
}

void *kr_xnew(size_t size, struct kr_err *err)
{
    return kr_xcalloc(1, size, err);
}

bool kr_grow(void *items, size_t *cap, size_t need, size_t item_size, size_t limit,
             struct kr_err *err)
{
    void *old;
    void *grown;
    size_t want = *cap ? *cap : 16;
    size_t bytes;

    if (need <= *cap)
        return true;
    if (need > limit)
        return kr_fail(err, KR_ENOMEM, "more than %zu items where that is the limit", limit);
    while (want < need)
        want = want > limit / 2 ? limit : want * 2;
    if (__builtin_mul_overflow(want, item_size, &bytes))
        return kr_fail(err, KR_ENOMEM, "out of memory: %zu items of %zu bytes", want, item_size);
    memcpy(&old, items, sizeof old);
    grown = realloc(old, bytes);
    if (!grown)
        return kr_fail(err, KR_ENOMEM, "out of memory: %zu items of %zu bytes", want, item_size);
    memcpy(items, &grown, sizeof grown);
    *cap = want;
    return true;
}

char *kr_xstrndup(const char *s, size_t len, struct kr_err *err)
{
    char *copy = kr_xcalloc(len + 1, 1, err);

    if (copy)
        memcpy(copy, s, len);
    return copy;
}

uint64_t kr_random_seed(void)
{
    struct timespec now = { 0 };
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* early boot: better than nothing */
    return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
}

#include "recpool.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mem.h"

enum { FIRST_SLOTS = 64 };
#define MAX_RECORDS ((size_t)1 << 31)

void kr_recpool_init(struct kr_recpool *pool, size_t item_size)
{
    *pool = (struct kr_recpool){ .item_size = item_size,
                                 .limit = MAX_RECORDS,
                                 .seed = kr_random_seed() };
}

void kr_recpool_free(struct kr_recpool *pool)
{
    free(pool->items);
    free(pool->slots);
    pool->items = NULL;
    pool->slots = NULL;
    pool->n = pool->cap = pool->n_slots = 0;
}

void kr_recpool_release(struct kr_recpool *pool)
{
    pool->items = NULL;
    kr_recpool_free(pool);
}

static const char *record(const struct kr_recpool *pool, size_t place)
{
    return (const char *)pool->items + place * pool->item_size;
}

/* The slot that holds an equal record, or the free one where it belongs. */
static size_t find_slot(const struct kr_recpool *pool, const void *item)
{
    size_t mask = pool->n_slots - 1;
    size_t i = (size_t)XXH3_64bits_withSeed(item, pool->item_size, pool->seed) & mask;

    while (pool->slots[i] && memcmp(record(pool, pool->slots[i] - 1), item, pool->item_size) != 0)
        i = (i + 1) & mask;
    return i;
}

static bool grow_slots(struct kr_recpool *pool, struct kr_err *err)
{
    size_t n_slots = pool->n_slots ? pool->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = kr_xcalloc(n_slots, sizeof *slots, err);

    if (!slots)
        return false;
    free(pool->slots);
    pool->slots = slots;
    pool->n_slots = n_slots;
    for (size_t place = 0; place < pool->n; place++)
        pool->slots[find_slot(pool, record(pool, place))] = (uint32_t)place + 1;
    return true;
}

uint32_t kr_recpool_intern(struct kr_recpool *pool, const void *item, struct kr_err *err)
{
    size_t slot;

    if ((pool->n + 1) * 2 > pool->n_slots && !grow_slots(pool, err))
        return UINT32_MAX;
    slot = find_slot(pool, item);
    if (pool->slots[slot])
        return pool->slots[slot] - 1;
    if (!kr_grow(&pool->items, &pool->cap, pool->n + 1, pool->item_size, pool->limit, err))
        return UINT32_MAX;
    memcpy((char *)pool->items + pool->n * pool->item_size, item, pool->item_size);
    pool->slots[slot] = (uint32_t)++pool->n;
    return (uint32_t)pool->n - 1;
}

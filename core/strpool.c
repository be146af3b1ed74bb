#include "strpool.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mem.h"

enum { BLOCK_BYTES = 256 * 1024, FIRST_SLOTS = 1024 };
#define MAX_STRINGS ((size_t)1 << 31)
#define MAX_TEXT    ((size_t)1 << 32)

struct entry {
    const char *text;
    size_t len;
    uint64_t hash;
};

struct block {
    struct block *next;
    size_t used, size;
    char bytes[];
};

struct kr_strpool {
    struct entry *entries;
    size_t n_entries, cap_entries;
    uint32_t *slots; /* open addressing; entry id + 1, 0 is free */
    size_t n_slots;  /* power of two */
    struct block *blocks;
    size_t text_bytes;
    uint64_t seed; /* per pool, so that a hostile file cannot choose collisions */
};

struct kr_strpool *kr_strpool_new(struct kr_err *err)
{
    struct kr_strpool *pool = kr_xnew(sizeof *pool, err);

    if (!pool)
        return NULL;
    pool->seed = kr_random_seed();
    pool->n_slots = FIRST_SLOTS;
    pool->slots = kr_xcalloc(pool->n_slots, sizeof *pool->slots, err);
    if (!pool->slots || kr_strpool_intern(pool, "", 0, err) == KR_STR_NONE) {
        kr_strpool_free(pool);
        return NULL;
    }
    return pool;
}

void kr_strpool_free(struct kr_strpool *pool)
{
    if (!pool)
        return;
    while (pool->blocks) {
        struct block *next = pool->blocks->next;

        free(pool->blocks);
        pool->blocks = next;
    }
    free(pool->slots);
    free(pool->entries);
    free(pool);
}

/* The slot that holds the string, or the free slot where it belongs. */
static size_t find_slot(const struct kr_strpool *pool, const char *s, size_t len, uint64_t hash)
{
    size_t mask = pool->n_slots - 1;

    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        const struct entry *e;

        if (!pool->slots[i])
            return i;
        e = &pool->entries[pool->slots[i] - 1];
        if (e->hash == hash && e->len == len && memcmp(e->text, s, len) == 0)
            return i;
    }
}

static bool rehash(struct kr_strpool *pool, struct kr_err *err)
{
    size_t n_slots = pool->n_slots * 2;
    uint32_t *slots = kr_xcalloc(n_slots, sizeof *slots, err);

    if (!slots)
        return false;
    for (size_t id = 0; id < pool->n_entries; id++) {
        size_t i = (size_t)pool->entries[id].hash & (n_slots - 1);

        while (slots[i])
            i = (i + 1) & (n_slots - 1);
        slots[i] = (uint32_t)id + 1;
    }
    free(pool->slots);
    pool->slots = slots;
    pool->n_slots = n_slots;
    return true;
}

static char *store_text(struct kr_strpool *pool, const char *s, size_t len, struct kr_err *err)
{
    struct block *b = pool->blocks;
    char *text;

    if (len >= MAX_TEXT - pool->text_bytes) {
        kr_fail(err, KR_ENOMEM, "names take more than 4 GiB");
        return NULL;
    }
    if (!b || b->size - b->used < len + 1) {
        size_t size = len + 1 > BLOCK_BYTES ? len + 1 : BLOCK_BYTES;

        b = malloc(sizeof *b + size);
        if (!b) {
            kr_fail(err, KR_ENOMEM, "out of memory for a name of %zu bytes", len);
            return NULL;
        }
        b->used = 0;
        b->size = size;
        b->next = pool->blocks;
        pool->blocks = b;
    }
    text = b->bytes + b->used;
    memcpy(text, s, len);
    text[len] = '\0';
    b->used += len + 1;
    pool->text_bytes += len + 1;
    return text;
}

uint32_t kr_strpool_intern(struct kr_strpool *pool, const char *s, size_t len, struct kr_err *err)
{
    uint64_t hash = XXH3_64bits_withSeed(s, len, pool->seed);
    size_t slot = find_slot(pool, s, len, hash);
    const char *text;

    if (pool->slots[slot])
        return pool->slots[slot] - 1;
    if (!kr_grow(&pool->entries, &pool->cap_entries, pool->n_entries + 1, sizeof *pool->entries,
                 MAX_STRINGS, err))
        return KR_STR_NONE;
    text = store_text(pool, s, len, err);
    if (!text)
        return KR_STR_NONE;
    pool->entries[pool->n_entries] = (struct entry){ text, len, hash };
    pool->slots[slot] = (uint32_t)++pool->n_entries;
    if (pool->n_entries * 2 > pool->n_slots && !rehash(pool, err))
        return KR_STR_NONE;
    return (uint32_t)pool->n_entries - 1;
}

uint32_t kr_strpool_find(const struct kr_strpool *pool, const char *s, size_t len)
{
    uint64_t hash = XXH3_64bits_withSeed(s, len, pool->seed);
    size_t slot = find_slot(pool, s, len, hash);

    return pool->slots[slot] ? pool->slots[slot] - 1 : KR_STR_NONE;
}

size_t kr_strpool_count(const struct kr_strpool *pool)
{
    return pool->n_entries;
}

const char *kr_strpool_get(const struct kr_strpool *pool, uint32_t id, size_t *len)
{
    if (len)
        *len = pool->entries[id].len;
    return pool->entries[id].text;
}

/* Distinct fixed-size records, each known by its place: an interning array. */
#ifndef KR_RECPOOL_H
#define KR_RECPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct kr_recpool {
    size_t item_size;
    void *items; /* n records, in order of first appearance */
    size_t n, cap;
    size_t limit;    /* most records; may be lowered before the first */
    uint32_t *slots; /* open addressing; place + 1, 0 is free */
    size_t n_slots;  /* 0 or a power of two */
    uint64_t seed;
};

/** An empty pool; takes memory with the first record. */
void kr_recpool_init(struct kr_recpool *pool, size_t item_size);
void kr_recpool_free(struct kr_recpool *pool);

/** Leaves the records to whoever holds `items` (freed with free()), and empties the pool. */
void kr_recpool_release(struct kr_recpool *pool);

/**
 * The place of a record equal to *item byte for byte (so padding must be zeroed), added when new.
 * @return UINT32_MAX with err filled when memory ends.
 */
uint32_t kr_recpool_intern(struct kr_recpool *pool, const void *item, struct kr_err *err);

#endif

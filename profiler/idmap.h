/*
 * A map from 32-bit ids to 32-bit values for ids that mostly come in runs, as recorders number
 * things: five bytes an id then, eighty for an id that stands alone.
 */
#ifndef KR_IDMAP_H
#define KR_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct kr_idmap {
    struct kr_idmap_block *blocks;
    size_t n_blocks, cap_blocks;
    uint32_t *slots; /* open addressing over id / 16; block + 1, 0 is free */
    size_t n_slots;
    uint32_t last; /* block of the last put or get */
    uint64_t seed;
};

/* Returned by kr_idmap_get for an id that was never put. */
#define KR_IDMAP_NONE UINT32_MAX

/** An empty map; takes memory with the first id. */
void kr_idmap_init(struct kr_idmap *map);
void kr_idmap_free(struct kr_idmap *map);

/** Sets the value of an id [value < KR_IDMAP_NONE]; false with err filled when memory ends. */
bool kr_idmap_put(struct kr_idmap *map, uint32_t id, uint32_t value, struct kr_err *err);

/** The value last put for the id, or KR_IDMAP_NONE. Quick for an id near that of the last call. */
uint32_t kr_idmap_get(struct kr_idmap *map, uint32_t id);

#endif

#include "idmap.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { IDS = 16, FIRST_SLOTS = 64 };
#define MAX_BLOCKS ((size_t)1 << 28)

/* The values of the ids key * IDS to key * IDS + IDS - 1. */
struct kr_idmap_block {
    uint32_t key;
    uint32_t values[IDS]; /* value + 1, 0 is none */
};

void kr_idmap_init(struct kr_idmap *map)
{
    *map = (struct kr_idmap){ .seed = kr_random_seed() };
}

void kr_idmap_free(struct kr_idmap *map)
{
    free(map->blocks);
    free(map->slots);
    map->blocks = NULL;
    map->slots = NULL;
    map->n_blocks = map->cap_blocks = map->n_slots = 0;
}

/* The slot of the block with this key, or the free one where it belongs. The key is mixed with the
 * seed (a multiplication and two foldings), so that a file cannot choose collisions. */
static size_t find_slot(const struct kr_idmap *map, uint32_t key)
{
    size_t mask = map->n_slots - 1;
    uint64_t h = (key ^ map->seed) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i;

    h = (h ^ h >> 32) * ((map->seed >> 7) | 1);
    i = (size_t)(h >> 29) & mask;
    while (map->slots[i] && map->blocks[map->slots[i] - 1].key != key)
        i = (i + 1) & mask;
    return i;
}

static bool grow_slots(struct kr_idmap *map, struct kr_err *err)
{
    size_t n_slots = map->n_slots ? map->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = kr_xcalloc(n_slots, sizeof *slots, err);

    if (!slots)
        return false;
    free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    for (size_t i = 0; i < map->n_blocks; i++)
        map->slots[find_slot(map, map->blocks[i].key)] = (uint32_t)i + 1;
    return true;
}

/* The block with this key when it is the last one used or was made after that; else NULL. */
static struct kr_idmap_block *near(struct kr_idmap *map, uint32_t key)
{
    for (uint32_t i = map->last; i < map->n_blocks && i - map->last < 2; i++) {
        if (map->blocks[i].key == key) {
            map->last = i;
            return &map->blocks[i];
        }
    }
    return NULL;
}

static struct kr_idmap_block *block_of(struct kr_idmap *map, uint32_t key, struct kr_err *err)
{
    struct kr_idmap_block *block = near(map, key);
    size_t slot;

    if (block)
        return block;
    if ((map->n_blocks + 1) * 2 > map->n_slots && !grow_slots(map, err))
        return NULL;
    slot = find_slot(map, key);
    if (!map->slots[slot]) {
        if (!kr_grow(&map->blocks, &map->cap_blocks, map->n_blocks + 1, sizeof *map->blocks,
                     MAX_BLOCKS, err))
            return NULL;
        map->blocks[map->n_blocks] = (struct kr_idmap_block){ .key = key };
        map->slots[slot] = (uint32_t)++map->n_blocks;
    }
    map->last = map->slots[slot] - 1;
    return &map->blocks[map->last];
}

bool kr_idmap_put(struct kr_idmap *map, uint32_t id, uint32_t value, struct kr_err *err)
{
    struct kr_idmap_block *block = block_of(map, id / IDS, err);

    if (block)
        block->values[id % IDS] = value + 1;
    return block != NULL;
}

uint32_t kr_idmap_get(struct kr_idmap *map, uint32_t id)
{
    const struct kr_idmap_block *block = near(map, id / IDS);

    if (!block && map->n_slots) {
        uint32_t slot = map->slots[find_slot(map, id / IDS)];

        if (slot) {
            map->last = slot - 1;
            block = &map->blocks[map->last];
        }
    }
    /* none is 0 and becomes KR_IDMAP_NONE */
    return block ? block->values[id % IDS] - 1 : KR_IDMAP_NONE;
}

#include "cap_keep.h"

#include "cap_mem.h"

#include <stdatomic.h>
#include <stdint.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct block {
    _Atomic size_t used; /* may pass the end: then the block is full */
    char bytes[BLOCK_BYTES - sizeof(size_t)];
};

static _Atomic(struct block *) current;

char *cap_keep(size_t bytes)
{
    if (bytes > sizeof((struct block *)0)->bytes / 4)
        return cap_pages(bytes);
    for (;;) {
        struct block *block = atomic_load(&current);
        if (block) {
            const size_t at = atomic_fetch_add(&block->used, bytes);
            if (at <= sizeof block->bytes - bytes)
                return block->bytes + at;
        }
        struct block *fresh = cap_pages(sizeof *fresh);
        if (!fresh)
            return NULL;
        if (!atomic_compare_exchange_strong(&current, &block, fresh))
            cap_pages_free(fresh, sizeof *fresh); /* another thread was faster */
    }
}

/*
 * Buffers for CUPTI: recycled, faulted in and zeroed ahead of time, within a hard limit.
 *
 * Taking and returning are lock-free and never call CUPTI, so that they may run inside CUPTI's
 * callbacks on any of the program's threads. One thread, the worker, collects and recycles.
 */
#ifndef CAP_POOL_H
#define CAP_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAP_POOL_NONE UINT32_MAX

struct cap_buffer {
    _Atomic uint32_t next; /* index of the next in its list, or CAP_POOL_NONE */
    _Atomic uint32_t out;  /* 1 while CUPTI holds it: a second delivery of one buffer is ignored */
    uint32_t valid_bytes;  /* set on return */
    uint32_t generation;   /* of the pool when it was taken */
    bool outdated;         /* set on return: the generation has changed meanwhile */
};

struct cap_pool {
    uint8_t *base; /* one reservation for all buffers: a pointer tells its index */
    size_t reserved_bytes;
    size_t buffer_bytes;
    bool unzeroed; /* CUPTI zeroes them itself */
    struct cap_buffer *buffers;
    uint32_t limit;                 /* most buffers */
    _Atomic int32_t ready;          /* buffers that the worker keeps free */
    uint64_t slow_seen;             /* worker only: requests_slow at the last refill */
    _Atomic uint32_t made;          /* buffers that have memory: indexes below this */
    _Atomic uint64_t free_list;     /* tag << 32 | index; the tag defeats ABA */
    _Atomic int32_t n_free;         /* may lag behind the list */
    _Atomic uint32_t returned;      /* newest returned buffer, a stack emptied in one exchange */
    _Atomic uint64_t requests;      /* buffers handed out */
    _Atomic uint64_t requests_slow; /* of them not taken from the free list */
    _Atomic uint64_t completions;   /* buffers that came back */
    _Atomic uint64_t refused;       /* requests at the limit */
    _Atomic uint32_t generation;    /* grows when another client takes over */
};

/** Reserves address space and prepares `ready` buffers; false when there is no memory. */
bool cap_pool_open(struct cap_pool *p, size_t buffer_bytes, size_t limit_bytes, uint32_t ready);

/** A zeroed buffer of buffer_bytes for CUPTI, or NULL at the limit. Any thread. */
uint8_t *cap_pool_take(struct cap_pool *p);

/** Index of a buffer of this pool, or CAP_POOL_NONE for a pointer that is not one. */
uint32_t cap_pool_index(const struct cap_pool *p, const uint8_t *buffer);

/** Notes that CUPTI gave a buffer up; false when it did not hold it. Any thread. */
bool cap_pool_claim(struct cap_pool *p, uint32_t index);

/** Claims a filled buffer and hands it to the worker; false when CUPTI did not hold it. */
bool cap_pool_return(struct cap_pool *p, uint32_t index, size_t valid_bytes);

/** All buffers returned since the last call, oldest first, linked by next. Worker only. */
uint32_t cap_pool_collect(struct cap_pool *p);

static inline uint8_t *cap_pool_data(const struct cap_pool *p, uint32_t index)
{
    return p->base + (size_t)index * p->buffer_bytes;
}

/** Zeroes a claimed buffer, unless CUPTI will, and makes it free again. Any thread that owns it. */
void cap_pool_recycle(struct cap_pool *p, uint32_t index);

/**
 * Makes new buffers until enough are free or the limit is reached. Worker only. Enough is `ready`,
 * and one more for each that a thread of the program had to make, up to an eighth of the limit.
 */
void cap_pool_refill(struct cap_pool *p);

/** True when fewer are free: the worker has something to do. Any thread. */
bool cap_pool_is_low(const struct cap_pool *p);

/** Buffers that CUPTI holds now. */
uint64_t cap_pool_outstanding(const struct cap_pool *p);

#endif

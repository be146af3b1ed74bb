#include "cap_pool.h"

#include "cap_mem.h"

#include <string.h>
#include <sys/mman.h>

static void push_free(struct cap_pool *p, uint32_t index)
{
    uint64_t head = atomic_load_explicit(&p->free_list, memory_order_relaxed);
    uint64_t next;

    do {
        atomic_store_explicit(&p->buffers[index].next, (uint32_t)head, memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | index;
    } while (!atomic_compare_exchange_weak_explicit(&p->free_list, &head, next,
                                                    memory_order_release, memory_order_relaxed));
    atomic_fetch_add_explicit(&p->n_free, 1, memory_order_relaxed);
}

static uint32_t pop_free(struct cap_pool *p)
{
    uint64_t head = atomic_load_explicit(&p->free_list, memory_order_acquire);
    uint64_t next;

    do {
        uint32_t index = (uint32_t)head;
        if (index == CAP_POOL_NONE)
            return CAP_POOL_NONE;
        next = ((head >> 32) + 1) << 32 |
               atomic_load_explicit(&p->buffers[index].next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&p->free_list, &head, next,
                                                    memory_order_acquire, memory_order_acquire));
    atomic_fetch_sub_explicit(&p->n_free, 1, memory_order_relaxed);
    return (uint32_t)head;
}

/* Gives the next unused stretch of the reservation memory and faults it in. */
static uint32_t make_buffer(struct cap_pool *p)
{
    uint32_t index = atomic_load_explicit(&p->made, memory_order_relaxed);

    do {
        if (index >= p->limit)
            return CAP_POOL_NONE;
    } while (!atomic_compare_exchange_weak(&p->made, &index, index + 1));
    uint8_t *data = cap_pool_data(p, index);
    if (mprotect(data, p->buffer_bytes, PROT_READ | PROT_WRITE) != 0) {
        /* Later there may be memory; when another thread has made the next one, this one is lost.
         */
        uint32_t after = index + 1;
        atomic_compare_exchange_strong(&p->made, &after, index);
        return CAP_POOL_NONE;
    }
    /* Older kernels lack MADV_POPULATE_WRITE; a write per page does the same. */
    for (size_t at = 0; at < p->buffer_bytes; at += 4096)
        ((volatile uint8_t *)data)[at] = 0;
    return index;
}

/*
 * Address space only: no memory is committed until a buffer is made. Huge pages would save a third
 * of our time in most runs, but making one may compact memory for a tenth of a second, here or on
 * the program's thread.
 */
static uint8_t *reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return start == MAP_FAILED ? NULL : start;
}

bool cap_pool_open(struct cap_pool *p, size_t buffer_bytes, size_t limit_bytes, uint32_t ready)
{
    size_t limit = limit_bytes / buffer_bytes;

    *p = (struct cap_pool){ .buffer_bytes = buffer_bytes };
    for (; limit >= 4 && !p->base; limit /= 2) {
        p->base = reserve(limit * buffer_bytes);
        p->limit = (uint32_t)limit;
        p->reserved_bytes = limit * buffer_bytes;
    }
    if (!p->base)
        return false;
    p->buffers = cap_pages(p->limit * sizeof *p->buffers);
    if (!p->buffers) {
        munmap(p->base, p->reserved_bytes);
        return false;
    }
    atomic_init(&p->free_list, CAP_POOL_NONE);
    atomic_init(&p->returned, CAP_POOL_NONE);
    atomic_init(&p->ready, (int32_t)ready);
    cap_pool_refill(p);
    if (ready == 0 || atomic_load(&p->n_free) > 0)
        return true;
    cap_pages_free(p->buffers, p->limit * sizeof *p->buffers);
    munmap(p->base, p->reserved_bytes);
    p->base = NULL;
    return false;
}

uint8_t *cap_pool_take(struct cap_pool *p)
{
    if (!p->base)
        return NULL;
    uint32_t index = pop_free(p);
    if (index == CAP_POOL_NONE) {
        atomic_fetch_add_explicit(&p->requests_slow, 1, memory_order_relaxed);
        index = make_buffer(p);
        if (index == CAP_POOL_NONE) {
            atomic_fetch_add_explicit(&p->refused, 1, memory_order_relaxed);
            return NULL;
        }
    }
    p->buffers[index].generation = atomic_load_explicit(&p->generation, memory_order_relaxed);
    atomic_store_explicit(&p->buffers[index].out, 1, memory_order_release);
    atomic_fetch_add_explicit(&p->requests, 1, memory_order_relaxed);
    return cap_pool_data(p, index);
}

uint32_t cap_pool_index(const struct cap_pool *p, const uint8_t *buffer)
{
    if (!p->base || buffer < p->base || buffer >= p->base + p->reserved_bytes)
        return CAP_POOL_NONE;
    size_t at = (size_t)(buffer - p->base);
    return at % p->buffer_bytes == 0 ? (uint32_t)(at / p->buffer_bytes) : CAP_POOL_NONE;
}

bool cap_pool_claim(struct cap_pool *p, uint32_t index)
{
    if (atomic_exchange(&p->buffers[index].out, 0) == 0)
        return false;
    atomic_fetch_add_explicit(&p->completions, 1, memory_order_relaxed);
    return true;
}

bool cap_pool_return(struct cap_pool *p, uint32_t index, size_t valid_bytes)
{
    struct cap_buffer *buffer = &p->buffers[index];
    uint32_t head = atomic_load_explicit(&p->returned, memory_order_relaxed);

    if (!cap_pool_claim(p, index))
        return false;
    buffer->valid_bytes =
        valid_bytes < p->buffer_bytes ? (uint32_t)valid_bytes : (uint32_t)p->buffer_bytes;
    buffer->outdated = buffer->generation != atomic_load(&p->generation);
    do {
        atomic_store_explicit(&buffer->next, head, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&p->returned, &head, index,
                                                    memory_order_release, memory_order_relaxed));
    return true;
}

uint32_t cap_pool_collect(struct cap_pool *p)
{
    uint32_t at = atomic_exchange_explicit(&p->returned, CAP_POOL_NONE, memory_order_acquire);
    uint32_t oldest = CAP_POOL_NONE;

    while (at != CAP_POOL_NONE) { /* the stack has the newest on top: turn it over */
        struct cap_buffer *buffer = &p->buffers[at];
        uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
        atomic_store_explicit(&buffer->next, oldest, memory_order_relaxed);
        oldest = at;
        at = next;
    }
    return oldest;
}

void cap_pool_recycle(struct cap_pool *p, uint32_t index)
{
    /* All of it: CUPTI may have begun records behind the last valid one. */
    if (!p->unzeroed)
        memset(cap_pool_data(p, index), 0, p->buffer_bytes);
    push_free(p, index);
}

/* Threads that began together want their next buffers together. */
static int32_t grow_ready(struct cap_pool *p)
{
    const uint64_t slow = atomic_load_explicit(&p->requests_slow, memory_order_relaxed);
    const uint64_t ready = (uint64_t)atomic_load_explicit(&p->ready, memory_order_relaxed);
    const uint64_t wanted = ready + (slow - p->slow_seen);
    const uint64_t most = p->limit / 8 > ready ? p->limit / 8 : ready;

    p->slow_seen = slow;
    atomic_store_explicit(&p->ready, (int32_t)(wanted < most ? wanted : most),
                          memory_order_relaxed);
    return atomic_load_explicit(&p->ready, memory_order_relaxed);
}

void cap_pool_refill(struct cap_pool *p)
{
    const int32_t ready = grow_ready(p);

    while (atomic_load_explicit(&p->n_free, memory_order_relaxed) < ready) {
        uint32_t index = make_buffer(p);
        if (index == CAP_POOL_NONE)
            return;
        push_free(p, index);
    }
}

bool cap_pool_is_low(const struct cap_pool *p)
{
    return atomic_load_explicit(&p->n_free, memory_order_relaxed) <
           atomic_load_explicit(&p->ready, memory_order_relaxed);
}

uint64_t cap_pool_outstanding(const struct cap_pool *p)
{
    uint64_t back = atomic_load(&p->completions);
    uint64_t out = atomic_load(&p->requests);

    return out > back ? out - back : 0;
}

/* What CUPTI calls on the program's own threads: nothing but handing buffers over. */
#include "cap_session.h"

#include <stdlib.h>
#include <string.h>

#define READY_BUFFERS 8

/*
 * At the memory cap, records go into small buffers and are thrown away: CUPTI before 12.9 crashes
 * when a request is answered with NULL, and two threads must never fill one buffer.
 */
#define DISCARD_BYTES       ((size_t)16 << 10)
#define DISCARD_LIMIT_BYTES ((size_t)64 << 20)
#define VERSION_WITH_NULL   27 /* CUDA 12.9 */

bool cap_callbacks_open(struct cap_session *s)
{
    if (!s->pool.base &&
        !cap_pool_open(&s->pool, s->opts.buffer_bytes, s->opts.cap_bytes, READY_BUFFERS))
        return false;
    s->pool.unzeroed = s->opts.unzeroed;
    return s->discard.base || cap_pool_open(&s->discard, DISCARD_BYTES, DISCARD_LIMIT_BYTES, 0);
}

/*
 * When there is nothing left to give: over four thousand threads beyond the cap, or a forked child
 * that goes on using its parent's CUDA.
 */
static uint8_t shared[4096] __attribute__((aligned(16)));

static uint8_t *last_resort(const struct cap_session *s, size_t *bytes)
{
    *bytes = sizeof shared;
    return s->cupti.version >= VERSION_WITH_NULL ? NULL : shared;
}

static void end_with_exit(void)
{
    cap_session_finish(KREACH_END_EXIT, "");
}

/*
 * CUDA takes itself down by a handler of its own, registered at some time up to the first launch.
 * Handlers run in reverse order, so ours has to come after.
 */
static void register_exit_once(void)
{
    static atomic_bool registered; /* handlers cannot be taken back, and a fork inherits them */

    if (!atomic_load_explicit(&registered, memory_order_relaxed) &&
        !atomic_exchange(&registered, true))
        atexit(end_with_exit);
}

void cap_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    struct cap_session *s = &cap_session;
    const bool first = atomic_load_explicit(&s->pool.requests, memory_order_relaxed) ==
                       atomic_load_explicit(&s->requests_before, memory_order_relaxed);

    register_exit_once();
    *max_records = 0; /* as many as fit */
    *bytes = s->pool.buffer_bytes;
    *buffer = cap_pool_take(&s->pool);
    if (!*buffer) {
        *bytes = DISCARD_BYTES;
        *buffer = cap_pool_take(&s->discard);
    }
    if (!*buffer)
        *buffer = last_resort(s, bytes);
    if (first || cap_pool_is_low(&s->pool))
        cap_wake_up(&s->wake);
}

/* Counts what is thrown away; rare enough to do it here. */
static void discard(struct cap_session *s, uint32_t index, size_t valid_bytes)
{
    uint64_t n = 0;
    void *record = NULL;
    uint8_t *buffer = cap_pool_data(&s->discard, index);

    if (!cap_pool_claim(&s->discard, index))
        return;
    while (valid_bytes > 0 && s->cupti.next_record(buffer, valid_bytes, &record) == CUPTI_OK)
        n++;
    atomic_fetch_add(&s->discarded, n);
    cap_pool_recycle(&s->discard, index);
}

void cap_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    struct cap_session *s = &cap_session;
    uint32_t index = cap_pool_index(&s->pool, buffer);

    if (index != CAP_POOL_NONE) {
        if (cap_pool_return(&s->pool, index, valid_bytes))
            cap_wake_up(&s->wake);
        return;
    }
    index = cap_pool_index(&s->discard, buffer);
    if (index != CAP_POOL_NONE) {
        discard(s, index, valid_bytes);
        return;
    }
    if (buffer == shared) {
        memset(shared, 0, sizeof shared);
        return;
    }
    /* A buffer of a client that had taken over and has left since. */
    cupti_complete_fn *foreign = atomic_load(&s->foreign_complete);
    if (foreign)
        foreign(context, stream, buffer, bytes, valid_bytes);
}

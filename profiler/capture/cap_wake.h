/* Waking one thread from anywhere: a counter and a futex. Waking is async-signal-safe. */
#ifndef CAP_WAKE_H
#define CAP_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cap_wake {
    _Atomic uint32_t count; /* grows with every wake; waiting compares it */
    _Atomic uint32_t asleep;
};

/** Lets the waiter, present or next, return. Keeps errno. */
void cap_wake_up(struct cap_wake *w);

/** The number to pass to cap_wake_wait: read it before looking for work. */
static inline uint32_t cap_wake_ticket(const struct cap_wake *w)
{
    return atomic_load_explicit(&w->count, memory_order_acquire);
}

/** Sleeps until a wake that came after `ticket`, at most timeout_ns. */
void cap_wake_wait(struct cap_wake *w, uint32_t ticket, uint64_t timeout_ns);

/** MONOTONIC [ns]. */
uint64_t cap_now_ns(void);

/** A clock of clock_gettime [ns]. */
int64_t cap_clock_ns(int clock_id);

#endif

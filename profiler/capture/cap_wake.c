#include "cap_wake.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

void cap_wake_up(struct cap_wake *w)
{
    const int saved = errno;

    atomic_fetch_add(&w->count, 1);
    if (atomic_load(&w->asleep) != 0)
        syscall(SYS_futex, &w->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

void cap_wake_wait(struct cap_wake *w, uint32_t ticket, uint64_t timeout_ns)
{
    const struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / NS_PER_S),
                                      .tv_nsec = (long)(timeout_ns % NS_PER_S) };

    atomic_fetch_add(&w->asleep, 1);
    if (atomic_load(&w->count) == ticket)
        syscall(SYS_futex, &w->count, FUTEX_WAIT_PRIVATE, ticket, &timeout, NULL, 0);
    atomic_fetch_sub(&w->asleep, 1);
}

int64_t cap_clock_ns(int clock_id)
{
    struct timespec now = { 0 };

    if (clock_gettime((clockid_t)clock_id, &now) != 0)
        return 0;
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t cap_now_ns(void)
{
    return (uint64_t)cap_clock_ns(CLOCK_MONOTONIC);
}

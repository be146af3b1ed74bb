/* Shares of a nanosecond, and how they become whole nanoseconds without losing any. */
#ifndef KR_APPORTION_H
#define KR_APPORTION_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 kr_fixed; /* a time [2^-32 ns] */

enum { KR_FIXED_BITS = 32 };

struct kr_portion {
    kr_fixed share; /* given */
    uint64_t ns;    /* found [ns] */
    uint32_t id;    /* given: the caller's */
};

/* < 0 when a goes before b; must order any two portions the same way whatever their place. */
typedef int kr_portion_order(const void *user, uint32_t a_id, uint32_t b_id);

/**
 * Rounds shares to whole nanoseconds that add to total_ns: each is cut, and what is then missing
 * goes one each to the largest remainders; `order` decides between equal ones.
 *
 * The shares must add to total_ns but for rounding errors far below 1 ns. Reorders the portions
 * when there is anything to hand out.
 */
void kr_apportion(struct kr_portion *portions, size_t n, uint64_t total_ns, kr_portion_order *order,
                  const void *user);

#endif

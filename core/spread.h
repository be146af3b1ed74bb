/* Minimum, median and maximum of many numbers in linear time, whatever they are. */
#ifndef KR_SPREAD_H
#define KR_SPREAD_H

#include <stddef.h>
#include <stdint.h>

/* All 0 for no values. The median of an even count is the mean of the middle two, rounded down. */
struct kr_spread {
    uint64_t min, median, max;
};

/** The spread of values[0..n), which stay as they are. Cost: at most seven passes, mostly two. */
struct kr_spread kr_spread_of(const uint64_t *values, size_t n);

#endif

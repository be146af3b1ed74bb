#ifndef KR_MEDIAN_H
#define KR_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/** The median of n values, which get sorted; the mean of the middle two, rounded down, for an even
 *  n; 0 for none. */
uint64_t kr_median(uint64_t *values, size_t n);

#endif

#include "median.h"

#include <stdlib.h>

static int compare(const void *pa, const void *pb)
{
    const uint64_t *a = pa;
    const uint64_t *b = pb;

    return (*a > *b) - (*a < *b);
}

uint64_t kr_median(uint64_t *values, size_t n)
{
    uint64_t low;

    if (!n)
        return 0;
    qsort(values, n, sizeof *values, compare);
    low = values[(n - 1) / 2];
    return low + (values[n / 2] - low) / 2;
}

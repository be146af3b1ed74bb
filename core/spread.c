#include "spread.h"

#include <stdbool.h>
#include <string.h>

enum { BUCKET_BITS = 10, FEW = 32 };

static void sort_few(uint64_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t value = values[i];
        size_t j = i;

        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static uint64_t middle(uint64_t low, uint64_t high)
{
    return low + (high - low) / 2;
}

static uint64_t median_of_few(const uint64_t *values, size_t n)
{
    uint64_t sorted[FEW];

    memcpy(sorted, values, n * sizeof *values);
    sort_few(sorted, n);
    return middle(sorted[(n - 1) / 2], sorted[n / 2]);
}

/*
 * The value of the given rank (0 = smallest), known to lie in [low, high]. Each pass counts the
 * leading bits in which the candidates still differ and keeps the bucket that holds the rank, so
 * the values are only read and no input is slow.
 */
static uint64_t value_of_rank(const uint64_t *values, size_t n, size_t rank, uint64_t low,
                              uint64_t high)
{
    while (low < high) {
        const uint64_t range = high - low;
        const unsigned bits = 64 - (unsigned)__builtin_clzll(range);
        const unsigned shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
        size_t buckets[1 << BUCKET_BITS] = { 0 };
        size_t bucket = 0;

        for (size_t i = 0; i < n; i++) {
            if (values[i] - low <= range)
                buckets[(values[i] - low) >> shift]++;
        }
        for (; rank >= buckets[bucket]; bucket++)
            rank -= buckets[bucket];
        low += (uint64_t)bucket << shift;
        if (high - low >= UINT64_C(1) << shift)
            high = low + (UINT64_C(1) << shift) - 1;
        /* Ranks count from the smallest value in [low, high] from here on. */
    }
    return low;
}

static uint64_t median_of_many(const uint64_t *values, size_t n, uint64_t min, uint64_t max)
{
    const uint64_t low = value_of_rank(values, n, (n - 1) / 2, min, max);
    uint64_t next = max;
    size_t up_to_low = 0;

    if (n % 2)
        return low;
    for (size_t i = 0; i < n; i++) {
        up_to_low += values[i] <= low;
        if (values[i] > low && values[i] < next)
            next = values[i];
    }
    return up_to_low > n / 2 ? low : middle(low, next);
}

struct kr_spread kr_spread_of(const uint64_t *values, size_t n)
{
    struct kr_spread spread = { 0 };

    if (!n)
        return spread;
    spread.min = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        spread.min = values[i] < spread.min ? values[i] : spread.min;
        spread.max = values[i] > spread.max ? values[i] : spread.max;
    }
    spread.median =
        n <= FEW ? median_of_few(values, n) : median_of_many(values, n, spread.min, spread.max);
    return spread;
}

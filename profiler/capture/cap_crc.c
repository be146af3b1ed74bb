#include "cap_crc.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78)

/* One byte at a time from a 16-entry table: short, and only machines without SSE4.2 run it. */
static uint32_t crc_portable(uint32_t crc, const uint8_t *p, size_t len)
{
    uint32_t table[16];

    for (uint32_t i = 0; i < 16; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 4; bit++)
            value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
        table[i] = value;
    }
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
                                                            size_t len)
{
    uint64_t wide = crc;

    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; len > 0; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}
#endif

uint32_t cap_crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_sse42(~crc, data, len);
#endif
    return ~crc_portable(~crc, data, len);
}

#include "crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78)

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        table[byte] = crc;
    }
}

static uint32_t update_by_table(uint32_t crc, const uint8_t *p, size_t len)
{
    pthread_once(&table_once, fill_table);
    for (; len; len--)
        crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t update_by_sse42(uint32_t crc, const uint8_t *p,
                                                                  size_t len)
{
    uint64_t wide = crc;

    for (; len >= sizeof wide; len -= sizeof wide, p += sizeof wide) {
        uint64_t word;

        memcpy(&word, p, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; len; len--)
        crc = __builtin_ia32_crc32qi(crc, *p++);
    return crc;
}
#endif

uint32_t kr_crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~update_by_sse42(~crc, data, len);
#endif
    return ~update_by_table(~crc, data, len);
}

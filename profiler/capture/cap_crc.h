/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 section 12.1). */
#ifndef CAP_CRC_H
#define CAP_CRC_H

#include <stddef.h>
#include <stdint.h>

/** Continues a checksum over more bytes; the first call passes 0. */
uint32_t cap_crc32c(uint32_t crc, const void *data, size_t len);

#endif

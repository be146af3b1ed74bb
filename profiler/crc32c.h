/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as in RFC 3720. */
#ifndef KR_CRC32C_H
#define KR_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** The checksum of more bytes: 0 to start with, then the previous result. Any thread. */
uint32_t kr_crc32c(uint32_t crc, const void *data, size_t len);

#endif

/* Any bytes at all: the .kreach reader must answer or refuse, within linear time and memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "import_kreach.h"
#include "kreach_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes every chunk's checksum right, so that mutations reach the decoders behind it. */
static void fix_checksums(uint8_t *data, size_t size)
{
    struct kreach_chunk header;
    size_t at = 0;

    while (size - at >= sizeof header) {
        memcpy(&header, data + at, sizeof header);
        if (header.magic != KREACH_CHUNK_MAGIC ||
            header.payload_bytes > size - at - sizeof header) {
            at++;
            continue;
        }
        header.crc = kr_crc32c(0, data + at, sizeof header - sizeof header.crc);
        header.crc = kr_crc32c(header.crc, data + at + sizeof header, header.payload_bytes);
        memcpy(data + at, &header, sizeof header);
        at += sizeof header + header.payload_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kr_err err = { 0 };
    uint8_t *copy = malloc(size + 1);

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    kr_timeline_free(kr_import_kreach("fuzz", copy, size, &err));
    fix_checksums(copy, size);
    kr_timeline_free(kr_import_kreach("fuzz", copy, size, &err));
    free(copy);
    return 0;
}

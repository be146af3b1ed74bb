/*
 * Any bytes at all: the .kreach reader must answer or refuse, within linear time and memory, and
 * what it answers can be analysed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "import_kreach.h"
#include "kreach_format.h"
#include "report.h"

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

/* Takes the timeline. */
static void analyse(struct kr_timeline *t)
{
    static struct kr_rules *rules;
    struct kr_report report = { 0 };
    struct kr_run run = { 0 };
    struct kr_err err = { 0 };

    if (!rules)
        rules = kr_rules_load(&(struct kr_rules_options){ 0 }, &err);
    if (!rules)
        abort();
    if (!t)
        return;
    if (kr_run_analyse(t, rules, "steady", &run, &err))
        (void)kr_report_build(&run, 1, rules, 0, &report, &err);
    kr_report_free(&report);
    kr_run_free(&run);
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
    analyse(kr_import_kreach("fuzz", copy, size, &err));
    free(copy);
    return 0;
}

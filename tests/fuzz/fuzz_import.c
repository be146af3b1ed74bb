/* The trace reader: no input breaks it, and the answer depends on neither threads nor cuts. */
#include <string.h>

#include "import_reader.h"

#include "../timeline_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char *read_cut(const uint8_t *data, size_t len, unsigned threads, size_t segment,
                      size_t block)
{
    const struct kr_import_options opt = { .threads = threads };
    const struct kr_import_tuning tuning = { segment, block, { 1 << 20, 100 } };
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_mem_tuned("fuzz", data, len, &opt, &tuning, &err);
    char *text = dump_timeline(t, &err);

    kr_timeline_free(t);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *whole = read_cut(data, len, 1, (size_t)1 << 30, (size_t)1 << 20);
    char *cut = read_cut(data, len, 3, 97, 61);

    if (strcmp(whole, cut) != 0) {
        fprintf(stderr, "--- whole\n%s--- cut\n%s", whole, cut);
        abort();
    }
    free(whole);
    free(cut);
    return 0;
}

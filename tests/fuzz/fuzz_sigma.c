/* Any bytes as a sigma file: refused with a place, or entries that keep every promise. */
#include <math.h>
#include <stdlib.h>

#include "sigma.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kr_sigma_file file;
    struct kr_err err = { 0 };

    if (!kr_sigma_read_mem("fuzz", (const char *)data, size, &file, &err)) {
        require(err.code == KR_EINPUT && err.msg[0] && !file.entries);
        return 0;
    }
    require(file.n_entries > 0);
    for (size_t i = 0; i < file.n_entries; i++) {
        const struct kr_sigma_entry *e = &file.entries[i];

        require(e->line >= 1 && e->label);
        require(e->lo > 0 && e->lo <= e->sigma && e->sigma <= e->hi);
        require(e->win_rate >= 0 && e->win_rate <= 1);
        require(i == 0 || e->line >= file.entries[i - 1].line);
    }
    kr_sigma_free(&file);
    return 0;
}

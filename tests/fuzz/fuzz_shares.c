/* Any bytes as a share list: refused with a place, or a run whose parts add to its wall. */
#include <stdlib.h>

#include "shares.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kr_rules *rules;
    struct kr_run run = { 0 };
    struct kr_err err = { 0 };
    uint64_t sum_ns = 0;

    if (!rules)
        rules = kr_rules_load(NULL, &err);
    require(rules);
    if (kr_shares_read_mem("fuzz", (const char *)data, size, rules, &run, &err)) {
        for (size_t c = 0; c < KR_CLASS_COUNT; c++)
            sum_ns += run.account.classes[c].exclusive_ns;
        require(sum_ns == run.account.time.busy_ns);
        require(run.account.time.wall_ns == KR_SHARES_WALL_NS && sum_ns <= KR_SHARES_WALL_NS);
    } else {
        require(err.code != KR_OK && err.msg[0]);
    }
    kr_run_free(&run);
    return 0;
}

/* Advice that needs no new kernel: a flag or a call that makes time go away. */
#ifndef KR_ADVICE_H
#define KR_ADVICE_H

#include "account.h"

struct kr_advice {
    const char *id;    /* stable snake_case key: "fused_optimizer", "channels_last", "tf32",
                          "sdpa", "cuda_graphs", "fused_norm", "avoid_copies", ... */
    const char *text;  /* one sentence: what to try; static */
    uint64_t reach_ns; /* exclusive (or idle) time of the window that it touches */
    uint64_t count;    /* launches that it touches */
    uint32_t example;  /* string id of the largest kernel it touches, 0 = none */
};

/**
 * Finds what applies, largest reach first; below 1 % of the window's wall nothing is said.
 * @param out  array owned by the caller (free)
 */
bool kr_advice_find(const struct kr_timeline *t, const struct kr_tag *tags,
                    const struct kr_rules *rules, const struct kr_account *account,
                    struct kr_advice **out, size_t *out_n, struct kr_err *err);

#endif

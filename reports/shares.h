/*
 * Published shares in place of a timeline: someone else's table of kernels and their share of the
 * run, read as a run of its own, so that reports and predictions work on it. Format:
 * docs/shares.md.
 *
 * {"schema": "kreach.shares", "schema_version": 1, "of": "busy", "busy_frac": 0.77,
 *  "device": "NVIDIA A100-SXM4-80GB", "shares": [
 *   {"name": "EmbeddingBag_updateOutputKernel", "frac": 0.374},
 *   {"name": "all GEMM", "frac": 0.318, "family": "gemm", "origin": "vendor"},
 *   {"name": "everything else addressable", "frac": 0.208, "class": "addressable"}]}
 */
#ifndef KR_SHARES_H
#define KR_SHARES_H

#include "report.h"

/* Length of the made-up window; shares are exact to one part in this. */
#define KR_SHARES_WALL_NS UINT64_C(1000000000000)

/**
 * Reads shares as a run: each becomes one launch, one after the other; what they leave of the busy
 * time becomes a launch named KR_SHARES_REST, unclassified. Without "busy_frac" the whole wall
 * counts as busy. A share's class comes from its "class", else from its "family" and "origin" by
 * the policy, else from its name by the rules.
 *
 * @param path  "-" is standard input
 * @param out   zeroed by the caller; kr_run_free copes with what a failure leaves
 * @return false with KR_EINPUT and file:line for a broken file, an unknown family, class or origin,
 *         a kernel listed twice, or shares that add to more than the whole.
 */
bool kr_shares_read(const char *path, const struct kr_rules *rules, struct kr_run *out,
                    struct kr_err *err);
bool kr_shares_read_mem(const char *name, const char *text, size_t len,
                        const struct kr_rules *rules, struct kr_run *out, struct kr_err *err);

#define KR_SHARES_REST "(not listed)"

#endif

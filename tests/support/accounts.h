/* Accounts of small runs whose kernels say their class. Any failure ends the test. */
#ifndef KR_TEST_ACCOUNTS_H
#define KR_TEST_ACCOUNTS_H

#include "account.h"
#include "runs.h"

/*
 * Tags by the first letter of a name: o optimal (gemm), a addressable (norm), v overhead (memcpy),
 * c collective; any other is unclassified. With run_rules loaded; freed with free().
 */
struct kr_tag *tag_by_letter(const struct kr_timeline *t);

/* Freed with kr_account_free. */
struct kr_account account_of(const struct kr_timeline *t, const struct kr_tag *tags,
                             const struct kr_window *w);

/* All gaps, whatever their cause. */
uint64_t sum_gaps_ns(const struct kr_gaps *g);

#endif

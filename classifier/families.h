/* Sets of families by name, as flags that can be looked up by a tag's family. */
#ifndef KR_FAMILIES_H
#define KR_FAMILIES_H

#include "rules.h"

/**
 * For each family of the rules, whether its name is among names[0..n). Names that no rule uses are
 * passed over.
 * @return kr_rules_family_count flags owned by the caller (free); NULL with err filled
 */
bool *kr_families_mark(const struct kr_rules *rules, const char *const *names, size_t n,
                       struct kr_err *err);

#endif

#include "families.h"

#include <string.h>

#include "mem.h"

bool *kr_families_mark(const struct kr_rules *rules, const char *const *names, size_t n,
                       struct kr_err *err)
{
    const size_t n_families = kr_rules_family_count(rules);
    bool *marks = kr_xcalloc(n_families, sizeof *marks, err);

    for (uint16_t i = 0; marks && i < n_families; i++) {
        for (size_t k = 0; k < n; k++)
            marks[i] |= strcmp(kr_rules_family(rules, i), names[k]) == 0;
    }
    return marks;
}

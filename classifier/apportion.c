#include "apportion.h"

#include <assert.h>
#include <stdlib.h>

struct ordering {
    kr_portion_order *order;
    const void *user;
};

static int larger_remainder_first(const void *pa, const void *pb, void *arg)
{
    const struct kr_portion *a = pa;
    const struct kr_portion *b = pb;
    const struct ordering *ordering = arg;
    const uint32_t ra = (uint32_t)a->share;
    const uint32_t rb = (uint32_t)b->share;

    if (ra != rb)
        return ra > rb ? -1 : 1;
    return ordering->order(ordering->user, a->id, b->id);
}

void kr_apportion(struct kr_portion *portions, size_t n, uint64_t total_ns, kr_portion_order *order,
                  const void *user)
{
    struct ordering ordering = { order, user };
    uint64_t missing = total_ns;

    for (size_t i = 0; i < n; i++) {
        portions[i].ns = (uint64_t)(portions[i].share >> KR_FIXED_BITS);
        missing -= portions[i].ns;
    }
    assert(missing <= n);
    if (!missing)
        return;
    qsort_r(portions, n, sizeof *portions, larger_remainder_first, &ordering);
    for (size_t i = 0; i < missing; i++)
        portions[i].ns++;
}

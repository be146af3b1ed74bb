#include "weights.h"

#include <stdlib.h>

struct kr_tensor *weights_index(const struct kr_params *p, size_t i)
{
    size_t seen = 0;

    for (size_t k = 0; k < p->n; k++) {
        if (kr_tensor_dtype(p->all[k]) == KR_I64 && seen++ == i)
            return p->all[k];
    }
    return NULL;
}

static bool all_alike(struct kr_at *at, const struct kr_tensor *t, bool *out)
{
    const size_t n = (size_t)kr_tensor_numel(t);
    double *v = calloc(n, sizeof *v);
    const bool read = v && kr_at_to_host(at, t, v, n);

    *out = true;
    for (size_t i = 1; read && i < n; i++)
        *out = *out && v[i] == v[0];
    free(v);
    return read;
}

bool weights_vary(struct kr_at *at, const struct kr_params *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct kr_tensor *t = p->all[i], *noise;
        bool alike;

        if (kr_tensor_ndim(t) != 1 || kr_tensor_dtype(t) == KR_I64)
            continue;
        if (!all_alike(at, t, &alike))
            return false;
        if (!alike)
            continue;
        noise = kr_at_randn(at, KR_F32, 0.1, KR_DIMS(kr_tensor_numel(t)));
        if (!kr_at_add_in_place(at, kr_at_detach(at, t), noise))
            return false;
    }
    return true;
}

#include "weights.h"

#include <math.h>
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

static bool add_noise(struct kr_at *at, struct kr_tensor *t)
{
    return kr_at_add_in_place(at, t, kr_at_randn(at, KR_F32, 0.1, KR_DIMS(kr_tensor_numel(t))));
}

static bool scale(struct kr_at *at, struct kr_tensor *t, double factor)
{
    return kr_at_mul_in_place(at, t, kr_at_full(at, KR_F32, factor, KR_DIMS(1)));
}

static bool vary(struct kr_at *at, struct kr_tensor *t, const double v[], size_t n)
{
    double squares = 0;
    bool alike = true;

    for (size_t i = 0; i < n; i++) {
        squares += v[i] * v[i];
        alike = alike && v[i] == v[0];
    }
    if (kr_tensor_ndim(t) == 1)
        return !alike || add_noise(at, t);
    return scale(at, t, sqrt((double)n / squares / (double)kr_tensor_dim(t, 1)));
}

bool weights_vary(struct kr_at *at, const struct kr_params *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const size_t n = (size_t)kr_tensor_numel(p->all[i]);
        double *v;
        bool done;

        if (kr_tensor_ndim(p->all[i]) > 2 || kr_tensor_dtype(p->all[i]) == KR_I64)
            continue;
        v = calloc(n, sizeof *v);
        done =
            v && kr_at_to_host(at, p->all[i], v, n) && vary(at, kr_at_detach(at, p->all[i]), v, n);
        free(v);
        if (!done)
            return false;
    }
    return true;
}

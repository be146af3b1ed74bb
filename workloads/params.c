#include "workload.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* More tensors than any model here has. */
#define TENSORS_MAX ((size_t)1 << 20)

bool kr_params_open(struct kr_params *p, struct kr_at *at, const struct kr_run *run)
{
    struct kr_err err = { 0 };

    p->at = at;
    p->train = strcmp(run->phase, "train") == 0;
    p->dtype = run->dtype;
    p->autocast = KR_F32;
    if (p->train && (run->dtype == KR_BF16 || run->dtype == KR_F16)) {
        p->dtype = KR_F32;
        p->autocast = run->dtype;
    }
    p->host_random = run->host_random;
    if (run->host_random && kr_at_device(at) != KR_CPU) {
        p->host = kr_at_open(KR_CPU, &err);
        if (!p->host)
            return kr_at_fail(at, err.code, "%s", err.msg);
    }
    return kr_at_manual_seed(at, run->seed);
}

void kr_params_close(struct kr_params *p)
{
    for (size_t i = 0; i < p->n; i++)
        kr_tensor_free(p->all[i]);
    free(p->all);
    free(p->trained);
    kr_at_close(p->host);
    *p = (struct kr_params){ 0 };
}

/* Takes a tensor out of its scope into the list. */
static struct kr_tensor *own(struct kr_params *p, struct kr_tensor *t)
{
    struct kr_err err = { 0 };

    if (!t)
        return NULL;
    if (!kr_grow(&p->all, &p->room, p->n + 1, sizeof(struct kr_tensor *), TENSORS_MAX, &err)) {
        kr_at_fail(p->at, err.code, "%s", err.msg);
        return NULL;
    }
    p->all[p->n++] = kr_at_keep(p->at, t);
    return t;
}

static struct kr_tensor *own_weight(struct kr_params *p, struct kr_tensor *t)
{
    struct kr_err err = { 0 };

    if (!own(p, t))
        return NULL;
    p->n_elements += (uint64_t)kr_tensor_numel(t);
    if (!p->train)
        return t;
    if (!kr_grow(&p->trained, &p->room_trained, p->n_trained + 1, sizeof(struct kr_tensor *),
                 TENSORS_MAX, &err)) {
        kr_at_fail(p->at, err.code, "%s", err.msg);
        return NULL;
    }
    p->trained[p->n_trained++] = t;
    return kr_at_require_grad(p->at, t) ? t : NULL;
}

/* Moves what the CPU's context made, a tensor of its innermost scope, to the device. */
static struct kr_tensor *bring(struct kr_params *p, struct kr_tensor *made, enum kr_dtype dtype)
{
    const struct kr_err *err = p->host ? kr_at_error(p->host) : NULL;

    if (err) {
        kr_at_fail(p->at, err->code, "%s", err->msg);
        return NULL;
    }
    return kr_at_to(p->at, made, dtype);
}

static struct kr_tensor *normal(struct kr_params *p, double std, const int64_t shape[], size_t ndim)
{
    struct kr_at *maker = p->host ? p->host : p->at;
    struct kr_tensor *made;

    if (!p->host_random)
        return kr_at_randn(p->at, p->dtype, std, shape, ndim);
    kr_at_scope_open(maker);
    made = bring(p, kr_at_randn(maker, KR_F32, std, shape, ndim), p->dtype);
    if (!p->host)
        return kr_at_scope_return(p->at, made);
    kr_at_scope_close(maker);
    return made;
}

static struct kr_tensor *whole(struct kr_params *p, int64_t high, const int64_t shape[],
                               size_t ndim)
{
    struct kr_tensor *made;

    if (!p->host)
        return kr_at_randint(p->at, KR_I64, 0, high, shape, ndim);
    kr_at_scope_open(p->host);
    made = bring(p, kr_at_randint(p->host, KR_I64, 0, high, shape, ndim), KR_I64);
    kr_at_scope_close(p->host);
    return made;
}

struct kr_tensor *kr_param_normal(struct kr_params *p, double std, const int64_t shape[],
                                  size_t ndim)
{
    return own_weight(p, normal(p, std, shape, ndim));
}

struct kr_tensor *kr_param_full(struct kr_params *p, double value, const int64_t shape[],
                                size_t ndim)
{
    return own_weight(p, kr_at_full(p->at, p->dtype, value, shape, ndim));
}

static struct kr_tensor *channels_last(struct kr_params *p, double std, const int64_t shape[4])
{
    kr_at_scope_open(p->at);
    return kr_at_scope_return(p->at, kr_at_channels_last(p->at, normal(p, std, shape, 4)));
}

struct kr_tensor *kr_param_conv(struct kr_params *p, double std, const int64_t shape[4])
{
    return own_weight(p, channels_last(p, std, shape));
}

struct kr_tensor *kr_param_state(struct kr_params *p, enum kr_dtype dtype, double value,
                                 const int64_t shape[], size_t ndim)
{
    return own(p, kr_at_full(p->at, dtype, value, shape, ndim));
}

struct kr_tensor *kr_input_normal(struct kr_params *p, const int64_t shape[], size_t ndim)
{
    return own(p, normal(p, 1, shape, ndim));
}

struct kr_tensor *kr_input_images(struct kr_params *p, const int64_t shape[4])
{
    return own(p, channels_last(p, 1, shape));
}

struct kr_tensor *kr_input_index(struct kr_params *p, int64_t high, const int64_t shape[],
                                 size_t ndim)
{
    return own(p, whole(p, high, shape, ndim));
}

struct kr_tensor *kr_input_keep(struct kr_params *p, struct kr_tensor *t)
{
    return own(p, t);
}

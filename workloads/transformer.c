#include "transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

size_t kr_name_place(const char *const names[], const char *name)
{
    size_t i = 0;

    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    return i;
}

void *kr_state_alloc(struct kr_at *at, size_t n, size_t size)
{
    struct kr_err err = { 0 };
    void *items = kr_xcalloc(n, size, &err);

    if (!items)
        kr_at_fail(at, err.code, "%s", err.msg);
    return items;
}

int64_t kr_stack_resolve(struct kr_at *at, const struct kr_run *run, const struct kr_stack *preset,
                         struct kr_built *out)
{
    out->batch = run->batch ? run->batch : preset->batch;
    out->seq = run->seq ? run->seq : preset->seq;
    if (preset->positions && out->seq > preset->positions) {
        kr_at_fail(at, KR_EARG, "preset '%s' has %lld positions, not %lld", run->preset,
                   (long long)preset->positions, (long long)out->seq);
        return 0;
    }
    if (run->layers > preset->layers) {
        kr_at_fail(at, KR_EARG, "preset '%s' has %lld layers, not %lld", run->preset,
                   (long long)preset->layers, (long long)run->layers);
        return 0;
    }
    return run->layers ? run->layers : preset->layers;
}

void kr_layers_note(struct kr_built *out, int64_t n, int64_t n_all)
{
    if (n < n_all)
        snprintf(out->note, sizeof out->note, "%lld of %lld layers", (long long)n,
                 (long long)n_all);
}

struct kr_dense kr_param_dense(struct kr_params *p, int64_t in, int64_t out, double std)
{
    struct kr_tensor *weight = kr_param_normal(p, std, KR_DIMS(out, in));

    return (struct kr_dense){ weight, kr_param_full(p, 0, KR_DIMS(out)) };
}

struct kr_norm kr_param_norm(struct kr_params *p, int64_t width)
{
    struct kr_tensor *weight = kr_param_full(p, 1, KR_DIMS(width));

    return (struct kr_norm){ weight, kr_param_full(p, 0, KR_DIMS(width)) };
}

struct kr_tensor *kr_dense(struct kr_at *at, const struct kr_tensor *x, const struct kr_dense *d)
{
    return kr_at_linear(at, x, d->weight, d->bias);
}

struct kr_tensor *kr_norm(struct kr_at *at, const struct kr_tensor *x, const struct kr_norm *n,
                          double eps)
{
    return kr_at_layer_norm(at, x, n->weight, n->bias, eps);
}

struct kr_tensor *kr_heads_split(struct kr_at *at, const struct kr_tensor *x, int64_t n_heads)
{
    int64_t batch = kr_tensor_dim(x, 0), n_tokens = kr_tensor_dim(x, 1);
    int64_t n_features = kr_tensor_dim(x, 2) / n_heads;
    struct kr_tensor *heads = kr_at_view(at, x, KR_DIMS(batch, n_tokens, n_heads, n_features));

    return kr_at_transpose(at, heads, 1, 2);
}

struct kr_tensor *kr_heads_merge(struct kr_at *at, const struct kr_tensor *x)
{
    int64_t batch = kr_tensor_dim(x, 0), n_tokens = kr_tensor_dim(x, 2);
    int64_t width = kr_tensor_dim(x, 1) * kr_tensor_dim(x, 3);

    return kr_at_reshape(at, kr_at_transpose(at, x, 1, 2), KR_DIMS(batch, n_tokens, width));
}

struct kr_tensor *kr_rotary_frequencies(struct kr_at *at, int64_t n_features, double base)
{
    int64_t n_pairs = n_features / 2;
    struct kr_tensor *i = kr_at_arange(at, KR_F32, 0, (double)n_pairs, 1);

    return kr_at_exp(at, kr_at_mul_scalar(at, i, -log(base) / (double)n_pairs));
}

struct kr_rotary kr_rotary_angles(struct kr_at *at, const struct kr_tensor *frequencies,
                                  const struct kr_tensor *positions, enum kr_dtype dtype)
{
    struct kr_tensor *rows = kr_at_unsqueeze(at, kr_at_to(at, positions, KR_F32), 1);
    struct kr_tensor *half = kr_at_mul(at, rows, frequencies);
    const struct kr_tensor *const halves[] = { half, half };
    struct kr_tensor *angles = kr_at_cat(at, halves, KR_COUNT(halves), 1);

    return (struct kr_rotary){ kr_at_to(at, kr_at_cos(at, angles), dtype),
                               kr_at_to(at, kr_at_sin(at, angles), dtype) };
}

struct kr_tensor *kr_rotary_turn(struct kr_at *at, const struct kr_tensor *x,
                                 const struct kr_rotary *angles)
{
    int64_t n_features = kr_tensor_dim(x, -1);
    struct kr_tensor *low = kr_at_slice(at, x, -1, 0, n_features / 2);
    struct kr_tensor *high = kr_at_slice(at, x, -1, n_features / 2, n_features);
    const struct kr_tensor *const turned[] = { kr_at_neg(at, high), low };
    struct kr_tensor *quarter = kr_at_cat(at, turned, KR_COUNT(turned), -1);

    return kr_at_add(at, kr_at_mul(at, x, angles->cos), kr_at_mul(at, quarter, angles->sin));
}

double kr_layer_flop(double n_tokens, double n_weights, double n_pairs, int64_t width)
{
    return 2 * n_tokens * n_weights + 4 * n_pairs * (double)width;
}

double kr_causal_pairs(int64_t n_tokens)
{
    return (double)n_tokens * ((double)n_tokens + 1) / 2;
}

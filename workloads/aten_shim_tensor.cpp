/* Making tensors, shapes, arithmetic, reductions. */
#include "aten_shim_impl.h"

using namespace kr_shim;

/* ---- making ---- */

kr_tensor *kr_at_empty(kr_at *at, kr_dtype dtype, const int64_t shape[], size_t ndim)
{
    return make(at, __func__, [&] { return at::empty(dims(shape, ndim), options(at, dtype)); });
}

kr_tensor *kr_at_zeros(kr_at *at, kr_dtype dtype, const int64_t shape[], size_t ndim)
{
    return make(at, __func__, [&] { return at::zeros(dims(shape, ndim), options(at, dtype)); });
}

kr_tensor *kr_at_full(kr_at *at, kr_dtype dtype, double value, const int64_t shape[], size_t ndim)
{
    return make(at, __func__,
                [&] { return at::full(dims(shape, ndim), value, options(at, dtype)); });
}

kr_tensor *kr_at_randn(kr_at *at, kr_dtype dtype, double std, const int64_t shape[], size_t ndim)
{
    return make(at, __func__,
                [&] { return at::empty(dims(shape, ndim), options(at, dtype)).normal_(0, std); });
}

kr_tensor *kr_at_randint(kr_at *at, kr_dtype dtype, int64_t low, int64_t high,
                         const int64_t shape[], size_t ndim)
{
    return make(at, __func__,
                [&] { return at::randint(low, high, dims(shape, ndim), options(at, dtype)); });
}

kr_tensor *kr_at_arange(kr_at *at, kr_dtype dtype, double start, double end, double step)
{
    return make(at, __func__, [&] { return at::arange(start, end, step, options(at, dtype)); });
}

kr_tensor *kr_at_to(kr_at *at, const kr_tensor *t, kr_dtype dtype)
{
    return make(at, __func__, [&] { return of(t).to(at->device, scalar_type(dtype)); });
}

kr_tensor *kr_at_clone(kr_at *at, const kr_tensor *t)
{
    return make(at, __func__, [&] { return of(t).clone(); });
}

kr_tensor *kr_at_detach(kr_at *at, const kr_tensor *t)
{
    return make(at, __func__, [&] { return of(t).detach(); });
}

kr_tensor *kr_at_channels_last(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).contiguous(at::MemoryFormat::ChannelsLast); });
}

/* ---- shapes ---- */

kr_tensor *kr_at_view(kr_at *at, const kr_tensor *x, const int64_t shape[], size_t ndim)
{
    return make(at, __func__, [&] { return of(x).view(dims(shape, ndim)); });
}

kr_tensor *kr_at_reshape(kr_at *at, const kr_tensor *x, const int64_t shape[], size_t ndim)
{
    return make(at, __func__, [&] { return of(x).reshape(dims(shape, ndim)); });
}

kr_tensor *kr_at_transpose(kr_at *at, const kr_tensor *x, int dim0, int dim1)
{
    return make(at, __func__, [&] { return of(x).transpose(dim0, dim1); });
}

kr_tensor *kr_at_permute(kr_at *at, const kr_tensor *x, const int64_t order[], size_t ndim)
{
    return make(at, __func__, [&] { return of(x).permute(dims(order, ndim)); });
}

kr_tensor *kr_at_contiguous(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).contiguous(); });
}

kr_tensor *kr_at_expand(kr_at *at, const kr_tensor *x, const int64_t shape[], size_t ndim)
{
    return make(at, __func__, [&] { return of(x).expand(dims(shape, ndim)); });
}

kr_tensor *kr_at_unsqueeze(kr_at *at, const kr_tensor *x, int dim)
{
    return make(at, __func__, [&] { return of(x).unsqueeze(dim); });
}

kr_tensor *kr_at_squeeze(kr_at *at, const kr_tensor *x, int dim)
{
    return make(at, __func__, [&] { return of(x).squeeze(dim); });
}

kr_tensor *kr_at_slice(kr_at *at, const kr_tensor *x, int dim, int64_t start, int64_t end)
{
    return make(at, __func__, [&] { return of(x).slice(dim, start, end); });
}

kr_tensor *kr_at_select(kr_at *at, const kr_tensor *x, int dim, int64_t i)
{
    return make(at, __func__, [&] { return of(x).select(dim, i); });
}

kr_tensor *kr_at_cat(kr_at *at, const kr_tensor *const x[], size_t n, int dim)
{
    return make(at, __func__, [&] { return at::cat(list_of(x, n), dim); });
}

kr_tensor *kr_at_stack(kr_at *at, const kr_tensor *const x[], size_t n, int dim)
{
    return make(at, __func__, [&] { return at::stack(list_of(x, n), dim); });
}

kr_tensor *kr_at_index_select(kr_at *at, const kr_tensor *x, int dim, const kr_tensor *index)
{
    return make(at, __func__, [&] { return of(x).index_select(dim, of(index)); });
}

kr_tensor *kr_at_index(kr_at *at, const kr_tensor *x, const kr_tensor *const index[], size_t n)
{
    return make(at, __func__, [&] {
        c10::List<std::optional<at::Tensor>> list;

        if (!index)
            throw refusal(KR_EARG, "the list of indices is NULL");
        for (size_t i = 0; i < n; i++)
            list.push_back(maybe(index[i]));
        return at::index(of(x), list);
    });
}

kr_tensor *kr_at_gather(kr_at *at, const kr_tensor *x, int dim, const kr_tensor *index)
{
    return make(at, __func__, [&] { return of(x).gather(dim, of(index)); });
}

/* ---- arithmetic ---- */

kr_tensor *kr_at_add(kr_at *at, const kr_tensor *a, const kr_tensor *b)
{
    return make(at, __func__, [&] { return of(a) + of(b); });
}

kr_tensor *kr_at_sub(kr_at *at, const kr_tensor *a, const kr_tensor *b)
{
    return make(at, __func__, [&] { return of(a) - of(b); });
}

kr_tensor *kr_at_mul(kr_at *at, const kr_tensor *a, const kr_tensor *b)
{
    return make(at, __func__, [&] { return of(a) * of(b); });
}

kr_tensor *kr_at_div(kr_at *at, const kr_tensor *a, const kr_tensor *b)
{
    return make(at, __func__, [&] { return of(a) / of(b); });
}

kr_tensor *kr_at_add_scalar(kr_at *at, const kr_tensor *a, double b)
{
    return make(at, __func__, [&] { return of(a) + b; });
}

kr_tensor *kr_at_mul_scalar(kr_at *at, const kr_tensor *a, double b)
{
    return make(at, __func__, [&] { return of(a) * b; });
}

kr_tensor *kr_at_pow_scalar(kr_at *at, const kr_tensor *a, double b)
{
    return make(at, __func__, [&] { return of(a).pow(b); });
}

kr_tensor *kr_at_neg(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).neg(); });
}

kr_tensor *kr_at_exp(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).exp(); });
}

kr_tensor *kr_at_sin(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).sin(); });
}

kr_tensor *kr_at_cos(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).cos(); });
}

kr_tensor *kr_at_rsqrt(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).rsqrt(); });
}

bool kr_at_add_in_place(kr_at *at, kr_tensor *a, const kr_tensor *b)
{
    return act(at, __func__, [&] { of(a).add_(of(b)); });
}

bool kr_at_mul_in_place(kr_at *at, kr_tensor *a, const kr_tensor *b)
{
    return act(at, __func__, [&] { of(a).mul_(of(b)); });
}

bool kr_at_add_scalar_in_place(kr_at *at, kr_tensor *a, double b)
{
    return act(at, __func__, [&] { of(a).add_(b); });
}

bool kr_at_relu_in_place(kr_at *at, kr_tensor *x)
{
    return act(at, __func__, [&] { of(x).relu_(); });
}

bool kr_at_fill(kr_at *at, kr_tensor *x, double value)
{
    return act(at, __func__, [&] { of(x).fill_(value); });
}

bool kr_at_copy(kr_at *at, kr_tensor *dst, const kr_tensor *src)
{
    return act(at, __func__, [&] { of(dst).copy_(of(src)); });
}

bool kr_at_index_copy(kr_at *at, kr_tensor *dst, int dim, const kr_tensor *index,
                      const kr_tensor *src)
{
    return act(at, __func__, [&] { of(dst).index_copy_(dim, of(index), of(src)); });
}

/* ---- reductions ---- */

kr_tensor *kr_at_sum(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).sum(); });
}

kr_tensor *kr_at_mean(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return of(x).mean(); });
}

kr_tensor *kr_at_sum_dim(kr_at *at, const kr_tensor *x, int dim, bool keep)
{
    return make(at, __func__, [&] { return of(x).sum(dim, keep); });
}

kr_tensor *kr_at_mean_dim(kr_at *at, const kr_tensor *x, int dim, bool keep)
{
    return make(at, __func__, [&] { return of(x).mean(dim, keep); });
}

kr_tensor *kr_at_argmax(kr_at *at, const kr_tensor *x, int dim, bool keep)
{
    return make(at, __func__, [&] { return of(x).argmax(dim, keep); });
}

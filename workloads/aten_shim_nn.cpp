/* Layers, losses, gradients, mixed precision. */
#include "aten_shim_impl.h"

#include <ATen/autocast_mode.h>

using namespace kr_shim;

static at::IntArrayRef last_dim(const at::Tensor &x)
{
    if (x.dim() == 0)
        throw refusal(KR_EARG, "a tensor without dimensions has no last one");
    return x.sizes().slice(size_t(x.dim() - 1));
}

/* ---- layers ---- */

kr_tensor *kr_at_matmul(kr_at *at, const kr_tensor *a, const kr_tensor *b)
{
    return make(at, __func__, [&] { return at::matmul(of(a), of(b)); });
}

kr_tensor *kr_at_linear(kr_at *at, const kr_tensor *x, const kr_tensor *weight,
                        const kr_tensor *bias)
{
    return make(at, __func__, [&] { return at::linear(of(x), of(weight), maybe(bias)); });
}

kr_tensor *kr_at_attention(kr_at *at, const kr_tensor *q, const kr_tensor *k, const kr_tensor *v,
                           const struct kr_at_attention *how)
{
    return make(at, __func__, [&] {
        const auto scale = how->scale != 0 ? std::make_optional(how->scale) : std::nullopt;

        if (how->mask && how->causal)
            throw refusal(KR_EARG, "a mask and causal exclude each other");
        return at::scaled_dot_product_attention(of(q), of(k), of(v), maybe(how->mask), how->dropout,
                                                how->causal, scale, how->grouped);
    });
}

kr_tensor *kr_at_layer_norm(kr_at *at, const kr_tensor *x, const kr_tensor *weight,
                            const kr_tensor *bias, double eps)
{
    return make(at, __func__, [&] {
        return at::layer_norm(of(x), last_dim(of(x)), maybe(weight), maybe(bias), eps);
    });
}

kr_tensor *kr_at_rms_norm(kr_at *at, const kr_tensor *x, const kr_tensor *weight, double eps)
{
    return make(at, __func__,
                [&] { return at::rms_norm(of(x), last_dim(of(x)), maybe(weight), eps); });
}

kr_tensor *kr_at_batch_norm(kr_at *at, const kr_tensor *x, const struct kr_at_batch_norm *norm)
{
    return make(at, __func__, [&] {
        return at::batch_norm(of(x), maybe(norm->weight), maybe(norm->bias), of(norm->running_mean),
                              of(norm->running_var), norm->training, norm->momentum, norm->eps,
                              at::globalContext().userEnabledCuDNN());
    });
}

kr_tensor *kr_at_relu(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return at::relu(of(x)); });
}

kr_tensor *kr_at_relu6(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return at::hardtanh(of(x), 0, 6); });
}

kr_tensor *kr_at_gelu(kr_at *at, const kr_tensor *x, bool tanh_form)
{
    return make(at, __func__, [&] { return at::gelu(of(x), tanh_form ? "tanh" : "none"); });
}

kr_tensor *kr_at_silu(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return at::silu(of(x)); });
}

kr_tensor *kr_at_sigmoid(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return at::sigmoid(of(x)); });
}

kr_tensor *kr_at_tanh(kr_at *at, const kr_tensor *x)
{
    return make(at, __func__, [&] { return at::tanh(of(x)); });
}

kr_tensor *kr_at_softmax(kr_at *at, const kr_tensor *x, int dim)
{
    return make(at, __func__, [&] { return at::softmax(of(x), dim); });
}

kr_tensor *kr_at_log_softmax(kr_at *at, const kr_tensor *x, int dim)
{
    return make(at, __func__, [&] { return at::log_softmax(of(x), dim); });
}

kr_tensor *kr_at_dropout(kr_at *at, const kr_tensor *x, double p, bool training)
{
    return make(at, __func__, [&] { return at::dropout(of(x), p, training); });
}

kr_tensor *kr_at_conv2d(kr_at *at, const kr_tensor *x, const kr_tensor *weight,
                        const kr_tensor *bias, const struct kr_at_conv2d *how)
{
    return make(at, __func__, [&] {
        const int64_t stride = how->stride ? how->stride : 1;

        return at::conv2d(of(x), of(weight), maybe(bias), stride, how->padding, 1,
                          how->groups ? how->groups : 1);
    });
}

kr_tensor *kr_at_max_pool2d(kr_at *at, const kr_tensor *x, int64_t kernel, int64_t stride,
                            int64_t padding)
{
    return make(at, __func__, [&] { return at::max_pool2d(of(x), kernel, stride, padding); });
}

kr_tensor *kr_at_avg_pool2d(kr_at *at, const kr_tensor *x, int64_t kernel, int64_t stride,
                            int64_t padding)
{
    return make(at, __func__, [&] { return at::avg_pool2d(of(x), kernel, stride, padding); });
}

kr_tensor *kr_at_adaptive_avg_pool2d(kr_at *at, const kr_tensor *x, int64_t height, int64_t width)
{
    return make(at, __func__, [&] { return at::adaptive_avg_pool2d(of(x), { height, width }); });
}

kr_tensor *kr_at_embedding(kr_at *at, const kr_tensor *weight, const kr_tensor *index)
{
    return make(at, __func__, [&] { return at::embedding(of(weight), of(index)); });
}

kr_tensor *kr_at_embedding_bag(kr_at *at, const kr_tensor *weight, const kr_tensor *index,
                               const kr_tensor *offsets, kr_at_bag mode, bool sparse_grad)
{
    return make(at, __func__, [&] {
        if (mode != KR_BAG_SUM && mode != KR_BAG_MEAN && mode != KR_BAG_MAX)
            throw refusal(KR_EARG, "there is no such way to pool");
        return std::get<0>(at::embedding_bag(of(weight), of(index), of(offsets), false, mode,
                                             sparse_grad, std::nullopt, false));
    });
}

/* ---- losses ---- */

kr_tensor *kr_at_cross_entropy(kr_at *at, const kr_tensor *logits, const kr_tensor *target)
{
    return make(at, __func__, [&] { return at::cross_entropy_loss(of(logits), of(target)); });
}

kr_tensor *kr_at_bce_with_logits(kr_at *at, const kr_tensor *logits, const kr_tensor *target)
{
    return make(at, __func__,
                [&] { return at::binary_cross_entropy_with_logits(of(logits), of(target)); });
}

kr_tensor *kr_at_mse_loss(kr_at *at, const kr_tensor *x, const kr_tensor *target)
{
    return make(at, __func__, [&] { return at::mse_loss(of(x), of(target)); });
}

/* ---- gradients ---- */

bool kr_at_grad_mode(kr_at *at, bool record)
{
    const bool old = at::GradMode::is_enabled();

    act_always(at, __func__, [&] { at::GradMode::set_enabled(record); });
    return old;
}

bool kr_at_require_grad(kr_at *at, kr_tensor *t)
{
    return act(at, __func__, [&] { of(t).set_requires_grad(true); });
}

bool kr_at_backward(kr_at *at, const kr_tensor *loss)
{
    return act(at, __func__, [&] { of(loss).backward(); });
}

kr_tensor *kr_at_grad(kr_at *at, const kr_tensor *t)
{
    return make(at, __func__, [&] {
        if (!of(t).grad().defined())
            throw refusal(KR_EARG, "the tensor has no gradient");
        return of(t).grad();
    });
}

static void autocast_off(at::DeviceType device)
{
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device, false);
}

bool kr_at_autocast(kr_at *at, bool on, kr_dtype dtype)
{
    if (!on)
        return act_always(at, __func__, [&] { autocast_off(at->device.type()); });
    return act(at, __func__, [&] {
        at::autocast::set_autocast_dtype(at->device.type(), scalar_type(dtype));
        at::autocast::set_autocast_enabled(at->device.type(), true);
    });
}

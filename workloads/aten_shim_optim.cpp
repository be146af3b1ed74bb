/* SGD and AdamW as torch.optim has them: the same ATen calls in the same order. */
#include "aten_shim_impl.h"

#include <c10/core/GradMode.h>

#include <map>

using namespace kr_shim;

namespace
{

/* Tensors of one dtype, which the multi-tensor kernels need; equal places belong together. */
struct batch {
    std::vector<at::Tensor> params, grads, first, second, steps;
    std::vector<size_t> which; /* place in the optimizer's list */
};

struct slot {
    at::Tensor param;
    at::Tensor first; /* momentum buffer, or AdamW's first moment; undefined before the first use */
    at::Tensor second; /* AdamW's second moment */
    at::Tensor step;   /* for fused AdamW: float32 on the device */
    int64_t n_steps = 0;
};

/* A range of the calling thread, for as long as this lives. */
struct nvtx_range {
    explicit nvtx_range(const char *name)
    {
        kr_nvtx_push(name);
    }
    ~nvtx_range()
    {
        kr_nvtx_pop();
    }
    nvtx_range(const nvtx_range &) = delete;
    nvtx_range &operator=(const nvtx_range &) = delete;
};

} // namespace

struct kr_optim {
    std::vector<slot> slots;

    explicit kr_optim(std::vector<at::Tensor> params)
    {
        for (at::Tensor &p : params) {
            if (!p.requires_grad())
                throw refusal(KR_EARG, "a parameter does not require a gradient");
            slots.push_back({ std::move(p), {}, {}, {}, 0 });
        }
    }
    kr_optim(const kr_optim &) = delete;
    kr_optim &operator=(const kr_optim &) = delete;
    virtual ~kr_optim() = default;

    virtual void step() = 0;
    virtual const char *mark() const = 0; /* the name of a step for profilers, as torch.optim's */
};

namespace
{

using batches = std::map<at::ScalarType, batch>;

/* ---- SGD ---- */

class sgd final : public kr_optim
{
    kr_sgd how;

    void step_sparse(const at::Tensor &param, const at::Tensor &grad) const
    {
        if (how.form != KR_OPTIM_FOREACH || how.momentum != 0 || how.weight_decay != 0)
            throw refusal(KR_EARG, "a sparse gradient needs the foreach form without momentum and "
                                   "weight decay");
        param.add_(grad, -how.learning_rate);
    }

    /* All of a batch have a momentum buffer, or none has. */
    void step_foreach(batch &b, bool is_first)
    {
        if (how.weight_decay != 0)
            b.grads = at::_foreach_add(b.grads, b.params, how.weight_decay);
        if (how.momentum != 0 && is_first) {
            for (size_t i = 0; i < b.which.size(); i++)
                slots[b.which[i]].first = b.grads[i].clone();
        } else if (how.momentum != 0) {
            at::_foreach_mul_(b.first, how.momentum);
            at::_foreach_add_(b.first, b.grads);
            b.grads = b.first;
        }
        at::_foreach_add_(b.params, b.grads, -how.learning_rate);
    }

    void step_fused(batch &b, bool is_first)
    {
        if (how.momentum != 0 && is_first)
            for (size_t i = 0; i < b.which.size(); i++)
                b.first.push_back(slots[b.which[i]].first = at::empty_like(b.grads[i]));
        at::_fused_sgd_(b.params, b.grads, b.first, how.weight_decay, how.momentum,
                        how.learning_rate, 0, false, false, is_first);
    }

  public:
    sgd(std::vector<at::Tensor> params, const kr_sgd &h) : kr_optim(std::move(params)), how(h)
    {
    }

    const char *mark() const override
    {
        return "Optimizer.step#SGD.step";
    }

    void step() override
    {
        batches by_dtype[2]; /* with a momentum buffer; without one as yet */

        for (size_t i = 0; i < slots.size(); i++) {
            slot &s = slots[i];
            const at::Tensor grad = s.param.grad();

            if (!grad.defined())
                continue;
            if (grad.is_sparse()) {
                step_sparse(s.param, grad);
                continue;
            }
            batch &b = by_dtype[!s.first.defined()][s.param.scalar_type()];
            b.params.push_back(s.param);
            b.grads.push_back(grad);
            if (s.first.defined())
                b.first.push_back(s.first);
            b.which.push_back(i);
        }
        for (bool is_first : { false, true })
            for (auto &[dtype, b] : by_dtype[is_first])
                if (how.form == KR_OPTIM_FUSED)
                    step_fused(b, is_first);
                else
                    step_foreach(b, is_first);
    }
};

/* ---- AdamW ---- */

class adamw final : public kr_optim
{
    kr_adamw how;

    void step_foreach(batch &b)
    {
        std::vector<at::Scalar> step_size, root; /* of the bias corrections */

        for (size_t i : b.which) {
            const double n = double(++slots[i].n_steps);

            step_size.push_back(-how.learning_rate / (1 - std::pow(how.beta1, n)));
            root.push_back(std::sqrt(1 - std::pow(how.beta2, n)));
        }
        at::_foreach_mul_(b.params, 1 - how.learning_rate * how.weight_decay);
        at::_foreach_lerp_(b.first, b.grads, 1 - how.beta1);
        at::_foreach_mul_(b.second, how.beta2);
        at::_foreach_addcmul_(b.second, b.grads, b.grads, 1 - how.beta2);

        std::vector<at::Tensor> size = at::_foreach_sqrt(b.second);

        at::_foreach_div_(size, root);
        at::_foreach_add_(size, how.eps);
        at::_foreach_addcdiv_(b.params, b.first, size, step_size);
    }

    void step_fused(batch &b)
    {
        at::_foreach_add_(b.steps, 1);
        at::_fused_adamw_(b.params, b.grads, b.first, b.second, {}, b.steps, how.learning_rate,
                          how.beta1, how.beta2, how.weight_decay, how.eps, false, false);
    }

    void make_state(slot &s) const
    {
        s.first = at::zeros_like(s.param, at::MemoryFormat::Preserve);
        s.second = at::zeros_like(s.param, at::MemoryFormat::Preserve);
        if (how.form == KR_OPTIM_FUSED)
            s.step = at::zeros({}, s.param.options().dtype(at::kFloat));
    }

  public:
    adamw(std::vector<at::Tensor> params, const kr_adamw &h) : kr_optim(std::move(params)), how(h)
    {
        how.beta1 = how.beta1 != 0 ? how.beta1 : 0.9;
        how.beta2 = how.beta2 != 0 ? how.beta2 : 0.999;
        how.eps = how.eps != 0 ? how.eps : 1e-8;
    }

    const char *mark() const override
    {
        return "Optimizer.step#AdamW.step";
    }

    void step() override
    {
        batches by_dtype;

        for (size_t i = 0; i < slots.size(); i++) {
            slot &s = slots[i];
            const at::Tensor grad = s.param.grad();

            if (!grad.defined())
                continue;
            if (grad.is_sparse())
                throw refusal(KR_EARG, "AdamW takes no sparse gradients");
            if (!s.first.defined())
                make_state(s);
            batch &b = by_dtype[s.param.scalar_type()];
            b.params.push_back(s.param);
            b.grads.push_back(grad);
            b.first.push_back(s.first);
            b.second.push_back(s.second);
            if (s.step.defined())
                b.steps.push_back(s.step);
            b.which.push_back(i);
        }
        for (auto &[dtype, b] : by_dtype)
            if (how.form == KR_OPTIM_FUSED)
                step_fused(b);
            else
                step_foreach(b);
    }
};

template <typename T, typename How>
kr_optim *make_optim(kr_at *at, const char *function, kr_tensor *const params[], size_t n,
                     const How &how)
{
    kr_optim *o = nullptr;

    act(at, function, [&] { o = new T(list_of(params, n), how); });
    return o;
}

} // namespace

kr_optim *kr_at_sgd(kr_at *at, kr_tensor *const params[], size_t n, const struct kr_sgd *how)
{
    return make_optim<sgd>(at, __func__, params, n, *how);
}

kr_optim *kr_at_adamw(kr_at *at, kr_tensor *const params[], size_t n, const struct kr_adamw *how)
{
    return make_optim<adamw>(at, __func__, params, n, *how);
}

bool kr_optim_step(kr_at *at, kr_optim *o)
{
    return act(at, __func__, [&] {
        const c10::NoGradGuard no_grad;

        if (!o)
            throw refusal(KR_EARG, "the optimizer is NULL");
        const nvtx_range range(o->mark());
        o->step();
    });
}

bool kr_optim_zero_grad(kr_at *at, kr_optim *o)
{
    return act(at, __func__, [&] {
        if (!o)
            throw refusal(KR_EARG, "the optimizer is NULL");
        for (slot &s : o->slots)
            s.param.mutable_grad().reset();
    });
}

void kr_optim_free(kr_optim *o)
{
    delete o;
}

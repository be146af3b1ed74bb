/* What the files of the shim share: the wrappers, and the guard at the border to C. */
#ifndef KR_ATEN_SHIM_IMPL_H
#define KR_ATEN_SHIM_IMPL_H

/* In C a function may be called like a struct; g++ warns of that in C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "aten_shim.h"
#pragma GCC diagnostic pop

#include <ATen/ATen.h>

#include <stdexcept>
#include <string>

/** A place in a ring; alone, it points to itself. */
struct kr_link {
    kr_link *prev = this;
    kr_link *next = this;

    kr_link() = default;
    kr_link(const kr_link &) = delete;
    kr_link &operator=(const kr_link &) = delete;
    ~kr_link()
    {
        leave();
    }
    void leave() noexcept
    {
        prev->next = next;
        next->prev = prev;
        prev = next = this;
    }
    void enter(kr_link &ring) noexcept
    {
        leave();
        prev = ring.prev;
        next = &ring;
        prev->next = this;
        ring.prev = this;
    }
};

/** Stands in the ring of its scope, or in none once it was kept. */
struct kr_tensor : kr_link {
    at::Tensor value;

    explicit kr_tensor(at::Tensor v) noexcept : value(std::move(v))
    {
    }
};

#define KR_SCOPE_MAX 64

struct kr_at {
    at::Device device;
    std::string device_name;
    kr_err err{};
    kr_link scopes[KR_SCOPE_MAX];
    size_t depth = 1; /* open scopes, those refused for being too many included */

    explicit kr_at(at::Device d) : device(d)
    {
    }

    /** The innermost scope. */
    kr_link &scope() noexcept
    {
        return scopes[std::min(depth, size_t(KR_SCOPE_MAX)) - 1];
    }
};

namespace kr_shim
{

/** A failure of our own making, on its way to the context. */
struct refusal : std::runtime_error {
    kr_code code;

    refusal(kr_code c, const char *msg) : std::runtime_error(msg), code(c)
    {
    }
};

/** Puts the exception being handled into the context, unless there is an error already. */
void record_exception(kr_at *at, const char *function) noexcept;

/** As record_exception, into err. */
void describe_exception(kr_err *err, const char *function) noexcept;

/** Gives a tensor to the innermost scope. */
kr_tensor *adopt(kr_at *at, at::Tensor value);

/** Calls f, which returns an at::Tensor, for a function of the interface that returns a tensor. */
template <typename F> kr_tensor *make(kr_at *at, const char *function, const F &f) noexcept
{
    if (!kr_at_ok(at))
        return nullptr;
    try {
        return adopt(at, f());
    } catch (...) {
        record_exception(at, function);
        return nullptr;
    }
}

/** Calls f, after an error too: for what must be undone whatever happened. */
template <typename F> bool act_always(kr_at *at, const char *function, const F &f) noexcept
{
    if (!at)
        return false;
    try {
        f();
        return true;
    } catch (...) {
        record_exception(at, function);
        return false;
    }
}

/** Calls f for a function of the interface that returns success. */
template <typename F> bool act(kr_at *at, const char *function, const F &f) noexcept
{
    return kr_at_ok(at) && act_always(at, function, f);
}

/** What stands behind an argument that must not be NULL. */
inline const at::Tensor &of(const kr_tensor *t)
{
    if (!t)
        throw refusal(KR_EARG, "a tensor is NULL");
    return t->value;
}

/** What stands behind an argument that may be NULL. */
inline std::optional<at::Tensor> maybe(const kr_tensor *t)
{
    return t ? std::make_optional(t->value) : std::nullopt;
}

/** n tensors, none of them NULL. */
std::vector<at::Tensor> list_of(const kr_tensor *const x[], size_t n);

at::IntArrayRef dims(const int64_t shape[], size_t ndim);
at::ScalarType scalar_type(kr_dtype dtype);

/** Where and of which dtype a new tensor is made. */
inline at::TensorOptions options(const kr_at *at, kr_dtype dtype)
{
    return at::TensorOptions().dtype(scalar_type(dtype)).device(at->device);
}

/** Throws KR_EENV unless the context's device is a CUDA device. */
void need_cuda(const kr_at *at);

/* aten_shim_cuda.cpp */

std::string cuda_name(at::Device device);
void cuda_synchronize();

} // namespace kr_shim

#endif

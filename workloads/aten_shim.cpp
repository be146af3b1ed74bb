#include "aten_shim_impl.h"

#include <ATen/Parallel.h>
#include <c10/util/safe_numerics.h>

#include <cstdarg>
#include <cstring>
#include <limits>

using namespace kr_shim;

/* ---- errors ---- */

namespace
{

constexpr struct {
    kr_dtype ours;
    at::ScalarType torch;
} dtypes[] = {
    { KR_F32, at::kFloat },     { KR_F64, at::kDouble }, { KR_F16, at::kHalf },
    { KR_BF16, at::kBFloat16 }, { KR_I64, at::kLong },   { KR_I32, at::kInt },
    { KR_U8, at::kByte },       { KR_BOOL, at::kBool },
};

/* Messages of torch span lines; ours never do. */
void describe(kr_err *err, kr_code code, const char *function, const char *what)
{
    kr_fail(err, code, "%s: %s", function, what);
    for (char *c = err->msg; *c; c++)
        if (*c == '\n')
            *c = ' ';
    for (size_t n = strlen(err->msg); n > 0 && err->msg[n - 1] == ' '; n--)
        err->msg[n - 1] = '\0';
}

} // namespace

void kr_shim::describe_exception(kr_err *err, const char *function) noexcept
{
    try {
        throw;
    } catch (const refusal &e) {
        describe(err, e.code, function, e.what());
    } catch (const c10::OutOfMemoryError &e) {
        describe(err, KR_ENOMEM, function, e.what_without_backtrace());
    } catch (const c10::AcceleratorError &e) {
        describe(err, KR_EENV, function, e.what_without_backtrace());
    } catch (const c10::Error &e) {
        const char *what = e.what_without_backtrace();

        /* The CPU's allocator has no type of its own for that. */
        describe(err, strstr(what, "can't allocate memory") ? KR_ENOMEM : KR_EARG, function, what);
    } catch (const std::bad_alloc &) {
        describe(err, KR_ENOMEM, function, "out of memory");
    } catch (const std::exception &e) {
        describe(err, KR_EENV, function, e.what());
    } catch (...) {
        describe(err, KR_EENV, function, "an exception of an unknown type");
    }
}

void kr_shim::record_exception(kr_at *at, const char *function) noexcept
{
    if (kr_at_ok(at))
        describe_exception(&at->err, function);
}

at::ScalarType kr_shim::scalar_type(kr_dtype dtype)
{
    for (const auto &d : dtypes)
        if (d.ours == dtype)
            return d.torch;
    throw refusal(KR_EARG, "there is no such dtype");
}

void kr_shim::need_cuda(const kr_at *at)
{
    if (!at->device.is_cuda())
        throw refusal(KR_EENV, "this needs a CUDA device");
}

at::IntArrayRef kr_shim::dims(const int64_t shape[], size_t ndim)
{
    if (ndim > KR_NDIM_MAX)
        throw refusal(KR_EARG, "a shape has too many dimensions");
    if (!shape && ndim)
        throw refusal(KR_EARG, "a shape is NULL");
    return at::IntArrayRef(shape, ndim);
}

std::vector<at::Tensor> kr_shim::list_of(const kr_tensor *const x[], size_t n)
{
    std::vector<at::Tensor> list;

    if (!x && n)
        throw refusal(KR_EARG, "a list of tensors is NULL");
    list.reserve(n);
    for (size_t i = 0; i < n; i++)
        list.push_back(of(x[i]));
    return list;
}

kr_tensor *kr_shim::adopt(kr_at *at, at::Tensor value)
{
    kr_tensor *t = new kr_tensor(std::move(value));

    t->enter(at->scope());
    return t;
}

const kr_err *kr_at_error(const kr_at *at)
{
    return at && at->err.code != KR_OK ? &at->err : nullptr;
}

bool kr_at_ok(const kr_at *at)
{
    return at && at->err.code == KR_OK;
}

void kr_at_clear_error(kr_at *at)
{
    if (at)
        at->err = {};
}

bool kr_at_fail(kr_at *at, kr_code code, const char *fmt, ...)
{
    va_list args;

    if (!kr_at_ok(at))
        return false;
    va_start(args, fmt);
    vsnprintf(at->err.msg, sizeof at->err.msg, fmt, args);
    va_end(args);
    at->err.code = code;
    at->err.offset = KR_NO_OFFSET;
    return false;
}

/* ---- context and scopes ---- */

kr_at *kr_at_open(kr_device device, kr_err *err)
{
    kr_at *at = nullptr;

    try {
        if (device == KR_CUDA && kr_at_cuda_count() == 0)
            throw refusal(KR_EENV, "there is no CUDA device, or no driver for it");
        at = new kr_at(device == KR_CUDA ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU));
        at->device_name = device == KR_CUDA ? cuda_name(at->device) : "cpu";
        if (device == KR_CUDA) /* else memory cannot be asked for before the first tensor */
            at::globalContext().lazyInitDevice(at::kCUDA);
        return at;
    } catch (...) {
        describe_exception(err, __func__);
        delete at;
        return nullptr;
    }
}

static void empty(kr_link &scope)
{
    for (kr_link *link = scope.next; link != &scope;) {
        kr_tensor *t = static_cast<kr_tensor *>(link);

        link = link->next;
        delete t;
    }
}

void kr_at_close(kr_at *at)
{
    if (!at)
        return;
    for (kr_link &scope : at->scopes)
        empty(scope);
    delete at;
}

void kr_at_scope_open(kr_at *at)
{
    if (at && ++at->depth > KR_SCOPE_MAX)
        kr_at_fail(at, KR_ENOMEM, "kr_at_scope_open: more than %d scopes", KR_SCOPE_MAX);
}

void kr_at_scope_close(kr_at *at)
{
    if (!at)
        return;
    if (at->depth == 1) {
        kr_at_fail(at, KR_EARG, "kr_at_scope_close: only the context's own scope is open");
        return;
    }
    if (at->depth <= KR_SCOPE_MAX)
        empty(at->scope());
    at->depth--;
}

kr_tensor *kr_at_scope_return(kr_at *at, kr_tensor *t)
{
    if (t)
        t->leave();
    kr_at_scope_close(at);
    if (t)
        t->enter(at->scope());
    return t;
}

kr_tensor *kr_at_scope_replace(kr_at *at, kr_tensor *x, kr_tensor *next)
{
    next = kr_at_scope_return(at, next);
    kr_tensor_free(x);
    return next;
}

kr_tensor *kr_at_keep(kr_at *at, kr_tensor *t)
{
    (void)at;
    if (t)
        t->leave();
    return t;
}

void kr_tensor_free(kr_tensor *t)
{
    delete t;
}

/* ---- the device and the process ---- */

const char *kr_at_device_name(kr_at *at)
{
    return at ? at->device_name.c_str() : "";
}

kr_device kr_at_device(const kr_at *at)
{
    return at && at->device.is_cuda() ? KR_CUDA : KR_CPU;
}

const char *kr_at_torch_version(void)
{
    return KREACH_TORCH_VERSION;
}

bool kr_at_set_threads(kr_at *at, int n)
{
    return act(at, __func__, [&] { at::set_num_threads(n); });
}

bool kr_at_manual_seed(kr_at *at, uint64_t seed)
{
    return act(at, __func__, [&] { at::manual_seed(seed); });
}

bool kr_at_allow_tf32(kr_at *at, bool allow)
{
    return act(at, __func__, [&] {
        at::globalContext().setAllowTF32CuBLAS(allow);
        at::globalContext().setAllowTF32CuDNN(allow);
    });
}

bool kr_at_synchronize(kr_at *at)
{
    return act(at, __func__, [&] {
        if (at->device.is_cuda())
            cuda_synchronize();
    });
}

/* ---- looking at a tensor ---- */

size_t kr_tensor_ndim(const kr_tensor *t)
{
    return t ? size_t(t->value.dim()) : 0;
}

int64_t kr_tensor_dim(const kr_tensor *t, int dim)
{
    const int64_t ndim = t ? t->value.dim() : 0;
    const int64_t i = dim < 0 ? dim + ndim : dim;

    return i >= 0 && i < ndim ? t->value.sizes()[size_t(i)] : 0;
}

int64_t kr_tensor_numel(const kr_tensor *t)
{
    return t ? t->value.numel() : 0;
}

kr_dtype kr_tensor_dtype(const kr_tensor *t)
{
    for (const auto &d : dtypes)
        if (t && d.torch == t->value.scalar_type())
            return d.ours;
    return KR_F32;
}

kr_device kr_tensor_device(const kr_tensor *t)
{
    return t && t->value.is_cuda() ? KR_CUDA : KR_CPU;
}

/* ---- to and from the host ---- */

namespace
{

at::Tensor on_host(const kr_tensor *t)
{
    const at::Tensor host = of(t).detach().to(at::kCPU, at::kDouble);

    return host.is_sparse() ? host.to_dense() : host.contiguous();
}

} // namespace

kr_tensor *kr_at_from_host(kr_at *at, kr_dtype dtype, const void *data, const int64_t shape[],
                           size_t ndim)
{
    return make(at, __func__, [&] {
        const at::IntArrayRef size = dims(shape, ndim);
        uint64_t numel;

        if (c10::safe_multiplies_u64(size, &numel))
            throw refusal(KR_EARG, "the shape is too large");
        if (!data && numel)
            throw refusal(KR_EARG, "the data is NULL");
        /* torch reads only. */
        return at::from_blob(const_cast<void *>(data), size, scalar_type(dtype))
            .to(at->device, scalar_type(dtype), false, true);
    });
}

bool kr_at_to_host(kr_at *at, const kr_tensor *t, double *out, size_t n)
{
    return act(at, __func__, [&] {
        const at::Tensor host = on_host(t);

        if (n != size_t(host.numel()))
            throw refusal(KR_EARG, "n is not the tensor's number of elements");
        if (n)
            memcpy(out, host.const_data_ptr<double>(), n * sizeof *out);
    });
}

bool kr_at_item(kr_at *at, const kr_tensor *t, double *out)
{
    return act(at, __func__, [&] { *out = of(t).item().toDouble(); });
}

bool kr_at_all_finite(kr_at *at, const kr_tensor *t, bool *out)
{
    return act(at, __func__, [&] { *out = at::isfinite(of(t)).all().item<bool>(); });
}

bool kr_at_relative_error(kr_at *at, const kr_tensor *a, const kr_tensor *b, double *out)
{
    return act(at, __func__, [&] {
        if (of(a).sizes() != of(b).sizes())
            throw refusal(KR_EARG, "the shapes differ");

        const at::Tensor expected = on_host(b);
        const double error = (on_host(a) - expected).norm().item<double>();
        const double size = expected.norm().item<double>();

        /* Only x / 0 needs care: IEEE has no value for 0 / 0 that would do. */
        *out = size != 0 || error != 0 ? error / size : 0;
    });
}

/*
 * ATen, the tensor library of PyTorch, for programs in C.
 *
 * Everything goes through a context, struct kr_at. It knows the device that new tensors are made
 * on, owns the tensors of its open scopes, and keeps the first error.
 *
 * Ownership. A function that returns a tensor gives it to the innermost open scope, which frees it
 * when it is closed. kr_at_keep takes a tensor out: it is then the caller's, for kr_tensor_free.
 * Inputs are borrowed for the call. A view (kr_at_view, kr_at_slice, ...) shares memory with its
 * source but is a tensor of its own: either may be freed first.
 *
 * Errors. A call that fails returns NULL or false and keeps torch's message, kr_at_error. From
 * then on every call on the context does nothing and returns NULL or false, so a model is written
 * as a chain of calls with one look at the end. NULL for a tensor that is not optional is itself an
 * error. No C++ type and no exception crosses this interface.
 *
 * Threads. A context belongs to one thread at a time. Gradient recording, autocast and the current
 * stream are the calling thread's, as in torch.
 *
 * Shapes. [B, T, C] is a row-major tensor; letters are explained once per group. Dimensions count
 * from 0, negative ones from the end. Every function also fails, with torch's words, for shapes or
 * dtypes that do not fit together, and when memory runs out.
 */
#ifndef KR_ATEN_SHIM_H
#define KR_ATEN_SHIM_H

#include "err.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kr_at;
struct kr_tensor;
struct kr_optim;
struct kr_graph;
struct kr_stream;

enum kr_device { KR_CPU, KR_CUDA };
enum kr_dtype { KR_F32, KR_F64, KR_F16, KR_BF16, KR_I64, KR_I32, KR_U8, KR_BOOL };

#define KR_NDIM_MAX 8

/** A shape as two arguments: kr_at_zeros(at, KR_F32, KR_DIMS(2, 3)). */
#define KR_DIMS(...)                                                                               \
    (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)

/* ---- context ---- */

/**
 * @param device where new tensors are made
 * @return a context with one open scope, for kr_at_close; NULL has filled err: KR_EENV when there
 *         is no such device
 */
struct kr_at *kr_at_open(enum kr_device device, struct kr_err *err);

/** Frees all tensors of all open scopes. NULL is fine. */
void kr_at_close(struct kr_at *at);

/** The first error since the context was opened or cleared, borrowed; NULL when there was none. */
const struct kr_err *kr_at_error(const struct kr_at *at);
bool kr_at_ok(const struct kr_at *at);
void kr_at_clear_error(struct kr_at *at);

/** Records an error of the caller's own, unless there is one already; returns false. */
bool kr_at_fail(struct kr_at *at, enum kr_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Scopes nest, at most 64 deep. They are opened and closed after an error too. */
void kr_at_scope_open(struct kr_at *at);
void kr_at_scope_close(struct kr_at *at);

/** Closes the scope but moves one of its tensors to the scope around it; returns it. NULL is fine.
 */
struct kr_tensor *kr_at_scope_return(struct kr_at *at, struct kr_tensor *t);

/** The same of `next`, which takes the place of `x`, a tensor of the scope around: x is freed, so
 * that what layers hand on does not pile up. NULL is fine for both. */
struct kr_tensor *kr_at_scope_replace(struct kr_at *at, struct kr_tensor *x,
                                      struct kr_tensor *next);

/** Takes a tensor out of its scope: the caller frees it with kr_tensor_free. NULL is fine. */
struct kr_tensor *kr_at_keep(struct kr_at *at, struct kr_tensor *t);
/** Frees a kept tensor, also after kr_at_close; or one of an open scope, early. NULL is fine. */
void kr_tensor_free(struct kr_tensor *t);

/** Number of the calling process's visible CUDA devices; 0 without a driver. */
size_t kr_at_cuda_count(void);

/** Name of the context's device, e.g. "NVIDIA H200" or "cpu"; borrowed until kr_at_close. */
const char *kr_at_device_name(struct kr_at *at);
enum kr_device kr_at_device(const struct kr_at *at);

/** torch's version, e.g. "2.11.0+cu130"; a constant. */
const char *kr_at_torch_version(void);

/** Threads of the CPU kernels, of the whole process [1..]. */
bool kr_at_set_threads(struct kr_at *at, int n);

/** Seeds the generators of the CPU and of all CUDA devices. */
bool kr_at_manual_seed(struct kr_at *at, uint64_t seed);

/** TF32 for float32 matmul and convolution on CUDA (off by default for matmul, on for cuDNN). */
bool kr_at_allow_tf32(struct kr_at *at, bool allow);

/** Waits until the device has done everything asked of it. Nothing to do on the CPU. */
bool kr_at_synchronize(struct kr_at *at);

struct kr_at_memory {
    uint64_t allocated_bytes; /* held by tensors now */
    uint64_t peak_bytes;      /* greatest allocated_bytes since the start or the last reset */
    uint64_t reserved_bytes;  /* held by torch's allocator, cached blocks included */
    uint64_t free_bytes;      /* of the device, for all processes */
    uint64_t total_bytes;     /* of the device */
};

/** Memory of the CUDA device. KR_EENV in a CPU context: torch does not count there. */
bool kr_at_memory(struct kr_at *at, struct kr_at_memory *out);
bool kr_at_memory_reset_peak(struct kr_at *at);

/* ---- looking at a tensor; these read no device memory and cannot fail. NULL: 0 ---- */

size_t kr_tensor_ndim(const struct kr_tensor *t);
/** Length of a dimension; dim may be negative. 0 when there is no such dimension. */
int64_t kr_tensor_dim(const struct kr_tensor *t, int dim);
int64_t kr_tensor_numel(const struct kr_tensor *t);
enum kr_dtype kr_tensor_dtype(const struct kr_tensor *t);
enum kr_device kr_tensor_device(const struct kr_tensor *t);

/* ---- to and from the host ---- */

/** Copies numel elements of dtype, row-major, to a new tensor on the context's device. */
struct kr_tensor *kr_at_from_host(struct kr_at *at, enum kr_dtype dtype, const void *data,
                                  const int64_t shape[], size_t ndim);

/**
 * Copies all elements, row-major, converted to double; a sparse tensor's zeros too. n must be
 * numel. Waits for the device.
 */
bool kr_at_to_host(struct kr_at *at, const struct kr_tensor *t, double *out, size_t n);

/** The value of a tensor of one element. Waits for the device. */
bool kr_at_item(struct kr_at *at, const struct kr_tensor *t, double *out);

/** Whether all elements are finite. Waits for the device. */
bool kr_at_all_finite(struct kr_at *at, const struct kr_tensor *t, bool *out);

/**
 * Relative Frobenius error |a - b| / |b|, computed in double on the CPU; 0 when both are zero,
 * infinite when only b is. The shapes must be equal, dtype and device may differ. Waits for the
 * devices.
 */
bool kr_at_relative_error(struct kr_at *at, const struct kr_tensor *a, const struct kr_tensor *b,
                          double *out);

/* ---- making tensors ---- */

struct kr_tensor *kr_at_empty(struct kr_at *at, enum kr_dtype dtype, const int64_t shape[],
                              size_t ndim);
struct kr_tensor *kr_at_zeros(struct kr_at *at, enum kr_dtype dtype, const int64_t shape[],
                              size_t ndim);
struct kr_tensor *kr_at_full(struct kr_at *at, enum kr_dtype dtype, double value,
                             const int64_t shape[], size_t ndim);
/** Normal with mean 0 and the given standard deviation; floating dtypes. */
struct kr_tensor *kr_at_randn(struct kr_at *at, enum kr_dtype dtype, double std,
                              const int64_t shape[], size_t ndim);
/** Uniform integers low <= i < high. */
struct kr_tensor *kr_at_randint(struct kr_at *at, enum kr_dtype dtype, int64_t low, int64_t high,
                                const int64_t shape[], size_t ndim);
/** [start, start + step, ...) below end: [ceil((end - start) / step)]. */
struct kr_tensor *kr_at_arange(struct kr_at *at, enum kr_dtype dtype, double start, double end,
                               double step);
/** A copy with the given dtype on the context's device; t once more when nothing changes. */
struct kr_tensor *kr_at_to(struct kr_at *at, const struct kr_tensor *t, enum kr_dtype dtype);
struct kr_tensor *kr_at_clone(struct kr_at *at, const struct kr_tensor *t);
/** The same values without their history of gradients; shares memory. */
struct kr_tensor *kr_at_detach(struct kr_at *at, const struct kr_tensor *t);
/** x [N, C, H, W] stored with C innermost. */
struct kr_tensor *kr_at_channels_last(struct kr_at *at, const struct kr_tensor *x);

/* ---- shapes; all but contiguous, cat, stack, index* and gather return views ---- */

/** One dimension may be -1: computed from the others. view needs fitting strides, reshape copies.
 */
struct kr_tensor *kr_at_view(struct kr_at *at, const struct kr_tensor *x, const int64_t shape[],
                             size_t ndim);
struct kr_tensor *kr_at_reshape(struct kr_at *at, const struct kr_tensor *x, const int64_t shape[],
                                size_t ndim);
struct kr_tensor *kr_at_transpose(struct kr_at *at, const struct kr_tensor *x, int dim0, int dim1);
struct kr_tensor *kr_at_permute(struct kr_at *at, const struct kr_tensor *x, const int64_t order[],
                                size_t ndim);
struct kr_tensor *kr_at_contiguous(struct kr_at *at, const struct kr_tensor *x);
/** Dimensions of length 1 repeated without a copy; -1 keeps a dimension. */
struct kr_tensor *kr_at_expand(struct kr_at *at, const struct kr_tensor *x, const int64_t shape[],
                               size_t ndim);
struct kr_tensor *kr_at_unsqueeze(struct kr_at *at, const struct kr_tensor *x, int dim);
struct kr_tensor *kr_at_squeeze(struct kr_at *at, const struct kr_tensor *x, int dim);
/** start <= i < end of a dimension, which stays; end may lie behind the last. */
struct kr_tensor *kr_at_slice(struct kr_at *at, const struct kr_tensor *x, int dim, int64_t start,
                              int64_t end);
/** Element i of a dimension, which goes. */
struct kr_tensor *kr_at_select(struct kr_at *at, const struct kr_tensor *x, int dim, int64_t i);
/** Along an existing dimension; n >= 1. */
struct kr_tensor *kr_at_cat(struct kr_at *at, const struct kr_tensor *const x[], size_t n, int dim);
/** Along a new dimension; n >= 1 tensors of one shape. */
struct kr_tensor *kr_at_stack(struct kr_at *at, const struct kr_tensor *const x[], size_t n,
                              int dim);
/** Rows of a dimension: index [K] int64 or int32. */
struct kr_tensor *kr_at_index_select(struct kr_at *at, const struct kr_tensor *x, int dim,
                                     const struct kr_tensor *index);
/** x[i0, i1, ...] as in Python; NULL in place of an index is a full slice; n <= ndim of x. */
struct kr_tensor *kr_at_index(struct kr_at *at, const struct kr_tensor *x,
                              const struct kr_tensor *const index[], size_t n);
/** out[...] = x[..., index[...], ...] along dim; index int64 with the ndim of x. */
struct kr_tensor *kr_at_gather(struct kr_at *at, const struct kr_tensor *x, int dim,
                               const struct kr_tensor *index);

/* ---- arithmetic, element by element; shapes broadcast as in torch ---- */

struct kr_tensor *kr_at_add(struct kr_at *at, const struct kr_tensor *a, const struct kr_tensor *b);
struct kr_tensor *kr_at_sub(struct kr_at *at, const struct kr_tensor *a, const struct kr_tensor *b);
struct kr_tensor *kr_at_mul(struct kr_at *at, const struct kr_tensor *a, const struct kr_tensor *b);
struct kr_tensor *kr_at_div(struct kr_at *at, const struct kr_tensor *a, const struct kr_tensor *b);
struct kr_tensor *kr_at_add_scalar(struct kr_at *at, const struct kr_tensor *a, double b);
struct kr_tensor *kr_at_mul_scalar(struct kr_at *at, const struct kr_tensor *a, double b);
struct kr_tensor *kr_at_pow_scalar(struct kr_at *at, const struct kr_tensor *a, double b);
struct kr_tensor *kr_at_neg(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_exp(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_sin(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_cos(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_rsqrt(struct kr_at *at, const struct kr_tensor *x);

/* In place: the first tensor changes, its dtype stays. */
bool kr_at_add_in_place(struct kr_at *at, struct kr_tensor *a, const struct kr_tensor *b);
bool kr_at_mul_in_place(struct kr_at *at, struct kr_tensor *a, const struct kr_tensor *b);
bool kr_at_add_scalar_in_place(struct kr_at *at, struct kr_tensor *a, double b);
bool kr_at_relu_in_place(struct kr_at *at, struct kr_tensor *x);
bool kr_at_fill(struct kr_at *at, struct kr_tensor *x, double value);
/** Values of src, converted and broadcast, into dst. */
bool kr_at_copy(struct kr_at *at, struct kr_tensor *dst, const struct kr_tensor *src);
/** dst[..., index[k], ...] = src[..., k, ...] along dim; index [K] int64. */
bool kr_at_index_copy(struct kr_at *at, struct kr_tensor *dst, int dim,
                      const struct kr_tensor *index, const struct kr_tensor *src);

/* ---- reductions ---- */

/** Over all elements: [], a tensor of one element. */
struct kr_tensor *kr_at_sum(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_mean(struct kr_at *at, const struct kr_tensor *x);
/** Over one dimension; keep leaves it with length 1. */
struct kr_tensor *kr_at_sum_dim(struct kr_at *at, const struct kr_tensor *x, int dim, bool keep);
struct kr_tensor *kr_at_mean_dim(struct kr_at *at, const struct kr_tensor *x, int dim, bool keep);
/** Index of the greatest element of a dimension, int64. */
struct kr_tensor *kr_at_argmax(struct kr_at *at, const struct kr_tensor *x, int dim, bool keep);

/* ---- layers. B batch, T tokens, C, I, O features, H heads, D features of a head ---- */

/** a [.., M, K] times b [.., K, N]: [.., M, N]; leading dimensions broadcast. */
struct kr_tensor *kr_at_matmul(struct kr_at *at, const struct kr_tensor *a,
                               const struct kr_tensor *b);
/** x [.., I], weight [O, I], bias [O] or NULL: [.., O]. */
struct kr_tensor *kr_at_linear(struct kr_at *at, const struct kr_tensor *x,
                               const struct kr_tensor *weight, const struct kr_tensor *bias);

struct kr_at_attention {
    const struct kr_tensor
        *mask;      /* broadcast to [B, H, T, S], bool (true: seen) or added; or NULL */
    bool causal;    /* query t sees keys s <= t; not together with mask */
    bool grouped;   /* k and v have fewer heads, whose number divides H */
    double scale;   /* 0: 1 / sqrt(D) */
    double dropout; /* [fraction, 0..1) */
};

/** softmax(q k^T scale) v. q [B, H, T, D], k and v [B, H, S, D]: [B, H, T, D]. */
struct kr_tensor *kr_at_attention(struct kr_at *at, const struct kr_tensor *q,
                                  const struct kr_tensor *k, const struct kr_tensor *v,
                                  const struct kr_at_attention *how);

/** Over the last dimension. x [.., C], weight and bias [C] or NULL; eps > 0. */
struct kr_tensor *kr_at_layer_norm(struct kr_at *at, const struct kr_tensor *x,
                                   const struct kr_tensor *weight, const struct kr_tensor *bias,
                                   double eps);
/** x / sqrt(mean(x^2) + eps) weight over the last dimension. x [.., C], weight [C] or NULL. */
struct kr_tensor *kr_at_rms_norm(struct kr_at *at, const struct kr_tensor *x,
                                 const struct kr_tensor *weight, double eps);

struct kr_at_batch_norm {
    const struct kr_tensor *weight; /* [C] or NULL */
    const struct kr_tensor *bias;   /* [C] or NULL */
    struct kr_tensor *running_mean; /* [C]; changed when training */
    struct kr_tensor *running_var;  /* [C]; changed when training */
    bool training;                  /* normalise by the batch, not by the running statistics */
    double momentum;                /* share of the batch in the new running statistics */
    double eps;
};

/** Over all but dimension 1. x [N, C, ..]. */
struct kr_tensor *kr_at_batch_norm(struct kr_at *at, const struct kr_tensor *x,
                                   const struct kr_at_batch_norm *norm);

struct kr_tensor *kr_at_relu(struct kr_at *at, const struct kr_tensor *x);
/** min(max(x, 0), 6). */
struct kr_tensor *kr_at_relu6(struct kr_at *at, const struct kr_tensor *x);
/** tanh_form: the approximation by tanh, as in GPT-2; else the exact one by erf. */
struct kr_tensor *kr_at_gelu(struct kr_at *at, const struct kr_tensor *x, bool tanh_form);
struct kr_tensor *kr_at_silu(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_sigmoid(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_tanh(struct kr_at *at, const struct kr_tensor *x);
struct kr_tensor *kr_at_softmax(struct kr_at *at, const struct kr_tensor *x, int dim);
struct kr_tensor *kr_at_log_softmax(struct kr_at *at, const struct kr_tensor *x, int dim);
/** Zeroes each element with probability p and scales the others; does nothing unless training. */
struct kr_tensor *kr_at_dropout(struct kr_at *at, const struct kr_tensor *x, double p,
                                bool training);

struct kr_at_conv2d {
    int64_t stride;  /* 0 means 1 */
    int64_t padding; /* on every side */
    int64_t groups;  /* 0 means 1; I for depthwise */
};

/** x [N, I, H, W], weight [O, I / groups, K, L], bias [O] or NULL: [N, O, H', W']. */
struct kr_tensor *kr_at_conv2d(struct kr_at *at, const struct kr_tensor *x,
                               const struct kr_tensor *weight, const struct kr_tensor *bias,
                               const struct kr_at_conv2d *how);

/** Windows of kernel x kernel. x [N, C, H, W]: [N, C, H', W']. */
struct kr_tensor *kr_at_max_pool2d(struct kr_at *at, const struct kr_tensor *x, int64_t kernel,
                                   int64_t stride, int64_t padding);
struct kr_tensor *kr_at_avg_pool2d(struct kr_at *at, const struct kr_tensor *x, int64_t kernel,
                                   int64_t stride, int64_t padding);
/** x [N, C, H, W]: [N, C, height, width], each the mean of its part. */
struct kr_tensor *kr_at_adaptive_avg_pool2d(struct kr_at *at, const struct kr_tensor *x,
                                            int64_t height, int64_t width);

/** weight [V, C], index [..] int64 or int32: [.., C]. */
struct kr_tensor *kr_at_embedding(struct kr_at *at, const struct kr_tensor *weight,
                                  const struct kr_tensor *index);

enum kr_at_bag { KR_BAG_SUM, KR_BAG_MEAN, KR_BAG_MAX };

/**
 * Rows of weight [V, C] pooled per bag: index [N], offsets [B] where each bag starts; [B, C].
 * sparse_grad makes the gradient of weight a sparse tensor: only rows that were used.
 */
struct kr_tensor *kr_at_embedding_bag(struct kr_at *at, const struct kr_tensor *weight,
                                      const struct kr_tensor *index,
                                      const struct kr_tensor *offsets, enum kr_at_bag mode,
                                      bool sparse_grad);

/* ---- losses, each the mean over the batch: [] ---- */

/** logits [N, V], target [N] int64. */
struct kr_tensor *kr_at_cross_entropy(struct kr_at *at, const struct kr_tensor *logits,
                                      const struct kr_tensor *target);
/** logits and target of one shape, target in 0..1. */
struct kr_tensor *kr_at_bce_with_logits(struct kr_at *at, const struct kr_tensor *logits,
                                        const struct kr_tensor *target);
struct kr_tensor *kr_at_mse_loss(struct kr_at *at, const struct kr_tensor *x,
                                 const struct kr_tensor *target);

/* ---- gradients ---- */

/**
 * Whether operations are recorded for gradients on this thread (true at first). Works after an
 * error too, so that the setting can be put back.
 * @return the old setting
 */
bool kr_at_grad_mode(struct kr_at *at, bool record);
/** Makes t a leaf whose gradient is wanted. */
bool kr_at_require_grad(struct kr_at *at, struct kr_tensor *t);
/** Adds the gradients of loss [] to all leaves it came from. */
bool kr_at_backward(struct kr_at *at, const struct kr_tensor *loss);
/** The gradient gathered in a leaf, sharing memory; fails when there is none yet. */
struct kr_tensor *kr_at_grad(struct kr_at *at, const struct kr_tensor *t);

/**
 * Mixed precision on this thread: matmul and convolution run in dtype (KR_BF16 or KR_F16),
 * sensitive operations in float32. Casts of weights are cached until autocast is switched off
 * again, which works after an error too.
 */
bool kr_at_autocast(struct kr_at *at, bool on, enum kr_dtype dtype);

/* ---- optimizers ---- */

enum kr_optim_form {
    KR_OPTIM_FOREACH, /* one call per operation for all parameters: torch's default on CUDA */
    KR_OPTIM_FUSED    /* one kernel for the whole update of many parameters */
};

struct kr_sgd {
    double learning_rate;
    double momentum; /* 0: no momentum buffers */
    double weight_decay;
    enum kr_optim_form form;
};

struct kr_adamw {
    double learning_rate;
    double beta1; /* 0 means 0.9 */
    double beta2; /* 0 means 0.999 */
    double eps;   /* 0 means 1e-8 */
    double weight_decay;
    enum kr_optim_form form;
};

/**
 * Parameters must require gradients. The optimizer shares them: the array and the tensors may be
 * freed before it.
 * @return for kr_optim_free; NULL on error. Sparse gradients need SGD, KR_OPTIM_FOREACH and no
 * momentum or weight decay, and are applied one parameter at a time. Sources: Sutskever et al. 2013
 * (momentum as torch.optim.SGD has it); Loshchilov and Hutter 2019.
 */
struct kr_optim *kr_at_sgd(struct kr_at *at, struct kr_tensor *const params[], size_t n,
                           const struct kr_sgd *how);
struct kr_optim *kr_at_adamw(struct kr_at *at, struct kr_tensor *const params[], size_t n,
                             const struct kr_adamw *how);
/**
 * Parameters without a gradient are left alone. The step stands in a range of kr_nvtx_push with the
 * name that torch.optim gives it, "Optimizer.step#AdamW.step": a foreach kernel's own name does not
 * say that it belongs to an optimizer.
 */
bool kr_optim_step(struct kr_at *at, struct kr_optim *o);
/** Drops all gradients (set_to_none). */
bool kr_optim_zero_grad(struct kr_at *at, struct kr_optim *o);
void kr_optim_free(struct kr_optim *o);

/* ---- CUDA only: streams and graphs; KR_EENV in a CPU context ---- */

/** A stream from torch's pool, for kr_stream_free; NULL on error. */
struct kr_stream *kr_at_stream(struct kr_at *at);
/** Makes a stream current on this thread; NULL: the default stream. */
bool kr_at_use_stream(struct kr_at *at, struct kr_stream *s);
/** Work given to the current stream from now on waits for what s was given so far. */
bool kr_at_wait_stream(struct kr_at *at, struct kr_stream *s);
/** Waits, on the host, until the device has done what s was given so far. */
bool kr_at_synchronize_stream(struct kr_at *at, struct kr_stream *s);
void kr_stream_free(struct kr_stream *s);

/**
 * Between begin and end, work of the current stream, which must not be the default one, is kept in
 * the graph instead of being run. Tensors made in between belong to the graph's memory: their
 * contents change with each replay. The work must have been run once before, outside of a capture.
 * After an error kr_at_graph_end still ends the capture, and returns false.
 */
struct kr_graph *kr_at_graph_begin(struct kr_at *at);
bool kr_at_graph_end(struct kr_at *at, struct kr_graph *g);
bool kr_at_graph_replay(struct kr_at *at, struct kr_graph *g);
void kr_graph_free(struct kr_graph *g);

/* ---- marks for profilers; nothing happens when none is there ---- */

void kr_nvtx_push(const char *name);
void kr_nvtx_pop(void);

#ifdef __cplusplus
}
#endif

#endif

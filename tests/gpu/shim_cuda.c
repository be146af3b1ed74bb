/*
 * The shim on a GPU: what CUDA alone has (memory, streams, graphs), and that each operation gives
 * there what it gives on the CPU, where it is tested against arithmetic in C. Prints a line for
 * each check; exit 1 when one failed, 4 without a GPU.
 */
#include "aten_shim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array)      (sizeof(array) / sizeof *(array))
#define EXPECT(condition) expect(condition, #condition, __LINE__)

static struct {
    struct kr_at *cpu, *gpu;
    bool ok; /* of the check being made */
} now;

static void expect(bool condition, const char *text, int line)
{
    if (condition || !now.ok)
        return;
    now.ok = false;
    printf("line %d: %s", line, text);
    if (!kr_at_ok(now.gpu))
        printf(" (%s)", kr_at_error(now.gpu)->msg);
    printf("\n");
}

/* Numbers between -1 and 1 that depend on the seed alone. */
static struct kr_tensor *sample(struct kr_at *at, unsigned seed, const int64_t shape[], size_t ndim)
{
    uint32_t x = seed * 2654435761u + 1;
    struct kr_tensor *t;
    size_t n = 1;
    float *v;

    for (size_t i = 0; i < ndim; i++)
        n *= (size_t)shape[i];
    v = malloc(n * sizeof *v);
    for (size_t i = 0; v && i < n; i++) {
        x = x * 1664525u + 1013904223u; /* Numerical Recipes' generator */
        v[i] = (float)(x >> 8) * 0x1p-23f - 1;
    }
    t = kr_at_from_host(at, KR_F32, v, shape, ndim);
    free(v);
    return t;
}

static double error_of(const struct kr_tensor *got, const struct kr_tensor *expected)
{
    double e = NAN;

    return kr_at_relative_error(now.gpu, got, expected, &e) ? e : NAN;
}

static double first_of(const struct kr_tensor *t)
{
    double v = NAN;

    return kr_at_item(now.gpu, kr_at_select(now.gpu, kr_at_view(now.gpu, t, KR_DIMS(-1)), 0, 0), &v)
               ? v
               : NAN;
}

/* ---- the same on both devices ---- */

static struct kr_tensor *linear_gelu(struct kr_at *at)
{
    return kr_at_gelu(at,
                      kr_at_linear(at, sample(at, 1, KR_DIMS(8, 64)),
                                   sample(at, 2, KR_DIMS(32, 64)), sample(at, 3, KR_DIMS(32))),
                      true);
}

static struct kr_tensor *attention(struct kr_at *at)
{
    const struct kr_at_attention how = { .causal = true, .grouped = true };

    return kr_at_attention(at, sample(at, 4, KR_DIMS(2, 8, 33, 64)),
                           sample(at, 5, KR_DIMS(2, 2, 33, 64)),
                           sample(at, 6, KR_DIMS(2, 2, 33, 64)), &how);
}

static struct kr_tensor *masked_attention(struct kr_at *at)
{
    const struct kr_at_attention how = { .mask = sample(at, 7, KR_DIMS(1, 1, 5, 9)) };

    return kr_at_attention(at, sample(at, 4, KR_DIMS(2, 8, 5, 64)),
                           sample(at, 5, KR_DIMS(2, 8, 9, 64)), sample(at, 6, KR_DIMS(2, 8, 9, 64)),
                           &how);
}

static struct kr_tensor *norms(struct kr_at *at)
{
    struct kr_tensor *x = sample(at, 8, KR_DIMS(16, 96)), *w = sample(at, 9, KR_DIMS(96));

    return kr_at_softmax(at, kr_at_layer_norm(at, kr_at_rms_norm(at, x, w, 1e-5), w, w, 1e-5), -1);
}

static struct kr_tensor *cnn(struct kr_at *at)
{
    const struct kr_at_conv2d first = { .stride = 2, .padding = 1 };
    const struct kr_at_conv2d depthwise = { .padding = 1, .groups = 16 };
    const struct kr_at_batch_norm norm = { .running_mean = kr_at_zeros(at, KR_F32, KR_DIMS(16)),
                                           .running_var = kr_at_full(at, KR_F32, 1, KR_DIMS(16)),
                                           .training = true,
                                           .momentum = .1,
                                           .eps = 1e-5 };
    struct kr_tensor *x = kr_at_channels_last(at, sample(at, 10, KR_DIMS(4, 3, 32, 32)));

    x = kr_at_conv2d(at, x, sample(at, 11, KR_DIMS(16, 3, 3, 3)), NULL, &first);
    x = kr_at_relu6(at, kr_at_batch_norm(at, x, &norm));
    x = kr_at_conv2d(at, x, sample(at, 12, KR_DIMS(16, 1, 3, 3)), NULL, &depthwise);
    x = kr_at_max_pool2d(at, x, 3, 2, 1);
    return kr_at_adaptive_avg_pool2d(at, x, 1, 1);
}

static struct kr_tensor *bags(struct kr_at *at)
{
    static const int64_t index[] = { 3, 1, 4, 1, 5, 9, 2, 6 }, offsets[] = { 0, 3, 8 };

    return kr_at_embedding_bag(at, sample(at, 13, KR_DIMS(10, 16)),
                               kr_at_from_host(at, KR_I64, index, KR_DIMS(8)),
                               kr_at_from_host(at, KR_I64, offsets, KR_DIMS(3)), KR_BAG_SUM, false);
}

static struct kr_tensor *losses(struct kr_at *at)
{
    static const int64_t target[] = { 3, 1, 4 };
    struct kr_tensor *x = sample(at, 14, KR_DIMS(3, 5)), *y = sample(at, 15, KR_DIMS(3, 5));
    struct kr_tensor *sum =
        kr_at_cross_entropy(at, x, kr_at_from_host(at, KR_I64, target, KR_DIMS(3)));

    sum = kr_at_add(at, sum, kr_at_bce_with_logits(at, x, kr_at_sigmoid(at, y)));
    return kr_at_add(at, sum, kr_at_mse_loss(at, x, y));
}

/* Three steps of a small regression; the weights. */
static struct kr_tensor *train(struct kr_at *at, bool adam, int form)
{
    struct kr_tensor *x = sample(at, 16, KR_DIMS(32, 24)), *y = sample(at, 17, KR_DIMS(32, 8));
    struct kr_tensor *w[] = { sample(at, 18, KR_DIMS(8, 24)), sample(at, 19, KR_DIMS(8)) };
    const struct kr_adamw adamw = { .learning_rate = .01,
                                    .weight_decay = .1,
                                    .form = (enum kr_optim_form)form };
    const struct kr_sgd sgd = {
        .learning_rate = .01, .momentum = .9, .weight_decay = .1, .form = (enum kr_optim_form)form
    };
    struct kr_optim *o;

    kr_at_require_grad(at, w[0]);
    kr_at_require_grad(at, w[1]);
    o = adam ? kr_at_adamw(at, w, 2, &adamw) : kr_at_sgd(at, w, 2, &sgd);
    for (int step = 0; step < 3; step++) {
        kr_at_backward(at, kr_at_mse_loss(at, kr_at_linear(at, x, w[0], w[1]), y));
        kr_optim_step(at, o);
        kr_optim_zero_grad(at, o);
    }
    kr_optim_free(o);
    return kr_at_detach(at, w[0]);
}

static struct kr_tensor *sgd_foreach(struct kr_at *at)
{
    return train(at, false, KR_OPTIM_FOREACH);
}

static struct kr_tensor *sgd_fused(struct kr_at *at)
{
    return train(at, false, KR_OPTIM_FUSED);
}

static struct kr_tensor *adamw_foreach(struct kr_at *at)
{
    return train(at, true, KR_OPTIM_FOREACH);
}

static struct kr_tensor *adamw_fused(struct kr_at *at)
{
    return train(at, true, KR_OPTIM_FUSED);
}

/* A sparse gradient, applied. */
static struct kr_tensor *sparse_sgd(struct kr_at *at)
{
    static const int64_t index[] = { 3, 1, 1, 9 }, offsets[] = { 0, 2 };
    struct kr_tensor *w = sample(at, 20, KR_DIMS(10, 16));
    struct kr_optim *o;

    kr_at_require_grad(at, w);
    o = kr_at_sgd(at, &w, 1, &(struct kr_sgd){ .learning_rate = .5 });
    kr_at_backward(
        at, kr_at_sum(at, kr_at_embedding_bag(at, w, kr_at_from_host(at, KR_I64, index, KR_DIMS(4)),
                                              kr_at_from_host(at, KR_I64, offsets, KR_DIMS(2)),
                                              KR_BAG_SUM, true)));
    kr_optim_step(at, o);
    kr_optim_free(o);
    return kr_at_detach(at, w);
}

/* float32 rounds to 6e-8, and the sums of up to 576 terms differ in order: 1e-5 is generous, while
 * TF32, which is off, would err by 1e-4 and more. */
static void operations_agree_with_the_cpu(void)
{
    static const struct {
        const char *name;
        struct kr_tensor *(*make)(struct kr_at *at);
    } cases[] = {
        { "linear, gelu", linear_gelu },
        { "attention", attention },
        { "masked attention", masked_attention },
        { "norms", norms },
        { "cnn", cnn },
        { "bags", bags },
        { "losses", losses },
        { "sgd, foreach", sgd_foreach },
        { "sgd, fused", sgd_fused },
        { "adamw, foreach", adamw_foreach },
        { "adamw, fused", adamw_fused },
        { "sparse sgd", sparse_sgd },
    };

    EXPECT(kr_at_allow_tf32(now.gpu, false));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const double e = error_of(cases[i].make(now.gpu), cases[i].make(now.cpu));

        printf("  %-16s differs by %.1e\n", cases[i].name, e);
        EXPECT(e < 1e-5);
    }
}

/* ---- what CUDA alone has ---- */

static void device_is_known(void)
{
    EXPECT(kr_at_cuda_count() >= 1);
    EXPECT(kr_at_device(now.gpu) == KR_CUDA);
    printf("  %s, torch %s\n", kr_at_device_name(now.gpu), kr_at_torch_version());
    EXPECT(kr_tensor_device(kr_at_zeros(now.gpu, KR_BF16, KR_DIMS(1))) == KR_CUDA);
}

static void memory_is_counted(void)
{
    const uint64_t big = 64 << 20;
    struct kr_at_memory before = { 0 }, during = { 0 }, after = { 0 };

    EXPECT(kr_at_memory_reset_peak(now.gpu));
    EXPECT(kr_at_memory(now.gpu, &before));
    EXPECT(before.peak_bytes == before.allocated_bytes);
    kr_at_scope_open(now.gpu);
    kr_at_empty(now.gpu, KR_U8, KR_DIMS(64 << 20));
    EXPECT(kr_at_memory(now.gpu, &during));
    kr_at_scope_close(now.gpu);
    EXPECT(kr_at_memory(now.gpu, &after));
    EXPECT(during.allocated_bytes == before.allocated_bytes + big);
    EXPECT(after.allocated_bytes == before.allocated_bytes);
    EXPECT(after.peak_bytes == during.allocated_bytes);
    EXPECT(after.reserved_bytes >= big && after.free_bytes < after.total_bytes);
    EXPECT(kr_at_memory_reset_peak(now.gpu) && kr_at_memory(now.gpu, &after));
    EXPECT(after.peak_bytes == before.allocated_bytes);
    printf("  %.1f of %.1f GiB free\n", (double)after.free_bytes * 0x1p-30,
           (double)after.total_bytes * 0x1p-30);
}

static void running_out_of_memory_is_an_error_one_recovers_from(void)
{
    EXPECT(!kr_at_empty(now.gpu, KR_U8, KR_DIMS((int64_t)1 << 44)));
    EXPECT(!kr_at_ok(now.gpu) && kr_at_error(now.gpu)->code == KR_ENOMEM);
    kr_at_clear_error(now.gpu);
    EXPECT(first_of(kr_at_full(now.gpu, KR_F32, 2, KR_DIMS(3))) == 2);
}

/* Large enough that the default stream would overtake if it did not wait. */
static void stream_is_waited_for(void)
{
    struct kr_at *at = now.gpu;
    struct kr_tensor *x = kr_at_full(at, KR_F32, 0x1p-12, KR_DIMS(4096, 4096));
    struct kr_tensor *y = kr_at_full(at, KR_F32, 1, KR_DIMS(4096, 4096));
    struct kr_stream *s = kr_at_stream(at);

    EXPECT(s && kr_at_use_stream(at, s) && kr_at_wait_stream(at, NULL));
    for (int i = 0; i < 20; i++) /* each row's sum of 4096 times 2^-12 is 1 again */
        y = kr_at_add_scalar(at, kr_at_matmul(at, x, y), 1);
    EXPECT(kr_at_use_stream(at, NULL) && kr_at_wait_stream(at, s));
    EXPECT(first_of(kr_at_clone(at, y)) == 21);
    EXPECT(kr_at_synchronize_stream(at, s) && kr_at_synchronize(at));
    kr_stream_free(s);
}

static void graph_replays_on_new_contents(void)
{
    struct kr_at *at = now.gpu;
    struct kr_stream *s = kr_at_stream(at);
    struct kr_tensor *x = kr_at_full(at, KR_F32, 1, KR_DIMS(8, 8)), *y = NULL;
    struct kr_graph *g;

    EXPECT(kr_at_use_stream(at, s) && kr_at_wait_stream(at, NULL));
    kr_at_matmul(at, x, x);
    EXPECT(kr_at_synchronize(at));
    g = kr_at_graph_begin(at);
    y = kr_at_add_scalar(at, kr_at_matmul(at, x, x), .5);
    EXPECT(g && kr_at_graph_end(at, g));
    EXPECT(kr_at_graph_replay(at, g) && first_of(y) == 8.5);
    EXPECT(kr_at_fill(at, x, 2) && first_of(y) == 8.5); /* nothing ran yet */
    EXPECT(kr_at_graph_replay(at, g) && first_of(y) == 32.5);
    EXPECT(!kr_at_graph_end(at, g)); /* has ended */
    kr_at_clear_error(at);
    EXPECT(kr_at_use_stream(at, NULL));
    kr_graph_free(g);
    kr_stream_free(s);
}

static void broken_capture_leaves_no_trace(void)
{
    struct kr_at *at = now.gpu;
    struct kr_stream *s = kr_at_stream(at);
    struct kr_tensor *x = kr_at_full(at, KR_F32, 1, KR_DIMS(2, 3));

    EXPECT(!kr_at_graph_begin(at)); /* on the default stream */
    printf("  default stream: %s\n", kr_at_ok(at) ? "no error" : kr_at_error(at)->msg);
    kr_at_clear_error(at);
    EXPECT(kr_at_use_stream(at, s) && kr_at_wait_stream(at, NULL));
    for (int by_wait = 0; by_wait < 3; by_wait++) {
        struct kr_graph *g = kr_at_graph_begin(at);
        double v;

        EXPECT(g != NULL);
        if (by_wait == 2) { /* freed while it captures */
            kr_graph_free(g);
            continue;
        }
        /* Shapes that do not fit; the host waiting for what has not run. */
        EXPECT(by_wait ? !kr_at_item(at, kr_at_sum(at, x), &v) : !kr_at_matmul(at, x, x));
        EXPECT(!kr_at_graph_end(at, g));
        printf("  %s\n", kr_at_ok(at) ? "no error" : kr_at_error(at)->msg);
        kr_at_clear_error(at);
        kr_graph_free(g);
    }
    EXPECT(first_of(kr_at_add(at, x, x)) == 2);
    EXPECT(kr_at_use_stream(at, NULL));
    kr_stream_free(s);
}

static void autocast_multiplies_in_its_dtype(void)
{
    struct kr_tensor *x = sample(now.gpu, 21, KR_DIMS(64, 64));
    struct kr_tensor *exact = kr_at_matmul(now.gpu, x, x);
    static const enum kr_dtype dtypes[] = { KR_BF16, KR_F16 };

    for (size_t i = 0; i < COUNT(dtypes); i++) {
        struct kr_tensor *y;

        EXPECT(kr_at_autocast(now.gpu, true, dtypes[i]));
        y = kr_at_matmul(now.gpu, x, x);
        EXPECT(kr_at_autocast(now.gpu, false, dtypes[i]));
        EXPECT(kr_tensor_dtype(y) == dtypes[i]);
        EXPECT(error_of(y, exact) > 0 && error_of(y, exact) < 1e-2);
    }
    EXPECT(kr_tensor_dtype(kr_at_matmul(now.gpu, x, x)) == KR_F32);
}

/* TF32 keeps 10 bits of each factor, float32 23. */
static void tf32_is_switched(void)
{
    struct kr_tensor *x = sample(now.gpu, 22, KR_DIMS(1024, 1024));
    struct kr_tensor *wide = kr_at_to(now.gpu, x, KR_F64),
                     *exact = kr_at_matmul(now.gpu, wide, wide);
    double e[2];

    for (int allow = 0; allow < 2; allow++) {
        EXPECT(kr_at_allow_tf32(now.gpu, allow));
        e[allow] = error_of(kr_at_matmul(now.gpu, x, x), exact);
    }
    EXPECT(kr_at_allow_tf32(now.gpu, false));
    printf("  float32 errs by %.1e, TF32 by %.1e\n", e[0], e[1]);
    EXPECT(e[0] < 1e-5 && e[1] > 1e-5 && e[1] < 1e-2);
}

static void seed_fixes_the_gpus_numbers(void)
{
    struct kr_tensor *t[3];

    for (unsigned i = 0; i < 3; i++) {
        EXPECT(kr_at_manual_seed(now.gpu, i / 2));
        t[i] = kr_at_randn(now.gpu, KR_F32, 1, KR_DIMS(1000));
    }
    EXPECT(error_of(t[0], t[1]) == 0);
    EXPECT(error_of(t[0], t[2]) > 1);
}

static void kept_tensor_outlives_its_context(void)
{
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CUDA, &err);
    struct kr_tensor *t = kr_at_keep(at, kr_at_full(at, KR_F32, 3, KR_DIMS(4)));

    kr_at_close(at);
    EXPECT(first_of(t) == 3);
    kr_tensor_free(t);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } checks[] = {
        { "memory is counted before any tensor exists", memory_is_counted },
        { "device is known", device_is_known },
        { "running out of memory is an error one recovers from",
          running_out_of_memory_is_an_error_one_recovers_from },
        { "operations agree with the cpu", operations_agree_with_the_cpu },
        { "stream is waited for", stream_is_waited_for },
        { "graph replays on new contents", graph_replays_on_new_contents },
        { "broken capture leaves no trace", broken_capture_leaves_no_trace },
        { "autocast multiplies in its dtype", autocast_multiplies_in_its_dtype },
        { "tf32 is switched", tf32_is_switched },
        { "seed fixes the gpu's numbers", seed_fixes_the_gpus_numbers },
        { "kept tensor outlives its context", kept_tensor_outlives_its_context },
    };
    struct kr_err err = { 0 };
    size_t n_bad = 0;

    now.cpu = kr_at_open(KR_CPU, &err);
    now.gpu = kr_at_open(KR_CUDA, &err);
    if (!now.cpu || !now.gpu) {
        fprintf(stderr, "shim_cuda: %s\n", err.msg);
        return 4;
    }
    for (size_t i = 0; i < COUNT(checks); i++) {
        now.ok = true;
        kr_nvtx_push(checks[i].name);
        kr_at_scope_open(now.gpu);
        kr_at_scope_open(now.cpu);
        checks[i].run();
        EXPECT(kr_at_ok(now.gpu) && kr_at_ok(now.cpu));
        kr_at_scope_close(now.cpu);
        kr_at_scope_close(now.gpu);
        kr_nvtx_pop();
        kr_at_clear_error(now.gpu);
        kr_at_clear_error(now.cpu);
        n_bad += !now.ok;
        printf("%s: %s\n", now.ok ? "ok" : "NOT OK", checks[i].name);
    }
    kr_at_close(now.gpu);
    kr_at_close(now.cpu);
    printf("%zu passed, %zu failed\n", COUNT(checks) - n_bad, n_bad);
    return n_bad > 0;
}

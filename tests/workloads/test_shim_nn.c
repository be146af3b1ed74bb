/*
 * Layers and losses, against loops in C. Letters as in aten_shim.h: B batch, T and S tokens, I and
 * O features, H heads, D features of a head.
 */
#include "shim_samples.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- products ---- */

static void matmul_multiplies_each_of_a_batch(void **state)
{
    enum { B = 2, M = 2, K = 3, N = 4 };
    struct kr_at *at = *state;
    struct sample a = sample_new(at, 1, KR_DIMS(B, M, K)), b = sample_new(at, 2, KR_DIMS(K, N));
    double expected[B * M * N] = { 0 };

    for (int i = 0; i < B * M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++)
                expected[i * N + j] += a.v[i * K + k] * b.v[k * N + j];
    assert_tensor(at, kr_at_matmul(at, a.t, b.t), expected, KR_DIMS(B, M, N));
}

static void linear_takes_a_bias_or_none(void **state)
{
    enum { B = 2, T = 2, I = 3, O = 4 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 3, KR_DIMS(B, T, I)),
                  weight = sample_new(at, 4, KR_DIMS(O, I));
    struct sample bias = sample_new(at, 5, KR_DIMS(O));
    double expected[B * T * O] = { 0 };

    for (int i = 0; i < B * T * O; i++)
        for (int k = 0; k < I; k++)
            expected[i] += x.v[i / O * I + k] * weight.v[i % O * I + k];
    assert_tensor(at, kr_at_linear(at, x.t, weight.t, NULL), expected, KR_DIMS(B, T, O));
    for (int i = 0; i < B * T * O; i++)
        expected[i] += bias.v[i % O];
    assert_tensor(at, kr_at_linear(at, x.t, weight.t, bias.t), expected, KR_DIMS(B, T, O));
    assert_null(kr_at_linear(at, weight.t, x.t, NULL));
    assert_error(at, KR_EARG, "kr_at_linear");
}

/* ---- attention ---- */

enum { B = 2, H = 4, T = 3, S = 5, D = 2 };

/* How much the score of query t for key s rises: -INFINITY hides the key. */
typedef double bias_of(int t, int s);

static double none(int t, int s)
{
    (void)t;
    (void)s;
    return 0;
}

static double only_the_past(int t, int s)
{
    return s <= t ? 0 : -INFINITY;
}

static double but_the_second(int t, int s)
{
    (void)t;
    return s != 1 ? 0 : -INFINITY;
}

static double slope(int t, int s)
{
    return .25 * t - .5 * s;
}

/* One row of out [D]: query q [D], keys and values [S, D]. */
static void attend(double *out, const double *q, const double *k, const double *v, int t,
                   bias_of *bias, double scale)
{
    double weight[S], sum = 0;

    for (int s = 0; s < S; s++) {
        double score = 0;

        for (int d = 0; d < D; d++)
            score += q[d] * k[s * D + d];
        weight[s] = exp(score * scale + bias(t, s));
        sum += weight[s];
    }
    for (int d = 0; d < D; d++) {
        out[d] = 0;
        for (int s = 0; s < S; s++)
            out[d] += weight[s] / sum * v[s * D + d];
    }
}

static void attention_oracle(double out[B * H * T * D], const struct sample *q,
                             const struct sample *k, const struct sample *v, bias_of *bias,
                             double scale)
{
    const int n_kv = (int)k->n / (B * S * D); /* heads of k and v */

    for (int i = 0; i < B * H * T; i++) {
        const int head = i / (H * T) * n_kv + i / T % H / (H / n_kv);

        attend(out + i * D, q->v + i * D, k->v + head * S * D, v->v + head * S * D, i % T, bias,
               scale);
    }
}

/* [T, S] as bool (seen or not) or as numbers to add. */
static struct kr_tensor *mask_of(struct kr_at *at, enum kr_dtype dtype, bias_of *bias)
{
    double numbers[T * S];
    uint8_t seen[T * S];

    for (int i = 0; i < T * S; i++) {
        numbers[i] = bias(i / S, i % S);
        seen[i] = isfinite(numbers[i]);
    }
    return kr_at_from_host(at, dtype, dtype == KR_BOOL ? (void *)seen : numbers, KR_DIMS(T, S));
}

static void attention_weighs_values_by_softmax(void **state)
{
    struct kr_at *at = *state;
    struct sample q = sample_new(at, 6, KR_DIMS(B, H, T, D));
    struct sample k = sample_new(at, 7, KR_DIMS(B, H, S, D)),
                  v = sample_new(at, 8, KR_DIMS(B, H, S, D));
    const struct {
        struct kr_at_attention how;
        bias_of *bias;
        double scale;
    } cases[] = {
        { { 0 }, none, 0.70710678118654752 /* 1 / sqrt(D) */ },
        { { .scale = 2 }, none, 2 },
        { { .causal = true, .scale = 1 }, only_the_past, 1 },
        { { .mask = mask_of(at, KR_BOOL, but_the_second), .scale = 1 }, but_the_second, 1 },
        { { .mask = mask_of(at, KR_F64, slope), .scale = 1 }, slope, 1 },
    };
    double expected[B * H * T * D];

    for (size_t i = 0; i < COUNT(cases); i++) {
        attention_oracle(expected, &q, &k, &v, cases[i].bias, cases[i].scale);
        assert_tensor(at, kr_at_attention(at, q.t, k.t, v.t, &cases[i].how), expected,
                      KR_DIMS(B, H, T, D));
    }
}

static void grouped_attention_shares_keys_between_heads(void **state)
{
    struct kr_at *at = *state;
    struct sample q = sample_new(at, 9, KR_DIMS(B, H, T, D));
    struct sample k = sample_new(at, 10, KR_DIMS(B, 2, S, D)),
                  v = sample_new(at, 11, KR_DIMS(B, 2, S, D));
    struct kr_at_attention how = { .grouped = true, .scale = 1 };
    double expected[B * H * T * D];

    attention_oracle(expected, &q, &k, &v, none, 1);
    assert_tensor(at, kr_at_attention(at, q.t, k.t, v.t, &how), expected, KR_DIMS(B, H, T, D));
    how.grouped = false;
    assert_null(kr_at_attention(at, q.t, k.t, v.t, &how));
    assert_error(at, KR_EARG, "kr_at_attention");
}

static void attention_refuses_a_mask_beside_causal(void **state)
{
    struct kr_at *at = *state;
    struct sample q = sample_new(at, 12, KR_DIMS(B, H, T, D));
    const struct kr_at_attention how = { .mask = kr_at_zeros(at, KR_F64, KR_DIMS(T, T)),
                                         .causal = true };

    assert_null(kr_at_attention(at, q.t, q.t, q.t, &how));
    assert_error(at, KR_EARG, "a mask and causal exclude each other");
}

/* With dropout 0.5 weights are zero or doubled; that the calls differ shows that it came through.
 */
static void attention_passes_dropout_on(void **state)
{
    struct kr_at *at = *state;
    struct sample q = sample_new(at, 13, KR_DIMS(B, H, T, D));
    const struct kr_at_attention how = { .dropout = .5 };
    double error = 0;

    assert_true(kr_at_relative_error(at, kr_at_attention(at, q.t, q.t, q.t, &how),
                                     kr_at_attention(at, q.t, q.t, q.t, &how), &error));
    assert_true(error > 0);
}

/* ---- norms ---- */

static void layer_norm_has_mean_and_variance_of_the_last_dimension(void **state)
{
    enum { R = 3, C = 4 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 14, KR_DIMS(R, C));
    struct sample weight = sample_new(at, 15, KR_DIMS(C)), bias = sample_new(at, 16, KR_DIMS(C));
    double plain[R * C], scaled[R * C];

    for (int r = 0; r < R; r++) {
        double mean = 0, variance = 0;

        for (int c = 0; c < C; c++)
            mean += x.v[r * C + c] / C;
        for (int c = 0; c < C; c++)
            variance += pow(x.v[r * C + c] - mean, 2) / C;
        for (int c = 0; c < C; c++) {
            plain[r * C + c] = (x.v[r * C + c] - mean) / sqrt(variance + .1);
            scaled[r * C + c] = plain[r * C + c] * weight.v[c] + bias.v[c];
        }
    }
    assert_tensor(at, kr_at_layer_norm(at, x.t, NULL, NULL, .1), plain, KR_DIMS(R, C));
    assert_tensor(at, kr_at_layer_norm(at, x.t, weight.t, bias.t, .1), scaled, KR_DIMS(R, C));
    assert_null(kr_at_layer_norm(at, x.t, kr_at_zeros(at, KR_F64, KR_DIMS(3)), NULL, .1));
    assert_error(at, KR_EARG, "kr_at_layer_norm");
    assert_null(kr_at_layer_norm(at, kr_at_zeros(at, KR_F64, NULL, 0), NULL, NULL, .1));
    assert_error(at, KR_EARG, "without dimensions");
}

static void rms_norm_divides_by_the_root_mean_square(void **state)
{
    enum { R = 3, C = 4 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 17, KR_DIMS(R, C)), weight = sample_new(at, 18, KR_DIMS(C));
    double plain[R * C], scaled[R * C];

    for (int r = 0; r < R; r++) {
        double squares = 0;

        for (int c = 0; c < C; c++)
            squares += x.v[r * C + c] * x.v[r * C + c];
        for (int c = 0; c < C; c++) {
            plain[r * C + c] = x.v[r * C + c] / sqrt(squares / C + .1);
            scaled[r * C + c] = plain[r * C + c] * weight.v[c];
        }
    }
    assert_tensor(at, kr_at_rms_norm(at, x.t, NULL, .1), plain, KR_DIMS(R, C));
    assert_tensor(at, kr_at_rms_norm(at, x.t, weight.t, .1), scaled, KR_DIMS(R, C));
    assert_null(kr_at_rms_norm(at, x.t, kr_at_zeros(at, KR_F64, KR_DIMS(3)), .1));
    assert_error(at, KR_EARG, "kr_at_rms_norm");
}

enum { BN = 2, BC = 3, BW = 4 }; /* batch norm's x [N, C, W] */

/* Mean and biased variance of each channel. */
static void channel_moments(const struct sample *x, double mean[BC], double variance[BC])
{
    for (int c = 0; c < BC; c++) {
        mean[c] = variance[c] = 0;
        for (int i = 0; i < BN * BW; i++)
            mean[c] += x->v[(i / BW * BC + c) * BW + i % BW] / (BN * BW);
        for (int i = 0; i < BN * BW; i++)
            variance[c] += pow(x->v[(i / BW * BC + c) * BW + i % BW] - mean[c], 2) / (BN * BW);
    }
}

static void normalise(double out[BN * BC * BW], const struct sample *x, const double mean[BC],
                      const double variance[BC])
{
    for (int i = 0; i < BN * BC * BW; i++) {
        const int c = i / BW % BC;

        out[i] = (x->v[i] - mean[c]) / sqrt(variance[c] + .1);
    }
}

static void batch_norm_in_training_uses_and_gathers_the_batch(void **state)
{
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 19, KR_DIMS(BN, BC, BW));
    struct kr_at_batch_norm norm = {
        .running_mean = kr_at_full(at, KR_F64, .5, KR_DIMS(BC)),
        .running_var = kr_at_full(at, KR_F64, 2, KR_DIMS(BC)),
        .training = true,
        .momentum = .3,
        .eps = .1,
    };
    double mean[BC], variance[BC], expected[BN * BC * BW];

    channel_moments(&x, mean, variance);
    normalise(expected, &x, mean, variance);
    assert_tensor(at, kr_at_batch_norm(at, x.t, &norm), expected, KR_DIMS(BN, BC, BW));
    for (int c = 0; c < BC; c++) {
        mean[c] = .7 * .5 + .3 * mean[c];
        variance[c] = .7 * 2 + .3 * variance[c] * BN * BW / (BN * BW - 1); /* unbiased */
    }
    assert_tensor(at, norm.running_mean, mean, KR_DIMS(BC));
    assert_tensor(at, norm.running_var, variance, KR_DIMS(BC));
}

static void batch_norm_in_inference_uses_the_running_statistics(void **state)
{
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 20, KR_DIMS(BN, BC, BW));
    struct sample weight = sample_new(at, 21, KR_DIMS(BC)), bias = sample_new(at, 22, KR_DIMS(BC));
    double mean[BC] = { .1, .2, .3 }, variance[BC] = { 1, 2, 3 }, expected[BN * BC * BW];
    const struct kr_at_batch_norm norm = {
        .weight = weight.t,
        .bias = bias.t,
        .running_mean = tensor_of(at, mean, BC),
        .running_var = tensor_of(at, variance, BC),
        .momentum = .3,
        .eps = .1,
    };

    normalise(expected, &x, mean, variance);
    for (int i = 0; i < BN * BC * BW; i++)
        expected[i] = expected[i] * weight.v[i / BW % BC] + bias.v[i / BW % BC];
    assert_tensor(at, kr_at_batch_norm(at, x.t, &norm), expected, KR_DIMS(BN, BC, BW));
    assert_tensor(at, norm.running_mean, mean, KR_DIMS(BC));
    assert_null(kr_at_batch_norm(at, kr_at_zeros(at, KR_F64, KR_DIMS(2, 5)), &norm));
    assert_error(at, KR_EARG, "running_mean");
}

/* ---- activations ---- */

static double relu(double x)
{
    return fmax(x, 0);
}

static double relu6(double x)
{
    return fmin(fmax(x, 0), 6);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double gelu_erf(double x)
{
    return x / 2 * (1 + erf(x / sqrt(2)));
}

static double gelu_tanh(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static struct kr_tensor *call_gelu_erf(struct kr_at *at, const struct kr_tensor *x)
{
    return kr_at_gelu(at, x, false);
}

static struct kr_tensor *call_gelu_tanh(struct kr_at *at, const struct kr_tensor *x)
{
    return kr_at_gelu(at, x, true);
}

static void activations_match_their_formulas(void **state)
{
    static const struct {
        struct kr_tensor *(*call)(struct kr_at *, const struct kr_tensor *);
        double (*oracle)(double);
    } cases[] = {
        { kr_at_relu, relu },          { kr_at_relu6, relu6 }, { kr_at_sigmoid, sigmoid },
        { kr_at_tanh, tanh },          { kr_at_silu, silu },   { call_gelu_erf, gelu_erf },
        { call_gelu_tanh, gelu_tanh },
    };
    struct kr_at *at = *state;
    struct sample unit = sample_new(at, 23, KR_DIMS(4, 16));
    struct kr_tensor *x = kr_at_mul_scalar(at, unit.t, 8); /* reaches beyond 6 */
    double expected[64];

    for (size_t c = 0; c < COUNT(cases); c++) {
        for (int i = 0; i < 64; i++)
            expected[i] = cases[c].oracle(unit.v[i] * 8);
        assert_tensor(at, cases[c].call(at, x), expected, KR_DIMS(4, 16));
        assert_null(cases[c].call(at, NULL));
        assert_error(at, KR_EARG, "a tensor is NULL");
    }
}

static void softmax_sums_to_one_along_its_dimension(void **state)
{
    enum { R = 3, C = 4 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 24, KR_DIMS(R, C));
    double sum[C] = { 0 }, share[R * C], logarithm[R * C];

    for (int i = 0; i < R * C; i++)
        sum[i % C] += exp(x.v[i]);
    for (int i = 0; i < R * C; i++) {
        share[i] = exp(x.v[i]) / sum[i % C];
        logarithm[i] = x.v[i] - log(sum[i % C]);
    }
    assert_tensor(at, kr_at_softmax(at, x.t, 0), share, KR_DIMS(R, C));
    assert_tensor(at, kr_at_log_softmax(at, x.t, -2), logarithm, KR_DIMS(R, C));
    assert_null(kr_at_softmax(at, x.t, 2));
    assert_error(at, KR_EARG, "Dimension out of range");
}

/* Of 512 elements 256 stay, give or take 11.3: 6 times that is 68. The seed is fixed. */
static void dropout_zeroes_some_and_scales_the_others(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *x = kr_at_full(at, KR_F64, 3, KR_DIMS(SAMPLE_MAX));
    double v[SAMPLE_MAX];
    int stayed = 0;

    assert_true(kr_at_to_host(at, kr_at_dropout(at, x, .5, true), v, SAMPLE_MAX));
    for (int i = 0; i < SAMPLE_MAX; i++) {
        assert_true(v[i] == 0 || v[i] == 6);
        stayed += v[i] == 6;
    }
    assert_in_range(stayed, 256 - 68, 256 + 68);
    assert_true(kr_at_to_host(at, kr_at_dropout(at, x, .5, false), v, SAMPLE_MAX));
    for (int i = 0; i < SAMPLE_MAX; i++)
        assert_true(v[i] == 3);
    assert_null(kr_at_dropout(at, x, 1.5, true));
    assert_error(at, KR_EARG, "between 0 and 1");
}

/* ---- images ---- */

enum { N = 2, I = 4, W = 5 }; /* x [N, I, W, W] */

/* The element of channel c at row y, column z; `outside` beyond the borders. */
static double pixel(const struct sample *x, int n, int c, int y, int z, double outside)
{
    return y >= 0 && y < W && z >= 0 && z < W ? x->v[((n * I + c) * W + y) * W + z] : outside;
}

/* Weights [O, I / groups, 3, 3]; out [N, O, size, size]. */
static void convolve(double *out, const struct sample *x, const struct sample *weight, int size,
                     const struct kr_at_conv2d *how)
{
    const int groups = how->groups ? (int)how->groups : 1,
              stride = how->stride ? (int)how->stride : 1;
    const int in = I / groups, o_all = (int)weight->n / (in * 9);

    for (int i = 0; i < N * o_all * size * size; i++) {
        const int o = i / (size * size) % o_all, top = i / size % size * stride - (int)how->padding;
        const int left = i % size * stride - (int)how->padding;

        out[i] = 0;
        for (int k = 0; k < in * 9; k++)
            out[i] += weight->v[o * in * 9 + k] * pixel(x, i / (size * size * o_all),
                                                        o / (o_all / groups) * in + k / 9,
                                                        top + k / 3 % 3, left + k % 3, 0);
    }
}

static void conv2d_slides_its_window(void **state)
{
    static const struct {
        struct kr_at_conv2d how;
        int o, size; /* channels and width of the result */
    } cases[] = {
        { { 0 }, 3, 3 },
        { { .stride = 2, .padding = 1 }, 3, 3 },
        { { .padding = 1, .groups = 2 }, 2, 5 },
        { { .stride = 1, .padding = 0, .groups = I }, I, 3 }, /* depthwise */
    };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 25, KR_DIMS(N, I, W, W));
    double expected[SAMPLE_MAX];

    for (size_t i = 0; i < COUNT(cases); i++) {
        const int64_t groups = cases[i].how.groups ? cases[i].how.groups : 1;
        struct sample weight = sample_new(at, 26, KR_DIMS(cases[i].o, I / groups, 3, 3));
        const int size = cases[i].size;

        convolve(expected, &x, &weight, size, &cases[i].how);
        assert_tensor(at, kr_at_conv2d(at, x.t, weight.t, NULL, &cases[i].how), expected,
                      KR_DIMS(N, cases[i].o, size, size));
    }
}

static void conv2d_adds_its_bias_and_checks_channels(void **state)
{
    struct kr_at *at = *state;
    const struct kr_at_conv2d how = { 0 };
    struct kr_tensor *x = kr_at_zeros(at, KR_F64, KR_DIMS(1, 1, 3, 3));
    struct kr_tensor *weight = kr_at_zeros(at, KR_F64, KR_DIMS(2, 1, 3, 3));

    assert_tensor(at, kr_at_conv2d(at, x, weight, tensor_of(at, (double[]){ 4, 5 }, 2), &how),
                  (double[]){ 4, 5 }, KR_DIMS(1, 2, 1, 1));
    assert_null(kr_at_conv2d(at, x, kr_at_zeros(at, KR_F64, KR_DIMS(2, 3, 3, 3)), NULL, &how));
    assert_error(at, KR_EARG, "expected input");
}

static void pools_take_the_greatest_or_the_mean(void **state)
{
    enum { KERNEL = 3, STRIDE = 2, SIZE = 3 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 27, KR_DIMS(N, I, W, W));
    double greatest[N * I * SIZE * SIZE], mean[N * I * SIZE * SIZE];

    for (int i = 0; i < N * I * SIZE * SIZE; i++) {
        const int c = i / (SIZE * SIZE);

        greatest[i] = -INFINITY;
        mean[i] = 0; /* zeros of the padding are counted */
        for (int k = 0; k < KERNEL * KERNEL; k++) {
            const int y = i / SIZE % SIZE * STRIDE - 1 + k / KERNEL;
            const int z = i % SIZE * STRIDE - 1 + k % KERNEL;

            greatest[i] = fmax(greatest[i], pixel(&x, c / I, c % I, y, z, -INFINITY));
            mean[i] += pixel(&x, c / I, c % I, y, z, 0) / (KERNEL * KERNEL);
        }
    }
    assert_tensor(at, kr_at_max_pool2d(at, x.t, KERNEL, STRIDE, 1), greatest,
                  KR_DIMS(N, I, SIZE, SIZE));
    assert_tensor(at, kr_at_avg_pool2d(at, x.t, KERNEL, STRIDE, 1), mean,
                  KR_DIMS(N, I, SIZE, SIZE));
    assert_null(kr_at_max_pool2d(at, x.t, KERNEL, STRIDE, 2));
    assert_error(at, KR_EARG, "pad should be");
    assert_null(kr_at_avg_pool2d(at, x.t, 9, 1, 0));
    assert_error(at, KR_EARG, "too small");
}

static void adaptive_pool_divides_into_parts(void **state)
{
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 28, KR_DIMS(N, I, W, W));
    double mean[N * I] = { 0 }, quarters[N * I * 4] = { 0 };

    for (int i = 0; i < N * I * W * W; i++)
        mean[i / (W * W)] += x.v[i] / (W * W);
    /* Halves of 5 are 0..2 and 2..4. */
    for (int i = 0; i < N * I * 4; i++)
        for (int k = 0; k < 9; k++)
            quarters[i] += x.v[i / 4 * W * W + (i / 2 % 2 * 2 + k / 3) * W + i % 2 * 2 + k % 3] / 9;
    assert_tensor(at, kr_at_adaptive_avg_pool2d(at, x.t, 1, 1), mean, KR_DIMS(N, I, 1, 1));
    assert_tensor(at, kr_at_adaptive_avg_pool2d(at, x.t, 2, 2), quarters, KR_DIMS(N, I, 2, 2));
    assert_null(kr_at_adaptive_avg_pool2d(at, x.t, -1, 1));
    assert_error(at, KR_EARG, "kr_at_adaptive_avg_pool2d");
}

/* ---- embeddings ---- */

static void embedding_looks_up_rows(void **state)
{
    struct kr_at *at = *state;
    struct sample weight = sample_new(at, 29, KR_DIMS(3, 2));
    const double *v = weight.v;
    struct kr_tensor *index = indices_of(at, (int64_t[]){ 2, 0 }, 2);

    assert_tensor(at, kr_at_embedding(at, weight.t, kr_at_view(at, index, KR_DIMS(1, 2))),
                  (double[]){ v[4], v[5], v[0], v[1] }, KR_DIMS(1, 2, 2));
    assert_tensor(at, kr_at_embedding(at, weight.t, kr_at_to(at, index, KR_I32)),
                  (double[]){ v[4], v[5], v[0], v[1] }, KR_DIMS(2, 2));
    assert_null(kr_at_embedding(at, weight.t, indices_of(at, (int64_t[]){ 3 }, 1)));
    assert_error(at, KR_EARG, "out of range");
    assert_null(kr_at_embedding(at, weight.t, weight.t));
    assert_error(at, KR_EARG, "kr_at_embedding");
}

static void embedding_bag_pools_rows_of_a_bag(void **state)
{
    struct kr_at *at = *state;
    struct sample weight = sample_new(at, 30, KR_DIMS(3, 2));
    const double *v = weight.v;
    struct kr_tensor *index = indices_of(at, (int64_t[]){ 2, 0, 1, 1 }, 4);
    struct kr_tensor *offsets = indices_of(at, (int64_t[]){ 0, 3, 4 }, 3); /* the last is empty */
    const double sum[] = { v[4] + v[0] + v[2], v[5] + v[1] + v[3], v[2], v[3], 0, 0 };
    const double mean[] = { sum[0] / 3, sum[1] / 3, v[2], v[3], 0, 0 };
    const double greatest[] = {
        fmax(fmax(v[4], v[0]), v[2]), fmax(fmax(v[5], v[1]), v[3]), v[2], v[3], 0, 0
    };

    assert_tensor(at, kr_at_embedding_bag(at, weight.t, index, offsets, KR_BAG_SUM, true), sum,
                  KR_DIMS(3, 2));
    assert_tensor(at, kr_at_embedding_bag(at, weight.t, index, offsets, KR_BAG_MEAN, false), mean,
                  KR_DIMS(3, 2));
    assert_tensor(at, kr_at_embedding_bag(at, weight.t, index, offsets, KR_BAG_MAX, false),
                  greatest, KR_DIMS(3, 2));
    assert_null(kr_at_embedding_bag(at, weight.t, index, weight.t, KR_BAG_SUM, false));
    assert_error(at, KR_EARG, "kr_at_embedding_bag");
    assert_null(kr_at_embedding_bag(at, weight.t, index, offsets, (enum kr_at_bag)9, false));
    assert_error(at, KR_EARG, "no such way to pool");
}

/* ---- losses ---- */

static void cross_entropy_is_the_mean_surprise(void **state)
{
    enum { R = 3, V = 4 };
    static const int64_t target[R] = { 1, 3, 0 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 31, KR_DIMS(R, V));
    double expected = 0;

    for (int r = 0; r < R; r++) {
        double sum = 0;

        for (int c = 0; c < V; c++)
            sum += exp(x.v[r * V + c]);
        expected += (log(sum) - x.v[r * V + target[r]]) / R;
    }
    assert_tensor(at, kr_at_cross_entropy(at, x.t, indices_of(at, target, R)), &expected, NULL, 0);
    assert_null(kr_at_cross_entropy(at, x.t, indices_of(at, target, 2)));
    assert_error(at, KR_EARG, "batch_size");
    assert_null(kr_at_cross_entropy(at, x.t, indices_of(at, (int64_t[]){ 0, 0, V }, R)));
    assert_error(at, KR_EARG, "out of bounds");
}

static void bce_and_mse_compare_element_by_element(void **state)
{
    enum { R = 6 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 32, KR_DIMS(R)), y = sample_new(at, 33, KR_DIMS(R));
    struct kr_tensor *target = kr_at_add_scalar(at, kr_at_mul_scalar(at, y.t, .5), .5);
    double bce = 0, mse = 0;

    for (int i = 0; i < R; i++) {
        const double p = y.v[i] / 2 + .5;

        bce -= (p * log(sigmoid(x.v[i])) + (1 - p) * log(1 - sigmoid(x.v[i]))) / R;
        mse += (x.v[i] - y.v[i]) * (x.v[i] - y.v[i]) / R;
    }
    assert_tensor(at, kr_at_bce_with_logits(at, x.t, target), &bce, NULL, 0);
    assert_tensor(at, kr_at_mse_loss(at, x.t, y.t), &mse, NULL, 0);
    assert_null(kr_at_bce_with_logits(at, x.t, kr_at_zeros(at, KR_F64, KR_DIMS(2))));
    assert_error(at, KR_EARG, "must match");
    assert_null(kr_at_mse_loss(at, x.t, kr_at_zeros(at, KR_F64, KR_DIMS(2))));
    assert_error(at, KR_EARG, "must match");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(matmul_multiplies_each_of_a_batch),
        TEST(linear_takes_a_bias_or_none),
        TEST(attention_weighs_values_by_softmax),
        TEST(grouped_attention_shares_keys_between_heads),
        TEST(attention_refuses_a_mask_beside_causal),
        TEST(attention_passes_dropout_on),
        TEST(layer_norm_has_mean_and_variance_of_the_last_dimension),
        TEST(rms_norm_divides_by_the_root_mean_square),
        TEST(batch_norm_in_training_uses_and_gathers_the_batch),
        TEST(batch_norm_in_inference_uses_the_running_statistics),
        TEST(activations_match_their_formulas),
        TEST(softmax_sums_to_one_along_its_dimension),
        TEST(dropout_zeroes_some_and_scales_the_others),
        TEST(conv2d_slides_its_window),
        TEST(conv2d_adds_its_bias_and_checks_channels),
        TEST(pools_take_the_greatest_or_the_mean),
        TEST(adaptive_pool_divides_into_parts),
        TEST(embedding_looks_up_rows),
        TEST(embedding_bag_pools_rows_of_a_bag),
        TEST(cross_entropy_is_the_mean_surprise),
        TEST(bce_and_mse_compare_element_by_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "plain_transformer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mem.h"

#define WIDTH  ((size_t)64)
#define HEADS  4
#define WORDS  256
#define LAYERS 2

void plain_reset(struct plain *p)
{
    for (size_t i = 0; i < p->n_held; i++)
        free(p->held[i]);
    p->n_held = 0;
    p->next = 0;
}

static struct mat mat_new(struct plain *p, size_t rows, size_t cols)
{
    struct kr_err err = { 0 };
    struct mat m = { rows, cols, kr_xcalloc(rows * cols, sizeof(double), &err) };

    assert_non_null(m.v);
    assert_true(p->n_held < PLAIN_HELD_MAX);
    p->held[p->n_held++] = m.v;
    return m;
}

/* The next weight; caches, inputs and tables of the model are none. */
static struct mat take(struct plain *p, size_t rows, size_t cols)
{
    struct mat m = mat_new(p, rows, cols);
    const struct kr_tensor *t;

    do {
        assert_true(p->next < p->params->n);
        t = p->params->all[p->next++];
    } while (kr_tensor_ndim(t) > 2);
    assert_int_equal(kr_tensor_numel(t), rows * cols);
    assert_true(kr_at_to_host(p->at, t, m.v, rows * cols));
    return m;
}

static struct mat linear_by(struct plain *p, struct mat x, struct mat w)
{
    struct mat y = mat_new(p, x.rows, w.rows);

    for (size_t r = 0; r < x.rows; r++)
        for (size_t o = 0; o < w.rows; o++)
            for (size_t i = 0; i < x.cols; i++)
                y.v[r * y.cols + o] += x.v[r * x.cols + i] * w.v[o * w.cols + i];
    p->flop += 2 * (double)(x.rows * x.cols * w.rows);
    return y;
}

static struct mat linear(struct plain *p, struct mat x, size_t n_out)
{
    return linear_by(p, x, take(p, n_out, x.cols));
}

static struct mat dense(struct plain *p, struct mat x, size_t n_out)
{
    struct mat y = linear(p, x, n_out), bias = take(p, 1, n_out);

    for (size_t i = 0; i < y.rows * y.cols; i++)
        y.v[i] += bias.v[i % y.cols];
    return y;
}

static struct mat add(struct plain *p, struct mat a, struct mat b)
{
    struct mat y = mat_new(p, a.rows, a.cols);

    for (size_t i = 0; i < a.rows * a.cols; i++)
        y.v[i] = a.v[i] + b.v[i];
    return y;
}

static struct mat row_of(struct plain *p, struct mat x, size_t r)
{
    struct mat y = mat_new(p, 1, x.cols);

    for (size_t i = 0; i < x.cols; i++)
        y.v[i] = x.v[r * x.cols + i];
    return y;
}

static struct mat embed(struct plain *p, struct mat table, const double index[], size_t n)
{
    struct mat y = mat_new(p, n, table.cols);

    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < table.cols; i++)
            y.v[r * table.cols + i] = table.v[(size_t)index[r] * table.cols + i];
    return y;
}

static struct mat rms_norm(struct plain *p, struct mat x)
{
    struct mat y = mat_new(p, x.rows, x.cols), weight = take(p, 1, x.cols);

    for (size_t r = 0; r < x.rows; r++) {
        double squares = 0;

        for (size_t i = 0; i < x.cols; i++)
            squares += x.v[r * x.cols + i] * x.v[r * x.cols + i];
        for (size_t i = 0; i < x.cols; i++)
            y.v[r * x.cols + i] =
                x.v[r * x.cols + i] / sqrt(squares / (double)x.cols + 1e-5) * weight.v[i];
    }
    return y;
}

static struct mat layer_norm(struct plain *p, struct mat x, double eps)
{
    struct mat y = mat_new(p, x.rows, x.cols), weight = take(p, 1, x.cols);
    struct mat bias = take(p, 1, x.cols);

    for (size_t r = 0; r < x.rows; r++) {
        const double *in = x.v + r * x.cols;
        double mean = 0, var = 0;

        for (size_t i = 0; i < x.cols; i++)
            mean += in[i] / (double)x.cols;
        for (size_t i = 0; i < x.cols; i++)
            var += (in[i] - mean) * (in[i] - mean) / (double)x.cols;
        for (size_t i = 0; i < x.cols; i++)
            y.v[r * x.cols + i] = (in[i] - mean) / sqrt(var + eps) * weight.v[i] + bias.v[i];
    }
    return y;
}

/* Heads stand beside each other in a row. Query r of head h sees n_seen keys of head g. */
static void attend_row(struct mat y, struct mat q, struct mat k, struct mat v, const size_t at[4])
{
    const size_t r = at[0], h = at[1], g = at[2], n_seen = at[3], d = q.cols / HEADS;
    double weight[64], total = 0;

    assert_true(n_seen <= 64);
    for (size_t s = 0; s < n_seen; s++) {
        double dot = 0;

        for (size_t i = 0; i < d; i++)
            dot += q.v[r * q.cols + h * d + i] * k.v[s * k.cols + g * d + i];
        weight[s] = exp(dot / sqrt((double)d));
        total += weight[s];
    }
    for (size_t s = 0; s < n_seen; s++)
        for (size_t i = 0; i < d; i++)
            y.v[r * y.cols + h * d + i] += weight[s] / total * v.v[s * v.cols + g * d + i];
}

static struct mat attend(struct plain *p, const struct mat qkv[3], bool causal)
{
    struct mat q = qkv[0], y = mat_new(p, q.rows, q.cols);
    const size_t n_shared = q.cols / qkv[1].cols; /* queries' heads to a head of keys */

    for (size_t r = 0; r < q.rows; r++) {
        const size_t n_seen = causal ? r + 1 : q.rows;

        for (size_t h = 0; h < HEADS; h++)
            attend_row(y, q, qkv[1], qkv[2], (const size_t[]){ r, h, h / n_shared, n_seen });
        p->flop += 4 * (double)(n_seen * q.cols);
    }
    return y;
}

/* Each pair (i, i + D/2) of a head is a complex number, turned by the row's angle. */
static void rotate(struct mat x)
{
    const size_t d = WIDTH / HEADS;

    for (size_t r = 0; r < x.rows; r++)
        for (size_t pair = 0; pair < x.cols / 2; pair++) {
            const size_t i = pair / (d / 2) * d + pair % (d / 2);
            const double angle = (double)r * pow(500000, -2.0 * (double)(i % d) / (double)d);
            double *low = x.v + r * x.cols + i, *high = low + d / 2, re = *low;

            *low = re * cos(angle) - *high * sin(angle);
            *high = re * sin(angle) + *high * cos(angle);
        }
}

static struct mat llama_layer(struct plain *p, struct mat x)
{
    struct mat y = rms_norm(p, x), qkv[3], gate, up;

    qkv[0] = linear(p, y, WIDTH);
    qkv[1] = linear(p, y, WIDTH / 2);
    qkv[2] = linear(p, y, WIDTH / 2);
    rotate(qkv[0]);
    rotate(qkv[1]);
    x = add(p, x, linear(p, attend(p, qkv, true), WIDTH));
    y = rms_norm(p, x);
    gate = linear(p, y, 160);
    up = linear(p, y, 160);
    for (size_t i = 0; i < up.rows * up.cols; i++)
        up.v[i] *= gate.v[i] / (1 + exp(-gate.v[i]));
    return add(p, x, linear(p, up, WIDTH));
}

struct mat plain_llama(struct plain *p, const double tokens[], size_t n_tokens)
{
    struct mat x = embed(p, take(p, WORDS, WIDTH), tokens, n_tokens);

    for (int i = 0; i < LAYERS; i++)
        x = llama_layer(p, x);
    return linear(p, row_of(p, rms_norm(p, x), n_tokens - 1), WORDS);
}

static struct mat gpt2_layer(struct plain *p, struct mat x)
{
    struct mat y = dense(p, layer_norm(p, x, 1e-5), 3 * WIDTH), qkv[3];

    for (size_t part = 0; part < 3; part++) {
        qkv[part] = mat_new(p, x.rows, WIDTH);
        for (size_t i = 0; i < x.rows * WIDTH; i++)
            qkv[part].v[i] = y.v[i / WIDTH * y.cols + part * WIDTH + i % WIDTH];
    }
    x = add(p, x, dense(p, attend(p, qkv, true), WIDTH));
    y = dense(p, layer_norm(p, x, 1e-5), 4 * WIDTH);
    for (size_t i = 0; i < y.rows * y.cols; i++) {
        const double u = y.v[i];

        y.v[i] = u / 2 * (1 + tanh(sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
    }
    return add(p, x, dense(p, y, WIDTH));
}

struct mat plain_gpt2(struct plain *p, const double tokens[], size_t n_tokens)
{
    struct mat words = take(p, WORDS, WIDTH), places = take(p, 32, WIDTH);
    struct mat x = embed(p, words, tokens, n_tokens);

    places.rows = n_tokens;
    x = add(p, x, places);
    for (int i = 0; i < LAYERS; i++)
        x = gpt2_layer(p, x);
    return linear_by(p, layer_norm(p, x, 1e-5), words);
}

static struct mat bert_layer(struct plain *p, struct mat x)
{
    struct mat qkv[3], y;

    for (int i = 0; i < 3; i++)
        qkv[i] = dense(p, x, WIDTH);
    x = layer_norm(p, add(p, x, dense(p, attend(p, qkv, false), WIDTH)), 1e-12);
    y = dense(p, x, 4 * WIDTH);
    for (size_t i = 0; i < y.rows * y.cols; i++)
        y.v[i] *= (1 + erf(y.v[i] / sqrt(2))) / 2;
    return layer_norm(p, add(p, x, dense(p, y, WIDTH)), 1e-12);
}

struct mat plain_bert(struct plain *p, const double tokens[], const double segments[],
                      size_t n_tokens)
{
    struct mat x = embed(p, take(p, WORDS, WIDTH), tokens, n_tokens);
    struct mat places = take(p, 32, WIDTH);

    places.rows = n_tokens;
    x = add(p, x, places);
    x = add(p, x, embed(p, take(p, 2, WIDTH), segments, n_tokens));
    x = layer_norm(p, x, 1e-12);
    for (int i = 0; i < LAYERS; i++)
        x = bert_layer(p, x);
    x = dense(p, row_of(p, x, 0), WIDTH);
    for (size_t i = 0; i < x.cols; i++)
        x.v[i] = tanh(x.v[i]);
    return x;
}

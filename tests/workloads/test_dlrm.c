/* DLRM: its scores against plain loops, its size against the formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "mem.h"
#include "workload.h"

/* The tiny preset, written down again. */
#define BATCH    INT64_C(32)
#define DENSE    INT64_C(13)
#define WIDTH    INT64_C(16)
#define HIDDEN   INT64_C(32)
#define TABLES   INT64_C(4)
#define FEATURES (TABLES + 1)
#define PAIRS    (FEATURES * (FEATURES - 1) / 2)
static const int64_t rows[TABLES] = { 100, 7, 1000, 40 };
static const int64_t lookups[TABLES] = { 1, 2, 5, 20 };

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g where %.17g is due", got, want);
}

/* Weights and inputs in the order in which the model makes them. */
struct reader {
    struct kr_at *at;
    const struct kr_params *params;
    size_t next;
};

static double *take(struct reader *r, int64_t numel)
{
    const struct kr_tensor *t = r->params->all[r->next++];
    double *v = calloc((size_t)numel, sizeof *v);

    assert_non_null(v);
    assert_int_equal(kr_tensor_numel(t), numel);
    assert_true(kr_at_to_host(r->at, t, v, (size_t)numel));
    return v;
}

/* y [B, out] = x weight^T + bias. */
static void dense(struct reader *r, const double *x, int64_t in, int64_t out, double *y)
{
    double *weight = take(r, in * out);
    double *bias = take(r, out);

    for (int64_t i = 0; i < BATCH * out; i++) {
        double sum = bias[i % out];

        for (int64_t k = 0; k < in; k++)
            sum += weight[i % out * in + k] * x[i / out * in + k];
        y[i] = sum;
    }
    free(weight);
    free(bias);
}

static void relu(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = fmax(x[i], 0);
}

/* Sums of rows: features [B, F, D] at one feature. */
static void pool(struct reader *r, size_t table, double features[BATCH][FEATURES][WIDTH])
{
    double *weight = take(r, rows[table] * WIDTH);
    double *index = take(r, BATCH * lookups[table]);

    r->next++; /* offsets */
    for (int64_t i = 0; i < BATCH * lookups[table]; i++) {
        for (int64_t d = 0; d < WIDTH; d++)
            features[i / lookups[table]][table + 1][d] += weight[(int64_t)index[i] * WIDTH + d];
    }
    free(weight);
    free(index);
}

/* The bottom perceptron's output, and the dot products of pairs i > j, row by row. */
static void interact(double features[BATCH][FEATURES][WIDTH], double *met)
{
    for (size_t b = 0; b < BATCH; b++) {
        for (size_t d = 0; d < WIDTH; d++)
            *met++ = features[b][0][d];
        for (size_t i = 0; i < FEATURES; i++) {
            for (size_t j = 0; j < i; j++, met++) {
                for (size_t d = 0; d < WIDTH; d++)
                    *met += features[b][i][d] * features[b][j][d];
            }
        }
    }
}

static void score(struct reader *r, double scores[BATCH])
{
    static double hidden[BATCH * HIDDEN];
    static double bottom[BATCH * WIDTH];
    static double features[BATCH][FEATURES][WIDTH];
    static double met[BATCH * (WIDTH + PAIRS)];
    double *x = take(r, BATCH * DENSE);

    dense(r, x, DENSE, HIDDEN, hidden);
    relu(hidden, BATCH * HIDDEN);
    dense(r, hidden, HIDDEN, WIDTH, bottom);
    relu(bottom, BATCH * WIDTH);
    for (size_t i = 0; i < BATCH * WIDTH; i++)
        features[i / WIDTH][0][i % WIDTH] = bottom[i];
    for (size_t t = 0; t < TABLES; t++)
        pool(r, t, features);
    interact(features, met);
    r->next += 2; /* which pairs: row and column */
    dense(r, met, WIDTH + PAIRS, HIDDEN, hidden);
    relu(hidden, BATCH * HIDDEN);
    dense(r, hidden, HIDDEN, 1, scores);
    free(x);
}

static void scores_equal_plain_loops(void **state)
{
    const struct kr_run run = { .preset = "tiny", .phase = "infer", .dtype = KR_F64, .seed = 5 };
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_built built = { 0 };
    struct reader reader;
    double got[BATCH];
    double want[BATCH];

    (void)state;
    assert_true(kr_model_dlrm.open(at, &run, &built));
    assert_true(kr_at_to_host(at, kr_model_dlrm.step(at, built.state), got, BATCH));
    reader = (struct reader){ .at = at, .params = built.state };
    score(&reader, want);
    assert_int_equal(reader.next, reader.params->n);
    for (size_t i = 0; i < BATCH; i++) /* float64: only the order of sums differs */
        assert_near(got[i], 1 / (1 + exp(-want[i])), 1e-12);
    kr_model_dlrm.close(built.state);
    kr_at_close(at);
}

static void the_number_of_weights_follows_the_formula(void **state)
{
    const struct kr_run run = { .preset = "tiny", .phase = "train", .dtype = KR_F32 };
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_built built = { 0 };
    uint64_t want =
        (DENSE + 1) * HIDDEN + (HIDDEN + 1) * WIDTH + (WIDTH + PAIRS + 1) * HIDDEN + (HIDDEN + 1);

    (void)state;
    for (size_t i = 0; i < TABLES; i++)
        want += (uint64_t)rows[i] * WIDTH;
    assert_true(kr_model_dlrm.open(at, &run, &built));
    assert_int_equal(built.n_params, want);
    kr_model_dlrm.close(built.state);
    kr_at_close(at);
}

static void training_changes_the_rows_that_were_looked_up_and_no_others(void **state)
{
    const struct kr_run run = { .preset = "tiny", .phase = "train", .dtype = KR_F32, .seed = 5 };
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_built built = { 0 };
    struct reader before, after, inputs;
    double *old, *new, *index;
    size_t n_changed = 0;

    (void)state;
    assert_true(kr_model_dlrm.open(at, &run, &built));
    before = (struct reader){ .at = at, .params = built.state, .next = 5 }; /* the first table */
    inputs = after = before;
    inputs.next++;
    old = take(&before, rows[0] * WIDTH);
    index = take(&inputs, BATCH * lookups[0]);
    assert_non_null(kr_model_dlrm.step(at, built.state));
    new = take(&after, rows[0] * WIDTH);
    for (int64_t row = 0; row < rows[0]; row++) {
        bool used = false;
        bool changed = false;

        for (int64_t i = 0; i < BATCH * lookups[0]; i++)
            used = used || (int64_t)index[i] == row;
        for (int64_t d = 0; d < WIDTH; d++)
            changed = changed || new[row * WIDTH + d] != old[row * WIDTH + d];
        assert_int_equal(changed, used);
        n_changed += changed;
    }
    assert_true(n_changed > 0);
    free(old);
    free(new);
    free(index);
    kr_model_dlrm.close(built.state);
    kr_at_close(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_plain_loops),
        cmocka_unit_test(the_number_of_weights_follows_the_formula),
        cmocka_unit_test(training_changes_the_rows_that_were_looked_up_and_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

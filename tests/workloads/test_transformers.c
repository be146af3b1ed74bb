/* The transformer models against plain loops, and what must hold of any transformer. */
#include "transformer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"
#include "plain_transformer.h"
#include "weights.h"

/* float32 has 24 bits; a logit is a sum of some hundred products of values near 1. */
#define FLOAT_TOLERANCE 2e-6

#define N_VALUES_MAX (2 * 24 * 256)

struct running {
    struct kr_at *at;
    const struct kr_model *model;
    struct kr_built built;
};

static struct kr_run tiny_run(const char *phase)
{
    return (struct kr_run){ .preset = "tiny", .phase = phase, .dtype = KR_F32, .seed = 7 };
}

static struct running start(const struct kr_model *model, const struct kr_run *run)
{
    struct kr_err err = { 0 };
    struct running r = { .at = kr_at_open(KR_CPU, &err), .model = model };

    assert_non_null(r.at);
    kr_at_set_threads(r.at, 1); /* so small that threads only wait for each other */
    if (!model->open(r.at, run, &r.built))
        fail_msg("%s: %s", model->name, kr_at_error(r.at)->msg);
    return r;
}

static void stop(struct running *r)
{
    if (kr_at_error(r->at))
        fail_msg("%s: %s", r->model->name, kr_at_error(r->at)->msg);
    r->model->close(r->built.state);
    kr_at_close(r->at);
}

/* All values of a step's result; returns how many. */
static size_t step_values(struct running *r, double out[N_VALUES_MAX])
{
    struct kr_tensor *result;
    size_t n;

    kr_at_scope_open(r->at);
    result = r->model->step(r->at, r->built.state);
    n = (size_t)kr_tensor_numel(result);
    assert_in_range(n, 1, N_VALUES_MAX);
    assert_int_equal(kr_tensor_ndim(result), r->built.ndim);
    for (size_t i = 0; i < r->built.ndim; i++)
        assert_int_equal(kr_tensor_dim(result, (int)i), r->built.shape[i]);
    assert_true(kr_at_to_host(r->at, result, out, n));
    kr_at_scope_close(r->at);
    return n;
}

static double step_loss(struct running *r)
{
    double values[N_VALUES_MAX];

    assert_int_equal(step_values(r, values), 1);
    return values[0];
}

static double relative_error(const double a[], const double b[], size_t n)
{
    double difference = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(difference / size);
}

/* ---- against plain loops ---- */

static struct mat plain_sample(const struct running *r, struct plain *p, size_t sample)
{
    const size_t n_tokens = (size_t)r->built.seq, n = (size_t)r->built.batch * n_tokens;
    double tokens[2 * 24], segments[2 * 24];

    assert_true(n <= KR_COUNT(tokens));
    assert_true(kr_at_to_host(r->at, weights_index(p->params, 0), tokens, n));
    if (r->model == &kr_model_llama)
        return plain_llama(p, tokens + sample * n_tokens, n_tokens);
    if (r->model == &kr_model_gpt2)
        return plain_gpt2(p, tokens + sample * n_tokens, n_tokens);
    assert_true(kr_at_to_host(r->at, weights_index(p->params, 1), segments, n));
    return plain_bert(p, tokens + sample * n_tokens, segments + sample * n_tokens, n_tokens);
}

static void equals_plain_loops(const struct kr_model *model, const struct kr_run *run)
{
    struct running r = start(model, run);
    struct plain p = { .at = r.at, .params = r.built.state };
    double got[N_VALUES_MAX];
    size_t n_sample;

    assert_true(weights_vary(r.at, p.params));
    n_sample = step_values(&r, got) / (size_t)r.built.batch;
    for (size_t i = 0; i < (size_t)r.built.batch; i++) {
        struct mat expected = plain_sample(&r, &p, i);

        assert_int_equal(expected.rows * expected.cols, n_sample);
        assert_near(relative_error(got + i * n_sample, expected.v, n_sample), 0, FLOAT_TOLERANCE);
        plain_reset(&p);
    }
    assert_true(r.built.flop == p.flop);
    stop(&r);
}

static void llama_equals_plain_loops(void **state)
{
    struct kr_run run = tiny_run("prefill");

    (void)state;
    equals_plain_loops(&kr_model_llama, &run);
    run.preset = "tiny-fused";
    equals_plain_loops(&kr_model_llama, &run);
}

static void gpt2_equals_plain_loops(void **state)
{
    const struct kr_run run = tiny_run("infer");

    (void)state;
    equals_plain_loops(&kr_model_gpt2, &run);
}

static void bert_equals_plain_loops(void **state)
{
    const struct kr_run run = tiny_run("infer");

    (void)state;
    equals_plain_loops(&kr_model_bert, &run);
}

/* ---- what must hold ---- */

static void decoding_gives_the_logits_of_the_whole_prompt(void **state)
{
    static const int64_t lengths[] = { 1, 2, 3, 24 };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(lengths); i++) {
        struct kr_run run = tiny_run("prefill");
        struct running prefill, decode;
        double whole[N_VALUES_MAX], last[N_VALUES_MAX], again[N_VALUES_MAX];
        size_t n;

        run.seq = lengths[i];
        prefill = start(&kr_model_llama, &run);
        run.phase = "decode";
        decode = start(&kr_model_llama, &run);
        n = step_values(&prefill, whole);
        assert_int_equal(step_values(&decode, last), n);
        assert_near(relative_error(last, whole, n), 0, FLOAT_TOLERANCE);
        step_values(&decode, again);
        assert_memory_equal(again, last, n * sizeof *last);
        stop(&prefill);
        stop(&decode);
    }
}

static struct kr_built tiny_llama(const char *phase, int64_t seq)
{
    struct kr_run run = tiny_run(phase);
    struct running r;
    struct kr_built built;

    run.seq = seq;
    r = start(&kr_model_llama, &run);
    built = r.built;
    stop(&r);
    return built;
}

static void decoding_counts_the_work_of_one_more_token(void **state)
{
    const double head_flop = 2.0 * 2 * 64 * 256;
    const struct kr_built longer = tiny_llama("prefill", 24), shorter = tiny_llama("prefill", 23);
    const struct kr_built decode = tiny_llama("decode", 24);

    (void)state;
    assert_true(decode.flop - head_flop == longer.flop - shorter.flop);
    assert_int_equal(longer.tokens, 2 * 24);
    assert_int_equal(decode.tokens, 2);
}

/* Writes another number into the last token of the first text. */
static void change_last_token(struct running *r)
{
    struct kr_tensor *row, *token;
    double old;

    kr_at_scope_open(r->at);
    row = kr_at_select(r->at, weights_index(r->built.state, 0), 0, 0);
    token = kr_at_select(r->at, row, 0, r->built.seq - 1);
    assert_true(kr_at_item(r->at, token, &old));
    assert_true(kr_at_fill(r->at, token, old < 100 ? old + 1 : old - 1));
    kr_at_scope_close(r->at);
}

static void a_later_token_changes_nothing_before_it_in_gpt2(void **state)
{
    const struct kr_run run = tiny_run("infer");
    struct running r = start(&kr_model_gpt2, &run);
    double before[N_VALUES_MAX], after[N_VALUES_MAX];
    const size_t last = (size_t)(r.built.seq - 1) * 256;

    (void)state;
    step_values(&r, before);
    change_last_token(&r);
    step_values(&r, after);
    assert_memory_equal(before, after, last * sizeof *before);
    assert_true(relative_error(after + last, before + last, 256) > 0.1);
    stop(&r);
}

static void the_last_token_changes_the_first_in_bert(void **state)
{
    const struct kr_run run = tiny_run("infer");
    struct running r = start(&kr_model_bert, &run);
    double before[N_VALUES_MAX], after[N_VALUES_MAX];

    (void)state;
    step_values(&r, before);
    change_last_token(&r);
    step_values(&r, after);
    assert_true(relative_error(after, before, 64) > 1e-4);
    assert_memory_equal(before + 64, after + 64, 64 * sizeof *before);
    stop(&r);
}

/* The product of a query at one position with a key at another. */
static double turned_product(struct kr_at *at, int64_t query_at, int64_t key_at)
{
    struct kr_tensor *frequencies, *q, *k;
    struct kr_rotary turn;
    double product;

    kr_at_scope_open(at);
    assert_true(kr_at_manual_seed(at, 3));
    q = kr_at_randn(at, KR_F64, 1, KR_DIMS(1, 1, 1, 16));
    k = kr_at_randn(at, KR_F64, 1, KR_DIMS(1, 1, 1, 16));
    frequencies = kr_rotary_frequencies(at, 16, 10000);
    turn = kr_rotary_angles(at, frequencies, kr_at_full(at, KR_I64, (double)query_at, KR_DIMS(1)),
                            KR_F64);
    q = kr_rotary_turn(at, q, &turn);
    turn = kr_rotary_angles(at, frequencies, kr_at_full(at, KR_I64, (double)key_at, KR_DIMS(1)),
                            KR_F64);
    k = kr_rotary_turn(at, k, &turn);
    assert_true(kr_at_item(at, kr_at_sum(at, kr_at_mul(at, q, k)), &product));
    kr_at_scope_close(at);
    return product;
}

static void rotary_products_depend_on_the_distance_only(void **state)
{
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    const double near = turned_product(at, 5, 3), far = turned_product(at, 50, 3);

    (void)state;
    /* Angles are float32: at position 100 they are off by some 1e-5. */
    assert_near(turned_product(at, 2, 0), near, 1e-4);
    assert_near(turned_product(at, 102, 100), near, 1e-4);
    assert_near(turned_product(at, 97, 50), far, 1e-4);
    assert_true(fabs(near - far) > 0.1);
    kr_at_close(at);
}

/* ---- training ---- */

static void a_new_gpt2_knows_nothing_and_learns(void **state)
{
    static const char *const presets[] = { "tiny", "tiny-fused" };
    double end[2];

    (void)state;
    for (size_t i = 0; i < KR_COUNT(presets); i++) {
        struct kr_run run = tiny_run("train");
        struct running r;
        double first;

        run.preset = presets[i];
        r = start(&kr_model_gpt2, &run);
        first = step_loss(&r);
        assert_near(first, log(256), 0.05);
        for (int step = 0; step < 30; step++)
            end[i] = step_loss(&r);
        assert_true(end[i] < first - 0.5);
        stop(&r);
    }
    assert_near(end[0], end[1], 1e-3);
}

/* The loss before the first step when one element of a weight is moved by h, and its slope. */
static double moved_loss(size_t weight, double h, double *slope)
{
    struct kr_run run = tiny_run("train");
    struct running r;
    const struct kr_params *p;
    struct kr_tensor *flat;
    double loss;

    run.dtype = KR_F64;
    r = start(&kr_model_gpt2, &run);
    p = r.built.state;
    kr_at_scope_open(r.at);
    flat = kr_at_view(r.at, kr_at_detach(r.at, p->trained[weight]), KR_DIMS(-1));
    assert_true(kr_at_add_scalar_in_place(r.at, kr_at_slice(r.at, flat, 0, 5, 6), h));
    loss = step_loss(&r);
    flat = kr_at_view(r.at, kr_at_grad(r.at, p->trained[weight]), KR_DIMS(-1));
    assert_true(kr_at_item(r.at, kr_at_slice(r.at, flat, 0, 5, 6), slope));
    kr_at_scope_close(r.at);
    stop(&r);
    return loss;
}

static void gradients_are_the_slopes_of_the_loss(void **state)
{
    /* Position, norm, query-key-value and its bias, out, down, last norm's bias. */
    static const size_t weights[] = { 1, 2, 4, 5, 6, 12, 27 };
    const double h = 1e-4;

    (void)state;
    for (size_t i = 0; i < KR_COUNT(weights); i++) {
        double slope, unused, up = moved_loss(weights[i], h, &unused);
        double down = moved_loss(weights[i], -h, &unused);

        moved_loss(weights[i], 0, &slope);
        assert_true(fabs(slope) > 1e-8);
        assert_near((up - down) / (2 * h) / slope, 1, 1e-4);
    }
}

#define N_WEIGHT_MAX (256 * 64)

/* One weight of a model in training, its gradient, and AdamW's averages of it. */
struct trained {
    size_t n;
    double now[N_WEIGHT_MAX], slope[N_WEIGHT_MAX], mean[N_WEIGHT_MAX], square[N_WEIGHT_MAX];
};

static void trained_read(const struct running *r, size_t weight, struct trained *t)
{
    const struct kr_params *p = r->built.state;

    t->n = (size_t)kr_tensor_numel(p->trained[weight]);
    assert_in_range(t->n, 1, N_WEIGHT_MAX);
    assert_true(kr_at_to_host(r->at, p->trained[weight], t->now, t->n));
}

static void slope_read(const struct running *r, size_t weight, struct trained *t)
{
    const struct kr_params *p = r->built.state;

    assert_true(kr_at_to_host(r->at, kr_at_grad(r->at, p->trained[weight]), t->slope, t->n));
}

static void adamw_step(struct trained *t, double decay, int step)
{
    for (size_t i = 0; i < t->n; i++) {
        double mean, square;

        t->mean[i] = 0.9 * t->mean[i] + 0.1 * t->slope[i];
        t->square[i] = 0.95 * t->square[i] + 0.05 * t->slope[i] * t->slope[i];
        mean = t->mean[i] / (1 - pow(0.9, step));
        square = t->square[i] / (1 - pow(0.95, step));
        t->now[i] -= 6e-4 * (decay * t->now[i] + mean / (sqrt(square) + 1e-8));
    }
}

static void only_matrices_decay_in_training(void **state)
{
    static const struct {
        size_t weight;
        double decay;
    } cases[] = { { 0, 0.1 }, { 2, 0 }, { 4, 0.1 }, { 5, 0 } }; /* words, norm, matrix, bias */
    static struct trained expected, got;

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_run run = tiny_run("train");
        struct running r;

        run.dtype = KR_F64;
        r = start(&kr_model_gpt2, &run);
        assert_true(weights_vary(r.at, r.built.state));
        memset(&expected, 0, sizeof expected);
        trained_read(&r, cases[i].weight, &expected);
        for (int step = 1; step <= 3; step++) {
            step_loss(&r);
            slope_read(&r, cases[i].weight, &expected);
            adamw_step(&expected, cases[i].decay, step);
        }
        trained_read(&r, cases[i].weight, &got);
        assert_near(relative_error(got.now, expected.now, got.n), 0, 1e-9);
        stop(&r);
    }
}

static void a_step_knows_no_gradient_of_the_step_before(void **state)
{
    const struct kr_run run = tiny_run("train");
    struct running trained = start(&kr_model_gpt2, &run), fresh = start(&kr_model_gpt2, &run);
    const struct kr_params *from = trained.built.state, *to = fresh.built.state;
    static struct trained a, b;

    (void)state;
    step_loss(&trained);
    for (size_t i = 0; i < to->n_trained; i++)
        assert_true(kr_at_copy(fresh.at, kr_at_detach(fresh.at, to->trained[i]), from->trained[i]));
    step_loss(&trained);
    step_loss(&fresh);
    for (size_t i = 0; i < to->n_trained; i++) {
        trained_read(&trained, i, &a);
        trained_read(&fresh, i, &b);
        slope_read(&trained, i, &a);
        slope_read(&fresh, i, &b);
        assert_near(relative_error(a.slope, b.slope, a.n), 0, 1e-4);
    }
    stop(&trained);
    stop(&fresh);
}

/* ---- sizes ---- */

static const struct {
    const struct kr_model *model;
    const char *phase, *preset;
    uint64_t n_params; /* as published */
    int64_t n_layers;
} published[] = {
    { &kr_model_gpt2, "infer", "small", 124439808, 12 },
    { &kr_model_bert, "infer", "base", 109482240, 12 },
};

static uint64_t params_of(size_t i, int64_t n_layers)
{
    struct kr_run run = { .preset = published[i].preset, .phase = published[i].phase };
    struct running r;
    uint64_t n;

    run.dtype = KR_BF16;
    run.batch = 1;
    run.seq = 1;
    run.layers = n_layers;
    r = start(published[i].model, &run);
    n = r.built.n_params;
    stop(&r);
    return n;
}

static void models_have_the_published_number_of_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(published); i++) {
        const uint64_t one = params_of(i, 1), two = params_of(i, 2);

        assert_int_equal(one + (two - one) * (uint64_t)(published[i].n_layers - 1),
                         published[i].n_params);
    }
}

static void fewer_layers_are_noted(void **state)
{
    static const struct kr_model *const models[] = { &kr_model_llama, &kr_model_gpt2,
                                                     &kr_model_bert };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(models); i++) {
        struct kr_run run = tiny_run(models[i]->phases[0]);
        struct running whole = start(models[i], &run), half;

        run.layers = 1;
        half = start(models[i], &run);
        assert_string_equal(whole.built.note, "");
        assert_string_equal(half.built.note, "1 of 2 layers");
        assert_true(half.built.flop < whole.built.flop);
        stop(&whole);
        stop(&half);
    }
}

static const struct {
    const struct kr_model *model;
    int64_t batch, seq, layers;
    enum kr_code code;
    const char *words;
} refused[] = {
    { &kr_model_llama, 0, 0, 3, KR_EARG, "preset 'tiny' has 2 layers, not 3" },
    { &kr_model_gpt2, 0, 33, 0, KR_EARG, "preset 'tiny' has 32 positions, not 33" },
    { &kr_model_bert, 0, 33, 0, KR_EARG, "preset 'tiny' has 32 positions, not 33" },
    { &kr_model_llama, 1 << 20, 1 << 20, 0, KR_ENOMEM, "not one layer fits" },
};

static void what_a_preset_cannot_do_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(refused); i++) {
        struct kr_err err = { 0 };
        struct kr_at *at = kr_at_open(KR_CPU, &err);
        struct kr_run run = tiny_run(refused[i].model->phases[0]);
        struct kr_built built = { 0 };

        run.batch = refused[i].batch;
        run.seq = refused[i].seq;
        run.layers = refused[i].layers;
        assert_false(refused[i].model->open(at, &run, &built));
        assert_int_equal(kr_at_error(at)->code, refused[i].code);
        assert_non_null(strstr(kr_at_error(at)->msg, refused[i].words));
        refused[i].model->close(built.state);
        kr_at_close(at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_equals_plain_loops),
        cmocka_unit_test(gpt2_equals_plain_loops),
        cmocka_unit_test(bert_equals_plain_loops),
        cmocka_unit_test(decoding_gives_the_logits_of_the_whole_prompt),
        cmocka_unit_test(decoding_counts_the_work_of_one_more_token),
        cmocka_unit_test(a_later_token_changes_nothing_before_it_in_gpt2),
        cmocka_unit_test(the_last_token_changes_the_first_in_bert),
        cmocka_unit_test(rotary_products_depend_on_the_distance_only),
        cmocka_unit_test(a_new_gpt2_knows_nothing_and_learns),
        cmocka_unit_test(gradients_are_the_slopes_of_the_loss),
        cmocka_unit_test(only_matrices_decay_in_training),
        cmocka_unit_test(a_step_knows_no_gradient_of_the_step_before),
        cmocka_unit_test(models_have_the_published_number_of_weights),
        cmocka_unit_test(fewer_layers_are_noted),
        cmocka_unit_test(what_a_preset_cannot_do_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

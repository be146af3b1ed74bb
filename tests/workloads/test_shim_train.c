/* Gradients, mixed precision and optimizers, against arithmetic in C. */
#include "shim_samples.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- gradients ---- */

/* loss = mean((w x - y)^2) over R rows has the gradient 2 / R sum((w x - y) x). */
static void backward_adds_the_gradient_of_a_linear_fit(void **state)
{
    enum { R = 4, I = 3 };
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 1, KR_DIMS(R, I)), y = sample_new(at, 2, KR_DIMS(R, 1));
    struct sample w = sample_new(at, 3, KR_DIMS(1, I));
    double expected[I] = { 0 };

    for (int r = 0; r < R; r++) {
        double error = -y.v[r];

        for (int i = 0; i < I; i++)
            error += w.v[i] * x.v[r * I + i];
        for (int i = 0; i < I; i++)
            expected[i] += 2 * error * x.v[r * I + i] / R;
    }
    assert_true(kr_at_require_grad(at, w.t));
    assert_true(kr_at_backward(at, kr_at_mse_loss(at, kr_at_linear(at, x.t, w.t, NULL), y.t)));
    assert_tensor(at, kr_at_grad(at, w.t), expected, KR_DIMS(1, I));
    assert_true(kr_at_backward(at, kr_at_mse_loss(at, kr_at_linear(at, x.t, w.t, NULL), y.t)));
    for (int i = 0; i < I; i++)
        expected[i] *= 2;
    assert_tensor(at, kr_at_grad(at, w.t), expected, KR_DIMS(1, I));
}

static void gradient_that_is_missing_is_an_error(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_full(at, KR_F64, 1, KR_DIMS(2));

    assert_true(kr_at_require_grad(at, w));
    assert_null(kr_at_grad(at, w));
    assert_error(at, KR_EARG, "has no gradient");
    assert_false(kr_at_require_grad(at, kr_at_zeros(at, KR_I64, KR_DIMS(2))));
    assert_error(at, KR_EARG, "floating point");
    assert_false(kr_at_backward(at, w));
    assert_error(at, KR_EARG, "scalar outputs");
}

static void grad_mode_off_records_nothing(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_full(at, KR_F64, 3, KR_DIMS(2)), *loss;

    assert_true(kr_at_require_grad(at, w));
    assert_true(kr_at_grad_mode(at, false));
    loss = kr_at_sum(at, w);
    kr_at_fail(at, KR_EINPUT, "the mode is restored after an error too");
    assert_false(kr_at_grad_mode(at, true));
    assert_error(at, KR_EINPUT, "restored");
    assert_false(kr_at_backward(at, loss));
    assert_error(at, KR_EARG, "does not require grad");
    assert_true(kr_at_backward(at, kr_at_sum(at, w)));
    assert_tensor(at, kr_at_grad(at, w), (double[]){ 1, 1 }, KR_DIMS(2));
}

static void detach_ends_the_history(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_full(at, KR_F64, 3, KR_DIMS(2));

    assert_true(kr_at_require_grad(at, w));
    assert_true(
        kr_at_backward(at, kr_at_sum(at, kr_at_mul(at, w, kr_at_detach(at, w))))); /* not 2 w */
    assert_tensor(at, kr_at_grad(at, w), (double[]){ 3, 3 }, KR_DIMS(2));
}

static void bag_gradient_is_dense_or_sparse_alike(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *index = indices_of(at, (int64_t[]){ 2, 0, 2 }, 3);
    struct kr_tensor *offsets = indices_of(at, (int64_t[]){ 0 }, 1);

    for (int sparse = 0; sparse < 2; sparse++) {
        struct sample w = sample_new(at, 4, KR_DIMS(3, 2));

        assert_true(kr_at_require_grad(at, w.t));
        assert_true(kr_at_backward(
            at, kr_at_sum(at, kr_at_embedding_bag(at, w.t, index, offsets, KR_BAG_SUM, sparse))));
        assert_tensor(at, kr_at_grad(at, w.t), (double[]){ 1, 1, 0, 0, 2, 2 }, KR_DIMS(3, 2));
    }
}

/* ---- mixed precision ---- */

static void autocast_multiplies_in_its_dtype_until_switched_off(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *x = kr_at_full(at, KR_F32, 1.01, KR_DIMS(2, 2)), *y;

    assert_true(kr_at_autocast(at, true, KR_BF16));
    y = kr_at_matmul(at, x, x);
    assert_int_equal(kr_tensor_dtype(y), KR_BF16);
    assert_int_equal(kr_tensor_dtype(kr_at_add(at, x, x)), KR_F32);
    kr_at_fail(at, KR_EINPUT, "autocast is switched off after an error too");
    assert_true(kr_at_autocast(at, false, KR_BF16));
    assert_error(at, KR_EINPUT, "switched off");
    assert_int_equal(kr_tensor_dtype(kr_at_matmul(at, x, x)), KR_F32);
    /* 1.01 is 1.0078125 in bfloat16; twice its square, 2.0313..., is 2.03125. */
    assert_tensor(at, y, (double[]){ 2.03125, 2.03125, 2.03125, 2.03125 }, KR_DIMS(2, 2));
    assert_false(kr_at_autocast(at, true, (enum kr_dtype)99));
    assert_error(at, KR_EARG, "no such dtype");
}

static void weights_changed_under_autocast_count_once_it_is_off(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_full(at, KR_F32, 1, KR_DIMS(1, 1));
    struct kr_tensor *x = kr_at_full(at, KR_F32, 1, KR_DIMS(1, 1));

    assert_true(kr_at_require_grad(at, w)); /* only such weights are cached */
    for (int step = 0; step < 2; step++) {
        assert_true(kr_at_autocast(at, true, KR_BF16));
        assert_tensor(at, kr_at_linear(at, x, w, NULL), (double[]){ step ? 2 : 1 }, KR_DIMS(1, 1));
        assert_true(kr_at_autocast(at, false, KR_BF16));
        assert_true(kr_at_fill(at, kr_at_detach(at, w), 2));
    }
}

/* ---- optimizers ---- */

enum { STEPS = 3, W = 3 };

/* Gives w the gradient g: that of sum(w g). */
static void give_gradient(struct kr_at *at, const struct kr_tensor *w, const double g[W])
{
    assert_true(kr_at_backward(at, kr_at_sum(at, kr_at_mul(at, w, tensor_of(at, g, W)))));
}

static void sgd_oracle(double w[W], double momentum[W], const double g[W], const struct kr_sgd *how)
{
    for (int i = 0; i < W; i++) {
        momentum[i] = how->momentum * momentum[i] + g[i] + how->weight_decay * w[i];
        w[i] -= how->learning_rate * momentum[i];
    }
}

static void sgd_walks_with_momentum_and_decay(void **state)
{
    static const struct kr_sgd cases[] = {
        { .learning_rate = .1 },
        { .learning_rate = .1, .weight_decay = .2 },
        { .learning_rate = .1, .momentum = .9 },
        { .learning_rate = .1, .momentum = .9, .weight_decay = .2 },
    };
    struct kr_at *at = *state;
    struct sample g = sample_new(at, 5, KR_DIMS(STEPS, W));

    for (size_t i = 0; i < COUNT(cases) * 2; i++) {
        struct kr_sgd how = cases[i / 2];
        struct sample w = sample_new(at, 6, KR_DIMS(W));
        double momentum[W] = { 0 };
        struct kr_optim *o;

        how.form = i % 2 ? KR_OPTIM_FUSED : KR_OPTIM_FOREACH;
        assert_true(kr_at_require_grad(at, w.t));
        o = kr_at_sgd(at, &w.t, 1, &how);
        for (int step = 0; step < STEPS; step++) {
            give_gradient(at, w.t, g.v + step * W);
            sgd_oracle(w.v, momentum, g.v + step * W, &how);
            assert_true(kr_optim_step(at, o));
            assert_true(kr_optim_zero_grad(at, o));
            assert_tensor(at, w.t, w.v, KR_DIMS(W));
        }
        kr_optim_free(o);
    }
}

struct moments {
    double first[W], second[W];
    int n;
};

/* Loshchilov and Hutter 2019, algorithm 2, with the decay times the learning rate as torch has it.
 */
static void adamw_oracle(double w[W], struct moments *m, const double g[W],
                         const struct kr_adamw *how)
{
    m->n++;
    for (int i = 0; i < W; i++) {
        m->first[i] = how->beta1 * m->first[i] + (1 - how->beta1) * g[i];
        m->second[i] = how->beta2 * m->second[i] + (1 - how->beta2) * g[i] * g[i];
        w[i] -= how->learning_rate * how->weight_decay * w[i];
        w[i] -= how->learning_rate * m->first[i] / (1 - pow(how->beta1, m->n)) /
                (sqrt(m->second[i] / (1 - pow(how->beta2, m->n))) + how->eps);
    }
}

static void adamw_walks_by_its_moments(void **state)
{
    static const struct kr_adamw cases[] = {
        { .learning_rate = .1 },
        { .learning_rate = .1, .weight_decay = .2 },
        { .learning_rate = .1, .beta1 = .5, .beta2 = .6, .eps = .1, .weight_decay = .2 },
    };
    struct kr_at *at = *state;
    struct sample g = sample_new(at, 7, KR_DIMS(STEPS, W));

    for (size_t i = 0; i < COUNT(cases) * 2; i++) {
        struct kr_adamw how = cases[i / 2];
        struct sample w = sample_new(at, 8, KR_DIMS(W));
        struct moments m = { .n = 0 };
        struct kr_optim *o;

        how.form = i % 2 ? KR_OPTIM_FUSED : KR_OPTIM_FOREACH;
        assert_true(kr_at_require_grad(at, w.t));
        o = kr_at_adamw(at, &w.t, 1, &how);
        how.beta1 = how.beta1 > 0 ? how.beta1 : .9;
        how.beta2 = how.beta2 > 0 ? how.beta2 : .999;
        how.eps = how.eps > 0 ? how.eps : 1e-8;
        for (int step = 0; step < STEPS; step++) {
            give_gradient(at, w.t, g.v + step * W);
            adamw_oracle(w.v, &m, g.v + step * W, &how);
            assert_true(kr_optim_step(at, o));
            assert_true(kr_optim_zero_grad(at, o));
            assert_tensor(at, w.t, w.v, KR_DIMS(W));
        }
        kr_optim_free(o);
    }
}

/* The second parameter joins at the second step; the third, of another dtype, has no gradient. */
static void parameters_have_state_of_their_own(void **state)
{
    static const double one[W] = { 1, 1, 1 };
    struct kr_at *at = *state;

    for (int form = KR_OPTIM_FOREACH; form <= KR_OPTIM_FUSED; form++)
        for (int adam = 0; adam < 2; adam++) {
            const struct kr_sgd sgd = { .learning_rate = .1, .momentum = .9, .form = form };
            const struct kr_adamw adamw = {
                .learning_rate = .1, .beta1 = .9, .beta2 = .999, .eps = 1e-8, .form = form
            };
            double w[2][W] = { { 1, 2, 3 }, { 4, 5, 6 } }, momentum[2][W] = { { 0 } };
            struct moments m[2] = { { .n = 0 } };
            struct kr_tensor *params[3] = { tensor_of(at, w[0], W), tensor_of(at, w[1], W),
                                            kr_at_full(at, KR_F32, 7, KR_DIMS(W)) };
            struct kr_optim *o;

            for (int i = 0; i < 3; i++)
                assert_true(kr_at_require_grad(at, params[i]));
            o = adam ? kr_at_adamw(at, params, 3, &adamw) : kr_at_sgd(at, params, 3, &sgd);
            for (int step = 0; step < STEPS; step++) {
                for (int i = 0; i < 2 && i <= step; i++) {
                    give_gradient(at, params[i], one);
                    if (adam)
                        adamw_oracle(w[i], &m[i], one, &adamw);
                    else
                        sgd_oracle(w[i], momentum[i], one, &sgd);
                }
                assert_true(kr_optim_step(at, o));
                assert_true(kr_optim_zero_grad(at, o));
            }
            assert_tensor(at, params[0], w[0], KR_DIMS(W));
            assert_tensor(at, params[1], w[1], KR_DIMS(W));
            assert_tensor(at, params[2], (double[]){ 7, 7, 7 }, KR_DIMS(W));
            kr_optim_free(o);
        }
}

static void parameters_of_several_dtypes_all_move(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *params[] = { kr_at_full(at, KR_F32, 1, KR_DIMS(W)),
                                   kr_at_full(at, KR_F64, 1, KR_DIMS(W)),
                                   kr_at_full(at, KR_BF16, 1, KR_DIMS(W)) };
    const struct kr_sgd how = { .learning_rate = .5 };
    struct kr_optim *o;

    for (int i = 0; i < 3; i++)
        assert_true(kr_at_require_grad(at, params[i]));
    o = kr_at_sgd(at, params, 3, &how);
    for (int i = 0; i < 3; i++)
        assert_true(kr_at_backward(at, kr_at_sum(at, params[i])));
    assert_true(kr_optim_step(at, o));
    for (int i = 0; i < 3; i++)
        assert_tensor(at, params[i], (double[]){ .5, .5, .5 }, KR_DIMS(W));
    kr_optim_free(o);
}

/* A gradient may go on being added to over several steps. */
static void steps_leave_gradients_alone(void **state)
{
    struct kr_at *at = *state;

    for (int form = KR_OPTIM_FOREACH; form <= KR_OPTIM_FUSED; form++)
        for (int adam = 0; adam < 2; adam++) {
            const struct kr_sgd sgd = { .learning_rate = .1, .momentum = .9, .form = form };
            const struct kr_adamw adamw = { .learning_rate = .1, .weight_decay = .2, .form = form };
            struct kr_tensor *w = kr_at_full(at, KR_F64, 1, KR_DIMS(W));
            struct kr_optim *o;

            assert_true(kr_at_require_grad(at, w));
            o = adam ? kr_at_adamw(at, &w, 1, &adamw) : kr_at_sgd(at, &w, 1, &sgd);
            give_gradient(at, w, (double[]){ 1, 2, 3 });
            for (int step = 0; step < STEPS; step++) {
                assert_true(kr_optim_step(at, o));
                assert_tensor(at, kr_at_grad(at, w), (double[]){ 1, 2, 3 }, KR_DIMS(W));
            }
            kr_optim_free(o);
        }
}

static struct kr_tensor *table_with_sparse_gradient(struct kr_at *at)
{
    struct kr_tensor *w = kr_at_full(at, KR_F64, 1, KR_DIMS(3, 2));
    struct kr_tensor *index = indices_of(at, (int64_t[]){ 2, 0, 2 }, 3);

    assert_true(kr_at_require_grad(at, w));
    assert_true(kr_at_backward(
        at, kr_at_sum(at, kr_at_embedding_bag(at, w, index, indices_of(at, (int64_t[]){ 0 }, 1),
                                              KR_BAG_SUM, true))));
    return w;
}

static void sparse_gradient_moves_the_rows_used(void **state)
{
    static const struct kr_sgd refused[] = {
        { .learning_rate = .1, .momentum = .9 },
        { .learning_rate = .1, .weight_decay = .1 },
        { .learning_rate = .1, .form = KR_OPTIM_FUSED },
    };
    struct kr_at *at = *state;
    struct kr_tensor *w = table_with_sparse_gradient(at);
    struct kr_optim *o = kr_at_sgd(at, &w, 1, &(struct kr_sgd){ .learning_rate = .25 });

    assert_true(kr_optim_step(at, o));
    assert_tensor(at, w, (double[]){ .75, .75, 1, 1, .5, .5 }, KR_DIMS(3, 2));
    kr_optim_free(o);
    for (size_t i = 0; i < COUNT(refused); i++) {
        w = table_with_sparse_gradient(at);
        o = kr_at_sgd(at, &w, 1, &refused[i]);
        assert_false(kr_optim_step(at, o));
        assert_error(at, KR_EARG, "a sparse gradient needs");
        kr_optim_free(o);
    }
    o = kr_at_adamw(at, &w, 1, &(struct kr_adamw){ .learning_rate = .1 });
    assert_false(kr_optim_step(at, o));
    assert_error(at, KR_EARG, "no sparse gradients");
    kr_optim_free(o);
}

static void zero_grad_drops_gradients(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_full(at, KR_F64, 1, KR_DIMS(W));
    struct kr_optim *o;

    assert_true(kr_at_require_grad(at, w));
    o = kr_at_sgd(at, &w, 1, &(struct kr_sgd){ .learning_rate = 1 });
    give_gradient(at, w, (double[]){ 1, 2, 3 });
    assert_true(kr_optim_zero_grad(at, o));
    assert_true(kr_optim_step(at, o));
    assert_tensor(at, w, (double[]){ 1, 1, 1 }, KR_DIMS(W));
    assert_null(kr_at_grad(at, w));
    assert_error(at, KR_EARG, "has no gradient");
    kr_optim_free(o);
}

static void optimizers_refuse_what_cannot_be_trained(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *w = kr_at_zeros(at, KR_F64, KR_DIMS(W)), *nothing = NULL;

    assert_null(kr_at_sgd(at, &w, 1, &(struct kr_sgd){ .learning_rate = 1 }));
    assert_error(at, KR_EARG, "kr_at_sgd: a parameter does not require a gradient");
    assert_null(kr_at_adamw(at, &nothing, 1, &(struct kr_adamw){ .learning_rate = 1 }));
    assert_error(at, KR_EARG, "kr_at_adamw: a tensor is NULL");
    assert_false(kr_optim_step(at, NULL));
    assert_error(at, KR_EARG, "the optimizer is NULL");
    assert_false(kr_optim_zero_grad(at, NULL));
    assert_error(at, KR_EARG, "the optimizer is NULL");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(backward_adds_the_gradient_of_a_linear_fit),
        TEST(gradient_that_is_missing_is_an_error),
        TEST(grad_mode_off_records_nothing),
        TEST(detach_ends_the_history),
        TEST(bag_gradient_is_dense_or_sparse_alike),
        TEST(autocast_multiplies_in_its_dtype_until_switched_off),
        TEST(weights_changed_under_autocast_count_once_it_is_off),
        TEST(sgd_walks_with_momentum_and_decay),
        TEST(adamw_walks_by_its_moments),
        TEST(parameters_have_state_of_their_own),
        TEST(parameters_of_several_dtypes_all_move),
        TEST(steps_leave_gradients_alone),
        TEST(sparse_gradient_moves_the_rows_used),
        TEST(zero_grad_drops_gradients),
        TEST(optimizers_refuse_what_cannot_be_trained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The convolutional networks: their layers against plain loops, their size against publication. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "cnn.h"
#include "mem.h"
#include "stepper.h"
#include "weights.h"

enum { IMAGES = 2, SIDE = 9 };

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g where %.17g is due", got, want);
}

/* What a layer reads and writes, row-major on the host. */
struct plain {
    const struct kr_conv_spec *spec;
    double *x, *weight, *scale, *shift, *mean, *var;
};

static double *host_of(struct kr_at *at, const struct kr_tensor *t)
{
    size_t n = (size_t)kr_tensor_numel(t);
    double *v = calloc(n, sizeof *v);

    assert_non_null(v);
    assert_true(kr_at_to_host(at, t, v, n));
    return v;
}

/* x at image n, channel c, place (y, x); 0 outside. */
static double pixel(const struct plain *p, int64_t n, int64_t c, int64_t y, int64_t x)
{
    if (y < 0 || x < 0 || y >= SIDE || x >= SIDE)
        return 0;
    return p->x[((n * p->spec->in + c) * SIDE + y) * SIDE + x];
}

static double convolved(const struct plain *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    const struct kr_conv_spec *s = p->spec;
    int64_t per_group = s->in / s->groups;
    int64_t first = o / (s->out / s->groups) * per_group;
    double sum = 0;

    for (int64_t i = 0; i < per_group * s->kernel * s->kernel; i++) {
        int64_t c = i / (s->kernel * s->kernel);
        int64_t dy = i / s->kernel % s->kernel - s->kernel / 2;
        int64_t dx = i % s->kernel - s->kernel / 2;

        sum += p->weight[o * per_group * s->kernel * s->kernel + i] *
               pixel(p, n, first + c, y * s->stride + dy, x * s->stride + dx);
    }
    return sum;
}

/* One layer by kr_cnn_layer and by the loops above; training: normalised by the batch. */
static void compare_layer(const struct kr_conv_spec *spec, bool training)
{
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    const struct kr_run run = { .phase = training ? "train" : "infer", .dtype = KR_F64, .seed = 3 };
    struct kr_cnn c = { 0 };
    struct plain p = { .spec = spec };
    int64_t side = (SIDE - 1) / spec->stride + 1;
    int64_t area = side * side;
    double *got;

    assert_true(kr_cnn_open(&c, at, &run, IMAGES, SIDE));
    c.images = kr_input_normal(&c.params, KR_DIMS(IMAGES, spec->in, SIDE, SIDE));
    assert_int_equal(kr_cnn_add(&c, spec, SIDE), side);
    kr_at_grad_mode(at, false);
    assert_true(weights_vary(at, &c.params));
    p.x = host_of(at, c.images);
    p.weight = host_of(at, c.layers[0].weight);
    p.scale = host_of(at, c.layers[0].scale);
    p.shift = host_of(at, c.layers[0].shift);
    p.mean = host_of(at, c.layers[0].mean);
    p.var = host_of(at, c.layers[0].var);
    got = host_of(at, kr_cnn_layer(&c, c.images));
    for (int64_t o = 0; o < spec->out; o++) {
        double count = (double)(IMAGES * area);
        double mean = training ? 0 : p.mean[o];
        double var = training ? 0 : p.var[o];

        for (int64_t i = 0; training && i < IMAGES * area; i++)
            mean += convolved(&p, i / area, o, i % area / side, i % side) / count;
        for (int64_t i = 0; training && i < IMAGES * area; i++)
            var += pow(convolved(&p, i / area, o, i % area / side, i % side) - mean, 2) / count;
        for (int64_t i = 0; i < IMAGES * area; i++) {
            double want = convolved(&p, i / area, o, i % area / side, i % side);

            want = (want - mean) / sqrt(var + 1e-5) * p.scale[o] + p.shift[o];
            /* float64: only the order of sums differs */
            assert_near(got[(i / area * spec->out + o) * area + i % area], want, 1e-10);
        }
    }
    free(got);
    free(p.x);
    free(p.weight);
    free(p.scale);
    free(p.shift);
    free(p.mean);
    free(p.var);
    kr_cnn_close(&c);
    kr_at_grad_mode(at, true);
    kr_at_close(at);
}

static void layers_equal_plain_loops(void **state)
{
    static const struct kr_conv_spec specs[] = {
        { 3, 4, 7, 2, 1, true },  /* the stem */
        { 4, 6, 1, 1, 1, false }, /* a projection */
        { 4, 4, 3, 2, 4, true },  /* depthwise */
        { 4, 8, 3, 1, 2, true },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(specs); i++) {
        compare_layer(&specs[i], false);
        compare_layer(&specs[i], true);
    }
}

static struct kr_built built_of(const struct kr_model *model, const char *phase, int64_t batch)
{
    const struct kr_run run = {
        .preset = "imagenet", .phase = phase, .batch = batch, .dtype = KR_F32
    };
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_built built = { 0 };

    assert_true(model->open(at, &run, &built));
    model->close(built.state);
    kr_at_close(at);
    return built;
}

static void networks_have_the_published_number_of_weights(void **state)
{
    (void)state;
    /* As torchvision documents them. */
    assert_int_equal(built_of(&kr_model_resnet50, "infer", 1).n_params, 25557032);
    assert_int_equal(built_of(&kr_model_mobilenet, "infer", 1).n_params, 3504872);
}

static void networks_have_the_published_number_of_operations(void **state)
{
    (void)state;
    /* torchvision documents 4.09 and 0.30 G multiply-adds for an image; ours count two each. */
    assert_near(built_of(&kr_model_resnet50, "infer", 1).flop / 2e9, 4.09, 0.005);
    assert_near(built_of(&kr_model_mobilenet, "infer", 1).flop / 2e9, 0.30, 0.005);
    assert_near(built_of(&kr_model_resnet50, "train", 2).flop / 2e9, 6 * 4.09, 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_equal_plain_loops),
        cmocka_unit_test(networks_have_the_published_number_of_weights),
        cmocka_unit_test(networks_have_the_published_number_of_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

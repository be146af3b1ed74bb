#include "cnn.h"

#include <math.h>
#include <stdlib.h>

#include "mem.h"

#define LAYERS_MAX ((size_t)1 << 12)

/* torchvision's reference recipe for ResNet-50, whose rate is for 256 images and, as usual, in
 * proportion to their number (Goyal et al. 2017). */
#define RATE_BATCH 256
static const struct kr_sgd recipe = {
    .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-4, .form = KR_OPTIM_FOREACH
};

#define NORM_MOMENTUM 0.1
#define NORM_EPS      1e-5

bool kr_cnn_open(struct kr_cnn *c, struct kr_at *at, const struct kr_run *run, int64_t batch,
                 int64_t side)
{
    c->at = at;
    c->batch = batch;
    if (!kr_params_open(&c->params, at, run))
        return false;
    c->images = kr_input_images(&c->params, (const int64_t[]){ batch, 3, side, side });
    return c->images != NULL;
}

/* Statistics of a trained network are not 0 and 1; here they differ from that so that a check of
 * inference sees each of the four. */
static void make_norm(struct kr_cnn *c, struct kr_conv_norm *layer, int64_t channels)
{
    struct kr_params *p = &c->params;
    bool train = p->train;

    layer->scale = kr_param_full(p, train ? 1 : 1.1, KR_DIMS(channels));
    layer->shift = kr_param_full(p, train ? 0 : 0.05, KR_DIMS(channels));
    layer->mean = kr_param_state(p, p->dtype, train ? 0 : 0.1, KR_DIMS(channels));
    layer->var = kr_param_state(p, p->dtype, train ? 1 : 1.25, KR_DIMS(channels));
}

int64_t kr_cnn_add(struct kr_cnn *c, const struct kr_conv_spec *spec, int64_t side)
{
    int64_t fan_in = spec->in / spec->groups * spec->kernel * spec->kernel;
    int64_t padding = spec->kernel / 2;
    int64_t out_side = (side + 2 * padding - spec->kernel) / spec->stride + 1;
    double std = sqrt((spec->activated ? 2.0 : 1.0) / (double)fan_in);
    struct kr_conv_norm *layer;
    struct kr_err err = { 0 };

    if (!kr_grow(&c->layers, &c->room, c->n_layers + 1, sizeof *c->layers, LAYERS_MAX, &err)) {
        kr_at_fail(c->at, err.code, "%s", err.msg);
        return 0;
    }
    layer = &c->layers[c->n_layers++];
    *layer = (struct kr_conv_norm){
        .how = { .stride = spec->stride, .padding = padding, .groups = spec->groups },
    };
    layer->weight = kr_param_conv(
        &c->params, std,
        (const int64_t[]){ spec->out, spec->in / spec->groups, spec->kernel, spec->kernel });
    make_norm(c, layer, spec->out);
    c->flop += 2.0 * (double)(c->batch * spec->out * out_side * out_side) * (double)fan_in;
    return layer->var ? out_side : 0;
}

bool kr_cnn_finish(struct kr_cnn *c, int64_t features, int64_t classes, struct kr_built *out)
{
    struct kr_params *p = &c->params;
    struct kr_sgd sgd = recipe;

    c->weight = kr_param_normal(p, sqrt(1.0 / (double)features), KR_DIMS(classes, features));
    c->bias = kr_param_full(p, 0, KR_DIMS(classes));
    c->flop += 2.0 * (double)(c->batch * features) * (double)classes;
    *out = (struct kr_built){ .state = out->state,
                              .shape = { c->batch, classes },
                              .ndim = 2,
                              .batch = c->batch,
                              .n_params = p->n_elements,
                              .flop = c->flop };
    if (!p->train)
        return c->bias != NULL;
    out->ndim = 0;
    out->flop *= 3; /* a backward pass multiplies twice: for its weights and for its input */
    c->labels = kr_input_index(p, classes, KR_DIMS(c->batch));
    sgd.learning_rate *= (double)c->batch / RATE_BATCH;
    c->optim = kr_at_sgd(c->at, p->trained, p->n_trained, &sgd);
    return c->optim != NULL;
}

void kr_cnn_close(struct kr_cnn *c)
{
    kr_optim_free(c->optim);
    free(c->layers);
    kr_params_close(&c->params);
}

struct kr_tensor *kr_cnn_layer(struct kr_cnn *c, const struct kr_tensor *x)
{
    const struct kr_conv_norm *layer = &c->layers[c->next++];
    const struct kr_at_batch_norm norm = { .weight = layer->scale,
                                           .bias = layer->shift,
                                           .running_mean = layer->mean,
                                           .running_var = layer->var,
                                           .training = c->params.train,
                                           .momentum = NORM_MOMENTUM,
                                           .eps = NORM_EPS };

    return kr_at_batch_norm(c->at, kr_at_conv2d(c->at, x, layer->weight, NULL, &layer->how), &norm);
}

struct kr_tensor *kr_cnn_pool(struct kr_cnn *c, const struct kr_tensor *x)
{
    struct kr_tensor *means = kr_at_adaptive_avg_pool2d(c->at, x, 1, 1);

    return kr_at_reshape(c->at, means, KR_DIMS(c->batch, -1));
}

static struct kr_tensor *logits_of(struct kr_cnn *c, kr_cnn_body *body)
{
    struct kr_tensor *x;

    c->next = 0;
    x = body(c);
    if (c->dropout > 0)
        x = kr_at_dropout(c->at, x, c->dropout, c->params.train);
    return kr_at_linear(c->at, x, c->weight, c->bias);
}

static struct kr_tensor *train_step(struct kr_cnn *c, kr_cnn_body *body)
{
    bool mixed = c->params.autocast != KR_F32;
    struct kr_tensor *loss;

    kr_optim_zero_grad(c->at, c->optim);
    if (mixed)
        kr_at_autocast(c->at, true, c->params.autocast);
    loss = kr_at_cross_entropy(c->at, logits_of(c, body), c->labels);
    if (mixed)
        kr_at_autocast(c->at, false, c->params.autocast);
    kr_at_backward(c->at, loss);
    kr_optim_step(c->at, c->optim);
    return kr_at_detach(c->at, loss);
}

struct kr_tensor *kr_cnn_step(struct kr_cnn *c, kr_cnn_body *body)
{
    struct kr_tensor *logits;
    bool record;

    if (c->params.train)
        return train_step(c, body);
    record = kr_at_grad_mode(c->at, false);
    logits = logits_of(c, body);
    kr_at_grad_mode(c->at, record);
    return logits;
}

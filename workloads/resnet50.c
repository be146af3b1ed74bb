/*
 * ResNet-50 (He et al. 2016), version 1.5: the stride of a block stands in its 3x3 convolution, as
 * in torchvision and MLPerf. Training: batch norm over the batch, SGD with momentum, cross entropy.
 * Inference: batch norm by running statistics, not folded into the convolutions, as torch's eager
 * eval() runs it.
 */
#include <stdlib.h>
#include <string.h>

#include "cnn.h"
#include "mem.h"

enum { STAGES = 4, EXPANSION = 4 };

struct resnet_preset {
    const char *name;
    int64_t side, classes;
    int64_t width; /* channels behind the stem */
    int64_t blocks[STAGES];
    int64_t batch_train, batch_infer;
};

/* 256 images: the batch that the usual recipes give their learning rate for. 32: a served batch. */
static const struct resnet_preset presets[] = {
    { "imagenet", 224, 1000, 64, { 3, 4, 6, 3 }, 256, 32 },
    { "tiny", 64, 10, 8, { 1, 1, 1, 1 }, 8, 4 },
};

struct resnet {
    struct kr_cnn cnn; /* first: kr_cnn_step hands it to the body */
    const struct resnet_preset *preset;
};

static const struct resnet_preset *find_preset(const char *name)
{
    const struct resnet_preset *found = presets;

    for (size_t i = 0; i < KR_COUNT(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            found = &presets[i];
    }
    return found;
}

static int64_t stride_of(size_t stage, int64_t block)
{
    return stage > 0 && block == 0 ? 2 : 1;
}

/* Three convolutions; the first block of a stage has a fourth, beside them. */
static int64_t add_block(struct kr_cnn *c, int64_t in, int64_t mid, int64_t stride, int64_t side)
{
    int64_t out = EXPANSION * mid;
    int64_t next;

    next = kr_cnn_add(c, &(struct kr_conv_spec){ in, mid, 1, 1, 1, true }, side);
    next = kr_cnn_add(c, &(struct kr_conv_spec){ mid, mid, 3, stride, 1, true }, next);
    next = kr_cnn_add(c, &(struct kr_conv_spec){ mid, out, 1, 1, 1, false }, next);
    if (in != out)
        next = kr_cnn_add(c, &(struct kr_conv_spec){ in, out, 1, stride, 1, false }, side);
    return next;
}

static bool resnet_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    const struct resnet_preset *preset = find_preset(run->preset);
    bool train = strcmp(run->phase, "train") == 0;
    int64_t batch = run->batch ? run->batch : train ? preset->batch_train : preset->batch_infer;
    int64_t channels = preset->width;
    struct resnet *r = calloc(1, sizeof *r);
    int64_t side;

    if (!r)
        return kr_at_fail(at, KR_ENOMEM, "out of memory");
    out->state = r;
    r->preset = preset;
    if (!kr_cnn_open(&r->cnn, at, run, batch, preset->side))
        return false;
    side = kr_cnn_add(&r->cnn, &(struct kr_conv_spec){ 3, channels, 7, 2, 1, true }, preset->side);
    side = (side - 1) / 2 + 1; /* max pooling, 3x3 by 2 */
    for (size_t s = 0; s < STAGES; s++) {
        for (int64_t b = 0; b < preset->blocks[s]; b++) {
            side = add_block(&r->cnn, channels, preset->width << s, stride_of(s, b), side);
            channels = EXPANSION * (preset->width << s);
        }
    }
    return kr_cnn_finish(&r->cnn, channels, preset->classes, out);
}

/* relu(bn3(conv3(..)) + shortcut(x)) */
static struct kr_tensor *run_block(struct kr_cnn *c, struct kr_tensor *x, bool projects)
{
    struct kr_tensor *y = kr_cnn_layer(c, x);

    kr_at_relu_in_place(c->at, y);
    y = kr_cnn_layer(c, y);
    kr_at_relu_in_place(c->at, y);
    y = kr_cnn_layer(c, y);
    if (projects)
        x = kr_cnn_layer(c, x);
    kr_at_add_in_place(c->at, y, x);
    kr_at_relu_in_place(c->at, y);
    return y;
}

static struct kr_tensor *body(struct kr_cnn *c)
{
    const struct resnet_preset *preset = ((struct resnet *)c)->preset;
    struct kr_tensor *x = kr_cnn_layer(c, c->images);

    kr_at_relu_in_place(c->at, x);
    x = kr_at_max_pool2d(c->at, x, 3, 2, 1);
    for (size_t s = 0; s < STAGES; s++) {
        for (int64_t b = 0; b < preset->blocks[s]; b++) {
            kr_at_scope_open(c->at);
            x = kr_at_scope_replace(c->at, x, run_block(c, x, b == 0));
        }
    }
    return kr_cnn_pool(c, x);
}

static struct kr_tensor *resnet_step(struct kr_at *at, void *state)
{
    (void)at;
    return kr_cnn_step(state, body);
}

static void resnet_close(void *state)
{
    if (state)
        kr_cnn_close(state);
    free(state);
}

const struct kr_model kr_model_resnet50 = {
    .name = "resnet50",
    .summary = "ResNet-50 v1.5, image classification",
    .phases = (const char *const[]){ "infer", "train", NULL },
    .presets = (const char *const[]){ "imagenet", "tiny", NULL },
    .dtype = KR_BF16,
    .can_graph = true,
    .takes_batch_only = true,
    .open = resnet_open,
    .step = resnet_step,
    .close = resnet_close,
};

/*
 * MobileNetV2 (Sandler et al. 2018): inverted residual blocks around depthwise convolutions, with
 * relu6. Few multiplications and many small memory-bound kernels: the other end of CNNs.
 */
#include <stdlib.h>
#include <string.h>

#include "cnn.h"
#include "mem.h"

/* Blocks of one kind: the first has the stride, the others 1. Table 2 of the paper. */
struct stage {
    int64_t expansion, channels, blocks, stride;
};

enum { STAGES = 7 };

struct mobilenet_preset {
    const char *name;
    int64_t side, classes;
    int64_t stem, last; /* channels of the first and the last convolution */
    struct stage stages[STAGES];
    size_t n_stages;
    int64_t batch_train, batch_infer;
};

static const struct mobilenet_preset presets[] = {
    { "imagenet",
      224,
      1000,
      32,
      1280,
      { { 1, 16, 1, 1 },
        { 6, 24, 2, 2 },
        { 6, 32, 3, 2 },
        { 6, 64, 4, 2 },
        { 6, 96, 3, 1 },
        { 6, 160, 3, 2 },
        { 6, 320, 1, 1 } },
      STAGES,
      256,
      32 },
    { "tiny", 32, 10, 8, 64, { { 1, 8, 1, 1 }, { 6, 12, 2, 2 }, { 6, 16, 2, 2 } }, 3, 32, 4 },
};

#define DROPOUT 0.2

struct mobilenet {
    struct kr_cnn cnn; /* first: kr_cnn_step hands it to the body */
    const struct mobilenet_preset *preset;
};

static const struct mobilenet_preset *find_preset(const char *name)
{
    const struct mobilenet_preset *found = presets;

    for (size_t i = 0; i < KR_COUNT(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            found = &presets[i];
    }
    return found;
}

/* Widen unless the expansion is 1, filter each channel, project. */
static int64_t add_block(struct kr_cnn *c, const struct stage *stage, int64_t in, int64_t stride,
                         int64_t side)
{
    int64_t mid = in * stage->expansion;

    if (mid != in)
        side = kr_cnn_add(c, &(struct kr_conv_spec){ in, mid, 1, 1, 1, true }, side);
    side = kr_cnn_add(c, &(struct kr_conv_spec){ mid, mid, 3, stride, mid, true }, side);
    return kr_cnn_add(c, &(struct kr_conv_spec){ mid, stage->channels, 1, 1, 1, false }, side);
}

static bool build(struct mobilenet *m, struct kr_built *out)
{
    const struct mobilenet_preset *preset = m->preset;
    struct kr_cnn *c = &m->cnn;
    int64_t channels = preset->stem;
    int64_t side;

    side = kr_cnn_add(c, &(struct kr_conv_spec){ 3, channels, 3, 2, 1, true }, preset->side);
    for (size_t s = 0; s < preset->n_stages; s++) {
        const struct stage *stage = &preset->stages[s];

        for (int64_t b = 0; b < stage->blocks; b++) {
            side = add_block(c, stage, channels, b ? 1 : stage->stride, side);
            channels = stage->channels;
        }
    }
    kr_cnn_add(c, &(struct kr_conv_spec){ channels, preset->last, 1, 1, 1, true }, side);
    return kr_cnn_finish(c, preset->last, preset->classes, out);
}

static bool mobilenet_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    const struct mobilenet_preset *preset = find_preset(run->preset);
    bool train = strcmp(run->phase, "train") == 0;
    int64_t batch = run->batch ? run->batch : train ? preset->batch_train : preset->batch_infer;
    struct mobilenet *m = calloc(1, sizeof *m);

    if (!m)
        return kr_at_fail(at, KR_ENOMEM, "out of memory");
    out->state = m;
    m->preset = preset;
    m->cnn.dropout = run->host_random ? 0 : DROPOUT;
    return kr_cnn_open(&m->cnn, at, run, batch, preset->side) && build(m, out);
}

static struct kr_tensor *activated(struct kr_cnn *c, const struct kr_tensor *x)
{
    return kr_at_relu6(c->at, kr_cnn_layer(c, x));
}

static struct kr_tensor *run_block(struct kr_cnn *c, struct kr_tensor *x, bool widens, bool adds)
{
    struct kr_tensor *y = x;

    if (widens)
        y = activated(c, y);
    y = kr_cnn_layer(c, activated(c, y));
    return adds ? kr_at_add(c->at, x, y) : y;
}

static struct kr_tensor *body(struct kr_cnn *c)
{
    const struct mobilenet_preset *preset = ((struct mobilenet *)c)->preset;
    struct kr_tensor *x = activated(c, c->images);

    for (size_t s = 0; s < preset->n_stages; s++) {
        const struct stage *stage = &preset->stages[s];

        for (int64_t b = 0; b < stage->blocks; b++) {
            kr_at_scope_open(c->at);
            x = kr_at_scope_replace(c->at, x, run_block(c, x, stage->expansion > 1, b > 0));
        }
    }
    return kr_cnn_pool(c, activated(c, x));
}

static struct kr_tensor *mobilenet_step(struct kr_at *at, void *state)
{
    (void)at;
    return kr_cnn_step(state, body);
}

static void mobilenet_close(void *state)
{
    if (state)
        kr_cnn_close(state);
    free(state);
}

const struct kr_model kr_model_mobilenet = {
    .name = "mobilenet",
    .summary = "MobileNetV2, image classification with depthwise convolutions",
    .phases = (const char *const[]){ "infer", "train", NULL },
    .presets = (const char *const[]){ "imagenet", "tiny", NULL },
    .dtype = KR_BF16,
    .can_graph = true,
    .takes_batch_only = true,
    .open = mobilenet_open,
    .step = mobilenet_step,
    .close = mobilenet_close,
};

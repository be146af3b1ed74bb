/*
 * What convolutional networks share: convolution with batch norm, the classifier behind it, and one
 * step of inference or training. A network is a list of layers, which its own file builds and walks
 * in the same order. Images are [N, C, side, side], channels-last.
 */
#ifndef KR_CNN_H
#define KR_CNN_H

#include "workload.h"

/* A convolution without bias and its batch norm. All borrowed from the parameters. */
struct kr_conv_norm {
    struct kr_tensor *weight;        /* [O, I / groups, K, K] */
    struct kr_tensor *scale, *shift; /* [O] */
    struct kr_tensor *mean, *var;    /* [O], running statistics */
    struct kr_at_conv2d how;
};

struct kr_conv_spec {
    int64_t in, out; /* channels */
    int64_t kernel;  /* odd; padding keeps the side but for the stride */
    int64_t stride, groups;
    bool activated; /* an activation follows: the weights are scaled for it (He et al. 2015) */
};

struct kr_cnn;

/** The network's body: images to features [N, C]. */
typedef struct kr_tensor *kr_cnn_body(struct kr_cnn *c);

struct kr_cnn {
    struct kr_params params;
    struct kr_at *at; /* borrowed */
    struct kr_conv_norm *layers;
    size_t n_layers, room;
    struct kr_tensor *weight, *bias;   /* classifier [classes, C], [classes] */
    struct kr_tensor *images, *labels; /* labels [N] only when training */
    struct kr_optim *optim;            /* NULL unless training */
    double dropout;                    /* before the classifier, when training */
    int64_t batch;
    double flop; /* of one forward pass, so far */
    size_t next; /* layer that kr_cnn_layer takes next */
};

/** Parameters and images. False has left the error in at; kr_cnn_close also then. */
bool kr_cnn_open(struct kr_cnn *c, struct kr_at *at, const struct kr_run *run, int64_t batch,
                 int64_t side);
/**
 * Adds a layer whose input has the given side.
 * @return the side of its output; 0 on error
 */
int64_t kr_cnn_add(struct kr_cnn *c, const struct kr_conv_spec *spec, int64_t side);
/** The classifier, labels and optimizer, behind the last layer; fills all of out but state. */
bool kr_cnn_finish(struct kr_cnn *c, int64_t features, int64_t classes, struct kr_built *out);
void kr_cnn_close(struct kr_cnn *c);

/** x through the next layer: convolution and batch norm. */
struct kr_tensor *kr_cnn_layer(struct kr_cnn *c, const struct kr_tensor *x);
/** Mean over the image: [N, C, H, W] to [N, C]. */
struct kr_tensor *kr_cnn_pool(struct kr_cnn *c, const struct kr_tensor *x);
/** One step: logits [N, classes], or the loss of a step of SGD with momentum. */
struct kr_tensor *kr_cnn_step(struct kr_cnn *c, kr_cnn_body *body);

#endif

/* What a model gives to the driver, kreach-workload, and what the driver gives to it. */
#ifndef KR_WORKLOAD_H
#define KR_WORKLOAD_H

#include "aten_shim.h"

/** What one run is to do. The driver has checked phase and preset against the model's lists. */
struct kr_run {
    const char *preset;  /* one of the model's */
    const char *phase;   /* one of the model's */
    int64_t batch;       /* samples of a step; 0: the preset's */
    int64_t seq;         /* tokens of a sample, for models that have them; 0: the preset's */
    int64_t layers;      /* of models with a stack of equal layers; 0: the preset's, or what fits */
    enum kr_dtype dtype; /* of weights and activations; in training, of autocast (KR_F32: none) */
    bool graph;          /* the step will be captured: it must touch no memory but its own */
    bool host_random;    /* a check: random numbers from the CPU's generator, in float32, so that
                            devices and dtypes agree, and none inside of steps (no dropout) */
    uint64_t seed;
};

#define KR_NOTE_BYTES 160

/** What a model says of itself once it is built. */
struct kr_built {
    void *state;                /* the model's own; for step and close */
    int64_t shape[KR_NDIM_MAX]; /* of the tensor that step returns */
    size_t ndim;
    int64_t batch;            /* what the run really does, presets resolved */
    int64_t seq;              /* 0 when the model has no sequence */
    int64_t tokens;           /* that a step takes in or makes; 0 when the model has none */
    uint64_t n_params;        /* elements of all weights */
    double flop;              /* floating point operations of a step, by the usual count of 2
                                 for a multiply-add of matmul and convolution; 0: not known */
    char note[KR_NOTE_BYTES]; /* what a reader of the numbers must know, e.g. "64 of 80 layers";
                                 or "" */
};

/** A model. All strings are constants; lists end with NULL, their first entry is the default. */
struct kr_model {
    const char *name;
    const char *summary; /* one line */
    const char *const *phases;
    const char *const *presets; /* one of them is "tiny": a check on a CPU takes under a second */
    enum kr_dtype dtype;        /* default */
    bool can_graph;             /* whether every phase but "train" can be captured */
    bool takes_batch_only;      /* there is no sequence and no stack of equal layers to choose */

    /** Builds weights and inputs. out is zeroed; on failure out->state may be half-built. */
    bool (*open)(struct kr_at *at, const struct kr_run *run, struct kr_built *out);
    /**
     * One step. The driver opens a scope around it, so it frees nothing itself; it opens scopes of
     * its own where memory matters (a layer). It never waits for the device. But for training, each
     * step computes the same from the same inputs, so that steps, and replays of a graph, compare.
     * @return what is checked: logits, tokens' scores, probabilities; the loss when training
     */
    struct kr_tensor *(*step)(struct kr_at *at, void *state);
    /** Copes with NULL and with half-built state. */
    void (*close)(void *state);
};

/* The models, one file each. */
extern const struct kr_model kr_model_bert;
extern const struct kr_model kr_model_dlrm;
extern const struct kr_model kr_model_gpt2;
extern const struct kr_model kr_model_llama;
extern const struct kr_model kr_model_mobilenet;
extern const struct kr_model kr_model_resnet50;

/** All models, by name; ends with NULL (models.c). */
extern const struct kr_model *const kr_models[];

/** The model of exactly that name, or NULL. */
const struct kr_model *kr_model_find(const char *name);

/* ---- weights (params.c) ---- */

/**
 * The weights of a model: a growing list that owns them, and how they are made. A model has one in
 * its state, opens it first and closes it last. Functions that return a tensor give one that the
 * list owns and the caller borrows; NULL when the context has an error, now or before.
 */
struct kr_params {
    struct kr_at *at;       /* borrowed */
    struct kr_at *host;     /* a context on the CPU, when host_random and at is on another device */
    struct kr_tensor **all; /* owned: weights, state, inputs */
    size_t n, room;
    struct kr_tensor **trained; /* borrowed from all: those that require gradients */
    size_t n_trained, room_trained;
    uint64_t n_elements;    /* of the weights: neither state nor inputs */
    enum kr_dtype dtype;    /* of the weights; at least float32 when training */
    enum kr_dtype autocast; /* when training in a 16-bit dtype, that; else KR_F32: none */
    bool train;             /* the phase is "train": weights require gradients */
    bool host_random;
};

/** Seeds the generators. False has left the error in at; close also then. */
bool kr_params_open(struct kr_params *p, struct kr_at *at, const struct kr_run *run);
void kr_params_close(struct kr_params *p);

/** A weight: normal with mean 0 and the given standard deviation, or all equal. */
struct kr_tensor *kr_param_normal(struct kr_params *p, double std, const int64_t shape[],
                                  size_t ndim);
struct kr_tensor *kr_param_full(struct kr_params *p, double value, const int64_t shape[],
                                size_t ndim);
/** A normal weight [O, I, K, L] of a convolution, stored with I innermost (channels-last). */
struct kr_tensor *kr_param_conv(struct kr_params *p, double std, const int64_t shape[4]);
/** State that is not trained: caches, running statistics (dtype of its own). */
struct kr_tensor *kr_param_state(struct kr_params *p, enum kr_dtype dtype, double value,
                                 const int64_t shape[], size_t ndim);
/** Inputs that stay the same for all steps; dtype of the weights, or int64 0 <= i < high. */
struct kr_tensor *kr_input_normal(struct kr_params *p, const int64_t shape[], size_t ndim);
/** Images [N, C, H, W], channels-last. */
struct kr_tensor *kr_input_images(struct kr_params *p, const int64_t shape[4]);
struct kr_tensor *kr_input_index(struct kr_params *p, int64_t high, const int64_t shape[],
                                 size_t ndim);
/** Gives the list a tensor of the innermost scope; returns it, or NULL when t is NULL. */
struct kr_tensor *kr_input_keep(struct kr_params *p, struct kr_tensor *t);

#endif

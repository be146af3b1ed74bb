/*
 * What the transformer models have in common: layers with biases, heads, rotary positions, counts.
 *
 * Letters. B batch, T tokens of a call, S tokens seen, C width, H heads, D = C / H, I and O inputs
 * and outputs of a layer, V words of the vocabulary.
 *
 * Functions that return a tensor follow aten_shim.h; kr_param_* follow workload.h. The state of
 * each model begins with its struct kr_params.
 */
#ifndef KR_TRANSFORMER_H
#define KR_TRANSFORMER_H

#include "workload.h"

/** Place of a name in a list that ends with NULL, where it is known to stand. */
size_t kr_name_place(const char *const names[], const char *name);

/** Zeroed memory of n items for a model's state, freed with free(); NULL has left the error in at.
 */
void *kr_state_alloc(struct kr_at *at, size_t n, size_t size);

/** What a preset says of a stack of layers. */
struct kr_stack {
    int64_t layers;
    int64_t positions; /* most tokens of a sample; 0: any number */
    int64_t batch, seq;
};

/**
 * Fills out's batch and seq: what the run asks for, else the preset's.
 * @return the number of layers, likewise; 0 has left the error in at
 */
int64_t kr_stack_resolve(struct kr_at *at, const struct kr_run *run, const struct kr_stack *preset,
                         struct kr_built *out);

/** Notes that a model was built with some of its layers only. */
void kr_layers_note(struct kr_built *out, int64_t n, int64_t n_all);

/** Borrowed from the model's kr_params. */
struct kr_dense {
    struct kr_tensor *weight; /* [O, I] */
    struct kr_tensor *bias;   /* [O] */
};

struct kr_norm {
    struct kr_tensor *weight; /* [C] */
    struct kr_tensor *bias;   /* [C] */
};

/** A weight of normal numbers and a bias of zeros. */
struct kr_dense kr_param_dense(struct kr_params *p, int64_t in, int64_t out, double std);
/** Ones and zeros. */
struct kr_norm kr_param_norm(struct kr_params *p, int64_t width);

/** x [.., I]: [.., O]. */
struct kr_tensor *kr_dense(struct kr_at *at, const struct kr_tensor *x, const struct kr_dense *d);
/** Over the last dimension of x [.., C]. */
struct kr_tensor *kr_norm(struct kr_at *at, const struct kr_tensor *x, const struct kr_norm *n,
                          double eps);

/** x [B, T, n_heads D]: [B, n_heads, T, D], a view. */
struct kr_tensor *kr_heads_split(struct kr_at *at, const struct kr_tensor *x, int64_t n_heads);
/** x [B, H, T, D]: [B, T, H D]. */
struct kr_tensor *kr_heads_merge(struct kr_at *at, const struct kr_tensor *x);

/** Angles of rotary position embeddings, in the scope where they were made. */
struct kr_rotary {
    struct kr_tensor *cos; /* [T, D] */
    struct kr_tensor *sin; /* [T, D] */
};

/**
 * Angular frequencies base^(-2 i / D), i = 0 .. D/2 - 1: [D/2] float32.
 * Source: Su et al. 2021, RoFormer.
 */
struct kr_tensor *kr_rotary_frequencies(struct kr_at *at, int64_t n_features, double base);
/** Computed in float32, given in dtype. frequencies [D/2] float32, positions [T] int64. */
struct kr_rotary kr_rotary_angles(struct kr_at *at, const struct kr_tensor *frequencies,
                                  const struct kr_tensor *positions, enum kr_dtype dtype);
/** Turns the pairs (i, i + D/2) of x [B, H, T, D] by their angles. */
struct kr_tensor *kr_rotary_turn(struct kr_at *at, const struct kr_tensor *x,
                                 const struct kr_rotary *angles);

/**
 * Floating point operations of one layer, forward [flop].
 *
 * @param n_tokens  tokens of all samples
 * @param n_weights elements of the layer's matrices: 2 flop each for a token
 * @param n_pairs   pairs of a query and a key it sees, of all samples: 2 C flop for the score, 2 C
 *                  for the value. Normalisation, softmax and activations are not counted.
 */
double kr_layer_flop(double n_tokens, double n_weights, double n_pairs, int64_t width);

/** Pairs of a query and a key of a causal layer, T tokens: each sees itself and those before. */
double kr_causal_pairs(int64_t n_tokens);

#endif

/*
 * The transformer models once more, in plain loops over doubles, from the weights of a built model.
 * Weights are taken in the order in which the model made them. Any failure ends the test.
 */
#ifndef KR_TEST_PLAIN_TRANSFORMER_H
#define KR_TEST_PLAIN_TRANSFORMER_H

#include "workload.h"

/** Rows of numbers, owned by a struct plain. */
struct mat {
    size_t rows, cols;
    double *v;
};

#define PLAIN_HELD_MAX 256

struct plain {
    struct kr_at *at;
    const struct kr_params *params;
    size_t next; /* of params->all */
    double flop; /* done so far, 2 for a multiply-add */
    size_t n_held;
    double *held[PLAIN_HELD_MAX];
};

/** Forgets all numbers and begins with the first weight again; flop stays. */
void plain_reset(struct plain *p);

/** What the "tiny" presets are. tokens [T]; the result is that of the step, for one sample. */
struct mat plain_llama(struct plain *p, const double tokens[], size_t n_tokens);
struct mat plain_gpt2(struct plain *p, const double tokens[], size_t n_tokens);
struct mat plain_bert(struct plain *p, const double tokens[], const double segments[],
                      size_t n_tokens);

#endif

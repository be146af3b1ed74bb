/* Looking into a built model. Any failure ends the test. */
#ifndef KR_TEST_WEIGHTS_H
#define KR_TEST_WEIGHTS_H

#include "workload.h"

/** The i-th of the integer tensors: inputs, in the order in which the model made them. */
struct kr_tensor *weights_index(const struct kr_params *p, size_t i);

/**
 * Makes mistakes visible that a new model hides: adds noise to the weights that begin all alike
 * (biases, norms), and scales matrices [O, I] to a standard deviation of I^-1/2, so that features
 * are near 1, where activations bend. The noise comes from the context's generator.
 */
bool weights_vary(struct kr_at *at, const struct kr_params *p);

#endif

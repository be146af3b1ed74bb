/* Looking into a built model. Any failure ends the test. */
#ifndef KR_TEST_WEIGHTS_H
#define KR_TEST_WEIGHTS_H

#include "workload.h"

/** The i-th of the integer tensors: inputs, in the order in which the model made them. */
struct kr_tensor *weights_index(const struct kr_params *p, size_t i);

/**
 * Adds noise to the weights that begin all alike (biases, norms): as they are, a model that forgets
 * them computes the same. The noise comes from the context's generator.
 */
bool weights_vary(struct kr_at *at, const struct kr_params *p);

#endif

/* A model that is built and ready to be run step after step, as it is or from a CUDA graph. */
#ifndef KR_STEPPER_H
#define KR_STEPPER_H

#include "workload.h"

struct kr_stepper {
    struct kr_at *at; /* borrowed */
    const struct kr_model *model;
    struct kr_built built;
    struct kr_stream *side;     /* where the graph was captured */
    struct kr_graph *graph;     /* NULL: each step is launched anew */
    struct kr_tensor *captured; /* what the graph's step returns */
};

/**
 * Builds the model, and captures its step when run->graph says so. s is zeroed before.
 * @return false with the error in at; kr_stepper_close also then
 */
bool kr_stepper_open(struct kr_stepper *s, struct kr_at *at, const struct kr_model *model,
                     const struct kr_run *run);
void kr_stepper_close(struct kr_stepper *s);

/** One step, without waiting for it. The result lasts until the caller's scope is closed, or the
 *  next step; NULL with the error in at. */
struct kr_tensor *kr_stepper_step(struct kr_stepper *s);

/**
 * Whether a step's result is of the shape that the model told and finite; waits for it.
 * @param why  set to the reason when it is not; room for KR_WHY_BYTES
 * @return false also with an error in at, why is then empty
 */
bool kr_stepper_check(struct kr_stepper *s, const struct kr_tensor *result, char *why);

#define KR_WHY_BYTES 256

#endif

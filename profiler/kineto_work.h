/* Arithmetic and traffic of matrix products and convolutions from an op's recorded shapes. */
#ifndef KR_KINETO_WORK_H
#define KR_KINETO_WORK_H

#include <stdbool.h>

#include "json_walk.h"

/* What the recorder wrote about an op's inputs, as raw JSON lists; absent without record_shapes. */
struct kr_kineto_inputs {
    struct kr_json_span dims;     /* "Input Dims" */
    struct kr_json_span types;    /* "Input type" */
    struct kr_json_span concrete; /* "Concrete Inputs" */
};

struct kr_kineto_work {
    double flop;               /* multiply and add counted as two; 0 = unknown */
    double bytes;              /* each input read once, each output written once; 0 = unknown */
    struct kr_json_span dtype; /* of the first factor, raw, e.g. c10::BFloat16, or ""; borrowed */
};

/** True for the ops that kr_kineto_work knows. */
bool kr_kineto_has_work(const char *op, size_t len);

/**
 * Work of one call of an op: mm, addmm, bmm, baddbmm, matmul, linear and _scaled_mm as 2 M N K a
 * matrix; (cudnn_, miopen_)convolution forward as 2 N K P Q C R S / groups.
 * @return false when the shapes are absent or leave a doubt.
 */
bool kr_kineto_work(const char *op, size_t len, const struct kr_kineto_inputs *inputs,
                    struct kr_kineto_work *work);

#endif

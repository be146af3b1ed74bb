/*
 * Whether a model computes the right thing: its tiny preset, on the device and in the dtype of the
 * run, against the same weights and inputs in float64 on the CPU.
 */
#ifndef KR_SELFCHECK_H
#define KR_SELFCHECK_H

#include "stepper.h"

struct kr_selfcheck {
    bool holds;
    /* Inference: |a - b| / |b - mean(b)| over all elements (Frobenius norms): what a constant part
     * of the result would hide is not hidden. Training: greatest difference of the losses of the
     * first steps, as a share of how far they fall. INFINITY when it could not be computed. */
    double error;
    double tolerance;
    char why[KR_WHY_BYTES]; /* why it does not hold; else "" */
};

/**
 * Unlike in the run to be checked, batch, seq and layers are the preset's.
 * @return false with err filled when the check could not be made; out then says nothing
 */
bool kr_selfcheck(const struct kr_model *model, const struct kr_run *run, enum kr_device device,
                  struct kr_selfcheck *out, struct kr_err *err);

/**
 * The error that rounding may cause: 16 times the unit roundoff of the numbers that are multiplied.
 * Rounding errors of a chain of n operations grow like sqrt(n) units when they are independent, and
 * the tiny presets are chains of 20 to 200. float32 on CUDA counts as TF32, which cuDNN multiplies
 * in; on the CPU, where only sums round, the order of sums takes 256 units. Training never has less
 * than TF32's: an input of a relu that rounds to the other side of 0 turns a whole gradient off, in
 * any dtype.
 */
double kr_selfcheck_tolerance(const struct kr_run *run, enum kr_device device);

#endif

/* Runs a workload: checks it, warms it up, measures it. */
#ifndef KR_RUN_H
#define KR_RUN_H

#include "selfcheck.h"

struct kr_run_options {
    enum kr_device device;
    uint64_t steps;  /* measured ones; 0: ten blocks, see below */
    uint64_t warmup; /* steps before them, at least 1 */
    bool check;
};

/*
 * What came of it. Time is taken over blocks of steps, each between two waits for the device and at
 * least 50 ms long, so that launches run ahead of the device as in real use: by one step.
 */
struct kr_run_result {
    struct kr_built built; /* but for state, which is gone */
    bool checked;
    struct kr_selfcheck check;
    char device_name[128];
    uint64_t n_steps, n_blocks;
    uint64_t block_steps; /* of all blocks but the last, which has what is left */
    double step_ns;       /* median of the blocks' mean steps */
    double low_ns;        /* quartiles of the same; NAN for fewer than 4 blocks */
    double high_ns;
    uint64_t peak_bytes; /* most memory held by tensors; 0: not known */
};

/**
 * Each measured step stands in an NVTX range "step N", and nothing else in any.
 * @return false with err filled when it could not be run; true when it ran, or when a check said
 *         no: then out->check.why says what is wrong, and there are no times
 */
bool kr_run_workload(const struct kr_model *model, const struct kr_run *run,
                     const struct kr_run_options *options, struct kr_run_result *out,
                     struct kr_err *err);

#endif

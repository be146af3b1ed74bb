/* What a person must know before believing a prediction. */
#ifndef KR_PREDICT_WARN_H
#define KR_PREDICT_WARN_H

#include "predict.h"

/** Adds one sentence to the result's warnings. */
bool kr_predict_warn(struct kr_predict_result *r, struct kr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** About the entries: shadowed time, evidence that is missing or of another device. */
bool kr_predict_warn_entries(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                             struct kr_predict_result *r, struct kr_err *err);

/** About the run: a step time that cannot be its own, much idle time. */
bool kr_predict_warn_run(const struct kr_predict_input *in, struct kr_predict_result *r,
                         struct kr_err *err);

/**
 * True when two spellings may mean one device: all words of one are words of the other, maker's
 * names and case aside. "H200" is "NVIDIA H200", not "NVIDIA H100".
 */
bool kr_same_device(const char *a, const char *b);

#endif

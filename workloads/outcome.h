/* What kreach-workload prints: the result of a run, and the list of models, as text or JSON. */
#ifndef KR_OUTCOME_H
#define KR_OUTCOME_H

#include <stdio.h>

#include "run.h"

/** "f32", "bf16", ... */
const char *kr_dtype_name(enum kr_dtype dtype);

struct kr_outcome {
    const struct kr_model *model;
    const struct kr_run *run;
    const struct kr_run_options *options;
    const struct kr_run_result *result; /* of a run whose check held */
};

void kr_outcome_text(FILE *out, const struct kr_outcome *o);
/** One object, schema kreach.workload. */
void kr_outcome_json(FILE *out, const struct kr_outcome *o);

void kr_models_text(FILE *out);
/** One object, schema kreach.workloads. */
void kr_models_json(FILE *out);

#endif

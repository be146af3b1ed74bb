/* A prediction as text, JSON or CSV. */
#ifndef KR_RENDER_PREDICT_H
#define KR_RENDER_PREDICT_H

#include "predict.h"
#include "report.h"
#include "table.h"

/* Everything is borrowed. */
struct kr_prediction_view {
    const struct kr_report *report;    /* of one run, for its source, window and kernel names */
    const struct kr_sigma_file *sigma; /* NULL = none given */
    const struct kr_predict_result *result;
    unsigned modes; /* bit 1 << mode for each mode to show */
    size_t top;     /* text: most targets */
    struct kr_style style;
};

bool kr_prediction_text(const struct kr_prediction_view *view, FILE *out, struct kr_err *err);

/** Schema "kreach.predict". */
void kr_prediction_json(const struct kr_prediction_view *view, FILE *out);

/** The table of modes. */
void kr_prediction_csv(const struct kr_prediction_view *view, FILE *out);

#endif

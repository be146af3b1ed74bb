/* Why a kernel is what it is. */
#ifndef KR_RENDER_EXPLAIN_H
#define KR_RENDER_EXPLAIN_H

#include "report.h"
#include "table.h"

/* One kernel with all that led to its class. */
struct kr_explained {
    const char *name; /* as given */
    size_t name_len;
    const char *normalised, *short_name;
    const char *op; /* "" unknown */
    struct kr_tag tag;
    const struct kr_stats *stats; /* NULL = not of a trace */
    double frac_busy, frac_wall;  /* NAN = not of a trace */
};

/** Explains the rows of a report. The view borrows from the row. */
struct kr_explained kr_explained_row(const struct kr_row *row);

void kr_explain_text(const struct kr_rules *rules, const struct kr_explained *kernel, FILE *out,
                     const struct kr_style *style);

/** Schema "kreach.explain"; source is NULL for single names. */
void kr_explain_json(const struct kr_rules *rules, const struct kr_explained *kernels, size_t n,
                     const struct kr_timeline *source, FILE *out);

#endif

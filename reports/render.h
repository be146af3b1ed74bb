/* Renderers of a report: text for people, JSON for programs, CSV for tables. Write errors show when
 * the stream is flushed; what these return is about memory only. */
#ifndef KR_RENDER_H
#define KR_RENDER_H

#include "report.h"
#include "table.h"

/* Which table: the rows that text details and CSV holds. */
enum kr_by { KR_BY_ALL, KR_BY_CLASS, KR_BY_FAMILY, KR_BY_KERNEL };

struct kr_render_options {
    enum kr_by by; /* text: KR_BY_ALL shows all tables; CSV: KR_BY_ALL means kernels */
    size_t top;    /* text: most rows of a table; SIZE_MAX = all */
    struct kr_style style;
};

/** docs/report.md explains every line. */
bool kr_render_text(const struct kr_report *report, const struct kr_render_options *opt, FILE *out,
                    struct kr_err *err);

/** The part of text about several files: one row each, then least, median and greatest. */
bool kr_render_text_files(const struct kr_report *report, const struct kr_render_options *opt,
                          FILE *out, struct kr_err *err);

/** Schema "kreach.report"; reports/schemas/report.json. */
void kr_render_json(const struct kr_report *report, FILE *out);

/** One table with a head line; unknown is empty. Classes end with a row for idle. */
void kr_render_csv(const struct kr_report *report, enum kr_by by, FILE *out);

#endif

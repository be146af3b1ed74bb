/* Rows of several runs, added by name. */
#ifndef KR_REPORT_ROWS_H
#define KR_REPORT_ROWS_H

#include "report.h"

/** One row for each class, in the order of enum kr_class. Free with kr_rows_free. */
bool kr_rows_classes(const struct kr_report *report, struct kr_rows *out, struct kr_err *err);

/** Families of all runs; one with several classes has several rows. */
bool kr_rows_families(const struct kr_report *report, struct kr_rows *out, struct kr_err *err);

/** Kernels of all runs, with normalised and short names; several tags make several rows. */
bool kr_rows_kernels(const struct kr_report *report, struct kr_rows *out, struct kr_err *err);

/**
 * The row of one kernel of one run, with its names. Free with kr_row_clear.
 */
bool kr_row_of_kernel(const struct kr_report *report, const struct kr_run *run,
                      const struct kr_row_kernel *from, struct kr_row *out, struct kr_err *err);
void kr_row_clear(struct kr_row *row);

void kr_rows_free(struct kr_rows *rows);

#endif

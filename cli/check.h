/* --fail-if: conditions on a report that decide the exit status. */
#ifndef KR_CHECK_H
#define KR_CHECK_H

#include "report.h"

/* "unclassified>1%": one comparison. */
struct kr_check {
    char what[64]; /* a class, "idle", "suspect" or a family */
    bool of_busy;  /* share of busy time ("/busy" behind the name); else of wall time */
    char op[3];    /* ">", ">=", "<", "<=" */
    double limit;  /* [fraction] */
};

/**
 * Parses NAME[/busy] OP NUMBER[%].
 * @return false with KR_EARG when it is not of that form.
 */
bool kr_check_parse(const char *text, struct kr_check *out, struct kr_err *err);

/**
 * Evaluates a condition.
 * @param holds  true when the condition (the reason to fail) is met
 * @param value  the share that was compared [fraction]
 * @return false with KR_EARG when the name is no class, family or "idle" or "suspect", or when its
 *         share is unknown.
 */
bool kr_check_holds(const struct kr_check *check, const struct kr_report *report, bool *holds,
                    double *value, struct kr_err *err);

#endif

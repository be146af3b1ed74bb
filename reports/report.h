/*
 * The report model: one or several analysed runs put into rows of plain strings and numbers, ready
 * for any renderer (report_text.c, report_json.c, report_csv.c).
 */
#ifndef KR_REPORT_H
#define KR_REPORT_H

#include "account.h"
#include "advice.h"

/* One analysed file. Owns everything it points to; see kr_run_analyse. */
struct kr_run {
    struct kr_timeline *timeline;
    struct kr_tag *tags;
    struct kr_window window;
    struct kr_account account;
    struct kr_advice *advice; /* what needs no new kernel */
    size_t n_advice;
    uint64_t wall_step_ns; /* unprofiled step time, 0 = not given */
};

/**
 * Classifies and accounts an imported timeline, which it takes over (also on failure).
 * @param window_spec  see kr_window_choose
 */
bool kr_run_analyse(struct kr_timeline *t, const struct kr_rules *rules, const char *window_spec,
                    uint64_t wall_step_ns, struct kr_run *out, struct kr_err *err);
void kr_run_free(struct kr_run *run);

#endif

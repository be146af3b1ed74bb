#include "report.h"

#include <stdlib.h>

bool kr_run_analyse(struct kr_timeline *t, const struct kr_rules *rules, const char *window_spec,
                    struct kr_run *out, struct kr_err *err)
{
    out->timeline = t;
    return kr_classify(t, rules, &out->tags, err) &&
           kr_window_choose(t, window_spec, &out->window, err) &&
           kr_account_make(t, out->tags, rules, &out->window, &out->account, err) &&
           kr_advice_find(t, out->tags, rules, &out->account, &out->advice, &out->n_advice, err);
}

void kr_run_free(struct kr_run *run)
{
    free(run->advice);
    kr_account_free(&run->account);
    kr_window_free(&run->window);
    free(run->tags);
    kr_timeline_free(run->timeline);
    *run = (struct kr_run){ 0 };
}

const struct kr_row *kr_report_class(const struct kr_report *report, enum kr_class cls)
{
    return &report->class_rows.rows[cls];
}

bool kr_report_complete(const struct kr_report *report)
{
    for (size_t i = 0; i < report->n_runs; i++) {
        if (!kr_timeline_complete(report->runs[i].timeline))
            return false;
    }
    return true;
}

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "report_rows.h"
#include "text.h"

static void add_gaps(struct kr_gaps *sum, const struct kr_gaps *more)
{
    sum->count += more->count;
    sum->launch_ns += more->launch_ns;
    sum->launch_count += more->launch_count;
    sum->host_ns += more->host_ns;
    sum->queued_ns += more->queued_ns;
    sum->unknown_ns += more->unknown_ns;
    sum->unknown_short_ns += more->unknown_short_ns;
    sum->tail_ns += more->tail_ns;
}

static void add_runs(struct kr_report *report)
{
    report->step_idle_lo = report->step_idle_hi = NAN;
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_account *a = &report->runs[r].account;

        kr_time_add(&report->time, &a->time);
        report->kernels += a->kernels;
        report->memcpys += a->memcpys;
        report->memsets += a->memsets;
        report->n_devices += a->n_devices;
        report->n_steps += a->n_steps;
        report->empty_steps += a->empty_steps;
        for (size_t d = 0; d < a->n_devices; d++) {
            add_gaps(&report->gaps, &a->devices[d].gaps);
            report->collectives.union_ns += a->devices[d].collective_ns;
            report->collectives.exposed_ns += a->devices[d].collective_exposed_ns;
        }
        for (size_t s = 0; s < a->n_steps; s++) {
            double idle = kr_frac(a->steps[s].time.idle_ns, a->steps[s].time.wall_ns);

            report->step_idle_lo = fmin(report->step_idle_lo, idle);
            report->step_idle_hi = fmax(report->step_idle_hi, idle);
        }
    }
}

/* What the recording says of its own steps, when that is where the plain step time is from. */
static const struct kr_step_times *own_measure(const struct kr_report *report,
                                               uint64_t wall_step_ns)
{
    const struct kr_step_times *steps = &report->runs[0].timeline->source.steps;

    return report->n_runs == 1 && steps->plain_steps && steps->plain_step_ns == wall_step_ns ? steps
                                                                                             : NULL;
}

static bool fill_true_step(struct kr_report *report, uint64_t wall_step_ns, struct kr_err *err)
{
    struct kr_true_step *step = &report->step;

    if (!wall_step_ns)
        return true;
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_run *run = &report->runs[r];

        if (!kr_window_check_plain_step(&run->window, wall_step_ns, err))
            return kr_wrap(err, "%s", run->timeline->source.path);
        step->steps += (uint64_t)run->account.n_steps * run->account.n_devices;
    }
    step->known = true;
    step->plain_ns = (double)wall_step_ns;
    step->profiled_ns = (double)report->time.wall_ns / (double)step->steps;
    step->busy_ns = (double)report->time.busy_ns / (double)step->steps;
    step->measured = own_measure(report, wall_step_ns);
    step->cost_frac = step->measured && !isnan(step->measured->cost_frac)
                          ? step->measured->cost_frac
                          : step->profiled_ns / step->plain_ns - 1;
    step->busy_too_long = step->busy_ns > step->plain_ns;
    step->idle_frac = step->busy_too_long ? (double)NAN : 1 - step->busy_ns / step->plain_ns;
    return true;
}

/* Any bytes, NUL included. */
struct name {
    const char *s;
    size_t len;
};

static int compare_names(const void *left, const void *right)
{
    const struct name *a = left;
    const struct name *b = right;
    int order = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

    return order ? order : KR_COMPARE(a->len, b->len);
}

/* The names of the kernels that start in a run's window, with repetitions. */
static size_t collect_names(const struct kr_run *run, struct name *out)
{
    size_t n = 0;

    for (size_t i = 0; i < run->account.n_sites; i++) {
        const struct kr_site *site = &run->timeline->sites[i];

        if (site->kind != KR_KERNEL || run->account.sites[i].count == 0)
            continue;
        if (out)
            out[n].s = kr_strpool_get(run->timeline->strings, site->name, &out[n].len);
        n++;
    }
    return n;
}

/* String ids differ from run to run, so names of several runs are compared by their text. */
static bool count_distinct(struct kr_report *report, struct kr_err *err)
{
    size_t n = 0;
    struct name *names;

    for (size_t r = 0; r < report->n_runs; r++)
        n += collect_names(&report->runs[r], NULL);
    names = kr_xcalloc(n, sizeof *names, err);
    if (!names)
        return false;
    n = 0;
    for (size_t r = 0; r < report->n_runs; r++)
        n += collect_names(&report->runs[r], names + n);
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        report->distinct_kernels += i == 0 || compare_names(&names[i - 1], &names[i]) != 0;
    free(names);
    return true;
}

static int compare_advice(const void *left, const void *right)
{
    const struct kr_advice *a = left;
    const struct kr_advice *b = right;

    if (a->reach_ns != b->reach_ns)
        return a->reach_ns < b->reach_ns ? 1 : -1;
    return strcmp(a->id, b->id);
}

static bool merge_advice(struct kr_report *report, struct kr_err *err)
{
    size_t n = 0;

    for (size_t r = 0; r < report->n_runs; r++)
        n += report->runs[r].n_advice;
    report->advice = kr_xcalloc(n, sizeof *report->advice, err);
    if (!report->advice)
        return false;
    for (size_t r = 0; r < report->n_runs; r++) {
        for (size_t i = 0; i < report->runs[r].n_advice; i++) {
            const struct kr_advice *more = &report->runs[r].advice[i];
            size_t k = 0;

            while (k < report->n_advice && strcmp(report->advice[k].id, more->id) != 0)
                k++;
            if (k == report->n_advice) {
                report->advice[report->n_advice++] = *more;
            } else {
                report->advice[k].reach_ns += more->reach_ns;
                report->advice[k].count += more->count;
            }
        }
    }
    qsort(report->advice, report->n_advice, sizeof *report->advice, compare_advice);
    return true;
}

static void sum_kernels(struct kr_report *report)
{
    struct kr_collectives *c = &report->collectives;

    for (size_t i = 0; i < report->kernel_rows.n; i++) {
        const struct kr_row *row = &report->kernel_rows.rows[i];

        if (row->tag.flags & KR_FLAG_SUSPECT)
            report->suspect_ns += row->stats.exclusive_ns;
        if (strcmp(row->family, "collective") != 0)
            continue;
        c->count += row->stats.count;
        c->sum_ns += row->stats.sum_ns;
    }
}

static void decide(struct kr_report *report)
{
    const struct kr_true_step *step = &report->step;
    bool by_step = step->known && !step->busy_too_long;
    bool by_busy = step->known && step->busy_too_long;
    double share[KR_CLASS_COUNT];
    struct kr_verdict_input in = { .whole = by_step   ? "the plain step"
                                            : by_busy ? "the GPU's busy time"
                                                      : "the run's wall time" };

    for (size_t c = 0; c < KR_CLASS_COUNT; c++) {
        const struct kr_row *row = &report->class_rows.rows[c];

        share[c] = by_step ? row->frac_step : by_busy ? row->frac_busy : row->frac_wall;
    }
    in.optimal = share[KR_OPTIMAL];
    in.addressable = share[KR_ADDRESSABLE];
    in.unclassified = share[KR_UNCLASSIFIED];
    in.idle_is_profiled = !step->known;
    in.idle = step->known ? step->idle_frac : kr_frac(report->time.idle_ns, report->time.wall_ns);
    for (size_t i = 0; i < report->family_rows.n && !in.top_family; i++) {
        const struct kr_row *row = &report->family_rows.rows[i];

        if (row->tag.cls != KR_ADDRESSABLE)
            continue;
        in.top_family = row->name;
        in.top_family_frac = by_step ? row->frac_step : by_busy ? row->frac_busy : row->frac_wall;
    }
    report->verdict = kr_verdict_decide(&in);
}

bool kr_report_build(const struct kr_run *runs, size_t n_runs, const struct kr_rules *rules,
                     uint64_t wall_step_ns, struct kr_report *out, struct kr_err *err)
{
    *out = (struct kr_report){ .runs = runs, .n_runs = n_runs, .rules = rules };
    add_runs(out);
    if (!fill_true_step(out, wall_step_ns, err) || !kr_rows_classes(out, &out->class_rows, err) ||
        !kr_rows_families(out, &out->family_rows, err) ||
        !kr_rows_kernels(out, &out->kernel_rows, err) || !count_distinct(out, err) ||
        !merge_advice(out, err)) {
        kr_report_free(out);
        return false;
    }
    sum_kernels(out);
    decide(out);
    return true;
}

void kr_report_free(struct kr_report *report)
{
    kr_rows_free(&report->class_rows);
    kr_rows_free(&report->family_rows);
    kr_rows_free(&report->kernel_rows);
    free(report->advice);
    *report = (struct kr_report){ 0 };
}

#include "report_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "mem.h"
#include "text.h"

/* Long enough for any name that a person reads; renderers cut further to their width. */
#define SHORT_NAME_MAX 160

/* A median cannot be made from medians: it stays known only while one run contributes. */
static void add_row(struct kr_row *sum, const struct kr_row *more)
{
    sum->median_known = sum->median_known && more->stats.count == 0;
    sum->waited = sum->waited || more->waited;
    kr_stats_add(&sum->stats, &more->stats);
}

static int compare_names(const struct kr_row *a, const struct kr_row *b)
{
    size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->name, b->name, len);

    return order ? order : KR_COMPARE(a->name_len, b->name_len);
}

/* Rows that compare equal here are one row of the report. */
static int compare_keys(const void *left, const void *right)
{
    const struct kr_row *a = left;
    const struct kr_row *b = right;
    int order = compare_names(a, b);

    if (order == 0)
        order = KR_COMPARE(a->tag.cls, b->tag.cls);
    if (order == 0)
        order = KR_COMPARE(a->tag.family, b->tag.family);
    if (order == 0)
        order = KR_COMPARE(a->tag.rule, b->tag.rule);
    if (order == 0)
        order = KR_COMPARE(a->tag.origin, b->tag.origin);
    return order ? order : KR_COMPARE(a->tag.flags, b->tag.flags);
}

static int compare_largest_first(const void *left, const void *right)
{
    const struct kr_row *a = left;
    const struct kr_row *b = right;
    int order = KR_COMPARE(b->stats.exclusive_ns, a->stats.exclusive_ns);

    if (order == 0)
        order = KR_COMPARE(b->stats.count, a->stats.count);
    return order ? order : compare_keys(left, right);
}

static void set_shares(const struct kr_report *report, struct kr_row *row)
{
    double step_total_ns = report->step.plain_ns * (double)report->step.steps;

    row->frac_busy = kr_frac(row->stats.exclusive_ns, report->time.busy_ns);
    row->frac_wall = kr_frac(row->stats.exclusive_ns, report->time.wall_ns);
    row->frac_step =
        report->step.known ? (double)row->stats.exclusive_ns / step_total_ns : (double)NAN;
    row->step_lo = row->step_hi = NAN;
}

/* Merges equal rows, then puts them in the order of the report. */
static void finish_rows(const struct kr_report *report, struct kr_rows *rows)
{
    size_t kept = 0;

    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_keys);
    for (size_t i = 0; i < rows->n; i++) {
        if (kept && compare_keys(&rows->rows[kept - 1], &rows->rows[i]) == 0)
            add_row(&rows->rows[kept - 1], &rows->rows[i]);
        else
            rows->rows[kept++] = rows->rows[i];
    }
    rows->n = kept;
    for (size_t i = 0; i < rows->n; i++)
        set_shares(report, &rows->rows[i]);
    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_largest_first);
}

static bool make_room(struct kr_rows *rows, size_t n, struct kr_err *err)
{
    *rows = (struct kr_rows){ .rows = kr_xcalloc(n, sizeof *rows->rows, err) };
    return rows->rows != NULL;
}

/* Least and greatest share of a step's wall that a class took, over all steps of all runs. */
static void set_class_spread(const struct kr_report *report, struct kr_row *row)
{
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_account *a = &report->runs[r].account;

        for (size_t s = 0; s < a->n_steps; s++) {
            double frac =
                kr_frac(a->steps[s].class_exclusive_ns[row->tag.cls], a->steps[s].time.wall_ns);

            row->step_lo = fmin(row->step_lo, frac); /* fmin and fmax pass over NAN */
            row->step_hi = fmax(row->step_hi, frac);
        }
    }
}

bool kr_rows_classes(const struct kr_report *report, struct kr_rows *out, struct kr_err *err)
{
    if (!make_room(out, KR_CLASS_COUNT, err))
        return false;
    out->n = KR_CLASS_COUNT;
    for (size_t c = 0; c < KR_CLASS_COUNT; c++) {
        struct kr_row *row = &out->rows[c];

        row->name = kr_class_name((enum kr_class)c);
        row->name_len = strlen(row->name);
        row->tag = (struct kr_tag){ .rule = KR_RULE_NONE, .cls = (uint8_t)c };
        row->family = row->rule = row->op = "";
        row->median_known = report->n_runs == 1;
        for (size_t r = 0; r < report->n_runs; r++)
            kr_stats_add(&row->stats, &report->runs[r].account.classes[c]);
        if (report->n_runs == 1)
            row->stats.median_ns = report->runs[0].account.classes[c].median_ns;
        set_shares(report, row);
        set_class_spread(report, row);
    }
    return true;
}

bool kr_rows_families(const struct kr_report *report, struct kr_rows *out, struct kr_err *err)
{
    size_t n = 0;

    for (size_t r = 0; r < report->n_runs; r++)
        n += report->runs[r].account.n_families;
    if (!make_room(out, n, err))
        return false;
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_account *a = &report->runs[r].account;

        for (size_t i = 0; i < a->n_families; i++) {
            const struct kr_row_family *from = &a->families[i];
            struct kr_row *row = &out->rows[out->n++];

            row->name = row->family = kr_rules_family(report->rules, from->family);
            row->name_len = strlen(row->name);
            row->tag =
                (struct kr_tag){ .rule = KR_RULE_NONE, .family = from->family, .cls = from->cls };
            row->rule = row->op = "";
            row->stats = from->stats;
            row->median_known = true;
        }
    }
    finish_rows(report, out);
    return true;
}

static void fill_kernel(const struct kr_report *report, const struct kr_run *run,
                        const struct kr_row_kernel *from, struct kr_row *row)
{
    row->name = kr_strpool_get(run->timeline->strings, from->name, &row->name_len);
    row->op = kr_timeline_str(run->timeline, from->op);
    row->tag = from->tag;
    row->family = kr_rules_family(report->rules, from->tag.family);
    row->rule = kr_rules_id(report->rules, from->tag.rule);
    row->stats = from->stats;
    row->median_known = true;
    row->waited = kr_account_waits(&run->account, from);
}

static bool name_kernel(struct kr_row *row, struct kr_err *err)
{
    row->normalised = kr_kernel_name_normalise(row->name, err);
    if (!row->normalised)
        return false;
    row->short_name = kr_kernel_name_short(row->normalised, SHORT_NAME_MAX, err);
    return row->short_name != NULL;
}

bool kr_row_of_kernel(const struct kr_report *report, const struct kr_run *run,
                      const struct kr_row_kernel *from, struct kr_row *out, struct kr_err *err)
{
    *out = (struct kr_row){ 0 };
    fill_kernel(report, run, from, out);
    set_shares(report, out);
    return name_kernel(out, err);
}

void kr_row_clear(struct kr_row *row)
{
    free(row->normalised);
    free(row->short_name);
    *row = (struct kr_row){ 0 };
}

bool kr_rows_kernels(const struct kr_report *report, struct kr_rows *out, struct kr_err *err)
{
    size_t n = 0;

    for (size_t r = 0; r < report->n_runs; r++)
        n += report->runs[r].account.n_kernels_rows;
    if (!make_room(out, n, err))
        return false;
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_run *run = &report->runs[r];

        for (size_t i = 0; i < run->account.n_kernels_rows; i++)
            fill_kernel(report, run, &run->account.kernels_rows[i], &out->rows[out->n++]);
    }
    finish_rows(report, out);
    for (size_t i = 0; i < out->n; i++) {
        if (!name_kernel(&out->rows[i], err))
            return false;
    }
    return true;
}

void kr_rows_free(struct kr_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        kr_row_clear(&rows->rows[i]);
    free(rows->rows);
    *rows = (struct kr_rows){ 0 };
}

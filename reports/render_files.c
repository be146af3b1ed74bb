#include "render.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "text.h"
#include "text_parts.h"

/* The columns that are compared over files. */
enum measure { WALL, IDLE, ADDRESSABLE, UNCLASSIFIED, STEP, MEASURES };

static double measure_of(const struct kr_run *run, enum measure m)
{
    const struct kr_account *a = &run->account;

    switch (m) {
    case WALL:
        return (double)a->time.wall_ns;
    case IDLE:
        return kr_frac(a->time.idle_ns, a->time.wall_ns);
    case ADDRESSABLE:
        return kr_frac(a->classes[KR_ADDRESSABLE].exclusive_ns, a->time.wall_ns);
    case UNCLASSIFIED:
        return kr_frac(a->classes[KR_UNCLASSIFIED].exclusive_ns, a->time.wall_ns);
    case STEP:
        return a->n_steps ? (double)a->time.wall_ns / (double)a->n_steps / (double)a->n_devices
                          : (double)NAN;
    case MEASURES:
        break;
    }
    return NAN;
}

static void add_measure(struct kr_table *table, enum measure m, double value)
{
    if (m == WALL || m == STEP)
        kr_table_cell(table, "%s", kr_text_duration(value).s);
    else
        kr_table_cell(table, "%s", kr_text_percent(value).s);
}

/* NAN last, so that the known values lie together in front. */
static int compare_known_first(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return KR_COMPARE(a, b);
}

enum quantile { LEAST, MEDIAN, GREATEST };

/* A quantile of the known values; `values` gets sorted. */
static double quantile_of(double *values, size_t n, enum quantile q)
{
    qsort(values, n, sizeof *values, compare_known_first);
    while (n && isnan(values[n - 1]))
        n--;
    if (n == 0)
        return NAN;
    if (q == LEAST)
        return values[0];
    if (q == GREATEST)
        return values[n - 1];
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static bool add_quantiles(const struct kr_report *report, struct kr_table *table,
                          struct kr_err *err)
{
    static const char *const names[] = { "min", "median", "max" };
    double *values = kr_xcalloc(report->n_runs, sizeof *values, err);

    if (!values)
        return false;
    kr_table_line(table);
    for (int q = LEAST; q <= GREATEST; q++) {
        for (int m = 0; m < MEASURES; m++) {
            for (size_t r = 0; r < report->n_runs; r++)
                values[r] = measure_of(&report->runs[r], (enum measure)m);
            add_measure(table, (enum measure)m,
                        quantile_of(values, report->n_runs, (enum quantile)q));
        }
        kr_table_cell(table, "%s", "");
        kr_table_cell(table, "%s", names[q]);
    }
    free(values);
    return true;
}

static const char *complete_word(const struct kr_timeline *t)
{
    return t->source.truncated ? "cut" : kr_timeline_complete(t) ? "yes" : "NO";
}

static void add_file(const struct kr_run *run, struct kr_table *table)
{
    const struct kr_source *source = &run->timeline->source;
    const char *slash = strrchr(source->path, '/');
    const char *name = slash && slash[1] ? slash + 1 : source->path;

    for (int m = 0; m < MEASURES; m++)
        add_measure(table, (enum measure)m, measure_of(run, (enum measure)m));
    kr_table_cell(table, "%s", complete_word(run->timeline));
    if (source->rank >= 0)
        kr_table_cell(table, "rank %" PRId64 ": %s", source->rank, name);
    else
        kr_table_cell(table, "%s", name);
}

bool kr_render_text_files(const struct kr_report *report, const struct kr_render_options *opt,
                          FILE *out, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "wall", KR_RIGHT, 0 },   { "% idle", KR_RIGHT, 0 }, { "% addr", KR_RIGHT, 0 },
        { "% unkn", KR_RIGHT, 0 }, { "step", KR_RIGHT, 0 },   { "whole", KR_LEFT, 0 },
        { "file", KR_LEFT, 0 },
    };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), err);
    bool good;

    if (!table)
        return false;
    for (size_t r = 0; r < report->n_runs; r++)
        add_file(&report->runs[r], table);
    good = add_quantiles(report, table, err);
    if (good) {
        kr_say_title(out, &opt->style, "Files",
                     "idle, addressable and unclassified shares of each one's wall");
        good = kr_table_print(table, out, &opt->style, err);
    }
    kr_table_free(table);
    return good;
}

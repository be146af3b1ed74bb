/* How few kernels make up most of the time. */
#include <math.h>
#include <string.h>

#include "plot_parts.h"
#include "text.h"

/* Kernels that are named beside the curve of a single run. */
#define NAMED 8

/* Characters of a name beside the curves. */
#define NAME_WIDTH      40
#define NAME_WIDTH_DUMB 28

#define DUMB_ROWS 29

/* One curve: kernels of a run, largest first. */
struct curve {
    const struct kr_report *report;
    enum kr_plot_of of;
    bool addressable; /* only these */
    double total;     /* found: what all of them come to [fraction] */
    size_t n;         /* found: number of them */
};

/* All curves of a figure: two for each run, all work and addressable work alone. */
struct drawing {
    const struct kr_report *reports;
    size_t n;
    enum kr_plot_of of;
    struct curve curves[2 * KR_PLOT_CURVES_MAX];
    size_t most; /* kernels of any curve */
    double top;  /* of the axis [%] */
};

static double frac_of(const struct kr_row *row, enum kr_plot_of of)
{
    if (of == KR_PLOT_OF_STEP)
        return row->frac_step;
    return of == KR_PLOT_OF_BUSY ? row->frac_busy : row->frac_wall;
}

/* Block: k, share of the k largest [%]; far along, points closer than the eye can tell are left
 * out. */
static void put_curve(FILE *data, struct curve *curve)
{
    const struct kr_rows *rows = &curve->report->kernel_rows;
    size_t written = 0;

    curve->total = 0;
    curve->n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (curve->addressable && rows->rows[i].tag.cls != KR_ADDRESSABLE)
            continue;
        curve->total += frac_of(&rows->rows[i], curve->of);
        curve->n++;
        if (curve->n < written + 1 + written / 200)
            continue;
        fprintf(data, "%zu\t%.6g\n", curve->n, 100 * curve->total);
        written = curve->n;
    }
    if (written < curve->n)
        fprintf(data, "%zu\t%.6g\n", curve->n, 100 * curve->total);
    if (curve->n == 0)
        fputs("1\t0\n", data); /* nothing addressable is a line at zero, not a missing one */
    kr_plot_end_block(data);
}

/* Block: k, share of the k largest [%], colour, name, what it is; of a single run. */
static bool put_named_kernels(FILE *data, const struct curve *curve, size_t width,
                              struct kr_err *err)
{
    const struct kr_rows *rows = &curve->report->kernel_rows;
    double sum = 0;

    for (size_t i = 0; i < rows->n && i < NAMED; i++) {
        const struct kr_row *row = &rows->rows[i];
        char what[128];

        sum += frac_of(row, curve->of);
        fprintf(data, "%zu\t%.6g\t%u\t%zu. ", i + 1, 100 * sum, kr_plot_looks[row->tag.cls].rgb,
                i + 1);
        if (!kr_plot_put_text(data, row->short_name, width, err))
            return false;
        snprintf(what, sizeof what, "%s %%, %.40s, %s", kr_text_percent(frac_of(row, curve->of)).s,
                 row->family, kr_class_name((enum kr_class)row->tag.cls));
        fputc('\t', data);
        if (!kr_plot_put_text(data, what, width, err))
            return false;
        fputc('\n', data);
    }
    kr_plot_end_block(data);
    return true;
}

/*
 * Block: as put_named_kernels, but one line for each run, at the end of its curve. A picture of
 * characters has no colours: there the names begin with the letters that gnuplot gives the curves.
 */
static bool put_named_runs(FILE *data, const struct drawing *d, bool dumb, struct kr_err *err)
{
    size_t width = dumb ? NAME_WIDTH_DUMB - 3 : NAME_WIDTH;

    for (size_t r = 0; r < d->n; r++) {
        const struct curve *all = &d->curves[2 * r];
        const struct curve *addressable = &d->curves[2 * r + 1];

        fprintf(data, "%zu\t%.6g\t%u\t", all->n, 100 * all->total, kr_plot_curve_rgb[r]);
        if (dumb)
            fprintf(data, "%c%c ", (int)('A' + 2 * r), (int)('B' + 2 * r));
        if (!kr_plot_put_text(data, kr_plot_run_label(d->reports, d->n, r), width, err))
            return false;
        fprintf(data, "\t%s %%, addressable %s %%\n", kr_text_percent(all->total).s,
                kr_text_percent(addressable->total).s);
    }
    kr_plot_end_block(data);
    return true;
}

static bool put_data(struct kr_plot *plot, struct drawing *d, struct kr_err *err)
{
    bool dumb = plot->format == KR_PLOT_DUMB;

    for (size_t c = 0; c < 2 * d->n; c++) {
        struct curve *curve = &d->curves[c];

        *curve =
            (struct curve){ .report = &d->reports[c / 2], .of = d->of, .addressable = c % 2 == 1 };
        put_curve(plot->data_out, curve);
        d->most = curve->n > d->most ? curve->n : d->most;
        d->top = fmax(d->top, 100 * curve->total);
        if (!curve->addressable && curve->n == 0)
            return kr_fail(err, KR_EINPUT, "%s: no device work in the window",
                           curve->report->runs[0].timeline->source.path);
    }
    d->top = fmin(d->top * 1.05, 100);
    if (d->n == 1)
        return put_named_kernels(plot->data_out, &d->curves[0], dumb ? NAME_WIDTH_DUMB : NAME_WIDTH,
                                 err);
    return put_named_runs(plot->data_out, d, dumb, err);
}

static void put_axes(FILE *script, const struct drawing *d, bool dumb)
{
    fprintf(script,
            "set logscale x\n"
            "set xrange [0.9:%zu]\n"
            "set yrange [0:%.6g]\n"
            "set xtics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000) out "
            "nomirror\n"
            "set ytics out nomirror\n"
            "set xlabel 'number of kernels, largest first'\n"
            "set ylabel '%s [%%]'\n"
            "set border 3\n"
            "set lmargin %d\n"
            "set rmargin %d\n"
            "set bmargin %d\n"
            "set key outside below left horizontal Left reverse samplen 2\n",
            d->most < 10 ? 10 : d->most, d->top, kr_plot_of_text(d->of), dumb ? 10 : 9,
            dumb ? NAME_WIDTH_DUMB + 3 : NAME_WIDTH - 2, 6);
}

/* Entries of the list on the right, from the top: `step` lines apart [fraction of the axis]. */
static void put_list_script(FILE *script, const struct drawing *d, unsigned block, bool dumb)
{
    double top = d->top * (dumb ? 1.0 : 0.97);
    double step = d->top / (dumb ? 7.5 : 8.5);

    fprintf(script,
            ", \\\n  data index %u using (x1):(%.6g-$0*%.6g):4%s with labels left offset %d,0 "
            "%snotitle"
            ", \\\n  data index %u using (x1):(%.6g-$0*%.6g):5 with labels left offset %d,-%s "
            "%snotitle\n",
            block, top, step, d->n > 1 && !dumb ? ":3" : "", dumb ? 2 : 1,
            dumb       ? ""
            : d->n > 1 ? "font ',9' tc rgb variable "
                       : "font ',9' ",
            block, top, step, dumb ? 2 : 1, dumb ? "1" : "1.1",
            dumb ? "" : "font ',8' tc rgb '#555555' ");
}

static void put_script(FILE *script, const struct drawing *d, bool dumb)
{
    unsigned block = 1;

    put_axes(script, d, dumb);
    fprintf(script, "x1 = %zu\nplot ", d->most < 10 ? 10 : d->most);
    for (size_t r = 0; r < d->n; r++) {
        for (size_t kind = 0; kind < 2; kind++) {
            fprintf(script, "%sdata index %u using 1:2 with %s lw 2 dt %zu lc rgb '#%06x' ",
                    block > 1 ? ", \\\n  " : "", block, dumb ? "points" : "lines", kind + 1,
                    kr_plot_curve_rgb[r]);
            block++;
            if (r == 0)
                fprintf(script, "title '%s'", kind ? "addressable work alone" : "all work");
            else
                fputs("notitle", script);
        }
    }
    if (d->n == 1)
        fprintf(script,
                ", \\\n  data index %u using 1:2:3 with points pt 7 ps 0.9 lc rgb variable notitle",
                block);
    put_list_script(script, d, block, dumb);
}

bool kr_plot_cumulative(const struct kr_report *reports, size_t n,
                        const struct kr_plot_options *opt, struct kr_plot *out, struct kr_err *err)
{
    struct drawing d = { .reports = reports, .n = n, .of = opt->of };
    char title[160] = "How few kernels make up the time";

    *out = (struct kr_plot){ 0 };
    if (n > KR_PLOT_CURVES_MAX)
        return kr_fail(err, KR_EARG, "a figure has room for the curves of %d runs, not for %zu",
                       KR_PLOT_CURVES_MAX, n);
    if (!kr_plot_check_of(reports, n, opt->of, err) || !kr_plot_begin(out, opt, err))
        return false;
    if (n == 1)
        snprintf(title, sizeof title, "%.96s: how few kernels make up the time",
                 kr_plot_run_name(reports));
    if (opt->format == KR_PLOT_DUMB)
        out->height = DUMB_ROWS;
    if (!kr_plot_head(out, title, reports, n, err) || !put_data(out, &d, err))
        return false;
    put_script(out->script_out, &d, opt->format == KR_PLOT_DUMB);
    return kr_plot_end(out, err);
}

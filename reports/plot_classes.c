/* Bars of classes, one for each run. */
#include <math.h>
#include <string.h>

#include "plot_parts.h"
#include "text.h"

/* Characters of a run's name; a segment of less than this share [%] has no number on it. */
#define NAME_WIDTH          36
#define NAME_WIDTH_DUMB     24
#define LEAST_LABEL_PERCENT 4

/* "wall 188 ms, 9 steps": what the bar's whole is. */
static void put_whole(FILE *data, const struct kr_report *report, enum kr_plot_of of)
{
    if (of == KR_PLOT_OF_STEP)
        fprintf(data, "step %s", kr_text_duration(report->step.plain_ns).s);
    else if (of == KR_PLOT_OF_BUSY)
        fprintf(data, "busy %s", kr_text_duration((double)report->time.busy_ns).s);
    else
        fprintf(data, "wall %s", kr_text_duration((double)report->time.wall_ns).s);
    if (report->n_steps && of != KR_PLOT_OF_STEP)
        fprintf(data, ", %zu step%s", report->n_steps, report->n_steps == 1 ? "" : "s");
}

/* Block: y, name, what the whole is. */
static bool put_names(FILE *data, const struct kr_report *reports, size_t n,
                      const struct kr_plot_options *opt, struct kr_err *err)
{
    size_t width = opt->format == KR_PLOT_DUMB ? NAME_WIDTH_DUMB : NAME_WIDTH;

    for (size_t r = 0; r < n; r++) {
        fprintf(data, "%zu\t", r);
        if (!kr_plot_put_text(data, kr_plot_run_label(reports, n, r), width, err))
            return false;
        fputc('\t', data);
        put_whole(data, &reports[r], opt->of);
        fputc('\n', data);
    }
    kr_plot_end_block(data);
    return true;
}

/* Blocks: x from, x to [%], y, colour; then x, y, text, its colour. */
static void put_segments(FILE *data, const struct kr_report *reports, size_t n, enum kr_plot_of of)
{
    for (int labels = 0; labels < 2; labels++) {
        for (size_t r = 0; r < n; r++) {
            double from = 0;

            for (unsigned c = 0; c < KR_PLOT_PARTS; c++) {
                double frac = kr_plot_frac(&reports[r], c, of);
                double to = from + 100 * frac;

                if (labels && to - from >= LEAST_LABEL_PERCENT)
                    fprintf(data, "%.4f\t%zu\t%s\t%u\n", (from + to) / 2, r,
                            kr_text_percent(frac).s, kr_plot_looks[c].text_rgb);
                else if (!labels && frac > 0)
                    fprintf(data, "%.4f\t%.4f\t%zu\t%u\n", from, to, r, kr_plot_looks[c].rgb);
                from = to;
            }
        }
        kr_plot_end_block(data);
    }
}

/* Block: y, a strip of letters, the numbers. */
static void put_strips(FILE *data, const struct kr_report *reports, size_t n, enum kr_plot_of of,
                       size_t columns)
{
    for (size_t r = 0; r < n; r++) {
        double whole = 0;
        size_t at = 0;

        fprintf(data, "%zu\t", r);
        for (unsigned c = 0; c < KR_PLOT_PARTS; c++) {
            whole += kr_plot_frac(&reports[r], c, of);
            for (size_t to = (size_t)lround(whole * (double)columns); at < to; at++)
                fputc(kr_plot_looks[c].letter, data);
        }
        fputc('\t', data);
        for (unsigned c = 0; c < KR_PLOT_PARTS - (of == KR_PLOT_OF_BUSY); c++)
            fprintf(data, "%s%c %s", c ? "  " : "", kr_plot_looks[c].letter,
                    kr_text_percent(kr_plot_frac(&reports[r], c, of)).s);
        fputc('\n', data);
    }
    kr_plot_end_block(data);
}

static void put_axes(FILE *script, size_t n)
{
    fprintf(script,
            "set xrange [0:100]\n"
            "set yrange [%zu.5:-0.5]\n"
            "unset ytics\n"
            "set xtics 0,10,100 out nomirror\n",
            n - 1);
}

/* Characters of the longest name as it is shown. */
static size_t longest_name(const struct kr_report *reports, size_t n)
{
    size_t longest = 20; /* what stands under a name */

    for (size_t r = 0; r < n; r++) {
        size_t len = strlen(kr_plot_run_label(reports, n, r));

        longest = len > longest ? len : longest;
    }
    return longest < NAME_WIDTH ? longest : NAME_WIDTH;
}

static void put_bars_script(FILE *script, const struct kr_report *reports, size_t n,
                            enum kr_plot_of of)
{
    put_axes(script, n);
    fprintf(script,
            "set xlabel '%s [%%]'\n"
            "set lmargin %zu\n"
            "set rmargin 3\n"
            "set bmargin 5.5\n"
            "set border 1\n" KR_PLOT_KEY "set style fill solid 1.0 border lc rgb '#444444'\n"
            "plot ",
            kr_plot_of_text(of), longest_name(reports, n) + 2);
    kr_plot_put_key(script, of != KR_PLOT_OF_BUSY);
    fputs(", \\\n"
          "  data index 2 using 1:3:1:2:($3-0.36):($3+0.36):4 with boxxyerror lc rgb variable "
          "notitle, \\\n"
          "  data index 3 using 1:2:3:4 with labels center tc rgb variable notitle, \\\n"
          "  data index 1 using (0):($1-0.14):2 with labels right offset -1,0 notitle, \\\n"
          "  data index 1 using (0):($1+0.2):3 with labels right offset -1,0 font ',8' tc rgb "
          "'#555555' notitle\n",
          script);
}

static void put_strips_script(FILE *script, size_t n, enum kr_plot_of of)
{
    put_axes(script, n);
    fprintf(script, "set xlabel \"%s [%%]\\n", kr_plot_of_text(of));
    kr_plot_put_letters(script, of != KR_PLOT_OF_BUSY);
    fprintf(script,
            "\"\n"
            "set lmargin %d\n"
            "set rmargin 3\n"
            "unset key\n"
            "plot data index 1 using (0):1:2 with labels right offset -1,0, \\\n"
            "  data index 2 using (0):1:2 with labels left offset 1,0, \\\n"
            "  data index 2 using (0):1:3 with labels left offset 1,-1\n",
            NAME_WIDTH_DUMB + 2);
}

bool kr_plot_classes(const struct kr_report *reports, size_t n, const struct kr_plot_options *opt,
                     struct kr_plot *out, struct kr_err *err)
{
    bool dumb = opt->format == KR_PLOT_DUMB;
    char title[160];

    *out = (struct kr_plot){ 0 };
    if (n > KR_PLOT_RUNS_MAX)
        return kr_fail(err, KR_EARG, "a figure has room for %d runs, not for %zu", KR_PLOT_RUNS_MAX,
                       n);
    if (!kr_plot_check_of(reports, n, opt->of, err) || !kr_plot_begin(out, opt, err))
        return false;
    out->height = dumb ? 3 * n + 11 : 160 + 46 * n;
    if (n == 1)
        snprintf(title, sizeof title, "%.100s: classes", kr_plot_run_name(reports));
    else
        snprintf(title, sizeof title, "Classes of %zu runs", n);
    if (!kr_plot_head(out, title, reports, n, err) ||
        !put_names(out->data_out, reports, n, opt, err))
        return false;
    if (dumb) {
        put_strips(out->data_out, reports, n, opt->of, opt->columns - NAME_WIDTH_DUMB - 7);
        put_strips_script(out->script_out, n, opt->of);
    } else {
        put_segments(out->data_out, reports, n, opt->of);
        put_bars_script(out->script_out, reports, n, opt->of);
    }
    return kr_plot_end(out, err);
}

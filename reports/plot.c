#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_parts.h"
#include "table.h"
#include "text.h"

const struct kr_plot_look kr_plot_looks[KR_PLOT_PARTS] = {
    [KR_OPTIMAL] = { "optimal", 0x0072b2, 0xffffff, 'o' },
    [KR_ADDRESSABLE] = { "addressable", 0xf5b301, 0x000000, 'A' },
    [KR_OVERHEAD] = { "overhead", 0xcc79a7, 0x000000, 'v' },
    [KR_UNCLASSIFIED] = { "unclassified", 0x1a1a1a, 0xffffff, '?' },
    [KR_PLOT_IDLE] = { "idle", 0xd2d2d2, 0x000000, '.' },
};

const unsigned kr_plot_curve_rgb[KR_PLOT_CURVES_MAX] = { 0x000000, 0x0072b2, 0xc04c00, 0x007a5a,
                                                         0xa0417a, 0x7a6a00, 0x3399cc, 0x777777 };

const char *kr_plot_format_name(enum kr_plot_format format)
{
    static const char *const names[KR_PLOT_FORMAT_COUNT] = { "dumb", "svg", "png", "pdf" };

    return names[format];
}

bool kr_plot_begin(struct kr_plot *plot, const struct kr_plot_options *opt, struct kr_err *err)
{
    *plot = (struct kr_plot){ .format = opt->format, .width = 960, .height = 540 };
    if (opt->format == KR_PLOT_DUMB) {
        plot->width = opt->columns;
        plot->height = 24;
    }
    plot->script_out = open_memstream(&plot->script, &plot->script_len);
    plot->data_out = open_memstream(&plot->data, &plot->data_len);
    return (plot->script_out && plot->data_out) || kr_fail(err, KR_ENOMEM, "out of memory");
}

/* Closes a stream; what it could not hold shows here at the latest. */
static bool close_text(FILE **stream)
{
    bool good = *stream && !ferror(*stream);

    if (*stream && fclose(*stream) != 0)
        good = false;
    *stream = NULL;
    return good;
}

bool kr_plot_end(struct kr_plot *plot, struct kr_err *err)
{
    bool good = close_text(&plot->script_out);

    good = close_text(&plot->data_out) && good;
    return good || kr_fail(err, KR_ENOMEM, "out of memory");
}

void kr_plot_free(struct kr_plot *plot)
{
    close_text(&plot->script_out);
    close_text(&plot->data_out);
    free(plot->script);
    free(plot->data);
    *plot = (struct kr_plot){ 0 };
}

/* Text as printable characters. Owned by the caller. */
static char *printable(const char *text, struct kr_err *err)
{
    char *plain = NULL;
    size_t len;
    FILE *stream = open_memstream(&plain, &len);

    if (stream)
        kr_plain_text(stream, text);
    if (close_text(&stream))
        return plain;
    free(plain);
    kr_fail(err, KR_ENOMEM, "out of memory");
    return NULL;
}

bool kr_plot_put_text(FILE *data, const char *text, size_t width, struct kr_err *err)
{
    char *plain = printable(*text ? text : "-", err);
    char *cut = plain ? kr_text_cut(plain, width) : NULL;

    if (plain && !cut)
        kr_fail(err, KR_ENOMEM, "out of memory");
    /* gnuplot takes quotes for borders of a field, and reads \n and \101 in what is inside. */
    for (const char *s = cut; s && *s; s++) {
        if (*s == '\\')
            fputc('\\', data);
        fputc(*s == '"' ? '\'' : *s, data);
    }
    free(plain);
    free(cut);
    return cut != NULL;
}

void kr_plot_end_block(FILE *data)
{
    fputs("\n\n", data);
}

const char *kr_plot_run_name(const struct kr_report *report)
{
    const char *path = report->runs[0].timeline->source.path;
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

const char *kr_plot_run_label(const struct kr_report *reports, size_t n, size_t run)
{
    const char *name = kr_plot_run_name(&reports[run]);

    for (size_t r = 0; r < n; r++) {
        if (r != run && strcmp(kr_plot_run_name(&reports[r]), name) == 0)
            return reports[run].runs[0].timeline->source.path;
    }
    return name;
}

/* The devices' name where they share one; else how many there are. */
static void name_devices(const struct kr_report *reports, size_t n, char *out, size_t size)
{
    const char *first = NULL;
    size_t n_devices = 0;
    bool same = true;

    for (size_t r = 0; r < n; r++) {
        const struct kr_timeline *t = reports[r].runs[0].timeline;

        for (size_t d = 0; d < t->n_devices; d++) {
            const char *name = kr_timeline_str(t, t->devices[d].name);

            same = same && (!first || strcmp(first, name) == 0);
            first = first ? first : name;
        }
        n_devices += t->n_devices;
    }
    if (!first || !*first)
        snprintf(out, size, "unknown device");
    else if (!same)
        snprintf(out, size, "%zu devices of several kinds", n_devices);
    else if (n == 1 && n_devices > 1)
        snprintf(out, size, "%zu x %s", n_devices, first);
    else
        snprintf(out, size, "%s", first);
}

static void say_windows(const struct kr_report *reports, size_t n, char *out, size_t size)
{
    const struct kr_window *first = &reports[0].runs[0].window;
    bool same = true;

    for (size_t r = 1; r < n; r++)
        same = same && reports[r].runs[0].window.kind == first->kind;
    if (n == 1)
        snprintf(out, size, "window %s: %s", kr_window_kind_name(first->kind), first->how);
    else if (same)
        snprintf(out, size, "window '%s' of each run", kr_window_kind_name(first->kind));
    else
        snprintf(out, size, "each run in its own window");
}

static size_t count_incomplete(const struct kr_report *reports, size_t n)
{
    size_t incomplete = 0;

    for (size_t r = 0; r < n; r++)
        incomplete += !kr_report_complete(&reports[r]);
    return incomplete;
}

static bool put_heading(struct kr_plot *plot, const char *title, const struct kr_report *reports,
                        size_t n, struct kr_err *err)
{
    bool dumb = plot->format == KR_PLOT_DUMB;
    /* Characters that fit the picture in the fonts of the two lines. */
    size_t title_fit = dumb ? plot->width - 2 : plot->width / 11;
    size_t line_fit = dumb ? plot->width - 2 : plot->width / 7;
    size_t incomplete = count_incomplete(reports, n);
    char devices[128], windows[256], line[640];

    name_devices(reports, n, devices, sizeof devices);
    say_windows(reports, n, windows, sizeof windows);
    snprintf(line, sizeof line, "%s%s; policy %s; %s", incomplete ? "INCOMPLETE input; " : "",
             devices, kr_rules_policy_name(reports[0].rules), windows);
    fputs("0\t", plot->data_out);
    if (!kr_plot_put_text(plot->data_out, title, title_fit, err))
        return false;
    fputc('\t', plot->data_out);
    if (!kr_plot_put_text(plot->data_out, line, line_fit, err))
        return false;
    fputc('\n', plot->data_out);
    kr_plot_end_block(plot->data_out);
    return true;
}

bool kr_plot_head(struct kr_plot *plot, const char *title, const struct kr_report *reports,
                  size_t n, struct kr_err *err)
{
    bool dumb = plot->format == KR_PLOT_DUMB;

    /* No key and no line of a table may be lost to a name: names are one field each. */
    fputs("title = ''\n"
          "subtitle = ''\n"
          "stats data index 0 using (title = strcol(2), subtitle = strcol(3), 1) nooutput\n",
          plot->script_out);
    fprintf(plot->script_out,
            "set label 1 title at character 1, screen 1 offset 0, character -%s left noenhanced%s\n"
            "set label 2 subtitle at character 1, screen 1 offset 0, character -%s left "
            "noenhanced%s\n"
            "set format '%%g'\n" /* the default begins with a space, which shifts the numbers */
            "set tmargin %s\n",
            dumb ? "0" : "1.2", dumb ? "" : " font ',14'", dumb ? "1" : "2.8",
            dumb ? "" : " font ',9'", dumb ? "3" : "4.5");
    return put_heading(plot, title, reports, n, err);
}

void kr_plot_put_key(FILE *script, bool with_idle)
{
    size_t n = with_idle ? KR_PLOT_PARTS : KR_PLOT_IDLE;

    for (size_t c = 0; c < n; c++)
        fprintf(script,
                "%skeyentry with boxes fillstyle solid 1.0 border lc rgb '#444444' fillcolor rgb "
                "'#%06x' title '%s'",
                c ? ", \\\n  " : "", kr_plot_looks[c].rgb, kr_plot_looks[c].name);
}

void kr_plot_put_letters(FILE *script, bool with_idle)
{
    size_t n = with_idle ? KR_PLOT_PARTS : KR_PLOT_IDLE;

    for (size_t c = 0; c < n; c++)
        fprintf(script, "%s%c %s", c ? "  " : "", kr_plot_looks[c].letter, kr_plot_looks[c].name);
}

double kr_plot_frac(const struct kr_report *report, unsigned part, enum kr_plot_of of)
{
    const struct kr_row *row = &report->class_rows.rows[part == KR_PLOT_IDLE ? 0 : part];
    bool idle = part == KR_PLOT_IDLE;

    switch (of) {
    case KR_PLOT_OF_WALL:
        return idle ? kr_frac(report->time.idle_ns, report->time.wall_ns) : row->frac_wall;
    case KR_PLOT_OF_BUSY:
        return idle ? 0 : row->frac_busy;
    case KR_PLOT_OF_STEP:
        break;
    }
    if (!report->step.known || report->step.busy_too_long)
        return NAN;
    return idle ? report->step.idle_frac : row->frac_step;
}

bool kr_plot_check_of(const struct kr_report *reports, size_t n, enum kr_plot_of of,
                      struct kr_err *err)
{
    for (size_t r = 0; r < n; r++) {
        const struct kr_true_step *step = &reports[r].step;

        if (of != KR_PLOT_OF_STEP || (step->known && !step->busy_too_long))
            continue;
        return kr_fail(err, KR_EARG, "%s: shares of the unprofiled step are not known: %s",
                       reports[r].runs[0].timeline->source.path,
                       step->known ? "the GPU's busy time is longer than it"
                                   : "give its duration with --wall");
    }
    return true;
}

const char *kr_plot_of_text(enum kr_plot_of of)
{
    static const char *const texts[] = { [KR_PLOT_OF_WALL] = "share of wall time",
                                         [KR_PLOT_OF_BUSY] = "share of busy time",
                                         [KR_PLOT_OF_STEP] = "share of the unprofiled step" };

    return texts[of];
}

/* A path as a gnuplot string: inside single quotes nothing is special but the quote itself. */
static bool put_path(FILE *out, const char *path, struct kr_err *err)
{
    for (const char *s = path; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == 127)
            return kr_fail(err, KR_EARG,
                           "'%s' cannot stand in a script: it holds a control character", path);
    }
    fputc('\'', out);
    for (const char *s = path; *s; s++)
        fputs(*s == '\'' ? "''" : (const char[]){ *s, '\0' }, out);
    fputs("'\n", out);
    return true;
}

static void put_terminal(const struct kr_plot *plot, FILE *out)
{
    switch (plot->format) {
    case KR_PLOT_DUMB:
        fprintf(out, "set terminal dumb mono nofeed noenhanced size %zu,%zu\n", plot->width,
                plot->height);
        break;
    case KR_PLOT_SVG:
        fprintf(out,
                "set terminal svg noenhanced font 'sans-serif,11' background '#ffffff' size "
                "%zu,%zu\n",
                plot->width, plot->height);
        break;
    case KR_PLOT_PNG: /* twice the size, for screens and paper of today */
        fprintf(out,
                "set terminal pngcairo noenhanced font 'sans-serif,11' fontscale 2 linewidth 2 "
                "pointscale 2 size %zu,%zu\n",
                plot->width * 2, plot->height * 2);
        break;
    case KR_PLOT_PDF: /* 96 pixels are an inch, 72 points too */
        fprintf(
            out,
            "set terminal pdfcairo noenhanced font 'sans-serif,11' fontscale 0.75 linewidth 0.75 "
            "pointscale 0.6 size "
            "%.2fin,%.2fin\n",
            (double)plot->width / 96, (double)plot->height / 96);
        break;
    case KR_PLOT_FORMAT_COUNT:
        break;
    }
}

bool kr_plot_write_script(const struct kr_plot *plot, const char *data_path,
                          const char *output_path, FILE *out, struct kr_err *err)
{
    fputs("# Made by kreach plot, for gnuplot 5.4 or newer.\n"
          "set encoding utf8\n"
          "set datafile separator \"\\t\"\n",
          out);
    put_terminal(plot, out);
    if (output_path) {
        fputs("set output ", out);
        if (!put_path(out, output_path, err))
            return false;
    }
    fputs("data = ", out);
    if (!put_path(out, data_path, err))
        return false;
    fwrite(plot->script, 1, plot->script_len, out);
    return true;
}

/*
 * Figures, as gnuplot scripts and the data they draw.
 *
 * A figure shows the numbers of a report or a prediction; nothing is computed a second time. Names
 * from traces (kernels, devices, files, annotations) stand in the data only, as printable text:
 * gnuplot takes a script for a program, and data for data. Script and data depend on nothing but
 * the arguments, so the same input gives the same bytes.
 */
#ifndef KR_PLOT_H
#define KR_PLOT_H

#include "predict.h"
#include "report.h"

enum kr_plot_format { KR_PLOT_DUMB, KR_PLOT_SVG, KR_PLOT_PNG, KR_PLOT_PDF, KR_PLOT_FORMAT_COUNT };

/** "dumb", "svg", "png", "pdf": names of formats and, but for dumb, endings of files. */
const char *kr_plot_format_name(enum kr_plot_format format);

/* What shares are of. */
enum kr_plot_of { KR_PLOT_OF_WALL, KR_PLOT_OF_BUSY, KR_PLOT_OF_STEP };

struct kr_plot_options {
    enum kr_plot_format format;
    enum kr_plot_of of; /* classes and cumulative */
    size_t columns;     /* dumb: width of the terminal [characters] */
};

/* A figure. Owns its texts; see kr_plot_free. */
struct kr_plot {
    enum kr_plot_format format;
    size_t width, height; /* [pixels]; dumb: [characters] */
    char *script;         /* without the head that kr_plot_write_script puts before it */
    size_t script_len;
    char *data; /* blocks of lines, fields between tabs */
    size_t data_len;
    FILE *script_out, *data_out; /* while it is built; else NULL */
};

#define KR_PLOT_RUNS_MAX   40 /* bars */
#define KR_PLOT_CURVES_MAX 8  /* runs with a curve each */

/**
 * One bar for each run: its classes and its idle time.
 * @param reports  of one run each, n of them
 * @return false with KR_EARG when there are more than KR_PLOT_RUNS_MAX, or when a share is unknown:
 *         KR_PLOT_OF_STEP without a plain step, or with one shorter than its busy time.
 */
bool kr_plot_classes(const struct kr_report *reports, size_t n, const struct kr_plot_options *opt,
                     struct kr_plot *out, struct kr_err *err);

/**
 * How few kernels make up most of the time: the share of the k largest kernels over k, of all work
 * and of addressable work alone.
 * @return false with KR_EARG when there are more than KR_PLOT_CURVES_MAX runs, as for
 *         kr_plot_classes, or with KR_EINPUT when a run has no work in its window.
 */
bool kr_plot_cumulative(const struct kr_report *reports, size_t n,
                        const struct kr_plot_options *opt, struct kr_plot *out, struct kr_err *err);

/**
 * Time saved over the speed-up of kernels (Amdahl): all addressable work; with measured speed-ups
 * what they match, each of them marked; without, the largest addressable families.
 * @param sigma  NULL = none
 */
bool kr_plot_amdahl(const struct kr_report *report, const struct kr_sigma_file *sigma,
                    const struct kr_predict_result *result, const struct kr_plot_options *opt,
                    struct kr_plot *out, struct kr_err *err);

/**
 * One step on a time axis: a lane for each stream and one for the device's idle time. The step is
 * kr_plot_typical_step's; without steps it is the whole window. A column of the axis shows which
 * share of it each class takes, so that gaps too short to be seen alone are not lost.
 * @return false with KR_EINPUT when the window has no work
 */
bool kr_plot_step(const struct kr_report *report, const struct kr_plot_options *opt,
                  struct kr_plot *out, struct kr_err *err);

/**
 * The step of median length among those with work: the lower one of two, the earlier one of equals.
 * @param out  its index; SIZE_MAX when the account has no step with work
 * @return false only when memory is out
 */
bool kr_plot_typical_step(const struct kr_account *account, size_t *out, struct kr_err *err);

/**
 * Writes the whole script.
 * @param data_path    the data file as gnuplot is to open it
 * @param output_path  the picture; NULL = gnuplot's standard output
 * @return false with KR_EARG when a path holds a control character
 */
bool kr_plot_write_script(const struct kr_plot *plot, const char *data_path,
                          const char *output_path, FILE *out, struct kr_err *err);

void kr_plot_free(struct kr_plot *plot);

#endif

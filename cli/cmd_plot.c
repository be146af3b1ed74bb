/* kreach plot FIGURE: pictures of a report, drawn by gnuplot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "gnuplot.h"
#include "load.h"
#include "mem.h"
#include "output.h"

/* Analysed runs, each with a report of its own. */
struct reports {
    struct kr_rules *rules;
    struct kr_run *runs;
    struct kr_report *items;
    size_t n;
};

typedef bool draw_fn(const struct kr_report *reports, size_t n, const struct kr_plot_options *opt,
                     struct kr_plot *out, struct kr_err *err);

static const char *output_path(const struct kr_call *call)
{
    const char *path = kr_opts_value(&call->opts, "output");

    return path && strcmp(path, "-") != 0 ? path : NULL;
}

/* The dot of a file's ending that names a format, and that format; NULL when there is none. */
static const char *find_ending(const char *path, enum kr_plot_format *format)
{
    const char *dot = strrchr(path, '.');

    for (int f = KR_PLOT_SVG; dot && f < KR_PLOT_FORMAT_COUNT; f++) {
        if (strcmp(dot + 1, kr_plot_format_name((enum kr_plot_format)f)) == 0) {
            *format = (enum kr_plot_format)f;
            return dot;
        }
    }
    return NULL;
}

static bool choose_plot_format(const struct kr_call *call, enum kr_plot_format *out,
                               struct kr_err *err)
{
    const char *format = kr_opts_value(&call->opts, "format");
    const char *path = output_path(call);

    *out = KR_PLOT_DUMB;
    for (int f = 0; format && f < KR_PLOT_FORMAT_COUNT; f++) {
        if (strcmp(format, kr_plot_format_name((enum kr_plot_format)f)) == 0)
            *out = (enum kr_plot_format)f;
    }
    if (!format && path && !find_ending(path, out))
        return kr_fail(err, KR_EARG,
                       "the format of '%s' is not clear: end its name in .svg, .png or .pdf, or "
                       "give --format",
                       path);
    if ((*out == KR_PLOT_PNG || *out == KR_PLOT_PDF) && isatty(fileno(call->out)))
        return kr_fail(err, KR_EARG, "a terminal cannot show %s; give -o FILE",
                       kr_plot_format_name(*out));
    return true;
}

static bool parse_options(const struct kr_call *call, struct kr_plot_options *out,
                          struct kr_err *err)
{
    const char *of = kr_opts_value(&call->opts, "of");

    *out = (struct kr_plot_options){ .columns = call->style.columns };
    if (of && strcmp(of, "busy") == 0)
        out->of = KR_PLOT_OF_BUSY;
    else if (of && strcmp(of, "step") == 0)
        out->of = KR_PLOT_OF_STEP;
    return choose_plot_format(call, &out->format, err);
}

/* The output's path (or the figure's name in this folder) with another ending. Owned by the caller.
 */
static char *kept_path(const struct kr_call *call, const char *ending, struct kr_err *err)
{
    const char *path = output_path(call);
    enum kr_plot_format format;
    const char *dot = path ? find_ending(path, &format) : NULL;
    char *kept = NULL;
    int rc;

    if (path)
        rc = asprintf(&kept, "%.*s%s", (int)(dot ? (size_t)(dot - path) : strlen(path)), path,
                      ending);
    else
        rc = asprintf(&kept, "kreach-%s%s", strchr(call->command->name, ' ') + 1, ending);
    if (rc >= 0)
        return kept;
    kr_fail(err, KR_ENOMEM, "out of memory");
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool keep_script(const struct kr_call *call, const struct kr_plot *plot, const char *data,
                        FILE *out, struct kr_err *err)
{
    const char *picture = output_path(call);

    return kr_plot_write_script(plot, base_name(data), picture ? base_name(picture) : NULL, out,
                                err);
}

/* Leaves script and data beside the picture; the script is for running in that folder. */
static bool keep(const struct kr_call *call, const struct kr_plot *plot, struct kr_err *err)
{
    bool replace = kr_opts_count(&call->opts, "force") > 0;
    char *script = kept_path(call, ".gp", err);
    char *data = script ? kept_path(call, ".dat", err) : NULL;
    struct kr_output out[2] = { { 0 }, { 0 } };
    bool good = data && kr_output_open(&out[0], script, NULL, replace, err) &&
                kr_output_open(&out[1], data, NULL, replace, err);

    if (good) {
        fwrite(plot->data, 1, plot->data_len, out[1].file);
        good = keep_script(call, plot, data, out[0].file, err) && kr_output_commit(&out[1], err) &&
               kr_output_commit(&out[0], err);
    }
    if (good)
        kr_call_note(call, "script and data are in '%s' and '%s'", script, data);
    kr_output_discard(&out[0]);
    kr_output_discard(&out[1]);
    free(script);
    free(data);
    return good;
}

/* Draws. What gnuplot cannot draw is kept, so that it can be drawn elsewhere. */
static bool draw(const struct kr_call *call, const struct kr_plot *plot, struct kr_err *err)
{
    bool kept = kr_opts_count(&call->opts, "keep") > 0;
    struct kr_err second = { .offset = KR_NO_OFFSET };

    if (kept && !keep(call, plot, err))
        return false;
    if (kr_gnuplot_draw(plot, KR_GNUPLOT_TIMEOUT_NS, call->out, err))
        return true;
    if (!kept && !keep(call, plot, &second))
        kr_call_warn(call, "script and data are not kept: %s", second.msg);
    errno = 0;
    return false;
}

static void free_reports(struct reports *r)
{
    for (size_t i = 0; i < r->n; i++) {
        kr_report_free(&r->items[i]);
        kr_run_free(&r->runs[i]);
    }
    free(r->items);
    free(r->runs);
    kr_rules_free(r->rules);
}

static bool load_report(struct kr_call *call, struct reports *r, size_t i, struct kr_err *err)
{
    enum kr_status status;
    uint64_t wall_step_ns;

    if (!kr_load_wall(call, &wall_step_ns, err) ||
        !kr_load_run(call, r->rules, call->opts.operands[i], &r->runs[i], err))
        return false;
    status = kr_load_status(call, r->runs[i].timeline);
    call->status = status > call->status ? status : call->status;
    wall_step_ns = kr_load_plain_step(call, wall_step_ns, &r->runs[i]);
    return kr_report_build(&r->runs[i], 1, r->rules, wall_step_ns, &r->items[i], err);
}

/* Reads the operands; *r is to be freed also after a failure. */
static bool load_reports(struct kr_call *call, struct reports *r, struct kr_err *err)
{
    size_t n = call->opts.n_operands;
    bool good;

    *r = (struct reports){ .rules = kr_load_rules(call, err) };
    if (r->rules)
        r->runs = kr_xcalloc(n, sizeof *r->runs, err);
    if (r->runs)
        r->items = kr_xcalloc(n, sizeof *r->items, err);
    good = r->items != NULL;
    r->n = good ? n : 0;
    for (size_t i = 0; good && i < n; i++)
        good = load_report(call, r, i, err);
    return good;
}

/* Without --of: of the plain step where it is known of every run, as in a report's verdict. */
static void choose_whole(const struct kr_call *call, const struct reports *reports,
                         struct kr_plot_options *options)
{
    bool known = true;

    if (kr_opts_value(&call->opts, "of"))
        return;
    for (size_t r = 0; r < reports->n; r++) {
        const struct kr_true_step *step = &reports->items[r].step;

        known = known && step->known && !step->busy_too_long;
    }
    options->of = known ? KR_PLOT_OF_STEP : KR_PLOT_OF_WALL;
}

/* Options before files: a mistake in them must not cost the reading of a trace. */
static bool run_figure(struct kr_call *call, draw_fn *build, struct kr_err *err)
{
    struct kr_plot_options options;
    struct reports reports = { 0 };
    struct kr_plot plot = { 0 };
    bool good = parse_options(call, &options, err) && load_reports(call, &reports, err);

    if (good)
        choose_whole(call, &reports, &options);
    good = good && build(reports.items, reports.n, &options, &plot, err) && draw(call, &plot, err);
    kr_plot_free(&plot);
    free_reports(&reports);
    return good;
}

static bool run_classes(struct kr_call *call, struct kr_err *err)
{
    return run_figure(call, kr_plot_classes, err);
}

static bool run_cumulative(struct kr_call *call, struct kr_err *err)
{
    return run_figure(call, kr_plot_cumulative, err);
}

static bool build_step(const struct kr_report *reports, size_t n, const struct kr_plot_options *opt,
                       struct kr_plot *out, struct kr_err *err)
{
    (void)n; /* one operand, as the command's table says */
    return kr_plot_step(&reports[0], opt, out, err);
}

static bool run_step(struct kr_call *call, struct kr_err *err)
{
    return run_figure(call, build_step, err);
}

/* Predicts on the only report and draws that. */
static bool draw_amdahl(struct kr_call *call, const struct reports *reports,
                        const struct kr_plot_options *options, const struct kr_sigma_file *sigma,
                        struct kr_err *err)
{
    const struct kr_run *run = &reports->runs[0];
    const struct kr_report *report = &reports->items[0];
    const struct kr_predict_input input = { .timeline = run->timeline,
                                            .tags = run->tags,
                                            .rules = reports->rules,
                                            .window = &run->window,
                                            .account = &run->account };
    struct kr_predict_options predict = { .force = kr_opts_count(&call->opts, "unphysical") > 0 };
    struct kr_predict_result result = { 0 };
    struct kr_plot plot = { 0 };
    bool good;

    predict.wall_step_ns = report->step.known ? (uint64_t)report->step.plain_ns : 0;
    if (!kr_predict_run(&input, sigma, &predict, &result, err))
        return false;
    for (size_t i = 0; i < result.n_warnings; i++)
        kr_call_warn(call, "%s", result.warnings[i]);
    good = kr_plot_amdahl(report, sigma, &result, options, &plot, err) && draw(call, &plot, err);
    kr_plot_free(&plot);
    kr_predict_free(&result);
    return good;
}

static bool run_amdahl(struct kr_call *call, struct kr_err *err)
{
    bool has_sigma = kr_opts_count(&call->opts, "sigma") > 0;
    struct kr_plot_options options;
    struct kr_sigma_file sigma = { 0 };
    struct reports reports = { 0 };
    bool good = parse_options(call, &options, err) && kr_load_sigma(call, &sigma, err) &&
                load_reports(call, &reports, err) &&
                draw_amdahl(call, &reports, &options, has_sigma ? &sigma : NULL, err);

    free_reports(&reports);
    kr_sigma_free(&sigma);
    return good;
}

#define OPTION_OF                                                                                  \
    {                                                                                              \
        "of", 0, "WHOLE", "wall|busy|step",                                                        \
            "what shares are of: wall time, the GPU's busy time, or the plain step, the "          \
            "default where it is known of every run"                                               \
    }

/* A PNG has twice the pixels that its 96 per inch ask for. */
#define OPTIONS_PICTURE                                                                            \
    { "format", 0, "FORMAT", "svg|png|pdf|dumb",                                                   \
      "by the ending of --output, else dumb: characters for a terminal" },                         \
        { "keep", 0, NULL, NULL, "leave the gnuplot script and its data beside the picture" },     \
        KR_OPTIONS_FILE

static const struct kr_option shares_options[] = {
    OPTION_OF,       KR_OPTIONS_WINDOW, KR_OPTIONS_RULES,
    OPTIONS_PICTURE, KR_OPTION_SHARES,  KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_plot_classes = {
    .name = "plot classes",
    .args = "[FILE...]",
    .summary = "draw the classes of runs as bars",
    .details = "One bar for each file: optimal, addressable, overhead, unclassified, idle.\n\n"
               "examples:\n"
               "  kreach plot classes run.kreach\n"
               "  kreach plot classes -o classes.svg llama.json.gz dlrm.json.gz resnet.kreach\n",
    .options = shares_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes_latest = true,
    .run = run_classes,
};

const struct kr_command kr_cmd_plot_cumulative = {
    .name = "plot cumulative",
    .args = "[FILE...]",
    .summary = "draw how few kernels make up most of the time",
    .details = "The share of the k largest kernels over k: of all work, and of addressable work\n"
               "alone.\n\n"
               "examples:\n"
               "  kreach plot cumulative run.kreach\n"
               "  kreach plot cumulative --of busy -o few.svg before.json.gz after.json.gz\n",
    .options = shares_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes_latest = true,
    .run = run_cumulative,
};

static const struct kr_option amdahl_options[] = {
    KR_OPTION_SIGMA,
    KR_OPTIONS_WINDOW,
    KR_OPTIONS_RULES,
    { "unphysical", 0, NULL, NULL, "accept speed-ups beyond what the device's peaks allow" },
    OPTIONS_PICTURE,
    KR_OPTION_SHARES,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_plot_amdahl = {
    .name = "plot amdahl",
    .args = "[FILE]",
    .summary = "draw what faster kernels save of the run",
    .details = "Time saved over the speed-up of kernels. With --sigma the measured speed-ups are\n"
               "marked; without, the largest addressable families have a curve each.\n\n"
               "examples:\n"
               "  kreach plot amdahl run.kreach\n"
               "  kreach plot amdahl --sigma sigma.json -o gain.svg trace.json.gz\n",
    .options = amdahl_options,
    .min_operands = 1,
    .max_operands = 1,
    .takes_latest = true,
    .run = run_amdahl,
};

static const struct kr_option step_options[] = {
    KR_OPTIONS_WINDOW, KR_OPTIONS_RULES, OPTIONS_PICTURE, KR_OPTIONS_READ, { 0 },
};

const struct kr_command kr_cmd_plot_step = {
    .name = "plot step",
    .args = "[FILE]",
    .summary = "draw one step on a time axis, with its idle time",
    .details = "The step is the one of median length in the window; --window step:N chooses\n"
               "another. A lane is a stream; its height is the share of the time in which work\n"
               "runs.\n\n"
               "examples:\n"
               "  kreach plot step run.kreach\n"
               "  kreach plot step --window step:3 -o step.svg trace.json.gz\n",
    .options = step_options,
    .min_operands = 1,
    .max_operands = 1,
    .takes_latest = true,
    .run = run_step,
};

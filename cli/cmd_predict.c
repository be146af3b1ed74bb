/* kreach predict: measured speed-ups of kernels in, gain of the whole run out. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "load.h"
#include "mem.h"
#include "render_predict.h"

#define TOP_DEFAULT 8
#define TOP_MOST    1000000000u
#define MODES_ALL   ((1u << KR_PREDICT_MODE_COUNT) - 1)

/* Moves the entries of `more` behind those of `all`; the first file's entries win. */
static bool append_entries(struct kr_sigma_file *all, struct kr_sigma_file *more,
                           struct kr_err *err)
{
    size_t n = all->n_entries + more->n_entries;
    struct kr_sigma_entry *entries = kr_xcalloc(n, sizeof *entries, err);
    char *name = NULL;

    if (!entries)
        return false;
    if (asprintf(&name, "%s, %s", all->name, more->name) < 0) {
        free(entries);
        return kr_fail(err, KR_ENOMEM, "out of memory: names of sigma files");
    }
    memcpy(entries, all->entries, all->n_entries * sizeof *entries);
    memcpy(entries + all->n_entries, more->entries, more->n_entries * sizeof *entries);
    free(all->entries);
    free(all->name);
    *all = (struct kr_sigma_file){ .name = name, .entries = entries, .n_entries = n };
    more->n_entries = 0; /* moved: only the array itself is left to free */
    return true;
}

static bool read_sigma(const struct kr_call *call, struct kr_sigma_file *out, struct kr_err *err)
{
    for (unsigned i = 0; i < kr_opts_count(&call->opts, "sigma"); i++) {
        struct kr_sigma_file more = { 0 };
        bool good;

        if (!kr_sigma_read(kr_opts_nth(&call->opts, "sigma", i), i ? &more : out, err))
            return false;
        good = i == 0 || append_entries(out, &more, err);
        kr_sigma_free(&more);
        if (!good)
            return false;
    }
    return true;
}

static unsigned wanted_modes(const struct kr_call *call)
{
    unsigned modes = 0;

    for (unsigned i = 0; i < kr_opts_count(&call->opts, "mode"); i++) {
        const char *name = kr_opts_nth(&call->opts, "mode", i);

        for (unsigned m = 0; m < KR_PREDICT_MODE_COUNT; m++) {
            if (strcmp(name, kr_predict_mode_name((enum kr_predict_mode)m)) == 0)
                modes |= 1u << m;
        }
    }
    return modes ? modes : MODES_ALL;
}

static bool render(const struct kr_call *call, struct kr_prediction_view *view, struct kr_err *err)
{
    uint64_t top = TOP_DEFAULT;

    if (!kr_opts_number(&call->opts, "top", TOP_MOST, &top, err))
        return false;
    view->top = (size_t)top;
    view->modes = wanted_modes(call);
    view->style = call->style;
    if (call->format == KR_FORMAT_TEXT)
        return kr_prediction_text(view, call->out, err);
    if (call->format == KR_FORMAT_JSON)
        kr_prediction_json(view, call->out);
    else
        kr_prediction_csv(view, call->out);
    return true;
}

static bool predict(const struct kr_call *call, const struct kr_report *report,
                    const struct kr_sigma_file *sigma, struct kr_err *err)
{
    const struct kr_run *run = &report->runs[0];
    const struct kr_predict_input input = { .timeline = run->timeline,
                                            .tags = run->tags,
                                            .rules = report->rules,
                                            .window = &run->window,
                                            .account = &run->account };
    struct kr_predict_options options = { .force = kr_opts_count(&call->opts, "unphysical") > 0 };
    struct kr_predict_result result = { 0 };
    struct kr_prediction_view view = { .report = report, .sigma = sigma, .result = &result };
    bool good;

    if (!kr_load_wall(call, &options.wall_step_ns, err) ||
        !kr_predict_run(&input, sigma, &options, &result, err))
        return false;
    for (size_t i = 0; i < result.n_warnings; i++)
        kr_call_warn(call, "%s", result.warnings[i]);
    good = render(call, &view, err);
    kr_predict_free(&result);
    return good;
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct kr_sigma_file sigma = { 0 };
    struct kr_run trace = { 0 };
    struct kr_report report = { 0 };
    uint64_t wall_step_ns;
    struct kr_rules *rules = NULL;
    bool good = kr_load_wall(call, &wall_step_ns, err) && read_sigma(call, &sigma, err);

    if (good)
        rules = kr_load_rules(call, err);
    good = rules && kr_load_run(call, rules, call->opts.operands[0], &trace, err) &&
           kr_report_build(&trace, 1, rules, wall_step_ns, &report, err) &&
           predict(call, &report, kr_opts_count(&call->opts, "sigma") ? &sigma : NULL, err);
    if (good)
        call->status = kr_load_status(call, trace.timeline);
    kr_report_free(&report);
    kr_run_free(&trace);
    kr_rules_free(rules);
    kr_sigma_free(&sigma);
    return good;
}

static const struct kr_option options[] = {
    { "sigma", 's', "FILE", NULL, "measured speed-ups (docs/sigma.md); may be repeated" },
    { "mode", 'm', "MODE", "per-kernel|win-rate|ceiling|ceiling-addressable",
      "show only this mode; may be repeated" },
    KR_OPTIONS_WINDOW,
    KR_OPTIONS_RULES,
    { "unphysical", 0, NULL, NULL, "accept speed-ups beyond what the device's peaks allow" },
    { "top", 'n', "N", NULL, "most targets in text; 8 by default" },
    { "strict", 0, NULL, NULL, "exit with 3 when device work may be missing or wrong" },
    KR_OPTIONS_OUTPUT,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_predict = {
    .name = "predict",
    .args = "FILE",
    .summary = "predict what faster kernels bring to the whole run",
    .details =
        "Without --sigma: what there is to gain at most, and which kernels to write first.\n\n"
        "examples:\n"
        "  kreach predict trace.json.gz\n"
        "  kreach predict trace.json.gz --sigma sigma.json --wall 31.4ms\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

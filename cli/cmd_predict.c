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

static bool render(const struct kr_call *call, const struct kr_prediction_view *view,
                   struct kr_err *err)
{
    if (call->format == KR_FORMAT_TEXT)
        return kr_prediction_text(view, call->out, err);
    if (call->format == KR_FORMAT_JSON)
        kr_prediction_json(view, call->out);
    else
        kr_prediction_csv(view, call->out);
    return true;
}

/* What the options ask for, checked before any file is read. */
struct request {
    struct kr_predict_options predict;
    unsigned modes;
    size_t top;
};

static bool parse_request(const struct kr_call *call, struct request *out, struct kr_err *err)
{
    uint64_t top = TOP_DEFAULT;

    *out = (struct request){ .modes = wanted_modes(call) };
    out->predict.force = kr_opts_count(&call->opts, "unphysical") > 0;
    if (!kr_opts_number(&call->opts, "top", TOP_MOST, &top, err))
        return false;
    out->top = (size_t)top;
    return kr_load_wall(call, &out->predict.wall_step_ns, err);
}

/* A mode that was asked for by name and cannot be told is no empty table. */
static bool check_modes(unsigned modes, const struct kr_predict_result *result, bool has_sigma,
                        struct kr_err *err)
{
    for (unsigned m = 0; modes != MODES_ALL && m < KR_PREDICT_MODE_COUNT; m++) {
        enum kr_predict_mode mode = (enum kr_predict_mode)m;

        if ((modes & 1u << m) && !kr_predict_find(result, mode))
            return kr_fail(err, KR_EARG, "--mode %s needs %s", kr_predict_mode_name(mode),
                           has_sigma ? "an entry with a win_rate" : "--sigma");
    }
    return true;
}

static bool predict(const struct kr_call *call, const struct request *request,
                    const struct kr_report *report, const struct kr_sigma_file *sigma,
                    struct kr_err *err)
{
    const struct kr_run *run = &report->runs[0];
    const struct kr_predict_input input = { .timeline = run->timeline,
                                            .tags = run->tags,
                                            .rules = report->rules,
                                            .window = &run->window,
                                            .account = &run->account };
    struct kr_predict_result result = { 0 };
    const struct kr_prediction_view view = { .report = report,
                                             .sigma = sigma,
                                             .result = &result,
                                             .modes = request->modes,
                                             .top = request->top,
                                             .style = call->style };
    bool good;

    if (!kr_predict_run(&input, sigma, &request->predict, &result, err))
        return false;
    good = check_modes(request->modes, &result, sigma != NULL, err);
    /* Text has them in its own place. */
    for (size_t i = 0; good && call->format != KR_FORMAT_TEXT && i < result.n_warnings; i++)
        kr_call_warn(call, "%s", result.warnings[i]);
    good = good && render(call, &view, err);
    kr_predict_free(&result);
    return good;
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct request request;
    struct kr_sigma_file sigma = { 0 };
    struct kr_run trace = { 0 };
    struct kr_report report = { 0 };
    struct kr_rules *rules = NULL;
    bool has_sigma = kr_opts_count(&call->opts, "sigma") > 0;
    bool good = parse_request(call, &request, err) && kr_load_sigma(call, &sigma, err);

    if (good)
        rules = kr_load_rules(call, err);
    good = rules && kr_load_run(call, rules, call->opts.operands[0], &trace, err);
    if (good)
        request.predict.wall_step_ns =
            kr_load_plain_step(call, request.predict.wall_step_ns, &trace);
    good = good && kr_report_build(&trace, 1, rules, request.predict.wall_step_ns, &report, err) &&
           predict(call, &request, &report, has_sigma ? &sigma : NULL, err);
    if (good)
        call->status = kr_load_status(call, trace.timeline);
    kr_report_free(&report);
    kr_run_free(&trace);
    kr_rules_free(rules);
    kr_sigma_free(&sigma);
    return good;
}

static const struct kr_option options[] = {
    KR_OPTION_SIGMA,
    { "mode", 'm', "MODE", "per-kernel|win-rate|ceiling|ceiling-addressable",
      "show only this mode; may be repeated" },
    KR_OPTIONS_WINDOW,
    KR_OPTIONS_RULES,
    { "unphysical", 0, NULL, NULL, "accept speed-ups beyond what the device's peaks allow" },
    { "top", 'n', "N", NULL, "most targets in text; 8 by default" },
    { "strict", 0, NULL, NULL, "exit with 3 when device work may be missing or wrong" },
    KR_OPTIONS_OUTPUT,
    KR_OPTION_SHARES,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_predict = {
    .name = "predict",
    .args = "[FILE]",
    .summary = "predict what faster kernels bring to the whole run",
    .details = "Without --sigma: what there is to gain at most, and what to write first.\n\n"
               "examples:\n"
               "  kreach predict trace.json.gz\n"
               "  kreach predict trace.json.gz --sigma sigma.json --wall 31.4ms\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .takes_latest = true,
    .run = run,
};

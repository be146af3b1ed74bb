/* kreach report: where the time goes, and whether kernels are worth writing. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "commands.h"
#include "load.h"
#include "mem.h"
#include "render.h"
#include "text.h"

#define TOP_DEFAULT 12
#define TOP_MOST    1000000000u

/* What the options ask for, checked before any file is read. */
struct request {
    struct kr_render_options render;
    uint64_t wall_step_ns;
};

static bool parse_request(const struct kr_call *call, struct request *out, struct kr_err *err)
{
    static const char *const names[] = {
        [KR_BY_CLASS] = "class", [KR_BY_FAMILY] = "family", [KR_BY_KERNEL] = "kernel"
    };
    const char *by = kr_opts_value(&call->opts, "by");
    struct kr_check check;
    uint64_t top = TOP_DEFAULT;

    *out = (struct request){ .render = { .by = KR_BY_ALL, .style = call->style } };
    for (int i = KR_BY_CLASS; by && i <= KR_BY_KERNEL; i++) {
        if (strcmp(by, names[i]) == 0)
            out->render.by = (enum kr_by)i;
    }
    if (!kr_opts_number(&call->opts, "top", TOP_MOST, &top, err))
        return false;
    out->render.top = (size_t)top;
    for (unsigned i = 0; i < kr_opts_count(&call->opts, "fail-if"); i++) {
        if (!kr_check_parse(kr_opts_nth(&call->opts, "fail-if", i), &check, err))
            return false;
    }
    return kr_load_wall(call, &out->wall_step_ns, err);
}

static bool render(const struct kr_call *call, const struct request *request,
                   const struct kr_report *report, struct kr_err *err)
{
    if (call->format == KR_FORMAT_TEXT)
        return kr_render_text(report, &request->render, call->out, err);
    if (call->format == KR_FORMAT_JSON)
        kr_render_json(report, call->out);
    else
        kr_render_csv(report, request->render.by, call->out);
    return true;
}

static bool run_checks(struct kr_call *call, const struct kr_report *report, struct kr_err *err)
{
    for (unsigned i = 0; i < kr_opts_count(&call->opts, "fail-if"); i++) {
        const char *text = kr_opts_nth(&call->opts, "fail-if", i);
        struct kr_check check;
        bool holds;
        double value;

        if (!kr_check_parse(text, &check, err) ||
            !kr_check_holds(&check, report, &holds, &value, err))
            return false;
        if (!holds)
            continue;
        fprintf(call->log, "kreach: check failed: %s (%s is %s %% of %s)\n", text, check.what,
                kr_text_percent(value).s, check.of_busy ? "busy time" : "wall time");
        if (call->status == KR_STATUS_DONE)
            call->status = KR_STATUS_NO;
    }
    return true;
}

static bool report_runs(struct kr_call *call, const struct request *request,
                        const struct kr_rules *rules, const struct kr_run *runs, struct kr_err *err)
{
    uint64_t wall_step_ns = request->wall_step_ns;
    struct kr_report report;
    bool good;

    /* Of several runs no recorded step time is that of all. */
    if (call->opts.n_operands == 1)
        wall_step_ns = kr_load_plain_step(call, wall_step_ns, &runs[0]);
    if (!kr_report_build(runs, call->opts.n_operands, rules, wall_step_ns, &report, err))
        return false;
    /* Checks first: a condition that cannot be evaluated must not follow a whole document. */
    good = run_checks(call, &report, err) && render(call, request, &report, err);
    kr_report_free(&report);
    return good;
}

/* A file named twice is a slip, and its time would count twice in silence. */
static void warn_of_twins(const struct kr_call *call, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(call->opts.operands[k], call->opts.operands[i]) == 0) {
            kr_call_warn(call, "'%s' is given more than once, and counts as often",
                         call->opts.operands[i]);
            return;
        }
    }
}

static bool load_runs(struct kr_call *call, const struct kr_rules *rules, struct kr_run *runs,
                      struct kr_err *err)
{
    for (size_t i = 0; i < call->opts.n_operands; i++) {
        enum kr_status status;

        warn_of_twins(call, i);
        if (!kr_load_run(call, rules, call->opts.operands[i], &runs[i], err))
            return false;
        status = kr_load_status(call, runs[i].timeline);
        call->status = status > call->status ? status : call->status;
    }
    return true;
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct kr_rules *rules = NULL;
    struct kr_run *runs = NULL;
    struct request request;
    bool good = false;

    if (!parse_request(call, &request, err))
        return false;
    rules = kr_load_rules(call, err);
    if (rules)
        runs = kr_xcalloc(call->opts.n_operands, sizeof *runs, err);
    if (runs)
        good = load_runs(call, rules, runs, err) && report_runs(call, &request, rules, runs, err);
    for (size_t i = 0; runs && i < call->opts.n_operands; i++)
        kr_run_free(&runs[i]);
    free(runs);
    kr_rules_free(rules);
    return good;
}

static const struct kr_option options[] = {
    KR_OPTIONS_WINDOW,
    KR_OPTIONS_RULES,
    { "by", 0, "TABLE", "class|family|kernel", "show only this table; the table of --format csv" },
    { "top", 'n', "N", NULL, "most rows of a table in text; 12 by default" },
    { "fail-if", 0, "CONDITION", NULL,
      "exit with 1 when it holds: a class, family, idle or suspect, of wall or /busy time" },
    { "strict", 0, NULL, NULL, "exit with 3 when device work may be missing or wrong" },
    KR_OPTIONS_OUTPUT,
    KR_OPTION_SHARES,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_report = {
    .name = "report",
    .args = "[FILE...]",
    .summary = "say where the time goes and how much of it kernels could save",
    .details = "FILE is a recording of 'kreach record' (.kreach) or a trace of torch.profiler\n"
               "(JSON, plain or in gzip or zstd); '-' is standard input. Several files (ranks)\n"
               "are analysed apart and their rows added by name.\n"
               "A truncated file is reported as far as it goes, with exit status 3.\n\n"
               "examples:\n"
               "  kreach record -- python3 train.py && kreach report\n"
               "  kreach report --wall 31.4ms trace.json.gz\n"
               "  kreach report --window steady --json -o report.json rank0.json rank1.json\n"
               "  kreach report --format csv --by family trace.json\n"
               "  kreach report --fail-if 'unclassified/busy>1%' trace.json\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes_latest = true,
    .run = run,
};

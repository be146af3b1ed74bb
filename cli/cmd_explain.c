/* kreach explain: which rule decided, and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "kernel_name.h"
#include "load.h"
#include "mem.h"
#include "render_explain.h"
#include "text.h"

#define SHORT_NAME_MAX 160

static const char *value_or_empty(const struct kr_call *call, const char *option)
{
    const char *value = kr_opts_value(&call->opts, option);

    return value ? value : "";
}

static bool explain_name(const struct kr_call *call, const struct kr_rules *rules, const char *name,
                         struct kr_err *err)
{
    struct kr_explained kernel = {
        .name = name, .name_len = strlen(name), .frac_busy = NAN, .frac_wall = NAN
    };
    struct kr_subject subject = { .name = name,
                                  .op = value_or_empty(call, "op"),
                                  .annotation = value_or_empty(call, "annotation"),
                                  .kind = strncmp(name, "Memcpy", 6) == 0   ? KR_MEMCPY
                                          : strncmp(name, "Memset", 6) == 0 ? KR_MEMSET
                                                                            : KR_KERNEL };
    char *normalised = NULL;
    char *short_name = NULL;
    bool good;

    normalised = kr_kernel_name_normalise(name, err);
    if (normalised)
        short_name = kr_kernel_name_short(normalised, SHORT_NAME_MAX, err);
    good = short_name && kr_rules_match(rules, &subject, &kernel.tag, err);
    if (good) {
        kernel.normalised = normalised;
        kernel.short_name = short_name;
        kernel.op = subject.op;
        if (call->format == KR_FORMAT_JSON)
            kr_explain_json(rules, &kernel, 1, NULL, call->out);
        else
            kr_explain_text(rules, &kernel, call->out, &call->style);
    }
    free(normalised);
    free(short_name);
    return good;
}

static bool print_table(const struct kr_call *call, const struct kr_rules *rules,
                        const struct kr_explained *kernels, size_t n, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "% busy", KR_RIGHT, 0 },
        { "class", KR_LEFT, 0 },
        { "rule", KR_LEFT, 24 },
        { "kernel", KR_LEFT, 0 },
    };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), err);
    bool good;

    if (!table)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct kr_tag *tag = &kernels[i].tag;
        const char *rule = kr_rules_id(rules, tag->rule);

        kr_table_cell(table, "%s", kr_text_percent(kernels[i].frac_busy).s);
        kr_table_cell(table, "%s", kr_class_name((enum kr_class)tag->cls));
        kr_table_cell(table, "%s", *rule ? rule : "-");
        kr_table_cell(table, "%s", kernels[i].short_name);
    }
    good = kr_table_print(table, call->out, &call->style, err);
    kr_table_free(table);
    return good;
}

static bool print_kernels(const struct kr_call *call, const struct kr_report *report,
                          struct kr_err *err)
{
    const struct kr_rows *rows = &report->kernel_rows;
    bool only_unclassified = kr_opts_count(&call->opts, "unclassified") > 0;
    struct kr_explained *kernels = kr_xcalloc(rows->n, sizeof *kernels, err);
    size_t n = 0;
    bool good = true;

    if (!kernels)
        return false;
    for (size_t i = 0; i < rows->n; i++) {
        if (!only_unclassified || rows->rows[i].tag.cls == KR_UNCLASSIFIED)
            kernels[n++] = kr_explained_row(&rows->rows[i]);
    }
    if (call->format == KR_FORMAT_JSON) {
        kr_explain_json(report->rules, kernels, n, report->runs[0].timeline, call->out);
    } else if (call->verbose) {
        for (size_t i = 0; i < n; i++) {
            fputs(i ? "\n" : "", call->out);
            kr_explain_text(report->rules, &kernels[i], call->out, &call->style);
        }
    } else {
        good = print_table(call, report->rules, kernels, n, err);
    }
    free(kernels);
    return good;
}

static bool explain_trace(struct kr_call *call, const struct kr_rules *rules, const char *path,
                          struct kr_err *err)
{
    struct kr_run run = { 0 };
    struct kr_report report = { 0 };
    bool good = kr_load_run(call, rules, path, &run, err) &&
                kr_report_build(&run, 1, rules, 0, &report, err) &&
                print_kernels(call, &report, err);

    if (good)
        call->status = kr_load_status(call, run.timeline);
    kr_report_free(&report);
    kr_run_free(&run);
    return good;
}

static bool ends_like_a_trace(const char *what)
{
    static const char *const endings[] = { ".json", ".json.gz", ".json.zst", ".kreach" };
    size_t len = strlen(what);

    for (size_t i = 0; i < KR_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);

        if (len > n && strcmp(what + len - n, endings[i]) == 0)
            return true;
    }
    return false;
}

/* A kernel's name is hardly ever that of a file, there or mistyped; --name settles it. */
static bool is_trace(const struct kr_call *call, const char *what)
{
    struct stat st;

    if (kr_opts_count(&call->opts, "name"))
        return false;
    return strcmp(what, "-") == 0 || stat(what, &st) == 0 || ends_like_a_trace(what);
}

/* Options that would have no effect are refused: what they ask for is not what would be shown. */
static bool check_options(const struct kr_call *call, const char *what, bool trace,
                          struct kr_err *err)
{
    static const struct {
        const char *option;
        bool of_trace;
    } options[] = {
        { "op", false }, { "annotation", false }, { "unclassified", true }, { "window", true }
    };

    if (!*what)
        return kr_fail(err, KR_EARG, "a kernel's name is empty");
    for (size_t i = 0; i < KR_COUNT(options); i++) {
        if (options[i].of_trace != trace && kr_opts_count(&call->opts, options[i].option))
            return kr_fail(err, KR_EARG, "--%s is for %s, and '%.64s' is %s", options[i].option,
                           trace ? "a kernel's name" : "a trace", what,
                           trace ? "a trace" : "a kernel's name");
    }
    return true;
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    const char *what = call->opts.operands[0];
    bool trace = is_trace(call, what);
    struct kr_rules *rules;
    bool good;

    if (!check_options(call, what, trace, err))
        return false;
    rules = kr_load_rules(call, err);
    if (!rules)
        return false;
    good = trace ? explain_trace(call, rules, what, err) : explain_name(call, rules, what, err);
    kr_rules_free(rules);
    return good;
}

static const struct kr_option options[] = {
    { "unclassified", 'u', NULL, NULL, "only kernels that no rule knows" },
    { "name", 0, NULL, NULL, "NAME is a kernel's name even if a file is called so" },
    { "op", 0, "OP", NULL, "launching op of NAME, e.g. aten::mm" },
    { "annotation", 0, "TEXT", NULL, "annotation around NAME's launch" },
    KR_OPTION_WINDOW,
    KR_OPTIONS_RULES,
    { "json", 0, NULL, NULL, "write JSON" },
    KR_OPTIONS_FILE,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_explain = {
    .name = "explain",
    .args = "NAME|FILE",
    .summary = "say which rule gives a kernel its family and class, and why",
    .details = "For a trace, every distinct kernel with its rule, largest first; -v shows each\n"
               "in full.\n\n"
               "examples:\n"
               "  kreach explain nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT\n"
               "  kreach explain --unclassified trace.json.gz\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* kreach rules check, kreach rules list: the rules themselves. */
#include <stdlib.h>

#include "commands.h"
#include "json_parts.h"
#include "load.h"
#include "mem.h"

/* Like kr_load_rules, with the files given as operands and broken patterns kept for the check. */
static struct kr_rules *load_operands(const struct kr_call *call, struct kr_err *err)
{
    const struct kr_rules_options options = {
        .rule_files = call->opts.operands,
        .n_rule_files = call->opts.n_operands,
        .policy = kr_opts_value(&call->opts, "policy"),
        .keep_bad_patterns = true,
    };

    return kr_rules_load(&options, err);
}

static bool run_check(struct kr_call *call, struct kr_err *err)
{
    struct kr_rules *rules = load_operands(call, err);
    struct kr_rules_check check;
    bool good = rules && kr_rules_check(rules, call->out, &check, err);

    if (good) {
        fprintf(call->out, "%zu rules, %zu examples, %zu problem%s\n", check.rules, check.examples,
                check.problems, check.problems == 1 ? "" : "s");
        call->status = check.problems ? KR_STATUS_NO : KR_STATUS_DONE;
    }
    kr_rules_free(rules);
    return good;
}

static void list_json(const struct kr_call *call, const struct kr_rules *rules)
{
    struct kr_json json;

    kr_json_begin(&json, call->out, "kreach.rules", 1);
    kr_json_policy(&json, "policy", rules);
    kr_json_array(&json, "rules");
    for (uint32_t i = 0; i < kr_rules_count(rules); i++) {
        kr_json_object(&json, NULL);
        kr_json_str(&json, "id", kr_rules_id(rules, i));
        kr_json_str(&json, "file", kr_rules_origin_file(rules, i));
        kr_json_u64(&json, "line", kr_rules_line(rules, i));
        kr_json_str(&json, "why", kr_rules_why(rules, i));
        kr_json_close(&json);
    }
    kr_json_close(&json);
    kr_json_end(&json);
}

static bool list_text(const struct kr_call *call, const struct kr_rules *rules, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "place", KR_LEFT, 0 },
        { "rule", KR_LEFT, 0 },
        { "why", KR_LEFT, 0 },
    };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), err);
    bool good;

    if (!table)
        return false;
    for (uint32_t i = 0; i < kr_rules_count(rules); i++) {
        kr_table_cell(table, "%s:%zu", kr_rules_origin_file(rules, i), kr_rules_line(rules, i));
        kr_table_cell(table, "%s", kr_rules_id(rules, i));
        kr_table_cell(table, "%s", kr_rules_why(rules, i));
    }
    good = kr_table_print(table, call->out, &call->style, err);
    kr_table_free(table);
    return good;
}

static bool run_list(struct kr_call *call, struct kr_err *err)
{
    struct kr_rules *rules = kr_load_rules(call, err);
    bool good = rules != NULL;

    if (good && call->format == KR_FORMAT_JSON)
        list_json(call, rules);
    else if (good)
        good = list_text(call, rules, err);
    kr_rules_free(rules);
    return good;
}

static const struct kr_option check_options[] = {
    { "policy", 'p', "NAME", NULL, "default, paper, or a file" },
    KR_OPTIONS_FILE,
    { 0 },
};

const struct kr_command kr_cmd_rules_check = {
    .name = "rules check",
    .args = "[FILE...]",
    .summary = "find rules that are wrong, never fire or disagree",
    .details = "Checks the built-in rules with FILEs in front of them and runs the examples of\n"
               "every rule: one line for each problem, and exit status 1 when there are any.\n\n"
               "examples:\n"
               "  kreach rules check\n"
               "  kreach rules check my-rules.json\n",
    .options = check_options,
    .max_operands = SIZE_MAX,
    .run = run_check,
};

static const struct kr_option list_options[] = {
    KR_OPTIONS_RULES,
    { "json", 0, NULL, NULL, "write JSON" },
    KR_OPTIONS_FILE,
    { 0 },
};

const struct kr_command kr_cmd_rules_list = {
    .name = "rules list",
    .args = "",
    .summary = "list all rules in the order in which they are tried",
    .options = list_options,
    .run = run_list,
};

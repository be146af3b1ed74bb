#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "mem.h"
#include "rules_priv.h"

struct checker {
    const struct kr_rules *rules;
    FILE *log;
    struct kr_rules_check *out;
    struct kr_err *err;
};

/* Starts a line of the log: file:line: rule 'id': */
static void problem(const struct checker *c, const struct kr_rule *rule, size_t line)
{
    c->out->problems++;
    fprintf(c->log, "%s:%zu: rule '%s': ", c->rules->files[rule->file], line ? line : rule->line,
            rule->id);
}

/* The first rule that holds for a sample; KR_RULE_NONE when there is none. */
static bool decide(const struct checker *c, const struct kr_sample *sample, uint32_t *decided)
{
    const struct kr_subject subject = { sample->field[0], sample->field[1], sample->field[2],
                                        sample->kind };
    struct kr_tag tag;

    if (!kr_rules_match(c->rules, &subject, &tag, c->err))
        return false;
    *decided = tag.rule;
    return true;
}

/* What stands for a sample in a message. */
static const char *describe(const struct kr_sample *sample)
{
    for (size_t i = 0; i < KR_FIELD_COUNT; i++)
        if (sample->field[i][0])
            return sample->field[i];
    return kr_kind_name(sample->kind);
}

static void report_example(const struct checker *c, const struct kr_rule *rule,
                           const struct kr_sample *sample, uint32_t decided)
{
    const struct kr_rule *winner = decided == KR_RULE_NONE ? NULL : &c->rules->rules[decided];

    problem(c, rule, sample->line);
    if (!winner)
        fprintf(c->log, "its example '%.160s' matches no rule\n", describe(sample));
    else if (winner->family != rule->family)
        fprintf(c->log, "disagrees with rule '%s' on '%.160s': %s here, %s there\n", winner->id,
                describe(sample), kr_rules_family(c->rules, rule->family),
                kr_rules_family(c->rules, winner->family));
    else
        fprintf(c->log, "its example '%.160s' is decided by rule '%s'\n", describe(sample),
                winner->id);
}

static bool check_samples(const struct checker *c, uint32_t index)
{
    const struct kr_rule *rule = &c->rules->rules[index];
    size_t examples = 0;
    size_t lost = 0;

    for (size_t i = 0; i < rule->n_samples; i++) {
        const struct kr_sample *sample = &rule->samples[i];
        uint32_t decided;

        c->out->examples++;
        if (!decide(c, sample, &decided))
            return false;
        examples += !sample->near_miss;
        if (sample->near_miss && decided == index) {
            problem(c, rule, sample->line);
            fprintf(c->log, "takes its near-miss '%.160s'\n", describe(sample));
        } else if (!sample->near_miss && decided != index) {
            report_example(c, rule, sample, decided);
            lost += decided != KR_RULE_NONE;
        }
    }
    if (examples && lost == examples) {
        problem(c, rule, 0);
        fputs("can never fire: earlier rules take all of its examples\n", c->log);
    }
    return true;
}

static void check_patterns(const struct checker *c, const struct kr_rule *rule)
{
    for (size_t i = 0; i < KR_FIELD_COUNT; i++) {
        if (rule->pattern[i].error) {
            problem(c, rule, 0);
            fprintf(c->log, "%s\n", rule->pattern[i].error);
        }
    }
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* Orders rules by what they ask for, then by place, so that equal ones stand together. */
static int compare_conditions(const struct kr_rule *a, const struct kr_rule *b)
{
    int order = (int)a->kind - (int)b->kind;

    for (size_t i = 0; order == 0 && i < KR_FIELD_COUNT; i++)
        order = compare_text(a->pattern[i].text, b->pattern[i].text);
    return order;
}

static int compare_rules(const void *a, const void *b)
{
    const struct kr_rule *left = *(const struct kr_rule *const *)a;
    const struct kr_rule *right = *(const struct kr_rule *const *)b;
    int order = compare_conditions(left, right);

    return order ? order : KR_COMPARE(left, right);
}

static bool check_repeats(const struct checker *c)
{
    size_t n = c->rules->n_rules;
    const struct kr_rule **sorted = kr_xcalloc(n, sizeof(const struct kr_rule *), c->err);

    if (!sorted)
        return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &c->rules->rules[i];
    qsort(sorted, n, sizeof(const struct kr_rule *), compare_rules);
    for (size_t i = 1; i < n; i++) {
        if (compare_conditions(sorted[i - 1], sorted[i]) != 0)
            continue;
        problem(c, sorted[i], 0);
        fprintf(c->log, "can never fire: rule '%s' before it has the same patterns\n",
                sorted[i - 1]->id);
    }
    free(sorted);
    return true;
}

/* A policy entry for a family that no rule gives is most likely a typing error. */
static void check_policy(const struct checker *c)
{
    const struct kr_policy *policy = &c->rules->policy;

    for (size_t i = 0; i < policy->n_entries; i++) {
        const char *key = policy->entries[i].key;
        size_t len = strcspn(key, "/");

        if (kr_strpool_find(c->rules->families, key, len) != KR_STR_NONE ||
            (len == 7 && memcmp(key, "unknown", len) == 0))
            continue;
        c->out->problems++;
        fprintf(c->log, "policy '%s': no rule gives the family of its entry '%.80s'\n",
                policy->name, key);
    }
}

bool kr_rules_check(const struct kr_rules *rules, FILE *log, struct kr_rules_check *out,
                    struct kr_err *err)
{
    const struct checker c = { rules, log, out, err };

    *out = (struct kr_rules_check){ .rules = rules->n_rules };
    for (uint32_t i = 0; i < rules->n_rules; i++) {
        check_patterns(&c, &rules->rules[i]);
        if (!check_samples(&c, i))
            return false;
    }
    check_policy(&c);
    return check_repeats(&c);
}

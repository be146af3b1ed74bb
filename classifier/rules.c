#include "rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "mem.h"
#include "rules_priv.h"

/* Limits of one match: far above what an honest pattern needs on the longest name. */
enum {
    MATCH_LIMIT = 2000000,
    DEPTH_LIMIT = 20000,
    HEAP_LIMIT_KIB = 16384,
    JIT_STACK_START = 32 << 10,
    JIT_STACK_MAX = 4 << 20,
};

static const char *const class_names[] = { "optimal", "addressable", "overhead", "unclassified" };
static const char *const origin_names[] = { "unknown",  "vendor", "expert",   "framework",
                                            "compiler", "user",   "autotuned" };
static const char *const flag_names[] = { "suspect", "mixed", "cut", "waits", "helper" };
static const char *const kind_names[] = { "kernel", "memcpy", "memset" };

_Static_assert(KR_COUNT(class_names) == KR_CLASS_COUNT, "a class has no name");
_Static_assert(KR_COUNT(origin_names) == KR_ORIGIN_COUNT, "an origin has no name");
_Static_assert(KR_COUNT(flag_names) == KR_FLAG_COUNT, "a flag has no name");
_Static_assert(KR_COUNT(kind_names) == KR_KIND_COUNT, "a kind has no name");

const char *kr_class_name(enum kr_class cls)
{
    return (unsigned)cls < KR_CLASS_COUNT ? class_names[cls] : "";
}

const char *kr_origin_name(enum kr_origin origin)
{
    return (unsigned)origin < KR_ORIGIN_COUNT ? origin_names[origin] : "";
}

const char *kr_flag_name(unsigned index)
{
    return index < KR_FLAG_COUNT ? flag_names[index] : "";
}

static bool find_word(const char *word, const char *const *words, size_t n, size_t *out)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool kr_class_parse(const char *word, enum kr_class *out)
{
    size_t i;

    if (!find_word(word, class_names, KR_COUNT(class_names), &i))
        return false;
    *out = (enum kr_class)i;
    return true;
}

bool kr_origin_parse(const char *word, enum kr_origin *out)
{
    size_t i;

    if (!find_word(word, origin_names, KR_COUNT(origin_names), &i))
        return false;
    *out = (enum kr_origin)i;
    return true;
}

bool kr_flag_parse(const char *word, unsigned *out_bit)
{
    size_t i;

    if (!find_word(word, flag_names, KR_COUNT(flag_names), &i))
        return false;
    *out_bit = 1u << i;
    return true;
}

bool kr_kind_parse(const char *word, enum kr_kind *out)
{
    size_t i;

    if (!find_word(word, kind_names, KR_COUNT(kind_names), &i))
        return false;
    *out = (enum kr_kind)i;
    return true;
}

static void free_rule(struct kr_rule *rule)
{
    for (size_t i = 0; i < KR_FIELD_COUNT; i++) {
        free(rule->pattern[i].text);
        free(rule->pattern[i].error);
        pcre2_code_free(rule->pattern[i].code);
    }
    for (size_t i = 0; i < rule->n_samples; i++)
        for (size_t f = 0; f < KR_FIELD_COUNT; f++)
            free(rule->samples[i].field[f]);
    free(rule->samples);
    free(rule->id);
    free(rule->why);
}

void kr_rules_free(struct kr_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->n_rules; i++)
        free_rule(&rules->rules[i]);
    for (size_t i = 0; i < rules->n_files; i++)
        free(rules->files[i]);
    free(rules->rules);
    free(rules->files);
    kr_strpool_free(rules->families);
    kr_strpool_free(rules->ids);
    kr_policy_free(&rules->policy);
    pcre2_match_data_free(rules->match_data);
    pcre2_match_context_free(rules->match_context);
    pcre2_jit_stack_free(rules->jit_stack);
    free(rules);
}

static struct kr_rules *new_rules(struct kr_err *err)
{
    struct kr_rules *rules = kr_xnew(sizeof *rules, err);

    if (!rules)
        return NULL;
    rules->families = kr_strpool_new(err);
    rules->ids = rules->families ? kr_strpool_new(err) : NULL;
    if (!rules->ids) {
        kr_rules_free(rules);
        return NULL;
    }
    rules->match_context = pcre2_match_context_create(NULL);
    rules->match_data = pcre2_match_data_create(1, NULL);
    if (!rules->match_context || !rules->match_data) {
        kr_fail(err, KR_ENOMEM, "out of memory: pattern matching");
        kr_rules_free(rules);
        return NULL;
    }
    pcre2_set_match_limit(rules->match_context, MATCH_LIMIT);
    pcre2_set_depth_limit(rules->match_context, DEPTH_LIMIT);
    pcre2_set_heap_limit(rules->match_context, HEAP_LIMIT_KIB);
    rules->jit_stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
    if (rules->jit_stack) /* without one, JIT code uses 32 KiB of ours */
        pcre2_jit_stack_assign(rules->match_context, NULL, rules->jit_stack);
    return rules;
}

bool kr_builtin_open(const struct kr_builtin *file, struct kr_doc *doc, struct kr_err *err)
{
    char name[128];

    snprintf(name, sizeof name, "built-in/%s", file->name);
    return kr_doc_open_mem(doc, name, (const char *)file->text, file->len, err);
}

static bool add_file(struct kr_rules *rules, const char *path, bool *replace, struct kr_err *err)
{
    struct kr_doc doc;
    bool ok = kr_doc_open(&doc, path, err) && kr_rules_add(rules, &doc, replace, err);

    kr_doc_close(&doc);
    return ok;
}

static bool add_builtin(struct kr_rules *rules, const struct kr_builtin *file, struct kr_err *err)
{
    struct kr_doc doc;
    bool replace;
    bool ok = kr_builtin_open(file, &doc, err) && kr_rules_add(rules, &doc, &replace, err);

    kr_doc_close(&doc);
    return ok;
}

/* User files in the order given; then the built-in rules, unless a file replaces them. */
static bool load_all(struct kr_rules *rules, const struct kr_rules_options *opt, struct kr_err *err)
{
    bool replace_any = false;

    for (size_t i = 0; i < opt->n_rule_files; i++) {
        bool replace;

        if (!add_file(rules, opt->rule_files[i], &replace, err))
            return false;
        replace_any |= replace;
    }
    for (size_t i = 0; i < kr_builtin_count && !replace_any; i++) {
        const struct kr_builtin *file = &kr_builtin_files[i];

        if (isdigit((unsigned char)file->name[0]) && /* else a policy */
            !add_builtin(rules, file, err))
            return false;
    }
    return kr_policy_load(rules, opt->policy, err) && kr_policy_resolve(rules, err);
}

struct kr_rules *kr_rules_load(const struct kr_rules_options *opt, struct kr_err *err)
{
    static const struct kr_rules_options defaults;
    struct kr_rules *rules = new_rules(err);

    if (!rules)
        return NULL;
    rules->keep_bad_patterns = opt && opt->keep_bad_patterns;
    if (!load_all(rules, opt ? opt : &defaults, err)) {
        kr_rules_free(rules);
        return NULL;
    }
    return rules;
}

/* One pattern against one text. */
static bool match_pattern(const struct kr_rules *rules, const struct kr_rule *rule,
                          enum kr_field field, const char *text, bool *holds, struct kr_err *err)
{
    char what[120];
    int rc = pcre2_match(rule->pattern[field].code, (PCRE2_SPTR)text, strlen(text), 0,
                         PCRE2_NO_UTF_CHECK, rules->match_data, rules->match_context);

    *holds = rc >= 0;
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
        return true;
    if (pcre2_get_error_message(rc, (PCRE2_UCHAR *)what, sizeof what) < 0)
        snprintf(what, sizeof what, "error %d", rc);
    return kr_fail(err, KR_EINPUT,
                   "%s:%zu: rule '%s': matching '%.80s' stopped: %s; simplify its pattern",
                   rules->files[rule->file], rule->line, rule->id, text, what);
}

bool kr_rule_holds(const struct kr_rules *rules, const struct kr_rule *rule,
                   const struct kr_subject *normalised, bool *holds, struct kr_err *err)
{
    const char *const text[] = { normalised->name, normalised->op, normalised->annotation };

    *holds = normalised->kind == rule->kind;
    for (size_t i = 0; i < KR_FIELD_COUNT && *holds; i++) {
        if (!rule->pattern[i].text)
            continue;
        *holds = rule->pattern[i].code != NULL;
        if (*holds && !match_pattern(rules, rule, (enum kr_field)i, text[i], holds, err))
            return false;
    }
    return true;
}

/* Ends in an ellipsis, or inside brackets that never close. */
static bool is_cut(const char *name, const char *normalised)
{
    size_t len = strlen(name);
    long open = 0;

    while (len && isspace((unsigned char)name[len - 1]))
        len--;
    if (len >= 3 &&
        (memcmp(name + len - 3, "...", 3) == 0 || memcmp(name + len - 3, "\xe2\x80\xa6", 3) == 0))
        return true;
    for (const char *c = normalised; *c; c++) {
        if (*c == '<')
            open++;
        else if (*c == '>' && open > 0 && c[-1] != '-')
            open--;
    }
    return open > 0;
}

bool kr_rules_match(const struct kr_rules *rules, const struct kr_subject *subject,
                    struct kr_tag *tag, struct kr_err *err)
{
    struct kr_subject normalised = *subject;
    char *name = kr_kernel_name_normalise(subject->name, err);
    bool holds = false;

    *tag = (struct kr_tag){ .rule = KR_RULE_NONE, .cls = KR_UNCLASSIFIED };
    if (!name)
        return false;
    normalised.name = name;
    for (size_t i = 0; i < rules->n_rules && !holds; i++) {
        const struct kr_rule *rule = &rules->rules[i];

        if (!kr_rule_holds(rules, rule, &normalised, &holds, err)) {
            free(name);
            return false;
        }
        if (holds) {
            tag->rule = (uint32_t)i;
            tag->family = rule->family;
            tag->origin = rule->origin;
            tag->flags = rule->flags;
        }
    }
    if (subject->kind == KR_KERNEL && is_cut(subject->name, name))
        tag->flags |= KR_FLAG_CUT;
    tag->cls = (uint8_t)kr_rules_class(rules, tag->family, tag->origin);
    free(name);
    return true;
}

const char *kr_rules_family(const struct kr_rules *rules, uint16_t family)
{
    return family == 0 || family >= kr_strpool_count(rules->families)
               ? "unknown"
               : kr_strpool_get(rules->families, family, NULL);
}

size_t kr_rules_family_count(const struct kr_rules *rules)
{
    return kr_strpool_count(rules->families);
}

static const struct kr_rule *rule_at(const struct kr_rules *rules, uint32_t rule)
{
    return rule < rules->n_rules ? &rules->rules[rule] : NULL;
}

const char *kr_rules_id(const struct kr_rules *rules, uint32_t rule)
{
    const struct kr_rule *r = rule_at(rules, rule);

    return r ? r->id : "";
}

const char *kr_rules_why(const struct kr_rules *rules, uint32_t rule)
{
    const struct kr_rule *r = rule_at(rules, rule);

    return r ? r->why : "";
}

const char *kr_rules_origin_file(const struct kr_rules *rules, uint32_t rule)
{
    const struct kr_rule *r = rule_at(rules, rule);

    return r ? rules->files[r->file] : "";
}

size_t kr_rules_line(const struct kr_rules *rules, uint32_t rule)
{
    const struct kr_rule *r = rule_at(rules, rule);

    return r ? r->line : 0;
}

size_t kr_rules_count(const struct kr_rules *rules)
{
    return rules->n_rules;
}

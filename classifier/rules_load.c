#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "rules_priv.h"

/* One rule file while it is read. */
struct loader {
    struct kr_rules *rules;
    struct kr_doc *doc;                /* stands at the rule being read, or inside of it */
    size_t file;                       /* index into rules->files */
    const struct kr_json_place *place; /* where that rule begins */
};

static const char *const file_keys[] = {
    "schema", "schema_version", "mode", "about", "rules", NULL
};
static const char *const rule_keys[] = { "id",   "family",   "origin",      "kind",
                                         "name", "op",       "annotation",  "flags",
                                         "why",  "examples", "near_misses", NULL };
static const char *const sample_keys[] = { "name", "op", "annotation", "kind", NULL };
static const char *const field_keys[] = { "name", "op", "annotation" }; /* by enum kr_field */

_Static_assert(KR_COUNT(field_keys) == KR_FIELD_COUNT, "a field has no key");

static bool copy_string(const char *text, char **out, struct kr_err *err)
{
    *out = kr_xstrndup(text, strlen(text), err);
    return *out != NULL;
}

/* An optional array member; NULL when it is absent. */
static bool get_list(const struct kr_doc *doc, const json_t *object, const char *key,
                     const json_t **out, struct kr_err *err)
{
    *out = json_object_get(object, key);
    return !*out || json_is_array(*out) ||
           kr_doc_fail_key(doc, key, err, "'%s' must be an array", key);
}

/* An optional member; *out stays when it is absent. */
static bool get_kind(const struct kr_doc *doc, const json_t *object, enum kr_kind *out,
                     struct kr_err *err)
{
    const char *word;

    return kr_doc_text(doc, object, "kind", &word, err) &&
           (!word || kr_kind_parse(word, out) ||
            kr_doc_fail_key(doc, "kind", err, "'kind' must be one of kernel, memcpy, memset"));
}

static bool is_word(const char *s)
{
    return s[0] >= 'a' && s[0] <= 'z' && strlen(s) <= 64 &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

/* Why a pattern does not compile. */
struct complaint {
    char text[256];
};

/* A compiled pattern, or NULL with the reason. */
static pcre2_code *compile(const char *text, struct complaint *why)
{
    int code;
    PCRE2_SIZE offset;
    PCRE2_UCHAR reason[128];
    pcre2_code *compiled = pcre2_compile(
        (PCRE2_SPTR)text, strlen(text),
        PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);

    if (compiled) {
        pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE); /* refused: the interpreter does it */
        return compiled;
    }
    pcre2_get_error_message(code, reason, sizeof reason);
    snprintf(why->text, sizeof why->text, "%s at offset %zu of '%.80s'", (const char *)reason,
             (size_t)offset, text);
    return NULL;
}

/* The alternative that does not compile, or `n` when it takes all of them to go wrong. */
static size_t find_culprit(const json_t *alternatives, size_t n, struct complaint *why)
{
    for (size_t i = 0; i < n; i++) {
        pcre2_code *code = compile(json_string_value(json_array_get(alternatives, i)), why);

        if (!code)
            return i;
        pcre2_code_free(code);
    }
    return n;
}

/* Deals with a pattern that did not compile as a whole. */
static bool refuse_pattern(const struct loader *l, const char *key, const json_t *value,
                           struct kr_pattern *pattern, struct complaint *why, struct kr_err *err)
{
    const size_t n = json_array_size(value);
    const size_t culprit = find_culprit(value, n, why);
    char what[320];

    snprintf(what, sizeof what, "'%s' is not a pattern: %s", key, why->text);
    if (l->rules->keep_bad_patterns)
        return copy_string(what, &pattern->error, err);
    if (culprit < n)
        kr_doc_enter_index(l->doc, culprit);
    return kr_doc_fail(l->doc, err, "%s", what);
}

/* Joins alternatives so that inline options of one do not reach the next: (?:a)|(?:b). */
static bool join_alternatives(struct kr_doc *doc, const json_t *list, char **out,
                              struct kr_err *err)
{
    size_t used = 0;
    size_t i;
    const json_t *item;

    *out = kr_xcalloc(KR_RULES_MAX_PATTERN + 1, 1, err);
    if (!*out)
        return false;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);

        kr_doc_enter_index(doc, i);
        if (!text || !text[0])
            return kr_doc_fail(doc, err,
                               "the alternatives of a pattern must be strings, none empty");
        used += (size_t)snprintf(*out + used, KR_RULES_MAX_PATTERN + 1 - used, "%s(?:%s)",
                                 i ? "|" : "", text);
        if (used > KR_RULES_MAX_PATTERN)
            return kr_doc_fail(doc, err, "a pattern may have at most 4096 bytes");
        kr_doc_leave(doc);
    }
    return used > 0 || kr_doc_fail(doc, err, "a pattern needs at least one alternative");
}

/* The text of the pattern at which the document stands. */
static bool read_pattern_text(struct kr_doc *doc, const json_t *value, char **out,
                              struct kr_err *err)
{
    if (json_is_array(value))
        return join_alternatives(doc, value, out, err);
    if (json_string_length(value) == 0)
        return kr_doc_fail(doc, err,
                           "a pattern is a string that is not empty, or an array of those");
    if (json_string_length(value) > KR_RULES_MAX_PATTERN)
        return kr_doc_fail(doc, err, "a pattern may have at most 4096 bytes");
    return copy_string(json_string_value(value), out, err);
}

static bool read_pattern(const struct loader *l, const char *key, const json_t *value,
                         struct kr_pattern *pattern, struct kr_err *err)
{
    struct complaint why;

    kr_doc_enter_key(l->doc, key);
    if (!read_pattern_text(l->doc, value, &pattern->text, err))
        return false;
    pattern->code = compile(pattern->text, &why);
    if (!pattern->code && !refuse_pattern(l, key, value, pattern, &why, err))
        return false;
    kr_doc_leave(l->doc);
    return true;
}

static bool read_patterns(const struct loader *l, const json_t *object, struct kr_rule *rule,
                          struct kr_err *err)
{
    bool any = json_object_get(object, "kind") != NULL;

    for (size_t i = 0; i < KR_FIELD_COUNT; i++) {
        const json_t *value = json_object_get(object, field_keys[i]);

        if (value && !read_pattern(l, field_keys[i], value, &rule->pattern[i], err))
            return false;
        any |= value != NULL;
    }
    return any || kr_doc_fail(l->doc, err, "it needs at least one of name, op, annotation, kind");
}

static bool read_origin(const struct kr_doc *doc, const json_t *object, struct kr_rule *rule,
                        struct kr_err *err)
{
    const char *word = kr_doc_need_text(doc, object, "origin", err);
    enum kr_origin origin;

    if (!word)
        return false;
    if (!kr_origin_parse(word, &origin) || origin == KR_ORIGIN_UNKNOWN)
        return kr_doc_fail_key(doc, "origin", err,
                               "'origin' must be one of vendor, expert, framework, compiler, "
                               "user, autotuned");
    rule->origin = (uint8_t)origin;
    return true;
}

static bool read_flags(const struct kr_doc *doc, const json_t *object, struct kr_rule *rule,
                       struct kr_err *err)
{
    const json_t *flags;
    const json_t *flag;
    size_t i;

    if (!get_list(doc, object, "flags", &flags, err))
        return false;
    json_array_foreach(flags, i, flag)
    {
        const char *word = json_string_value(flag);
        unsigned bit;

        if (!word || !kr_flag_parse(word, &bit))
            return kr_doc_fail_key(doc, "flags", err,
                                   "flags are suspect, mixed, cut, waits, helper");
        rule->flags |= (uint8_t)bit;
    }
    return true;
}

static bool read_family(const struct loader *l, const json_t *object, struct kr_rule *rule,
                        struct kr_err *err)
{
    const char *family = kr_doc_need_text(l->doc, object, "family", err);
    uint32_t id;

    if (!family)
        return false;
    if (!is_word(family))
        return kr_doc_fail_key(l->doc, "family", err, "'family' must be a lower-case word");
    if (strcmp(family, "unknown") == 0)
        return true; /* index 0: the rule says that the name hides its content */
    id = kr_strpool_intern(l->rules->families, family, strlen(family), err);
    if (id == KR_STR_NONE)
        return false;
    if (id >= KR_RULES_MAX_FAMILIES)
        return kr_doc_fail_key(l->doc, "family", err, "too many families");
    rule->family = (uint16_t)id;
    return true;
}

/* {"name", "op", "annotation", "kind"} or a plain string, the name; where the document stands. */
static bool read_sample(const struct kr_doc *doc, const json_t *value, struct kr_sample *sample,
                        struct kr_err *err)
{
    const char *text[KR_FIELD_COUNT] = { json_string_value(value) };

    if (json_is_object(value)) {
        if (!kr_doc_check_keys(doc, value, "an example", sample_keys, err) ||
            !get_kind(doc, value, &sample->kind, err))
            return false;
        for (size_t i = 0; i < KR_FIELD_COUNT; i++)
            if (!kr_doc_text(doc, value, field_keys[i], &text[i], err))
                return false;
    } else if (!json_is_string(value)) {
        return kr_doc_fail(doc, err,
                           "an example is a name, or an object with name, op, annotation, kind");
    }
    for (size_t i = 0; i < KR_FIELD_COUNT; i++)
        if (!copy_string(text[i] ? text[i] : "", &sample->field[i], err))
            return false;
    return true;
}

/* Appends the samples of one list to those of the rule. */
static bool read_samples(const struct loader *l, const char *key, const json_t *list,
                         struct kr_rule *rule, struct kr_err *err)
{
    const size_t n = json_array_size(list);
    struct kr_json_place *places = kr_doc_places(l->doc, l->place, key, n, err);
    bool ok = places != NULL;

    kr_doc_enter_key(l->doc, key);
    for (size_t i = 0; ok && i < n; i++) {
        struct kr_sample *sample = &rule->samples[rule->n_samples++];

        sample->near_miss = strcmp(key, "near_misses") == 0;
        sample->kind = rule->kind;
        sample->line = places[i].line;
        kr_doc_enter_index(l->doc, i);
        ok = read_sample(l->doc, json_array_get(list, i), sample, err);
        kr_doc_leave(l->doc);
    }
    kr_doc_leave(l->doc);
    free(places);
    return ok;
}

static bool read_all_samples(const struct loader *l, const json_t *object, struct kr_rule *rule,
                             struct kr_err *err)
{
    const json_t *examples;
    const json_t *near_misses;

    if (!get_list(l->doc, object, "examples", &examples, err) ||
        !get_list(l->doc, object, "near_misses", &near_misses, err))
        return false;
    rule->samples = kr_xcalloc(json_array_size(examples) + json_array_size(near_misses),
                               sizeof *rule->samples, err);
    return rule->samples && read_samples(l, "examples", examples, rule, err) &&
           read_samples(l, "near_misses", near_misses, rule, err);
}

static bool read_id(const struct loader *l, const json_t *object, struct kr_rule *rule,
                    struct kr_err *err)
{
    const char *id = kr_doc_need_text(l->doc, object, "id", err);
    const size_t before = kr_strpool_count(l->rules->ids);
    const char *why;
    uint32_t known;

    if (!id)
        return false;
    if (!is_word(id))
        return kr_doc_fail_key(l->doc, "id", err,
                               "'id' must be a lower-case word of a-z, 0-9, '-', '_', at most 64");
    known = kr_strpool_intern(l->rules->ids, id, strlen(id), err);
    if (known == KR_STR_NONE)
        return false;
    if (known < before)
        return kr_doc_fail_key(l->doc, "id", err, "there is already a rule of this id");
    why = kr_doc_need_text(l->doc, object, "why", err);
    return why && copy_string(id, &rule->id, err) && copy_string(why, &rule->why, err);
}

static bool read_rule(const struct loader *l, const json_t *object, struct kr_err *err)
{
    struct kr_rules *rules = l->rules;
    struct kr_rule *rule;

    if (rules->n_rules == KR_RULES_MAX)
        return kr_doc_fail(l->doc, err, "there are more than 10000 rules");
    if (!kr_doc_check_keys(l->doc, object, "a rule", rule_keys, err) ||
        !kr_grow(&rules->rules, &rules->cap_rules, rules->n_rules + 1, sizeof *rule, KR_RULES_MAX,
                 err))
        return false;
    rule = &rules->rules[rules->n_rules++];
    *rule = (struct kr_rule){ .file = l->file, .line = l->place->line };
    return read_id(l, object, rule, err) && read_family(l, object, rule, err) &&
           read_origin(l->doc, object, rule, err) && get_kind(l->doc, object, &rule->kind, err) &&
           read_flags(l->doc, object, rule, err) && read_patterns(l, object, rule, err) &&
           read_all_samples(l, object, rule, err);
}

/* A rule is called by its id where it has one, else by its number. */
static void name_rule(char *out, size_t size, const json_t *object, size_t index)
{
    const char *id = json_string_value(json_object_get(object, "id"));

    if (id)
        snprintf(out, size, "rule '%.64s'", id);
    else
        snprintf(out, size, "rule %zu", index + 1);
}

static bool read_rules(struct loader *l, struct kr_err *err)
{
    const json_t *list = json_object_get(l->doc->root, "rules");
    const size_t n = json_array_size(list);
    struct kr_json_place *places;
    char subject[80];
    bool ok = true;

    if (!json_is_array(list))
        return kr_doc_fail_key(l->doc, "rules", err, "'rules' must be an array");
    places = kr_doc_places(l->doc, NULL, "rules", n, err);
    if (!places)
        return false;
    kr_doc_enter_key(l->doc, "rules");
    l->doc->subject = subject;
    for (size_t i = 0; ok && i < n; i++) {
        l->place = &places[i];
        name_rule(subject, sizeof subject, json_array_get(list, i), i);
        kr_doc_enter_index(l->doc, i);
        ok = read_rule(l, json_array_get(list, i), err);
        kr_doc_leave(l->doc);
    }
    l->doc->subject = NULL;
    kr_doc_leave(l->doc);
    free(places);
    return ok;
}

static bool read_mode(const struct kr_doc *doc, bool *replace, struct kr_err *err)
{
    const char *mode = kr_doc_need_text(doc, doc->root, "mode", err);

    if (!mode)
        return false;
    *replace = strcmp(mode, "replace") == 0;
    return *replace || strcmp(mode, "extend") == 0 ||
           kr_doc_fail_key(doc, "mode", err, "'mode' must be \"extend\" or \"replace\"");
}

bool kr_rules_add(struct kr_rules *rules, struct kr_doc *doc, bool *replace, struct kr_err *err)
{
    struct loader l = { .rules = rules, .doc = doc, .file = rules->n_files };

    if (!kr_grow(&rules->files, &rules->cap_files, rules->n_files + 1, sizeof *rules->files, 1024,
                 err) ||
        !copy_string(doc->name, &rules->files[rules->n_files], err))
        return false;
    rules->n_files++;
    return kr_doc_check_schema(doc, "kreach.rules", err) &&
           kr_doc_check_keys(doc, doc->root, "a rule file", file_keys, err) &&
           read_mode(doc, replace, err) && read_rules(&l, err);
}

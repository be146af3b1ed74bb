#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "mem.h"
#include "rules_priv.h"

/* One rule file while it is read. */
struct loader {
    struct kr_rules *rules;
    const struct kr_text *text;
    size_t file;                /* index into rules->files */
    size_t item;                /* the rule being read */
    struct kr_json_place place; /* where it starts */
    const char *id;             /* its id, "" until known */
    struct kr_err *err;
};

char *kr_rules_read_file(const char *path, size_t *len, struct kr_err *err)
{
    FILE *in = fopen(path, "rb");
    char *data = NULL;
    size_t cap = 0;

    if (!in) {
        kr_fail(err, KR_EINPUT, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    *len = 0;
    do {
        if (!kr_grow(&data, &cap, *len + 4096, 1, KR_RULES_MAX_FILE + 8192, err))
            goto fail;
        *len += fread(data + *len, 1, cap - *len, in);
        if (ferror(in)) {
            kr_fail(err, KR_EINPUT, "cannot read '%s': %s", path, strerror(errno));
            goto fail;
        }
        if (*len > KR_RULES_MAX_FILE) {
            kr_fail(err, KR_EINPUT, "'%s' is larger than %d MiB, the limit for rules", path,
                    KR_RULES_MAX_FILE >> 20);
            goto fail;
        }
    } while (!feof(in));
    fclose(in);
    return data;

fail:
    free(data);
    fclose(in);
    return NULL;
}

/* Line of a key of the rule being read; looks at the text of that rule alone. */
static size_t line_of(const struct loader *l, const char *key)
{
    const struct kr_json_step step = { key, 0 };

    return l->place.line - 1 +
           kr_json_line(l->text->data + l->place.offset, l->text->len - l->place.offset, &step, 1);
}

/* Complains about a key of the rule being read (NULL: the rule itself). */
static bool complain(const struct loader *l, const char *key, const char *what)
{
    size_t line = key ? line_of(l, key) : l->place.line;

    if (l->id[0])
        return kr_fail(l->err, KR_EINPUT, "%s:%zu: rule '%.64s': %s", l->text->path, line, l->id,
                       what);
    return kr_fail(l->err, KR_EINPUT, "%s:%zu: rule %zu: %s", l->text->path, line, l->item + 1,
                   what);
}

/* A string member: NULL with *ok = true when it is absent and may be. */
static const char *get_string(const struct loader *l, const json_t *object, const char *key,
                              bool required, bool *ok)
{
    const json_t *value = json_object_get(object, key);
    char what[96];

    *ok = value ? json_is_string(value) && json_string_length(value) > 0 : !required;
    if (*ok)
        return json_string_value(value);
    snprintf(what, sizeof what,
             value ? "'%s' must be a string that is not empty" : "'%s' is missing", key);
    complain(l, key, what);
    return NULL;
}

static bool copy_string(const struct loader *l, const char *text, char **out)
{
    *out = kr_xstrndup(text, strlen(text), l->err);
    return *out != NULL;
}

static bool is_word(const char *s)
{
    return s[0] >= 'a' && s[0] <= 'z' && strlen(s) <= 64 &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static bool check_keys(const struct loader *l, json_t *object)
{
    static const char *const known[] = { "id",   "family",   "origin",     "kind",
                                         "name", "op",       "annotation", "flags",
                                         "why",  "examples", "near_misses" };
    const char *key;
    json_t *value;
    char what[200];

    json_object_foreach(object, key, value)
    {
        bool found = false;

        for (size_t i = 0; i < KR_COUNT(known); i++)
            found |= strcmp(key, known[i]) == 0;
        if (!found) {
            snprintf(what, sizeof what,
                     "unknown key '%.40s'; a rule has id, family, origin, kind, name, op, "
                     "annotation, flags, why, examples, near_misses",
                     key);
            return complain(l, key, what);
        }
    }
    return true;
}

/* A compiled pattern, or NULL with what is wrong and where. */
static pcre2_code *compile(const char *text, char *what, size_t size)
{
    int code;
    PCRE2_SIZE offset;
    PCRE2_UCHAR why[128];
    pcre2_code *compiled = pcre2_compile(
        (PCRE2_SPTR)text, strlen(text),
        PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);

    if (compiled) {
        pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE); /* refused: the interpreter does it */
        return compiled;
    }
    pcre2_get_error_message(code, why, sizeof why);
    snprintf(what, size, "%s at offset %zu of '%.80s'", (const char *)why, (size_t)offset, text);
    return NULL;
}

/* Says which alternative of a pattern does not compile; only called when the whole did not. */
static bool blame(const struct loader *l, const char *key, const json_t *value, const char *whole,
                  struct kr_pattern *pattern)
{
    char why[256];
    char what[320];
    size_t n = json_is_array(value) ? json_array_size(value) : 0;
    bool found = false;

    snprintf(why, sizeof why, "%s", whole);
    for (size_t i = 0; i < n && !found; i++) {
        pcre2_code *code = compile(json_string_value(json_array_get(value, i)), why, sizeof why);

        found = code == NULL;
        pcre2_code_free(code);
    }
    snprintf(what, sizeof what, "'%s' is not a pattern: %s", key, why);
    if (!l->rules->keep_bad_patterns)
        return complain(l, key, what);
    return copy_string(l, what, &pattern->error);
}

/* Joins alternatives so that inline options of one do not reach the next: (?:a)|(?:b). */
static bool join_alternatives(const struct loader *l, const char *key, const json_t *list,
                              char **out)
{
    size_t n = 0;
    size_t i;
    const json_t *item;

    *out = kr_xcalloc(KR_RULES_MAX_PATTERN + 1, 1, l->err);
    if (!*out)
        return false;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);

        if (!text || !text[0])
            return complain(l, key, "the alternatives of a pattern must be strings, none empty");
        n += (size_t)snprintf(*out + n, KR_RULES_MAX_PATTERN + 1 - n, "%s(?:%s)", i ? "|" : "",
                              text);
        if (n > KR_RULES_MAX_PATTERN)
            return complain(l, key, "a pattern may have at most 4096 bytes");
    }
    return n > 0 || complain(l, key, "a pattern needs at least one alternative");
}

static bool read_pattern(const struct loader *l, const char *key, const json_t *value,
                         struct kr_pattern *pattern)
{
    char what[256];

    if (json_is_array(value)) {
        if (!join_alternatives(l, key, value, &pattern->text))
            return false;
    } else if (!json_is_string(value) || json_string_length(value) == 0) {
        return complain(l, key, "a pattern is a string that is not empty, or an array of those");
    } else if (json_string_length(value) > KR_RULES_MAX_PATTERN) {
        return complain(l, key, "a pattern may have at most 4096 bytes");
    } else if (!copy_string(l, json_string_value(value), &pattern->text)) {
        return false;
    }
    pattern->code = compile(pattern->text, what, sizeof what);
    return pattern->code || blame(l, key, value, what, pattern);
}

static bool read_patterns(const struct loader *l, const json_t *object, struct kr_rule *rule)
{
    static const char *const keys[] = { "name", "op", "annotation" };
    bool any = json_object_get(object, "kind") != NULL;

    for (size_t i = 0; i < KR_COUNT(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);

        if (value && !read_pattern(l, keys[i], value, &rule->pattern[i]))
            return false;
        any |= value != NULL;
    }
    return any || complain(l, NULL, "it needs at least one of name, op, annotation, kind");
}

static bool read_enums(const struct loader *l, const json_t *object, struct kr_rule *rule)
{
    const json_t *flags = json_object_get(object, "flags");
    enum kr_origin origin = KR_ORIGIN_UNKNOWN;
    const json_t *flag;
    const char *word;
    size_t i;
    bool ok;

    word = get_string(l, object, "origin", true, &ok);
    if (!ok)
        return false;
    if (!kr_origin_parse(word, &origin) || origin == KR_ORIGIN_UNKNOWN)
        return complain(l, "origin",
                        "'origin' must be one of vendor, expert, framework, compiler, "
                        "user, autotuned");
    rule->origin = (uint8_t)origin;
    word = get_string(l, object, "kind", false, &ok);
    if (!ok)
        return false;
    rule->has_kind = word != NULL;
    if (word && !kr_kind_parse(word, &rule->kind))
        return complain(l, "kind", "'kind' must be one of kernel, memcpy, memset");
    if (flags && !json_is_array(flags))
        return complain(l, "flags", "'flags' must be an array");
    json_array_foreach(flags, i, flag)
    {
        unsigned bit;

        if (!json_is_string(flag) || !kr_flag_parse(json_string_value(flag), &bit))
            return complain(l, "flags", "flags are suspect, mixed, cut, waits, helper");
        rule->flags |= (uint8_t)bit;
    }
    return true;
}

static bool read_family(const struct loader *l, const json_t *object, struct kr_rule *rule)
{
    bool ok;
    const char *family = get_string(l, object, "family", true, &ok);
    uint32_t id;

    if (!ok)
        return false;
    if (!is_word(family))
        return complain(l, "family", "'family' must be a lower-case word");
    if (strcmp(family, "unknown") == 0)
        return true; /* index 0: the rule says that the name hides its content */
    id = kr_strpool_intern(l->rules->families, family, strlen(family), l->err);
    if (id == KR_STR_NONE)
        return false;
    if (id >= KR_RULES_MAX_FAMILIES)
        return complain(l, "family", "too many families");
    rule->family = (uint16_t)id;
    return true;
}

/* {"name", "op", "annotation", "kind"} or a plain string, the name. */
static bool read_sample(const struct loader *l, const json_t *value, const char *key,
                        struct kr_sample *sample)
{
    static const char *const keys[] = { "name", "op", "annotation" };

    if (json_is_object(value)) {
        const char *kind = json_string_value(json_object_get(value, "kind"));
        size_t used = kind != NULL;

        if (kind && !kr_kind_parse(kind, &sample->kind))
            return complain(l, key, "'kind' must be one of kernel, memcpy, memset");
        for (size_t i = 0; i < KR_COUNT(keys); i++) {
            const char *text = json_string_value(json_object_get(value, keys[i]));

            used += text != NULL;
            if (!copy_string(l, text ? text : "", &sample->field[i]))
                return false;
        }
        return used == json_object_size(value) ||
               complain(l, key, "an example has the strings name, op, annotation, kind");
    }
    if (!json_is_string(value))
        return complain(l, key,
                        "an example is a name, or an object with name, op, annotation, kind");
    return copy_string(l, json_string_value(value), &sample->field[0]) &&
           copy_string(l, "", &sample->field[1]) && copy_string(l, "", &sample->field[2]);
}

static bool read_samples(const struct loader *l, const json_t *object, struct kr_rule *rule)
{
    static const char *const keys[] = { "examples", "near_misses" };
    size_t total = 0;

    for (size_t k = 0; k < KR_COUNT(keys); k++) {
        const json_t *list = json_object_get(object, keys[k]);

        if (list && !json_is_array(list))
            return complain(l, keys[k], "examples and near-misses must be arrays");
        total += json_array_size(list);
    }
    rule->samples = kr_xcalloc(total, sizeof *rule->samples, l->err);
    if (!rule->samples)
        return false;
    for (size_t k = 0; k < KR_COUNT(keys); k++) {
        const json_t *list = json_object_get(object, keys[k]);
        const json_t *value;
        size_t line = list ? line_of(l, keys[k]) : 0;
        size_t i;

        json_array_foreach(list, i, value)
        {
            struct kr_sample *sample = &rule->samples[rule->n_samples++];

            sample->near_miss = k == 1;
            sample->kind = rule->kind;
            sample->line = line;
            if (!read_sample(l, value, keys[k], sample))
                return false;
        }
    }
    return true;
}

static bool read_id(struct loader *l, const json_t *object, struct kr_rule *rule)
{
    bool ok;
    const char *id = get_string(l, object, "id", true, &ok);
    const char *why;
    size_t before = kr_strpool_count(l->rules->ids);
    uint32_t known;

    if (!ok)
        return false;
    if (!is_word(id))
        return complain(l, "id",
                        "'id' must be a lower-case word of a-z, 0-9, '-', '_', at most 64");
    l->id = id;
    known = kr_strpool_intern(l->rules->ids, id, strlen(id), l->err);
    if (known == KR_STR_NONE)
        return false;
    if (known < before)
        return complain(l, "id", "there is already a rule of this id");
    why = get_string(l, object, "why", true, &ok);
    return ok && copy_string(l, id, &rule->id) && copy_string(l, why, &rule->why);
}

static bool read_rule(struct loader *l, json_t *object)
{
    struct kr_rules *rules = l->rules;
    struct kr_rule *rule;

    l->id = "";
    if (!json_is_object(object))
        return complain(l, NULL, "a rule must be an object");
    if (rules->n_rules == KR_RULES_MAX)
        return complain(l, NULL, "there are more than 10000 rules");
    if (!kr_grow(&rules->rules, &rules->cap_rules, rules->n_rules + 1, sizeof *rule, KR_RULES_MAX,
                 l->err))
        return false;
    rule = &rules->rules[rules->n_rules++];
    *rule = (struct kr_rule){ .file = l->file, .line = l->place.line };
    return read_id(l, object, rule) && check_keys(l, object) && read_family(l, object, rule) &&
           read_enums(l, object, rule) && read_patterns(l, object, rule) &&
           read_samples(l, object, rule);
}

static bool complain_top(const struct loader *l, const char *key, const char *what)
{
    const struct kr_json_step step = { key, 0 };

    return kr_fail(l->err, KR_EINPUT, "%s:%zu: %s", l->text->path,
                   kr_json_line(l->text->data, l->text->len, &step, 1), what);
}

static bool check_header(const struct loader *l, json_t *root, bool *replace)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const char *mode = json_string_value(json_object_get(root, "mode"));
    const char *key;
    json_t *value;

    if (!schema || strcmp(schema, "kreach.rules") != 0)
        return complain_top(l, "schema", "this is no rule file: 'schema' must be \"kreach.rules\"");
    if (json_integer_value(json_object_get(root, "schema_version")) != 1)
        return complain_top(l, "schema_version", "'schema_version' must be 1");
    if (!mode || (strcmp(mode, "extend") != 0 && strcmp(mode, "replace") != 0))
        return complain_top(l, "mode", "'mode' must be \"extend\" or \"replace\"");
    if (!json_is_array(json_object_get(root, "rules")))
        return complain_top(l, "rules", "'rules' must be an array");
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "schema") != 0 && strcmp(key, "schema_version") != 0 &&
            strcmp(key, "mode") != 0 && strcmp(key, "rules") != 0 && strcmp(key, "about") != 0)
            return complain_top(l, key,
                                "unknown key; a rule file has schema, schema_version, mode, "
                                "about, rules");
    }
    *replace = strcmp(mode, "replace") == 0;
    return true;
}

static bool read_rules(struct loader *l, json_t *root)
{
    const json_t *list = json_object_get(root, "rules");
    size_t n = json_array_size(list);
    struct kr_json_place *places = kr_xcalloc(n, sizeof *places, l->err);
    bool ok = places != NULL;

    if (ok)
        kr_json_item_places(l->text->data, l->text->len, "rules", places, n);
    for (l->item = 0; ok && l->item < n; l->item++) {
        l->place = places[l->item];
        ok = read_rule(l, json_array_get(list, l->item));
    }
    free(places);
    return ok;
}

bool kr_rules_add_text(struct kr_rules *rules, const struct kr_text *text, bool *replace,
                       struct kr_err *err)
{
    struct loader l = { .rules = rules, .text = text, .id = "", .err = err };
    json_t *root = kr_json_parse(text->path, text->data, text->len, err);
    bool ok;

    if (!root)
        return false;
    ok = kr_grow(&rules->files, &rules->cap_files, rules->n_files + 1, sizeof *rules->files, 1024,
                 err) &&
         copy_string(&l, text->path, &rules->files[rules->n_files]);
    if (ok) {
        l.file = rules->n_files++;
        ok = check_header(&l, root, replace) && read_rules(&l, root);
    }
    json_decref(root);
    return ok;
}

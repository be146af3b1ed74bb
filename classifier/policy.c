#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "json_text.h"
#include "mem.h"
#include "rules_priv.h"

enum { MAX_ENTRIES = 4096 };

static bool complain(const struct kr_text *text, const char *const *keys, size_t n,
                     const char *what, struct kr_err *err)
{
    struct kr_json_step steps[2] = { { 0 } };

    for (size_t i = 0; i < n && i < KR_COUNT(steps); i++)
        steps[i].key = keys[i];
    return kr_fail(err, KR_EINPUT, "%s:%zu: %s", text->path,
                   kr_json_line(text->data, text->len, steps, n), what);
}

static bool complain_key(const struct kr_text *text, const char *key, const char *what,
                         struct kr_err *err)
{
    return complain(text, &key, 1, what, err);
}

void kr_policy_free(struct kr_policy *policy)
{
    for (size_t i = 0; i < policy->n_entries; i++)
        free(policy->entries[i].key);
    free(policy->entries);
    free(policy->name);
    free(policy->cell);
}

static int compare_entries(const void *a, const void *b)
{
    const struct kr_policy_entry *left = a;
    const struct kr_policy_entry *right = b;

    return strcmp(left->key, right->key);
}

/* Sets an entry; one from the policy that is extended is overwritten. */
static bool set_entry(struct kr_policy *policy, const char *key, enum kr_class cls,
                      struct kr_err *err)
{
    for (size_t i = 0; i < policy->n_entries; i++) {
        if (strcmp(policy->entries[i].key, key) == 0) {
            policy->entries[i].cls = cls;
            return true;
        }
    }
    if (!kr_grow(&policy->entries, &policy->cap_entries, policy->n_entries + 1,
                 sizeof *policy->entries, MAX_ENTRIES, err))
        return false;
    policy->entries[policy->n_entries].key = kr_xstrndup(key, strlen(key), err);
    if (!policy->entries[policy->n_entries].key)
        return false;
    policy->entries[policy->n_entries++].cls = cls;
    return true;
}

/* "family" or "family/origin". */
static bool key_is_valid(const char *key)
{
    const char *slash = strchr(key, '/');
    enum kr_origin origin;

    return key[0] && key[0] != '/' && (!slash || kr_origin_parse(slash + 1, &origin));
}

static bool read_classes(struct kr_policy *policy, const struct kr_text *text, json_t *classes,
                         struct kr_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(classes, key, value)
    {
        const char *const path[] = { "classes", key };
        const char *word = json_string_value(value);
        enum kr_class cls;

        if (!key_is_valid(key))
            return complain(text, path, 2,
                            "a key of 'classes' is a family, or family/origin with "
                            "an origin of vendor, expert, framework, compiler, user, autotuned",
                            err);
        if (!word || !kr_class_parse(word, &cls))
            return complain(text, path, 2,
                            "a class must be optimal, addressable, overhead or unclassified", err);
        if (!set_entry(policy, key, cls, err))
            return false;
    }
    return true;
}

static bool check_header(const struct kr_text *text, json_t *root, struct kr_err *err)
{
    static const char *const known[] = { "schema",  "schema_version", "name", "extends",
                                         "classes", "otherwise",      "about" };
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const char *key;
    json_t *value;

    if (!schema || strcmp(schema, "kreach.policy") != 0)
        return complain_key(text, "schema", "this is no policy: 'schema' must be \"kreach.policy\"",
                            err);
    if (json_integer_value(json_object_get(root, "schema_version")) != 1)
        return complain_key(text, "schema_version", "'schema_version' must be 1", err);
    if (!json_is_string(json_object_get(root, "name")))
        return complain_key(text, "name", "'name' must be a string", err);
    if (!json_is_object(json_object_get(root, "classes")))
        return complain_key(text, "classes", "'classes' must be an object", err);
    json_object_foreach(root, key, value)
    {
        bool found = false;

        for (size_t i = 0; i < KR_COUNT(known); i++)
            found |= strcmp(key, known[i]) == 0;
        if (!found)
            return complain_key(text, key,
                                "unknown key; a policy has schema, schema_version, name, about, "
                                "extends, classes, otherwise",
                                err);
    }
    return true;
}

static const struct kr_builtin *find_builtin(const char *name)
{
    char file[96];

    snprintf(file, sizeof file, "policy_%.64s.json", name);
    for (size_t i = 0; i < kr_builtin_count; i++)
        if (strcmp(kr_builtin_files[i].name, file) == 0)
            return &kr_builtin_files[i];
    return NULL;
}

/* Every policy before the last is one that the last extends; built-in policies extend nothing. */
static bool read_policy(struct kr_policy *policy, const struct kr_text *text, bool may_extend,
                        struct kr_err *err)
{
    json_t *root = kr_json_parse(text->path, text->data, text->len, err);
    const char *otherwise;
    const char *extends;
    bool ok = root && check_header(text, root, err);

    if (!ok) {
        json_decref(root);
        return false;
    }
    extends = json_string_value(json_object_get(root, "extends"));
    if (json_object_get(root, "extends")) {
        const struct kr_builtin *base = extends && may_extend ? find_builtin(extends) : NULL;
        struct kr_text base_text = { .path = extends };

        if (!base) {
            complain_key(text, "extends", "'extends' must be \"default\" or \"paper\"", err);
            json_decref(root);
            return false;
        }
        base_text.data = (const char *)base->text;
        base_text.len = base->len;
        ok = read_policy(policy, &base_text, false, err);
    }
    otherwise = json_string_value(json_object_get(root, "otherwise"));
    if (ok && json_object_get(root, "otherwise") &&
        (!otherwise || !kr_class_parse(otherwise, &policy->otherwise)))
        ok =
            complain_key(text, "otherwise",
                         "'otherwise' must be optimal, addressable, overhead or unclassified", err);
    ok = ok && read_classes(policy, text, json_object_get(root, "classes"), err);
    if (ok) {
        const char *name = json_string_value(json_object_get(root, "name"));

        free(policy->name);
        policy->name = kr_xstrndup(name, strlen(name), err);
        ok = policy->name != NULL;
    }
    json_decref(root);
    return ok;
}

/* The hash is of what the policy says, not of how its file is laid out. */
static uint64_t hash_policy(const struct kr_policy *policy)
{
    const char *otherwise = kr_class_name(policy->otherwise);
    uint64_t hash = XXH3_64bits(otherwise, strlen(otherwise));

    for (size_t i = 0; i < policy->n_entries; i++) {
        const char *cls = kr_class_name(policy->entries[i].cls);

        hash = XXH3_64bits_withSeed(policy->entries[i].key, strlen(policy->entries[i].key), hash);
        hash = XXH3_64bits_withSeed(cls, strlen(cls), hash);
    }
    return hash;
}

bool kr_policy_load(struct kr_rules *rules, const char *spec, struct kr_err *err)
{
    struct kr_policy *policy = &rules->policy;
    const struct kr_builtin *builtin = find_builtin(spec ? spec : "default");
    struct kr_text text = { .path = spec ? spec : "default" };
    char *data = NULL;
    bool ok;

    if (builtin) {
        text.data = (const char *)builtin->text;
        text.len = builtin->len;
    } else if (!strchr(text.path, '/') && !strchr(text.path, '.')) {
        return kr_fail(err, KR_EARG, "there is no policy '%s'; use default, paper or a file",
                       text.path);
    } else {
        data = kr_rules_read_file(text.path, &text.len, err);
        if (!data)
            return false;
        text.data = data;
    }
    policy->otherwise = KR_UNCLASSIFIED;
    ok = read_policy(policy, &text, true, err);
    free(data);
    if (!ok)
        return false;
    qsort(policy->entries, policy->n_entries, sizeof *policy->entries, compare_entries);
    policy->hash = hash_policy(policy);
    return true;
}

static const struct kr_policy_entry *find_entry(const struct kr_policy *policy, const char *key)
{
    const struct kr_policy_entry wanted = { .key = (char *)key };

    return policy->n_entries ? bsearch(&wanted, policy->entries, policy->n_entries, sizeof wanted,
                                       compare_entries)
                             : NULL;
}

bool kr_policy_resolve(struct kr_rules *rules, struct kr_err *err)
{
    struct kr_policy *policy = &rules->policy;
    size_t n = kr_rules_family_count(rules);
    char key[128];

    policy->cell = kr_xcalloc(n * KR_ORIGIN_COUNT, sizeof *policy->cell, err);
    if (!policy->cell)
        return false;
    policy->n_families = n;
    for (size_t i = 0; i < n * KR_ORIGIN_COUNT; i++) {
        const char *family = kr_rules_family(rules, (uint16_t)(i / KR_ORIGIN_COUNT));
        const struct kr_policy_entry *entry;

        snprintf(key, sizeof key, "%s/%s", family, kr_origin_name(i % KR_ORIGIN_COUNT));
        entry = find_entry(policy, key);
        if (!entry)
            entry = find_entry(policy, family);
        policy->cell[i] = entry ? (uint16_t)(entry - policy->entries + 1) : 0;
    }
    return true;
}

/* Index into entries + 1; 0 = none. */
static uint16_t cell_at(const struct kr_rules *rules, uint16_t family, enum kr_origin origin)
{
    if (family >= rules->policy.n_families || (unsigned)origin >= KR_ORIGIN_COUNT)
        return 0;
    return rules->policy.cell[(size_t)family * KR_ORIGIN_COUNT + (size_t)origin];
}

enum kr_class kr_rules_class(const struct kr_rules *rules, uint16_t family, enum kr_origin origin)
{
    uint16_t cell = cell_at(rules, family, origin);

    if (cell)
        return rules->policy.entries[cell - 1].cls;
    return family == 0 ? KR_UNCLASSIFIED : rules->policy.otherwise;
}

const char *kr_rules_policy_name(const struct kr_rules *rules)
{
    return rules->policy.name;
}

uint64_t kr_rules_policy_hash(const struct kr_rules *rules)
{
    return rules->policy.hash;
}

const char *kr_rules_policy_entry(const struct kr_rules *rules, uint16_t family,
                                  enum kr_origin origin)
{
    uint16_t cell = cell_at(rules, family, origin);

    return cell ? rules->policy.entries[cell - 1].key : "";
}

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "mem.h"
#include "rules_priv.h"

enum { MAX_ENTRIES = 4096 };

static const char *const file_keys[] = { "schema",  "schema_version", "name",  "extends",
                                         "classes", "otherwise",      "about", NULL };

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

static bool read_classes(struct kr_policy *policy, struct kr_doc *doc, struct kr_err *err)
{
    json_t *classes = json_object_get(doc->root, "classes");
    const char *key;
    json_t *value;

    if (!json_is_object(classes))
        return kr_doc_fail_key(doc, "classes", err, "'classes' must be an object");
    kr_doc_enter_key(doc, "classes");
    json_object_foreach(classes, key, value)
    {
        const char *word = json_string_value(value);
        enum kr_class cls;

        if (!key_is_valid(key))
            return kr_doc_fail_key(doc, key, err,
                                   "a key of 'classes' is a family, or family/origin with an "
                                   "origin of vendor, expert, framework, compiler, user, "
                                   "autotuned");
        if (!word || !kr_class_parse(word, &cls))
            return kr_doc_fail_key(doc, key, err,
                                   "a class must be optimal, addressable, overhead or "
                                   "unclassified");
        if (!set_entry(policy, key, cls, err))
            return false;
    }
    kr_doc_leave(doc);
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

static bool read_policy(struct kr_policy *policy, struct kr_doc *doc, bool may_extend,
                        struct kr_err *err);

/* Reads the policy that is extended, if any; built-in policies extend nothing. */
static bool read_base(struct kr_policy *policy, const struct kr_doc *doc, bool may_extend,
                      struct kr_err *err)
{
    const struct kr_builtin *base;
    const char *extends;
    struct kr_doc base_doc;
    bool ok;

    if (!kr_doc_text(doc, doc->root, "extends", &extends, err))
        return false;
    if (!extends)
        return true;
    base = may_extend ? find_builtin(extends) : NULL;
    if (!base)
        return kr_doc_fail_key(doc, "extends", err, "'extends' must be \"default\" or \"paper\"");
    ok = kr_builtin_open(base, &base_doc, err) && read_policy(policy, &base_doc, false, err);
    kr_doc_close(&base_doc);
    return ok;
}

static bool read_policy(struct kr_policy *policy, struct kr_doc *doc, bool may_extend,
                        struct kr_err *err)
{
    const char *otherwise;
    const char *name;

    if (!kr_doc_check_schema(doc, "kreach.policy", err) ||
        !kr_doc_check_keys(doc, doc->root, "a policy", file_keys, err))
        return false;
    name = kr_doc_need_text(doc, doc->root, "name", err);
    if (!name || !read_base(policy, doc, may_extend, err) ||
        !kr_doc_text(doc, doc->root, "otherwise", &otherwise, err))
        return false;
    if (otherwise && !kr_class_parse(otherwise, &policy->otherwise))
        return kr_doc_fail_key(doc, "otherwise", err,
                               "'otherwise' must be optimal, addressable, overhead or "
                               "unclassified");
    free(policy->name); /* of the policy that is extended */
    policy->name = kr_xstrndup(name, strlen(name), err);
    return policy->name && read_classes(policy, doc, err);
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
    const char *name = spec ? spec : "default";
    const struct kr_builtin *builtin = find_builtin(name);
    struct kr_doc doc;
    bool ok;

    if (!builtin && !strpbrk(name, "/.") && strcmp(name, "-") != 0)
        return kr_fail(err, KR_EARG, "there is no policy '%s'; use default, paper or a file", name);
    policy->otherwise = KR_UNCLASSIFIED;
    ok = builtin ? kr_builtin_open(builtin, &doc, err) : kr_doc_open(&doc, name, err);
    ok = ok && read_policy(policy, &doc, true, err);
    kr_doc_close(&doc);
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

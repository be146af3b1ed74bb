/* Inside of struct kr_rules, shared by loading, policies, matching and checking. */
#ifndef KR_RULES_PRIV_H
#define KR_RULES_PRIV_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "rules.h"
#include "strict_json.h"

enum {
    KR_RULES_MAX = 10000,           /* rules in all */
    KR_RULES_MAX_PATTERN = 4 << 10, /* [bytes] */
    KR_RULES_MAX_FAMILIES = 4096,
};

/* What a rule may test; the index of its patterns. */
enum kr_field { KR_FIELD_NAME, KR_FIELD_OP, KR_FIELD_ANNOTATION, KR_FIELD_COUNT };

struct kr_pattern {
    char *text;       /* NULL = the rule does not look at this field */
    pcre2_code *code; /* NULL while text is set: did not compile (keep_bad_patterns) */
    char *error;      /* why it did not compile */
};

/* An example or near-miss; strings are "" when not given. */
struct kr_sample {
    char *field[KR_FIELD_COUNT];
    enum kr_kind kind;
    size_t line;
    bool near_miss;
};

struct kr_rule {
    char *id, *why;
    struct kr_pattern pattern[KR_FIELD_COUNT];
    struct kr_sample *samples;
    size_t n_samples;
    size_t file; /* index into files */
    size_t line;
    uint16_t family;
    uint8_t origin, flags;
    enum kr_kind kind; /* only events of this kind; without it, only kernels */
};

/* One line of a policy: family, or family/origin. */
struct kr_policy_entry {
    char *key;
    enum kr_class cls;
};

struct kr_policy {
    char *name;
    struct kr_policy_entry *entries;
    size_t n_entries, cap_entries;
    enum kr_class otherwise;
    uint64_t hash;
    size_t n_families; /* known when cell was made */
    uint16_t *cell; /* [family * KR_ORIGIN_COUNT + origin] index into entries + 1, 0 = otherwise */
};

struct kr_rules {
    struct kr_rule *rules;
    size_t n_rules, cap_rules;
    char **files;
    size_t n_files, cap_files;
    struct kr_strpool *families; /* pool id = family index; id 0, the empty string, is "unknown" */
    struct kr_strpool *ids;      /* to find duplicates */
    struct kr_policy policy;
    bool keep_bad_patterns;
    pcre2_match_context *match_context;
    pcre2_match_data *match_data;
    pcre2_jit_stack *jit_stack;
};

/* A JSON text embedded at build time. */
struct kr_builtin {
    const char *name; /* file name, e.g. "10_collective.json" */
    const unsigned char *text;
    size_t len;
};

/** Built-in rule files in order of their names, then the policies; from the build (embed.cmake). */
extern const struct kr_builtin kr_builtin_files[];
extern const size_t kr_builtin_count;

/** Opens a built-in file under the name "built-in/NAME"; see kr_doc_open. */
bool kr_builtin_open(const struct kr_builtin *file, struct kr_doc *doc, struct kr_err *err);

/** Adds the rules of one document; *replace tells that its mode is "replace". */
bool kr_rules_add(struct kr_rules *rules, struct kr_doc *doc, bool *replace, struct kr_err *err);

/** Reads the policy named by `spec` (built-in name or path; NULL = default) into rules->policy. */
bool kr_policy_load(struct kr_rules *rules, const char *spec, struct kr_err *err);

/** Works out the class of every (family, origin) pair; call when all families are known. */
bool kr_policy_resolve(struct kr_rules *rules, struct kr_err *err);
void kr_policy_free(struct kr_policy *policy);

/** Finds lower-case words of an enum; false when there is no such word. */
bool kr_class_parse(const char *word, enum kr_class *out);
bool kr_origin_parse(const char *word, enum kr_origin *out);
bool kr_flag_parse(const char *word, unsigned *out_bit);
bool kr_kind_parse(const char *word, enum kr_kind *out);

/**
 * Whether one rule holds for a subject whose name is already normalised.
 * @return false with err filled when a pattern hit a limit.
 */
bool kr_rule_holds(const struct kr_rules *rules, const struct kr_rule *rule,
                   const struct kr_subject *normalised, bool *holds, struct kr_err *err);

#endif

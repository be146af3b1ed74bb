/*
 * Rules and policies. A rule says what a kernel is (family and origin): fact. A policy says what
 * that means (class): opinion. Rules are ordered; the first that matches decides.
 * File formats: docs/rules.md.
 */
#ifndef KR_RULES_H
#define KR_RULES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "timeline.h"

enum kr_class {
    KR_OPTIMAL,      /* a library or expert kernel; nothing to expect from a new one */
    KR_ADDRESSABLE,  /* a better kernel could be written or generated */
    KR_OVERHEAD,     /* copies, fills, fused optimizer steps: no kernel to replace */
    KR_UNCLASSIFIED, /* no rule, or a name that hides its content */
    KR_CLASS_COUNT
};

enum kr_origin {
    KR_ORIGIN_UNKNOWN,
    KR_ORIGIN_VENDOR, /* cuBLAS, cuDNN, NCCL, cuFFT, CUB, the driver */
    KR_ORIGIN_EXPERT, /* FlashAttention, FlashInfer, TensorRT-LLM, DeepGEMM, Marlin, CUTLASS users
                       */
    KR_ORIGIN_FRAMEWORK, /* ATen, TensorFlow, ggml, serving engines' own CUDA */
    KR_ORIGIN_COMPILER,  /* Inductor, XLA, Triton JIT */
    KR_ORIGIN_USER,
    KR_ORIGIN_AUTOTUNED, /* compiler output that won a timed race against the vendor's library */
    KR_ORIGIN_COUNT
};

enum kr_flag {
    KR_FLAG_SUSPECT = 1, /* class by policy, but evidence against it */
    KR_FLAG_MIXED = 2,   /* fused content crosses families */
    KR_FLAG_CUT = 4,     /* the name was truncated by its source */
    KR_FLAG_WAITS = 8,   /* duration includes waiting for others */
    KR_FLAG_HELPER =
        16, /* belongs to the library kernel before or after it (split-K reduce, ...) */
};

#define KR_FLAG_COUNT 5

/** Lower-case words as they stand in files and output; NULL-safe to print. */
const char *kr_class_name(enum kr_class cls);
const char *kr_origin_name(enum kr_origin origin);
/** Name of the flag with bit 1 << index ("suspect", "mixed", ...), index < KR_FLAG_COUNT. */
const char *kr_flag_name(unsigned index);

#define KR_RULE_NONE UINT32_MAX

/* What is known of a kernel once rules and policy have spoken. */
struct kr_tag {
    uint32_t rule;   /* index of the deciding rule, KR_RULE_NONE */
    uint16_t family; /* index for kr_rules_family; 0 is "unknown" */
    uint8_t origin;  /* enum kr_origin */
    uint8_t cls;     /* enum kr_class */
    uint8_t flags;   /* enum kr_flag */
};

struct kr_rules; /* rules plus one policy; read-only after loading, but matching is one thread at a
                    time */

struct kr_rules_options {
    const char *const *rule_files; /* each extends (its rules come first) or replaces, as it says */
    size_t n_rule_files;
    const char *policy;     /* "default", "paper", or a file; NULL = "default" */
    bool keep_bad_patterns; /* for kr_rules_check: a rule whose pattern does not compile is kept,
                               never fires, and is reported there instead of failing the load */
};

/**
 * Loads the built-in rules, then the user's files in front of them, then the policy.
 * @param opt  NULL for the defaults
 * @return NULL with err filled: KR_EINPUT with file and line for a bad file, KR_EARG for an
 *         unknown policy name. Freed with kr_rules_free.
 */
struct kr_rules *kr_rules_load(const struct kr_rules_options *opt, struct kr_err *err);
void kr_rules_free(struct kr_rules *rules);

/* What a rule may look at. Strings may be "" when unknown, never NULL. */
struct kr_subject {
    const char *name;       /* as written in the trace, any tool's spelling */
    const char *op;         /* launching op */
    const char *annotation; /* enclosing annotation */
    enum kr_kind kind;
};

/**
 * Decides one kernel. The name is normalised (demangled, one spelling) before matching; a rule
 * fires when all that it asks for (kind, name, op, annotation) holds.
 * @return false with err filled when a rule's pattern hit its match limit (the message names it).
 */
bool kr_rules_match(const struct kr_rules *rules, const struct kr_subject *subject,
                    struct kr_tag *tag, struct kr_err *err);

/* Names of what a tag holds; borrowed until kr_rules_free. */
const char *kr_rules_family(const struct kr_rules *rules, uint16_t family);
size_t kr_rules_family_count(const struct kr_rules *rules);
const char *kr_rules_id(const struct kr_rules *rules, uint32_t rule); /* "" for KR_RULE_NONE */
const char *kr_rules_why(const struct kr_rules *rules,
                         uint32_t rule); /* the rule's reason, or "" */
/** Where the rule stands: "built-in/NAME.json" or the user's path, and its line (from 1, 0 = none).
 */
const char *kr_rules_origin_file(const struct kr_rules *rules, uint32_t rule);
size_t kr_rules_line(const struct kr_rules *rules, uint32_t rule);
size_t kr_rules_count(const struct kr_rules *rules);

/**
 * The class that the policy gives to a (family, origin): the entry "family/origin", else "family",
 * else what the policy says otherwise. Family 0 is unclassified unless the policy names "unknown".
 */
enum kr_class kr_rules_class(const struct kr_rules *rules, uint16_t family, enum kr_origin origin);

/** The policy's name, its 64-bit content hash, and the entry that gave a tag its class. */
const char *kr_rules_policy_name(const struct kr_rules *rules);
uint64_t kr_rules_policy_hash(const struct kr_rules *rules);
/** The policy entry that decides (family, origin): e.g. "gemm/compiler" or "gemm"; "" if none. */
const char *kr_rules_policy_entry(const struct kr_rules *rules, uint16_t family,
                                  enum kr_origin origin);

/* What kr_rules_check found. */
struct kr_rules_check {
    size_t rules, examples; /* near-misses count as examples */
    size_t problems;        /* 0 = all good */
};

/**
 * Runs every rule's examples and near-misses, finds rules that can never fire (an earlier rule
 * takes all of their examples, or the pattern repeats), names that two rules disagree on, patterns
 * that do not compile (see keep_bad_patterns) and policy entries whose family no rule gives.
 * One line for each problem goes to `log`: file:line: rule 'id': what.
 * @return false with err filled only when the check itself could not run (KR_ENOMEM).
 */
bool kr_rules_check(const struct kr_rules *rules, FILE *log, struct kr_rules_check *out,
                    struct kr_err *err);

#endif

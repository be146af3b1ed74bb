/*
 * Sigma files: measured kernel speed-ups and what they apply to. Format: docs/sigma.md.
 *
 * {"schema": "kreach.sigma", "schema_version": 1, "entries": [
 *   {"select": {"family": "norm"}, "sigma": 1.55, "win_rate": 0.417,
 *    "evidence": {"device": "NVIDIA H200", "dtype": "bf16", "baseline": "torch.compile",
 *                 "correctness": "relative error 2e-3 on 5 inputs", "source": "..."}},
 *   {"select": {"kernel": "*EmbeddingBag_updateOutput*"}, "group": {"launches_after": 1},
 *    "sigma": {"samples": [6.8, 6.9, 7.1]}},
 *   {"select": {"op": "aten::mm", "grid": [132, 1, 1]}, "sigma": {"lo": 0.97, "hi": 1.4}}]}
 */
#ifndef KR_SIGMA_H
#define KR_SIGMA_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* What an entry applies to: all given fields must hold; at least one is given. NULL = not given. */
struct kr_sigma_select {
    char *kernel; /* glob (* ?) over the name as written, normalised or short */
    char *family, *cls, *origin, *rule; /* exact words; checked against the rules by kr_predict */
    char *op;                           /* glob over the launching op */
    char *annotation;                   /* glob over the innermost annotation (digits are '*') */
    uint32_t grid[3], block[3];         /* [blocks], [threads]; missing dimensions are 1 */
    bool has_grid, has_block;
};

struct kr_sigma_evidence {
    char *device, *dtype, *baseline, *correctness, *source, *shapes; /* NULL = missing */
};

/*
 * Speed-ups average by the time they leave, not as numbers: the middle of lo and hi, and of two
 * middle samples, is the harmonic mean, so that INFINITY has a middle too.
 */
struct kr_sigma_entry {
    char *label; /* for output: given, or made from the selector */
    char *file;  /* path as given, for messages */
    size_t line; /* in the file */
    struct kr_sigma_select select;
    double sigma;     /* central value [x, > 0, may be INFINITY]: given, the middle of lo
                         and hi, or the median of the samples */
    double lo, hi;    /* range; equal to sigma when a single value was given */
    size_t n_samples; /* 0 when not given as samples */
    double win_rate;  /* share of attempts that won [0..1]; 1 when not given */
    bool has_win_rate;
    bool is_group;           /* all matched launches of a step are one unit */
    uint32_t launches_after; /* group: launches that remain per step and device; 0 = unknown */
    struct kr_sigma_evidence evidence;
};

struct kr_sigma_file {
    char *name; /* path as given, for messages */
    struct kr_sigma_entry *entries;
    size_t n_entries;
};

/**
 * Reads and checks a sigma file ("-" is standard input).
 * @return false with KR_EINPUT and file:line for JSON errors, unknown keys, sigma <= 0 or NaN,
 *         lo > hi, win rates outside [0, 1]. Free with kr_sigma_free (also after failure: then
 *         *out is empty).
 */
bool kr_sigma_read(const char *path, struct kr_sigma_file *out, struct kr_err *err);
bool kr_sigma_read_mem(const char *name, const char *text, size_t len, struct kr_sigma_file *out,
                       struct kr_err *err);
void kr_sigma_free(struct kr_sigma_file *file);

/**
 * Moves the entries of `more` behind those of `all`, whose entries therefore win; `more` is left
 * empty. The name becomes a comma list; each entry keeps its own file.
 */
bool kr_sigma_append(struct kr_sigma_file *all, struct kr_sigma_file *more, struct kr_err *err);

/**
 * Evidence fields that an entry lacks, as a comma list: "device, baseline"; "" when complete.
 * A grid or block in the selector counts as evidence of shapes.
 */
void kr_sigma_evidence_missing(const struct kr_sigma_entry *entry, char *out, size_t size);

#endif

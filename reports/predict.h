/*
 * Prediction: measured kernel speed-ups and measured shares in, end-to-end gain out.
 * Every mode is an Amdahl sum over disjoint parts of the run; they differ in what they assume of
 * the parts' speed-ups. Source: Amdahl, AFIPS 1967; modes as in docs/prediction.md.
 */
#ifndef KR_PREDICT_H
#define KR_PREDICT_H

#include "account.h"
#include "sigma.h"

enum kr_predict_mode {
    KR_PREDICT_PER_KERNEL,  /* sum s_i (1 - 1/sigma_i) over what the entries match */
    KR_PREDICT_WIN_RATE,    /* sum s_i w_i (1 - 1/sigma_i): a share w of the attempts wins */
    KR_PREDICT_CEILING,     /* sigma -> infinity on what the entries match */
    KR_PREDICT_CEILING_ALL, /* sigma -> infinity on all addressable work */
    KR_PREDICT_MODE_COUNT
};

/** "per-kernel", "win-rate", "ceiling", "ceiling-addressable". */
const char *kr_predict_mode_name(enum kr_predict_mode mode);

/**
 * Time saved of a whole when a part of it gets faster and nothing else changes: s (1 - 1/sigma).
 * @param frac   share of the part [fraction, 0..1]
 * @param sigma  its speed-up [x, > 0, may be INFINITY]
 * @param out_saved_frac  [fraction of the whole, <= frac, negative for a loss]; untouched on error
 * @return false with KR_EARG when an argument is out of range or NaN.
 */
bool kr_predict_saved(double frac, double sigma, double *out_saved_frac, struct kr_err *err);

/** Whole-run speed-up 1 / (1 - saved) [x]; INFINITY when everything is saved. */
double kr_predict_speedup(double saved_frac);

/* What one entry brings. */
struct kr_predict_part {
    size_t entry;   /* index into the sigma file */
    uint64_t count; /* launches matched in the window */
    uint64_t exclusive_ns;
    double frac;                      /* share of the denominator */
    double saved, saved_lo, saved_hi; /* per-kernel, of the denominator */
    uint64_t shadowed_ns;             /* matched too, but taken by an earlier entry */
    const char *evidence_missing;     /* comma list of missing evidence fields, "" when complete */
    bool above_roofline;              /* sigma beyond what memory and arithmetic peaks allow */
    double roofline_sigma;            /* [x] the most the peaks allow, NAN when unknown */
};

struct kr_prediction {
    enum kr_predict_mode mode;
    double saved, saved_lo, saved_hi;       /* [fraction of the denominator] */
    double speedup, speedup_lo, speedup_hi; /* [x] */
};

/* A kernel worth writing, in the order of what it could bring. */
struct kr_target {
    size_t kernel_row;     /* index into the account's kernels_rows */
    double frac;           /* share of the denominator */
    double ceiling_saved;  /* = frac */
    double sigma_for_1pct; /* [x] speed-up that saves 1 % of the run; NAN when out of reach */
};

struct kr_predict_options {
    uint64_t wall_step_ns; /* unprofiled step time; 0 = use the window's own wall */
    bool force;            /* accept a sigma above the roofline */
};

struct kr_predict_result {
    const char *denominator; /* "window wall" or "unprofiled step" */
    double denominator_ns;
    struct kr_prediction predictions[KR_PREDICT_MODE_COUNT];
    size_t n_predictions;          /* win-rate is left out when no entry gives a win rate */
    struct kr_predict_part *parts; /* one for each entry */
    size_t n_parts;
    struct kr_target *targets; /* addressable kernels by share, largest first */
    size_t n_targets;
    double noise_cv;            /* coefficient of variation of the step time, NAN when unknown */
    double smallest_detectable; /* [fraction] saved time that the run's own spread lets anyone see
                                   with as many steps (two-sided 95 %); NAN when unknown */
};

/**
 * Predicts. An event belongs to the first entry that matches it.
 * @return false with KR_EARG when an entry's selector names an unknown family, class, origin or
 *         rule, or matches nothing in the window (the message names the entry and its line), when
 *         matched shares exceed 1, when a sigma is above the roofline and not forced, or when
 *         wall_step_ns is given but the window has no steps.
 *         Free with kr_predict_free.
 */
bool kr_predict_run(const struct kr_timeline *t, const struct kr_tag *tags,
                    const struct kr_rules *rules, const struct kr_window *window,
                    const struct kr_account *account, const struct kr_sigma_file *sigma,
                    const struct kr_predict_options *opt, struct kr_predict_result *out,
                    struct kr_err *err);
void kr_predict_free(struct kr_predict_result *r);

#endif

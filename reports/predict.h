/*
 * Prediction: measured kernel speed-ups and measured shares in, end-to-end gain out.
 * Every mode is an Amdahl sum over disjoint parts of the run; they differ in what they assume of
 * the parts' speed-ups. Source: Amdahl, AFIPS 1967; modes as in docs/prediction.md.
 */
#ifndef KR_PREDICT_H
#define KR_PREDICT_H

#include "account.h"
#include "noise.h"
#include "sigma.h"

enum kr_predict_mode {
    KR_PREDICT_PER_KERNEL,  /* sum s_i (1 - 1/sigma_i) over what the entries match; win rates are
                               not looked at: every replacement is taken to be in use */
    KR_PREDICT_WIN_RATE,    /* sum s_i w_i (1 - 1/sigma_i): a share w of the attempts wins */
    KR_PREDICT_CEILING,     /* sigma -> infinity on what the entries match */
    KR_PREDICT_CEILING_ALL, /* sigma -> infinity on all addressable work */
    KR_PREDICT_MODE_COUNT
};

/** "per-kernel", "win-rate", "ceiling", "ceiling-addressable". */
const char *kr_predict_mode_name(enum kr_predict_mode mode);
/** The formula and what it assumes, one line for a person. */
const char *kr_predict_mode_text(enum kr_predict_mode mode);

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

/**
 * The speed-up that a part needs to save a given fraction of the whole: s / (s - target).
 * @return [x]; NAN when even an infinite one would not do (frac <= target).
 */
double kr_predict_sigma_needed(double frac, double target_frac);

/* What one entry brings. Fractions are of the denominator unless the name says otherwise. */
struct kr_predict_part {
    size_t entry;          /* index into the sigma file */
    uint64_t count;        /* launches matched in the window */
    uint64_t exclusive_ns; /* their exclusive time in the window */
    uint64_t shadowed_ns;  /* matched too, but taken by an earlier entry */
    double frac, frac_of_busy;
    double saved, saved_lo, saved_hi; /* per-kernel mode: sigma, lo, hi */
    double saved_win;                 /* win-rate mode: saved times the win rate */
    double launches_before;           /* per step and device; NAN when the window has no steps */
    double launches_after;            /* group with a known launch count: that; else as before */
    char evidence_missing[64];        /* comma list of missing evidence fields, "" when complete */
    bool above_roofline;              /* sigma beyond what memory and arithmetic peaks allow */
    double roofline_sigma;            /* [x] the most the peaks allow; NAN when unknown */
};

struct kr_prediction {
    enum kr_predict_mode mode;
    double saved, saved_lo, saved_hi; /* [fraction of the denominator]; lo and hi are the worst
                                         and best case of all ranges together, no interval of
                                         confidence */
    double speedup, speedup_lo, speedup_hi; /* [x] */
    double saved_of_busy;                   /* [fraction of busy time] what a calculation that
                                               forgets idle would claim */
    double outcome_sd; /* win-rate mode: standard deviation of `saved` when each distinct kernel
                          name is one attempt that wins or brings nothing; NAN in other modes */
    size_t n_losses;   /* entries that make the run slower (sigma < 1) */
};

/* Something worth writing, in the order of what it could bring. */
struct kr_target {
    size_t row;            /* index into the account's kernels_rows or families */
    double frac;           /* share of the denominator */
    double ceiling_saved;  /* = frac */
    double sigma_for_1pct; /* [x] speed-up that saves 1 % of the run; NAN when out of reach */
};

struct kr_predict_options {
    uint64_t wall_step_ns; /* unprofiled step time; 0 = use the window's own wall */
    bool force;            /* accept a sigma above the roofline (a warning remains) */
};

struct kr_predict_result {
    const char *denominator; /* "window wall" or "unprofiled step" */
    bool per_step;           /* it is the unprofiled step time, for every step and device */
    double denominator_ns;   /* that exclusive times are divided by: all steps, all devices */
    double busy_frac;        /* busy share of the denominator; idle is the rest */
    struct kr_prediction predictions[KR_PREDICT_MODE_COUNT];
    size_t n_predictions;          /* win-rate is left out when no entry gives a win rate */
    struct kr_predict_part *parts; /* one for each entry, in file order */
    size_t n_parts;
    struct kr_target *targets; /* addressable kernels by share, largest first */
    size_t n_targets;
    struct kr_target *family_targets; /* addressable families by share, largest first */
    size_t n_family_targets;
    struct kr_noise noise;
    double noise_cv;            /* = noise.cv */
    double smallest_detectable; /* = noise.smallest_detectable */
    double steps_needed;        /* to see the per-kernel prediction in two runs; NAN = unknown */
    char **warnings;            /* sentences for a person, without newline */
    size_t n_warnings;
};

/* An analysed run to predict on; everything is borrowed. */
struct kr_predict_input {
    const struct kr_timeline *timeline;
    const struct kr_tag *tags; /* one for each site */
    const struct kr_rules *rules;
    const struct kr_window *window;
    const struct kr_account *account;
};

/**
 * Predicts. A launch belongs to the first entry that matches it.
 * @param sigma  NULL = no speed-ups known: only ceiling-addressable, targets and noise
 * @return false with KR_EARG when an entry's selector names an unknown family, class, origin or
 *         rule, or matches nothing in the window (the message names the entry and its line), when
 *         matched shares exceed 1, when a sigma is above the roofline and not forced, or when
 *         wall_step_ns cannot stand beside the window's steps (kr_window_check_plain_step).
 *         Free with kr_predict_free.
 */
bool kr_predict_run(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                    const struct kr_predict_options *opt, struct kr_predict_result *out,
                    struct kr_err *err);
void kr_predict_free(struct kr_predict_result *r);

/** The prediction of a mode; NULL when the result has none of it. */
const struct kr_prediction *kr_predict_find(const struct kr_predict_result *r,
                                            enum kr_predict_mode mode);

#endif

/*
 * The report model: one or several analysed runs put into rows of plain strings and numbers, ready
 * for any renderer (render_text.c, render_json.c, render_csv.c).
 *
 * Runs of several files (ranks) are analysed apart, each in its own window and on its own clock;
 * here their rows are added by name. Shares are then of the sum of all devices' walls.
 */
#ifndef KR_REPORT_H
#define KR_REPORT_H

#include "account.h"
#include "advice.h"
#include "verdict.h"

/* One analysed file. Owns everything it points to; see kr_run_analyse. */
struct kr_run {
    struct kr_timeline *timeline;
    struct kr_tag *tags;
    struct kr_window window;
    struct kr_account account;
    struct kr_advice *advice; /* what needs no new kernel */
    size_t n_advice;
};

/**
 * Classifies and accounts an imported timeline, which it takes over (also on failure).
 * @param window_spec  see kr_window_choose
 * @param out          zeroed by the caller; kr_run_free copes with what a failure leaves
 */
bool kr_run_analyse(struct kr_timeline *t, const struct kr_rules *rules, const char *window_spec,
                    struct kr_run *out, struct kr_err *err);
void kr_run_free(struct kr_run *run);

/* A line of the class, family or kernel table. Shares are NAN when unknown. */
struct kr_row {
    const char *name; /* of the class, family or kernel (as written in the trace); borrowed */
    size_t name_len;
    char *normalised, *short_name; /* kernels: owned by the report; else NULL */
    struct kr_tag tag;             /* families: family and class only; classes: class only */
    const char *family, *rule;     /* "" where the table is not of that kind */
    const char *op;                /* kernels: op of its largest site, "" unknown */
    struct kr_stats stats;         /* sums over runs; see median_known */
    bool median_known;             /* false when several runs had to be added */
    bool waited;                   /* kernels: mostly waiting in some run (kr_account_waits) */
    double frac_busy, frac_wall;
    double frac_step;        /* share of the unprofiled step */
    double step_lo, step_hi; /* classes: least and greatest share of a step's wall */
};

struct kr_rows {
    struct kr_row *rows; /* largest exclusive time first; classes in the order of enum kr_class */
    size_t n;
};

/* Communication; waiting for other ranks is inside its durations. */
struct kr_collectives {
    uint64_t count;
    uint64_t sum_ns;     /* sum of durations */
    uint64_t union_ns;   /* time with any collective running, over all devices */
    uint64_t exposed_ns; /* of it: with nothing else running beside */
};

/* Means over all steps and devices, beside the step time without a profiler. */
struct kr_true_step {
    bool known;                           /* a plain step time was given; else all is 0 */
    uint64_t steps;                       /* that the means are of */
    double plain_ns;                      /* as given */
    double profiled_ns;                   /* wall of a profiled step */
    double busy_ns;                       /* busy time in it */
    double cost_frac;                     /* profiled / plain - 1, as measured where it was */
    const struct kr_step_times *measured; /* by the recording itself; NULL = the time was given */
    bool busy_too_long; /* busy exceeds the plain step: the profiler slowed kernels, or the plain
                           time is of another run; idle is then unknown */
    double idle_frac;   /* of the plain step; NAN when busy_too_long */
};

struct kr_report {
    const struct kr_run *runs; /* borrowed */
    size_t n_runs;
    const struct kr_rules *rules; /* borrowed */
    struct kr_time time;          /* sums over runs and devices */
    struct kr_gaps gaps;          /* of the idle time, likewise */
    uint64_t kernels, memcpys, memsets;
    uint64_t distinct_kernels;
    size_t n_devices;
    size_t n_steps, empty_steps;
    struct kr_rows class_rows, family_rows, kernel_rows;
    struct kr_advice *advice; /* merged by id; `example` is of the first run that has it */
    size_t n_advice;
    struct kr_collectives collectives;
    uint64_t suspect_ns;               /* exclusive time of kernels flagged suspect */
    double step_idle_lo, step_idle_hi; /* least and greatest idle share of a step; NAN unknown */
    struct kr_true_step step;
    struct kr_verdict verdict;
};

/**
 * Builds a report.
 * @param wall_step_ns  unprofiled step time, 0 = not given
 * @return false with KR_EARG when wall_step_ns cannot stand beside a run's steps
 *         (kr_window_check_plain_step).
 *         Free with kr_report_free.
 */
bool kr_report_build(const struct kr_run *runs, size_t n_runs, const struct kr_rules *rules,
                     uint64_t wall_step_ns, struct kr_report *out, struct kr_err *err);
void kr_report_free(struct kr_report *report);

/* Exclusive time and shares of one class. */
const struct kr_row *kr_report_class(const struct kr_report *report, enum kr_class cls);

/** True when every run's timeline is complete. */
bool kr_report_complete(const struct kr_report *report);

#endif

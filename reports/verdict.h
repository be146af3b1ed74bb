/* The sentence a busy person needs: are new kernels worth writing here, and why. */
#ifndef KR_VERDICT_H
#define KR_VERDICT_H

#include <stdbool.h>

/* Argued in docs/report.md. */
#define KR_VERDICT_LIMITED_FRAC 0.05 /* below: not worth it */
#define KR_VERDICT_WORTH_FRAC   0.20 /* from here: worth it */
#define KR_VERDICT_IDLE_FRAC    0.25 /* from here, and above the addressable share: idle first */

enum kr_worth {
    KR_WORTH_YES,
    KR_WORTH_LIMITED,
    KR_WORTH_NO,
    KR_WORTH_IDLE_FIRST, /* the device mostly waits */
    KR_WORTH_UNKNOWN     /* the unclassified share decides */
};

/** "worth_it", "limited", "not_worth_it", "idle_first", "unknown": as in JSON. */
const char *kr_worth_name(enum kr_worth worth);

/* Shares [0..1] of one whole, wall time of the run. */
struct kr_verdict_input {
    double addressable, optimal, unclassified;
    double idle;            /* NAN = unknown */
    const char *whole;      /* what the shares are of: "the profiled wall time" */
    const char *top_family; /* largest addressable family, NULL = none */
    double top_family_frac; /* its share */
    bool idle_is_profiled;  /* idle was measured under a profiler, which inflates it */
};

struct kr_verdict {
    enum kr_worth worth;
    double addressable; /* what the verdict rests on [fraction of the whole] */
    double ceiling_x;   /* speed-up of the run with infinitely fast addressable kernels */
    char text[512];     /* the answer */
    char why[512];      /* what it rests on */
};

/** Decides; unknown when the shares are NAN (nothing took any time). */
struct kr_verdict kr_verdict_decide(const struct kr_verdict_input *in);

#endif

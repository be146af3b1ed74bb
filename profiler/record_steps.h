/* Step times from the NVTX ranges of a run, with and without profiling. */
#ifndef KR_RECORD_STEPS_H
#define KR_RECORD_STEPS_H

#include "chunks.h"

/* From the start of a range to that of the next one, whatever happens in between. */
struct kr_record_step {
    uint64_t dur_ns;
    uint64_t place; /* of the range among those of its thread, from 0 */
};

/* Steps by a range that repeats on one thread, in time order. Zeroed to start with. */
struct kr_record_steps {
    char label[128]; /* the range's name with digit runs as '*'; "" = none repeats */
    struct kr_record_step *items;
    size_t n, cap;
};

/**
 * Finds the steps in the parts of a run; those that were not recorded as a whole are left out.
 * @param name  the range to take, told apart from others with digit runs as '*'; NULL = of the
 *              ranges that repeat at least five times, the one that covers the most time
 * @return false with err filled when a part cannot be read; finding none is no error.
 */
bool kr_record_steps_find(const char *folder, const char *name, struct kr_record_steps *steps,
                          struct kr_err *err);

/**
 * The same for steps that lie outside of the window, where it had been open before: CUPTI is there
 * and records nothing. The first two, and all that begin within 20 ms, are left out.
 */
bool kr_record_steps_outside(const char *folder, const char *name, struct kr_record_steps *steps,
                             struct kr_err *err);
void kr_record_steps_free(struct kr_record_steps *steps);

/* Steps that follow each other, all with or all without profiling. */
struct kr_record_stretch {
    bool profiled;
    size_t n;
};

/* What a CALIBRATION chunk holds. Zeroed to start with. */
struct kr_record_calibration {
    const char *method;                     /* "alternating" or "second run" */
    struct kr_record_steps plain, profiled; /* of one label */
    struct kr_record_stretch *stretches;    /* in time order; of two runs plain and profiled ones
                                               by turns, two of the same steps each */
    size_t n_stretches, cap_stretches;
};

void kr_record_calibration_free(struct kr_record_calibration *c);

/**
 * Takes the steps of both kinds from a run in which one process took turns (see cap_calibrate.h).
 * Steps near a change are left out: the two first and all that begin within 20 ms, for what moving
 * costs, and the last.
 * @return false with err filled when the parts cannot be read, or with KR_EENV when they do not
 *         show the step time, as with fewer than six plain stretches: a sentence why.
 */
bool kr_record_steps_alternating(const char *folder, struct kr_record_calibration *out,
                                 struct kr_err *err);

/**
 * Makes two runs comparable: keeps the steps that both have, by their place; leaves out warm-up
 * (the first two, and more while they take over 5/4 of the median in either run); and cuts the rest
 * into stretches, behind steps of about the mean time or more: shorter ones may only have been
 * launched.
 * @param c  plain and profiled steps as kr_record_steps_find has them
 * @return false with err filled: KR_EENV when fewer than six steps remain.
 */
bool kr_record_steps_pair(struct kr_record_calibration *c, struct kr_err *err);

/** The payload of a CALIBRATION chunk. */
bool kr_record_calibration_payload(const struct kr_record_calibration *c, struct kr_bytes *payload,
                                   struct kr_err *err);

#endif

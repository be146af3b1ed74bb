/* Step times from the NVTX ranges of a run, for comparing a profiled run with a plain one. */
#ifndef KR_RECORD_STEPS_H
#define KR_RECORD_STEPS_H

#include "chunks.h"

/* Times between the starts of a range that repeats on one thread. Zeroed to start with. */
struct kr_record_steps {
    char label[128]; /* the range's name with digit runs as '*'; "" = none repeats */
    uint64_t *steps_ns;
    size_t n;
};

/**
 * Finds the steps in the parts of a run.
 * @param name  the range to take, told apart from others with digit runs as '*'; NULL = of the
 *              ranges that repeat at least five times, the one that covers the most time
 * @return false with err filled when a part cannot be read; finding none is no error.
 */
bool kr_record_steps_find(const char *folder, const char *name, struct kr_record_steps *steps,
                          struct kr_err *err);
void kr_record_steps_free(struct kr_record_steps *steps);

/** The payload of a CALIBRATION chunk of a second, plain run. */
bool kr_record_steps_calibration(const struct kr_record_steps *plain,
                                 const struct kr_record_steps *profiled, struct kr_bytes *payload,
                                 struct kr_err *err);

#endif

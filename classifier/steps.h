/* Steps: the repeating unit of a run, from its annotations or else from its kernel sequence. */
#ifndef KR_STEPS_H
#define KR_STEPS_H

#include "window.h"

struct kr_steps {
    struct kr_step *items; /* in time order; step i ends where step i + 1 begins */
    size_t n;
    enum kr_steps_from from;
    char how[96]; /* "3 steps from annotation 'step#*'" */
};

/**
 * Finds the steps of a timeline; none is a valid answer (n = 0, from = KR_STEPS_NONE).
 *
 * Annotations come first: ProfilerStep#N or what the recording was timed by, else the counting
 * annotation ("iteration 7", "step[3]") that covers the most device work: at least half of all, or,
 * with five annotations or more, half of what runs from the first of them to the last. A step
 * begins with the first work launched in its annotation; the idle time between steps belongs to the
 * earlier one; the last step ends with its last work. With fewer than two such steps the repetition
 * of kernels decides (kr_repeat_find), and a single annotated step is used only where there is no
 * repetition. Marks without work at the end of a recording that was cut are no steps. Free with
 * kr_steps_free.
 */
bool kr_steps_find(const struct kr_timeline *t, struct kr_steps *out, struct kr_err *err);
void kr_steps_free(struct kr_steps *steps);

/**
 * Splits a name that counts ("iteration 7", "step[3]", "## step 12 ##") into its pattern, with all
 * digit runs written '*', and the last number.
 * @param pattern  room for len + 1 bytes
 * @return false when the name does not end in a number (closing punctuation aside)
 */
bool kr_steps_counting_name(const char *name, size_t len, char *pattern, int64_t *number);

#endif

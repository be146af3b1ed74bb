/* Repetition: finds a loop in the sequence of launches, without any annotation. */
#ifndef KR_REPEAT_H
#define KR_REPEAT_H

#include "timeline.h"

struct kr_repeat {
    int64_t *starts_ns; /* begin of each repetition, in time order */
    size_t n;           /* repetitions; 0 = no convincing loop */
    int64_t end_ns;     /* end of the last one */
    size_t period;      /* launches in the median repetition, on the busiest stream */
};

/**
 * Looks for a loop that runs to the end of the recording, on the stream with the most work items.
 *
 * A kernel that occurs once in each round (an anchor) cuts the sequence into rounds. A round is
 * like the one before when 95 % of their launches pair up by name; at least three rounds, nine in
 * ten of them alike, must make up half of the sequence. Layers of a model repeat too and are no
 * steps: what they leave over, an embedding before them and a head after, gives them away. A few
 * other kernels may follow rounds that are long or have a loop inside, as steps have their layers;
 * in a recording of a whole program anything may surround them, if they are half of it.
 * Cost: linear; a fixed number of anchors is tried, on the last 2^20 launches.
 * Free with kr_repeat_free.
 */
bool kr_repeat_find(const struct kr_timeline *t, struct kr_repeat *out, struct kr_err *err);
void kr_repeat_free(struct kr_repeat *repeat);

#endif

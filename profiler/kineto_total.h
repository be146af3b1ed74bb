/* Joins the parts of a Kineto trace, in the order of the file, into a timeline. */
#ifndef KR_KINETO_TOTAL_H
#define KR_KINETO_TOTAL_H

#include "idmap.h"
#include "kineto_part.h"

struct kr_kineto_total {
    struct kr_timeline *timeline; /* gets events, warnings and counts at once */
    struct kr_recpool sites, tracks, ops;
    struct kr_idmap op_of_external;    /* place among ops */
    struct kr_kineto_launch *launches; /* mostly in the order of their correlation */
    size_t n_launches, cap_launches;
    struct kr_event *guesses;
    size_t n_guesses, cap_guesses;
    struct kr_kineto_note *notes;
    size_t n_notes, cap_notes;
    struct kr_kineto_tally tally;
};

/** Starts with an empty timeline, which stays the caller's. */
void kr_kineto_total_init(struct kr_kineto_total *total, struct kr_timeline *timeline);
void kr_kineto_total_free(struct kr_kineto_total *total);

/** Adds the next part of the file; the part may be freed afterwards. */
bool kr_kineto_total_add(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                         struct kr_err *err);

/**
 * After the last part: finds every event's op, lead and annotation, and gives it its site. What is
 * not needed any more is freed. The timeline is then ready for kr_timeline_finish.
 * @return false with err filled: KR_EINPUT when the trace holds no device work (the message says
 *         what it holds instead, without the file's name).
 */
bool kr_kineto_total_link(struct kr_kineto_total *total, struct kr_err *err);

#endif

/* The members of an event that the reader uses, as raw text. */
#ifndef KR_KINETO_FIELDS_H
#define KR_KINETO_FIELDS_H

#include <stdint.h>

#include "json_walk.h"

enum kr_kineto_field {
    KR_F_PH,
    KR_F_CAT,
    KR_F_NAME,
    KR_F_PID,
    KR_F_TID,
    KR_F_TS,
    KR_F_DUR,
    KR_F_ARGS,
    /* of args: */
    KR_F_EXTERNAL,
    KR_F_CORRELATION,
    KR_F_DEVICE,
    KR_F_CONTEXT,
    KR_F_STREAM,
    KR_F_GRID,
    KR_F_BLOCK,
    KR_F_REGISTERS,
    KR_F_SHARED,
    KR_F_BYTES,
    KR_F_GRAPH,
    KR_F_GRAPH_NODE,
    KR_F_DIMS,
    KR_F_TYPES,
    KR_F_CONCRETE,
    KR_F_COUNT
};

struct kr_kineto_fields {
    uint32_t seen; /* bit per field; the rest holds nothing where it is 0 */
    bool duplicate, nonfinite;
    uint8_t type[KR_F_COUNT]; /* enum kr_json_type */
    struct kr_json_span value[KR_F_COUNT];
};

/* What a walk over an event ended with. */
enum kr_kineto_walked { KR_WALK_DONE, KR_WALK_STOPPED, KR_WALK_BROKEN };

/**
 * Asked after each top-level member; true stops the walk: the event is of no interest.
 * `rest` is the text that has not been looked at.
 */
typedef bool kr_kineto_stop_fn(const struct kr_kineto_fields *f, struct kr_json_span rest);

/** Fills f from the event in w. Of keys that come twice the last counts; f->duplicate is set. */
enum kr_kineto_walked kr_kineto_walk(struct kr_json_walk *w, kr_kineto_stop_fn *stop,
                                     struct kr_kineto_fields *f);

/** The value of a field, or an absent span. */
struct kr_json_span kr_kineto_value(const struct kr_kineto_fields *f, enum kr_kineto_field field);

#endif

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

#define KR_F_BIT(field) (UINT32_C(1) << (field))
#define KR_F_ALL        UINT32_MAX

struct kr_kineto_fields {
    uint32_t seen;   /* bit per field; the rest holds nothing where it is 0 */
    uint32_t wanted; /* bit per field; others are passed over unseen. KR_F_COUNT: unknown ones */
    uint32_t enough; /* the walk stops when all of these have been seen */
    bool duplicate, nonfinite;
    int row;                  /* kept for the caller; set to -1 with each "cat" */
    uint8_t type[KR_F_COUNT]; /* enum kr_json_type */
    struct kr_json_span value[KR_F_COUNT];
};

/* What a walk over an event ended with. */
enum kr_kineto_walked { KR_WALK_DONE, KR_WALK_STOPPED, KR_WALK_BROKEN };

/**
 * Asked after each "cat", "name", and "ph" that is not X: true stops the walk; setting f->enough
 * makes it stop later, and f->wanted shortens it. `rest` is the text that has not been looked at.
 */
typedef bool kr_kineto_stop_fn(struct kr_kineto_fields *f, struct kr_json_span rest);

/**
 * Fills f from the object text[start..end), start < 64, with its marks (json_split.h). Of keys that
 * come twice the last counts, as far as the walk goes; f->duplicate is set.
 * @param stop  NULL = walk to the end
 */
enum kr_kineto_walked kr_kineto_walk(const char *text, size_t end, const uint64_t *marks,
                                     kr_kineto_stop_fn *stop, struct kr_kineto_fields *f);

/** The value of a field, or an absent span. */
static inline struct kr_json_span kr_kineto_value(const struct kr_kineto_fields *f,
                                                  enum kr_kineto_field field)
{
    return f->seen & KR_F_BIT(field) ? f->value[field] : (struct kr_json_span){ NULL, 0 };
}

#endif

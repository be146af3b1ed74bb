#include "kineto_fields.h"

#include <string.h>

#include "mem.h"

struct key {
    const char *text;
    size_t len;
    enum kr_kineto_field field;
};

/* clang-format off */
#define KEY(text, field) { text, sizeof text - 1, field }
static const struct key top_keys[] = {
    KEY("ph", KR_F_PH),
    KEY("cat", KR_F_CAT),
    KEY("name", KR_F_NAME),
    KEY("pid", KR_F_PID),
    KEY("tid", KR_F_TID),
    KEY("ts", KR_F_TS),
    KEY("dur", KR_F_DUR),
    KEY("args", KR_F_ARGS),
};

static const struct key arg_keys[] = {
    KEY("External id", KR_F_EXTERNAL),
    KEY("external id", KR_F_EXTERNAL), /* older recorders */
    KEY("correlation", KR_F_CORRELATION),
    KEY("device", KR_F_DEVICE),
    KEY("context", KR_F_CONTEXT),
    KEY("stream", KR_F_STREAM),
    KEY("grid", KR_F_GRID),
    KEY("block", KR_F_BLOCK),
    KEY("bytes", KR_F_BYTES),
    KEY("registers per thread", KR_F_REGISTERS),
    KEY("shared memory", KR_F_SHARED),
    KEY("graph id", KR_F_GRAPH),
    KEY("graph node id", KR_F_GRAPH_NODE),
    KEY("Input Dims", KR_F_DIMS),
    KEY("Input type", KR_F_TYPES),
    KEY("Concrete Inputs", KR_F_CONCRETE),
};
/* clang-format on */

static enum kr_kineto_field find_key(const struct key *keys, size_t n, struct kr_json_span key)
{
    for (size_t i = 0; i < n; i++) {
        if (keys[i].len == key.len && memcmp(keys[i].text, key.p, key.len) == 0)
            return keys[i].field;
    }
    return KR_F_COUNT;
}

/* NaN, Infinity, -Infinity. */
static bool is_nonfinite(const struct kr_json_member *m)
{
    const char *p = m->value.p;

    return m->type == KR_JSON_BARE &&
           (p[0] == 'N' || p[0] == 'I' || (p[0] == '-' && m->value.len > 1 && p[1] == 'I'));
}

static void keep(struct kr_kineto_fields *f, enum kr_kineto_field field,
                 const struct kr_json_member *m)
{
    uint32_t bit = UINT32_C(1) << field;

    f->duplicate |= (f->seen & bit) != 0;
    f->seen |= bit;
    f->type[field] = (uint8_t)m->type;
    f->value[field] = m->value;
}

static bool walk_args(struct kr_json_walk *w, struct kr_kineto_fields *f)
{
    const uint32_t top = (UINT32_C(2) << KR_F_ARGS) - 1;
    struct kr_json_walk args = kr_json_walk_enter(w);
    struct kr_json_member m;

    f->seen &= top; /* a second "args" replaces the first */
    while (kr_json_walk_next(&args, &m)) {
        enum kr_kineto_field field = find_key(arg_keys, KR_COUNT(arg_keys), m.key);

        f->nonfinite |= is_nonfinite(&m);
        if (args.pending && !kr_json_walk_skip(&args, &m))
            break;
        if (field != KR_F_COUNT)
            keep(f, field, &m);
    }
    kr_json_walk_leave(w, &args);
    return !w->broken;
}

enum kr_kineto_walked kr_kineto_walk(struct kr_json_walk *w, kr_kineto_stop_fn *stop,
                                     struct kr_kineto_fields *f)
{
    struct kr_json_member m;

    f->seen = 0;
    f->duplicate = f->nonfinite = false;
    while (kr_json_walk_next(w, &m)) {
        enum kr_kineto_field field = find_key(top_keys, KR_COUNT(top_keys), m.key);

        f->nonfinite |= is_nonfinite(&m);
        if (field == KR_F_ARGS && m.type == KR_JSON_OBJECT) {
            keep(f, field, &m);
            if (!walk_args(w, f))
                return KR_WALK_BROKEN;
        } else if (w->pending && !kr_json_walk_skip(w, &m)) {
            return KR_WALK_BROKEN;
        } else if (field != KR_F_COUNT) {
            keep(f, field, &m);
        }
        if (field <= KR_F_CAT && stop(f, (struct kr_json_span){ w->p, (size_t)(w->end - w->p) }))
            return KR_WALK_STOPPED;
    }
    return w->broken ? KR_WALK_BROKEN : KR_WALK_DONE;
}

struct kr_json_span kr_kineto_value(const struct kr_kineto_fields *f, enum kr_kineto_field field)
{
    return f->seen >> field & 1 ? f->value[field] : (struct kr_json_span){ NULL, 0 };
}

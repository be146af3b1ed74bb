#include "kineto_fields.h"

#include <string.h>

#include "ascii.h"

KR_INLINE uint64_t load64(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

KR_INLINE uint32_t load32(const char *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

/* memcmp() == 0 for constant n of 2 to 24, without the call: keys are compared ten times an event.
 */
KR_INLINE bool same(const char *a, const char *b, size_t n)
{
    if (n >= 8)
        return load64(a) == load64(b) && load64(a + n - 8) == load64(b + n - 8) &&
               (n <= 16 || load64(a + 8) == load64(b + 8));
    if (n >= 4)
        return load32(a) == load32(b) && load32(a + n - 4) == load32(b + n - 4);
    return a[0] == b[0] && a[1] == b[1] && a[n - 1] == b[n - 1];
}

#define IS(text) same(key.p, text, sizeof text - 1)

static enum kr_kineto_field top_field(struct kr_json_span key)
{
    switch (key.len) {
    case 2:
        return IS("ph") ? KR_F_PH : IS("ts") ? KR_F_TS : KR_F_COUNT;
    case 3:
        return IS("cat")   ? KR_F_CAT
               : IS("pid") ? KR_F_PID
               : IS("tid") ? KR_F_TID
               : IS("dur") ? KR_F_DUR
                           : KR_F_COUNT;
    case 4:
        return IS("name") ? KR_F_NAME : IS("args") ? KR_F_ARGS : KR_F_COUNT;
    default:
        return KR_F_COUNT;
    }
}

static enum kr_kineto_field long_arg_field(struct kr_json_span key)
{
    switch (key.len) {
    case 13:
        return IS("shared memory")   ? KR_F_SHARED
               : IS("graph node id") ? KR_F_GRAPH_NODE
                                     : KR_F_COUNT;
    case 15:
        return IS("Concrete Inputs") ? KR_F_CONCRETE : KR_F_COUNT;
    case 20:
        return IS("registers per thread") ? KR_F_REGISTERS : KR_F_COUNT;
    default:
        return KR_F_COUNT;
    }
}

static enum kr_kineto_field arg_field(struct kr_json_span key)
{
    switch (key.len) {
    case 4:
        return IS("grid") ? KR_F_GRID : KR_F_COUNT;
    case 5:
        return IS("block") ? KR_F_BLOCK : IS("bytes") ? KR_F_BYTES : KR_F_COUNT;
    case 6:
        return IS("device") ? KR_F_DEVICE : IS("stream") ? KR_F_STREAM : KR_F_COUNT;
    case 7:
        return IS("context") ? KR_F_CONTEXT : KR_F_COUNT;
    case 8:
        return IS("graph id") ? KR_F_GRAPH : KR_F_COUNT;
    case 10:
        return IS("Input Dims") ? KR_F_DIMS : IS("Input type") ? KR_F_TYPES : KR_F_COUNT;
    case 11: /* "external id" is how older recorders spell it */
        return IS("correlation")                        ? KR_F_CORRELATION
               : IS("External id") || IS("external id") ? KR_F_EXTERNAL
                                                        : KR_F_COUNT;
    default:
        return long_arg_field(key);
    }
}

/* NaN, Infinity, -Infinity. */
static bool is_nonfinite(const struct kr_json_member *m)
{
    const char *p = m->value.p;

    if (m->type != KR_JSON_BARE || kr_is_digit(*p))
        return false;
    return *p == 'N' || *p == 'I' || (*p == '-' && m->value.len > 1 && p[1] == 'I');
}

static void keep(struct kr_kineto_fields *f, enum kr_kineto_field field,
                 const struct kr_json_member *m)
{
    uint32_t bit = KR_F_BIT(field);

    f->duplicate |= (f->seen & bit) != 0;
    f->seen |= bit;
    f->type[field] = (uint8_t)m->type;
    f->value[field] = m->value;
}

static bool is_enough(const struct kr_kineto_fields *f)
{
    return (f->seen & f->enough) == f->enough;
}

/* Can this member tell that the event is of no interest? */
static bool is_telling(enum kr_kineto_field field, const struct kr_json_member *m)
{
    return field <= KR_F_NAME && (field != KR_F_PH || m->value.len != 1 || m->value.p[0] != 'X');
}

static bool is_compound(const struct kr_json_member *m)
{
    return m->type == KR_JSON_OBJECT || m->type == KR_JSON_LIST;
}

static bool is_wanted(const struct kr_kineto_fields *f, enum kr_kineto_field field)
{
    return f->wanted & KR_F_BIT(field);
}

static inline enum kr_kineto_walked walk_args(struct kr_json_walk *w, struct kr_kineto_fields *f)
{
    struct kr_json_member m;
    const char *rest;

    f->seen &= KR_F_BIT(KR_F_ARGS + 1) - 1; /* a second "args" replaces the first */
    kr_json_walk_enter(w);
    while (kr_json_walk_key(w, &m.key, &rest)) {
        enum kr_kineto_field field = arg_field(m.key);

        if (!is_wanted(f, field)) {
            if (!kr_json_walk_pass(w))
                break;
            continue;
        }
        if (!kr_json_walk_value(w, rest, &m))
            break;
        f->nonfinite |= is_nonfinite(&m);
        if (is_compound(&m) && !kr_json_walk_skip(w, &m.value))
            break;
        if (field == KR_F_COUNT)
            continue;
        keep(f, field, &m);
        if (is_enough(f))
            return KR_WALK_STOPPED;
    }
    kr_json_walk_leave(w);
    return w->broken ? KR_WALK_BROKEN : KR_WALK_DONE;
}

/* Reads the value of a top-level field and, of args, what is in it. */
static inline enum kr_kineto_walked take_member(struct kr_json_walk *w, enum kr_kineto_field field,
                                                struct kr_json_member *m,
                                                struct kr_kineto_fields *f)
{
    bool args = field == KR_F_ARGS && m->type == KR_JSON_OBJECT;

    f->nonfinite |= is_nonfinite(m);
    if (!args && is_compound(m) && !kr_json_walk_skip(w, &m->value))
        return KR_WALK_BROKEN;
    if (field == KR_F_COUNT)
        return KR_WALK_DONE;
    keep(f, field, m);
    if (field == KR_F_CAT)
        f->row = -1;
    return args ? walk_args(w, f) : KR_WALK_DONE;
}

enum kr_kineto_walked kr_kineto_walk(const char *text, size_t end, const uint64_t *marks,
                                     kr_kineto_stop_fn *stop, struct kr_kineto_fields *f)
{
    struct kr_json_walk w = kr_json_walk_object(text, end, marks);
    struct kr_json_member m;
    const char *rest;

    f->seen = 0;
    f->wanted = f->enough = KR_F_ALL;
    f->duplicate = f->nonfinite = false;
    f->row = -1;
    while (kr_json_walk_key(&w, &m.key, &rest)) {
        enum kr_kineto_field field = top_field(m.key);
        enum kr_kineto_walked taken;

        if (!is_wanted(f, field)) {
            if (!kr_json_walk_pass(&w))
                break;
            continue;
        }
        if (!kr_json_walk_value(&w, rest, &m))
            break;
        taken = take_member(&w, field, &m, f);
        if (taken != KR_WALK_DONE)
            return taken;
        if (stop && is_telling(field, &m)) {
            if (f->wanted != KR_F_ALL) /* something that was passed over may be wanted now */
                return kr_kineto_walk(text, end, marks, NULL, f);
            if (stop(f, (struct kr_json_span){ text + w.at, end - w.at }))
                return KR_WALK_STOPPED;
        }
        if (is_enough(f))
            return KR_WALK_STOPPED;
    }
    return w.broken || w.at != end ? KR_WALK_BROKEN : KR_WALK_DONE;
}

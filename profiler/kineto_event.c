#include "kineto_event.h"

#include <string.h>

#include "ascii.h"
#include "json_block.h"
#include "json_value.h"
#include "kineto_fields.h"
#include "kineto_work.h"
#include "mem.h"

enum row {
    ROW_SKIP,
    ROW_UNKNOWN, /* no category, or one that we do not know */
    ROW_KERNEL,
    ROW_MEMCPY,
    ROW_MEMSET,
    ROW_OP,
    ROW_CALL, /* of the CUDA or HIP API */
    ROW_NOTE,
    ROW_DEVICE_NOTE,
    ROW_COUNTERS
};

/* Lower-case categories, frequent ones first. Of the skipped ones some name a device or a stream,
 * and are no work. */
/* clang-format off */
#define CATEGORY(cat, row) { cat, sizeof cat - 1, row }
static const struct {
    const char *cat;
    size_t len;
    enum row row;
} categories[] = {
    CATEGORY("cpu_op", ROW_OP),
    CATEGORY("ac2g", ROW_SKIP),
    CATEGORY("python_function", ROW_SKIP),
    CATEGORY("cuda_runtime", ROW_CALL),
    CATEGORY("kernel", ROW_KERNEL),
    CATEGORY("fwdbwd", ROW_SKIP),
    CATEGORY("cuda_driver", ROW_CALL),
    CATEGORY("gpu_memset", ROW_MEMSET),
    CATEGORY("gpu_memcpy", ROW_MEMCPY),
    CATEGORY("gpu_kernel", ROW_KERNEL),
    CATEGORY("memcpy", ROW_MEMCPY),
    CATEGORY("memset", ROW_MEMSET),
    CATEGORY("operator", ROW_OP),
    CATEGORY("runtime", ROW_CALL),
    CATEGORY("hip_runtime", ROW_CALL),
    CATEGORY("xpu_runtime", ROW_CALL),
    CATEGORY("privateuse1_runtime", ROW_CALL),
    CATEGORY("privateuse1_driver", ROW_CALL),
    CATEGORY("user_annotation", ROW_NOTE),
    CATEGORY("gpu_user_annotation", ROW_DEVICE_NOTE),
    CATEGORY("cuda_profiler_range", ROW_COUNTERS),
    CATEGORY("async_cpu_to_gpu", ROW_SKIP),
    CATEGORY("overhead", ROW_SKIP),
    CATEGORY("cuda_sync", ROW_SKIP),
    CATEGORY("cuda_event", ROW_SKIP),
    CATEGORY("trace", ROW_SKIP),
    CATEGORY("cpu_instant_event", ROW_SKIP),
    CATEGORY("async", ROW_SKIP),
    CATEGORY("collective_comm", ROW_SKIP),
};
/* clang-format on */

enum { MAX_CATEGORY = 24 };

static inline bool equals(struct kr_json_span s, const char *text)
{
    return s.p && strlen(text) == s.len && memcmp(s.p, text, s.len) == 0;
}

static inline bool begins(struct kr_json_span s, const char *text)
{
    size_t len = strlen(text);

    return s.p && s.len >= len && memcmp(s.p, text, len) == 0;
}

static enum row row_of_exact(const char *cat, size_t len)
{
    for (size_t i = 0; i < KR_COUNT(categories); i++) {
        if (categories[i].len == len && categories[i].cat[0] == cat[0] &&
            memcmp(categories[i].cat, cat, len) == 0)
            return categories[i].row;
    }
    return ROW_UNKNOWN;
}

static enum row row_of_category(struct kr_json_span cat)
{
    char lower[MAX_CATEGORY];
    enum row row;

    if (!cat.p || cat.len == 0 || cat.len > sizeof lower)
        return ROW_UNKNOWN;
    row = row_of_exact(cat.p, cat.len);
    if (row != ROW_UNKNOWN)
        return row;
    for (size_t i = 0; i < cat.len; i++)
        lower[i] = (char)(cat.p[i] >= 'A' && cat.p[i] <= 'Z' ? cat.p[i] | 0x20 : cat.p[i]);
    return row_of_exact(lower, cat.len);
}

/* The row's kind, found once per "cat". */
static enum row row_of(struct kr_kineto_fields *f)
{
    if (f->row < 0)
        f->row = (int)row_of_category(kr_kineto_value(f, KR_F_CAT));
    return (enum row)f->row;
}

/* Spans of time are complete events (X), or say nothing. B without its E has no duration, which
 * matters for device rows only. */
static bool is_span(struct kr_json_span ph)
{
    return !ph.p || equals(ph, "X") || equals(ph, "B");
}

/* One event on its way into the part. */
struct taking {
    struct kr_kineto_part *part;
    const struct kr_kineto_text *text;
    struct kr_kineto_fields f;
    bool big_number;
};

/* An id or size of at most `max`; 0 when absent, unreadable or outside. */
static uint64_t take_number(struct taking *t, enum kr_kineto_field field, uint64_t max)
{
    struct kr_json_span s = kr_kineto_value(&t->f, field);
    enum kr_json_number status;
    int64_t value;

    if (!s.p || t->f.type[field] > KR_JSON_BARE)
        return 0;
    status = kr_json_int(s.p, s.len, &value);
    if (status == KR_JSON_OK && value >= 0 && (uint64_t)value <= max)
        return (uint64_t)value;
    t->big_number |= status != KR_JSON_NOT_NUMBER;
    return 0;
}

static uint32_t take_u32(struct taking *t, enum kr_kineto_field field)
{
    return (uint32_t)take_number(t, field, UINT32_MAX);
}

/* "[16, 1, 4]"; zeros when it is anything else. */
static void take_triple(struct taking *t, enum kr_kineto_field field, uint32_t out[3])
{
    struct kr_json_span s = kr_kineto_value(&t->f, field);
    uint32_t values[3] = { 0, 0, 0 };
    size_t n = 0;
    size_t i = 0;

    if (!s.p || t->f.type[field] != KR_JSON_LIST)
        return;
    while (i < s.len) {
        uint64_t value = 0;

        if (s.p[i] < '0' || s.p[i] > '9') {
            i++;
            continue;
        }
        while (i < s.len && kr_is_digit(s.p[i]) && value <= UINT32_MAX)
            value = value * 10 + (uint64_t)(s.p[i++] - '0');
        if (n == 3 || value > UINT32_MAX)
            return;
        values[n++] = (uint32_t)value;
    }
    if (n == 3)
        memcpy(out, values, sizeof values);
}

static enum kr_json_number take_time(const struct taking *t, enum kr_kineto_field field,
                                     int64_t *ns)
{
    struct kr_json_span s = kr_kineto_value(&t->f, field);

    if (!s.p || t->f.type[field] > KR_JSON_BARE)
        return KR_JSON_NOT_NUMBER;
    return kr_json_us_to_ns(s.p, s.len, ns);
}

static void warn(struct taking *t, enum kr_warn what)
{
    kr_kineto_part_warn(t->part, what, t->text->offset);
}

/* Start and duration of a row; false with the reason in *why. */
static bool take_span_of_time(const struct taking *t, int64_t *start_ns, uint64_t *dur_ns,
                              enum kr_warn *why)
{
    int64_t dur = 0;
    int64_t end;
    enum kr_json_number start_status = take_time(t, KR_F_TS, start_ns);
    enum kr_json_number dur_status = take_time(t, KR_F_DUR, &dur);

    *why = KR_WARN_NO_TIME;
    if (start_status == KR_JSON_NOT_NUMBER || dur_status == KR_JSON_NOT_NUMBER ||
        equals(kr_kineto_value(&t->f, KR_F_PH), "B"))
        return false;
    *why = KR_WARN_HUGE_TIME;
    if (start_status != KR_JSON_OK || dur_status != KR_JSON_OK ||
        __builtin_add_overflow(*start_ns, dur, &end))
        return false;
    *why = KR_WARN_NEGATIVE_DUR;
    if (dur < 0)
        return false;
    *why = KR_WARN_ZERO_TIME;
    *dur_ns = (uint64_t)dur;
    return *start_ns != 0 || dur != 0;
}

/* A number, or the first digits of a text such as "stream 7"; 0 when there are none. */
static int64_t take_place(const struct taking *t, enum kr_kineto_field field)
{
    struct kr_json_span s = kr_kineto_value(&t->f, field);
    int64_t value = 0;
    size_t digits = 0;

    if (!s.p || t->f.type[field] > KR_JSON_BARE)
        return 0;
    if (kr_json_int(s.p, s.len, &value) == KR_JSON_OK)
        return value;
    while (s.len && (*s.p < '0' || *s.p > '9')) {
        s.p++;
        s.len--;
    }
    while (digits < s.len && kr_is_digit(s.p[digits]))
        digits++;
    return kr_json_int(s.p, digits, &value) == KR_JSON_OK ? value : 0;
}

static bool has(const struct taking *t, enum kr_kineto_field field)
{
    return t->f.seen & KR_F_BIT(field);
}

static void take_track(struct taking *t, struct kr_kineto_track *track)
{
    memset(track, 0, sizeof *track);
    track->device = take_place(t, has(t, KR_F_DEVICE) ? KR_F_DEVICE : KR_F_PID);
    track->stream = take_place(t, has(t, KR_F_STREAM) ? KR_F_STREAM : KR_F_TID);
    track->context = take_u32(t, KR_F_CONTEXT);
}

/* Copies and fills that a recorder wrote as kernels (HIP does) are told by their names. */
static uint8_t kind_of(enum row row, struct kr_json_span name)
{
    if (row == ROW_MEMCPY)
        return KR_MEMCPY;
    if (row == ROW_MEMSET)
        return KR_MEMSET;
    if (begins(name, "Memcpy") || begins(name, "memcpy") || begins(name, "__amd_rocclr_copyBuffer"))
        return KR_MEMCPY;
    if (begins(name, "Memset") || begins(name, "memset") || begins(name, "__amd_rocclr_fillBuffer"))
        return KR_MEMSET;
    return KR_KERNEL;
}

static bool take_name(struct taking *t, uint32_t *id, struct kr_err *err)
{
    struct kr_json_span name = kr_kineto_value(&t->f, KR_F_NAME);

    *id = 0;
    if (name.p && t->f.type[KR_F_NAME] == KR_JSON_STRING)
        *id = kr_kineto_part_string(t->part, name.p, name.len, t->text->offset, err);
    return *id != KR_STR_NONE;
}

static bool take_site(struct taking *t, enum row row, struct kr_site *site, struct kr_err *err)
{
    memset(site, 0, sizeof *site);
    if (!take_name(t, &site->name, err))
        return false;
    if (site->name == 0)
        warn(t, KR_WARN_NO_NAME);
    site->kind = kind_of(row, kr_kineto_value(&t->f, KR_F_NAME));
    take_triple(t, KR_F_GRID, site->grid);
    take_triple(t, KR_F_BLOCK, site->block);
    site->registers = take_u32(t, KR_F_REGISTERS);
    site->shared_bytes = take_u32(t, KR_F_SHARED);
    site->graph_id = take_u32(t, KR_F_GRAPH);
    site->graph_node_id = take_number(t, KR_F_GRAPH_NODE, INT64_MAX);
    site->bytes = take_number(t, KR_F_BYTES, INT64_MAX);
    return true;
}

/* Warnings that belong to the rows we keep; the others are not looked at closely. */
static void warn_of_fields(struct taking *t)
{
    if (t->f.duplicate)
        warn(t, KR_WARN_DUPLICATE_KEY);
    if (t->f.nonfinite)
        warn(t, KR_WARN_NONFINITE);
    if (t->big_number)
        warn(t, KR_WARN_BIG_NUMBER);
}

static bool take_device_row(struct taking *t, enum row row, struct kr_err *err)
{
    struct kr_event event = { .lead_ns = KR_LEAD_UNKNOWN };
    struct kr_kineto_track track;
    struct kr_site site;
    enum kr_warn why;

    if (row != ROW_UNKNOWN)
        t->part->tally.device_rows++;
    if (!take_span_of_time(t, &event.start_ns, &event.dur_ns, &why)) {
        if (row != ROW_UNKNOWN) {
            t->part->counts.dropped++;
            warn(t, why);
            warn_of_fields(t);
        }
        return true;
    }
    if (!take_site(t, row, &site, err))
        return false;
    take_track(t, &track);
    event.kind = site.kind;
    event.correlation = take_u32(t, KR_F_CORRELATION);
    event.external_id = take_u32(t, KR_F_EXTERNAL);
    warn_of_fields(t);
    if (row == ROW_UNKNOWN)
        return kr_kineto_part_add_guess(t->part, &site, &track, event, err);
    return kr_kineto_part_add_event(t->part, &site, &track, event, err);
}

static bool take_op(struct taking *t, struct kr_err *err)
{
    struct kr_json_span name = kr_kineto_value(&t->f, KR_F_NAME);
    struct kr_kineto_op op = { 0 };
    uint32_t external_id = take_u32(t, KR_F_EXTERNAL);

    t->part->counts.cpu_ops++;
    if (external_id == 0 || !name.p)
        return true;
    if (!take_name(t, &op.name, err))
        return false;
    if (has(t, KR_F_DIMS) && kr_kineto_has_work(name.p, name.len)) {
        struct kr_kineto_inputs inputs = { kr_kineto_value(&t->f, KR_F_DIMS),
                                           kr_kineto_value(&t->f, KR_F_TYPES),
                                           kr_kineto_value(&t->f, KR_F_CONCRETE) };
        struct kr_kineto_work work;

        if (kr_kineto_work(name.p, name.len, &inputs, &work)) {
            op.flop = work.flop;
            op.bytes = work.bytes;
            op.dtype =
                kr_kineto_part_string(t->part, work.dtype.p, work.dtype.len, t->text->offset, err);
            if (op.dtype == KR_STR_NONE)
                return false;
        }
    }
    return kr_kineto_part_add_op(t->part, external_id, &op, err);
}

enum call { CALL_OTHER, CALL_COPY, CALL_LAUNCH, CALL_GRAPH };

/* Calls that put work on a device: name prefixes, so that variants (_v2, _ptsz, ExC) count. */
static enum call call_of(struct kr_json_span name)
{
    static const struct {
        const char *prefix;
        enum call call;
    } calls[] = {
        { "LaunchKernel", CALL_LAUNCH },
        { "LaunchCooperativeKernel", CALL_LAUNCH },
        { "ModuleLaunchKernel", CALL_LAUNCH },
        { "ExtLaunchKernel", CALL_LAUNCH },
        { "ExtModuleLaunchKernel", CALL_LAUNCH },
        { "ModuleLaunchCooperativeKernel", CALL_LAUNCH },
        { "GraphLaunch", CALL_GRAPH },
        { "Memcpy", CALL_COPY },
        { "Memset", CALL_COPY },
    };
    size_t api = begins(name, "cuda") ? 4 : begins(name, "hip") ? 3 : begins(name, "cu") ? 2 : 0;

    if (api == 0)
        return CALL_OTHER;
    name.p += api;
    name.len -= api;
    for (size_t i = 0; i < KR_COUNT(calls); i++) {
        if (begins(name, calls[i].prefix))
            return calls[i].call;
    }
    return CALL_OTHER;
}

/*
 * Most events are told to be of no interest by their first members. A later member of the same
 * name would count instead, so its absence is made sure of. Ops and calls need few members; there
 * the first of equal names counts once these are known.
 */
static bool knows_enough(struct kr_kineto_fields *f, struct kr_json_span rest)
{
    struct kr_json_span ph = kr_kineto_value(f, KR_F_PH);
    struct kr_json_span cat = kr_kineto_value(f, KR_F_CAT);
    struct kr_json_span name = kr_kineto_value(f, KR_F_NAME);
    enum row row;

    if (ph.p && !is_span(ph))
        return !kr_blocks_mention(rest.p, rest.len, "ph", 2);
    if (!cat.p)
        return false;
    row = row_of(f);
    if (row == ROW_SKIP)
        return !kr_blocks_mention(rest.p, rest.len, "cat", 3);
    if (row == ROW_OP && name.p && !kr_kineto_has_work(name.p, name.len))
        f->enough = KR_F_BIT(KR_F_PH) | KR_F_BIT(KR_F_EXTERNAL);
    if (row == ROW_CALL && name.p)
        f->enough = call_of(name) == CALL_OTHER
                        ? KR_F_BIT(KR_F_PH)
                        : KR_F_BIT(KR_F_PH) | KR_F_BIT(KR_F_TS) | KR_F_BIT(KR_F_CORRELATION) |
                              KR_F_BIT(KR_F_EXTERNAL);
    if (f->enough != KR_F_ALL)
        f->wanted = f->enough | KR_F_BIT(KR_F_CAT) | KR_F_BIT(KR_F_NAME) | KR_F_BIT(KR_F_ARGS);
    return false;
}

static bool take_call(struct taking *t, struct kr_err *err)
{
    enum call call = call_of(kr_kineto_value(&t->f, KR_F_NAME));
    struct kr_kineto_launch launch = { 0 };

    if (call == CALL_OTHER)
        return true;
    t->part->counts.launches += call == CALL_LAUNCH;
    t->part->counts.graph_launches += call == CALL_GRAPH;
    launch.correlation = take_u32(t, KR_F_CORRELATION);
    launch.external_id = take_u32(t, KR_F_EXTERNAL);
    if (launch.correlation == 0 || take_time(t, KR_F_TS, &launch.start_ns) != KR_JSON_OK)
        return true;
    return kr_kineto_part_add_launch(t->part, launch, err);
}

static bool take_note(struct taking *t, bool on_device, struct kr_err *err)
{
    struct kr_json_span tid = kr_kineto_value(&t->f, KR_F_TID);
    struct kr_kineto_note note = { .on_device = on_device };
    enum kr_warn why;

    if (!take_span_of_time(t, &note.start_ns, &note.dur_ns, &why))
        return true;
    t->part->counts.annotations++;
    if (!take_name(t, &note.name, err))
        return false;
    if (on_device) {
        note.device = take_place(t, has(t, KR_F_DEVICE) ? KR_F_DEVICE : KR_F_PID);
        note.stream = take_place(t, has(t, KR_F_STREAM) ? KR_F_STREAM : KR_F_TID);
    } else if (tid.p && t->f.type[KR_F_TID] <= KR_JSON_BARE) {
        note.thread = kr_kineto_part_string(t->part, tid.p, tid.len, t->text->offset, err);
        if (note.thread == KR_STR_NONE)
            return false;
    }
    return kr_kineto_part_add_note(t->part, note, err);
}

/* A row without a category that names a stream and a device or a launch. */
static bool looks_like_device_work(const struct taking *t)
{
    return has(t, KR_F_STREAM) && (has(t, KR_F_DEVICE) || has(t, KR_F_CORRELATION));
}

static bool take_row(struct taking *t, struct kr_err *err)
{
    enum row row = row_of(&t->f);

    if (!is_span(kr_kineto_value(&t->f, KR_F_PH)))
        return true;
    switch (row) {
    case ROW_SKIP:
        return true;
    case ROW_UNKNOWN:
        return !looks_like_device_work(t) || take_device_row(t, row, err);
    case ROW_KERNEL:
    case ROW_MEMCPY:
    case ROW_MEMSET:
        return take_device_row(t, row, err);
    case ROW_OP:
        return take_op(t, err);
    case ROW_CALL:
        return take_call(t, err);
    case ROW_NOTE:
    case ROW_DEVICE_NOTE:
        return take_note(t, row == ROW_DEVICE_NOTE, err);
    case ROW_COUNTERS:
        t->part->tally.counter_rows++;
        return true;
    }
    return true;
}

static enum kr_kineto_walked walk(const struct kr_kineto_text *text, kr_kineto_stop_fn *stop,
                                  struct kr_kineto_fields *f)
{
    return kr_kineto_walk(text->p - text->shift, text->shift + text->len, text->marks, stop, f);
}

enum kr_kineto_taken kr_kineto_take(struct kr_kineto_part *part, const struct kr_kineto_text *text,
                                    struct kr_err *err)
{
    struct taking t;

    if (walk(text, text->lenient ? NULL : knows_enough, &t.f) == KR_WALK_BROKEN)
        return KR_KINETO_BROKEN;
    t.part = part;
    t.text = text;
    t.big_number = false;
    part->counts.events_read++;
    if (!take_row(&t, err))
        return KR_KINETO_FAILED;
    if (text->repairs)
        warn(&t, KR_WARN_QUOTE);
    return KR_KINETO_TAKEN;
}

bool kr_kineto_is_event(const struct kr_kineto_text *text)
{
    struct kr_kineto_fields f;

    walk(text, NULL, &f);
    return f.seen & KR_F_BIT(KR_F_PH);
}

#include "kineto_event.h"

#include <string.h>

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

/* Lower-case categories. Of the skipped ones some name a device or stream and are no work. */
static const struct {
    const char *cat;
    enum row row;
} categories[] = {
    { "kernel", ROW_KERNEL },
    { "gpu_kernel", ROW_KERNEL },
    { "gpu_memcpy", ROW_MEMCPY },
    { "memcpy", ROW_MEMCPY },
    { "gpu_memset", ROW_MEMSET },
    { "memset", ROW_MEMSET },
    { "cpu_op", ROW_OP },
    { "operator", ROW_OP },
    { "cuda_runtime", ROW_CALL },
    { "cuda_driver", ROW_CALL },
    { "runtime", ROW_CALL },
    { "hip_runtime", ROW_CALL },
    { "xpu_runtime", ROW_CALL },
    { "privateuse1_runtime", ROW_CALL },
    { "privateuse1_driver", ROW_CALL },
    { "user_annotation", ROW_NOTE },
    { "gpu_user_annotation", ROW_DEVICE_NOTE },
    { "cuda_profiler_range", ROW_COUNTERS },
    { "python_function", ROW_SKIP },
    { "ac2g", ROW_SKIP },
    { "fwdbwd", ROW_SKIP },
    { "async_cpu_to_gpu", ROW_SKIP },
    { "overhead", ROW_SKIP },
    { "cuda_sync", ROW_SKIP },
    { "cuda_event", ROW_SKIP },
    { "trace", ROW_SKIP },
    { "cpu_instant_event", ROW_SKIP },
    { "async", ROW_SKIP },
    { "collective_comm", ROW_SKIP },
};

enum { MAX_CATEGORY = 24 };

static bool equals(struct kr_json_span s, const char *text)
{
    return s.p && strlen(text) == s.len && memcmp(s.p, text, s.len) == 0;
}

static bool begins(struct kr_json_span s, const char *text)
{
    size_t len = strlen(text);

    return s.p && s.len >= len && memcmp(s.p, text, len) == 0;
}

static enum row row_of_category(struct kr_json_span cat)
{
    char lower[MAX_CATEGORY];

    if (!cat.p || cat.len > sizeof lower)
        return ROW_UNKNOWN;
    for (size_t i = 0; i < cat.len; i++)
        lower[i] = (char)(cat.p[i] >= 'A' && cat.p[i] <= 'Z' ? cat.p[i] | 0x20 : cat.p[i]);
    for (size_t i = 0; i < KR_COUNT(categories); i++) {
        if (equals((struct kr_json_span){ lower, cat.len }, categories[i].cat))
            return categories[i].row;
    }
    return ROW_UNKNOWN;
}

/* Spans of time are complete events (X), or say nothing. B without its E has no duration, which
 * matters for device rows only. */
static bool is_span(struct kr_json_span ph)
{
    return !ph.p || equals(ph, "X") || equals(ph, "B");
}

static bool mentions(struct kr_json_span text, const char *quoted)
{
    return memmem(text.p, text.len, quoted, strlen(quoted)) != NULL;
}

/* Most events are told to be of no interest by their first members. A later member of the same
 * name would count instead, so its absence is made sure of. */
static bool is_boring(const struct kr_kineto_fields *f, struct kr_json_span rest)
{
    struct kr_json_span ph = kr_kineto_value(f, KR_F_PH);
    struct kr_json_span cat = kr_kineto_value(f, KR_F_CAT);

    if (ph.p && !is_span(ph))
        return !mentions(rest, "\"ph\"");
    return cat.p && row_of_category(cat) == ROW_SKIP && !mentions(rest, "\"cat\"");
}

static bool never(const struct kr_kineto_fields *f, struct kr_json_span rest)
{
    (void)f;
    (void)rest;
    return false;
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
        while (i < s.len && s.p[i] >= '0' && s.p[i] <= '9' && value <= UINT32_MAX)
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
    while (digits < s.len && s.p[digits] >= '0' && s.p[digits] <= '9')
        digits++;
    return kr_json_int(s.p, digits, &value) == KR_JSON_OK ? value : 0;
}

static bool has(const struct taking *t, enum kr_kineto_field field)
{
    return t->f.seen >> field & 1;
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
    enum row row = row_of_category(kr_kineto_value(&t->f, KR_F_CAT));

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

enum kr_kineto_taken kr_kineto_take(struct kr_kineto_part *part, const struct kr_kineto_text *text,
                                    struct kr_err *err)
{
    struct taking t;
    struct kr_json_walk w = kr_json_walk_object(text->p, text->len, text->lenient);
    enum kr_kineto_walked walked = kr_kineto_walk(&w, text->lenient ? never : is_boring, &t.f);

    if (walked == KR_WALK_BROKEN || (walked == KR_WALK_DONE && w.p != w.end))
        return KR_KINETO_BROKEN;
    part->counts.events_read++;
    if (walked == KR_WALK_STOPPED)
        return KR_KINETO_TAKEN;
    t.part = part;
    t.text = text;
    t.big_number = false;
    if (!take_row(&t, err))
        return KR_KINETO_FAILED;
    if (w.repairs)
        warn(&t, KR_WARN_QUOTE);
    return KR_KINETO_TAKEN;
}

bool kr_kineto_is_event(const char *p, size_t len)
{
    struct kr_kineto_fields f;
    struct kr_json_walk w = kr_json_walk_object(p, len, true);

    kr_kineto_walk(&w, never, &f);
    return f.seen >> KR_F_PH & 1;
}

#include "kineto_doc.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ascii.h"
#include "kineto_event.h"
#include "mem.h"

#define MAX_CAPTURE   ((size_t)1 << 20)
#define MAX_LOOKAHEAD ((size_t)16 << 20)

static const char *const value_names[KR_DOC_VALUES] = {
    [KR_DOC_DEVICES] = "deviceProperties",
    [KR_DOC_DISTRIBUTED] = "distributedInfo",
    [KR_DOC_BASE_TIME] = "baseTimeNanoseconds",
};

void kr_kineto_doc_init(struct kr_kineto_doc *doc)
{
    *doc = (struct kr_kineto_doc){ .capturing = -1,
                                   .trailing_at = KR_NO_OFFSET,
                                   .again_at = KR_NO_OFFSET };
}

void kr_kineto_doc_free(struct kr_kineto_doc *doc)
{
    for (size_t i = 0; i < KR_DOC_VALUES; i++)
        free(doc->captures[i].text);
    free(doc->marks);
}

static bool name_is(const struct kr_kineto_doc *doc, const char *name)
{
    return doc->name_len == strlen(name) && memcmp(doc->name, name, doc->name_len) == 0;
}

/* Steps into a bracket; its key joins the path while there is room. */
static void enter(struct kr_kineto_doc *doc)
{
    size_t len = doc->depth <= KR_DOC_LEVELS ? doc->path_len[doc->depth] : 0;
    size_t dot = len > 0 ? 1 : 0;

    doc->depth++;
    if (doc->depth <= KR_DOC_LEVELS) {
        if (doc->key_ready && doc->name_len < sizeof doc->path - len - dot) {
            if (dot)
                doc->path[len++] = '.';
            memcpy(doc->path + len, doc->name, doc->name_len);
            len += doc->name_len;
        }
        doc->path_len[doc->depth] = len;
    }
    doc->key_ready = false;
}

static bool capture(struct kr_kineto_doc *doc, char c, struct kr_err *err)
{
    struct kr_doc_capture *cap = &doc->captures[doc->capturing];

    if (cap->len == MAX_CAPTURE) { /* unknown rather than cut */
        cap->len = 0;
        doc->capturing = -1;
        return true;
    }
    if (!kr_grow(&cap->text, &cap->cap, cap->len + 1, 1, MAX_CAPTURE, err))
        return false;
    /* what jansson would refuse, and no value of ours needs */
    cap->text[cap->len++] = (unsigned char)c < 0x20 ? ' ' : (unsigned char)c >= 0x80 ? '?' : c;
    return true;
}

static void take_colon(struct kr_kineto_doc *doc)
{
    doc->key_ready = true;
    if (doc->capturing >= 0)
        return;
    for (int i = 0; i < KR_DOC_VALUES; i++) {
        if (name_is(doc, value_names[i])) {
            doc->capturing = i;
            doc->capture_depth = doc->depth;
            doc->captures[i].len = 0; /* the last of equal keys counts */
        }
    }
}

static void take_string_byte(struct kr_kineto_doc *doc, char c)
{
    if (doc->escaped) {
        doc->escaped = false;
    } else if (c == '\\') {
        doc->escaped = true;
    } else if (c == '"') {
        doc->in_string = false;
        return;
    }
    if (doc->name_len < sizeof doc->name)
        doc->name[doc->name_len] = c;
    doc->name_len++;
}

/* A byte outside strings. */
static void take_structure(struct kr_kineto_doc *doc, char c)
{
    if (doc->capturing >= 0 && doc->depth == doc->capture_depth &&
        (c == ',' || c == '}' || c == ']'))
        doc->capturing = -1;
    switch (c) {
    case '"':
        doc->in_string = true;
        doc->key_ready = false;
        doc->name_len = 0;
        break;
    case ':':
        take_colon(doc);
        break;
    case '{':
    case '[':
        enter(doc);
        break;
    case '}':
    case ']':
        doc->depth--; /* the document is open, so it was over 0 */
        doc->closed = doc->depth == 0;
        doc->key_ready = false;
        break;
    case ',':
        doc->key_ready = false;
        break;
    default:
        break;
    }
}

enum candidate { IS_EVENTS, IS_OTHER, NEED_MORE, NO_MEMORY };

/* Is the object at pos, the first of a list, a trace event? */
static enum candidate judge_object(struct kr_kineto_doc *doc, const struct kr_json_text *text,
                                   size_t pos, struct kr_err *err)
{
    size_t left = text->len - pos < MAX_LOOKAHEAD ? text->len - pos : MAX_LOOKAHEAD;
    struct kr_split_found found;
    struct kr_kineto_text event = { .p = text->p + pos };

    if (!kr_grow(&doc->marks, &doc->cap_marks, kr_split_marks(left), sizeof *doc->marks, SIZE_MAX,
                 err))
        return NO_MEMORY;
    found = kr_split_lenient(text, pos, (struct kr_split_how){ pos + left, false, doc->marks });
    if (found.kind == KR_SPLIT_MORE && !text->last && left < MAX_LOOKAHEAD)
        return NEED_MORE;
    event.len = found.pos - pos;
    event.marks = doc->marks;
    event.shift = pos % KR_BLOCK_BYTES;
    return kr_kineto_is_event(&event) ? IS_EVENTS : IS_OTHER;
}

/* Is the '[' at pos the list of events? By its key, as the whole document, or by what is in it. */
static enum candidate judge_list(struct kr_kineto_doc *doc, const struct kr_json_text *text,
                                 size_t pos, struct kr_err *err)
{
    bool named = doc->depth == 0 || (doc->key_ready && name_is(doc, "traceEvents"));
    size_t first = pos + 1;

    if (doc->depth >= KR_DOC_LEVELS)
        return IS_OTHER;
    while (first < text->len && kr_is_space(text->p[first]))
        first++;
    if (first >= text->len)
        return !text->last ? NEED_MORE : named ? IS_EVENTS : IS_OTHER;
    if (named)
        return text->p[first] == '{' || text->p[first] == ']' ? IS_EVENTS : IS_OTHER;
    return text->p[first] == '{' ? judge_object(doc, text, first, err) : IS_OTHER;
}

/* Skips a byte order mark and spaces, and looks at the first byte that counts. */
static bool start(struct kr_kineto_doc *doc, const struct kr_json_text *text, size_t *pos,
                  uint64_t base, struct kr_err *err)
{
    if (base == 0 && *pos == 0 && text->len >= 3 && memcmp(text->p, "\xef\xbb\xbf", 3) == 0)
        *pos = 3;
    while (*pos < text->len && kr_is_space(text->p[*pos]))
        (*pos)++;
    if (*pos == text->len)
        return true;
    doc->started = true;
    if (text->p[*pos] == '{' || text->p[*pos] == '[')
        return true;
    return kr_fail_at(err, KR_EINPUT, base + *pos,
                      "not a trace: no JSON object or array at byte %llu",
                      (unsigned long long)base + *pos);
}

static void note_found(struct kr_kineto_doc *doc)
{
    size_t len = doc->path_len[doc->depth];

    doc->found = true;
    doc->events_depth = doc->depth;
    memcpy(doc->events_at, doc->path, len);
    if (len == 0)
        memcpy(doc->events_at, "[]", 2);
}

/* Whatever the byte is, it is consumed. */
static bool take_byte(struct kr_kineto_doc *doc, char c, uint64_t offset, struct kr_err *err)
{
    bool inside_value = doc->capturing >= 0;

    if (doc->in_string) {
        take_string_byte(doc, c);
    } else if (doc->closed) {
        if (!kr_is_space(c) && doc->trailing_at == KR_NO_OFFSET)
            doc->trailing_at = offset;
        return true;
    } else {
        if (c == '[' && doc->found && doc->key_ready && name_is(doc, "traceEvents") &&
            doc->again_at == KR_NO_OFFSET)
            doc->again_at = offset;
        take_structure(doc, c);
    }
    return !inside_value || doc->capturing < 0 || capture(doc, c, err);
}

bool kr_kineto_doc_feed(struct kr_kineto_doc *doc, const struct kr_json_text *text, size_t *pos,
                        uint64_t base, struct kr_err *err)
{
    bool searching = !doc->found;

    if (!doc->started && !start(doc, text, pos, base, err))
        return false;
    for (; *pos < text->len; (*pos)++) {
        enum candidate candidate = IS_OTHER;

        if (searching && text->p[*pos] == '[' && !doc->in_string && !doc->closed)
            candidate = judge_list(doc, text, *pos, err);
        if (candidate == NEED_MORE)
            break;
        if (candidate == NO_MEMORY)
            return false;
        if (!take_byte(doc, text->p[*pos], base + *pos, err))
            return false;
        if (candidate == IS_EVENTS) {
            note_found(doc);
            (*pos)++;
            break;
        }
    }
    return true;
}

void kr_kineto_doc_close_events(struct kr_kineto_doc *doc)
{
    doc->depth--;
    doc->closed = doc->depth == 0;
}

/* The captured value, NULL when absent or not JSON. */
static json_t *load(const struct kr_kineto_doc *doc, enum kr_doc_value which)
{
    const struct kr_doc_capture *c = &doc->captures[which];

    return c->len ? json_loadb(c->text, c->len, JSON_DECODE_ANY, NULL) : NULL;
}

static uint64_t get_number(const json_t *object, const char *key, uint64_t max)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && (uint64_t)value <= max ? (uint64_t)value : 0;
}

static bool apply_device(const json_t *props, struct kr_timeline *t, struct kr_err *err)
{
    const json_t *id = json_object_get(props, "id");
    const char *name = json_string_value(json_object_get(props, "name"));

    for (size_t i = 0; i < t->n_devices && json_is_integer(id); i++) {
        struct kr_device *d = &t->devices[i];

        if (d->id != json_integer_value(id))
            continue;
        if (name) {
            d->name = kr_strpool_intern(t->strings, name, strlen(name), err);
            if (d->name == KR_STR_NONE)
                return false;
        }
        d->sm_count = (uint32_t)get_number(props, "numSms", UINT32_MAX);
        d->memory_bytes = get_number(props, "totalGlobalMem", UINT64_MAX);
        d->cc_major = (uint32_t)get_number(props, "computeMajor", UINT32_MAX);
        d->cc_minor = (uint32_t)get_number(props, "computeMinor", UINT32_MAX);
    }
    return true;
}

bool kr_kineto_doc_apply(const struct kr_kineto_doc *doc, struct kr_timeline *t, struct kr_err *err)
{
    json_t *devices = load(doc, KR_DOC_DEVICES);
    json_t *distributed = load(doc, KR_DOC_DISTRIBUTED);
    json_t *base = load(doc, KR_DOC_BASE_TIME);
    const json_t *rank = json_object_get(distributed, "rank");
    bool ok = true;

    for (size_t i = 0; i < json_array_size(devices) && ok; i++)
        ok = apply_device(json_array_get(devices, i), t, err);
    if (json_is_integer(rank) && json_integer_value(rank) >= 0)
        t->source.rank = json_integer_value(rank);
    t->source.base_ns = json_integer_value(base);
    memcpy(t->source.events_at, doc->events_at, sizeof t->source.events_at);
    json_decref(devices);
    json_decref(distributed);
    json_decref(base);
    return ok;
}

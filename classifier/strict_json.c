#include "strict_json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "nearest.h"

#define TEXT_MAX ((size_t)16 << 20)

static void mask_control(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
}

static bool parse(struct kr_doc *doc, struct kr_err *err)
{
    const char *zero = memchr(doc->text, '\0', doc->len);
    json_error_t at;

    /* jansson lets a zero byte stand after a number. */
    if (zero)
        return kr_fail_at(err, KR_EINPUT, (uint64_t)(zero - doc->text),
                          "%s: not valid JSON: a zero byte", doc->name);
    doc->root = json_loadb(doc->text, doc->len, JSON_REJECT_DUPLICATES, &at);
    if (!doc->root) {
        kr_fail(err, KR_EINPUT, "%s:%d: not valid JSON: %s (column %d)", doc->name,
                at.line < 1 ? 1 : at.line, at.text, at.column < 0 ? 0 : at.column);
        if (at.position >= 0)
            err->offset = (uint64_t)at.position;
        mask_control(err->msg);
        return false;
    }
    if (!json_is_object(doc->root))
        return kr_doc_fail(doc, err, "the document is not an object");
    return true;
}

bool kr_doc_open_mem(struct kr_doc *doc, const char *name, const char *text, size_t len,
                     struct kr_err *err)
{
    *doc = (struct kr_doc){ 0 };
    doc->name = kr_xstrndup(name, strlen(name), err);
    if (!doc->name)
        return false;
    if (len > TEXT_MAX)
        return kr_fail(err, KR_EINPUT, "%s: larger than 16 MiB", name);
    doc->text = kr_xstrndup(text, len, err);
    doc->len = len;
    return doc->text && parse(doc, err);
}

/* Reads to the end of the stream, at most one byte more than is allowed. */
static bool read_stream(struct kr_doc *doc, FILE *in, struct kr_err *err)
{
    size_t cap = 0;

    for (;;) {
        size_t got;

        if (!kr_grow(&doc->text, &cap, doc->len + 4096, 1, 2 * TEXT_MAX, err))
            return false;
        got = fread(doc->text + doc->len, 1, cap - doc->len - 1, in);
        doc->len += got;
        if (doc->len > TEXT_MAX)
            return kr_fail(err, KR_EINPUT, "%s: larger than 16 MiB", doc->name);
        if (ferror(in))
            return kr_fail(err, KR_EINPUT, "cannot read '%s': %s", doc->name, strerror(errno));
        if (got == 0)
            break;
    }
    doc->text[doc->len] = '\0';
    return true;
}

bool kr_doc_open(struct kr_doc *doc, const char *path, struct kr_err *err)
{
    bool from_stdin = strcmp(path, "-") == 0;
    const char *name = from_stdin ? "standard input" : path;
    FILE *in;
    bool ok;

    *doc = (struct kr_doc){ 0 };
    doc->name = kr_xstrndup(name, strlen(name), err);
    if (!doc->name)
        return false;
    in = from_stdin ? stdin : fopen(path, "rb");
    if (!in)
        return kr_fail(err, KR_EINPUT, "cannot open '%s': %s", path, strerror(errno));
    ok = read_stream(doc, in, err);
    if (!from_stdin)
        (void)fclose(in);
    return ok && parse(doc, err);
}

void kr_doc_close(struct kr_doc *doc)
{
    json_decref(doc->root);
    free(doc->text);
    free(doc->name);
    *doc = (struct kr_doc){ 0 };
}

static void enter(struct kr_doc *doc, struct kr_json_step step)
{
    if (doc->depth < KR_DOC_DEPTH_MAX)
        doc->path[doc->depth] = step;
    doc->depth++;
}

void kr_doc_enter_key(struct kr_doc *doc, const char *key)
{
    enter(doc, (struct kr_json_step){ .key = key });
}

void kr_doc_enter_index(struct kr_doc *doc, size_t index)
{
    enter(doc, (struct kr_json_step){ .index = index });
}

void kr_doc_leave(struct kr_doc *doc)
{
    doc->depth--;
}

/* Fails at the current place, or at a member of it. */
static void fail_at(const struct kr_doc *doc, const char *key, struct kr_err *err, const char *fmt,
                    va_list args)
{
    struct kr_json_step path[KR_DOC_DEPTH_MAX + 1];
    size_t depth = doc->depth < KR_DOC_DEPTH_MAX ? doc->depth : KR_DOC_DEPTH_MAX;
    char text[sizeof err->msg];

    memcpy(path, doc->path, depth * sizeof *path);
    if (key)
        path[depth++] = (struct kr_json_step){ .key = key };
    (void)vsnprintf(text, sizeof text, fmt, args);
    kr_fail(err, KR_EINPUT, "%s:%zu: %s%s%s", doc->name,
            kr_jsonline_find(doc->text, doc->len, path, depth), doc->subject ? doc->subject : "",
            doc->subject ? ": " : "", text);
    mask_control(err->msg);
}

bool kr_doc_fail(const struct kr_doc *doc, struct kr_err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fail_at(doc, NULL, err, fmt, args);
    va_end(args);
    return false;
}

bool kr_doc_fail_key(const struct kr_doc *doc, const char *key, struct kr_err *err, const char *fmt,
                     ...)
{
    va_list args;

    va_start(args, fmt);
    fail_at(doc, key, err, fmt, args);
    va_end(args);
    return false;
}

struct kr_json_place *kr_doc_places(const struct kr_doc *doc, const struct kr_json_place *from,
                                    const char *key, size_t n, struct kr_err *err)
{
    const struct kr_json_place base = from ? *from : (struct kr_json_place){ .line = 1 };
    const struct kr_json_step step = { .key = key };
    struct kr_json_place *places = kr_xcalloc(n, sizeof *places, err);
    size_t found;

    if (!places)
        return NULL;
    found = kr_jsonline_items(doc->text + base.offset, doc->len - base.offset, &step, 1, places, n);
    for (size_t i = 0; i < found; i++) {
        places[i].offset += base.offset;
        places[i].line += base.line - 1;
    }
    for (size_t i = found; i < n; i++) /* a key written with escapes */
        places[i] = base;
    return places;
}

bool kr_doc_check_schema(const struct kr_doc *doc, const char *schema, struct kr_err *err)
{
    const char *name = json_string_value(json_object_get(doc->root, "schema"));
    const json_t *version = json_object_get(doc->root, "schema_version");

    if (!name)
        return kr_doc_fail_key(doc, "schema", err, "\"schema\" must be \"%s\"", schema);
    if (strcmp(name, schema) != 0)
        return kr_doc_fail_key(doc, "schema", err, "\"schema\" must be \"%s\", not \"%.60s\"",
                               schema, name);
    if (json_integer_value(version) != 1)
        return kr_doc_fail_key(doc, "schema_version", err,
                               "\"schema_version\" must be 1, the only one known");
    return true;
}

static bool fail_unknown_key(const struct kr_doc *doc, const char *key, const char *what,
                             const char *const *known, struct kr_err *err)
{
    struct kr_nearest near = { 0 };
    char list[160];
    size_t used = 0;

    for (size_t i = 0; known[i]; i++) {
        kr_nearest_offer(&near, key, known[i]);
        if (used < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
    }
    if (near.word)
        return kr_doc_fail_key(doc, key, err, "unknown key '%.60s' in %s; did you mean '%s'?", key,
                               what, near.word);
    return kr_doc_fail_key(doc, key, err, "unknown key '%.60s' in %s; known: %s", key, what, list);
}

bool kr_doc_check_keys(const struct kr_doc *doc, const json_t *value, const char *what,
                       const char *const *known, struct kr_err *err)
{
    void *iter;

    if (!json_is_object(value))
        return kr_doc_fail(doc, err, "%s must be an object", what);
    /* jansson's iterators want a non-const object, but only read it. */
    iter = json_object_iter((json_t *)value);
    for (; iter; iter = json_object_iter_next((json_t *)value, iter)) {
        const char *key = json_object_iter_key(iter);
        size_t i = 0;

        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return fail_unknown_key(doc, key, what, known, err);
    }
    return true;
}

bool kr_doc_text(const struct kr_doc *doc, const json_t *object, const char *key, const char **out,
                 struct kr_err *err)
{
    const json_t *value = json_object_get(object, key);

    *out = json_string_value(value);
    if (value && json_string_length(value) == 0)
        return kr_doc_fail_key(doc, key, err, "'%s' must be a string that is not empty", key);
    return true;
}

const char *kr_doc_need_text(const struct kr_doc *doc, const json_t *object, const char *key,
                             struct kr_err *err)
{
    const char *text;

    if (!kr_doc_text(doc, object, key, &text, err))
        return NULL;
    if (!text)
        kr_doc_fail(doc, err, "'%s' is missing", key);
    return text;
}

bool kr_doc_string(const struct kr_doc *doc, const json_t *object, const char *key, char **out,
                   struct kr_err *err)
{
    const char *text;

    if (!kr_doc_text(doc, object, key, &text, err))
        return false;
    if (text)
        *out = kr_xstrndup(text, strlen(text), err);
    return !text || *out;
}

bool kr_doc_number(const struct kr_doc *doc, const json_t *value, bool allow_inf, double *out,
                   struct kr_err *err)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    if (allow_inf && json_is_string(value) && strcmp(json_string_value(value), "inf") == 0) {
        *out = INFINITY;
        return true;
    }
    return kr_doc_fail(doc, err, allow_inf ? "expected a number or \"inf\"" : "expected a number");
}

bool kr_doc_uint(const struct kr_doc *doc, const json_t *object, const char *key, uint64_t min,
                 uint64_t max, uint64_t *out, struct kr_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (!value)
        return true;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        uint64_t number = (uint64_t)json_integer_value(value);

        if (number >= min && number <= max) {
            *out = number;
            return true;
        }
    }
    return kr_doc_fail_key(doc, key, err, "'%s' must be a whole number from %llu to %llu", key,
                           (unsigned long long)min, (unsigned long long)max);
}

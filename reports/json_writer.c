#include "json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

/* Code point of a well-formed character of 1 to 3 bytes. */
static unsigned code_point(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;

    if (n == 1)
        return s[0];
    if (n == 2)
        return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
}

static void write_string(FILE *out, const char *s, size_t len)
{
    fputc('"', out);
    for (size_t i = 0; i < len;) {
        size_t n = kr_utf8_char(s + i, len - i);

        if (n == 0)
            fputs("\\ufffd", out);
        else if (s[i] == '"' || s[i] == '\\')
            fprintf(out, "\\%c", s[i]);
        else if (kr_utf8_is_control(s + i, n))
            fprintf(out, "\\u%04x", code_point(s + i, n));
        else
            fwrite(s + i, 1, n, out);
        i += n ? n : 1;
    }
    fputc('"', out);
}

static void new_line(const struct kr_json *json)
{
    fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
}

/* Everything that stands before a value: comma, line, key. */
static void begin_value(struct kr_json *json, const char *key)
{
    if (json->depth) {
        bool *has_items = &json->has_items[json->depth - 1];

        assert(json->is_array[json->depth - 1] == !key);
        if (*has_items)
            fputc(',', json->out);
        *has_items = true;
        new_line(json);
    }
    if (key) {
        write_string(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

static void open_level(struct kr_json *json, const char *key, bool is_array)
{
    assert(json->depth < KR_JSON_DEPTH_MAX);
    begin_value(json, key);
    fputc(is_array ? '[' : '{', json->out);
    json->is_array[json->depth] = is_array;
    json->has_items[json->depth] = false;
    json->depth++;
}

void kr_json_begin(struct kr_json *json, FILE *out, const char *schema, unsigned version)
{
    *json = (struct kr_json){ .out = out };
    open_level(json, NULL, false);
    kr_json_str(json, "schema", schema);
    kr_json_u64(json, "schema_version", version);
}

void kr_json_end(struct kr_json *json)
{
    assert(json->depth == 1);
    kr_json_close(json);
    fputc('\n', json->out);
}

void kr_json_object(struct kr_json *json, const char *key)
{
    open_level(json, key, false);
}

void kr_json_array(struct kr_json *json, const char *key)
{
    open_level(json, key, true);
}

void kr_json_close(struct kr_json *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->has_items[json->depth])
        new_line(json);
    fputc(json->is_array[json->depth] ? ']' : '}', json->out);
}

void kr_json_str(struct kr_json *json, const char *key, const char *text)
{
    if (text)
        kr_json_strn(json, key, text, strlen(text));
    else
        kr_json_null(json, key);
}

void kr_json_strn(struct kr_json *json, const char *key, const char *text, size_t len)
{
    begin_value(json, key);
    write_string(json->out, text, len);
}

void kr_json_u64(struct kr_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void kr_json_known_u64(struct kr_json *json, const char *key, bool known, uint64_t value)
{
    if (known)
        kr_json_u64(json, key, value);
    else
        kr_json_null(json, key);
}

void kr_json_i64(struct kr_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void kr_json_num(struct kr_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        kr_json_null(json, key);
        return;
    }
    begin_value(json, key);
    fprintf(json->out, "%.9g", value == 0 ? 0.0 : value); /* no "-0" */
}

void kr_json_bool(struct kr_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void kr_json_null(struct kr_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

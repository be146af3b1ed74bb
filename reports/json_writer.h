/*
 * Writes one JSON document, indented by two, keys in the order given. Control
 * characters are escaped, bytes that are not UTF-8 become U+FFFD; numbers that are not finite
 * become null. Write errors show at the stream's end.
 */
#ifndef KR_JSON_WRITER_H
#define KR_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KR_JSON_DEPTH_MAX 16

struct kr_json {
    FILE *out;
    unsigned depth;
    bool is_array[KR_JSON_DEPTH_MAX];
    bool has_items[KR_JSON_DEPTH_MAX];
};

/** Opens the top-level object with its first two members, "schema" and "schema_version". */
void kr_json_begin(struct kr_json *json, FILE *out, const char *schema, unsigned version);
/** Closes the top-level object and ends the line. */
void kr_json_end(struct kr_json *json);

/* Everywhere: key is NULL inside an array. */
void kr_json_object(struct kr_json *json, const char *key);
void kr_json_array(struct kr_json *json, const char *key);
/** Closes the innermost object or array. */
void kr_json_close(struct kr_json *json);

/** NULL text becomes null. */
void kr_json_str(struct kr_json *json, const char *key, const char *text);
void kr_json_strn(struct kr_json *json, const char *key, const char *text, size_t len);
void kr_json_u64(struct kr_json *json, const char *key, uint64_t value);
/** null unless the value is known. */
void kr_json_known_u64(struct kr_json *json, const char *key, bool known, uint64_t value);
void kr_json_i64(struct kr_json *json, const char *key, int64_t value);
/** Nine significant digits. */
void kr_json_num(struct kr_json *json, const char *key, double value);
void kr_json_bool(struct kr_json *json, const char *key, bool value);
void kr_json_null(struct kr_json *json, const char *key);

#endif

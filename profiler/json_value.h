/* Values of JSON text: exact times, integers, and strings as people really write them. */
#ifndef KR_JSON_VALUE_H
#define KR_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kr_json_number {
    KR_JSON_OK,
    KR_JSON_NOT_NUMBER, /* NaN, null, text, nothing */
    KR_JSON_RANGE       /* a number, but outside the result's type */
};

/**
 * Nanoseconds of a decimal number of microseconds: digits, fraction and exponent of any length.
 * Exact; halves of a nanosecond are rounded away from zero. Spaces around it are allowed.
 */
enum kr_json_number kr_json_us_to_ns(const char *s, size_t len, int64_t *ns);

/** A whole number; a fraction of zeros ("7.0") is allowed, any other is KR_JSON_NOT_NUMBER. */
enum kr_json_number kr_json_int(const char *s, size_t len, int64_t *value);

/* What decoding a string met, as bits. */
enum kr_json_text_flag {
    KR_JSON_BAD_UTF8 = 1,
    KR_JSON_LONE_SURROGATE = 2, /* became U+FFFD */
    KR_JSON_CONTROL = 4,        /* raw bytes below 0x20 */
    KR_JSON_BAD_ESCAPE = 8      /* kept as written, backslash included */
};

/**
 * Undoes the escapes of a string's inside.
 * @param out    room for len bytes; the result is never longer than the input
 * @param flags  bits of enum kr_json_text_flag are added
 * @return length of the result [byte]; it may hold NUL bytes.
 */
size_t kr_json_unescape(const char *s, size_t len, char *out, unsigned *flags);

/** Bits KR_JSON_BAD_UTF8 and KR_JSON_CONTROL for a text. */
unsigned kr_json_text_check(const char *s, size_t len);

#endif

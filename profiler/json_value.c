#include "json_value.h"

#include <endian.h>
#include <string.h>

#include "ascii.h"

/* Exponents are cut here: far beyond every range, and sums cannot overflow. */
enum { MAX_EXPONENT = 1000000 };

/* A decimal number taken apart: digits[0..n) without its point, which belongs after `point`. */
struct decimal {
    const char *digits; /* may hold one '.' */
    size_t len;         /* of the text, the '.' included */
    int64_t point;      /* digits before the point, exponent included; may lie outside 0..n */
    bool negative;
};

static void trim(const char **s, size_t *len)
{
    while (*len && kr_is_space(**s)) {
        (*s)++;
        (*len)--;
    }
    while (*len && kr_is_space((*s)[*len - 1]))
        (*len)--;
}

static bool read_exponent(const char *s, size_t len, int64_t *exponent)
{
    size_t i = 0;
    bool negative = false;
    int64_t value = 0;

    if (i < len && (s[i] == '+' || s[i] == '-'))
        negative = s[i++] == '-';
    if (i == len)
        return false;
    for (; i < len; i++) {
        if (!kr_is_digit(s[i]))
            return false;
        if (value < MAX_EXPONENT)
            value = value * 10 + (s[i] - '0');
    }
    *exponent = negative ? -value : value;
    return true;
}

static bool read_decimal(const char *s, size_t len, struct decimal *d)
{
    size_t i = 0;
    size_t n_digits = 0;
    int64_t before = -1;
    int64_t exponent = 0;

    trim(&s, &len);
    d->negative = len && s[0] == '-';
    if (len && (s[0] == '-' || s[0] == '+')) {
        s++;
        len--;
    }
    for (; i < len && (kr_is_digit(s[i]) || s[i] == '.'); i++) {
        if (kr_is_digit(s[i]))
            n_digits++;
        else if (before < 0)
            before = (int64_t)n_digits;
        else
            return false;
    }
    d->digits = s;
    d->len = i;
    if (n_digits == 0)
        return false;
    if (i < len &&
        ((s[i] != 'e' && s[i] != 'E') || !read_exponent(s + i + 1, len - i - 1, &exponent)))
        return false;
    d->point = (before < 0 ? (int64_t)n_digits : before) + exponent;
    return true;
}

static bool push_digit(uint64_t *value, unsigned digit)
{
    return !__builtin_mul_overflow(*value, 10, value) &&
           !__builtin_add_overflow(*value, digit, value);
}

/* Whole part of the decimal; *rest is its first digit after the point, *more any digit beyond. */
static bool whole_part(const struct decimal *d, uint64_t *value, unsigned *rest, bool *more)
{
    int64_t place = 0; /* of the next digit, counted from the first */

    *value = 0;
    *rest = 0;
    *more = false;
    for (size_t i = 0; i < d->len; i++) {
        unsigned digit = (unsigned)(d->digits[i] - '0');

        if (d->digits[i] == '.')
            continue;
        if (place < d->point) {
            if (!push_digit(value, digit))
                return false;
        } else if (place == d->point) {
            *rest = digit;
        } else {
            *more |= digit != 0;
        }
        place++;
    }
    /* zeros that the exponent adds; a value other than 0 overflows within 20 of them */
    for (; place < d->point && *value != 0; place++)
        if (!push_digit(value, 0))
            return false;
    return true;
}

static enum kr_json_number with_sign(uint64_t magnitude, bool negative, int64_t *value)
{
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return KR_JSON_RANGE;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return KR_JSON_OK;
}

/* The number that eight digits make; they are read as one word, whose digits are joined to pairs,
 * fours, and all eight. */
static bool eight_digits(const char *s, int64_t *value)
{
    uint64_t w;

    memcpy(&w, s, sizeof w);
    w = le64toh(w);
    /* '0' to '9' are 0x3n; adding 6 must not leave that row */
    if (((w & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
         ((w + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) !=
        UINT64_C(0x3333333333333333))
        return false;
    w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (10 * 0x100 + 1) >> 8;
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * (100 * 0x10000 + 1) >> 16;
    w = (w & UINT64_C(0x0000ffff0000ffff)) * (10000 * UINT64_C(0x100000000) + 1) >> 32;
    *value = (int64_t)w;
    return true;
}

/* Plain digits with at most three behind a point, as recorders write them. */
static bool short_us(const char *s, size_t len, int64_t *ns)
{
    int64_t sum = 0;
    size_t point = len; /* digits before it */
    size_t zeros;
    size_t i = 0;

    if (len == 0 || len > 19)
        return false;
    if (len >= 8 && eight_digits(s, &sum))
        i = 8;
    for (; i < len; i++) {
        if (s[i] == '.' && point == len)
            point = i;
        else if (kr_is_digit(s[i]))
            sum = sum * 10 + (s[i] - '0');
        else
            return false;
    }
    if (point == 0 || point > 15 || point + 1 == len || len > point + 4)
        return false; /* with 15 digits of microseconds, nanoseconds fit */
    zeros = point == len ? 3 : point + 4 - len;
    *ns = sum * (zeros == 0 ? 1 : zeros == 1 ? 10 : zeros == 2 ? 100 : 1000);
    return true;
}

enum kr_json_number kr_json_us_to_ns(const char *s, size_t len, int64_t *ns)
{
    struct decimal d;
    uint64_t value;
    unsigned rest;
    bool more;

    if (short_us(s, len, ns))
        return KR_JSON_OK;
    if (!read_decimal(s, len, &d))
        return KR_JSON_NOT_NUMBER;
    d.point += 3;
    if (!whole_part(&d, &value, &rest, &more) ||
        __builtin_add_overflow(value, rest >= 5 ? 1 : 0, &value))
        return KR_JSON_RANGE;
    return with_sign(value, d.negative, ns);
}

/* Plain digits that fit for sure: nearly every number there is. */
static bool short_int(const char *s, size_t len, int64_t *value)
{
    int64_t sum = 0;
    size_t i = 0;

    if (len == 0 || len > 18)
        return false;
    if (len >= 8) {
        if (!eight_digits(s, &sum))
            return false;
        i = 8;
    }
    for (; i < len; i++) {
        if (!kr_is_digit(s[i]))
            return false;
        sum = sum * 10 + (s[i] - '0');
    }
    *value = sum;
    return true;
}

enum kr_json_number kr_json_int(const char *s, size_t len, int64_t *value)
{
    struct decimal d;
    uint64_t magnitude;
    unsigned rest;
    bool more;

    if (short_int(s, len, value))
        return KR_JSON_OK;
    if (!read_decimal(s, len, &d))
        return KR_JSON_NOT_NUMBER;
    if (!whole_part(&d, &magnitude, &rest, &more))
        return KR_JSON_RANGE;
    if (rest || more)
        return KR_JSON_NOT_NUMBER;
    return with_sign(magnitude, d.negative, value);
}

static int hex_value(char c)
{
    if (kr_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of a \u escape whose backslash is at s; -1 when it is none. */
static long unicode_escape(const char *s, size_t len)
{
    long code = 0;

    if (len < 6 || s[0] != '\\' || s[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_value(s[i]);

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static size_t put_utf8(char *out, unsigned long code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Decodes the \u escape at s (code = its value), a surrogate pair included; returns bytes read. */
static size_t take_unicode(const char *s, size_t len, long code, char *out, size_t *n,
                           unsigned *flags)
{
    unsigned long value = (unsigned long)code;
    size_t used = 6;

    if (value >= 0xd800 && value < 0xe000) {
        long low = value < 0xdc00 ? unicode_escape(s + 6, len - 6) : -1;

        if (low >= 0xdc00 && low < 0xe000) {
            value = 0x10000 + ((value - 0xd800) << 10) + ((unsigned long)low - 0xdc00);
            used = 12;
        } else {
            value = 0xfffd;
            *flags |= KR_JSON_LONE_SURROGATE;
        }
    }
    *n += put_utf8(out + *n, value);
    return used;
}

size_t kr_json_unescape(const char *s, size_t len, char *out, unsigned *flags)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    size_t i = 0;

    while (i < len) {
        const char *simple;
        long code;

        if (s[i] != '\\') {
            out[n++] = s[i++];
            continue;
        }
        simple = i + 1 < len && s[i + 1] ? strchr(from, s[i + 1]) : NULL;
        code = unicode_escape(s + i, len - i);
        if (simple) {
            out[n++] = to[simple - from];
            i += 2;
        } else if (code >= 0) {
            i += take_unicode(s + i, len - i, code, out, &n, flags);
        } else {
            *flags |= KR_JSON_BAD_ESCAPE;
            out[n++] = s[i++];
        }
    }
    return n;
}

/* Length of the well-formed UTF-8 sequence of two bytes or more at s, 0 when there is none. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    unsigned first = s[0];
    size_t n = first >= 0xc2 && first < 0xe0   ? 2
               : first >= 0xe0 && first < 0xf0 ? 3
               : first >= 0xf0 && first < 0xf5 ? 4
                                               : 0;

    if (n == 0 || n > len)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, and values past U+10FFFF */
    if ((first == 0xe0 && s[1] < 0xa0) || (first == 0xed && s[1] > 0x9f) ||
        (first == 0xf0 && s[1] < 0x90) || (first == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

unsigned kr_json_text_check(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned flags = 0;
    size_t i = 0;

    while (i < len) {
        size_t n = 1;

        if (u[i] < 0x20) {
            flags |= KR_JSON_CONTROL;
        } else if (u[i] >= 0x80) {
            n = utf8_length(u + i, len - i);
            if (n == 0) {
                flags |= KR_JSON_BAD_UTF8;
                n = 1;
            }
        }
        i += n;
    }
    return flags;
}

/* Numbers and strings of JSON text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_value.h"
#include "mem.h"

static const struct {
    const char *text;
    enum kr_json_number status;
    int64_t value;
} times[] = {
    { "0", KR_JSON_OK, 0 },
    { "1", KR_JSON_OK, 1000 },
    { "5157135577238.511", KR_JSON_OK, 5157135577238511 },
    { "1695835542481129", KR_JSON_OK, 1695835542481129000 },
    { "1790857026000000.125", KR_JSON_OK, 1790857026000000125 },
    { "0.001", KR_JSON_OK, 1 },
    { "12.3", KR_JSON_OK, 12300 },
    { "12.34", KR_JSON_OK, 12340 },
    { " 7.5\n", KR_JSON_OK, 7500 },
    { "+3", KR_JSON_OK, 3000 },
    { "-0.001", KR_JSON_OK, -1 },
    { "-5.25", KR_JSON_OK, -5250 },
    /* beyond the nanosecond: halves away from zero */
    { "0.0005", KR_JSON_OK, 1 },
    { "0.0004999999999999999999999999", KR_JSON_OK, 0 },
    { "-0.0005", KR_JSON_OK, -1 },
    { "1.2345678901234567890123", KR_JSON_OK, 1235 },
    { "281.343000000000000000000", KR_JSON_OK, 281343 },
    /* exponents */
    { "1e3", KR_JSON_OK, 1000000 },
    { "5.157135577238511E+12", KR_JSON_OK, 5157135577238511 },
    { "1500e-3", KR_JSON_OK, 1500 },
    { "1e-3", KR_JSON_OK, 1 },
    { "5e-4", KR_JSON_OK, 1 },
    { "4e-4", KR_JSON_OK, 0 },
    { "1e-999999999999", KR_JSON_OK, 0 },
    { "0e999999999999", KR_JSON_OK, 0 },
    { "0000000000000000000000000000000000012", KR_JSON_OK, 12000 },
    { ".5", KR_JSON_OK, 500 },
    { "5.", KR_JSON_OK, 5000 },
    /* the edges of the type */
    { "9223372036854775.807", KR_JSON_OK, INT64_MAX },
    { "9223372036854775.8074", KR_JSON_OK, INT64_MAX },
    { "9223372036854775.8075", KR_JSON_RANGE, 0 },
    { "-9223372036854775.808", KR_JSON_OK, INT64_MIN },
    { "-9223372036854775.809", KR_JSON_RANGE, 0 },
    { "18446744073709551615", KR_JSON_RANGE, 0 },
    { "999999999999999.9999", KR_JSON_OK, 1000000000000000000 },
    { "9999999999999999.5", KR_JSON_RANGE, 0 },
    { "1e400", KR_JSON_RANGE, 0 },
    { "1e999999999999999999999", KR_JSON_RANGE, 0 },
    /* no numbers */
    { "", KR_JSON_NOT_NUMBER, 0 },
    { ".", KR_JSON_NOT_NUMBER, 0 },
    { "-", KR_JSON_NOT_NUMBER, 0 },
    { "NaN", KR_JSON_NOT_NUMBER, 0 },
    { "Infinity", KR_JSON_NOT_NUMBER, 0 },
    { "null", KR_JSON_NOT_NUMBER, 0 },
    { "1.2.3", KR_JSON_NOT_NUMBER, 0 },
    { "1e", KR_JSON_NOT_NUMBER, 0 },
    { "1e+", KR_JSON_NOT_NUMBER, 0 },
    { "1 2", KR_JSON_NOT_NUMBER, 0 },
    { "12us", KR_JSON_NOT_NUMBER, 0 },
    { "0x10", KR_JSON_NOT_NUMBER, 0 },
};

static void microseconds_become_exact_nanoseconds(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(times); i++) {
        int64_t ns = 0;
        enum kr_json_number status = kr_json_us_to_ns(times[i].text, strlen(times[i].text), &ns);

        if (status != times[i].status || (status == KR_JSON_OK && ns != times[i].value))
            fail_msg("'%s' gives %d, %lld", times[i].text, status, (long long)ns);
    }
}

static const struct {
    const char *text;
    enum kr_json_number status;
    int64_t value;
} ints[] = {
    { "0", KR_JSON_OK, 0 },
    { "4294967295", KR_JSON_OK, 4294967295 },
    { "-1", KR_JSON_OK, -1 },
    { "7.0", KR_JSON_OK, 7 },
    { "1e3", KR_JSON_OK, 1000 },
    { "9223372036854775807", KR_JSON_OK, INT64_MAX },
    { "-9223372036854775808", KR_JSON_OK, INT64_MIN },
    { "9223372036854775808", KR_JSON_RANGE, 0 },
    { "99999999999999999999999", KR_JSON_RANGE, 0 },
    { "1.5", KR_JSON_NOT_NUMBER, 0 },
    { "1.05", KR_JSON_NOT_NUMBER, 0 },
    { "true", KR_JSON_NOT_NUMBER, 0 },
    { "", KR_JSON_NOT_NUMBER, 0 },
};

static void integers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(ints); i++) {
        int64_t value = 0;
        enum kr_json_number status = kr_json_int(ints[i].text, strlen(ints[i].text), &value);

        if (status != ints[i].status || (status == KR_JSON_OK && value != ints[i].value))
            fail_msg("'%s' gives %d, %lld", ints[i].text, status, (long long)value);
    }
}

#define TEXT(s) s, sizeof s - 1

static const struct {
    const char *raw;
    size_t raw_len;
    const char *text;
    size_t text_len;
    unsigned flags;
} strings[] = {
    { TEXT("plain"), TEXT("plain"), 0 },
    { TEXT(""), TEXT(""), 0 },
    { TEXT("\\\"\\\\\\/\\b\\f\\n\\r\\t"), TEXT("\"\\/\b\f\n\r\t"), 0 },
    { TEXT("\\u0041\\u00e9\\u20AC"), TEXT("A\xc3\xa9\xe2\x82\xac"), 0 },
    { TEXT("\\u0000x"), TEXT("\0x"), 0 },
    { TEXT("\\ud83d\\ude00"), TEXT("\xf0\x9f\x98\x80"), 0 },
    { TEXT("\\ud83d"), TEXT("\xef\xbf\xbd"), KR_JSON_LONE_SURROGATE },
    { TEXT("\\ud83dx\\ude00"), TEXT("\xef\xbf\xbdx\xef\xbf\xbd"), KR_JSON_LONE_SURROGATE },
    { TEXT("\\ud83d\\ud83d\\ude00"), TEXT("\xef\xbf\xbd\xf0\x9f\x98\x80"), KR_JSON_LONE_SURROGATE },
    { TEXT("\\ud83d\\u00"), TEXT("\xef\xbf\xbd\\u00"),
      KR_JSON_LONE_SURROGATE | KR_JSON_BAD_ESCAPE },
    { TEXT("\\x41 \\u12g4 \\"), TEXT("\\x41 \\u12g4 \\"), KR_JSON_BAD_ESCAPE },
    { TEXT("a\\\0b"), TEXT("a\\\0b"), KR_JSON_BAD_ESCAPE },
};

static void one_byte_that_is_no_digit_makes_no_number(void **state)
{
    (void)state;
    for (size_t len = 1; len <= 18; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                char text[] = "123456789012345678";
                bool digit = c >= '0' && c <= '9';
                bool edge = at == 0 || at == len - 1; /* signs, spaces and points may be there */
                int64_t value;

                if (!digit && (c <= ' ' || strchr("+-.eE", c)) && (edge || strchr(".eE", c)))
                    continue;
                text[at] = (char)c;
                assert_int_equal(kr_json_int(text, len, &value),
                                 digit ? KR_JSON_OK : KR_JSON_NOT_NUMBER);
                text[len] = '\0';
                if (digit)
                    assert_int_equal(value, strtoll(text, NULL, 10));
            }
        }
    }
}

static void escapes_are_undone_and_odd_ones_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(strings); i++) {
        char out[64];
        unsigned flags = 0;
        size_t len = kr_json_unescape(strings[i].raw, strings[i].raw_len, out, &flags);

        if (len != strings[i].text_len || memcmp(out, strings[i].text, len) != 0 ||
            flags != strings[i].flags)
            fail_msg("'%s' gives %zu bytes, flags %u", strings[i].raw, len, flags);
    }
}

static const struct {
    const char *text;
    unsigned flags;
} checks[] = {
    { "ascii \x7f", 0 },
    { "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", 0 },
    { "tab\t", KR_JSON_CONTROL },
    { "\x80", KR_JSON_BAD_UTF8 },             /* no first byte */
    { "\xc1\xbf", KR_JSON_BAD_UTF8 },         /* overlong */
    { "\xe0\x9f\xbf", KR_JSON_BAD_UTF8 },     /* overlong */
    { "\xf0\x8f\xbf\xbf", KR_JSON_BAD_UTF8 }, /* overlong */
    { "\xed\xa0\x80", KR_JSON_BAD_UTF8 },     /* a surrogate */
    { "\xf4\x90\x80\x80", KR_JSON_BAD_UTF8 }, /* beyond U+10FFFF */
    { "\xf5\x80\x80\x80", KR_JSON_BAD_UTF8 }, /* likewise */
    { "\xe2\x82", KR_JSON_BAD_UTF8 },         /* cut */
    { "\xe2\x28\xa1", KR_JSON_BAD_UTF8 },     /* no continuation */
    { "\x01\xff", KR_JSON_CONTROL | KR_JSON_BAD_UTF8 },
};

static void invalid_utf8_and_control_characters_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(checks); i++) {
        unsigned flags = kr_json_text_check(checks[i].text, strlen(checks[i].text));

        if (flags != checks[i].flags)
            fail_msg("case %zu gives %u", i, flags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_byte_that_is_no_digit_makes_no_number),
        cmocka_unit_test(microseconds_become_exact_nanoseconds),
        cmocka_unit_test(integers_are_read_whole_or_not_at_all),
        cmocka_unit_test(escapes_are_undone_and_odd_ones_kept),
        cmocka_unit_test(invalid_utf8_and_control_characters_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

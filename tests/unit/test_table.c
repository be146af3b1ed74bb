#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "mem.h"
#include "table.h"
#include "text.h"

/* A stream whose text can be looked at. */
struct sink {
    char *text;
    size_t len;
    FILE *file;
};

/* The stream keeps pointers to the sink's members: it must stay where it is. */
static void sink_open(struct sink *sink)
{
    sink->file = open_memstream(&sink->text, &sink->len);
    assert_non_null(sink->file);
}

static void sink_expect(struct sink *sink, const char *expected)
{
    fclose(sink->file);
    sink->file = NULL;
    assert_string_equal(sink->text, expected);
    free(sink->text);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const struct kr_column columns[] = { { "n", KR_RIGHT, 0 }, { "name", KR_LEFT, 0 } };
    const struct kr_style style = { .columns = 80 };
    struct kr_err err = { 0 };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), &err);
    struct sink sink;

    (void)state;
    sink_open(&sink);
    kr_table_cell(table, "%d", 1000);
    kr_table_cell(table, "a");
    kr_table_line(table);
    kr_table_cell(table, "%d", 7);
    kr_table_cell(table, "longer");
    assert_true(kr_table_print(table, sink.file, &style, &err));
    sink_expect(&sink, "   n  name\n"
                       "1000  a\n"
                       "------------\n"
                       "   7  longer\n");
    kr_table_free(table);
}

static void the_last_column_is_cut_in_its_middle_to_fit(void **state)
{
    static const struct kr_column columns[] = { { "n", KR_LEFT, 0 }, { "name", KR_LEFT, 0 } };
    const struct kr_style style = { .columns = 23 };
    struct kr_err err = { 0 };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), &err);
    struct sink sink;

    (void)state;
    sink_open(&sink);
    kr_table_cell(table, "x");
    kr_table_cell(table, "0123456789abcdefghijklmnopqrstuvwxyz");
    assert_true(kr_table_print(table, sink.file, &style, &err));
    sink_expect(&sink, "n  name\n"
                       "x  012345678..rstuvwxyz\n");
    kr_table_free(table);
}

static void a_cut_never_splits_a_character(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        const char *expected;
    } cases[] = {
        { "abcdef", 6, "abcdef" },
        { "abcdefg", 6, "ab..fg" },
        { "\u00e4\u00f6\u00fc\u00df\u00e4\u00f6\u00fc", 6, "\u00e4\u00f6..\u00f6\u00fc" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        char *cut = kr_text_cut(cases[i].text, cases[i].width);

        assert_string_equal(cut, cases[i].expected);
        free(cut);
    }
}

static void a_cell_can_do_nothing_to_a_terminal(void **state)
{
    static const struct kr_column columns[] = { { "x", KR_LEFT, 0 } };
    const struct kr_style style = { .columns = 80 };
    struct kr_err err = { 0 };
    struct kr_table *table = kr_table_new(columns, 1, &err);
    struct sink sink;

    (void)state;
    sink_open(&sink);
    kr_table_cell(table, "%s", "a\033[2Jb\n\xc2\x9b\xff\x7f\u202e");
    assert_true(kr_table_print(table, sink.file, &style, &err));
    sink_expect(&sink, "x\na\\x1b[2Jb\\x0a\\xc2\\x9b\\xff\\x7f\\xe2\\x80\\xae\n");
    kr_table_free(table);
}

static void text_wraps_at_spaces_and_later_lines_are_indented(void **state)
{
    const struct kr_style style = { .columns = 12 };
    struct sink sink;

    (void)state;
    sink_open(&sink);
    kr_wrap_text(sink.file, &style, 2, "one two three four verylongwordindeed x");
    sink_expect(&sink, "one two\n  three four\n  verylongwordindeed\n  x\n");
}

static void colour_is_written_only_when_wanted(void **state)
{
    const struct kr_style off = { .columns = 80 };
    const struct kr_style on = { .columns = 80, .color = true };

    (void)state;
    assert_string_equal(kr_style_paint(&off, KR_RED), "");
    assert_string_equal(kr_style_paint(&on, KR_RED), "\033[31m");
}

static void percentages_never_hide_a_small_share_as_zero(void **state)
{
    static const struct {
        double frac;
        const char *expected;
    } cases[] = {
        { 0, "0.0" },         { -0.0, "0.0" },      { 1, "100.0" },     { 0.2341, "23.4" },
        { 0.0005, "0.1" },    { 0.0004, "<0.1" },   { 1e-12, "<0.1" },  { -0.031, "-3.1" },
        { -0.0001, ">-0.1" }, { (double)NAN, "-" }, { 12.5, "1250.0" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++)
        assert_string_equal(kr_text_percent(cases[i].frac).s, cases[i].expected);
}

static void durations_have_three_digits_and_the_unit_that_suits(void **state)
{
    static const struct {
        double ns;
        const char *expected;
    } cases[] = {
        { 0, "0 ns" },           { 817, "817 ns" },     { 999.6, "1.00 us" },
        { 31400000, "31.4 ms" }, { 999600, "1.00 ms" }, { 9.996e6, "10.0 ms" },
        { 2e9, "2.00 s" },       { 3.6e12, "3600 s" },  { (double)NAN, "-" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++)
        assert_string_equal(kr_text_duration(cases[i].ns).s, cases[i].expected);
}

static void counts_bytes_and_gains_read_well(void **state)
{
    (void)state;
    assert_string_equal(kr_text_count(0).s, "0");
    assert_string_equal(kr_text_count(999).s, "999");
    assert_string_equal(kr_text_count(1000).s, "1,000");
    assert_string_equal(kr_text_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
    assert_string_equal(kr_text_bytes(999).s, "999 B");
    assert_string_equal(kr_text_bytes(12345678).s, "12.3 MB");
    assert_string_equal(kr_text_gain(1.305).s, "1.30x");
    assert_string_equal(kr_text_gain(INFINITY).s, "no limit");
    assert_string_equal(kr_text_gain((double)NAN).s, "-");
    assert_string_equal(kr_text_time(1234567, KR_UNIT_MS).s, "1.235");
}

static void utf8_is_told_from_what_only_looks_like_it(void **state)
{
    static const struct {
        const char *bytes;
        size_t expected;
    } cases[] = {
        { "a", 1 },
        { "\xc3\xa4", 2 },
        { "\xe2\x82\xac", 3 },
        { "\xf0\x9f\x98\x80", 4 },
        { "\x80", 0 },
        { "\xc0\xaf", 0 },
        { "\xe0\x80\xaf", 0 },
        { "\xed\xa0\x80", 0 },
        { "\xf4\x90\x80\x80", 0 },
        { "\xf5\x80\x80\x80", 0 },
        { "\xc3", 0 },
        { "\xe2\x82", 0 },
        { "\xc3(", 0 },
    };

    (void)state;
    assert_int_equal(kr_utf8_char("", 0), 0);
    for (size_t i = 0; i < KR_COUNT(cases); i++)
        assert_int_equal(kr_utf8_char(cases[i].bytes, strlen(cases[i].bytes)), cases[i].expected);
}

static void json_is_well_formed_whatever_the_text_is(void **state)
{
    struct kr_json json;
    struct sink sink;

    (void)state;
    sink_open(&sink);
    kr_json_begin(&json, sink.file, "kreach.test", 1);
    kr_json_strn(&json, "text", "q\" b\\ n\n z\0 bad\xff \xc3\xa4\xc2\x9b\xe2\x80\xae", 24);
    kr_json_str(&json, "none", NULL);
    kr_json_num(&json, "nan", (double)NAN);
    kr_json_num(&json, "inf", (double)INFINITY);
    kr_json_num(&json, "zero", -0.0);
    kr_json_num(&json, "third", 1.0 / 3);
    kr_json_u64(&json, "big", UINT64_MAX);
    kr_json_i64(&json, "small", INT64_MIN);
    kr_json_array(&json, "list");
    kr_json_bool(&json, NULL, true);
    kr_json_object(&json, NULL);
    kr_json_close(&json);
    kr_json_close(&json);
    kr_json_end(&json);
    sink_expect(&sink,
                "{\n"
                "  \"schema\": \"kreach.test\",\n"
                "  \"schema_version\": 1,\n"
                "  \"text\": \"q\\\" b\\\\ n\\u000a z\\u0000 bad\\ufffd \u00e4\\u009b\\u202e\",\n"
                "  \"none\": null,\n"
                "  \"nan\": null,\n"
                "  \"inf\": null,\n"
                "  \"zero\": 0,\n"
                "  \"third\": 0.333333333,\n"
                "  \"big\": 18446744073709551615,\n"
                "  \"small\": -9223372036854775808,\n"
                "  \"list\": [\n"
                "    true,\n"
                "    {}\n"
                "  ]\n"
                "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(the_last_column_is_cut_in_its_middle_to_fit),
        cmocka_unit_test(a_cut_never_splits_a_character),
        cmocka_unit_test(a_cell_can_do_nothing_to_a_terminal),
        cmocka_unit_test(text_wraps_at_spaces_and_later_lines_are_indented),
        cmocka_unit_test(colour_is_written_only_when_wanted),
        cmocka_unit_test(percentages_never_hide_a_small_share_as_zero),
        cmocka_unit_test(durations_have_three_digits_and_the_unit_that_suits),
        cmocka_unit_test(counts_bytes_and_gains_read_well),
        cmocka_unit_test(utf8_is_told_from_what_only_looks_like_it),
        cmocka_unit_test(json_is_well_formed_whatever_the_text_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

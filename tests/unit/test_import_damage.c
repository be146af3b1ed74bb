/* What the trace reader does with broken input: nothing is lost in silence, nothing else is lost.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include <cmocka.h>

#include "import_reader.h"
#include "mem.h"

#include "../timeline_dump.h"

#define K(name, ts, dur)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"ts\":" ts ",\"dur\":" dur            \
    ",\"args\":{\"device\":0,\"stream\":7}}"
#define DOC(events) "{\"traceEvents\":[" events "]}"
#define A           K("a", "1", "2")
#define Z           K("z", "90", "2")

static struct kr_timeline *read_text(const void *text, size_t len, struct kr_err *err)
{
    return kr_import_mem("t.json", text, len, &(struct kr_import_options){ .threads = 1 }, err);
}

static size_t gzip_text(const char *text, size_t len, unsigned char *out, size_t size)
{
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return size - z.avail_out;
}

static char *dump_cut(const void *data, size_t len, size_t segment, size_t block)
{
    const struct kr_import_options opt = { .threads = 3 };
    const struct kr_import_tuning tuning = { segment, block, KR_INPUT_LIMITS };
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_mem_tuned("t.json", data, len, &opt, &tuning, &err);
    char *text = dump_timeline(t, &err);

    kr_timeline_free(t);
    return text;
}

/* Reads the text in one piece, and again in segments and in blocks of many sizes: all the same. */
static struct kr_timeline *read_every_way(const char *text, size_t len)
{
    static unsigned char packed[1 << 18];
    size_t packed_len = gzip_text(text, len, packed, sizeof packed);
    struct kr_err err = { 0 };
    struct kr_timeline *t = read_text(text, len, &err);
    char *whole = dump_timeline(t, &err);

    if (!t)
        fail_msg("not read: %s", err.msg);
    for (size_t size = 15; size < 150; size += size / 8) {
        char *segments = dump_cut(text, len, size, 1 << 20);
        char *blocks = dump_cut(packed, packed_len, 1 << 20, size);

        if (strcmp(whole, segments) != 0)
            fail_msg("by %zu: %s\nwhole:\n%sin segments:\n%s", size, text, whole, segments);
        if (strcmp(whole, blocks) != 0)
            fail_msg("by %zu: %s\nwhole:\n%sin blocks:\n%s", size, text, whole, blocks);
        free(segments);
        free(blocks);
    }
    free(whole);
    return t;
}

/* Warnings as "key:count key:count". */
static void list_warnings(const struct kr_timeline *t, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < KR_WARN_COUNT; i++) {
        if (t->warnings[i].count && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s:%" PRIu64, n ? " " : "",
                                  kr_warn_key((enum kr_warn)i), t->warnings[i].count);
    }
}

/* Names of the kept events in time order, joined by '|'. */
static void list_names(const struct kr_timeline *t, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < t->n_events && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "|" : "",
                              kr_timeline_str(t, t->sites[t->events[i].site].name));
}

static const struct {
    const char *text, *names, *warnings;
} usable[] = {
    /* the document */
    { DOC(A "," Z), "a|z", "" },
    { "\xef\xbb\xbf" DOC(A), "a", "" },
    { " \n[" A "," Z "]\n", "a|z", "" },
    { "[" A "," Z, "a|z", "unclosed_array:1" },
    { "[" A "," Z ",\n", "a|z", "unclosed_array:1" },
    { "[" A ",{\"ph\":\"X\",\"cat\":\"ker", "a", "truncated:1" },
    { "{\"traceEvents\":[" A "," Z, "a|z", "truncated:1" },
    { "{\"traceEvents\":[" A ",{\"ph\":\"X\",\"na", "a", "truncated:1" },
    { "{\"traceEvents\":[" A "]", "a", "truncated:1" },
    { DOC(A) " {\"traceEvents\":[" Z "]}", "a", "trailing_garbage:1" },
    { DOC(A) "\n\n", "a", "" },
    { "{\"x\":[{\"y\":1}],\"a\":{\"b\":[" A "]}}", "a", "nested_events:1" },
    { "{\"traceEvents\":[" A "],\"traceEvents\":[" Z "]}", "a", "duplicate_key:1" },
    { DOC(A ",," Z ","), "a|z", "" },
    /* elements that are no events */
    { DOC(A ",null,17,\"text\"," Z), "a|z", "malformed:3" },
    { DOC(A ",[1,{\"x\":2}]," Z), "a|z", "malformed:1" },
    { DOC(A ",}}}," Z), "a|z", "malformed:1" },
    { DOC(A " " Z), "a|z", "" },
    { DOC(A ",}}}\"x\":{\"ph\":\"X\"},{\"y\":{\"name\":\"n\"}}," Z), "a|z", "malformed:1" },
    /* what looks like events inside of one */
    { DOC("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"outer\",\"ts\":5,\"dur\":1,\"args\":{\"x\":"
          "[" A "," A "," A "," A "," A "]}}," Z),
      "outer|z", "" },
    /* streams in another order at the end than at the beginning */
    { DOC(K("a", "1", "2") ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":5,\"dur\":1,"
                           "\"args\":{\"device\":1,\"stream\":9}},{\"ph\":\"X\",\"cat\":\"kernel\","
                           "\"name\":\"c\","
                           "\"ts\":6,\"dur\":1,\"args\":{\"device\":1,\"stream\":8}}," Z),
      "a|b|c|z", "" },
    /* lost brackets and quotes */
    { DOC(A ",{\"ph\":\"X\",\"args\":{\"u\":1}," Z), "a|z", "malformed:1" },
    { DOC(A ",{\"ph\":\"X\",\"args\":{\"u\":[1,2},\"name\":\"m\"}," Z), "a|z", "malformed:1" },
    { DOC(A ",{\"ph\":\"X\",\"name\":\"lost," Z "," Z), "a|z|z", "malformed:1" },
    { DOC(A ",{\"ph\":\"X\",\"name\":lost\",\"q\":1}," Z), "a|z", "malformed:1" },
    { DOC("{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f(\"x)\",\"ts\":1}," A "," Z),
      "a|z", "unescaped_quote:1" },
    { DOC(K("op \"quoted\" name", "1", "2") "," Z), "op \"quoted\" name|z", "unescaped_quote:1" },
    { DOC(K("one\"quote", "1", "2") "," Z), "one\"quote|z", "unescaped_quote:1" },
    { DOC(K("C:\\temp\\", "1", "2") "," Z), "C:\temp\\|z", "bad_escape:1" },
    /* strings */
    { DOC(K("\\e\\x41\\u12", "1", "2")), "\\e\\x41\\u12", "bad_escape:1" },
    { DOC(K("\\ud800x \\udc00 \\ud83d\\ude00", "1", "2")),
      "\xef\xbf\xbdx \xef\xbf\xbd \xf0\x9f\x98\x80", "lone_surrogate:1" },
    { DOC(K("\xff\xc0\x80", "1", "2")), "\xff\xc0\x80", "invalid_utf8:1" },
    { DOC(K("tab\there", "1", "2")), "tab\there", "control_character:1" },
    /* names that came before: the same bytes only stand for the same text without escapes */
    { DOC(K("a\\\\bcdefgh", "1", "2") "," K("a\\bcdefgh", "3", "1") "," K("a\\\\bcdefgh", "5",
                                                                          "1")),
      "a\\bcdefgh|a\bcdefgh|a\\bcdefgh", "" },
    { DOC(K("\xff is no text", "1", "2") "," K("\xff is no text", "3", "2")),
      "\xff is no text|\xff is no text", "invalid_utf8:2" },
    { DOC(K("same ends 1 and the same middle and ends", "1",
            "2") "," K("same ends 2 and the same middle and ends", "3", "2")),
      "same ends 1 and the same middle and ends|same ends 2 and the same middle and ends", "" },
    { DOC(K("]}]}{[{", "1", "2") "," Z), "]}]}{[{|z", "" },
    /* members */
    { DOC("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x\",\"ts\":1,\"dur\":9,\"name\":\"y\","
          "\"dur\":2}"),
      "y", "duplicate_key:1" },
    { DOC("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":9,\"cat\":\"kernel\"}"),
      "x", "duplicate_key:1" },
    { DOC("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":[{},1],\"ts\":1,"
          "\"dur\":9,\"cat\":\"kernel\",\"args\":{\"stream\":7}}"),
      "cudaLaunchKernel", "duplicate_key:1" },
    { DOC("{\"ph\":\"s\",\"cat\":\"kernel\",\"name\":\"x\",\"ts\":1,\"dur\":9,\"ph\":\"X\"}"), "x",
      "duplicate_key:1" },
    { DOC("{\"ph\":\"X\",\"cat\":\"ac2g\",\"name\":\"x\",\"ts\":1,\"dur\":9,\"cat\":\"kernel\"}"),
      "x", "duplicate_key:1" },
    { DOC("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":9}"), "", "no_name:1" },
    { DOC(A "," K("n", "3", "NaN") "," K("i", "-Infinity", "1")), "a",
      "no_time:2 nonfinite_number:2" },
    { DOC("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x\",\"ts\":1,\"dur\":9,"
          "\"args\":{\"correlation\":99999999999999999999,\"device\":0}}"),
      "x", "big_number:1" },
    /* times */
    { DOC(A "," K("n", "3", "null") "," K("m", "\"x\"", "1")), "a", "no_time:2" },
    { DOC(A ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\"}"), "a", "no_time:1" },
    { DOC(A ",{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"n\",\"ts\":4}"), "a", "no_time:1" },
    { DOC(A "," K("n", "0", "0")), "a", "zero_time:1" },
    { DOC(A "," K("n", "5", "0") "," K("m", "-5", "1")), "m|a|n", "out_of_order:1" },
    { DOC(A "," K("n", "5", "-0.001")), "a", "negative_duration:1" },
    { DOC(A "," K("n", "9e15", "1e15") "," K("m", "1e400", "1") "," K("l", "1", "1e99")), "a",
      "huge_time:3" },
    { DOC(Z "," A), "a|z", "out_of_order:1" },
};

static void damage_is_counted_and_the_rest_is_kept(void **state)
{
    size_t failed = 0;

    (void)state;
    for (size_t i = 0; i < KR_COUNT(usable); i++) {
        struct kr_timeline *t = read_every_way(usable[i].text, strlen(usable[i].text));
        char names[512], warnings[512];

        list_names(t, names, sizeof names);
        list_warnings(t, warnings, sizeof warnings);
        if (strcmp(names, usable[i].names) != 0 || strcmp(warnings, usable[i].warnings) != 0) {
            print_error("%s\nkeeps '%s' and warns '%s'\n", usable[i].text, names, warnings);
            failed++;
        }
        kr_timeline_free(t);
    }
    assert_int_equal(failed, 0);
}

static const struct {
    const char *text, *message;
    uint64_t offset;
} hopeless[] = {
    { "", "'t.json' is empty", KR_NO_OFFSET },
    { " \n\t ", "nothing but spaces", 4 },
    { "hello", "no JSON object or array at byte 0", 0 },
    { "\x7f"
      "ELF\x02\x01\x01",
      "no JSON object or array at byte 0", 0 },
    { "  <html>", "no JSON object or array at byte 2", 2 },
    { "{", "ends at byte 1 before any trace events", 1 },
    { "{\"a\": [1, 2], \"b\": \"tr", "ends at byte 22 before any trace events", 22 },
    { "{\"a\": [1, 2]}", "no \"traceEvents\" list", 13 },
    { "[1, 2]", "no \"traceEvents\" list", 6 },
    { "{\"traceEvents\": 5}", "no \"traceEvents\" list", 18 },
    { "{\"traceEvents\":[]}", "no device work: 0 events", KR_NO_OFFSET },
    { "{\"traceEvents\":[{\"ts\":1", "no device work", 23 },
    { DOC("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"ts\":1,\"dur\":2}"),
      "1 events, of them 1 CPU ops", KR_NO_OFFSET },
    { DOC("{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"k\",\"ts\":1,\"dur\":2}"),
      "1 rows of CUPTI counters", KR_NO_OFFSET },
    { DOC("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"ts\":1,\"dur\":"
          "2}"),
      "1 graph launches were recorded but no kernels", KR_NO_OFFSET },
};

static void hopeless_input_is_an_error_that_says_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(hopeless); i++) {
        struct kr_err err = { 0 };
        struct kr_timeline *t = read_text(hopeless[i].text, strlen(hopeless[i].text), &err);

        if (t || err.code != KR_EINPUT || !strstr(err.msg, hopeless[i].message) ||
            !strstr(err.msg, "t.json") || err.offset != hopeless[i].offset)
            fail_msg("%s\ngives code %d at %" PRIu64 ": %s", hopeless[i].text, err.code, err.offset,
                     err.msg);
    }
}

static void a_cut_at_any_byte_loses_only_what_is_behind_it(void **state)
{
    static const char text[] = DOC(A "," K("{\\\"b\\\\", "10.5", "2") "," Z);
    size_t a_end = strlen("{\"traceEvents\":[" A);

    (void)state;
    for (size_t len = a_end; len < sizeof text - 1; len++) {
        struct kr_timeline *t = read_every_way(text, len);

        assert_true(t->source.truncated);
        assert_int_equal(t->source.truncated_at, len);
        assert_false(kr_timeline_complete(t));
        assert_true(t->n_events >= 1 && t->n_events <= 3);
        kr_timeline_free(t);
    }
}

/* An event of about `bytes` bytes around `filler`, then Z. */
static char *with_large_event(size_t bytes, const char *filler, size_t *len)
{
    static const char head[] = "[" A ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"big\",\"ts\":5,"
                               "\"dur\":1,\"args\":{\"x\":";
    size_t n = strlen(filler);
    char *text = malloc(bytes + sizeof head + 2 * sizeof Z);
    size_t at = sizeof head - 1;

    assert_non_null(text);
    memcpy(text, head, at);
    text[at++] = '"';
    for (size_t i = 0; i + n <= bytes; i += n, at += n)
        memcpy(text + at, filler, n);
    *len = at + (size_t)sprintf(text + at, "\"}},%s]", Z);
    return text;
}

static void an_event_over_the_limit_is_skipped_and_the_next_is_read(void **state)
{
    static const struct {
        size_t bytes;
        const char *filler, *names, *warnings;
    } cases[] = {
        { 15 << 20, "x", "a|big|z", "" },
        { 17 << 20, "x", "a|z", "too_large:1" },
        { 100 << 20, "xyzw", "a|z", "too_large:1" },
        { 100 << 20, "{\\\"}][,", "a|z", "too_large:1" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct kr_import_tuning tuning = { 3 << 20, 100000, KR_INPUT_LIMITS };
        struct kr_err err = { 0 };
        size_t len;
        char *text = with_large_event(cases[i].bytes, cases[i].filler, &len);

        for (unsigned threads = 1; threads <= 2; threads++) {
            const struct kr_import_options opt = { .threads = threads };
            struct kr_timeline *t = kr_import_mem_tuned("t", text, len, &opt, &tuning, &err);
            char line[128];

            assert_non_null(t);
            list_names(t, line, sizeof line);
            if (strcmp(line, cases[i].names) != 0)
                print_error("%zu bytes of '%s', %u threads\n", cases[i].bytes, cases[i].filler,
                            threads);
            assert_string_equal(line, cases[i].names);
            list_warnings(t, line, sizeof line);
            assert_string_equal(line, cases[i].warnings);
            kr_timeline_free(t);
        }
        free(text);
    }
}

static void nesting_ten_thousand_deep_is_passed_over(void **state)
{
    enum { DEPTH = 10000 };
    static char text[8 * DEPTH];

    (void)state;
    for (int in_header = 0; in_header < 2; in_header++) {
        char *p = text;
        struct kr_timeline *t;

        p += sprintf(p, in_header ? "{\"x\":" : "[{\"ph\":\"X\",\"args\":{\"x\":");
        for (int i = 0; i < DEPTH; i++)
            p += sprintf(p, i % 2 ? "[" : "{\"a\":");
        *p++ = '1';
        for (int i = DEPTH - 1; i >= 0; i--)
            *p++ = i % 2 ? ']' : '}';
        p += sprintf(p, in_header ? ",\"traceEvents\":[%s]}" : "}},%s]", Z);
        t = read_every_way(text, (size_t)(p - text));
        assert_int_equal(t->n_events, 1);
        assert_true(kr_timeline_complete(t));
        kr_timeline_free(t);
    }
}

/* Text made to be slow. Linear, a piece takes milliseconds; quadratic, many minutes. */
static void hostile_repetition_stays_linear(void **state)
{
    static const char *const pieces[] = {
        "{\"ph\":\"",
        "{\"ph\":",
        "{\" a\":\" b\"\" ,",
        "{\" a\":\" {\" \"},",
        "{\" a\":\" {\" \"} ",
        "{\"ph\":\"X\",\"x\":[",
        ",{\"ph\":\"X\"",
        "[{\"a\":",
        "[{\"a\":1,\"b\":",
        "\"",
        "\\",
        "{\" a\":\" b\",\" \"}",
        "{\"ph\" : \"\\",
        "{\"args\":{\"name\":\"",
    };
    static const char *const heads[] = { "{\"traceEvents\":[" A ",", "{\"x\":[1," };
    enum { BYTES = 2 << 20 };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(pieces) * KR_COUNT(heads); i++) {
        const char *piece = pieces[i / 2];
        char *text = malloc(BYTES + 200);
        size_t n = strlen(piece);
        size_t at = (size_t)sprintf(text, "%s", heads[i % 2]);
        struct kr_err err = { 0 };
        struct kr_timeline *t;
        clock_t start = clock();

        for (; at + n < BYTES; at += n)
            memcpy(text + at, piece, n);
        t = read_text(text, at, &err);
        if (clock() - start > 20 * CLOCKS_PER_SEC)
            fail_msg("%s in %s is slow", piece, heads[i % 2]);
        if (t ? t->n_events != 1 || kr_timeline_complete(t) : err.code != KR_EINPUT)
            fail_msg("%s in %s: %s", piece, heads[i % 2], err.msg);
        kr_timeline_free(t);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_counted_and_the_rest_is_kept),
        cmocka_unit_test(hopeless_input_is_an_error_that_says_where),
        cmocka_unit_test(a_cut_at_any_byte_loses_only_what_is_behind_it),
        cmocka_unit_test(an_event_over_the_limit_is_skipped_and_the_next_is_read),
        cmocka_unit_test(nesting_ten_thousand_deep_is_passed_over),
        cmocka_unit_test(hostile_repetition_stays_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

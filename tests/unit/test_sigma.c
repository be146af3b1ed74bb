#include "sigma.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"

#define HEAD "{\"schema\": \"kreach.sigma\", \"schema_version\": 1, \"entries\": [\n"

static bool read_text(const char *text, struct kr_sigma_file *file, struct kr_err *err)
{
    return kr_sigma_read_mem("s.json", text, strlen(text), file, err);
}

/* Reads one entry with a given "sigma" value. */
static struct kr_sigma_file read_sigma(const char *sigma)
{
    struct kr_sigma_file file;
    struct kr_err err = { 0 };
    char text[512];

    snprintf(text, sizeof text, HEAD "{\"select\": {\"kernel\": \"*\"}, \"sigma\": %s}]}", sigma);
    if (!read_text(text, &file, &err))
        fail_msg("%s", err.msg);
    return file;
}

static void an_entry_keeps_everything_it_says(void **state)
{
    static const char text[] = HEAD
        "{\"label\": \"tables\", \"note\": \"n\",\n"
        "  \"select\": {\"kernel\": \"*Bag*\", \"family\": \"embedding\", \"class\": "
        "\"addressable\",\n"
        "    \"origin\": \"framework\", \"rule\": \"r\", \"op\": \"aten::*\", \"annotation\": "
        "\"step*\",\n"
        "    \"grid\": [132, 2], \"block\": [256, 1, 1]},\n"
        "  \"sigma\": 6.917, \"win_rate\": {\"won\": 5, \"of\": 12}, \"group\": "
        "{\"launches_after\": 1},\n"
        "  \"evidence\": {\"device\": \"H200\", \"dtype\": \"bf16\", \"baseline\": \"eager\",\n"
        "    \"correctness\": \"c\", \"source\": \"s\", \"shapes\": \"one\"}},\n"
        "{\"select\": {\"family\": \"norm\", \"block\": [32]}, \"sigma\": 2, \"group\": true}]}";
    struct kr_sigma_file file;
    struct kr_err err = { 0 };
    const struct kr_sigma_entry *e;
    char missing[64];

    (void)state;
    assert_true(read_text(text, &file, &err));
    assert_string_equal(file.name, "s.json");
    assert_int_equal(file.n_entries, 2);
    e = &file.entries[0];
    assert_string_equal(e->label, "tables");
    assert_int_equal(e->line, 2);
    assert_string_equal(e->select.kernel, "*Bag*");
    assert_string_equal(e->select.family, "embedding");
    assert_string_equal(e->select.cls, "addressable");
    assert_string_equal(e->select.origin, "framework");
    assert_string_equal(e->select.rule, "r");
    assert_string_equal(e->select.op, "aten::*");
    assert_string_equal(e->select.annotation, "step*");
    assert_memory_equal(e->select.grid, ((uint32_t[]){ 132, 2, 1 }), 12);
    assert_memory_equal(e->select.block, ((uint32_t[]){ 256, 1, 1 }), 12);
    assert_true(e->select.has_grid && e->select.has_block);
    assert_true(e->sigma == 6.917 && e->lo == 6.917 && e->hi == 6.917);
    assert_true(e->has_win_rate && e->win_rate == 5.0 / 12);
    assert_true(e->is_group);
    assert_int_equal(e->launches_after, 1);
    kr_sigma_evidence_missing(e, missing, sizeof missing);
    assert_string_equal(missing, "");
    e = &file.entries[1];
    assert_string_equal(e->label, "family=norm block=32x1x1");
    assert_int_equal(e->line, 9);
    assert_true(e->win_rate == 1 && !e->has_win_rate && e->is_group && e->launches_after == 0);
    kr_sigma_evidence_missing(e, missing, sizeof missing);
    assert_string_equal(missing, "device, dtype, baseline, correctness, source");
    kr_sigma_free(&file);
}

static const struct {
    const char *json;
    double sigma, lo, hi;
    size_t n_samples;
} speedups[] = {
    { "1.5", 1.5, 1.5, 1.5, 0 },
    { "3", 3, 3, 3, 0 },
    { "0.97", 0.97, 0.97, 0.97, 0 },
    { "\"inf\"", INFINITY, INFINITY, INFINITY, 0 },
    { "{\"lo\": 1, \"hi\": 3}", 1.5, 1, 3, 0 }, /* 1 and 1/3 of the time: 2/3 in the middle */
    { "{\"lo\": 2, \"hi\": \"inf\"}", 4, 2, INFINITY, 0 },
    { "{\"lo\": 0.5, \"hi\": 2, \"value\": 1.9}", 1.9, 0.5, 2, 0 },
    { "{\"lo\": 1.3, \"hi\": 1.3}", 1.3, 1.3, 1.3, 0 },
    { "{\"samples\": [7.1, 6.8, 6.9]}", 6.9, 6.8, 7.1, 3 },
    { "{\"samples\": [4, 1, 3, 1]}", 1.5, 1, 4, 4 },
    { "{\"samples\": [2]}", 2, 2, 2, 1 },
};

static void a_speedup_is_a_value_a_range_or_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(speedups); i++) {
        struct kr_sigma_file file = read_sigma(speedups[i].json);
        const struct kr_sigma_entry *e = file.entries;

        assert_true(e->sigma == speedups[i].sigma || fabs(e->sigma - speedups[i].sigma) < 1e-12);
        assert_true(e->lo == speedups[i].lo && e->hi == speedups[i].hi);
        assert_true(e->lo <= e->sigma && e->sigma <= e->hi);
        assert_int_equal(e->n_samples, speedups[i].n_samples);
        kr_sigma_free(&file);
    }
}

/* What is wrong, where, and a piece of what is said about it. */
static const struct {
    const char *text;
    const char *message;
} broken[] = {
    { "", "s.json:1: not valid JSON" },
    { "{\n\"schema\": }", "s.json:2: not valid JSON" },
    { "[]", "s.json:1: the document is not an object" },
    { "{}", "s.json:1: \"schema\" must be \"kreach.sigma\"" },
    { "{\"schema_version\": 1,\n\"schema\": \"kreach.report\"}", "s.json:2: \"schema\" must be" },
    { "{\"schema\": \"kreach.sigma\",\n\"schema_version\": 2}", "s.json:2: \"schema_version\"" },
    { "{\"schema\": \"kreach.sigma\", \"schema_version\": 1}", "must be a list of 1 to 4096" },
    { HEAD "]}", "s.json:1: \"entries\" must be a list" },
    { HEAD "3]}", "s.json:2: an entry must be an object" },
    { HEAD "{}]}", "s.json:2: an entry needs \"select\"" },
    { HEAD "{\"select\": {\"op\": \"a\"}}]}", "s.json:2: an entry needs \"sigma\"" },
    { HEAD "{\"sigma\": 2,\n\"selct\": {}}]}", "s.json:3: unknown key 'selct' in an entry; did you "
                                               "mean 'select'?" },
    { HEAD "{\"sigma\": 2,\n\"sigma\": 2}]}", "s.json:3: not valid JSON: duplicate" },
    { HEAD "{\"sigma\": 2,\n\"select\": {}}]}", "s.json:3: the selector is empty" },
    { HEAD "{\"sigma\": 2, \"select\": {\"op\": \"a\",\n\"kernels\": \"b\"}}]}",
      "s.json:3: unknown key 'kernels' in a selector; did you mean 'kernel'?" },
    { HEAD "{\"sigma\": 2, \"select\": {\"op\": \"a\",\n\"colour\": \"b\"}}]}",
      "s.json:3: unknown key 'colour' in a selector; known: kernel, family, class" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"op\": 3}}]}", "s.json:3: 'op' must be a string" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"op\": \"\"}}]}", "s.json:3: 'op' must be a string" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"grid\": []}}]}",
      "s.json:3: expected a list of 1 to 3" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"grid\": [1,0]}}]}", "whole numbers >= 1" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"block\": [1.5]}}]}", "whole numbers >= 1" },
    { HEAD "{\"sigma\": 2, \"select\": {\n\"block\": [4294967296]}}]}", "whole numbers >= 1" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": 0}]}", "s.json:3: a speed-up must be > 0, "
                                                             "not 0" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": -1.5}]}", "must be > 0, not -1.5" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": NaN}]}", "s.json:3: not valid JSON" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": 1e999}]}", "s.json:3: not valid JSON" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": \"nan\"}]}", "s.json:3: expected a number or "
                                                                   "\"inf\"" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": [1]}]}", "expected a number or \"inf\"" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": null}]}", "expected a number or \"inf\"" },
    { HEAD "{\"select\": {\"op\": \"a\"},\n\"sigma\": {}}]}", "a range needs \"lo\" and \"hi\"" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"lo\": 2,\n\"hi\": 0}}]}",
      "s.json:3: a speed-up must be > 0" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"lo\": 2, \"hi\": 1}}]}",
      "s.json:2: lo is 2, above hi, 1" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"lo\": 1, \"hi\": 2, \"value\": 3}}]}",
      "value is 3, outside lo to hi, 1 to 2" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"low\": 1, \"hi\": 2}}]}",
      "unknown key 'low' in a range of speed-ups; did you mean 'lo'?" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"samples\": []}}]}", "1 to 1000000" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"samples\": [1,\n-2]}}]}",
      "s.json:3: a speed-up must be > 0, not -2" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": {\"samples\": [1], \"lo\": 1}}]}",
      "unknown key 'lo' in samples of a speed-up" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2,\n\"win_rate\": 1.01}]}",
      "s.json:3: a win rate is a fraction from 0 to 1, not 1.01" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2,\n\"win_rate\": -0.1}]}", "not -0.1" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2,\n\"win_rate\": \"inf\"}]}",
      "s.json:3: expected a number" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"win_rate\": {\"won\": 3, \"of\": 2}}]}",
      "won <= of" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"win_rate\": {\"won\": 3}}]}",
      "won <= of" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"win_rate\": {\"won\": 0, \"of\": 0}}]}",
      "'of' must be a whole number from 1" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"group\": 1}]}",
      "\"group\" must be true" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"group\": {\"launches_after\": 0}}]}",
      "'launches_after' must be a whole number from 1" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"evidence\": {\"devices\": \"x\"}}]}",
      "unknown key 'devices' in evidence; did you mean 'device'?" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2, \"evidence\": \"none\"}]}",
      "evidence must be an object" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2}\n], \"extra\": 1}",
      "s.json:3: unknown key 'extra' in a sigma file" },
    { HEAD "{\"select\": {\"op\": \"a\"}, \"sigma\": 2}]} x", "not valid JSON: end of file" },
    { HEAD "{\"a\\u001b[31m\": 1}]}", "s.json:2: unknown key 'a?[31m'" }, /* no terminal tricks */
};

static void a_broken_file_is_refused_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(broken); i++) {
        struct kr_sigma_file file;
        struct kr_err err = { 0 };

        if (read_text(broken[i].text, &file, &err))
            fail_msg("accepted: %s", broken[i].text);
        if (!strstr(err.msg, broken[i].message))
            fail_msg("'%s' does not say '%s'", err.msg, broken[i].message);
        assert_int_equal(err.code, KR_EINPUT);
        assert_null(file.entries);
    }
}

static void nesting_ten_thousand_deep_is_refused(void **state)
{
    enum { DEPTH = 10000 };
    char *text = malloc(DEPTH + 1);
    struct kr_sigma_file file;
    struct kr_err err = { 0 };

    (void)state;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    assert_false(read_text(text, &file, &err));
    assert_int_equal(err.code, KR_EINPUT);
    free(text);
}

static void a_missing_file_or_a_directory_is_named(void **state)
{
    struct kr_sigma_file file;
    struct kr_err err = { 0 };

    (void)state;
    assert_false(kr_sigma_read("/no/such/sigma.json", &file, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_non_null(strstr(err.msg, "'/no/such/sigma.json'"));
    assert_false(kr_sigma_read("/", &file, &err));
    assert_int_equal(err.code, KR_EINPUT);
}

static void appended_files_keep_the_place_of_each_entry(void **state)
{
    struct kr_sigma_file all = read_sigma("2"), more = { 0 };
    struct kr_err err = { 0 };
    static const char text[] = HEAD "\n{\"select\": {\"op\": \"b\"}, \"sigma\": 3}]}";

    (void)state;
    assert_true(kr_sigma_read_mem("t.json", text, sizeof text - 1, &more, &err));
    assert_true(kr_sigma_append(&all, &more, &err));
    assert_null(more.entries);
    assert_string_equal(all.name, "s.json, t.json");
    assert_int_equal(all.n_entries, 2);
    assert_string_equal(all.entries[0].file, "s.json");
    assert_string_equal(all.entries[1].file, "t.json");
    assert_int_equal(all.entries[0].line, 2);
    assert_int_equal(all.entries[1].line, 3);
    assert_true(all.entries[1].sigma == 3);
    kr_sigma_free(&all);
}

static void the_shipped_examples_are_valid(void **state)
{
    static const char *const examples[] = { "article-dlrm.sigma.json", "groups.sigma.json" };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(examples); i++) {
        struct kr_sigma_file file;
        struct kr_err err = { 0 };
        char path[512];

        snprintf(path, sizeof path, KREACH_SOURCE_DIR "/docs/examples/%s", examples[i]);
        if (!kr_sigma_read(path, &file, &err))
            fail_msg("%s", err.msg);
        kr_sigma_free(&file);
    }
}

static void entries_are_numbered_in_linear_time(void **state)
{
    enum { N = 4096 };
    static const char item[] = "\n{\"select\": {\"op\": \"a\"}, \"sigma\": 2},";
    char *text = malloc(sizeof HEAD + N * sizeof item);
    size_t used = (size_t)sprintf(text, HEAD);
    struct kr_sigma_file file;
    struct kr_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < N; i++)
        used += (size_t)sprintf(text + used, "%s", item);
    strcpy(text + used - 1, "]}");
    assert_true(read_text(text, &file, &err));
    assert_int_equal(file.n_entries, N);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(file.entries[i].line, i + 3);
    kr_sigma_free(&file);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_keeps_everything_it_says),
        cmocka_unit_test(a_speedup_is_a_value_a_range_or_samples),
        cmocka_unit_test(a_broken_file_is_refused_with_its_line),
        cmocka_unit_test(nesting_ten_thousand_deep_is_refused),
        cmocka_unit_test(a_missing_file_or_a_directory_is_named),
        cmocka_unit_test(appended_files_keep_the_place_of_each_entry),
        cmocka_unit_test(the_shipped_examples_are_valid),
        cmocka_unit_test(entries_are_numbered_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"
#include "rules.h"

#define HEAD "{\"schema\":\"kreach.rules\",\"schema_version\":1,\"mode\":\"replace\",\"rules\":[\n"
#define RULE "\"family\":\"f\",\"origin\":\"user\",\"why\":\"w\""

static const char *path; /* of the file of the last text */

static struct kr_rules *load_text(const char *text, bool keep_bad, struct kr_err *err)
{
    const struct kr_rules_options opt = { .rule_files = &path,
                                          .n_rule_files = 1,
                                          .keep_bad_patterns = keep_bad };
    struct kr_rules *rules;

    path = scratch_file(text);
    rules = kr_rules_load(&opt, err);
    unlink(path);
    return rules;
}

static void bad_rule_files_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text;
        size_t line;
        const char *what;
    } cases[] = {
        { "", 1, "" },
        { "{\n\"schema\":\n!", 3, "invalid token" },
        { "[]", 1, "not an object" },
        { "{\"schema\":\"kreach.policy\"}", 1, "must be \"kreach.rules\", not" },
        { "{\"schema\":\"kreach.rules\",\n\"schema_version\":2}", 2, "must be 1" },
        { "{\"schema\":\"kreach.rules\",\"schema_version\":1,\n\n\"mode\":\"append\"}", 3, "mode" },
        { "{\"schema\":\"kreach.rules\",\"schema_version\":1,\"mode\":\"extend\",\n\"rules\":{}}",
          2, "array" },
        { "{\"schema\":\"kreach.rules\",\"schema_version\":1,\"mode\":\"extend\",\"rules\":[],\n"
          "\"ruels\":[]}",
          2, "unknown key" },
        { HEAD "7]}", 2, "must be an object" },
        { HEAD "{" RULE ",\"name\":\"a\"}]}", 2, "'id' is missing" },
        { HEAD "{\n\"id\":\"A b\"," RULE ",\"name\":\"a\"}]}", 3, "'id' must be" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"a\"},\n\n{\"id\":\"a\"," RULE
               ",\"name\":\"b\"}]}",
          4, "already a rule" },
        { HEAD "{\"id\":\"a\"," RULE "}]}", 2, "at least one of" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"nmae\":1}]}", 3,
          "rule 'a': unknown key 'nmae' in a rule; did you mean 'name'?" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"b\"},{" RULE ",\"name\":\"c\",\n\"idd\":\"d\"}]}",
          3, "rule 2: unknown key 'idd' in a rule; did you mean 'id'?" },
        { HEAD "{\"id\":\"a\",\"id\":\"b\"," RULE ",\"name\":\"x\"}]}", 2, "duplicate" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"name\":3}]}", 3, "a pattern is a string" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\n\"name\":\"a(b\"}]}", 4, "at offset 3" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"op\":[\"ok\",\"b)\"]}]}", 3, "at offset 1 of 'b)'" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"op\":[\"ok\",\n\"b)\",\"c\"]}]}", 4, "of 'b)'" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"op\":[\"ok\",\n\"\"]}]}", 4, "none empty" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"op\":[]}]}", 3, "at least one alternative" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"flags\":[\"odd\"]}]}", 3, "flags are" },
        { HEAD "{\"id\":\"a\"," RULE ",\n\"kind\":\"copy\"}]}", 3, "'kind' must be" },
        { HEAD "{\"id\":\"a\",\"family\":\"F\",\"origin\":\"user\",\"why\":\"w\",\"name\":\"x\"}]}",
          2, "lower-case" },
        { HEAD "{\"id\":\"a\",\"family\":\"f\",\"origin\":\"me\",\"why\":\"w\",\"name\":\"x\"}]}",
          2, "'origin' must be" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"examples\":[7]}]}", 3, "an example is" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"examples\":[\"y\",\n7]}]}", 4,
          "rule 'a': an example is" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"examples\":[{\n\"op\":3}]}]}", 4,
          "'op' must be a string" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"near_misses\":\"y\"}]}", 3,
          "must be an array" },
        { HEAD "{\"id\":\"a\"," RULE ",\"name\":\"x\",\n\"examples\":[{\"nam\":\"y\"}]}]}", 3,
          "unknown key 'nam' in an example" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_err err = { 0 };
        char place[300];

        assert_null(load_text(cases[i].text, false, &err));
        assert_int_equal(err.code, KR_EINPUT);
        snprintf(place, sizeof place, "%s:%zu: ", path, cases[i].line);
        if (!strstr(err.msg, place) || !strstr(err.msg, cases[i].what))
            fail_msg("case %zu: wanted '%s...%s', got '%s'", i, place, cases[i].what, err.msg);
    }
}

static void bad_policies_are_refused_with_their_line(void **state)
{
#define POLICY "{\"schema\":\"kreach.policy\",\"schema_version\":1,\"name\":\"p\","
    static const struct {
        const char *text;
        size_t line;
    } cases[] = {
        { "{\"schema\":\"kreach.rules\"}", 1 },
        { POLICY "\n\"classes\":[]}", 2 },
        { POLICY "\"classes\":{\n\"gemm\":\"best\"}}", 2 },
        { POLICY "\"classes\":{\"gemm\":\"optimal\",\n\n\"gemm/me\":\"optimal\"}}", 3 },
        { POLICY "\"classes\":{},\n\"otherwise\":\"no\"}", 2 },
        { POLICY "\"classes\":{},\n\"extends\":\"other\"}", 2 },
        { POLICY "\"classes\":{},\n\"more\":1}", 2 },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct kr_rules_options opt = { .policy = scratch_file(cases[i].text) };
        struct kr_err err = { 0 };
        char place[300];

        assert_null(kr_rules_load(&opt, &err));
        unlink(opt.policy);
        assert_int_equal(err.code, KR_EINPUT);
        snprintf(place, sizeof place, "%s:%zu: ", opt.policy, cases[i].line);
        if (!strstr(err.msg, place))
            fail_msg("case %zu: wanted '%s', got '%s'", i, place, err.msg);
    }
}

static void files_that_cannot_be_read_are_input_errors(void **state)
{
    const char *missing = "/nonexistent/rules.json";
    const char *folder = "/tmp";
    struct kr_rules_options opt = { .rule_files = &missing, .n_rule_files = 1 };
    struct kr_err err = { 0 };

    (void)state;
    assert_null(kr_rules_load(&opt, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_non_null(strstr(err.msg, missing));
    opt.rule_files = &folder;
    assert_null(kr_rules_load(&opt, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_null(kr_rules_load(&(struct kr_rules_options){ .policy = "best" }, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "default, paper"));
}

static void long_patterns_and_deep_nesting_are_refused(void **state)
{
    struct kr_err err = { 0 };
    char *text = malloc(200000);
    size_t n;

    (void)state;
    assert_non_null(text);
    n = (size_t)sprintf(text, "%s", HEAD "{\"id\":\"a\"," RULE ",\"name\":\"");
    memset(text + n, 'a', 4097);
    strcpy(text + n + 4097, "\"}]}");
    assert_null(load_text(text, false, &err));
    assert_non_null(strstr(err.msg, "4096 bytes"));
    n = (size_t)sprintf(text, "%s", HEAD "{\"id\":\"a\"," RULE ",\"op\":[\"");
    memset(text + n, 'a', 4100);
    memcpy(text + n + 2000, "\",\"", 3);
    strcpy(text + n + 4100, "\"]}]}");
    assert_null(load_text(text, false, &err));
    assert_non_null(strstr(err.msg, "4096 bytes"));
    memset(text, '[', 100000);
    text[100000] = '\0';
    assert_null(load_text(text, false, &err));
    assert_int_equal(err.code, KR_EINPUT);
    free(text);
}

/* Every rule has its own line, and finding the lines costs one pass, not one for each rule. */
static void ten_thousand_rules_load_at_once_with_their_lines(void **state)
{
    enum { N = 10000 };
    struct kr_err err = { 0 };
    struct kr_rules *rules;
    struct timespec before, after;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    fputs(HEAD, out);
    for (size_t i = 0; i < N; i++)
        fprintf(out,
                "%s{\"id\":\"r%zu\"," RULE ",\n\"name\":\"^k%zu$\",\n\"examples\":[\"k%zu\"]}\n",
                i ? "," : "", i, i, i);
    fputs("]}", out);
    fclose(out);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    rules = load_text(text, false, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    free(text);
    if (!rules)
        fail_msg("%s", err.msg);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(kr_rules_line(rules, i), 2 + 3 * i);
    kr_rules_free(rules);
    /* Two searches from the top for each rule would read 10 GB. */
    assert_true(after.tv_sec - before.tv_sec < 5);
}

/* Runs a check and returns its log, which the caller frees. */
static char *check(const char *text, size_t *problems)
{
    struct kr_err err = { 0 };
    struct kr_rules *rules = load_text(text, true, &err);
    struct kr_rules_check found;
    char *log = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&log, &size);

    if (!rules)
        print_error("%s\n", err.msg);
    assert_non_null(rules);
    assert_true(kr_rules_check(rules, out, &found, &err));
    fclose(out);
    kr_rules_free(rules);
    *problems = 0;
    for (char *line = log; (line = strchr(line, '\n')) != NULL; line++)
        *problems += 1;
    assert_int_equal(*problems, found.problems);
    return log;
}

static void the_check_finds_what_is_wrong_with_rules(void **state)
{
    static const struct {
        const char *rules, *what;
    } cases[] = {
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\",\"examples\":[\"b\"]}", "matches no rule" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\",\"examples\":[\"a\"],\n\"near_misses\":[\"ab\"]}",
          ":3: rule 'a': takes its near-miss 'ab'" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\"},\n{\"id\":\"b\",\"family\":\"g\",\"origin\":"
          "\"user\",\"why\":\"w\",\"name\":\"^ab\",\"examples\":[\"abc\",\"xabc\"]}",
          "disagrees with rule 'a' on 'abc': g here, f there" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\"},{\"id\":\"b\"," RULE
          ",\"name\":\"^ab\",\"examples\":[\"abc\"]}",
          "can never fire: earlier rules take all" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\"},{\"id\":\"b\"," RULE ",\"name\":\"^a\"}",
          "rule 'b': can never fire: rule 'a' before it has the same patterns" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"a(\"}", "is not a pattern" },
        { "\n{\"id\":\"a\"," RULE ",\"name\":\"^a\",\n\"examples\":[\"a\",\n\"b\"]}",
          ":5: rule 'a': its example 'b' matches no rule" },
        { "{\"id\":\"a\"," RULE ",\"name\":\"^a\",\n\n\"ex\\u0061mples\":[\"b\"]}",
          ":2: rule 'a'" },
        { "{\"id\":\"a\"," RULE ",\"kind\":\"memcpy\",\"examples\":[{\"kind\":\"memset\"}]}",
          "example 'memset' matches no rule" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        char text[1024];
        size_t problems;
        char *log;

        snprintf(text, sizeof text, HEAD "%s]}", cases[i].rules);
        log = check(text, &problems);
        if (!strstr(log, cases[i].what))
            fail_msg("case %zu: wanted '%s', got '%s'", i, cases[i].what, log);
        free(log);
    }
}

static void the_check_finds_policy_entries_for_no_family(void **state)
{
    size_t problems;
    char *log = check(HEAD "{\"id\":\"a\"," RULE ",\"name\":\"^a\"}]}", &problems);

    (void)state;
    assert_non_null(strstr(log, "no rule gives the family of its entry 'gemm/vendor'"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_rule_files_are_refused_with_their_line),
        cmocka_unit_test(bad_policies_are_refused_with_their_line),
        cmocka_unit_test(files_that_cannot_be_read_are_input_errors),
        cmocka_unit_test(long_patterns_and_deep_nesting_are_refused),
        cmocka_unit_test(ten_thousand_rules_load_at_once_with_their_lines),
        cmocka_unit_test(the_check_finds_what_is_wrong_with_rules),
        cmocka_unit_test(the_check_finds_policy_entries_for_no_family),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

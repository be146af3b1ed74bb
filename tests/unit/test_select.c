#include "select.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mem.h"
#include "predict_warn.h"
#include "words.h"

static const struct {
    const char *glob, *text;
    bool match;
} globs[] = {
    { "", "", true },          { "*", "", true },         { "?", "", false },
    { "a", "a", true },        { "a", "ab", false },      { "a*", "abc", true },
    { "*c", "abc", true },     { "*b", "abc", false },    { "a*c", "abbbc", true },
    { "a?c", "abc", true },    { "a?c", "ac", false },    { "*ab*ab", "abab", true },
    { "*ab*ab", "ab", false }, { "**a**", "xax", true },  { "float*", "float*", true },
    { "[a]", "a", false },     { "*aab", "aaaab", true }, { "a*b*c", "axbxbxc", true },
};

static void globs_match_whole_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(globs); i++)
        if (kr_glob_match(globs[i].glob, globs[i].text) != globs[i].match)
            fail_msg("'%s' on '%s'", globs[i].glob, globs[i].text);
}

static const struct {
    const char *a, *b;
    bool same;
} devices[] = {
    { "H200", "NVIDIA H200", true },
    { "NVIDIA H200", "NVIDIA H100", false },
    { "nvidia h200", "NVIDIA H200", true },
    { "A100-80GB", "NVIDIA A100-SXM4-80GB", true },
    { "A100", "NVIDIA A100 80GB PCIe", true },
    { "H20", "NVIDIA H200", false },
    { "GeForce RTX 5090", "NVIDIA GeForce RTX 5090", true },
    { "RTX 5090", "NVIDIA GeForce RTX 4090", false },
};

static void devices_are_the_same_by_their_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(devices); i++) {
        assert_int_equal(kr_same_device(devices[i].a, devices[i].b), devices[i].same);
        assert_int_equal(kr_same_device(devices[i].b, devices[i].a), devices[i].same);
    }
}

static const struct {
    enum kr_word_kind kind;
    const char *word, *near; /* near: NULL = the word is known */
} words[] = {
    { KR_WORD_CLASS, "optimal", NULL },         { KR_WORD_CLASS, "optmal", "optimal" },
    { KR_WORD_ORIGIN, "framework", NULL },      { KR_WORD_ORIGIN, "frame_work", "framework" },
    { KR_WORD_FAMILY, "norm", NULL },           { KR_WORD_FAMILY, "nrom", "norm" },
    { KR_WORD_FAMILY, "no-family-at-all", "" }, { KR_WORD_RULE, "no-such-rule-at-all", "" },
};

static void words_are_found_or_the_nearest_is_named(void **state)
{
    struct kr_err err = { 0 };
    struct kr_rules *rules = kr_rules_load(NULL, &err);

    (void)state;
    assert_non_null(rules);
    for (size_t i = 0; i < KR_COUNT(words); i++) {
        uint32_t number = UINT32_MAX;
        const char *near = "x";
        bool found = kr_word_find(rules, words[i].kind, words[i].word, &number, &near);

        assert_int_equal(found, words[i].near == NULL);
        if (!found && *words[i].near)
            assert_string_equal(near, words[i].near);
        else if (!found)
            assert_null(near);
    }
    kr_rules_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_whole_strings),
        cmocka_unit_test(devices_are_the_same_by_their_words),
        cmocka_unit_test(words_are_found_or_the_nearest_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

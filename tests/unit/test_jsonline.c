#include "jsonline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"
#include "nearest.h"

static const char sample[] = "{\n"
                             "  \"a]\\\"\": \"x\\\\\",\n"
                             "  \"list\": [\n"
                             "    {\"k\": 1, \"deep\": {\n"
                             "      \"leaf\": true}},\n"
                             "\n"
                             "    -1.5e3, \"two\\n\", null,\n"
                             "    [[],\n"
                             "     [\"}\"]]\n"
                             "  ],\n"
                             "  \"end\":\n"
                             "     0}\n";

static const struct {
    struct kr_json_step path[4];
    size_t n;
    size_t line;
} places[] = {
    { { { NULL, 0 } }, 0, 1 },
    { { { "list", 0 } }, 1, 3 },
    { { { "list", 0 }, { NULL, 0 } }, 2, 4 },
    { { { "list", 0 }, { NULL, 0 }, { "deep", 0 }, { "leaf", 0 } }, 4, 5 },
    { { { "list", 0 }, { NULL, 1 } }, 2, 7 },
    { { { "list", 0 }, { NULL, 3 } }, 2, 7 },
    { { { "list", 0 }, { NULL, 4 }, { NULL, 1 } }, 3, 9 },
    { { { "end", 0 } }, 1, 11 },
    { { { "none", 0 } }, 1, 1 },              /* no such member: the object */
    { { { "list", 0 }, { NULL, 9 } }, 2, 3 }, /* no such element: the array */
    { { { "list", 0 }, { "k", 0 } }, 2, 3 },  /* an array has no members */
    { { { "end", 0 }, { "k", 0 } }, 2, 11 },  /* a number has none either */
    { { { "list", 0 }, { NULL, 0 }, { "nothing", 0 } }, 3, 4 },
};

static void a_place_is_found_on_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(places); i++)
        assert_int_equal(kr_jsonline_find(sample, sizeof sample - 1, places[i].path, places[i].n),
                         places[i].line);
}

static void elements_of_an_array_are_numbered_in_one_pass(void **state)
{
    static const struct {
        char first;
        size_t line;
    } expected[] = { { '{', 4 }, { '-', 7 }, { '"', 7 }, { 'n', 7 }, { '[', 8 } };
    const struct kr_json_step path[] = { { "list", 0 } };
    struct kr_json_place found[8];

    (void)state;
    assert_int_equal(kr_jsonline_items(sample, sizeof sample - 1, path, 1, found, 8), 5);
    for (size_t i = 0; i < KR_COUNT(expected); i++) {
        assert_int_equal(found[i].line, expected[i].line);
        assert_int_equal(sample[found[i].offset], expected[i].first);
    }
    assert_int_equal(kr_jsonline_items(sample, sizeof sample - 1, path, 1, found, 2), 2);
    assert_int_equal(kr_jsonline_items(sample, sizeof sample - 1, NULL, 0, found, 8), 0);
}

static void a_zero_byte_between_values_is_passed(void **state)
{
    static const char text[] = "[1\0,\n2]";
    const struct kr_json_step second = { NULL, 1 };

    (void)state;
    assert_int_equal(kr_jsonline_find(text, sizeof text - 1, &second, 1), 2);
}

/* The text should be valid, but no cut of it may send the scanner out of its bounds. */
static void a_cut_text_ends_the_search(void **state)
{
    const struct kr_json_step path[] = { { "list", 0 }, { NULL, 4 }, { NULL, 1 } };

    (void)state;
    for (size_t len = 0; len < sizeof sample; len++) {
        char *copy = malloc(len + 1);
        struct kr_json_place found[8];

        assert_non_null(copy);
        memcpy(copy, sample, len);
        assert_true(kr_jsonline_find(copy, len, path, 3) >= 1);
        assert_true(kr_jsonline_items(copy, len, path, 1, found, 8) <= 8);
        free(copy);
    }
}

static void a_deeply_nested_value_is_passed_without_recursion(void **state)
{
    enum { DEPTH = 1000000 };
    const struct kr_json_step path[] = { { NULL, 1 } };
    char *text = malloc(2 * DEPTH + 8);

    (void)state;
    assert_non_null(text);
    text[0] = '[';
    memset(text + 1, '[', DEPTH);
    memset(text + 1 + DEPTH, ']', DEPTH);
    memcpy(text + 1 + 2 * DEPTH, ",\n7]", 5);
    assert_int_equal(kr_jsonline_find(text, 2 * DEPTH + 5, path, 1), 2);
    free(text);
}

static const struct {
    const char *a, *b;
    size_t distance;
} words[] = {
    { "", "", 0 },    { "norm", "norm", 0 },      { "nrom", "norm", 1 }, { "norms", "norm", 1 },
    { "", "abc", 3 }, { "kitten", "sitting", 3 }, { "ab", "ba", 1 },     { "softmax", "soft", 3 },
};

static void edit_distance_counts_single_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(words); i++) {
        assert_int_equal(kr_edit_distance(words[i].a, words[i].b), words[i].distance);
        assert_int_equal(kr_edit_distance(words[i].b, words[i].a), words[i].distance);
    }
}

static const char *nearest(const char *typed)
{
    static const char *const known[] = { "norm", "softmax", "elementwise", "gemm", "conv" };
    struct kr_nearest n = { 0 };

    for (size_t i = 0; i < KR_COUNT(known); i++)
        kr_nearest_offer(&n, typed, known[i]);
    return n.word;
}

static void only_a_near_word_is_suggested(void **state)
{
    char lengthy[200];

    (void)state;
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_string_equal(nearest("nrom"), "norm");
    assert_string_equal(nearest("elemntwise"), "elementwise");
    assert_string_equal(nearest("soft_max"), "softmax");
    assert_null(nearest("attention"));
    assert_null(nearest(""));
    assert_null(nearest(lengthy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_on_its_line),
        cmocka_unit_test(elements_of_an_array_are_numbered_in_one_pass),
        cmocka_unit_test(a_zero_byte_between_values_is_passed),
        cmocka_unit_test(a_cut_text_ends_the_search),
        cmocka_unit_test(a_deeply_nested_value_is_passed_without_recursion),
        cmocka_unit_test(edit_distance_counts_single_mistakes),
        cmocka_unit_test(only_a_near_word_is_suggested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Documents by hand: places of many values, and messages at the right one. */
#include "strict_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"

static const char text[] = "{\"name\": \"n\",\n"
                           " \"list\": [\n"
                           "  {\"inner\":\n"
                           "    [1,\n"
                           "     2]},\n"
                           "  {\"inn\\u0065r\": [3]}],\n"
                           " \"empty\": \"\"}\n";

static void open_text(struct kr_doc *doc)
{
    struct kr_err err = { 0 };

    if (!kr_doc_open_mem(doc, "d.json", text, sizeof text - 1, &err))
        fail_msg("%s", err.msg);
}

static void elements_inside_of_an_element_are_placed_in_the_whole_document(void **state)
{
    struct kr_err err = { 0 };
    struct kr_doc doc;
    struct kr_json_place *outer, *inner;

    (void)state;
    open_text(&doc);
    outer = kr_doc_places(&doc, NULL, "list", 2, &err);
    assert_non_null(outer);
    assert_int_equal(outer[0].line, 3);
    assert_int_equal(outer[1].line, 6);
    assert_string_equal(doc.text + outer[1].offset, strstr(text, "{\"inn\\"));
    inner = kr_doc_places(&doc, &outer[0], "inner", 2, &err);
    assert_non_null(inner);
    assert_int_equal(inner[0].line, 4);
    assert_int_equal(inner[1].line, 5);
    assert_string_equal(doc.text + inner[1].offset, strstr(text, "2]"));
    free(inner);
    free(outer);
    kr_doc_close(&doc);
}

static void an_element_that_is_not_found_has_the_place_of_its_object(void **state)
{
    struct kr_err err = { 0 };
    struct kr_doc doc;
    struct kr_json_place *outer, *inner;

    (void)state;
    open_text(&doc);
    outer = kr_doc_places(&doc, NULL, "list", 3, &err);
    assert_non_null(outer);
    assert_int_equal(outer[2].line, 1); /* there are two */
    assert_int_equal(outer[2].offset, 0);
    inner = kr_doc_places(&doc, &outer[1], "inner", 1, &err); /* its key is escaped */
    assert_non_null(inner);
    assert_memory_equal(inner, &outer[1], sizeof *inner);
    free(inner);
    free(outer);
    kr_doc_close(&doc);
}

static void a_message_has_the_place_and_the_subject(void **state)
{
    struct kr_err err = { 0 };
    struct kr_doc doc;

    (void)state;
    open_text(&doc);
    assert_false(kr_doc_fail_key(&doc, "list", &err, "no\n%d", 7));
    assert_int_equal(err.code, KR_EINPUT);
    assert_string_equal(err.msg, "d.json:2: no?7");
    kr_doc_enter_key(&doc, "list");
    kr_doc_enter_index(&doc, 0);
    doc.subject = "item 'x'";
    assert_false(kr_doc_fail_key(&doc, "none", &err, "gone"));
    assert_string_equal(err.msg, "d.json:3: item 'x': gone");
    kr_doc_leave(&doc);
    kr_doc_enter_index(&doc, 1);
    assert_false(kr_doc_fail(&doc, &err, "bad"));
    assert_string_equal(err.msg, "d.json:6: item 'x': bad");
    for (size_t i = 0; i < 2 * KR_DOC_DEPTH_MAX; i++) /* deeper than is kept: still a line */
        kr_doc_enter_key(&doc, "more");
    assert_false(kr_doc_fail_key(&doc, "key", &err, "deep"));
    assert_string_equal(err.msg, "d.json:6: item 'x': deep");
    kr_doc_close(&doc);
}

static void strings_are_there_and_not_empty(void **state)
{
    struct kr_err err = { 0 };
    const char *out;
    struct kr_doc doc;

    (void)state;
    open_text(&doc);
    assert_string_equal(kr_doc_need_text(&doc, doc.root, "name", &err), "n");
    assert_true(kr_doc_text(&doc, doc.root, "none", &out, &err));
    assert_null(out);
    assert_null(kr_doc_need_text(&doc, doc.root, "none", &err));
    assert_string_equal(err.msg, "d.json:1: 'none' is missing");
    assert_false(kr_doc_text(&doc, doc.root, "empty", &out, &err));
    assert_string_equal(err.msg, "d.json:7: 'empty' must be a string that is not empty");
    assert_false(kr_doc_text(&doc, doc.root, "list", &out, &err));
    assert_string_equal(err.msg, "d.json:2: 'list' must be a string that is not empty");
    kr_doc_close(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_inside_of_an_element_are_placed_in_the_whole_document),
        cmocka_unit_test(an_element_that_is_not_found_has_the_place_of_its_object),
        cmocka_unit_test(a_message_has_the_place_and_the_subject),
        cmocka_unit_test(strings_are_there_and_not_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the parts of a run add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "import_kreach.h"
#include "kreach_build.h"
#include "record.h"
#include "scratch.h"

/* Two sections: one with both kinds of losses, one of a format that comes after ours. */
static void build_sections(struct kr_build *b)
{
    kr_build_section(b, 1);
    kr_build_chunk(
        b, KREACH_LOST,
        KR_FIELDS(KR_V(KREACH_LOST_WRITE), KR_V(9), KR_V(0), KR_S(0), KR_S(0), KR_T("")));
    kr_build_chunk(
        b, KREACH_LOST,
        KR_FIELDS(KR_V(KREACH_LOST_CUPTI), KR_V(2), KR_V(0), KR_S(0), KR_S(0), KR_T("")));
    kr_build_chunk(
        b, KREACH_HEAD,
        KR_FIELDS(KR_V(KREACH_VERSION_MAJOR + 1), KR_V(0), KR_V(7), KR_V(1), KR_V(0), KR_T("")));
}

static void what_the_disk_did_not_take_and_what_is_too_new_is_told_apart(void **state)
{
    const struct kr_record_own own = { .run_id = "" };
    struct kr_build b = { 0 };
    struct kr_record_sum sum;
    struct kr_err err = { 0 };
    char prefix[200];
    char folder[256];
    char path[300];
    FILE *file;

    (void)state;
    snprintf(prefix, sizeof prefix, "%s/kreach_parts", scratch_root());
    assert_true(kr_record_make_folder(prefix, folder, sizeof folder, &err));
    snprintf(path, sizeof path, "%s/a.part", folder);
    file = fopen(path, "wb");
    assert_non_null(file);
    build_sections(&b);
    assert_int_equal(fwrite(b.file.data, 1, b.file.len, file), b.file.len);
    assert_int_equal(fclose(file), 0);
    kr_build_free(&b);
    assert_true(kr_record_collect(folder, &own, NULL, &sum, &err));
    kr_record_remove_folder(folder);
    assert_int_equal(sum.processes, 2);
    assert_int_equal(sum.unwritten, 9);
    assert_int_equal(sum.dropped, 11);
    assert_int_equal(sum.newer, 1);
}

/* The recorder's limit is the reader's. */
static void many_thousand_processes_make_a_file_that_can_be_read(void **state)
{
    enum { PROCESSES = 20000 };
    struct kr_build one = { 0 };
    struct kr_bytes file = { 0 };
    struct kr_timeline *t;
    struct kr_err err = { 0 };

    (void)state;
    kr_build_process(&one, 1, "kernel", 1);
    for (size_t i = 0; i < PROCESSES; i++)
        assert_true(kr_bytes_put(&file, one.file.data, one.file.len, &err));
    t = kr_import_kreach("many", file.data, file.len, &err);
    if (!t)
        print_error("%s\n", err.msg);
    assert_non_null(t);
    assert_int_equal(t->n_events, PROCESSES);
    kr_timeline_free(t);
    kr_bytes_free(&file);
    kr_build_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_disk_did_not_take_and_what_is_too_new_is_told_apart),
        cmocka_unit_test(many_thousand_processes_make_a_file_that_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

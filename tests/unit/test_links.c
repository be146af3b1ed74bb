/* Ties between device work, launch calls and the ranges around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "links.h"
#include "mem.h"
#include "note_name.h"

static void add_range(struct kr_links *l, uint64_t thread, int64_t start_ns, int64_t end_ns,
                      uint32_t name)
{
    struct kr_err err = { 0 };
    struct kr_range r = { .start_ns = start_ns,
                          .end_ns = end_ns,
                          .thread = thread,
                          .name = name,
                          .label = name,
                          .parent = KR_NO_RANGE,
                          .nests = name < 100 };

    assert_true(kr_links_add_range(l, r, &err));
}

static void add_launch(struct kr_links *l, uint64_t thread, int64_t start_ns, uint32_t correlation)
{
    struct kr_err err = { 0 };
    struct kr_launch launch = { .start_ns = start_ns, .thread = thread };

    launch.correlation = correlation;
    assert_true(kr_links_add_launch(l, launch, &err));
}

/* Name of the range around the launch; 0 = none. */
static uint32_t around(const struct kr_links *l, uint32_t correlation)
{
    const struct kr_launch *launch = kr_links_find(l, correlation);

    assert_non_null(launch);
    return launch->range == KR_NO_RANGE ? 0 : l->ranges[launch->range].name;
}

static void the_innermost_range_of_the_thread_is_around_a_launch(void **state)
{
    static const struct {
        uint64_t thread;
        int64_t start_ns;
        uint32_t name;
    } launches[] = {
        { 1, 5, 0 },   { 1, 10, 1 },  { 1, 25, 2 },  { 1, 30, 1 }, { 1, 45, 3 },
        { 1, 99, 1 },  { 1, 100, 0 }, { 2, 25, 4 },  { 2, 60, 0 }, { 3, 25, 0 },
        { 1, 250, 5 }, { 1, 270, 6 }, { 1, 290, 6 }, /* 6 outlives 5, which is no nesting */
    };
    struct kr_links l = { 0 };

    (void)state;
    add_range(&l, 1, 40, 50, 3);
    add_range(&l, 1, 10, 100, 1);
    add_range(&l, 2, 0, 60, 4);
    add_range(&l, 1, 20, 30, 2);
    add_range(&l, 1, 0, 1000, 100); /* start/end: encloses nothing */
    add_range(&l, 1, 240, 280, 5);
    add_range(&l, 1, 260, 300, 6);
    for (uint32_t i = 0; i < KR_COUNT(launches); i++)
        add_launch(&l, launches[i].thread, launches[i].start_ns, i + 1);
    kr_links_resolve(&l);
    for (uint32_t i = 0; i < KR_COUNT(launches); i++)
        assert_int_equal(around(&l, i + 1), launches[i].name);
    assert_null(kr_links_find(&l, 999));
    kr_links_free(&l);
}

static void of_two_rows_of_one_call_the_outer_stays(void **state)
{
    struct kr_links l = { 0 };

    (void)state;
    add_launch(&l, 1, 15, 7);
    add_launch(&l, 1, 10, 7);
    add_launch(&l, 1, 30, 8);
    kr_links_resolve(&l);
    assert_int_equal(l.n_launches, 2);
    assert_int_equal(kr_links_find(&l, 7)->start_ns, 10);
    kr_links_free(&l);
}

static void ranges_cover_what_the_ranges_inside_cover(void **state)
{
    struct kr_links l = { 0 };

    (void)state;
    add_range(&l, 1, 0, 100, 1);
    add_range(&l, 1, 10, 20, 2);
    add_range(&l, 1, 30, 40, 3);
    kr_links_resolve(&l);
    kr_links_cover(&l, 1, 500, 600, 9);
    kr_links_cover(&l, 1, 700, 710, 9);
    kr_links_cover(&l, 2, 400, 450, 8);
    kr_links_widen(&l);
    assert_int_equal(l.ranges[0].first_work_ns, 400);
    assert_int_equal(l.ranges[0].last_work_ns, 710);
    assert_int_equal(l.ranges[0].track, 8);
    assert_int_equal(l.ranges[1].first_work_ns, 500);
    assert_int_equal(l.ranges[1].last_work_ns, 710);
    assert_true(l.ranges[2].has_work);
    kr_links_free(&l);
}

/* Ranges that hold (an optimizer's step) give their label to what is inside. */
static void a_range_that_holds_labels_what_is_inside(void **state)
{
    struct kr_links l = { 0 };

    (void)state;
    add_range(&l, 1, 0, 100, 1);
    add_range(&l, 1, 10, 90, 2);
    add_range(&l, 1, 20, 30, 3);
    l.ranges[1].holds = true;
    kr_links_resolve(&l);
    assert_int_equal(l.ranges[0].label, 1);
    assert_int_equal(l.ranges[1].label, 2);
    assert_int_equal(l.ranges[2].label, 2);
    assert_true(kr_note_name_holds("Optimizer.step#Adam.step"));
    assert_false(kr_note_name_holds("optimizer"));
    kr_links_free(&l);
}

static void names_that_differ_in_numbers_share_a_pattern(void **state)
{
    static const struct {
        const char *name, *pattern;
    } cases[] = {
        { "step 12", "step *" }, { "", "" },     { "7", "*" },
        { "a1b22c", "a*b*c" },   { "no", "no" }, { "ProfilerStep#10", "ProfilerStep#*" },
    };
    struct kr_err err = { 0 };
    struct kr_strpool *pool = kr_strpool_new(&err);

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        uint32_t name = kr_strpool_intern(pool, cases[i].name, strlen(cases[i].name), &err);
        uint32_t pattern = kr_note_name_pattern(pool, name, &err);

        assert_string_equal(kr_strpool_get(pool, pattern, NULL), cases[i].pattern);
    }
    kr_strpool_free(pool);
}

/* Many open ranges and as many launches inside: no launch may look at every range. */
static void deep_nesting_costs_linear_time(void **state)
{
    enum { DEEP = 200000 };
    struct kr_links l = { 0 };

    (void)state;
    for (int64_t i = 0; i < DEEP; i++)
        add_range(&l, 1, i, 4 * DEEP - i, 1);
    for (uint32_t i = 0; i < DEEP; i++)
        add_launch(&l, 1, 2 * DEEP + i, i + 1);
    kr_links_resolve(&l);
    for (uint32_t i = 0; i < DEEP; i++)
        kr_links_cover(&l, kr_links_find(&l, i + 1)->range, i, i + 1, 0);
    kr_links_widen(&l);
    assert_int_equal(l.ranges[0].last_work_ns, DEEP);
    kr_links_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_range_of_the_thread_is_around_a_launch),
        cmocka_unit_test(of_two_rows_of_one_call_the_outer_stays),
        cmocka_unit_test(ranges_cover_what_the_ranges_inside_cover),
        cmocka_unit_test(a_range_that_holds_labels_what_is_inside),
        cmocka_unit_test(names_that_differ_in_numbers_share_a_pattern),
        cmocka_unit_test(deep_nesting_costs_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The timeline model: interning, order, and what it finds suspicious. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"
#include "runs.h"

/* One kernel of the given name on a stream of device 0; all have the same correlation. */
static void add(struct kr_timeline *t, const char *name, int64_t stream, int64_t start_ns,
                uint64_t dur_ns)
{
    struct kr_err err = { 0 };
    const struct kr_event event = { .start_ns = start_ns,
                                    .dur_ns = dur_ns,
                                    .site = run_kernel(t, name),
                                    .correlation = 1,
                                    .lead_ns = KR_LEAD_UNKNOWN,
                                    .track = run_track(t, 0, stream) };

    assert_true(kr_timeline_add_event(t, event, &err));
}

static void strings_are_kept_once_and_byte_for_byte(void **state)
{
    struct kr_err err = { 0 };
    struct kr_strpool *pool = kr_strpool_new(&err);
    size_t len;

    (void)state;
    assert_non_null(pool);
    assert_int_equal(kr_strpool_intern(pool, "", 0, &err), 0);
    assert_int_equal(kr_strpool_intern(pool, "a\0b", 3, &err), 1);
    assert_int_equal(kr_strpool_intern(pool, "a", 1, &err), 2);
    assert_int_equal(kr_strpool_intern(pool, "a\0b", 3, &err), 1);
    assert_memory_equal(kr_strpool_get(pool, 1, &len), "a\0b", 4);
    assert_int_equal(len, 3);
    assert_int_equal(kr_strpool_find(pool, "zz", 2), KR_STR_NONE);
    for (uint32_t i = 0; i < 100000; i++) {
        char text[16];
        int n = snprintf(text, sizeof text, "n%u", i);

        assert_int_equal(kr_strpool_intern(pool, text, (size_t)n, &err), i + 3);
    }
    assert_string_equal(kr_strpool_get(pool, 3 + 4711, NULL), "n4711");
    kr_strpool_free(pool);
}

static void equal_sites_share_an_index_and_any_field_tells_them_apart(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };
    struct kr_site site = { .name = 1, .grid = { 1, 2, 3 } };
    uint32_t first = kr_timeline_site(t, &site, &err);

    (void)state;
    assert_int_equal(kr_timeline_site(t, &site, &err), first);
    site.shared_bytes = 1;
    assert_int_equal(kr_timeline_site(t, &site, &err), first + 1);
    site.graph_node_id = 9;
    assert_int_equal(kr_timeline_site(t, &site, &err), first + 2);
    for (uint32_t i = 0; i < 5000; i++) {
        site.registers = i + 1;
        assert_int_equal(kr_timeline_site(t, &site, &err), first + 3 + i);
    }
    site.registers = 1;
    assert_int_equal(kr_timeline_site(t, &site, &err), first + 3);
    kr_timeline_free(t);
}

static void events_come_out_in_time_order_and_disorder_is_counted(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    for (int64_t i = 999; i >= 0; i--)
        add(t, "k", 7, i * 10, 5);
    run_finish(t);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(t->events[i].start_ns, (int64_t)i * 10);
    assert_int_equal(t->warnings[KR_WARN_OUT_OF_ORDER].count, 999);
    assert_true(kr_timeline_complete(t));
    assert_int_equal(t->counts.kernels, 1000);
    kr_timeline_free(t);
}

static void twins_are_counted_and_kept(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    add(t, "k", 7, 10, 5);
    add(t, "k", 7, 10, 5);
    add(t, "k", 8, 10, 5);
    run_finish(t);
    assert_int_equal(t->n_events, 3);
    assert_int_equal(t->warnings[KR_WARN_DUPLICATE].count, 1);
    kr_timeline_free(t);
}

/* One corrupt duration must not pass for a long kernel (and dependent launches must). */
static void a_duration_that_swallows_its_successors_is_flagged(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    add(t, "corrupt", 7, 0, 50000000);
    for (int64_t i = 1; i <= 6; i++)
        add(t, "k", 7, i * 100000, 90000);
    add(t, "beside", 8, 100, 40000000);
    run_finish(t);
    assert_int_equal(t->warnings[KR_WARN_OVERRUN].count, 1);
    assert_int_equal(t->events[0].flags, KR_EVENT_OVERRUN);
    assert_int_equal(t->events[1].flags, 0);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
}

static void programmatic_dependent_launch_is_not_an_overrun(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        add(t, "gemm", 7, i * 100000, 60000);
        add(t, "splitKreduce", 7, i * 100000 + 52000, 9000);
    }
    run_finish(t);
    assert_int_equal(t->warnings[KR_WARN_OVERRUN].count, 0);
    kr_timeline_free(t);
}

/* Adds `count` kernels of one launch of a graph, which share its correlation id. */
static void add_graph_launch(struct kr_timeline *t, uint32_t process, uint32_t graph,
                             uint32_t correlation, uint32_t count)
{
    const struct kr_track track = { .process = process, .stream = 7 };
    struct kr_site site = { .graph_id = graph };
    struct kr_err err = { 0 };

    for (uint32_t i = 0; i < count; i++) {
        struct kr_event event = { .dur_ns = 5, .correlation = correlation };

        site.graph_node_id = i + 1;
        event.start_ns = 1000 * correlation + 10 * i;
        event.site = kr_timeline_site(t, &site, &err);
        event.track = (uint16_t)kr_timeline_track(t, track, &err);
        assert_true(kr_timeline_add_event(t, event, &err));
    }
}

/* A loop inside of a graph whose later rounds are not recorded shows in nothing else. */
static void graphs_whose_launches_differ_are_counted(void **state)
{
    static const struct {
        uint32_t kernels[2][6]; /* of each launch of graph 1 and graph 2, which alternate */
        uint32_t processes, uneven;
    } cases[] = {
        { { { 3, 3, 3, 3 }, { 0 } }, 1, 0 },
        { { { 3, 9, 3, 3 }, { 0 } }, 1, 1 },
        { { { 3, 3, 2, 3 }, { 5, 5, 5, 5 } }, 1, 1 },
        { { { 3, 3, 2, 3, 3 }, { 5, 6, 5, 5 } }, 1, 2 },
        { { { 3, 3, 3, 3 }, { 9, 9, 9, 9 } }, 1, 0 },
        { { { 1, 3, 3, 2 }, { 0 } }, 1, 0 }, /* the recording began and ended inside */
        { { { 3, 9 }, { 0 } }, 1, 0 },
        { { { 3, 9, 2 }, { 0 } }, 1, 0 },
        /* the same numbers in two processes are other graphs and other launches */
        { { { 3, 3, 3, 3 }, { 0 } }, 2, 0 },
        { { { 3, 4, 5, 3 }, { 0 } }, 2, 2 },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_timeline *t = run_new();

        for (uint32_t j = 0; j < 2 * 6 * cases[i].processes; j++)
            add_graph_launch(t, 1 + j / 12, 1 + j % 2, 1 + j % 12,
                             cases[i].kernels[j % 2][j % 12 / 2]);
        run_finish(t);
        if (t->warnings[KR_WARN_UNEVEN_GRAPH].count != cases[i].uneven)
            fail_msg("case %zu: %u uneven", i, (unsigned)t->warnings[KR_WARN_UNEVEN_GRAPH].count);
        assert_true(kr_timeline_complete(t));
        kr_timeline_free(t);
    }
}

/* A pause may begin and end inside of a launch. */
static void launches_of_graphs_beside_a_pause_are_not_compared(void **state)
{
    static const uint32_t kernels[] = { 3, 1, 2, 3, 3 };

    (void)state;
    for (unsigned paused = 0; paused < 2; paused++) {
        struct kr_timeline *t = run_new();
        const struct kr_pause pause = { 2005, 2995 }; /* between the second and the third */
        struct kr_err err = { 0 };

        for (uint32_t i = 0; i < KR_COUNT(kernels); i++)
            add_graph_launch(t, 1, 1, 1 + i, kernels[i]);
        if (paused)
            assert_true(kr_timeline_add_pause(t, pause, &err));
        run_finish(t);
        assert_int_equal(t->warnings[KR_WARN_UNEVEN_GRAPH].count, !paused);
        kr_timeline_free(t);
    }
}

static void one_stream_id_on_two_devices_is_two_tracks(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };
    uint32_t d0 = kr_timeline_device(t, 0, &err);
    uint32_t d1 = kr_timeline_device(t, 1, &err);
    struct kr_track a = { .device = d0, .stream = 7 };
    struct kr_track b = { .device = d1, .stream = 7 };

    (void)state;
    assert_int_equal(kr_timeline_track(t, a, &err), 0);
    assert_int_equal(kr_timeline_track(t, b, &err), 1);
    assert_int_equal(kr_timeline_track(t, a, &err), 0);
    kr_timeline_free(t);
}

static void more_streams_than_the_model_holds_is_an_error_not_a_wrap(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };

    (void)state;
    for (int64_t i = 0; i < UINT16_MAX; i++)
        assert_int_equal(kr_timeline_track(t, (struct kr_track){ .stream = i }, &err), i);
    assert_int_equal(kr_timeline_track(t, (struct kr_track){ .stream = -1 }, &err), UINT32_MAX);
    assert_int_equal(err.code, KR_ENOMEM);
    kr_timeline_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_kept_once_and_byte_for_byte),
        cmocka_unit_test(equal_sites_share_an_index_and_any_field_tells_them_apart),
        cmocka_unit_test(events_come_out_in_time_order_and_disorder_is_counted),
        cmocka_unit_test(twins_are_counted_and_kept),
        cmocka_unit_test(a_duration_that_swallows_its_successors_is_flagged),
        cmocka_unit_test(programmatic_dependent_launch_is_not_an_overrun),
        cmocka_unit_test(graphs_whose_launches_differ_are_counted),
        cmocka_unit_test(launches_of_graphs_beside_a_pause_are_not_compared),
        cmocka_unit_test(one_stream_id_on_two_devices_is_two_tracks),
        cmocka_unit_test(more_streams_than_the_model_holds_is_an_error_not_a_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

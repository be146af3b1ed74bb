/* The account of time of small runs, each with what others got wrong in theirs. */
#include "accounts.h"

#include "mem.h"

/* The account of a window of a finished run, tagged by letter. */
static struct kr_account account_in(const struct kr_timeline *t, const struct kr_window *w)
{
    struct kr_tag *tags = tag_by_letter(t);
    struct kr_account a = account_of(t, tags, w);

    free(tags);
    return a;
}

/* The account of a whole run, which is finished here. */
static struct kr_account account_all(struct kr_timeline *t)
{
    struct kr_err err = { 0 };
    struct kr_window w;
    struct kr_account a;

    run_finish(t);
    if (!kr_window_choose(t, "all", &w, &err))
        fail_msg("window: %s", err.msg);
    a = account_in(t, &w);
    kr_window_free(&w);
    return a;
}

/* The row of a kernel's name; without one the test ends. */
static const struct kr_row_kernel *row_of(const struct kr_timeline *t, const struct kr_account *a,
                                          const char *name)
{
    for (size_t i = 0; i < a->n_kernels_rows; i++) {
        if (strcmp(kr_timeline_str(t, a->kernels_rows[i].name), name) == 0)
            return &a->kernels_rows[i];
    }
    fail_msg("no row '%s'", name);
    return NULL;
}

static void classes_and_idle_are_the_span(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 6, 57, 58: the remainder is a row of its own */
    run_work(t, "o", 1000, 300);
    run_work(t, "a", 1400, 100);
    run_event(t, track, run_site(t, KR_MEMSET, "v", ""), 1500, 50);
    run_work(t, "unknown", 1900, 100);
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, 1000);
    assert_int_equal(a.time.busy_ns, 550);
    assert_int_equal(a.time.idle_ns, 450);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 300);
    assert_int_equal(a.classes[KR_ADDRESSABLE].exclusive_ns, 100);
    assert_int_equal(a.classes[KR_OVERHEAD].exclusive_ns, 50);
    assert_int_equal(a.classes[KR_UNCLASSIFIED].exclusive_ns, 100);
    assert_int_equal(a.time.memset_sum_ns, 50);
    assert_int_equal(a.memsets, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void overlap_on_one_stream_is_shared_and_nothing_is_dropped(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaints 29, 43, 44: programmatic dependent launch */
    run_work(t, "o_splitK", 0, 100);
    run_work(t, "a_reduce", 80, 40);
    a = account_all(t);
    assert_int_equal(a.kernels, 2);
    assert_int_equal(a.time.busy_ns, 120);
    assert_int_equal(a.time.kernel_sum_ns, 140);
    assert_int_equal(row_of(t, &a, "o_splitK")->stats.exclusive_ns, 90);
    assert_int_equal(row_of(t, &a, "a_reduce")->stats.exclusive_ns, 30);
    assert_int_equal(row_of(t, &a, "a_reduce")->stats.sum_ns, 40);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void an_odd_nanosecond_goes_to_the_first_name(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state;
    run_work(t, "o_b", 0, 3);
    run_event(t, run_track(t, 0, 8), run_kernel(t, "o_a"), 0, 3);
    a = account_all(t);
    assert_int_equal(row_of(t, &a, "o_a")->stats.exclusive_ns, 2);
    assert_int_equal(row_of(t, &a, "o_b")->stats.exclusive_ns, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void work_of_no_duration_counts(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaints 15, 21, 44: also at the very end */
    run_work(t, "o", 0, 10);
    run_work(t, "a", 5, 0);
    run_work(t, "a", 10, 0);
    a = account_all(t);
    assert_int_equal(a.kernels, 3);
    assert_int_equal(a.time.wall_ns, 10);
    assert_int_equal(a.classes[KR_ADDRESSABLE].count, 2);
    assert_int_equal(a.classes[KR_ADDRESSABLE].exclusive_ns, 0);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 10);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_run_of_no_duration_is_not_empty(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state;
    run_work(t, "o", 5, 0);
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, 0);
    assert_int_equal(a.kernels, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void annotations_are_never_busy(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 31, 38 */
    run_work(t, "o", 0, 10);
    run_work(t, "o", 90, 10);
    run_annotation(t, "main", "step#0", -50, 500);
    run_twin(t, track, "step#0", 0, 100);
    a = account_all(t);
    assert_int_equal(a.time.busy_ns, 20);
    assert_int_equal(a.time.wall_ns, 100);
    assert_int_equal(a.time.kernel_sum_ns, 20);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void unlinked_kernels_count_as_busy(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 7, 17, 18, 22, 53: no op, no correlation; one launch, many kernels */
    for (int i = 0; i < 4; i++) {
        struct kr_site site = { .name = run_str(t, "o"), .graph_id = 9 };
        struct kr_event e = { .start_ns = 100 * i, .dur_ns = 60, .lead_ns = KR_LEAD_UNKNOWN };

        site.graph_node_id = 40 + (uint64_t)i;
        e.track = track;
        e.site = run_add_site(t, &site);
        e.correlation = i < 2 ? 0 : 5;
        assert_true(kr_timeline_add_event(t, e, &err));
    }
    a = account_all(t);
    assert_int_equal(a.kernels, 4);
    assert_int_equal(a.distinct_kernels, 1);
    assert_int_equal(a.time.busy_ns, 240);
    assert_int_equal(a.n_kernels_rows, 1);
    assert_int_equal(a.kernels_rows[0].stats.count, 4);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void one_stream_number_on_two_devices_is_two_streams(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaints 48, 49, 50: per device first, then a stated sum */
    run_work(t, "o", 0, 100);
    run_event(t, run_track(t, 1, 7), run_kernel(t, "o"), 0, 100);
    run_event(t, run_track(t, 1, 7), run_kernel(t, "a"), 150, 50);
    a = account_all(t);
    assert_int_equal(a.n_devices, 2);
    assert_int_equal(a.devices[0].time.busy_ns, 100);
    assert_int_equal(a.devices[0].time.idle_ns, 100);
    assert_int_equal(a.devices[1].time.busy_ns, 150);
    assert_int_equal(a.time.wall_ns, 400);
    assert_int_equal(a.time.busy_ns, 250);
    assert_int_equal(row_of(t, &a, "o")->stats.exclusive_ns, 200);
    for (size_t i = 0; i < a.n_devices; i++)
        assert_true(a.devices[i].time.busy_ns <= a.devices[i].time.wall_ns);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void thousands_at_once_share_evenly(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* nested: the i-th runs from i to 2n - i */
    for (int64_t i = 0; i < 6000; i++)
        run_event(t, run_track(t, 0, i % 500), run_kernel(t, i % 2 ? "o" : "a"), i,
                  (uint64_t)(2 * (6000 - i)));
    a = account_all(t);
    assert_int_equal(a.time.busy_ns, 12000);
    assert_int_equal(a.time.kernel_sum_ns, 6000 * 6001);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns + a.classes[KR_ADDRESSABLE].exclusive_ns,
                     12000);
    assert_in_range(a.classes[KR_ADDRESSABLE].exclusive_ns, 6001, 6010);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void collectives_are_split_into_exposed_and_hidden(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaint 5: never silently 0 */
    run_work(t, "o", 0, 60);
    run_event(t, run_track(t, 0, 20), run_kernel(t, "c_all_reduce"), 40, 60);
    run_event(t, run_track(t, 0, 21), run_kernel(t, "c_all_gather"), 90, 30);
    a = account_all(t);
    assert_int_equal(a.devices[0].collective_ns, 80);
    assert_int_equal(a.devices[0].collective_exposed_ns, 60);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_collective_that_waited_for_a_late_rank_is_told(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaint 28: one all-reduce of 17456 ms in a window of 18187 ms */
    run_work(t, "c_ar", 0, UINT64_C(17456000000));
    for (int64_t i = 0; i < 64; i++)
        run_work(t, "c_ar", INT64_C(17500000000) + 10000000 * i, 14300);
    run_work(t, "o", INT64_C(18187000000), 1000000000);
    for (int64_t i = 0; i < 3; i++)
        run_work(t, "o", INT64_C(18185000000) + 10000 * i, 1000);
    a = account_all(t);
    assert_true(kr_account_waits(&a, row_of(t, &a, "c_ar")));
    assert_false(kr_account_waits(&a, row_of(t, &a, "o")));
    assert_int_equal(row_of(t, &a, "c_ar")->stats.median_ns, 14300);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void collectives_that_take_alike_long_did_not_wait(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state;
    for (int64_t i = 0; i < 64; i++)
        run_work(t, "c_ar", 15000 * i, 14300 + (uint64_t)i);
    a = account_all(t);
    assert_false(kr_account_waits(&a, row_of(t, &a, "c_ar")));
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_wait_of_no_weight_is_not_told(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* fifty times the median, half a percent of the time */
    for (int64_t i = 0; i < 8; i++)
        run_work(t, "c_ar", 30 * i, 20);
    run_work(t, "c_ar", 1000, 1000);
    run_work(t, "o", 2000, 198000);
    a = account_all(t);
    assert_int_equal(row_of(t, &a, "c_ar")->stats.max_ns, 1000);
    assert_false(kr_account_waits(&a, row_of(t, &a, "c_ar")));
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_suspicious_overrun_still_counts(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaint 16: flagged by the timeline, kept in the account */
    run_work(t, "a", 0, 50000000);
    for (int64_t i = 1; i <= 9; i++)
        run_work(t, "o", 1000 * i, 900);
    a = account_all(t);
    assert_int_equal(t->warnings[KR_WARN_OVERRUN].count, 1);
    assert_int_equal(a.kernels, 10);
    assert_int_equal(a.time.busy_ns, 50000000);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 9 * 450);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void idle_time_has_causes(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "o");
    struct kr_account a;
    const struct kr_gaps *g;

    (void)state; /* complaint 26 */
    run_launch(t, track, site, 0, 1000, 5000);
    run_launch(t, track, site, 21000, 1000, 6000);              /* launched in the gap */
    run_launch(t, track, site, 24000, 1000, 900000);            /* queued long before */
    run_launch(t, track, site, 3025000, 1000, 8000);            /* the host was away for 3 ms */
    run_launch(t, track, site, 3027000, 1000, KR_LEAD_UNKNOWN); /* not recorded */
    run_launch(t, track, site, 3030000, 1000, 11000);           /* just before; calls take time */
    a = account_all(t);
    g = &a.devices[0].gaps;
    assert_int_equal(g->count, 5);
    assert_int_equal(g->launch_ns, 22000);
    assert_int_equal(g->launch_count, 2);
    assert_int_equal(g->queued_ns, 2000);
    assert_int_equal(g->host_ns, 3000000);
    assert_int_equal(g->unknown_ns, 1000);
    assert_int_equal(g->unknown_short_ns, 1000);
    assert_int_equal(sum_gaps_ns(g), a.time.idle_ns);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void steps_without_work_are_counted(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_step steps[] = { { 0, 100, 0 }, { 100, 200, 1 }, { 200, 300, 2 } };
    const struct kr_window w = {
        .kind = KR_WINDOW_STEADY, .start_ns = 0, .end_ns = 300, .steps = steps, .n_steps = 3
    };
    struct kr_account a;

    (void)state; /* complaint 19; the work of step 0 reaches into step 1 */
    run_work(t, "o", 0, 110);
    run_work(t, "a", 250, 10);
    run_finish(t);
    a = account_in(t, &w);
    assert_int_equal(a.empty_steps, 1);
    assert_int_equal(a.steps[1].count, 0);
    assert_int_equal(a.steps[1].time.busy_ns, 10);
    assert_int_equal(a.steps[1].class_exclusive_ns[KR_OPTIMAL], 10);
    assert_int_equal(a.steps[2].time.idle_ns, 90);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void times_at_the_edge_of_the_clock_do_not_overflow(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state;
    assert_true(kr_end_ns(INT64_MAX - 10, 11) == INT64_MAX);
    run_work(t, "o", INT64_MIN / 2, 10);
    run_work(t, "a", INT64_MAX - 10, 11); /* one too long */
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, (uint64_t)INT64_MAX + (uint64_t)(INT64_MAX / 2) + 1);
    assert_int_equal(a.time.busy_ns, 20);
    kr_account_free(&a);
    kr_timeline_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_and_idle_are_the_span),
        cmocka_unit_test(overlap_on_one_stream_is_shared_and_nothing_is_dropped),
        cmocka_unit_test(an_odd_nanosecond_goes_to_the_first_name),
        cmocka_unit_test(work_of_no_duration_counts),
        cmocka_unit_test(a_run_of_no_duration_is_not_empty),
        cmocka_unit_test(annotations_are_never_busy),
        cmocka_unit_test(unlinked_kernels_count_as_busy),
        cmocka_unit_test(one_stream_number_on_two_devices_is_two_streams),
        cmocka_unit_test(thousands_at_once_share_evenly),
        cmocka_unit_test(collectives_are_split_into_exposed_and_hidden),
        cmocka_unit_test(a_collective_that_waited_for_a_late_rank_is_told),
        cmocka_unit_test(collectives_that_take_alike_long_did_not_wait),
        cmocka_unit_test(a_wait_of_no_weight_is_not_told),
        cmocka_unit_test(a_suspicious_overrun_still_counts),
        cmocka_unit_test(idle_time_has_causes),
        cmocka_unit_test(steps_without_work_are_counted),
        cmocka_unit_test(times_at_the_edge_of_the_clock_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

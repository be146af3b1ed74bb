/* Stretches without recording: from the file to the timeline, the window, the account, the report.
 */
#include "runs.h"

#include <math.h>
#include <stdio.h>

#include "import_kreach.h"
#include "kreach_build.h"
#include "mem.h"
#include "render.h"
#include "report.h"

enum { SPAN_NS = 200, DEVICES = 2, STEPS = 4 };

static void pause_at(struct kr_timeline *t, int64_t start_ns, int64_t end_ns)
{
    struct kr_err err = { 0 };

    assert_true(kr_timeline_add_pause(t, (struct kr_pause){ start_ns, end_ns }, &err));
}

static void pauses_are_put_in_order_and_joined(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    pause_at(t, 50, 60);
    pause_at(t, 10, 20);
    pause_at(t, 55, 70);
    pause_at(t, 20, 30);
    pause_at(t, 12, 15);
    pause_at(t, 80, 80);
    pause_at(t, 95, 90);
    run_event(t, run_track(t, 0, 7), run_kernel(t, "k"), 0, 5);
    run_finish(t);
    assert_int_equal(t->n_pauses, 2);
    assert_int_equal(t->pauses[0].start_ns, 10);
    assert_int_equal(t->pauses[0].end_ns, 30);
    assert_int_equal(t->pauses[1].start_ns, 50);
    assert_int_equal(t->pauses[1].end_ns, 70);
    kr_timeline_free(t);
}

static void all_gaps_and_losses_of_a_chunk_are_read(void **state)
{
    struct kr_build b = { 0 };
    struct kr_err err = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    kr_build_chunk(&b, KREACH_GAP,
                   KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(0), KR_S(490), KR_T("since the start"),
                             KR_V(KREACH_GAP_CALIBRATE), KR_S(600), KR_S(700), KR_T(""),
                             KR_V(KREACH_GAP_TAKEOVER), KR_S(800), KR_S(900), KR_T("x")));
    kr_build_chunk(&b, KREACH_LOST,
                   KR_FIELDS(KR_V(KREACH_LOST_CUPTI), KR_V(3), KR_V(0), KR_S(0), KR_S(0), KR_T(""),
                             KR_V(KREACH_LOST_MEMORY_CAP), KR_V(4), KR_V(0), KR_S(0), KR_S(0),
                             KR_T(""), KR_V(KREACH_LOST_ZERO_TIME), KR_V(5), KR_V(1), KR_S(0),
                             KR_S(0), KR_T("")));
    kr_build_end(&b, 1);
    /* A process without work pauses nobody. */
    kr_build_section(&b, 2);
    kr_build_chunk(&b, KREACH_GAP,
                   KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(100), KR_S(5000), KR_T("")));
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
    t = kr_import_kreach("t.kreach", b.file.data, b.file.len, &err);
    assert_non_null(t);
    assert_int_equal(t->n_pauses, 2);
    assert_int_equal(t->pauses[0].start_ns, 600);
    assert_int_equal(t->pauses[0].end_ns, 700);
    assert_int_equal(t->pauses[1].start_ns, 800);
    assert_int_equal(t->warnings[KR_WARN_PAUSED].count, 3);
    assert_int_equal(t->warnings[KR_WARN_GAP].count, 1);
    assert_int_equal(t->warnings[KR_WARN_LOST].count, 7);
    assert_int_equal(t->warnings[KR_WARN_ZERO_TIME].count, 5);
    assert_int_equal(t->warnings[KR_WARN_BAD_RECORD].count, 0);
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* What every nanosecond of a small run is, for the oracle. */
struct picture {
    bool busy[DEVICES][SPAN_NS], paused[SPAN_NS];
};

static struct kr_timeline *random_run(uint64_t seed, struct picture *p)
{
    struct kr_timeline *t = run_new();
    uint64_t state = seed;
    const uint32_t n_pauses = run_random(&state) % 5;

    memset(p, 0, sizeof *p);
    for (uint32_t i = 0; i < DEVICES + run_random(&state) % 12; i++) {
        const uint32_t device = i % DEVICES; /* each has some */
        const uint32_t start = run_random(&state) % (SPAN_NS - 30);
        const uint32_t dur = 1 + run_random(&state) % 20;

        run_launch(t, run_track(t, device, run_random(&state) % 2), run_kernel(t, "k"), start, dur,
                   run_random(&state) % 2 ? KR_LEAD_UNKNOWN : 3);
        for (uint32_t at = start; at < start + dur; at++)
            p->busy[device][at] = true;
    }
    for (uint32_t i = 0; i < n_pauses; i++) {
        const uint32_t start = run_random(&state) % (SPAN_NS - 40);
        const uint32_t end = start + run_random(&state) % 40;

        pause_at(t, start, end);
        for (uint32_t at = start; at < end; at++)
            p->paused[at] = true;
    }
    run_finish(t);
    return t;
}

/* Nanoseconds of [from, to) in which a device is busy, or idle as far as is known. */
static uint64_t count_ns(const struct picture *p, size_t device, int64_t from, int64_t to,
                         bool busy)
{
    uint64_t n = 0;

    for (int64_t at = from; at < to; at++)
        n += busy ? p->busy[device][at] : !p->busy[device][at] && !p->paused[at];
    return n;
}

static uint64_t gaps_ns(const struct kr_gaps *g)
{
    return g->launch_ns + g->host_ns + g->queued_ns + g->unknown_ns + g->tail_ns;
}

static void check_account(const struct picture *p, const struct kr_window *w,
                          const struct kr_account *a)
{
    for (size_t d = 0; d < a->n_devices; d++) {
        const struct kr_device_account *device = &a->devices[d];
        const uint64_t busy_ns = count_ns(p, d, w->start_ns, w->end_ns, true);
        const uint64_t idle_ns = count_ns(p, d, w->start_ns, w->end_ns, false);

        assert_int_equal(device->time.busy_ns, busy_ns);
        assert_int_equal(device->time.idle_ns, idle_ns);
        assert_int_equal(device->time.wall_ns, busy_ns + idle_ns);
        assert_int_equal(gaps_ns(&device->gaps), idle_ns);
    }
    for (size_t s = 0; s < w->n_steps; s++) {
        uint64_t idle_ns = 0;

        for (size_t d = 0; d < a->n_devices; d++)
            idle_ns += count_ns(p, d, w->steps[s].start_ns, w->steps[s].end_ns, false);
        assert_int_equal(a->steps[s].time.idle_ns, idle_ns);
    }
}

static void time_that_was_not_recorded_is_not_idle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct picture p;
        struct kr_timeline *t = random_run(seed, &p);
        struct kr_tag *tags = calloc(t->n_sites, sizeof *tags);
        struct kr_step steps[STEPS];
        struct kr_window w = { .start_ns = (int64_t)(seed % 20),
                               .end_ns = SPAN_NS - (int64_t)(seed % 30),
                               .steps = steps,
                               .n_steps = STEPS };
        struct kr_account a;
        struct kr_err err = { 0 };

        assert_non_null(tags);
        for (int64_t i = 0; i < STEPS; i++)
            steps[i] = (struct kr_step){ 20 + 35 * i, 50 + 35 * i, i };
        assert_true(kr_account_make(t, tags, run_rules, &w, &a, &err));
        check_account(&p, &w, &a);
        kr_account_free(&a);
        free(tags);
        kr_timeline_free(t);
    }
}

static void a_step_that_was_not_recorded_is_not_an_empty_one(void **state)
{
    struct kr_step steps[] = { { 0, 10, 0 }, { 10, 20, 1 }, { 20, 30, 2 } };
    struct kr_window w = { .end_ns = 30, .steps = steps, .n_steps = 3 };
    struct kr_timeline *t = run_new();
    struct kr_tag tag = { 0 };
    struct kr_account a;
    struct kr_err err = { 0 };

    (void)state;
    run_event(t, run_track(t, 0, 7), run_kernel(t, "k"), 0, 5);
    pause_at(t, 9, 20);
    run_finish(t);
    assert_true(kr_account_make(t, &tag, run_rules, &w, &a, &err));
    assert_int_equal(a.empty_steps, 1); /* the last */
    assert_int_equal(a.steps[1].time.wall_ns, 0);
    kr_account_free(&a);
    kr_timeline_free(t);
}

/* Steps "lap" of 100 ns with two kernels each, in `stretches` divided by pauses of as many steps.
 */
static struct kr_timeline *laps(const char *name, const unsigned *stretches, size_t n)
{
    struct kr_timeline *t = run_new();
    int64_t at_ns = 0;
    unsigned number = 0;

    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < stretches[i]; k++, at_ns += 100) {
            char text[32];

            snprintf(text, sizeof text, name, number++);
            run_annotation(t, "1", text, at_ns, 95);
            if (i % 2)
                continue;
            run_launch(t, run_track(t, 0, 7), run_kernel(t, "a"), at_ns + 10, 40, 5);
            run_launch(t, run_track(t, 0, 7), run_kernel(t, "b"), at_ns + 60, 30, 5);
            run_twin(t, run_track(t, 0, 7), text, at_ns + 10, 80);
        }
        if (i % 2) /* noticed a little after the first step of the stretch began */
            pause_at(t, at_ns - 100 * (int64_t)stretches[i] + 3, at_ns + 2);
    }
    run_finish(t);
    return t;
}

static struct kr_window choose(const struct kr_timeline *t, const char *spec)
{
    struct kr_err err = { 0 };
    struct kr_window w;

    if (!kr_window_choose(t, spec, &w, &err))
        fail_msg("window '%s': %s", spec, err.msg);
    return w;
}

static void the_steady_window_is_the_longest_run_without_a_pause(void **state)
{
    static const unsigned stretches[] = { 6, 5, 8, 5, 12, 5, 7 };
    struct kr_timeline *t = laps("lap %u", stretches, KR_COUNT(stretches));
    struct kr_window w = choose(t, "steady");

    (void)state;
    /* The third recorded stretch, laps 24 to 35, without those beside the pauses. */
    assert_int_equal(w.n_steps, 10);
    assert_int_equal(w.steps[0].number, 25);
    assert_int_equal(w.start_ns, 2510);
    assert_int_equal(w.end_ns, 3510);
    assert_int_equal(w.dropped_steps, 48 - 10);
    assert_non_null(strstr(w.how, "the longest run without a pause"));
    kr_window_free(&w);
    kr_timeline_free(t);
}

/* Thirty steps marked, of which the ten in the middle were recorded: the others hold no work. */
static void steps_outside_the_window_that_was_recorded_are_none(void **state)
{
    struct kr_build b = { 0 };
    struct kr_err err = { 0 };
    struct kr_timeline *t;
    struct kr_window w;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    for (uint64_t i = 0; i < 30; i++) {
        char name[16];

        snprintf(name, sizeof name, "lap %u", (unsigned)i);
        kr_build_chunk(&b, KREACH_NAMES, KR_FIELDS(KR_V(i + 2), KR_T(name)));
        kr_build_chunk(
            &b, KREACH_RANGES,
            KR_FIELDS(KR_V(1), KR_V(i + 2), KR_V(7), KR_B(0), KR_S(1000 + 100 * i), KR_V(90)));
        if (i >= 10 && i < 20)
            kr_build_events(&b, &(struct kr_build_work){ 0, 0, 1010 + 100 * (int64_t)i, 50, 1 }, 1);
    }
    kr_build_chunk(&b, KREACH_GAP,
                   KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(0), KR_S(1995), KR_T(""),
                             KR_V(KREACH_GAP_WINDOW), KR_S(2995), KR_S(9000), KR_T("")));
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
    t = kr_import_kreach("t.kreach", b.file.data, b.file.len, &err);
    assert_non_null(t);
    assert_int_equal(t->pauses[0].start_ns, 1000);
    w = choose(t, "all");
    assert_int_equal(w.n_steps, 10);
    assert_int_equal(w.steps[0].number, 10);
    kr_window_free(&w);
    w = choose(t, "steady");
    assert_int_equal(w.n_steps, 8); /* the first and the last are beside a pause */
    kr_window_free(&w);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void where_pauses_part_all_steps_they_are_taken_together(void **state)
{
    static const unsigned stretches[] = { 2, 1, 2, 1, 2 };
    struct kr_timeline *t = laps("lap %u", stretches, KR_COUNT(stretches));
    struct kr_window w = choose(t, "steady");

    (void)state;
    assert_int_equal(w.start_ns, 10);
    assert_true(w.n_steps >= 5);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void a_step_in_a_pause_is_no_step(void **state)
{
    static const unsigned stretches[] = { 6, 5, 8 };
    struct kr_timeline *t = laps("lap %u", stretches, KR_COUNT(stretches));
    struct kr_window w = choose(t, "all");
    struct kr_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < w.n_steps; i++)
        assert_false(w.steps[i].number > 6 && w.steps[i].number < 11);
    assert_true(w.n_steps >= 14);
    kr_window_free(&w);
    assert_false(kr_window_choose(t, "step:8", &w, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_non_null(strstr(err.msg, "step 8 was not recorded"));
    kr_timeline_free(t);
}

static void steps_by_which_a_run_was_timed_need_no_number(void **state)
{
    static const unsigned stretches[] = { 12, 5, 8 };

    (void)state;
    for (unsigned timed = 0; timed < 2; timed++) {
        struct kr_timeline *t = laps("forward and backward", stretches, KR_COUNT(stretches));
        struct kr_window w;

        snprintf(t->source.steps.label, sizeof t->source.steps.label, "%s",
                 timed ? "forward and backward" : "");
        w = choose(t, "steady");
        if (timed) {
            assert_int_equal(w.steps_from, KR_STEPS_ANNOTATION);
            assert_int_equal(w.n_steps, 11);
            assert_int_equal(w.steps[3].number, 3);
        } else {
            assert_int_not_equal(w.steps_from, KR_STEPS_ANNOTATION);
        }
        kr_window_free(&w);
        kr_timeline_free(t);
    }
}

static void marks_that_run_ahead_of_the_device_time_no_steps(void **state)
{
    struct kr_step steps[] = { { 0, 100, 0 }, { 100, 200, 1 } };
    const struct kr_window w = { .end_ns = 200, .steps = steps, .n_steps = 2 };
    struct kr_step_times times = {
        .plain_step_ns = 60, .plain_steps = 9, .profiled_step_ns = 67, .profiled_steps = 9
    };
    struct kr_err err = { 0 };

    (void)state;
    assert_true(kr_window_check_timed_steps(&w, &times, 50, &err));
    times.profiled_step_ns = 66;
    assert_false(kr_window_check_timed_steps(&w, &times, 50, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "run ahead of the GPU"));
    times.profiled_steps = 0; /* unknown */
    assert_true(kr_window_check_timed_steps(&w, &times, 50, &err));
    times.plain_step_ns = 151;
    assert_false(kr_window_check_timed_steps(&w, &times, 50, &err));
}

/* Else the shares of its work would be more than all of it. */
static void a_plain_step_is_not_shorter_than_its_work(void **state)
{
    struct kr_step steps[] = { { 0, 1000, 0 }, { 1000, 2000, 1 } };
    const struct kr_window w = { .end_ns = 2000, .steps = steps, .n_steps = 2 };
    const struct kr_step_times times = {
        .plain_step_ns = 900, .plain_steps = 9, .profiled_step_ns = 1000, .profiled_steps = 9
    };
    struct kr_err err = { 0 };

    (void)state;
    assert_true(kr_window_check_timed_steps(&w, &times, 917, &err));
    assert_false(kr_window_check_timed_steps(&w, &times, 919, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "the GPU works for 0.001 ms in a step"));
}

/* The line of a text report that begins with "step", and what follows it. */
static void report_of(struct kr_run *run, uint64_t wall_step_ns, char *text, size_t room)
{
    const struct kr_render_options options = { .by = KR_BY_CLASS, .top = 1 };
    struct kr_report report;
    struct kr_err err = { 0 };
    FILE *out = tmpfile();

    assert_non_null(out);
    assert_true(kr_report_build(run, 1, run_rules, wall_step_ns, &report, &err));
    assert_true(kr_render_text(&report, &options, out, &err));
    kr_report_free(&report);
    rewind(out);
    text[fread(text, 1, room - 1, out)] = '\0';
    fclose(out);
    for (char *c = text; *c; c++) /* lines may break anywhere */
        *c = *c == '\n' ? ' ' : *c;
    for (char *c = strstr(text, "  "); c; c = strstr(text, "  "))
        memmove(c, c + 1, strlen(c));
}

static void the_report_tells_a_cost_only_where_it_was_measured(void **state)
{
    static const unsigned stretches[] = { 12, 5, 8 };
    static const struct {
        double cost, low, high;
        const char *says;
    } cases[] = {
        { 0.2, 0.15, 0.25, "profiling costs 20.0 % here (15.0..25.0)" },
        { 0.01, -0.02, 0.04, "what profiling costs here is not measurable (< 4.0 %)" },
        { -0.03, -0.05, 0.01, "what profiling costs here is not measurable (< 5.0 %)" },
        { -0.04, -0.05, -0.03, "is not measurable: steps are shorter with it by 4.0 %" },
        { -0.04, NAN, NAN, "is not measurable: steps are shorter with it by 4.0 %" },
        { 0.04, NAN, NAN, "profiling costs 4.0 % here " },
    };
    struct kr_run run = { 0 };
    struct kr_err err = { 0 };
    char text[8192];

    (void)state;
    assert_true(kr_run_analyse(laps("lap %u", stretches, KR_COUNT(stretches)), run_rules, "steady",
                               &run, &err));
    run.timeline->source.path = kr_xstrndup("t.kreach", 8, &err);
    run.timeline->source.format = "kreach";
    run.timeline->source.compression = "none";
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        run.timeline->source.steps = (struct kr_step_times){ .plain_step_ns = 90,
                                                             .plain_steps = 30,
                                                             .profiled_step_ns = 100,
                                                             .profiled_steps = 25,
                                                             .cost_frac = cases[i].cost,
                                                             .cost_low_frac = cases[i].low,
                                                             .cost_high_frac = cases[i].high,
                                                             .method = "alternating" };
        report_of(&run, 90, text, sizeof text);
        if (!strstr(text, cases[i].says))
            fail_msg("'%s' is not in: %s", cases[i].says, text);
        assert_non_null(strstr(text, "by turns in one run: 30 plain steps"));
        /* Another time than the recorded one is the user's own. */
        report_of(&run, 80, text, sizeof text);
        assert_non_null(strstr(text, "profiling costs 25.0 % here"));
        assert_null(strstr(text, "by turns"));
    }
    kr_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_are_put_in_order_and_joined),
        cmocka_unit_test(all_gaps_and_losses_of_a_chunk_are_read),
        cmocka_unit_test(time_that_was_not_recorded_is_not_idle),
        cmocka_unit_test(a_step_that_was_not_recorded_is_not_an_empty_one),
        cmocka_unit_test(the_steady_window_is_the_longest_run_without_a_pause),
        cmocka_unit_test(steps_outside_the_window_that_was_recorded_are_none),
        cmocka_unit_test(where_pauses_part_all_steps_they_are_taken_together),
        cmocka_unit_test(a_step_in_a_pause_is_no_step),
        cmocka_unit_test(steps_by_which_a_run_was_timed_need_no_number),
        cmocka_unit_test(marks_that_run_ahead_of_the_device_time_no_steps),
        cmocka_unit_test(a_plain_step_is_not_shorter_than_its_work),
        cmocka_unit_test(the_report_tells_a_cost_only_where_it_was_measured),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

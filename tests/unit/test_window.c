/* Windows and steps: durations, annotations, repetition, steady state. */
#include "runs.h"

#include <stdio.h>

#include "mem.h"
#include "repeat.h"
#include "steps.h"
#include "window.h"

static struct kr_window choose(const struct kr_timeline *t, const char *spec)
{
    struct kr_err err = { 0 };
    struct kr_window w;

    if (!kr_window_choose(t, spec, &w, &err))
        fail_msg("window '%s': %s", spec, err.msg);
    return w;
}

static void refuse(const struct kr_timeline *t, const char *spec, enum kr_code code,
                   const char *part)
{
    struct kr_err err = { 0 };
    struct kr_window w;

    assert_false(kr_window_choose(t, spec, &w, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.msg, part))
        fail_msg("'%s' should say '%s'", err.msg, part);
}

static void a_duration_is_a_number_with_a_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        { "31.4ms", 31400000 },
        { "250us", 250000 },
        { "1e6ns", 1000000 },
        { "2s", UINT64_C(2000000000) },
        { "983 us", 983000 },
        { "983\xc2\xb5s", 983000 },
        { "0ns", 0 },
        { "0.4ns", 0 },
        { "0.5ns", 1 },
        { "1.49999999999999999999999999ns", 1 },
        { "1.5e-3us", 2 },
        { ".5us", 500 },
        { "5.us", 5000 },
        { "18446744073709551615ns", UINT64_MAX },
        { "0.000000000000000000000000000000001s", 0 },
        { "0e99999s", 0 },
        { "1E+3us", 1000000 },
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(good); i++) {
        struct kr_err err = { 0 };
        uint64_t ns = 77;

        if (!kr_parse_duration(good[i].text, &ns, &err))
            fail_msg("%s", err.msg);
        if (ns != good[i].ns)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
    }
}

static void a_text_that_is_no_duration_is_refused(void **state)
{
    static const char *const bad[] = {
        "",       "ms",      "1",    "1 ",    "1  ms", "-1ms",   "1ms ",
        "1,5ms",  "1.2.3ms", "1m",   "nanms", "infs",  "0x10ms", "1e",
        "1e400s", "1e19s",   "e3ms", ".ms",   "1MS",   "+1ms",   "18446744073709551616ns"
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(bad); i++) {
        struct kr_err err = { 0 };
        uint64_t ns = 77;

        if (kr_parse_duration(bad[i], &ns, &err))
            fail_msg("'%s' was taken for %llu ns", bad[i], (unsigned long long)ns);
        assert_int_equal(err.code, KR_EARG);
        assert_int_equal(ns, 77);
    }
}

static void a_counting_name_ends_in_a_number(void **state)
{
    static const struct {
        const char *name, *pattern;
        int64_t number;
    } names[] = {
        { "ProfilerStep#12", "ProfilerStep#*", 12 },
        { "step#0", "step#*", 0 },
        { "iteration 7", "iteration *", 7 },
        { "step[3]", "step[*]", 3 },
        { "## epoch 1 step 250 ##", "## epoch * step * ##", 250 },
        { "step", NULL, 0 },
        { "step[EXTEND bs=15 toks=x]", NULL, 0 },
        { "Optimizer.step#SGD.step", NULL, 0 },
        { "", NULL, 0 },
        { "##", NULL, 0 },
        { "hash 99999999999999999999", NULL, 0 },
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(names); i++) {
        char pattern[64];
        int64_t number = -1;
        const bool counts =
            kr_steps_counting_name(names[i].name, strlen(names[i].name), pattern, &number);

        assert_int_equal(counts, names[i].pattern != NULL);
        if (counts) {
            assert_string_equal(pattern, names[i].pattern);
            assert_int_equal(number, names[i].number);
        }
    }
}

/* n steps of three kernels each, 1000 ns apart; device times lag the host by 300 ns. */
static struct kr_timeline *stepped_run(const char *name, size_t n, bool twins)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t sites[] = { run_kernel(t, "a"), run_kernel(t, "b"), run_kernel(t, "c") };

    for (size_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)(1000 * i);
        char text[64];

        snprintf(text, sizeof text, name, i);
        run_annotation(t, "main", text, at, 900);
        if (twins)
            run_twin(t, track, text, at + 300 + 10 - (i == 0), 800);
        for (size_t k = 0; k < KR_COUNT(sites); k++)
            run_launch(t, track, sites[k], at + 310 + (int64_t)(100 * k), 90, 300);
    }
    run_finish(t);
    return t;
}

static void steps_come_from_counting_annotations(void **state)
{
    static const char *const names[] = { "ProfilerStep#%zu", "step#%zu", "iteration %zu",
                                         "step[%zu]" };

    (void)state;
    for (size_t i = 0; i < 2 * KR_COUNT(names); i++) {
        struct kr_timeline *t = stepped_run(names[i / 2], 4, i % 2 == 0);
        struct kr_window w = choose(t, "steady");

        assert_int_equal(w.steps_from, KR_STEPS_ANNOTATION);
        assert_int_equal(w.n_steps, 4);
        assert_int_equal(w.steps[0].start_ns, 310);
        assert_int_equal(w.steps[0].end_ns, 1310);
        assert_int_equal(w.steps[3].number, 3);
        assert_int_equal(w.end_ns, 3310 + 290);
        assert_non_null(strstr(w.how, "4 steps from annotation '"));
        kr_window_free(&w);
        kr_timeline_free(t);
    }
}

static void steps_without_launch_times_use_the_host_interval(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "k");
    struct kr_window w;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[32];

        snprintf(name, sizeof name, "step %d", i);
        run_annotation(t, "main", name, 100 * i, 90);
        run_event(t, track, site, 100 * i + 5, 50);
    }
    run_finish(t);
    w = choose(t, "steady");
    assert_int_equal(w.n_steps, 3);
    assert_int_equal(w.steps[1].start_ns, 105);
    kr_window_free(&w);
    kr_timeline_free(t);
}

/* Marks reach a file before the work behind them does. */
static void marks_behind_the_cut_of_a_recording_are_no_steps(void **state)
{
    (void)state;
    for (int cut = 0; cut <= 1; cut++) {
        struct kr_timeline *t = run_new();
        const uint16_t track = run_track(t, 0, 7);
        const uint32_t site = run_kernel(t, "k");
        struct kr_window w;

        for (int i = 0; i < 14; i++) {
            char name[32];

            snprintf(name, sizeof name, "step %d", i);
            run_annotation(t, "main", name, 1000 * i, 900);
            if (i < 6)
                run_event(t, track, site, 1000 * i + 5, 800);
        }
        t->source.truncated = cut;
        run_finish(t);
        w = choose(t, "steady");
        /* A program that goes on without work has steps without work. */
        assert_non_null(
            strstr(w.how, cut ? "6 steps from annotation" : "14 steps from annotation"));
        kr_window_free(&w);
        kr_timeline_free(t);
    }
}

/* Making weights may take longer than the few steps that somebody recorded. */
static void what_goes_before_a_marked_loop_does_not_outweigh_it(void **state)
{
    (void)state;
    for (int n = 4; n <= 5; n++) { /* a loop of five is one; four might be anything */
        struct kr_timeline *t = run_new();
        const uint16_t track = run_track(t, 0, 7);
        const uint32_t init = run_kernel(t, "init");
        const uint32_t site = run_kernel(t, "k");
        struct kr_window w;

        for (int i = 0; i < 3; i++)
            run_event(t, track, init, 5000 * i, 4000);
        for (int i = 0; i < n; i++) {
            char name[32];

            snprintf(name, sizeof name, "step %d", i);
            run_annotation(t, "main", name, 20000 + 100 * i, 90);
            run_event(t, track, site, 20000 + 100 * i + 5, 50);
        }
        run_finish(t);
        w = choose(t, "steady");
        assert_int_equal(w.steps_from == KR_STEPS_ANNOTATION, n == 5);
        if (n == 5)
            assert_int_equal(w.start_ns, 20005);
        kr_window_free(&w);
        kr_timeline_free(t);
    }
}

static void work_belongs_to_the_step_that_launched_it(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "k");
    struct kr_window w;

    (void)state; /* the device runs two steps behind the host */
    for (int i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "step %d", i);
        run_annotation(t, "main", name, 1000 * i, 900);
        run_launch(t, track, site, 1000 * i + 2500, 800, 2300);
    }
    run_finish(t);
    w = choose(t, "step:1");
    assert_int_equal(w.start_ns, 3500);
    assert_int_equal(w.end_ns, 4500);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void nested_annotations_are_no_steps(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_window w;

    (void)state;
    run_annotation(t, "main", "part 1", 0, 1000);
    run_annotation(t, "main", "part 2", 100, 700);
    for (int i = 1; i < 9; i++) {
        char name[32];

        snprintf(name, sizeof name, "kernel_%d", i);
        run_launch(t, track, run_kernel(t, name), 100 * i, 80, 0);
    }
    run_finish(t);
    w = choose(t, "steady");
    assert_int_equal(w.steps_from, KR_STEPS_NONE);
    kr_window_free(&w);
    w = choose(t, "name:part"); /* the outer one counts as a whole */
    assert_int_equal(w.start_ns, 100);
    assert_int_equal(w.end_ns, 880);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void profiler_steps_beat_finer_annotations(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "k");
    struct kr_window w;

    (void)state;
    for (int i = 0; i < 8; i++) {
        char name[32];

        snprintf(name, sizeof name, "micro_batch %d", i);
        run_annotation(t, "main", name, 100 * i, 99);
        run_launch(t, track, site, 100 * i + 20, 50, 10);
    }
    run_annotation(t, "main", "ProfilerStep#5", 0, 400);
    run_annotation(t, "main", "ProfilerStep#6", 400, 400);
    run_finish(t);
    w = choose(t, "steady");
    assert_int_equal(w.n_steps, 2);
    assert_int_equal(w.steps[1].number, 6);
    assert_int_equal(w.steps[1].start_ns, 420);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void layers_and_side_work_are_no_steps(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "k");
    struct kr_window w;

    (void)state;
    for (int i = 0; i < 12; i++) { /* layers 0 1 2 0 1 2 ...: they do not count upwards */
        char name[32];

        snprintf(name, sizeof name, "layer.%d", i % 3);
        run_annotation(t, "main", name, 100 * i, 99);
        run_launch(t, track, site, 100 * i + 20, 50, 10);
    }
    run_annotation(t, "loader", "batch 1", 0, 20); /* counts, but covers next to nothing */
    run_annotation(t, "loader", "batch 2", 110, 2);
    run_finish(t);
    w = choose(t, "steady");
    assert_int_not_equal(w.steps_from, KR_STEPS_ANNOTATION);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void no_annotations_and_no_repetition_mean_all_work(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_window w;

    (void)state;
    for (int i = 0; i < 20; i++) {
        char name[32];

        snprintf(name, sizeof name, "kernel_%d", i);
        run_event(t, track, run_kernel(t, name), 50 + 100 * i, 80);
    }
    run_finish(t);
    w = choose(t, "steady");
    assert_int_equal(w.kind, KR_WINDOW_STEADY);
    assert_int_equal(w.steps_from, KR_STEPS_NONE);
    assert_int_equal(w.n_steps, 0);
    assert_int_equal(w.start_ns, 50);
    assert_int_equal(w.end_ns, 50 + 1900 + 80);
    assert_string_equal(w.how, "no repeating step found; all work is used");
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void a_step_without_work_is_listed_and_keeps_its_idle_time(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "k");
    struct kr_window w;

    (void)state; /* complaint 19: 30 of 32 steps empty */
    for (int i = 0; i < 5; i++) {
        char name[32];

        snprintf(name, sizeof name, "step#%d", i);
        run_annotation(t, "main", name, 1000 * i, 900);
        if (i != 2)
            run_launch(t, track, site, 1000 * i + 200, 500, 100);
    }
    run_finish(t);
    w = choose(t, "all");
    assert_int_equal(w.n_steps, 5);
    assert_int_equal(w.steps[1].end_ns, 2000);
    assert_int_equal(w.steps[2].start_ns, 2000);
    assert_int_equal(w.steps[2].end_ns, 3200);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void annotation_count(struct kr_timeline *t, uint16_t track, const char *name, int64_t at,
                             size_t kernels, uint64_t dur_ns)
{
    const uint32_t site = run_kernel(t, "k");

    run_annotation(t, "main", name, at, 9000);
    for (size_t i = 0; i < kernels; i++)
        run_launch(t, track, site, at + 100 + (int64_t)(i * dur_ns), dur_ns, 50);
}

static void steady_leaves_out_warm_up_and_the_cut_last_step(void **state)
{
    static const struct {
        size_t n;
        size_t kernels[6];
        uint64_t dur_ns[6];
        size_t first, kept;
        const char *how;
    } cases[] = {
        { 4, { 10, 10, 10, 10 }, { 90, 90, 90, 90 }, 0, 4, "4 steps" },
        { 4, { 10, 10, 10, 10 }, { 300, 90, 90, 90 }, 1, 3, "3 of 4 steps from annotation" },
        { 4, { 14, 10, 10, 10 }, { 70, 90, 90, 90 }, 1, 3, "warm-up left out" },
        { 4, { 10, 10, 10, 4 }, { 90, 90, 90, 90 }, 0, 3, "incomplete last one left out" },
        { 5, { 30, 10, 10, 10, 4 }, { 90, 90, 90, 90, 90 }, 1, 3, "3 of 5" },
        { 6, { 10, 10, 10, 10, 10, 10 }, { 400, 200, 90, 90, 90, 90 }, 2, 4, "4 of 6" },
        { 6, { 10, 10, 10, 10, 10, 10 }, { 800, 600, 450, 300, 200, 90 }, 3, 3, "3 of 6" },
        { 2, { 10, 10 }, { 300, 90 }, 1, 1, "one step shows no spread" },
        { 2, { 10, 4 }, { 90, 90 }, 0, 2, "2 steps" },
        { 1, { 10 }, { 90 }, 0, 1, "one step shows no spread" },
        { 6, { 10, 14, 3, 40, 21, 7 }, { 90, 90, 90, 90, 90, 90 }, 0, 6, "6 steps" },
        { 4, { 10, 10, 10, 10 }, { 110, 90, 90, 90 }, 0, 4, "4 steps" },
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_timeline *t = run_new();
        const uint16_t track = run_track(t, 0, 7);
        struct kr_window w;

        for (size_t k = 0; k < cases[i].n; k++) {
            char name[32];

            snprintf(name, sizeof name, "ProfilerStep#%u", (unsigned)k);
            annotation_count(t, track, name, (int64_t)(10000 * k), cases[i].kernels[k],
                             cases[i].dur_ns[k]);
        }
        run_finish(t);
        w = choose(t, "steady");
        if (w.n_steps != cases[i].kept || w.steps[0].number != (int64_t)cases[i].first)
            fail_msg("case %zu: %s", i, w.how);
        assert_int_equal(w.dropped_steps, cases[i].n - cases[i].kept);
        assert_int_equal(w.start_ns, w.steps[0].start_ns);
        assert_int_equal(w.end_ns, w.steps[w.n_steps - 1].end_ns);
        if (!strstr(w.how, cases[i].how))
            fail_msg("case %zu: '%s' should say '%s'", i, w.how, cases[i].how);
        kr_window_free(&w);
        kr_timeline_free(t);
    }
}

static void a_step_is_chosen_by_its_number(void **state)
{
    struct kr_timeline *t = stepped_run("step#%zu", 3, true);
    struct kr_window w = choose(t, "step:1");

    (void)state;
    assert_int_equal(w.kind, KR_WINDOW_STEP);
    assert_int_equal(w.n_steps, 1);
    assert_int_equal(w.start_ns, 1310);
    assert_int_equal(w.end_ns, 2310);
    kr_window_free(&w);
    refuse(t, "step:7", KR_EINPUT, "no step 7; steps are 0..2");
    refuse(t, "step:", KR_EARG, "number");
    refuse(t, "step:-1", KR_EARG, "number");
    refuse(t, "step:1x", KR_EARG, "number");
    refuse(t, "step:99999999999999999999", KR_EARG, "number");
    kr_timeline_free(t);
}

static void a_plain_step_of_another_kind_is_refused(void **state)
{
    struct kr_step steps[2] = { { 0, 100, 0 }, { 100, 200, 1 } };
    struct kr_window w = { .start_ns = 0, .end_ns = 200, .steps = steps, .n_steps = 2 };
    struct kr_err err = { 0 };

    (void)state;
    assert_true(kr_window_check_plain_step(&w, 60, &err));
    assert_true(kr_window_check_plain_step(&w, 150, &err));
    assert_false(kr_window_check_plain_step(&w, 151, &err)); /* per token against per sequence */
    assert_int_equal(err.code, KR_EARG);
    w.end_ns = 250; /* the steps leave out a fifth */
    assert_false(kr_window_check_plain_step(&w, 60, &err));
    w.n_steps = 0;
    assert_false(kr_window_check_plain_step(&w, 60, &err));
}

static void a_name_window_spans_the_work_under_it(void **state)
{
    struct kr_timeline *t = stepped_run("step#%zu", 4, false);
    struct kr_window w = choose(t, "name:step#2");

    (void)state;
    assert_int_equal(w.kind, KR_WINDOW_NAME);
    assert_int_equal(w.start_ns, 2310);
    assert_int_equal(w.end_ns, 2600);
    kr_window_free(&w);
    w = choose(t, "name:step");
    assert_int_equal(w.start_ns, 310);
    assert_int_equal(w.end_ns, 3600);
    assert_int_equal(w.n_steps, 4);
    kr_window_free(&w);
    w = choose(t, "name:step#2");
    assert_int_equal(w.n_steps, 1); /* what carries the name is a step */
    assert_int_equal(w.steps_from, KR_STEPS_ANNOTATION);
    kr_window_free(&w);
    refuse(t, "name:backward", KR_EINPUT, "there are 'step#0', 'step#1'");
    refuse(t, "name:", KR_EARG, "name");
    kr_timeline_free(t);
    t = stepped_run("step#%zu", 4, true);
    w = choose(t, "name:step#2");
    assert_int_equal(w.end_ns, 2600); /* of the work, not of the recorder's own extent */
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void a_time_window_counts_from_the_first_work(void **state)
{
    static const struct {
        const char *spec;
        int64_t start_ns, end_ns;
        size_t steps;
    } cases[] = { { "time:0ns..1us", 310, 1310, 1 },
                  { "time:..", 310, 3600, 4 },
                  { "time:1us..", 1310, 3600, 3 },
                  { "time:..1.5us", 310, 1810, 1 },
                  { "time:0.1us..10s", 410, 3600, 3 } };
    struct kr_timeline *t = stepped_run("step#%zu", 4, false);

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_window w = choose(t, cases[i].spec);

        assert_int_equal(w.kind, KR_WINDOW_TIME);
        assert_int_equal(w.start_ns, cases[i].start_ns);
        assert_int_equal(w.end_ns, cases[i].end_ns);
        assert_int_equal(w.n_steps, cases[i].steps);
        kr_window_free(&w);
    }
    refuse(t, "time:5us..1us", KR_EINPUT, "work lasts from 0");
    refuse(t, "time:9s..10s", KR_EINPUT, "work lasts from 0");
    refuse(t, "time:600ns..700ns", KR_EINPUT, "no work"); /* complaint 52: empty is not healthy */
    refuse(t, "time:1us", KR_EARG, "time:A..B");
    refuse(t, "time:1..2", KR_EARG, "unit");
    refuse(t, "steadily", KR_EARG, "write all, steady, step:N");
    kr_timeline_free(t);
}

/* Appends the kernels named by the letters of a text, 100 ns apart, each of 90 ns. */
static void append_text(struct kr_timeline *t, uint16_t track, const char *text, int64_t *at)
{
    for (; *text; text++) {
        const char name[] = { 'k', '_', *text, '\0' };

        run_event(t, track, run_kernel(t, name), *at, 90);
        *at += 100;
    }
}

static void check_loop_of(bool whole_program, const char *prefix, const char *round, size_t rounds,
                          const char *suffix, size_t expected, size_t period)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_repeat repeat;
    struct kr_err err = { 0 };
    int64_t at = 1000;

    append_text(t, track, prefix, &at);
    for (size_t i = 0; i < rounds; i++)
        append_text(t, track, round, &at);
    append_text(t, track, suffix, &at);
    run_finish(t);
    t->source.whole_program = whole_program;
    assert_true(kr_repeat_find(t, &repeat, &err));
    if (repeat.n != expected || (expected && repeat.period != period))
        fail_msg("%s (%s)%zu %s: %zu rounds of %zu", prefix, round, rounds, suffix, repeat.n,
                 repeat.period);
    for (size_t i = 1; i < repeat.n; i++)
        assert_int_equal(repeat.starts_ns[i] - repeat.starts_ns[i - 1], 100 * (int64_t)period);
    kr_repeat_free(&repeat);
    kr_timeline_free(t);
}

static void check_loop(const char *prefix, const char *round, size_t rounds, const char *suffix,
                       size_t expected, size_t period)
{
    check_loop_of(false, prefix, round, rounds, suffix, expected, period);
}

static void a_loop_is_found_without_annotations(void **state)
{
    (void)state;
    check_loop("", "eabcabcabch", 16, "", 16, 11);             /* layers abc inside tokens */
    check_loop("EABCABCABCHN", "eabcabcabch", 16, "", 16, 11); /* after a prompt */
    check_loop("bcabch", "eabcabcabch", 16, "", 16, 11);
    check_loop("", "eabcabcabch", 16, "eabc", 16, 11); /* cut in the middle of a token */
    check_loop("", "ab", 50, "", 50, 2);
    check_loop("", "eabcabcho", 3, "", 3, 9);
}

/* A mean that is printed, a metric. */
static void an_epilogue_may_follow_rounds_that_have_layers(void **state)
{
    (void)state;
    check_loop("", "eabcabcabcabch", 16, "mn", 16, 14);
    check_loop("", "eabcabcabcabch", 3, "mn", 3, 14);
    check_loop("wwwwwwwwwwwwwwww", "eabcabcabcabch", 16, "mn", 16, 14);
    check_loop("cdefgh", "abcdefgh", 12, "n", 0, 0);       /* might be layers, and a head */
    check_loop("", "eabcabcabcabch", 16, "mnopqrs", 0, 0); /* half a round of something else */
}

static void a_program_may_do_something_else_before_and_after_its_loop(void **state)
{
    const char *evaluates = "pxyxyxyqpxyxyxyqpxyxyxyqpxyxyxyqpxyxyxyq";

    (void)state;
    check_loop_of(true, "uvw", "eabcabcabcabch", 16, evaluates, 16, 14);
    check_loop_of(false, "uvw", "eabcabcabcabch", 16, evaluates, 0, 0);
    check_loop_of(true, "uvw", "abcdefgh", 12, evaluates, 0, 0); /* might be layers */
    check_loop_of(true, "uvw", "eabcabcabcabch", 3, evaluates, 0, 0);
}

static void layers_of_one_pass_are_no_loop(void **state)
{
    (void)state;
    check_loop("e", "abcdefgh", 12, "nlm", 0, 0); /* forward, then a head */
    check_loop("e", "abcd", 12, "nlmMLNDCBADCBADCBADCBADCBADCBADCBA", 0, 0); /* then a backward */
    check_loop("EP", "abcdefgh", 12, "", 0, 0); /* a head too small to see */
    check_loop("cdefgh", "abcdefgh", 9,
               "nlmEPabcdefghabcdefghabcdefghabcdefghabcdefghabcdefgh"
               "abcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcd",
               0, 0);                          /* one pass and a half */
    check_loop("", "abcdefghij", 2, "", 0, 0); /* twice proves nothing */
    check_loop("abcdefghijklmnopqrstuvwxyz", "", 0, "", 0, 0);
    check_loop("", "a", 1, "", 0, 0);
}

static void a_loop_survives_an_insertion(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_repeat repeat;
    struct kr_err err = { 0 };
    int64_t at = 1000;

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        append_text(t, track, "eabcdabcdabcdabcdabcdabcdhz", &at);
        if (i % 7 == 3)
            append_text(t, track, "q", &at);
    }
    run_finish(t);
    assert_true(kr_repeat_find(t, &repeat, &err));
    assert_int_equal(repeat.n, 20);
    assert_int_equal(repeat.period, 27);
    kr_repeat_free(&repeat);
    kr_timeline_free(t);
}

static void rounds_that_alternate_a_little_are_single_rounds(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_repeat repeat;
    struct kr_err err = { 0 };
    int64_t at = 1000;

    (void)state; /* as when an odd length makes one kernel take another form */
    for (size_t i = 0; i < 16; i++) {
        append_text(t, track, "eabcdfgijklmnopqrstuvwxyzABCDEFGIJKLMNOPQ", &at);
        append_text(t, track, i % 2 ? "h" : "H", &at);
    }
    run_finish(t);
    assert_true(kr_repeat_find(t, &repeat, &err));
    assert_int_equal(repeat.n, 16);
    assert_int_equal(repeat.period, 42);
    kr_repeat_free(&repeat);
    kr_timeline_free(t);
}

/* A pause of half a percent of a round is what any launch may bring, and begins nothing. */
static void rounds_begin_with_their_first_kernel_where_nothing_idles(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_window w;
    int64_t at = 1000;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        append_text(t, track, "eabcabcabc", &at);
        at += 5;
        append_text(t, track, "hz", &at);
    }
    run_finish(t);
    w = choose(t, "all");
    assert_string_equal(w.how, "all device work; 10 steps by repetition of 12 launches");
    assert_int_equal(w.steps[0].start_ns, 1000);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void rounds_begin_after_the_longest_idle_time(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_window w;
    int64_t at = 1000;

    (void)state;
    append_text(t, track, "hz", &at); /* the recording began inside a round */
    for (size_t i = 0; i < 10; i++) {
        at += 700;
        append_text(t, track, "eabcabchz", &at);
    }
    run_finish(t);
    w = choose(t, "steady");
    assert_int_equal(w.steps_from, KR_STEPS_REPETITION);
    assert_string_equal(w.how, "10 steps by repetition of 9 launches; 2 % of device time outside");
    assert_int_equal(w.start_ns, 1900);
    assert_int_equal(w.steps[9].number, 9);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void a_single_annotated_step_yields_to_the_loop_inside(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_window w;
    int64_t at = 1000;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        append_text(t, track, "eabcabchz", &at);
    run_annotation(t, "main", "step#0", 0, 100000);
    run_finish(t);
    w = choose(t, "all");
    assert_int_equal(w.steps_from, KR_STEPS_REPETITION);
    assert_int_equal(w.n_steps, 10);
    kr_window_free(&w);
    kr_timeline_free(t);
}

static void a_run_without_work_has_no_window(void **state)
{
    struct kr_timeline *t = run_new();

    (void)state;
    run_finish(t);
    refuse(t, "all", KR_EINPUT, "no device work");
    kr_timeline_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_is_a_number_with_a_unit),
        cmocka_unit_test(a_text_that_is_no_duration_is_refused),
        cmocka_unit_test(a_counting_name_ends_in_a_number),
        cmocka_unit_test(steps_come_from_counting_annotations),
        cmocka_unit_test(steps_without_launch_times_use_the_host_interval),
        cmocka_unit_test(marks_behind_the_cut_of_a_recording_are_no_steps),
        cmocka_unit_test(what_goes_before_a_marked_loop_does_not_outweigh_it),
        cmocka_unit_test(work_belongs_to_the_step_that_launched_it),
        cmocka_unit_test(nested_annotations_are_no_steps),
        cmocka_unit_test(profiler_steps_beat_finer_annotations),
        cmocka_unit_test(layers_and_side_work_are_no_steps),
        cmocka_unit_test(no_annotations_and_no_repetition_mean_all_work),
        cmocka_unit_test(a_step_without_work_is_listed_and_keeps_its_idle_time),
        cmocka_unit_test(steady_leaves_out_warm_up_and_the_cut_last_step),
        cmocka_unit_test(a_step_is_chosen_by_its_number),
        cmocka_unit_test(a_plain_step_of_another_kind_is_refused),
        cmocka_unit_test(a_name_window_spans_the_work_under_it),
        cmocka_unit_test(a_time_window_counts_from_the_first_work),
        cmocka_unit_test(a_loop_is_found_without_annotations),
        cmocka_unit_test(an_epilogue_may_follow_rounds_that_have_layers),
        cmocka_unit_test(a_program_may_do_something_else_before_and_after_its_loop),
        cmocka_unit_test(layers_of_one_pass_are_no_loop),
        cmocka_unit_test(a_loop_survives_an_insertion),
        cmocka_unit_test(rounds_that_alternate_a_little_are_single_rounds),
        cmocka_unit_test(rounds_begin_with_their_first_kernel_where_nothing_idles),
        cmocka_unit_test(rounds_begin_after_the_longest_idle_time),
        cmocka_unit_test(a_single_annotated_step_yields_to_the_loop_inside),
        cmocka_unit_test(a_run_without_work_has_no_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

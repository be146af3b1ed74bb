/* Step times from the marks in the parts of a run, by turns or from two runs. */
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kreach_build.h"
#include "mem.h"
#include "record_steps.h"
#include "step_times.h"

static char scratch[] = "/tmp/kreach_steps.XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int remove_scratch(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(scratch, remove_entry, 8, FTW_DEPTH | FTW_PHYS) : -1;
}

/* An empty folder "parts". */
static int set_up(void **state)
{
    struct stat st;

    (void)state;
    if (stat("parts", &st) == 0)
        nftw("parts", remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return mkdir("parts", 0700);
}

/* A part of process `pid`. */
static void write_part(uint64_t pid, void (*put)(struct kr_build *b))
{
    struct kr_build b = { 0 };
    char path[32];
    FILE *out;

    snprintf(path, sizeof path, "parts/%u.part", (unsigned)pid);
    out = fopen(path, "wb");
    assert_non_null(out);
    kr_build_section(&b, pid);
    put(&b);
    assert_int_equal(fwrite(b.file.data, 1, b.file.len, out), b.file.len);
    fclose(out);
    kr_build_free(&b);
}

/* Six steps of two layers each, inside one range that does not repeat. */
static void put_nested_ranges(struct kr_build *b)
{
    kr_build_chunk(b, KREACH_NAMES,
                   KR_FIELDS(KR_V(1), KR_T("step 1"), KR_T("layer 1"), KR_T("all of it")));
    kr_build_chunk(b, KREACH_RANGES,
                   KR_FIELDS(KR_V(1), KR_V(3), KR_V(7), KR_B(0), KR_S(1), KR_V(999999)));
    for (int64_t i = 0; i < 6; i++)
        kr_build_chunk(b, KREACH_RANGES,
                       KR_FIELDS(KR_V(3), KR_V(1), KR_V(7), KR_B(0), KR_S(i * 1000), KR_V(900),
                                 KR_V(2), KR_V(7), KR_B(0), KR_S(i * 1000), KR_V(300), KR_V(2),
                                 KR_V(7), KR_B(0), KR_S(i * 1000 + 400), KR_V(300)));
}

static void steps_are_the_repeating_range_that_covers_most_or_the_named_one(void **state)
{
    static const struct {
        const char *name, *label;
        size_t n;
        uint64_t first_ns;
    } cases[] = {
        { NULL, "step *", 5, 1000 },      { "layer 2", "layer *", 11, 400 },
        { "step 99", "step *", 5, 1000 }, { "all of it", "", 0, 0 },
        { "no such range", "", 0, 0 },
    };

    (void)state;
    write_part(1, put_nested_ranges);
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_record_steps steps = { 0 };
        struct kr_err err = { 0 };

        assert_true(kr_record_steps_find("parts", cases[i].name, &steps, &err));
        assert_string_equal(steps.label, cases[i].label);
        assert_int_equal(steps.n, cases[i].n);
        if (steps.n)
            assert_int_equal(steps.items[0].dur_ns, cases[i].first_ns);
        kr_record_steps_free(&steps);
    }
}

/*
 * Steps that take a fifth longer while recording, in stretches of so many by turns; recorded ones
 * begin and end. The worker notices a change 100 us after the step that brings it.
 */
static void put_turns(struct kr_build *b, int64_t plain_ns, const unsigned *stretches, size_t n)
{
    int64_t at_ns = 1000000;

    kr_build_chunk(b, KREACH_INFO, KR_FIELDS(KR_T("step_range"), KR_T("step *")));
    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T("step 1"), KR_T("part")));
    for (size_t i = 0; i < n; i++) {
        const int64_t step_ns = i % 2 ? plain_ns : plain_ns * 6 / 5;

        if (i % 2)
            kr_build_chunk(b, KREACH_GAP,
                           KR_FIELDS(KR_V(KREACH_GAP_CALIBRATE), KR_S(at_ns + 100000),
                                     KR_S(at_ns + stretches[i] * step_ns + 100000), KR_T("")));
        for (unsigned k = 0; k < stretches[i]; k++, at_ns += step_ns)
            kr_build_chunk(b, KREACH_RANGES,
                           KR_FIELDS(KR_V(2), KR_V(1), KR_V(7), KR_B(0), KR_S(at_ns), KR_V(900000),
                                     KR_V(2), KR_V(7), KR_B(0), KR_S(at_ns), KR_V(1)));
    }
}

static void put_long_turns(struct kr_build *b)
{
    put_turns(b, 1000000, (const unsigned[]){ 100, 50, 41, 50, 41, 50, 41, 50, 41, 50, 41, 50, 90 },
              13);
}

static void put_short_turns(struct kr_build *b)
{
    put_turns(b, 1000000, (const unsigned[]){ 100, 50, 41, 50, 41, 50, 41, 50, 41, 50, 100 }, 11);
}

/*
 * Of 50 plain steps the first is not whole; two more settle, as do all that begin within 20 ms of
 * the change; the last is left out, and the one behind which it begins: 27. Of the recorded ones
 * before the first pause and behind the last, no more time counts than the pause took.
 */
static void turns_show_steps_that_have_settled(void **state)
{
    struct kr_record_calibration c = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_long_turns);
    write_part(2, put_nested_ranges); /* took no turns */
    assert_true(kr_record_steps_alternating("parts", &c, &err));
    assert_string_equal(c.method, "alternating");
    assert_string_equal(c.plain.label, "step *");
    assert_int_equal(c.n_stretches, 13);
    for (size_t i = 0; i < c.n_stretches; i++) {
        assert_int_equal(c.stretches[i].profiled, i % 2 == 0);
        if (c.stretches[i].n != (i % 2 ? 27 : 22))
            fail_msg("stretch %zu: %zu steps", i, c.stretches[i].n);
    }
    for (size_t i = 0; i < c.plain.n; i++)
        assert_int_equal(c.plain.items[i].dur_ns, 1000000);
    for (size_t i = 0; i < c.profiled.n; i++)
        assert_int_equal(c.profiled.items[i].dur_ns, 1200000);
    kr_record_calibration_free(&c);
}

/* As put_turns, by a host that may launch one step ahead and waits for all each seven steps. */
static void put_uneven_turns(struct kr_build *b)
{
    enum { TURNS = 15, STEPS = 31, BLOCK = 7, LAUNCH_NS = 500000, STEP_NS = 8000000 };
    int64_t at_ns = 1000000;
    int64_t pause_ns = 0;
    unsigned step = 0;

    kr_build_chunk(b, KREACH_INFO, KR_FIELDS(KR_T("step_range"), KR_T("step *")));
    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T("step 1")));
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const int64_t step_ns = turn % 2 ? STEP_NS : STEP_NS * 6 / 5;

        for (unsigned k = 0; k < STEPS; k++, step++) {
            kr_build_chunk(
                b, KREACH_RANGES,
                KR_FIELDS(KR_V(1), KR_V(1), KR_V(7), KR_B(0), KR_S(at_ns), KR_V(LAUNCH_NS)));
            at_ns += step % BLOCK == 0           ? LAUNCH_NS
                     : step % BLOCK == BLOCK - 1 ? 2 * step_ns - LAUNCH_NS
                                                 : step_ns;
        }
        if (turn % 2)
            kr_build_chunk(b, KREACH_GAP,
                           KR_FIELDS(KR_V(KREACH_GAP_CALIBRATE), KR_S(pause_ns),
                                     KR_S(at_ns + 100000), KR_T("")));
        pause_ns = at_ns + 100000;
    }
}

static void a_stretch_holds_whole_rounds_of_a_program_that_waits_now_and_then(void **state)
{
    struct kr_record_calibration c = { 0 };
    struct kr_err err = { 0 };
    const struct kr_record_step *plain, *profiled;

    (void)state;
    write_part(1, put_uneven_turns);
    assert_true(kr_record_steps_alternating("parts", &c, &err));
    assert_int_equal(c.n_stretches, 15);
    plain = c.plain.items;
    profiled = c.profiled.items;
    for (size_t i = 0; i < c.n_stretches; i++) {
        const struct kr_record_step **at = c.stretches[i].profiled ? &profiled : &plain;
        const double step_ns = c.stretches[i].profiled ? 9.6e6 : 8e6;
        double sum_ns = 0;

        for (size_t k = 0; k < c.stretches[i].n; k++)
            sum_ns += (double)(*at)++->dur_ns;
        if (fabs(sum_ns / (double)c.stretches[i].n - step_ns) > 1)
            fail_msg("stretch %zu: %g ns a step", i, sum_ns / (double)c.stretches[i].n);
    }
    kr_record_calibration_free(&c);
}

static void put_slow_turns(struct kr_build *b)
{
    put_turns(b, 100000000, (const unsigned[]){ 20, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 20 }, 13);
}

/* Two steps are left out, however long they are, and the one behind which a stretch begins. */
static void slow_steps_settle_too(void **state)
{
    struct kr_record_calibration c = { 0 };
    size_t n_plain = 0;
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_slow_turns);
    assert_true(kr_record_steps_alternating("parts", &c, &err));
    for (size_t i = 0; i < c.n_stretches; i++) {
        if (c.stretches[i].profiled)
            continue;
        assert_int_equal(c.stretches[i].n, 4);
        n_plain++;
    }
    assert_int_equal(n_plain, 6);
    assert_int_equal(c.plain.items[0].dur_ns, 100000000);
    kr_record_calibration_free(&c);
}

static void turns_that_show_nothing_are_refused_with_the_reason(void **state)
{
    static const struct {
        void (*put[2])(struct kr_build *b);
        const char *says;
    } cases[] = {
        { { put_short_turns, NULL }, "too few steps 'step *'" },
        { { put_nested_ranges, NULL }, "no NVTX range repeated long enough" },
        { { put_long_turns, put_long_turns }, "2 processes mark steps" },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_record_calibration c = { 0 };
        struct kr_err err = { 0 };

        set_up(state);
        for (uint64_t k = 0; k < 2 && cases[i].put[k]; k++)
            write_part(k + 1, cases[i].put[k]);
        assert_false(kr_record_steps_alternating("parts", &c, &err));
        assert_int_equal(err.code, KR_EENV);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("%s", err.msg);
        kr_record_calibration_free(&c);
    }
}

/* Where a second run is needed after all, what was left alone in the first is not profiled. */
static void steps_in_pauses_are_not_profiled_ones(void **state)
{
    struct kr_record_steps steps = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_short_turns);
    assert_true(kr_record_steps_find("parts", NULL, &steps, &err));
    assert_true(steps.n >= 350 && steps.n < 364);
    for (size_t i = 0; i < steps.n; i++)
        assert_int_equal(steps.items[i].dur_ns, 1200000);
    kr_record_steps_free(&steps);
}

/* Eight steps, of which the window shut for the first two; a window by range shuts in each. */
static void put_windows(struct kr_build *b)
{
    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T("step 1")));
    kr_build_chunk(b, KREACH_GAP,
                   KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(0), KR_S(2990), KR_T("")));
    for (int64_t i = 0; i < 8; i++) {
        kr_build_chunk(
            b, KREACH_RANGES,
            KR_FIELDS(KR_V(1), KR_V(1), KR_V(7), KR_B(0), KR_S(1000 * (i + 1)), KR_V(900)));
        if (i >= 2)
            kr_build_chunk(b, KREACH_GAP,
                           KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(1000 * (i + 1) + 905),
                                     KR_S(1000 * (i + 2) - 10), KR_T("")));
    }
}

static void steps_outside_a_window_are_not_profiled_ones(void **state)
{
    struct kr_record_steps steps = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_windows);
    assert_true(kr_record_steps_find("parts", NULL, &steps, &err));
    assert_int_equal(steps.n, 5); /* from the third to the eighth */
    kr_record_steps_free(&steps);
}

#define MS INT64_C(1000000)

/* Steps of 10 ms; the window opens after 45 ms, shuts from 100 to 200 ms and again after 300. */
static void put_long_windows(struct kr_build *b)
{
    static const int64_t shut_ms[][2] = { { 0, 45 }, { 100, 200 }, { 300, 1000 } };

    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T("step 1")));
    for (size_t i = 0; i < KR_COUNT(shut_ms); i++)
        kr_build_chunk(b, KREACH_GAP,
                       KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(shut_ms[i][0] * MS),
                                 KR_S(shut_ms[i][1] * MS), KR_T("")));
    for (int64_t i = 0; i <= 40; i++)
        kr_build_chunk(
            b, KREACH_RANGES,
            KR_FIELDS(KR_V(1), KR_V(1), KR_V(7), KR_B(0), KR_S(10 * i * MS + 1), KR_V(9000000)));
}

/* Before the window first opened CUPTI had done nothing yet, and what follows its end settles. */
static void steps_that_a_window_left_alone_show_what_staying_costs(void **state)
{
    static const uint64_t places[] = { 12, 13, 14, 15, 16, 17, 18, 32, 33, 34, 35, 36, 37, 38, 39 };
    struct kr_record_steps steps = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_long_windows);
    assert_true(kr_record_steps_outside("parts", NULL, &steps, &err));
    assert_string_equal(steps.label, "step *");
    assert_int_equal(steps.n, KR_COUNT(places));
    for (size_t i = 0; i < steps.n; i++)
        assert_int_equal(steps.items[i].place, places[i]);
    kr_record_steps_free(&steps);
    assert_true(kr_record_steps_outside("parts", "other", &steps, &err));
    assert_int_equal(steps.n, 0);
}

/* A program in two runs: its device takes step_ns for a step, its host launch_ns to launch one. */
struct two_runs {
    const char *name;
    unsigned steps;
    unsigned block;    /* the host waits for the device each so many steps */
    bool ahead_by_one; /* and else for the step before */
    unsigned warm_up;  /* first steps that take five times as long */
    int64_t step_ns, launch_ns;
    unsigned every; /* each so many steps, something else takes other_ns */
    int64_t other_ns;
    int64_t hiccup_ns;   /* befalls the plain run alone, once */
    int64_t recorded_ns; /* so much longer are device steps while recorded ... */
    int64_t launched_ns; /* ... and launches */
    double want_ns;      /* the plain step */
    bool few_pairs;
};

static const struct two_runs *program;
static bool recorded;

/* Ranges of the launches: the first of a block begins when the device is idle. */
static void put_program(struct kr_build *b)
{
    const struct two_runs *p = program;
    const int64_t step_ns = p->step_ns + (recorded ? p->recorded_ns : 0);
    const int64_t launch_ns = p->launch_ns + (recorded ? p->launched_ns : 0);
    int64_t host_ns = 1000000;
    int64_t device_ns = 0;

    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T("step 1")));
    for (unsigned i = 0; i < p->steps; i++) {
        kr_build_chunk(
            b, KREACH_RANGES,
            KR_FIELDS(KR_V(1), KR_V(1), KR_V(7), KR_B(0), KR_S(host_ns), KR_V(launch_ns)));
        device_ns =
            (device_ns > host_ns ? device_ns : host_ns) + (i < p->warm_up ? 5 * step_ns : step_ns);
        host_ns += launch_ns;
        if ((i + 1) % p->block == 0 && device_ns > host_ns)
            host_ns = device_ns;
        else if (p->ahead_by_one && device_ns - step_ns > host_ns)
            host_ns = device_ns - step_ns;
        if (p->every && (i + 1) % p->every == 0)
            host_ns += p->other_ns;
        if (i == p->steps / 2 && !recorded)
            host_ns += p->hiccup_ns;
    }
}

static void find_in_run(bool profiled, struct kr_record_steps *steps)
{
    struct kr_err err = { 0 };

    set_up(NULL);
    recorded = profiled;
    write_part(1, put_program);
    assert_true(kr_record_steps_find("parts", NULL, steps, &err));
}

/* The times that a reader of the file gets; a failure to measure is told in err. */
static bool measure_two_runs(const struct two_runs *p, struct kr_step_times *times,
                             struct kr_err *err)
{
    struct kr_record_calibration c = { .method = "second run" };
    struct kr_bytes payload = { 0 };
    bool good;

    program = p;
    find_in_run(true, &c.profiled);
    find_in_run(false, &c.plain);
    good = kr_record_steps_pair(&c, err);
    if (good) {
        struct kr_cursor cursor;

        assert_true(kr_record_calibration_payload(&c, &payload, err));
        cursor = (struct kr_cursor){ .at = payload.data, .end = payload.data + payload.len };
        assert_true(kr_step_times_read(&cursor, times, err));
        assert_false(cursor.bad);
    }
    kr_bytes_free(&payload);
    kr_record_calibration_free(&c);
    return good;
}

/*
 * Whatever the host does in between, the plain step is what the device needs for a step, and the
 * time of something else goes to the steps, as it does in a report.
 */
static void two_runs_show_the_pace_of_the_device(void **state)
{
    static const struct two_runs cases[] = {
        { "waits each step", 12, 1, false, 0, 20e6, 5e6, .want_ns = 20e6 },
        { "waits every other step", 20, 2, false, 0, 55e6, 35e6, .launched_ns = 3000000,
          .want_ns = 55e6 },
        { "ends amid a block", 21, 2, false, 2, 55e6, 35e6, .launched_ns = 3000000,
          .want_ns = 55e6 },
        { "waits every third step", 30, 3, false, 1, 20e6, 5e6, .want_ns = 20e6 },
        { "waits every seventh step", 50, 7, false, 2, 8e6, 7e6, .want_ns = 8e6 },
        { "launches one step ahead", 50, 7, true, 0, 8e6, 5e5, .want_ns = 8e6 },
        { "slow to warm up", 30, 1, false, 7, 20e6, 5e6, .want_ns = 20e6 },
        { "evaluates", 50, 1, false, 0, 20e6, 5e6, .every = 10, .other_ns = 400000000,
          .want_ns = 60e6, .few_pairs = true },
        { "disturbed", 40, 1, false, 0, 20e6, 5e6, .hiccup_ns = 1000000000, .want_ns = 20e6 },
        { "slowed by launches", 40, 1, false, 0, 5e6, 10e6, .launched_ns = 1000000,
          .want_ns = 10e6 },
        { "waits seldom", 60, 20, false, 0, 20e6, 1e6, .recorded_ns = 2000000, .want_ns = 20e6,
          .few_pairs = true },
        { "slowed on the device", 40, 4, false, 0, 20e6, 1e6, .recorded_ns = 2000000,
          .want_ns = 20e6 },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct two_runs *p = &cases[i];
        const double cost_ns =
            (double)(p->step_ns > p->launch_ns ? p->recorded_ns : p->launched_ns);
        struct kr_step_times t;
        struct kr_err err = { 0 };

        assert_true(measure_two_runs(p, &t, &err));
        if (fabs((double)t.plain_step_ns / p->want_ns - 1) > 0.005)
            fail_msg("%s: a step takes %.3f ms", p->name, (double)t.plain_step_ns / 1e6);
        if (fabs((double)t.profiled_step_ns - p->want_ns - cost_ns) > 0.005 * p->want_ns)
            fail_msg("%s: a profiled step takes %.3f ms", p->name,
                     (double)t.profiled_step_ns / 1e6);
        assert_int_equal(t.pairs >= 6, !p->few_pairs);
    }
}

static void too_few_steps_of_two_runs_are_refused(void **state)
{
    static const struct two_runs most = { "most", 10, 1, false, 0, 20e6, 5e6, .want_ns = 20e6 };
    static const struct two_runs few = { "few", 9, 1, false, 0, 20e6, 5e6, .want_ns = 20e6 };
    struct kr_step_times t;
    struct kr_err err = { 0 };

    (void)state;
    assert_true(measure_two_runs(&most, &t, &err));
    assert_int_equal(t.pairs, 6);
    assert_false(measure_two_runs(&few, &t, &err));
    assert_int_equal(err.code, KR_EENV);
    assert_non_null(strstr(err.msg, "5 of both, without warm-up, and 6 are needed"));
}

/* A window keeps some of the first run's steps; the second run's others do not count. */
static void steps_are_compared_with_the_same_ones_of_the_other_run(void **state)
{
    struct kr_record_calibration c = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        const struct kr_record_step step = { .dur_ns = 1000 + i, .place = i };
        struct kr_record_steps *const both[] = { &c.plain, &c.profiled };

        for (size_t k = 0; k < 2; k++) {
            if (k == 1 && (i < 10 || i == 20 || i >= 30))
                continue;
            assert_true(kr_grow(&both[k]->items, &both[k]->cap, both[k]->n + 1,
                                sizeof *both[k]->items, 100, &err));
            both[k]->items[both[k]->n++] = step;
        }
    }
    assert_true(kr_record_steps_pair(&c, &err));
    assert_int_equal(c.plain.n, 16);
    assert_int_equal(c.profiled.n, 16);
    assert_int_equal(c.plain.items[0].place, 13);
    assert_int_equal(c.plain.items[15].place, 29);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(c.plain.items[i].place, c.profiled.items[i].place);
    assert_int_equal(c.n_stretches, 16);
    for (size_t i = 0; i < c.n_stretches; i++) {
        assert_int_equal(c.stretches[i].profiled, i % 2);
        assert_int_equal(c.stretches[i].n, 2);
    }
    kr_record_calibration_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(steps_are_the_repeating_range_that_covers_most_or_the_named_one,
                               set_up),
        cmocka_unit_test_setup(turns_show_steps_that_have_settled, set_up),
        cmocka_unit_test_setup(a_stretch_holds_whole_rounds_of_a_program_that_waits_now_and_then,
                               set_up),
        cmocka_unit_test_setup(slow_steps_settle_too, set_up),
        cmocka_unit_test_setup(turns_that_show_nothing_are_refused_with_the_reason, set_up),
        cmocka_unit_test_setup(steps_in_pauses_are_not_profiled_ones, set_up),
        cmocka_unit_test_setup(steps_outside_a_window_are_not_profiled_ones, set_up),
        cmocka_unit_test_setup(steps_that_a_window_left_alone_show_what_staying_costs, set_up),
        cmocka_unit_test(two_runs_show_the_pace_of_the_device),
        cmocka_unit_test(too_few_steps_of_two_runs_are_refused),
        cmocka_unit_test(steps_are_compared_with_the_same_ones_of_the_other_run),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

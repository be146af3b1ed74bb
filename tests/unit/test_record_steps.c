/* Step times from the marks in the parts of a run, by turns or from two runs. */
#include <ftw.h>
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
            assert_int_equal(steps.steps_ns[0], cases[i].first_ns);
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
    put_turns(b, 1000000, (const unsigned[]){ 100, 50, 41, 50, 90 }, 5);
}

static void put_short_turns(struct kr_build *b)
{
    put_turns(b, 1000000, (const unsigned[]){ 100, 20, 100 }, 3);
}

/*
 * Of 50 plain steps the first is not whole; two more settle, as do all that begin within 20 ms of
 * the change; the last is left out: 28. Of the recorded ones before the first pause and behind the
 * last, no more time counts than the pause took.
 */
static void turns_show_steps_that_have_settled(void **state)
{
    static const size_t want[] = { 23, 28, 23, 28, 23 };
    struct kr_record_calibration c = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_long_turns);
    write_part(2, put_nested_ranges); /* took no turns */
    assert_true(kr_record_steps_alternating("parts", &c, &err));
    assert_string_equal(c.method, "alternating");
    assert_string_equal(c.plain.label, "step *");
    assert_int_equal(c.n_stretches, KR_COUNT(want));
    for (size_t i = 0; i < c.n_stretches; i++) {
        assert_int_equal(c.stretches[i].profiled, i % 2 == 0);
        if (c.stretches[i].n != want[i])
            fail_msg("stretch %zu: %zu steps", i, c.stretches[i].n);
    }
    for (size_t i = 0; i < c.plain.n; i++)
        assert_int_equal(c.plain.steps_ns[i], 1000000);
    for (size_t i = 0; i < c.profiled.n; i++)
        assert_int_equal(c.profiled.steps_ns[i], 1200000);
    kr_record_calibration_free(&c);
}

static void put_slow_turns(struct kr_build *b)
{
    put_turns(b, 100000000, (const unsigned[]){ 20, 9, 20 }, 3);
}

/* Two steps are left out, however long they are. */
static void slow_steps_settle_too(void **state)
{
    struct kr_record_calibration c = { 0 };
    struct kr_err err = { 0 };

    (void)state;
    write_part(1, put_slow_turns);
    assert_true(kr_record_steps_alternating("parts", &c, &err));
    assert_int_equal(c.n_stretches, 3);
    assert_int_equal(c.stretches[1].n, 5);
    assert_int_equal(c.plain.steps_ns[0], 100000000);
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
    assert_true(steps.n >= 195 && steps.n < 200);
    for (size_t i = 0; i < steps.n; i++)
        assert_int_equal(steps.steps_ns[i], 1200000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(steps_are_the_repeating_range_that_covers_most_or_the_named_one,
                               set_up),
        cmocka_unit_test_setup(turns_show_steps_that_have_settled, set_up),
        cmocka_unit_test_setup(slow_steps_settle_too, set_up),
        cmocka_unit_test_setup(turns_that_show_nothing_are_refused_with_the_reason, set_up),
        cmocka_unit_test_setup(steps_in_pauses_are_not_profiled_ones, set_up),
        cmocka_unit_test_setup(steps_outside_a_window_are_not_profiled_ones, set_up),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

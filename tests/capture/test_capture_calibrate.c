/* Taking turns: recording steps and leaving them alone, for what recording costs. */
#include "cap_calibrate.h"
#include "kreach_format.h"
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Kernels of a name by its end, as the fake CUDA numbers them. */
static uint64_t kernels_of(const struct read_file *f, const char *part)
{
    uint64_t n = 0;

    for (uint64_t i = 1; i < f->n_names && i < READ_NAMES_MAX; i++) {
        if (strstr(f->names[i], part))
            n += f->by_name[i];
    }
    return n;
}

static void steps_are_recorded_and_left_alone_by_turns(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .options = "calibrate,launches,flush=0.1",
                                                   .ops = "init laps=2000,4 return=0" });
    struct read_file *f = scene_file(o);
    char label[32];

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->n_lost, 0);
    assert_int_equal(f->n_gaps, 9);
    for (unsigned i = 0; i < f->n_gaps; i++) {
        assert_int_equal(f->gaps[i].kind, KREACH_GAP_CALIBRATE);
        assert_true(f->gaps[i].to_ns - f->gaps[i].from_ns >= 200000000);
        assert_true(i == 0 || f->gaps[i].from_ns - f->gaps[i - 1].to_ns >= 200000000);
    }
    /* All steps are marked, and of those in the gaps nothing else is recorded. */
    assert_int_equal(f->totals[KREACH_TOTAL_RANGES], 2000);
    assert_true(f->kernels > 400 && f->kernels <= 2000 - 9 * 8);
    assert_int_equal(f->launches, 2 * f->kernels);
    assert_true(kreach_read_info(f, "step_range", label, sizeof label));
    assert_string_equal(label, "lap *");
    scene_free(o);
}

/*
 * Three laps of the first stretch without recording, which lasts for eight or more. The kernel of
 * the lap with which it begins may be recorded or not.
 */
#define LOOP "init lapsoff=1000,20 laps=3,20 "

/* What comes after the loop is recorded again. */
static void a_program_that_leaves_its_loop_is_recorded_again(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .options = "calibrate,flush=0.05",
                                                   .ops = LOOP "open kernels=48 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->n_gaps, 1);
    assert_true(f->kernels < f->totals[KREACH_TOTAL_RANGES] + 48);
    assert_int_equal(kernels_of(f, "kernel_1_"), 3);
    assert_int_equal(kernels_of(f, "kernel_15_"), 3);
    scene_free(o);
}

/* By an hour, which is not how long a step took. */
static void a_clock_that_is_set_does_not_lengthen_a_gap(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .options = "calibrate,flush=0.05",
                                   .ops = LOOP "clock=3600 laps=1,20 open kernels=48 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_true(f->n_gaps >= 1);
    assert_int_equal(kernels_of(f, "kernel_15_"), 3);
    scene_free(o);
}

static void a_program_that_ends_amid_a_gap_says_so(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .options = "calibrate,flush=0.05", .ops = LOOP "_exit=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->end, KREACH_END_FAST);
    assert_int_equal(f->n_gaps, 1);
    assert_int_equal(f->gaps[0].kind, KREACH_GAP_CALIBRATE);
    assert_true(f->gaps[0].to_ns > f->gaps[0].from_ns);
    assert_in_range(f->totals[KREACH_TOTAL_RANGES], f->kernels + 3, f->kernels + 4);
    scene_free(o);
}

/* Another client that comes while we are away is in charge until it has finished, and so are we
 * afterwards: no more turns. */
static void another_client_ends_the_turns(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true,
        .options = "calibrate,flush=0.05",
        .ops = LOOP "rival enable kernels=16 unrival laps=400,4 open kernels=16 return=0" });
    struct read_file *f = scene_file(o);
    unsigned calibrating = 0;

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_null(strstr(o->stderr_text, "victim:"));
    for (unsigned i = 0; i < f->n_gaps; i++)
        calibrating += f->gaps[i].kind == KREACH_GAP_CALIBRATE;
    assert_int_equal(calibrating, 1);
    assert_int_equal(kernels_of(f, "kernel_15_"), 1);
    scene_free(o);
}

static void a_refusal_to_go_on_is_said_and_the_rest_is_a_gap(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .fake = "enable_again=8",
                                                   .options = "calibrate,flush=0.05",
                                                   .ops = LOOP "laps=150,20 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_non_null(strstr(o->stderr_text, "cannot record from here"));
    assert_int_equal(f->n_gaps, 1);
    assert_int_equal(f->gaps[0].kind, KREACH_GAP_CALIBRATE);
    assert_true(f->gaps[0].to_ns - f->gaps[0].from_ns > 1000000000);
    assert_in_range(f->totals[KREACH_TOTAL_RANGES], f->kernels + 153, f->kernels + 154);
    scene_free(o);
}

static void programs_without_steps_and_other_windows_take_no_turns(void **state)
{
    static const struct {
        const char *options, *ops;
    } cases[] = {
        { "calibrate,flush=0.05", "init steps=800,3 return=0" },
        { "calibrate,flush=0.05,steps=1000000", "init laps=200,4 return=0" },
        { "calibrate,flush=0.05,range=lap 7", "init laps=200,4 return=0" },
        { "calibrate,flush=0.05", "init laps=4,200 return=0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .options = cases[i].options, .ops = cases[i].ops });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        for (unsigned k = 0; k < f->n_gaps; k++)
            assert_int_not_equal(f->gaps[k].kind, KREACH_GAP_CALIBRATE);
        scene_free(o);
    }
}

/* Finished ranges of a label, as many as that and so long each. */
struct learnt {
    const char *name;
    unsigned n;
    uint64_t dur_ns;
};

/* The label that these ranges make the one of the steps; "" = none. */
static void choose_among(const struct learnt *all, char *label, size_t room)
{
    static struct cap_opts opts;
    struct cap_recorder r;
    opts = (struct cap_opts){ .calibrate = true };
    assert_true(cap_recorder_open(&r, &opts));
    atomic_store(&cap_session.window, CAP_OPEN);
    cap_calibrate_open();
    for (; all->name; all++) {
        for (unsigned i = 0; i < all->n; i++) {
            char name[64];
            const int len = snprintf(name, sizeof name, "%s %u", all->name, i);

            cap_calibrate_learn(&r, &(struct cap_range){ .name = name,
                                                         .name_len = (size_t)len,
                                                         .thread = 1,
                                                         .dur_ns = all->dur_ns });
        }
    }
    cap_calibrate_choose(&r);
    snprintf(label, room, "%.*s", r.info.len ? r.info.data[11] : 0,
             r.info.len ? (const char *)r.info.data + 12 : "");
    cap_recorder_close(&r);
}

static void steps_are_the_longest_of_the_ranges_that_cover_the_most(void **state)
{
    static const struct {
        struct learnt ranges[4];
        const char *label;
    } cases[] = {
        { { { "step", 6, 1000 } }, "step *" },
        { { { "step", 4, 1000 } }, "" },
        { { { "layer", 24, 10 }, { "step", 4, 250 } }, "layer *" },
        { { { "layer", 144, 10 }, { "step", 5, 250 } }, "step *" }, /* the sixth is not over */
        { { { "layer", 144, 10 }, { "step", 6, 250 }, { "epoch", 1, 1500 } }, "step *" },
        { { { "load", 6, 300 }, { "step", 6, 1000 } }, "step *" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[64];

        choose_among(cases[i].ranges, label, sizeof label);
        assert_string_equal(label, cases[i].label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_recorded_and_left_alone_by_turns),
        cmocka_unit_test(a_program_that_leaves_its_loop_is_recorded_again),
        cmocka_unit_test(a_clock_that_is_set_does_not_lengthen_a_gap),
        cmocka_unit_test(a_program_that_ends_amid_a_gap_says_so),
        cmocka_unit_test(another_client_ends_the_turns),
        cmocka_unit_test(a_refusal_to_go_on_is_said_and_the_rest_is_a_gap),
        cmocka_unit_test(programs_without_steps_and_other_windows_take_no_turns),
        cmocka_unit_test(steps_are_the_longest_of_the_ranges_that_cover_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

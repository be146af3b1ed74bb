/*
 * What profilers of the field have fallen over, one test each, as far as no other file here has it.
 * Rows are those of docs/known-failures.md, "Capturing".
 */
#include "kreach_format.h"
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_NS 3600000000000

/* Reads the scene's only file again, with a line for each event into "seen" beside it. */
static void write_what_is_seen(const struct outcome *o)
{
    static struct read_file file;
    char command[300];
    char part[300] = "";
    char seen[300];

    snprintf(command, sizeof command, "ls %s/*.part", o->folder);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    assert_non_null(fgets(part, sizeof part, in));
    pclose(in);
    part[strcspn(part, "\n")] = '\0';
    snprintf(seen, sizeof seen, "%s/seen", o->folder);
    FILE *out = fopen(seen, "w");
    assert_non_null(out);
    assert_true(kreach_read_log(part, &file, out));
    fclose(out);
}

/* Against what the fake CUDA itself wrote down, in each layout of records that is supported. */
static void every_record_says_what_happened(void **state)
{
    static const char *const layouts[] = { "abi=5", "abi=6", "abi=7",
                                           "abi=8", "abi=9", "abi=10,reverse=1" };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        snprintf(text, sizeof text, "truth=1,%s", layouts[i]);
        struct outcome *o = scene_run(&(struct scene){
            .fake = text,
            .options = "buffer=16,flush=0.02",
            .ops = "init threads=4,300 copies=30 us=3 on=1 sets=20 peers=10 kernels=200 sleep=40 "
                   "graph=5,20 ns=0 kernels=7 return=0" });

        assert_true(scene_exited(o, 0));
        assert_int_equal(scene_file(o)->kernels, 4 * 300 + 200 + 5 * 20 + 7);
        write_what_is_seen(o);
        snprintf(text, sizeof text,
                 "cd '%s' && sort truth >a && sort seen >b && { cmp -s a b || "
                 "{ diff a b | head -4 >&2; exit 1; }; }",
                 o->folder);
        assert_int_equal(system(text), 0);
        scene_free(o);
    }
}

/* Row 1: neither a callback nor a record of a call, which is what slows launches down most. */
static void nothing_but_device_records_is_enabled_by_default(void **state)
{
    static const char *const options[] = { "", "graph-level", "steps=5", "delay=0.01" };

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .fake = "bare=1",
                                       .options = options[i],
                                       .ops = "init open kernels=10 graph=2,5 return=0" });

        assert_true(scene_exited(o, 0));
        assert_true(scene_file(o)->ok);
        scene_free(o);
    }
}

/* In a window that shuts and opens again too. */
static void kinds_that_are_left_out_stay_out(void **state)
{
    static const struct {
        const char *fake, *options, *begin;
        uint64_t copies, sets;
    } cases[] = { { "gpus=2", "range=r,linger=0", "push=r", 2 * (5 + 3), 2 * 4 },
                  { "gpus=1", "range=r,linger=0", "push=r nopeers", 2 * 5, 2 * 4 },
                  { "gpus=1", "range=r,linger=0,peers", "push=r", 2 * (5 + 3), 2 * 4 },
                  { "gpus=2", "range=r,linger=0,kernels-only", "push=r", 0, 0 } };
    char ops[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(ops, sizeof ops,
                 "init %s kernels=10 copies=5 peers=3 sets=4 sync pop shut "
                 "push=r kernels=10 copies=5 peers=3 sets=4 sync pop shut return=0",
                 cases[i].begin);
        struct outcome *o = scene_run(
            &(struct scene){ .fake = cases[i].fake, .options = cases[i].options, .ops = ops });

        assert_true(scene_exited(o, 0));
        assert_int_equal(scene_file(o)->kernels, 20);
        assert_int_equal(scene_file(o)->memcpys, cases[i].copies);
        assert_int_equal(scene_file(o)->memsets, cases[i].sets);
        assert_int_equal(scene_file(o)->n_lost, 0);
        scene_free(o);
    }
}

/* One device copies to none, and that kind of records slows graphs down (docs/performance.md). */
static void copies_between_devices_are_left_out_where_there_is_one(void **state)
{
    static const char *const fakes[] = { "gpus=1", "gpus=1,version=22", "gpus=1,bare=1" };

    (void)state;
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = fakes[i], .ops = "init nopeers kernels=10 copies=5 peers=3 sets=4 return=0" });

        assert_true(scene_exited(o, 0));
        assert_string_equal(o->stderr_text, "");
        assert_int_equal(scene_file(o)->kernels, 10);
        assert_int_equal(scene_file(o)->memcpys, 5);
        assert_int_equal(scene_file(o)->memsets, 4);
        scene_free(o);
    }
}

/* Benchmarks compare with profilers that have these on. */
static void records_of_all_calls_are_on_inside_a_window_only(void **state)
{
    static const char *const ops[] = { "init push=r kernels=10 return=0",
                                       "init kernels=10 return=0" };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = "bare=1", .options = "range=r,all-calls,floor", .ops = ops[i] });

        assert_int_equal(strstr(o->stderr_text, "records of calls are enabled") != NULL, i == 0);
        scene_free(o);
    }
}

/* Rows 3 and 4. */
static void records_without_times_are_counted_for_their_device(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .fake = "zero_every=10", .ops = "init kernels=1000 on=5 kernels=300 copies=100 return=0" });
    struct read_file *f = scene_file(o);
    uint64_t lost[7] = { 0 };

    (void)state;
    for (unsigned i = 0; i < f->n_lost; i++) {
        assert_int_equal(f->lost[i].kind, KREACH_LOST_ZERO_TIME);
        assert_true(f->lost[i].device < 7);
        lost[f->lost[i].device] += f->lost[i].count;
    }
    assert_int_equal(lost[0 + 1], 100);
    assert_int_equal(lost[5 + 1], 40);
    assert_int_equal(f->per_device[0], 900);
    assert_int_equal(f->per_device[5], 360);
    scene_free(o);
}

/* Row 5. */
static void work_of_no_duration_is_kept(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .ops = "init ns=0 kernels=100 copies=10 us=0 kernels=50 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->kernels, 150);
    assert_int_equal(f->memcpys, 10);
    assert_int_equal(f->instant_events, 110);
    assert_int_equal(f->n_lost, 0);
    scene_free(o);
}

/* Rows 7 and 8: times are what CUPTI says, and readings of the clocks say what that means. */
static void a_clock_far_off_or_late_to_settle_costs_no_record(void **state)
{
    static const struct {
        const char *fake;
        int64_t offset_ns;
    } cases[] = { { "clock_ms=7200000", 2 * HOUR_NS },
                  { "clock_ms=-7200000", -2 * HOUR_NS },
                  { "settle=4", 0 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(
            &(struct scene){ .fake = cases[i].fake,
                             .options = "flush=0.05",
                             .ops = "init kernels=100 sleep=150 kernels=100 sleep=150 return=0" });
        struct read_file *f = scene_file(o);

        assert_int_equal(f->kernels, 200);
        assert_int_equal(f->n_lost, 0);
        assert_true(f->clocks >= 2);
        assert_true(llabs(f->clock_offset_ns - cases[i].offset_ns) < HOUR_NS / 60);
        scene_free(o);
    }
}

/* Row 18. */
static void an_instance_of_a_divided_gpu_is_marked(void **state)
{
    static const struct {
        const char *fake;
        uint64_t flags;
    } cases[] = { { "mig=1", KREACH_DEVICE_MIG }, { "", 0 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct outcome *o = scene_run(
            &(struct scene){ .fake = cases[i].fake, .ops = "init on=3 kernels=10 return=0" });

        assert_int_equal(scene_file(o)->device_flags[3], cases[i].flags);
        scene_free(o);
    }
}

/* Rows 13 and 21: the fake writes into them once more when the process ends. */
static void buffers_that_cupti_never_gives_back_stay_its_own_and_are_missed(void **state)
{
    static const char *const ops[] = {
        "init kernels=100 return=3",
        "init kernels=100 badexec kernels=100 return=3",
        "init kernels=100 shut kernels=100 return=3",
    };
    static const char *const options[] = { "", "", "duration=0.5,flush=0.05" };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .fake = "keep=1", .options = options[i], .ops = ops[i] });
        bool present = false;

        assert_true(scene_exited(o, 3));
        kreach_read_lost(scene_file(o), KREACH_LOST_TAKEOVER, &present);
        assert_true(present);
        assert_non_null(strstr(o->stderr_text, "incomplete"));
        scene_free(o);
    }
}

/* Each thing that happened and is not in the file lies in a gap of the file. */
static void expect_missing_work_in_gaps(const struct outcome *o, const struct read_file *f)
{
    char command[400];
    char line[400];

    write_what_is_seen(o);
    snprintf(command, sizeof command, "cd '%s' && sort truth >a && sort seen >b && comm -23 a b",
             o->folder);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        const char *at = strstr(line, " at ");
        assert_non_null(at);
        const int64_t at_ns = strtoll(at + 4, NULL, 10);
        bool in_gap = false;
        for (unsigned i = 0; i < f->n_gaps; i++)
            in_gap |= at_ns >= f->gaps[i].from_ns && at_ns <= f->gaps[i].to_ns;
        if (!in_gap)
            print_error("missing: %s", line);
        assert_true(in_gap);
    }
    pclose(in);
}

/* Its stop and its next start come so soon that we are amid taking the buffers back. */
static void a_client_that_comes_back_at_once_makes_a_gap_each_time(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .rival = true,
                         .fake = "truth=1,move_us=20000",
                         .options = "flush=0.05",
                         .ops = "init kernels=100 sync rival kernels=50 halt sleep=5 rival "
                                "copies=50 sleep=300 copies=50 unrival sleep=300 sets=30 "
                                "return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_null(strstr(o->stderr_text, "victim:"));
    assert_int_equal(f->n_lost, 0);
    expect_missing_work_in_gaps(o, f);
    scene_free(o);
}

/* What comes after the other client is not recorded, and that is a gap, too. */
static void a_refusal_to_record_after_another_client_is_a_gap(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true,
        .fake = "truth=1,enable_again=8",
        .options = "flush=0.05",
        .ops = "init kernels=100 sync rival kernels=50 unrival sleep=300 kernels=30 return=0" });
    struct read_file *f = scene_file(o);
    unsigned missed = 0;

    (void)state;
    assert_true(scene_exited(o, 0));
    for (unsigned i = 0; i < f->n_gaps; i++)
        missed += f->gaps[i].kind == KREACH_GAP_MISSED;
    assert_int_equal(missed, 1);
    assert_non_null(strstr(o->stderr_text, "cannot record from here: CUPTI ran out of memory"));
    expect_missing_work_in_gaps(o, f);
    scene_free(o);
}

static void what_other_threads_launch_while_an_exec_fails_is_a_gap(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .fake = "truth=1",
                         .options = "flush=0.05",
                         .ops = "init steady recorded=20 badexec recorded=200 calm return=0" });

    (void)state;
    expect_missing_work_in_gaps(o, scene_file(o));
    scene_free(o);
}

/* Row 13: such a client is refused when it subscribes; this one only takes the buffers. */
static void a_client_that_finds_cupti_past_us_is_noticed_by_what_it_takes(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true, .ops = "init kernels=100 rival=direct kernels=50 unrival return=0" });
    bool present = false;

    (void)state;
    assert_true(scene_exited(o, 0));
    kreach_read_lost(scene_file(o), KREACH_LOST_TAKEOVER, &present);
    assert_true(present);
    assert_non_null(strstr(o->stderr_text, "incomplete"));
    scene_free(o);
}

/* Row 30: nobody may flush meanwhile, and what comes after is recorded again. */
static void a_client_that_takes_cupti_down_makes_a_gap(void **state)
{
    static const char *const ops[] = {
        "init kernels=100 sleep=50 finalize open kernels=30 return=0",
        ("init kernels=100 sync rival kernels=5 unrival open finalize open kernels=30 "
         "return=0"),
        "init kernels=100 sync rival kernels=5 finalize open kernels=30 return=0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .rival = true, .fake = "late_ms=100", .options = "flush=0.01", .ops = ops[i] });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        if (f->kernels != 130)
            print_error("'%s': %llu kernels\n%s", ops[i], (unsigned long long)f->kernels,
                        o->stderr_text);
        assert_int_equal(f->kernels, 130);
        assert_true(f->n_gaps >= 1);
        assert_int_equal(f->gaps[f->n_gaps - 1].kind, KREACH_GAP_TAKEOVER);
        scene_free(o);
    }
}

/* Row 11. */
static void another_client_is_named_by_its_library(void **state)
{
    static const struct {
        const char *op, *says;
    } cases[] = { { "rival", "another CUPTI client (victim_rival) takes over" },
                  { "subscribe", "another CUPTI client (victim_rival) subscribes" },
                  { "finalize", "another CUPTI client (victim_rival) takes over" } };
    char ops[100];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(ops, sizeof ops, "init kernels=10 sync %s return=0", cases[i].op);
        struct outcome *o = scene_run(&(struct scene){ .rival = true, .ops = ops });

        assert_true(scene_exited(o, 0));
        assert_non_null(strstr(o->stderr_text, cases[i].says));
        scene_free(o);
    }
}

/* Row 32. */
static void a_window_that_cannot_be_ended_does_not_hold_the_program(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .fake = "hang=1,hang_from=10",
                                                   .options = "duration=1,flush=0.05,deadline=0.5",
                                                   .ops = "init kernels=10 sleep=1300 return=9",
                                                   .timeout_s = 20 });

    (void)state;
    assert_true(scene_exited(o, 9));
    assert_true(o->seconds < 15);
    assert_non_null(strstr(o->stderr_text, "did not answer"));
    scene_free(o);
}

/* Row 48. */
static void what_cuda_takes_down_at_exit_is_fetched_before(void **state)
{
    static const char *const ops[] = {
        "init kernels=100 return=0",
        "init kernels=100 exit=0",
        "init threads=8,200 return=0",
        "init kernels=100 sleep=700 kernels=100 return=0",
    };
    static const uint64_t kernels[] = { 100, 100, 1600, 200 };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o = scene_run(&(struct scene){ .fake = "early=1", .ops = ops[i] });

        assert_true(scene_exited(o, 0));
        assert_int_equal(scene_file(o)->kernels, kernels[i]);
        scene_free(o);
    }
}

/* Row 55. */
static void two_million_records_are_no_limit(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = SANITIZED ? "init graph=20,10000 return=0" : "init graph=220,10000 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->kernels, SANITIZED ? 200000 : 2200000);
    assert_int_equal(f->n_lost, 0);
    scene_free(o);
}

/* Row 66: records of the host that another client wants come to us, too. */
static void records_of_the_host_are_no_work_and_unknown_work_is_missed(void **state)
{
    static const struct {
        const char *fake;
        bool missed;
    } cases[] = { { "noise=17", false }, /* overhead */
                  { "noise=12", false }, /* markers */
                  { "noise=18", true },  /* kernels that kernels launch */
                  { "noise=63", true } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .fake = cases[i].fake, .ops = "init kernels=40 return=0" });
        struct read_file *f = scene_file(o);
        bool present = false;
        const uint64_t lost = kreach_read_lost(f, KREACH_LOST_UNKNOWN, &present);

        assert_int_equal(f->kernels, 40);
        assert_int_equal(f->memcpys + f->memsets + f->graphs + f->launches, 0);
        assert_int_equal(present, cases[i].missed);
        assert_int_equal(lost, cases[i].missed ? 40 : 0);
        scene_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_says_what_happened),
        cmocka_unit_test(nothing_but_device_records_is_enabled_by_default),
        cmocka_unit_test(kinds_that_are_left_out_stay_out),
        cmocka_unit_test(copies_between_devices_are_left_out_where_there_is_one),
        cmocka_unit_test(records_of_all_calls_are_on_inside_a_window_only),
        cmocka_unit_test(records_without_times_are_counted_for_their_device),
        cmocka_unit_test(work_of_no_duration_is_kept),
        cmocka_unit_test(a_clock_far_off_or_late_to_settle_costs_no_record),
        cmocka_unit_test(an_instance_of_a_divided_gpu_is_marked),
        cmocka_unit_test(buffers_that_cupti_never_gives_back_stay_its_own_and_are_missed),
        cmocka_unit_test(a_client_that_finds_cupti_past_us_is_noticed_by_what_it_takes),
        cmocka_unit_test(a_client_that_comes_back_at_once_makes_a_gap_each_time),
        cmocka_unit_test(what_other_threads_launch_while_an_exec_fails_is_a_gap),
        cmocka_unit_test(a_refusal_to_record_after_another_client_is_a_gap),
        cmocka_unit_test(a_client_that_takes_cupti_down_makes_a_gap),
        cmocka_unit_test(another_client_is_named_by_its_library),
        cmocka_unit_test(a_window_that_cannot_be_ended_does_not_hold_the_program),
        cmocka_unit_test(what_cuda_takes_down_at_exit_is_fetched_before),
        cmocka_unit_test(two_million_records_are_no_limit),
        cmocka_unit_test(records_of_the_host_are_no_work_and_unknown_work_is_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

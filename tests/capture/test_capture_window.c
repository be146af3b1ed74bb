/* When libkreach.so records: windows by time, range, profiler calls and steps; NVTX ranges. */
#include "cap_session.h"
#include "cap_window.h"
#include "kreach_format.h"
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct window {
    const char *name, *options, *ops;
    uint64_t kernels;
    unsigned window_gaps;
    uint64_t end;
} windows[] = {
    { "inside a range only", "range=step,linger=0",
      "init kernels=10 push=step kernels=20 pop sync shut kernels=40 return=0", 20, 2,
      KREACH_END_EXIT },
    { "inside each range of the name", "range=step,linger=0",
      "init push=step kernels=1 pop sync shut kernels=100 push=other kernels=100 push=step "
      "kernels=2 pop pop sync shut push=step kernels=4 pop sync shut return=0",
      7, 4, KREACH_END_EXIT },
    { "a range that began before CUDA did", "range=all,linger=0",
      "push=all init kernels=20 pop sync shut kernels=40 return=0", 20, 1, KREACH_END_EXIT },
    { "a range of a domain, by registered string", "range=step,linger=0",
      "init kernels=10 dpush=step kernels=20 dpop sync shut kernels=40 return=0", 20, 2,
      KREACH_END_EXIT },
    { "a start/end range", "range=step,linger=0",
      "init kernels=10 start=step kernels=20 end sync shut kernels=40 return=0", 20, 2,
      KREACH_END_EXIT },
    { "a name with a comma", "range=a\\,b,linger=0",
      "init kernels=10 push=a,b kernels=20 pop sync shut kernels=40 return=0", 20, 2,
      KREACH_END_EXIT },
    { "between cudaProfilerStart and Stop", "profiler-api,linger=0",
      "init kernels=10 profstart kernels=20 profstop sync shut kernels=40 return=0", 20, 2,
      KREACH_END_EXIT },
    { "after a delay", "delay=0.2,flush=0.05", "init kernels=10 open kernels=20 return=0", 20, 1,
      KREACH_END_EXIT },
    { "for a while", "duration=1,flush=0.05", "init kernels=10 shut kernels=20 return=0", 10, 0,
      KREACH_END_WINDOW },
    { "between cudaProfilerStart and Stop, with an exec that fails", "profiler-api,linger=0",
      "init kernels=10 profstart kernels=20 badexec kernels=30 profstop sync shut kernels=40 "
      "return=0",
      50, 2, KREACH_END_EXIT },
    { "after a delay, with an exec that fails", "delay=1,flush=0.05",
      "init kernels=10 open kernels=20 badexec kernels=30 return=0", 50, 1, KREACH_END_EXIT },
    { "for a while, with the next flush far away", "duration=0.3,flush=3600",
      "init kernels=10 shut kernels=20 closed return=0", 10, 0, KREACH_END_WINDOW },
    { "for a while after a delay", "delay=0.3,duration=1,flush=0.05",
      "init kernels=1 open kernels=2 shut kernels=4 return=0", 2, 1, KREACH_END_WINDOW },
};

static unsigned count_gaps(const struct read_file *f, uint64_t kind)
{
    unsigned n = 0;

    for (unsigned i = 0; i < f->n_gaps; i++)
        n += f->gaps[i].kind == kind;
    return n;
}

static void a_window_holds_what_ran_inside_it_and_gaps_tell_the_rest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const struct window *want = &windows[i];
        struct outcome *o =
            scene_run(&(struct scene){ .options = want->options, .ops = want->ops });
        struct read_file *f = scene_file(o);
        unsigned gaps = 0;

        for (unsigned k = 0; k < f->n_gaps; k++) {
            gaps += f->gaps[k].kind == KREACH_GAP_WINDOW;
            assert_true(f->gaps[k].to_ns >= f->gaps[k].from_ns);
        }
        if (f->kernels != want->kernels || gaps != want->window_gaps)
            print_error("window '%s': %llu kernels, %u gaps\n%s", want->name,
                        (unsigned long long)f->kernels, gaps, o->stderr_text);
        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, want->kernels);
        assert_int_equal(gaps, want->window_gaps);
        assert_int_equal(f->end, want->end);
        assert_int_equal(f->n_lost, 0);
        scene_free(o);
    }
}

static void recording_stops_after_the_asked_number_of_equal_steps(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "steps=20,flush=0.1", .ops = "init kernels=37 steps=2500,11 return=0" });
    struct read_file *f = scene_file(o);
    char text[32];

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->end, KREACH_END_WINDOW);
    assert_true(f->kernels >= 37 + 20 * 11);
    assert_true(f->kernels < 37 + 2500 * 11);
    assert_true(kreach_read_info(f, "step_kernels", text, sizeof text));
    assert_string_equal(text, "11");
    scene_free(o);
}

static void steps_that_are_never_found_are_told(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .options = "steps=20,flush=0.1", .ops = "init kernels=37 return=0" });

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(scene_file(o)->kernels, 37);
    assert_non_null(strstr(o->stderr_text, "no 20 steps in a row looked alike"));
    scene_free(o);
    /* There is no file in which anything could be missed. */
    o = scene_run(&(struct scene){ .options = "steps=20", .ops = "init return=0" });
    assert_true(scene_exited(o, 0));
    assert_string_equal(o->stderr_text, "");
    scene_free(o);
}

/* CUPTI keeps a kind on for graphs that it was switched on for before there was a context. */
static void graphs_are_left_alone_when_their_window_is_over(void **state)
{
    static const struct {
        const char *options, *ops;
        uint64_t kernels;
    } cases[] = {
        { "duration=1,flush=0.05", "init graph=2,10 shut graph=3,10 sync return=0", 20 },
        { "duration=1,flush=0.05,yield", "init graph=2,10 shut graph=3,10 sync return=0", 20 },
        { "delay=0.1,duration=1,flush=0.05", "init open graph=2,10 shut graph=3,10 return=0", 20 },
        { "range=r,linger=0", "push=r init graph=2,10 pop sync shut graph=3,10 return=0", 20 },
        { "range=r,linger=0", "init push=r graph=2,10 pop sync shut graph=3,10 return=0", 20 },
        { "range=r,linger=0",
          "init push=r graph=1,10 pop sync shut graph=3,10 push=r graph=1,10 pop sync shut "
          "graph=3,10 return=0",
          20 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .options = cases[i].options, .ops = cases[i].ops });

        assert_true(scene_exited(o, 0));
        assert_null(strstr(o->stderr_text, "victim:"));
        assert_int_equal(scene_file(o)->kernels, cases[i].kernels);
        assert_int_equal(scene_file(o)->n_lost, 0);
        scene_free(o);
    }
}

/*
 * Work that is under way when the kinds go off is recorded whole, some time later. Waiting for the
 * device would break off a capture, and end the program with it.
 */
static void launches_that_a_window_cuts_through_are_waited_for(void **state)
{
    static const struct {
        const char *fake, *ops;
        uint64_t kernels, unfinished;
    } cases[] = {
        { "", "init us=300000 kernels=4 us=0 shut closed return=0", 4, 0 },
        { "capturing=1", "init us=300000 kernels=4 us=0 shut closed return=0", 4, 0 },
        { "", "init us=300000 kernels=4 us=0 shut return=0", 4, 0 },
        { "nosync=1", "init us=3000000 kernels=4 us=0 shut return=0", 0, 4 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = cases[i].fake, .options = "duration=1,flush=0.05", .ops = cases[i].ops });
        struct read_file *f = scene_file(o);
        bool present = false;

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->end, KREACH_END_WINDOW);
        assert_int_equal(f->kernels, cases[i].kernels);
        assert_int_equal(kreach_read_lost(f, KREACH_LOST_UNFINISHED, &present),
                         cases[i].unfinished);
        assert_int_equal(f->n_lost, cases[i].unfinished > 0);
        assert_null(strstr(o->stderr_text, "victim:"));
        assert_null(strstr(o->stderr_text, "broken off"));
        scene_free(o);
    }
}

/* Row 33: after the window nothing of ours is left in the way of others, or of the program. */
static void after_its_window_kreach_lets_go_of_cupti(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true,
        .options = "duration=1,flush=0.05",
        .ops =
            "init kernels=10 shut sleep=400 rival subscribe enable kernels=5 unrival return=0" });

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_null(strstr(o->stderr_text, "victim:"));
    assert_int_equal(scene_file(o)->kernels, 10);
    scene_free(o);
}

/* Row 33: asked to, kreach takes CUPTI out of the process when its window is over for good. */
static void after_its_window_kreach_leaves_where_it_is_asked_to_and_can(void **state)
{
    static const struct {
        const char *fake, *options, *detach, *said;
    } cases[] = {
        { "told=1", "duration=1,flush=0.05,finalize", "finalized in", "at the end of a call" },
        { "told=1,late_ms=30", "duration=1,flush=0.05,finalize", "finalized in",
          "at the end of a call" },
        { "told=1", "duration=1,flush=0.05", "CUPTI stays: not asked", "" },
        { "told=1,silent=1", "duration=1,flush=0.05,finalize", "CUPTI stays: its callback",
          "CUPTI stays: its callback" },
        { "told=1,version=23", "duration=1,flush=0.05,finalize", "CUPTI stays: this version",
          "CUPTI stays: this version" },
        { "stays=7", "duration=1,flush=0.05,finalize", "CUPTI stays: it refuses",
          "CUPTI stays: it refuses" },
        { "told=1", "duration=1,flush=0.05,finalize,yield", "CUPTI stays: another",
          "CUPTI stays: another" },
    };
    char text[96];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = cases[i].fake,
            .options = cases[i].options,
            .ops = "init kernels=10 shut sleep=400 kernels=5 sync kernels=5 return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 10);
        assert_int_equal(f->end, KREACH_END_WINDOW);
        assert_int_equal(f->n_lost, 0);
        assert_true(kreach_read_info(f, "detach", text, sizeof text));
        assert_memory_equal(text, cases[i].detach, strlen(cases[i].detach));
        assert_non_null(strstr(o->stderr_text, cases[i].said));
        assert_int_equal(strstr(o->stderr_text, "finalized") != NULL,
                         strncmp(text, "finalized", 9) == 0);
        scene_free(o);
    }
}

/* Replaying a graph without the CUPTI that it was made under is an illegal memory access. */
static void kreach_does_not_leave_a_program_with_graphs_though_it_is_asked_to(void **state)
{
    static const char *const options[] = { "duration=1,flush=0.05,finalize",
                                           "duration=1,flush=0.05,finalize,graph-level" };
    char text[96];

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = "told=1",
            .options = options[i],
            .ops = "init kernels=5 graph=2,10 shut sleep=400 graph=2,10 sync return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->end, KREACH_END_WINDOW);
        assert_true(kreach_read_info(f, "detach", text, sizeof text));
        assert_string_equal(text,
                            "CUPTI stays: CUDA graphs were used, which would fail without it");
        assert_non_null(strstr(o->stderr_text, text));
        assert_null(strstr(o->stderr_text, "finalized"));
        scene_free(o);
    }
}

static void ranges_are_recorded_with_their_names_and_threads(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "nvtx",
        .ops = "init push=outer push=inner kernels=5 sleep=20 pop pop mark=here dpush=dom dpop "
               "start=long kernels=1 end pop return=0" });
    struct read_file *f = scene_file(o);
    static const struct {
        const char *name;
        unsigned kind;
    } want[] = { { "inner", 0 }, { "outer", 0 }, { "here", 2 }, { "dom", 0 }, { "long", 1 } };

    (void)state;
    assert_int_equal(f->n_ranges, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(f->ranges[i].name, want[i].name);
        assert_int_equal(f->ranges[i].kind, want[i].kind);
        assert_int_equal(f->ranges[i].thread, f->pid);
    }
    assert_true(f->ranges[0].dur_ns >= 20000000);
    assert_true(f->ranges[1].dur_ns >= f->ranges[0].dur_ns);
    assert_int_equal(f->totals[KREACH_TOTAL_RANGES], 5);
    scene_free(o);
}

/* Row 17: torch.profiler of such a torch would get 39, and kreach cannot see it come. */
static void torch_whose_cupti_is_built_in_may_subscribe(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = "load=" TORCH_STATIC " init kernels=10 torch kernels=10 return=0" });
    struct read_file *f = scene_file(o);
    char text[64];

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_null(strstr(o->stderr_text, "victim:"));
    assert_int_equal(f->kernels, 20);
    assert_true(kreach_read_info(f, "torch_cupti", text, sizeof text));
    assert_string_equal(text, "built in");
    scene_free(o);
}

/* The child has no thread that could end the parent's range. */
static void a_child_is_not_inside_of_a_window_of_its_parent_s_threads(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "range=w,linger=0",
        .ops = "start=w fork init kernels=3 push=w kernels=4 pop shut kernels=5 end kernels=6 "
               "_exit=0 ; init kernels=2 end shut kernels=1 return=0" });
    uint64_t kernels[2];

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(o->n_files, 2);
    for (unsigned i = 0; i < 2; i++)
        kernels[i] = o->files[i]->kernels;
    assert_int_equal(kernels[0] + kernels[1], 4 + 2);
    assert_int_equal(kernels[0] * kernels[1], 4 * 2);
    scene_free(o);
}

/*
 * For what staying costs: when the window is over only ranges are recorded, whoever wants it open
 * again or takes CUPTI's buffers, and the rest is a gap.
 */
static void ranges_go_on_after_the_window_where_that_is_asked_for(void **state)
{
    static const struct {
        const char *options, *after;
        unsigned gaps;
        int end;
    } cases[] = {
        { "", "return=0", 1, KREACH_END_EXIT },
        { "", "sleep=200 rival subscribe enable kernels=5 unrival return=0", 1, KREACH_END_EXIT },
        { "", "badexec push=step kernels=2 pop return=0", 1, KREACH_END_EXEC },
        { ",profiler-api", "profstart kernels=9 profstop return=0", 2, KREACH_END_EXIT },
        { ",range=step", "push=step kernels=2 pop return=0", 2, KREACH_END_EXIT },
        { ",range=step", "badexec push=step kernels=2 pop return=0", 2, KREACH_END_EXEC },
    };
    char options[100];
    char ops[200];
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(options, sizeof options, "nvtx,marks-after,duration=1,flush=0.05%s",
                 cases[i].options);
        snprintf(
            ops, sizeof ops,
            "init profstart push=step kernels=10 shut pop push=step kernels=3 pop sleep=100 %s",
            cases[i].after);
        struct outcome *o =
            scene_run(&(struct scene){ .rival = true, .options = options, .ops = ops });
        struct read_file *f = scene_file(o);

        if (f->kernels != 10 || f->n_ranges < 2)
            fail_msg("%s, %s: %llu kernels, %u ranges", options, ops,
                     (unsigned long long)f->kernels, (unsigned)f->n_ranges);
        assert_true(scene_exited(o, 0));
        assert_int_equal(f->end, cases[i].end);
        assert_int_equal(count_gaps(f, KREACH_GAP_WINDOW), cases[i].gaps);
        assert_int_equal(f->n_gaps, cases[i].gaps);
        assert_int_equal(f->n_lost, 0);
        assert_true(kreach_read_info(f, "detach", text, sizeof text));
        assert_string_equal(text, "CUPTI stays: what that costs is measured");
        scene_free(o);
    }
}

/* Libraries mark their own domains, whose ranges need not lie inside of the program's. */
static void a_pop_ends_the_innermost_range_of_its_own_domain(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "nvtx",
        .ops = "init kernels=1 push=program dpush=net/send dpush=data/load push=inner dpop=net "
               "dpop=data pop pop dpop=net return=0" });
    struct read_file *f = scene_file(o);
    static const char *const want[] = { "send", "load", "inner", "program" };

    (void)state;
    assert_int_equal(f->n_ranges, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(f->ranges[i].name, want[i]);
    scene_free(o);
}

/*
 * parcagpu issue 23: work behind a kernel that does not end fills the device's buffers. 90,000
 * records wait, of which one buffer of 100,000 may hold four fifths unwarned, and two all.
 */
static void kreach_warns_before_the_buffers_on_the_device_are_full(void **state)
{
    static const char *const options[] = {
        "device-limit=2,device-buffer=320,buffer=64,flush=0.05",
        "device-limit=1,device-buffer=320,buffer=64,flush=0.05",
        "buffer=64,flush=0.05",
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .options = options[i],
            .ops = "init us=1500000 kernels=1 us=0 kernels=9000 sleep=300 sync sleep=100 "
                   "return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 9001);
        assert_int_equal(kreach_read_info(f, "device_records_waiting", text, sizeof text), i == 1);
        assert_int_equal(strstr(o->stderr_text, "beyond 10240") != NULL, i == 1);
        if (i == 1)
            assert_in_range(strtoul(text, NULL, 10), 8192, 10240);
        scene_free(o);
    }
}

/* Waiting for the end of a window costs no CPU of the program's. */
static void the_end_of_a_duration_is_slept_until(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "duration=0.2,flush=2", .ops = "init kernels=10 sleep=1500 closed return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->end, KREACH_END_WINDOW);
    assert_true(f->totals[KREACH_TOTAL_OWN_CPU_NS] < 150000000);
    scene_free(o);
}

/* There is no CUPTI to be asked what time it is when the file takes nothing. */
static void a_plain_run_that_cannot_be_written_harms_nobody(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "plain,nvtx", .ops = "init ranges=5000 return=4", .file_limit_bytes = 1024 });

    (void)state;
    assert_true(scene_exited(o, 4));
    assert_non_null(strstr(o->stderr_text, "cannot write"));
    scene_free(o);
}

/* For true step times: the program's ranges, and CUPTI not even loaded. */
static void a_plain_run_has_ranges_and_no_cupti(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .fake = "subscribe=39",
        .options = "plain,nvtx",
        .ops = "init push=step kernels=5 sleep=20 pop push=step kernels=5 pop _exit=0" });
    struct read_file *f = scene_file(o);
    char text[32];

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->n_ranges, 2);
    assert_int_equal(f->kernels, 0);
    assert_int_equal(f->end, KREACH_END_FAST);
    assert_false(kreach_read_info(f, "cupti", text, sizeof text));
    assert_string_equal(o->stderr_text, "");
    scene_free(o);
}

static void without_the_option_nvtx_is_left_alone(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .ops = "init push=outer kernels=5 pop return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->n_ranges, 0);
    assert_int_equal(f->kernels, 5);
    scene_free(o);
}

/*
 * Row 12: who asks for the subscription gets it. Only a client that finds CUPTI by its own handle,
 * past us, is refused, and not even that with the option.
 */
static void the_subscription_is_given_to_whoever_asks(void **state)
{
    static const struct {
        const char *options, *ops;
        bool refused;
    } cases[] = { { "", "init kernels=10 subscribe kernels=10 return=0", false },
                  { "", "init kernels=10 subscribe=direct kernels=10 return=0", true },
                  { "yield", "init kernels=10 subscribe=direct kernels=10 return=0", false } };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct outcome *o = scene_run(
            &(struct scene){ .rival = true, .options = cases[i].options, .ops = cases[i].ops });
        const bool refused = strstr(o->stderr_text, "victim: subscribe: 39") != NULL;

        assert_true(scene_exited(o, 0));
        assert_int_equal(refused, cases[i].refused);
        assert_int_equal(strstr(o->stderr_text, "gives way") != NULL, i == 0);
        assert_int_equal(scene_file(o)->kernels, 20);
        scene_free(o);
    }
}

/* Row 56: ten thousand windows, and memory stays where it was (the victim looks). */
static void memory_stays_flat_over_ten_thousand_windows(void **state)
{
    static const char *const options[] = { "range=window,flush=0.05",
                                           "range=window,flush=0.05,linger=0" };
    const uint64_t n_windows = SANITIZED ? 500 : 10000;

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .options = options[i],
            .ops = SANITIZED ? "init windows=500 return=0" : "init windows=10000 return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_string_equal(o->stderr_text, "");
        assert_int_equal(f->kernels, 2 * n_windows);
        assert_int_equal(f->range_rows, n_windows);
        assert_true(i == 1 || f->gap_rows < n_windows / 10); /* one that lingers is not shut */
        scene_free(o);
    }
}

/* Windows of the same name that follow each other faster than CUPTI can be moved. */
static void no_window_is_lost_while_the_one_before_is_being_shut(void **state)
{
    static const struct {
        const char *fake, *options;
    } cases[] = {
        { "late_ms=3", "range=window,linger=0,flush=0.05" },
        { "move_us=500", "range=window,linger=0,flush=0.05" },
        { "late_ms=3,move_us=500", "range=window,flush=0.05" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){ .fake = cases[i].fake,
                                                       .options = cases[i].options,
                                                       .ops = "init windows=200 return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 2 * 200);
        assert_int_equal(count_gaps(f, KREACH_GAP_MISSED), 0);
        assert_int_equal(f->n_lost, 0);
        scene_free(o);
    }
}

/* Ranges that come again soon cost no move; what ran between them is there, with the ranges. */
static void a_window_that_is_wanted_again_soon_is_never_shut(void **state)
{
    static const struct {
        const char *options, *ops, *range;
    } cases[] = {
        { "range=step,linger=1.5",
          "init kernels=10 push=step kernels=20 pop sync sleep=20 kernels=40 push=step kernels=80 "
          "pop sync shut kernels=160 return=0",
          "step" },
        { "profiler-api,linger=1.5",
          "init kernels=10 profstart kernels=20 profstop sync sleep=20 kernels=40 profstart "
          "profstart kernels=80 profstop profstop sync shut kernels=160 return=0",
          "cudaProfilerStart" },
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .options = cases[i].options, .ops = cases[i].ops });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 20 + 40 + 80);
        assert_int_equal(count_gaps(f, KREACH_GAP_WINDOW), 2);
        assert_int_equal(f->n_ranges, 2);
        assert_string_equal(f->ranges[0].name, cases[i].range);
        assert_string_equal(f->ranges[1].name, cases[i].range);
        assert_true(kreach_read_info(f, "window_linger_ns", text, sizeof text));
        assert_string_equal(text, "1500000000");
        scene_free(o);
    }
}

/*
 * CUPTI takes two seconds to switch the kinds off: the program waits a moment and goes on. The
 * fake lets no launch pass meanwhile.
 */
static void what_a_stuck_cupti_keeps_from_a_window_is_a_gap_of_its_own(void **state)
{
    static const struct {
        const char *ops;
        uint64_t kernels;
        uint64_t least_ms, most_ms;
    } cases[] = {
        { "init kernels=1 push=step kernels=5 pop sleep=300 push=step sleep=200 pop sleep=2000 "
          "push=step kernels=7 pop return=0",
          12, 190, 900 },
        { "init kernels=1 push=step kernels=5 pop sleep=300 push=step sleep=2000 kernels=9 pop "
          "return=0",
          14, 300, 1700 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){ .fake = "move_us=2000000,move_once=1",
                                                       .options = "range=step,linger=0,flush=0.05",
                                                       .ops = cases[i].ops });
        struct read_file *f = scene_file(o);
        uint64_t missed_ms = 0;

        for (unsigned k = 0; k < f->n_gaps; k++) {
            if (f->gaps[k].kind == KREACH_GAP_MISSED)
                missed_ms += (uint64_t)(f->gaps[k].to_ns - f->gaps[k].from_ns) / 1000000;
        }
        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, cases[i].kernels);
        assert_int_equal(count_gaps(f, KREACH_GAP_MISSED), 1);
        assert_in_range(missed_ms, cases[i].least_ms, cases[i].most_ms);
        scene_free(o);
    }
}

static void a_window_that_cupti_refuses_is_a_gap_with_the_reason(void **state)
{
    static const struct {
        const char *options, *ops;
        unsigned least, most;
    } cases[] = {
        { "range=step,flush=0.05",
          "init push=step kernels=5 sleep=20 pop push=step kernels=5 pop sleep=100 push=step "
          "kernels=5 return=0",
          2, 3 },
        { "delay=0.05,flush=0.05", "init kernels=5 sleep=300 kernels=5 return=0", 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = "enable=35", .options = cases[i].options, .ops = cases[i].ops });
        struct read_file *f = scene_file(o);
        const char *said = strstr(o->stderr_text, "cannot record from here");

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 0);
        assert_non_null(said);
        assert_null(strstr(said + 1, "cannot record from here"));
        assert_in_range(count_gaps(f, KREACH_GAP_MISSED), cases[i].least, cases[i].most);
        for (unsigned k = 0; k < f->n_gaps; k++)
            assert_true(f->gaps[k].kind != KREACH_GAP_MISSED ||
                        strstr(f->gaps[k].detail, "only administrators") != NULL);
        scene_free(o);
    }
}

/* Eight flushes of almost half a second, of which the program waits for the last ones only. */
static void the_program_does_not_wait_for_the_flush_of_a_window(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .fake = "late_ms=1000",
        .options = "range=step,linger=0",
        .ops = "init push=step kernels=1 pop sleep=5 push=step kernels=1 pop sleep=5 push=step "
               "kernels=1 pop sleep=5 push=step kernels=1 pop sleep=5 push=step kernels=1 pop "
               "sleep=5 push=step kernels=1 pop sleep=5 push=step kernels=1 pop sleep=5 push=step "
               "kernels=1 pop sleep=5 return=0" });

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(scene_file(o)->kernels, 8);
    assert_true(o->seconds < 6); /* and not once for each of the eight */
    scene_free(o);
}

/* A CUPTI of which only whether kernels are recorded counts. */
static bool kernels_on;
static bool wanted_meanwhile; /* the next reading of its clock takes so long that a range begins */

static int switch_on(uint32_t kind)
{
    kernels_on |= kind == CUPTI_KIND_CONCURRENT_KERNEL;
    return CUPTI_OK;
}

static int switch_off(uint32_t kind)
{
    kernels_on &= kind != CUPTI_KIND_CONCURRENT_KERNEL;
    return CUPTI_OK;
}

static int flush_nothing(uint32_t flag)
{
    (void)flag;
    return CUPTI_OK;
}

static int tell_time(uint64_t *ns)
{
    if (wanted_meanwhile) {
        wanted_meanwhile = false;
        cap_window_want(&cap_session, true);
    }
    *ns = cap_now_ns();
    return CUPTI_OK;
}

static void begin_by_hand(struct cap_session *s)
{
    s->cupti = (struct cap_cupti){ .enable = switch_on,
                                   .disable = switch_off,
                                   .flush_all = flush_nothing,
                                   .get_timestamp = tell_time };
    s->pid = getpid();
    atomic_store(&s->window, CAP_SHUT);
    atomic_store(&s->phase, CAP_ON);
}

/* The program is inside the range when CUDA comes up, and comes to it again later. */
static void a_duration_begins_with_the_first_of_its_ranges(void **state)
{
    static struct cap_opts opts;
    struct cap_session *s = &cap_session;

    (void)state;
    assert_true(cap_recorder_open(&s->recorder, &opts));
    begin_by_hand(s);
    s->ready_ns = cap_now_ns();
    s->opened_mono_ns = s->ready_ns;
    s->opts.duration_ns = 1000000000;
    atomic_store(&s->window, CAP_OPEN);
    cap_window_step(s, s->ready_ns);
    assert_int_equal(s->window, CAP_SHUT); /* not wanted */
    cap_window_want(s, true);
    cap_window_step(s, s->ready_ns + 300000000);
    cap_window_note(s);
    assert_int_equal(s->window, CAP_OPEN);
    assert_int_equal(cap_window_left_ns(s, s->ready_ns + 300000000), 700000000);
    assert_int_equal(cap_window_left_ns(s, s->ready_ns + 1300000000), 0);
    cap_recorder_close(&s->recorder);
    memset(s, 0, sizeof *s);
}

/* The worker has decided to shut, and another thread, which has seen it open, relies on that. */
static void an_opening_cancels_a_shutting_that_has_not_begun(void **state)
{
    struct cap_session *s = &cap_session;

    (void)state;
    begin_by_hand(s);
    cap_window_want(s, true);
    assert_true(kernels_on);
    atomic_store(&s->window_opened_ns, 0); /* the worker has noted it */
    cap_window_want(s, false);
    wanted_meanwhile = true;
    cap_window_step(s, cap_now_ns());
    assert_false(wanted_meanwhile);
    assert_true(kernels_on);
    assert_int_equal(s->window, CAP_OPEN);
    cap_window_want(s, false);
    cap_window_step(s, cap_now_ns());
    assert_false(kernels_on);
    assert_int_equal(s->window, CAP_SHUT);
    memset(s, 0, sizeof *s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_is_wanted_again_soon_is_never_shut),
        cmocka_unit_test(what_a_stuck_cupti_keeps_from_a_window_is_a_gap_of_its_own),
        cmocka_unit_test(a_window_that_cupti_refuses_is_a_gap_with_the_reason),
        cmocka_unit_test(no_window_is_lost_while_the_one_before_is_being_shut),
        cmocka_unit_test(the_program_does_not_wait_for_the_flush_of_a_window),
        cmocka_unit_test(an_opening_cancels_a_shutting_that_has_not_begun),
        cmocka_unit_test(a_duration_begins_with_the_first_of_its_ranges),
        cmocka_unit_test(the_end_of_a_duration_is_slept_until),
        cmocka_unit_test(a_plain_run_that_cannot_be_written_harms_nobody),
        cmocka_unit_test(a_window_holds_what_ran_inside_it_and_gaps_tell_the_rest),
        cmocka_unit_test(recording_stops_after_the_asked_number_of_equal_steps),
        cmocka_unit_test(steps_that_are_never_found_are_told),
        cmocka_unit_test(graphs_are_left_alone_when_their_window_is_over),
        cmocka_unit_test(launches_that_a_window_cuts_through_are_waited_for),
        cmocka_unit_test(after_its_window_kreach_lets_go_of_cupti),
        cmocka_unit_test(after_its_window_kreach_leaves_where_it_is_asked_to_and_can),
        cmocka_unit_test(kreach_does_not_leave_a_program_with_graphs_though_it_is_asked_to),
        cmocka_unit_test(ranges_are_recorded_with_their_names_and_threads),
        cmocka_unit_test(torch_whose_cupti_is_built_in_may_subscribe),
        cmocka_unit_test(a_child_is_not_inside_of_a_window_of_its_parent_s_threads),
        cmocka_unit_test(ranges_go_on_after_the_window_where_that_is_asked_for),
        cmocka_unit_test(a_pop_ends_the_innermost_range_of_its_own_domain),
        cmocka_unit_test(kreach_warns_before_the_buffers_on_the_device_are_full),
        cmocka_unit_test(a_plain_run_has_ranges_and_no_cupti),
        cmocka_unit_test(without_the_option_nvtx_is_left_alone),
        cmocka_unit_test(the_subscription_is_given_to_whoever_asks),
        cmocka_unit_test(memory_stays_flat_over_ten_thousand_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

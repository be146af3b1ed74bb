/*
 * kreach record with the real libkreach.so, under a fake CUDA: what the test program launched is
 * what the reader finds. Skipped where VICTIM and FAKE_LIB do not name these.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "cmd.h"
#include "import.h"
#include "mem.h"
#include "scratch.h"

enum { ARGS_MAX = 32 };

static char scratch[64];

static int enter_scratch(void **state)
{
    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        return 0;
    unsetenv("KREACH_LIB");
    setenv("LD_LIBRARY_PATH", getenv("FAKE_LIB"), 1);
    snprintf(scratch, sizeof scratch, "%s/kreach_capture.XXXXXX", scratch_root());
    return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int leave_scratch(void **state)
{
    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        return 0;
    unlink("r.kreach");
    return chdir("/") == 0 && rmdir(scratch) == 0 ? 0 : -1;
}

/* kreach record -f -o r.kreach OPTION VICTIM WORDS..., returning its status. */
static int record(const char *option, const char *const *words)
{
    char *argv[ARGS_MAX + 10] = { (char *)"kreach", (char *)"record",   (char *)"-q",
                                  (char *)"-fo",    (char *)"r.kreach", (char *)option };
    struct kr_io io = { .out = stdout, .log = stderr };
    int argc = 6;

    argv[argc++] = getenv("VICTIM");
    for (size_t i = 0; words[i]; i++)
        argv[argc++] = (char *)words[i];
    return kr_main(&io, argc, argv);
}

static struct kr_timeline *read_recording(void)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_file("r.kreach", NULL, &err);

    if (!t)
        print_error("%s\n", err.msg);
    assert_non_null(t);
    return t;
}

static const struct {
    const char *option;
    const char *words[ARGS_MAX];
    int status;
    uint64_t kernels, memcpys, memsets, launches, graph_launches, annotations;
    bool complete;
} launched[] = {
    { "-q",
      { "init", "kernels=2000", "copies=10", "sets=5", "return=0" },
      0,
      2000,
      10,
      5,
      0,
      0,
      0,
      true },
    { "-q", { "init", "graph=7,500", "exit=3" }, 3, 3500, 0, 0, 0, 0, 0, true },
    { "-q", { "init", "threads=8,1000", "_exit=0" }, 0, 8000, 0, 0, 0, 0, 0, true },
    { "--launches",
      { "init", "kernels=20", "graph=2,50", "return=0" },
      0,
      120,
      0,
      0,
      20,
      2,
      0,
      true },
    { "--nvtx",
      { "init", "push=a", "kernels=20", "pop", "return=0" },
      0,
      20,
      0,
      0,
      20,
      0,
      2,
      true },
    { "--graph-level",
      { "init", "graph=7,500", "kernels=9", "return=0" },
      0,
      16,
      0,
      0,
      0,
      0,
      0,
      true },
    { "-q", { "init", "kernels=500", "recorded=500", "kill=9" }, 137, 500, 0, 0, 0, 0, 0, false },
};

static void what_was_launched_is_what_is_read(void **state)
{
    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    for (size_t i = 0; i < KR_COUNT(launched); i++) {
        struct kr_timeline *t;

        assert_int_equal(record(launched[i].option, launched[i].words), launched[i].status);
        t = read_recording();
        assert_int_equal(t->counts.kernels, launched[i].kernels);
        assert_int_equal(t->counts.memcpys, launched[i].memcpys);
        assert_int_equal(t->counts.memsets, launched[i].memsets);
        assert_int_equal(t->counts.launches, launched[i].launches);
        assert_int_equal(t->counts.graph_launches, launched[i].graph_launches);
        assert_int_equal(t->n_annotations, launched[i].annotations); /* of host and device */
        assert_int_equal(kr_timeline_complete(t), launched[i].complete);
        assert_non_null(kr_timeline_fact(t, "cupti"));
        kr_timeline_free(t);
    }
}

static void a_plain_run_gives_the_true_step_time(void **state)
{
    static const char *const words[] = { "init", "perlap=20", "laps=13,30", "return=0", NULL };
    struct kr_timeline *t;

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    assert_int_equal(record("--calibrate", words), 0);
    t = read_recording();
    assert_int_equal(t->counts.kernels, 13 * 20);
    assert_string_equal(t->source.steps.method, "second run");
    assert_true(t->source.steps.plain_steps >= 8);
    assert_int_equal(t->source.steps.profiled_steps, t->source.steps.plain_steps);
    assert_true(t->source.steps.pairs >= 6);
    assert_true(t->source.steps.plain_step_ns >= 29500000); /* what each step takes */
    assert_true(t->source.steps.profiled_step_ns >= 30000000);
    kr_timeline_free(t);
}

/* The fake CUPTI makes each step four milliseconds longer while it is recorded. */
static void what_recording_costs_is_measured_within_the_run(void **state)
{
    static const char *const words[] = { "init", "laps=950,4", "return=0", NULL };
    const struct kr_step_times *steps;
    struct kr_timeline *t;
    double cost_ns;

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    setenv("FAKE", "cost_us=4000", 1);
    assert_int_equal(record("--calibrate", words), 0);
    unsetenv("FAKE");
    t = read_recording();
    steps = &t->source.steps;
    assert_string_equal(steps->method, "alternating");
    assert_string_equal(steps->label, "lap *");
    assert_in_range(steps->pairs, 6, 9);
    cost_ns = steps->cost_frac * (double)steps->plain_step_ns;
    if (cost_ns < 2e6 || cost_ns > 8e6)
        fail_msg("%g ns of %llu", cost_ns, (unsigned long long)steps->plain_step_ns);
    assert_true(steps->cost_low_frac <= steps->cost_frac);
    assert_true(steps->cost_frac <= steps->cost_high_frac);
    assert_in_range(t->n_pauses, steps->pairs, 9);
    assert_int_equal(t->counts.annotations, 950);
    assert_true(kr_timeline_complete(t));
    kr_timeline_free(t);
}

/* Six hundred launches in four milliseconds: CUPTI leaves them slower; turns would not show all. */
static void a_run_of_many_launches_is_measured_in_two(void **state)
{
    static const char *const words[] = { "init", "perlap=600", "laps=1000,4", "return=0", NULL };
    struct kr_timeline *t;

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    assert_int_equal(record("--calibrate", words), 0);
    t = read_recording();
    assert_string_equal(t->source.steps.method, "second run");
    assert_int_equal(t->source.steps.plain_steps, t->source.steps.profiled_steps);
    assert_true(t->source.steps.profiled_steps > 100);
    assert_true(t->source.steps.profiled_steps < 1000 - 6 * 8); /* in the first, turns were taken */
    kr_timeline_free(t);
}

static void all_steps_are_recorded_where_two_runs_are_asked_for(void **state)
{
    static const char *const words[] = { "init", "laps=600,2", "return=0", NULL };
    struct kr_timeline *t;

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    assert_int_equal(record("--twice", words), 0);
    t = read_recording();
    assert_string_equal(t->source.steps.method, "second run");
    assert_int_equal(t->n_pauses, 0);
    assert_int_equal(t->counts.annotations, 600);
    kr_timeline_free(t);
}

/* The window shuts while four replays are queued, and CUPTI gives what then begins a wrong end. */
static void replays_that_a_window_leaves_behind_are_no_work(void **state)
{
    static const char *const words[] = { "init",      "push=a",   "us=20000",   "graph=4,10",
                                         "kernels=1", "pop",      "shut",       "sync",
                                         "push=a",    "us=50",    "graph=4,10", "sync",
                                         "pop",       "return=0", NULL };
    struct kr_timeline *t;

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    setenv("FAKE", "stale_ms=5000", 1);
    setenv("KREACH_OPTIONS", "linger=0", 1);
    assert_int_equal(record("--range=a", words), 0);
    unsetenv("KREACH_OPTIONS");
    unsetenv("FAKE");
    t = read_recording();
    assert_true(t->warnings[KR_WARN_OUTSIDE].count > 0);
    assert_int_equal(t->counts.kernels + t->warnings[KR_WARN_OUTSIDE].count, 81);
    for (size_t i = 0; i < t->n_events; i++)
        assert_true(t->events[i].dur_ns <= 20000000);
    assert_true(kr_timeline_complete(t));
    kr_timeline_free(t);
}

static void another_client_in_the_way_is_status_4(void **state)
{
    static const char *const words[] = { "init", "kernels=9", "return=0", NULL };

    (void)state;
    if (!getenv("VICTIM") || !getenv("FAKE_LIB"))
        skip();
    setenv("FAKE", "subscribe=39", 1);
    assert_int_equal(record("-q", words), KR_STATUS_MISSING);
    unsetenv("FAKE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_launched_is_what_is_read),
        cmocka_unit_test(a_plain_run_gives_the_true_step_time),
        cmocka_unit_test(what_recording_costs_is_measured_within_the_run),
        cmocka_unit_test(a_run_of_many_launches_is_measured_in_two),
        cmocka_unit_test(all_steps_are_recorded_where_two_runs_are_asked_for),
        cmocka_unit_test(replays_that_a_window_leaves_behind_are_no_work),
        cmocka_unit_test(another_client_in_the_way_is_status_4),
    };

    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}

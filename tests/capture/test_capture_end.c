/* How a recorded process may end, and what must be on disk then. */
#include "kreach_format.h"
#include "scene.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

/* The termination matrix: each way out of a process that has a hook loses nothing. */
static const struct way_out {
    const char *name;
    struct scene scene;
    int status;        /* exit status, or -signal */
    unsigned sections; /* in the file */
    uint64_t kernels, end;
} ways_out[] = {
    { "return from main", { .ops = "init kernels=3000 return=7" }, 7, 1, 3000, KREACH_END_EXIT },
    { "exit", { .ops = "init kernels=3000 exit=7" }, 7, 1, 3000, KREACH_END_EXIT },
    { "_exit (row 50)", { .ops = "init kernels=3000 _exit=7" }, 7, 1, 3000, KREACH_END_FAST },
    { "_Exit (row 50)", { .ops = "init kernels=3000 _Exit=7" }, 7, 1, 3000, KREACH_END_FAST },
    { "quick_exit", { .ops = "init kernels=3000 quick_exit=7" }, 7, 1, 3000, KREACH_END_FAST },
    { "exec (row 48)", { .ops = "init kernels=3000 exec=/bin/true" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execl", { .ops = "init kernels=3000 become=execl" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execl, arguments that fill pages",
      { .ops = "init kernels=3000 become=execl-long" },
      0,
      1,
      3000,
      KREACH_END_EXEC },
    { "execle", { .ops = "init kernels=3000 become=execle" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execlp", { .ops = "init kernels=3000 become=execlp" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execv", { .ops = "init kernels=3000 become=execv" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execve", { .ops = "init kernels=3000 become=execve" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execvp", { .ops = "init kernels=3000 become=execvp" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execvpe", { .ops = "init kernels=3000 become=execvpe" }, 0, 1, 3000, KREACH_END_EXEC },
    { "fexecve", { .ops = "init kernels=3000 become=fexecve" }, 0, 1, 3000, KREACH_END_EXEC },
    { "execveat", { .ops = "init kernels=3000 become=execveat-e" }, 0, 1, 3000, KREACH_END_EXEC },
    { "posix_spawn of another program",
      { .ops = "init kernels=3000 spawn kernels=500 return=7" },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "exec that fails, then more work",
      { .ops = "init kernels=3000 badexec kernels=500 return=7" },
      7,
      2,
      3500,
      KREACH_END_EXIT },
    { "vfork and exec in the child",
      { .ops = "init kernels=3000 vexec kernels=500 return=7" },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "vfork and _exit in the child",
      { .ops = "init kernels=3000 vexit kernels=500 return=7" },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "a clone that no fork handler sees",
      { .options = "deadline=5",
        .ops = "init kernels=3000 clone kernels=500 return=7",
        .timeout_s = 4 },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "SIGTERM",
      { .ops = "init kernels=3000 ready hang",
        .kill_after_us = 1000,
        .kill_counts_from_ready = true,
        .signal = SIGTERM },
      -SIGTERM,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "SIGINT",
      { .ops = "init kernels=3000 ready hang",
        .kill_after_us = 1000,
        .kill_counts_from_ready = true,
        .signal = SIGINT },
      -SIGINT,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "SIGHUP",
      { .ops = "init kernels=3000 ready hang",
        .kill_after_us = 1000,
        .kill_counts_from_ready = true,
        .signal = SIGHUP },
      -SIGHUP,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "a signal raised on a launching thread",
      { .ops = "init kernels=3000 kill=15 hang" },
      -SIGTERM,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "a program that ends while a signal is being seen to",
      { .fake = "slow_ms=300", .ops = "init kernels=3000 kill=15 return=7" },
      -SIGTERM,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "one that becomes another meanwhile",
      { .fake = "slow_ms=300", .ops = "init kernels=3000 kill=15 exec=/bin/true" },
      -SIGTERM,
      1,
      3000,
      KREACH_END_SIGNAL },
    { "sixteen threads that call _exit at once (row 31)",
      { .ops = "init kernels=3000 leavers=16,7" },
      7,
      1,
      3000,
      KREACH_END_FAST },
    { "exit in the constructor of a library",
      { .ops = "init kernels=3000 load=" LEAVER },
      7,
      1,
      3000,
      KREACH_END_EXIT },
    { "a library that is closed",
      { .no_preload = true, .ops = "init kernels=3000 unload kernels=500 return=7" },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "exec of what is not there, then more work",
      { .ops = "init kernels=3000 noexec kernels=500 return=7" },
      7,
      1,
      3500,
      KREACH_END_EXIT },
    { "signals all the time (row 53)",
      { .options = "flush=0.01", .ops = "alarm=300 init threads=2,1500 return=7" },
      7,
      1,
      3000,
      KREACH_END_EXIT },
    { "signals that only our threads could take (row 53)",
      { .options = "flush=0.01", .ops = "strayed=300 init threads=2,1500 sleep=50 return=7" },
      7,
      1,
      3000,
      KREACH_END_EXIT },
    { "SIGTERM with the program's own handler",
      { .ops = "quiet init kernels=3000 ready hang",
        .kill_after_us = 1000,
        .kill_counts_from_ready = true,
        .signal = SIGTERM },
      42,
      1,
      3000,
      KREACH_END_EXIT },
    { "SIGTERM with a handler set after ours",
      { .ops = "init quiet kernels=3000 ready hang",
        .kill_after_us = 1000,
        .kill_counts_from_ready = true,
        .signal = SIGTERM },
      42,
      1,
      3000,
      KREACH_END_EXIT },
};

static void no_way_out_with_a_hook_loses_a_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways_out / sizeof *ways_out; i++) {
        const struct way_out *want = &ways_out[i];
        struct outcome *o = scene_run(&want->scene);
        const bool as_wanted = want->status >= 0
                                   ? WIFEXITED(o->status) && WEXITSTATUS(o->status) == want->status
                                   : WIFSIGNALED(o->status) && WTERMSIG(o->status) == -want->status;
        if (!as_wanted || o->hung)
            print_error("way out '%s': status %x, hung %d\n", want->name, (unsigned)o->status,
                        o->hung);
        assert_true(as_wanted && !o->hung);
        struct read_file *f = scene_file(o);
        if (f->kernels != want->kernels || f->end != want->end)
            print_error("way out '%s'\n%s", want->name, o->stderr_text);
        assert_int_equal(f->kernels, want->kernels);
        assert_int_equal(f->sections, want->sections);
        assert_int_equal(f->ends, want->sections);
        assert_int_equal(f->end, want->end);
        assert_int_equal(f->n_lost, 0);
        assert_string_equal(o->stderr_text, "");
        scene_free(o);
    }
}

/* Signals that it does not handle are nothing to it. */
static void the_first_process_of_a_container_lives_and_is_recorded_on(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = "newpid init kernels=3000 kill=15 sleep=100 kernels=500 return=7" });

    (void)state;
    if (strstr(o->stderr_text, "no namespace")) {
        scene_free(o);
        skip();
    }
    assert_true(scene_exited(o, 7));
    assert_int_equal(scene_file(o)->kernels, 3500);
    assert_int_equal(scene_file(o)->end, KREACH_END_EXIT);
    scene_free(o);
}

/* As programs do that start themselves anew. */
static void each_program_of_a_process_has_a_file(void **state)
{
    static const uint64_t kernels[] = { 30, 14 };
    struct outcome *o = scene_run(&(struct scene){ .ops = "init kernels=30 again=7" });

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_string_equal(o->stderr_text, "");
    assert_int_equal(o->n_files, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(o->files[i]->ok);
        assert_int_equal(o->files[i]->kernels, kernels[i]);
        assert_int_equal(o->files[i]->n_lost, 0);
    }
    assert_int_equal(o->files[0]->pid, o->files[1]->pid);
    scene_free(o);
}

/* What its window had launched is still to come when the process becomes another program. */
static void exec_waits_for_the_end_of_a_window_that_is_under_way(void **state)
{
    static const char *const ops[] = {
        "init us=1500000 kernels=4 us=0 shut exec=/bin/true",
        "init us=1500000 kernels=4 us=0 shut badexec sleep=100 return=0",
        "init us=1500000 kernels=4 us=0 shut vexec vexit closed return=0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .options = "duration=0.2,flush=0.05", .ops = ops[i] });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 4);
        assert_int_equal(f->sections, 1);
        assert_int_equal(f->ends, 1);
        assert_int_equal(f->end, KREACH_END_WINDOW);
        assert_int_equal(f->n_lost, 0);
        scene_free(o);
    }
}

/* No hook: what was flushed is there, and the file shows that it has no end. */
static const struct crash {
    const char *name;
    struct scene scene;
    int signal;
} crashes[] = {
    { "abort",
      { .options = "flush=0.05", .ops = "init kernels=3000 recorded=3000 kernels=10 abort" },
      SIGABRT },
    { "SIGSEGV",
      { .options = "flush=0.05", .ops = "init kernels=3000 recorded=3000 kernels=10 kill=11" },
      SIGSEGV },
    { "SIGKILL",
      { .options = "flush=0.05", .ops = "init kernels=3000 recorded=3000 kernels=10 kill=9" },
      SIGKILL },
    { "SIGKILL while CUPTI hangs",
      { .fake = "slow_ms=20",
        .options = "flush=0.05",
        .ops = "init kernels=3000 recorded=3000 kill=9" },
      SIGKILL },
};

static void a_crash_loses_at_most_the_last_flush_period(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct outcome *o = scene_run(&crashes[i].scene);
        struct read_file *f = scene_file(o);

        if (f->kernels < 3000)
            print_error("crash '%s': %llu kernels\n", crashes[i].name,
                        (unsigned long long)f->kernels);
        assert_true(WIFSIGNALED(o->status));
        assert_int_equal(WTERMSIG(o->status), crashes[i].signal);
        assert_true(f->kernels >= 3000);
        assert_int_equal(f->ends, 0);
        assert_true(f->totals[KREACH_TOTAL_KERNELS] >= 3000);
        scene_free(o);
    }
}

/* The totals that a flush wrote are promises: all records up to them must be in the file. */
static void kill_9_at_any_moment_leaves_every_flushed_record(void **state)
{
    const unsigned rounds = SANITIZED ? 60 : 200;
    unsigned with_file = 0;
    unsigned torn = 0;
    unsigned promising = 0;

    (void)state;
    srand(20261130);
    for (unsigned i = 0; i < rounds; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .options = "flush=0.01,buffer=16",
                                       .ops = "init kernels=100 recorded=100 ready "
                                              "threads=4,1000000",
                                       .kill_counts_from_ready = i % 4 != 0,
                                       .kill_after_us = 1 + (unsigned)rand() % 50000 });
        assert_true(WIFSIGNALED(o->status) && !o->hung);
        for (unsigned k = 0; k < o->n_files; k++) {
            const struct read_file *f = o->files[k];
            if (f->bytes == 0)
                continue; /* killed between creating the file and its first write */
            with_file++;
            torn += f->torn;
            if (!f->ok && !f->torn)
                print_error("round %u: %s\n", i, f->why);
            assert_true(f->ok || f->torn);
            assert_true(f->kernels >= f->totals[KREACH_TOTAL_KERNELS]);
            assert_int_equal(f->ends, 0);
            promising += f->totals[KREACH_TOTAL_KERNELS] > 0;
        }
        scene_free(o);
    }
    print_message("%u of %u runs left a file, %u of them with totals, %u torn\n", with_file, rounds,
                  promising, torn);
    assert_true(with_file >= promising && promising >= rounds * 3 / 4);
}

/* Row 29: the program ends in time with its own status; the file says what is missing. */
static const struct hang {
    const char *fake;
    const char *ops;
    int status;
    int end;
} hangs[] = {
    { "hang=1,hang_from=100", "init kernels=100 return=9", 9, KREACH_END_EXIT },
    { "hang=2,nosync=1", "init us=9000000 kernels=1 return=9", 9, KREACH_END_EXIT },
    { "hang=1,hang_from=100", "init kernels=100 _exit=9", 9, KREACH_END_FAST },
    { "hang=1,hang_from=100", "init kernels=100 kill=15 hang", -SIGTERM, KREACH_END_SIGNAL },
    { "hang=1,hang_from=100", "init kernels=100 cancelled=9", 9, KREACH_END_FAST },
    { "late_ms=1500,nosync=1", "init kernels=100 badexec kernels=100 sleep=2500 return=9", 9,
      KREACH_END_EXEC },
};

static void a_cupti_that_never_answers_costs_the_deadline_and_no_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++) {
        struct outcome *o = scene_run(&(struct scene){ .fake = hangs[i].fake,
                                                       .options = "deadline=0.5,flush=0.2",
                                                       .ops = hangs[i].ops,
                                                       .timeout_s = 20 });
        bool present = false;

        if (hangs[i].status >= 0)
            assert_true(scene_exited(o, hangs[i].status));
        else
            assert_true(WIFSIGNALED(o->status) && WTERMSIG(o->status) == -hangs[i].status);
        assert_true(o->seconds < 15);
        struct read_file *f = scene_file(o);
        kreach_read_lost(f, KREACH_LOST_DEADLINE, &present);
        assert_true(present);
        assert_int_equal(f->ends, 1);
        assert_int_equal(f->end, hangs[i].end);
        assert_non_null(strstr(o->stderr_text, "did not answer"));
        scene_free(o);
    }
}

static void a_full_disk_is_counted_and_the_program_runs(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .options = "flush=0.05,buffer=64",
                                   .ops = "init kernels=2000 recorded=2000 kernels=98000 return=4",
                                   .file_limit_bytes = 200000 });
    char path[300];
    struct stat st;

    (void)state;
    assert_true(scene_exited(o, 4));
    struct read_file *f = scene_file(o);
    snprintf(path, sizeof path, "%s", o->folder);
    assert_int_equal(stat(path, &st), 0);
    assert_true(f->bytes <= 200000);
    assert_true(f->kernels >= 2000 && f->kernels < 100000);
    assert_non_null(strstr(o->stderr_text, "cannot write"));
    assert_non_null(strstr(o->stderr_text, "incomplete"));
    /* The count fits behind the last whole chunk when there is room for it; else no end does. */
    bool present = false;
    const uint64_t lost = kreach_read_lost(f, KREACH_LOST_WRITE, &present);
    assert_true(present || f->ends == 0);
    assert_true(f->kernels + lost <= 100000);
    assert_true(!present || lost > 0);
    scene_free(o);
}

/* Row 55: the disk is bounded on request, and what that costs stands in the file. */
static void a_file_of_the_size_that_was_asked_for_counts_the_rest(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .options = "size=1,flush=0.05",
                         .ops = "init kernels=2000 recorded=2000 kernels=398000 return=4" });
    struct read_file *f = scene_file(o);
    bool present = false;

    (void)state;
    assert_true(scene_exited(o, 4));
    assert_true(f->ok && f->ends == 1);
    assert_in_range(f->bytes, 500 << 10, (1 << 20) + 4096);
    assert_true(f->kernels >= 2000 && f->kernels < 400000);
    assert_int_equal(f->kernels + kreach_read_lost(f, KREACH_LOST_WRITE, &present), 400000);
    assert_non_null(strstr(o->stderr_text, "as large as it may be"));
    scene_free(o);
}

static void an_output_folder_that_cannot_be_made_is_said_once(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .env = "KREACH_OUT=/proc/nowhere/",
                                                   .options = "flush=0.02",
                                                   .ops = "init kernels=100 sleep=200 return=4" });

    (void)state;
    assert_true(scene_exited(o, 4));
    assert_int_equal(o->n_files, 0);
    const char *said = strstr(o->stderr_text, "cannot create");
    assert_non_null(said);
    assert_null(strstr(said + 1, "cannot create"));
    scene_free(o);
}

/* A process that outlives its run must not bring the run's folder back. */
static void the_folder_of_a_run_is_not_made_again(void **state)
{
    static const struct {
        const char *env;
        bool made;
    } cases[] = { { "KREACH_OUT=gone/", false }, { "KREACH_OUT=gone/ KREACH_RUN", true } };
    char path[300];
    struct stat st;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct outcome *o =
            scene_run(&(struct scene){ .env = cases[i].env, .ops = "init kernels=10 return=4" });

        assert_true(scene_exited(o, 4));
        snprintf(path, sizeof path, "%s/gone", o->folder);
        assert_int_equal(stat(path, &st) == 0, cases[i].made);
        assert_int_equal(!strstr(o->stderr_text, "cannot create"), cases[i].made);
        scene_free(o);
    }
}

/* CUDA and NVTX were told of one, and the functions of another stand in front of libc's. */
static void of_two_copies_the_one_in_front_records(void **state)
{
    static const struct {
        const char *options, *ops;
    } cases[] = {
        { "", "init kernels=20 _exit=7" },
        { "range=step,linger=0", "init kernels=5 push=step kernels=20 pop sync shut kernels=5 "
                                 "_exit=7" },
    };
    char folder[] = "/tmp/kreach-copy-XXXXXX";
    char command[600];
    char env[200];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "cp '%s' %s/libkreach.so", LIBKREACH, folder);
    assert_int_equal(system(command), 0);
    snprintf(env, sizeof env,
             "CUDA_INJECTION64_PATH=%s/libkreach.so NVTX_INJECTION64_PATH=%s/libkreach.so", folder,
             folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(
            &(struct scene){ .env = env, .options = cases[i].options, .ops = cases[i].ops });

        assert_true(scene_exited(o, 7));
        assert_int_equal(scene_file(o)->kernels, 20);
        assert_int_equal(scene_file(o)->end, KREACH_END_FAST);
        assert_string_equal(o->stderr_text, "");
        scene_free(o);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Daemons close all descriptors, and the numbers then belong to other files. */
static void descriptors_that_the_program_closes_are_never_written_to(void **state)
{
    static const char *const ops[] = {
        "init kernels=1000 recorded=1000 closefds kernels=1000 return=0",
        "init kernels=1000 recorded=1000 reuse kernels=1000 recorded=2000 return=0",
    };
    struct stat st;
    char path[300];

    (void)state;
    if (THREAD_SANITIZED) /* it calls closing another's descriptor a race, and it is one */
        skip();
    for (size_t i = 0; i < 2; i++) {
        struct outcome *o = scene_run(&(struct scene){ .options = "flush=0.05", .ops = ops[i] });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 2000);
        assert_int_equal(f->ends, 1);
        snprintf(path, sizeof path, "%s/bystander", o->folder);
        if (i == 1)
            assert_true(stat(path, &st) == 0 && st.st_size == 0);
        scene_free(o);
    }
}

/* Row 51: a child writes nothing into the parent's file and makes none of its own. */
static void a_forked_child_is_inert(void **state)
{
    static const char *const fakes[] = { "", "version=18" }; /* row 20: that one takes no NULL */

    (void)state;
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
        struct outcome *o = scene_run(
            &(struct scene){ .fake = fakes[i],
                             .options = "flush=0.05",
                             .ops = "init kernels=1000 sleep=100 fork nopart kernels=5 sleep=150 "
                                    "exit=0 ; kernels=1000 return=0" });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 2000);
        assert_int_equal(f->ends, 1);
        assert_string_equal(o->stderr_text, "");
        scene_free(o);
    }
}

/* Row 49: workers that initialise CUDA themselves each have a file. */
static void children_that_use_cuda_themselves_have_files_of_their_own(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = "fork init kernels=10 _exit=0 ; fork init kernels=20 exit=0 ; fork return=0 ; "
               "init kernels=30 return=0" });
    uint64_t kernels = 0;

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(o->n_files, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(o->files[i]->ok);
        assert_int_equal(o->files[i]->ends, 1);
        assert_string_equal(o->files[i]->run_id, "0123456789abcdef");
        kernels += o->files[i]->kernels;
    }
    assert_int_equal(kernels, 60);
    scene_free(o);
}

static void a_storm_of_forks_harms_neither_side(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .options = "flush=0.01,buffer=16",
                         .ops = SANITIZED ? "init storm=30 return=0" : "init storm=200 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->ends, 1);
    assert_true(f->kernels > 0);
    assert_int_equal(f->n_lost, 0);
    scene_free(o);
}

/* Row 31: many threads end the process at once. */
static void a_second_signal_does_not_wait(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .fake = "hang=1,hang_from=10",
                                   .options = "deadline=30",
                                   .ops = "init kernels=10 kill=15 sleep=300 kill=15 hang",
                                   .timeout_s = 25 });

    (void)state;
    assert_false(o->hung);
    assert_true(WIFSIGNALED(o->status) && WTERMSIG(o->status) == SIGTERM);
    assert_true(o->seconds < 20);
    scene_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_way_out_with_a_hook_loses_a_record),
        cmocka_unit_test(the_first_process_of_a_container_lives_and_is_recorded_on),
        cmocka_unit_test(each_program_of_a_process_has_a_file),
        cmocka_unit_test(exec_waits_for_the_end_of_a_window_that_is_under_way),
        cmocka_unit_test(a_crash_loses_at_most_the_last_flush_period),
        cmocka_unit_test(kill_9_at_any_moment_leaves_every_flushed_record),
        cmocka_unit_test(a_cupti_that_never_answers_costs_the_deadline_and_no_more),
        cmocka_unit_test(a_full_disk_is_counted_and_the_program_runs),
        cmocka_unit_test(a_file_of_the_size_that_was_asked_for_counts_the_rest),
        cmocka_unit_test(an_output_folder_that_cannot_be_made_is_said_once),
        cmocka_unit_test(the_folder_of_a_run_is_not_made_again),
        cmocka_unit_test(of_two_copies_the_one_in_front_records),
        cmocka_unit_test(descriptors_that_the_program_closes_are_never_written_to),
        cmocka_unit_test(a_forked_child_is_inert),
        cmocka_unit_test(children_that_use_cuda_themselves_have_files_of_their_own),
        cmocka_unit_test(a_storm_of_forks_harms_neither_side),
        cmocka_unit_test(a_second_signal_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `kreach record` with the real libkreach.so, under the fake CUDA. */
#include "../support/scratch.h"
#include "kreach_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/kreach-with-record-XXXXXX", scratch_root());
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[200];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Records a shell script as out.kreach; what was said on both streams into text. */
static int record_with(const char *options, const char *script, char *text, size_t room)
{
    char command[4096];

    snprintf(command, sizeof command,
             "cd '%s' && export LD_LIBRARY_PATH='%s' KREACH_LIB='%s' VICTIM='%s' && "
             "export CLIENT='%s' BIG_TLS='%s' && "
             "'%s' record --force %s -o out.kreach -- sh -c '%s' 2>&1",
             folder, FAKE_LIB, LIBKREACH, VICTIM, CLIENT, BIG_TLS, KREACH, options, script);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    const size_t len = fread(text, 1, room - 1, in);
    text[len] = '\0';
    const int status = pclose(in);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int record(const char *script, char *text, size_t room)
{
    return record_with("", script, text, room);
}

/* It had begun to record, and was killed at once or found the disk full. */
static void a_part_without_a_byte_is_a_process_cut_off(void **state)
{
    struct read_file *f = malloc(sizeof *f);
    char text[4096];
    char path[200];

    (void)state;
    assert_int_equal(record(": > \"$KREACH_OUT\"/kreach.1.1.part", text, sizeof text), 4);
    assert_non_null(strstr(text, "processes cut off: 1"));
    assert_int_equal(record(": > \"$KREACH_OUT\"/kreach.1.1.part; $VICTIM init kernels=10 return=3",
                            text, sizeof text),
                     3);
    assert_non_null(strstr(text, "incomplete: processes without a clean end"));
    snprintf(path, sizeof path, "%s/out.kreach", folder);
    assert_true(kreach_read(path, f) && f->ok);
    assert_int_equal(f->kernels, 10);
    free(f);
}

/* All descriptors are taken when the first kernel comes, and some are free again later. */
static void a_file_that_cannot_be_made_at_first_is_made_later(void **state)
{
    char text[4096];

    (void)state;
    setenv("KREACH_OPTIONS", "flush=0.05", 1);
    assert_int_equal(record("ulimit -n 12; exec $VICTIM init sleep=50 reuse kernels=20 sleep=300 "
                            "closefds kernels=30 sleep=300 return=0",
                            text, sizeof text),
                     0);
    unsetenv("KREACH_OPTIONS");
    if (!strstr(text, "recorded 50 kernels"))
        print_error("%s", text);
    assert_non_null(strstr(text, "yet: Too many open files"));
    assert_non_null(strstr(text, "recorded 50 kernels"));
    assert_non_null(strstr(text, "complete: nothing"));
}

/* docs/record.md says how to get at it. */
static void the_parts_are_a_recording_when_the_recorder_is_killed(void **state)
{
    struct read_file *f = malloc(sizeof *f);
    char command[600];
    char text[4096];

    (void)state;
    record("kill -9 $PPID; $VICTIM init kernels=10 return=0; $VICTIM init kernels=20 return=0",
           text, sizeof text);
    snprintf(command, sizeof command,
             "cd '%s' && cat out.kreach.parts.*/* > whole && "
             "rm -r out.kreach.parts.*",
             folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/whole", folder);
    assert_true(kreach_read(command, f) && f->ok);
    assert_int_equal(f->kernels, 30);
    assert_int_equal(f->ends, 2);
    free(f);
}

/* The program knows the folder, and may leave other things there. */
static void only_parts_are_read_in_the_folder_of_parts(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(record("cd \"$KREACH_OUT\" && mkfifo a.part && ln -s /etc/passwd b.part && "
                            "mkdir c.part && echo x > d; exec $VICTIM init kernels=10 return=0",
                            text, sizeof text),
                     0);
    if (!strstr(text, "complete: nothing"))
        print_error("%s", text);
    assert_non_null(strstr(text, "complete: nothing"));
    assert_non_null(strstr(text, "recorded 10 kernels"));
}

static void another_tool_in_the_way_is_named(void **state)
{
    char text[4096];

    (void)state;
    setenv("CUDA_INJECTION64_PATH", "/opt/other/libtool.so", 1);
    assert_int_equal(record("exit 5", text, sizeof text), 5);
    assert_non_null(strstr(text, "/opt/other/libtool.so"));
    setenv("CUDA_INJECTION64_PATH", LIBKREACH, 1);
    assert_int_equal(record("exit 5", text, sizeof text), 5);
    assert_null(strstr(text, "CUDA_INJECTION64_PATH"));
    unsetenv("CUDA_INJECTION64_PATH");
}

/* Under nsys, say. Nothing of ours is ever called there but the hooks of the preload. */
static void a_tool_that_cuda_loads_in_our_place_is_named(void **state)
{
    static const struct {
        const char *ops;
        int status;
        const char *says;
    } cases[] = {
        { "init kernels=10 return=0", 4, "nothing was recorded: CUDA loads another tool" },
        { "init kernels=10 _exit=0", 4, "nothing was recorded: CUDA loads another tool" },
        { "init kernels=10 return=3", 3, "nothing was recorded: CUDA loads another tool" },
        { "fork init kernels=10 \\; return=0", 4, "/opt/tool.so" },
        { "init kernels=10 fork _exit=0 \\; vexit return=0", 4, "/opt/tool.so" },
        { "return=0", 0, "no process recorded any GPU work" },
        { "fork _exit=0 \\; vexit return=0", 0, "no process recorded any GPU work" },
    };
    char text[4096];
    char script[200];

    (void)state;
    setenv("FAKE", "early=1", 1); /* CUDA has taken itself down when the process ends */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(script, sizeof script, "CUDA_INJECTION64_PATH=/opt/tool.so $VICTIM %s",
                 cases[i].ops);
        const int status = record(script, text, sizeof text);
        const char *said = strstr(text, " is not recorded: ");
        if (status != cases[i].status || !strstr(text, cases[i].says))
            print_error("%s: status %d\n%s", cases[i].ops, status, text);
        assert_int_equal(status, cases[i].status);
        assert_non_null(strstr(text, cases[i].says));
        assert_int_equal(said != NULL, status != 0);
        assert_true(!said || !strstr(said + 1, " is not recorded: ")); /* by one process */
    }
    unsetenv("FAKE");
}

/* Row 36 of docs/known-failures.md, "Capturing". */
static void work_of_which_no_record_came_is_a_failure(void **state)
{
    static const struct {
        const char *fake, *options, *script;
        int status;
        const char *says;
    } cases[] = {
        { "deaf=1", "--launches", "$VICTIM init kernels=10 return=0", 4, "launch calls: 20," },
        { "zero_every=1", "", "$VICTIM init kernels=10 return=0", 4, "lost records: 10," },
        { "keep=1", "", "$VICTIM init kernels=10 return=0", 4, "lost records: unknown," },
        { "keep=1", "", "$VICTIM init kernels=10 return=3", 3, "lost records: unknown," },
        { "keep=0", "--launches", "$VICTIM init kernels=10 return=0", 0, "complete: nothing" },
        { "deaf=1", "", "$VICTIM init return=0", 0, "no process recorded any" },
    };
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE", cases[i].fake, 1);
        const int status = record_with(cases[i].options, cases[i].script, text, sizeof text);
        unsetenv("FAKE");
        if (status != cases[i].status || !strstr(text, cases[i].says))
            print_error("%s: status %d\n%s", cases[i].fake, status, text);
        assert_int_equal(status, cases[i].status);
        assert_non_null(strstr(text, cases[i].says));
    }
}

/* A program that CUPTI does not serve runs as ever; only its success is not ours. */
static void a_refusal_of_cupti_is_told_and_is_status_4(void **state)
{
    static const struct {
        const char *fake, *cupti, *script;
        int status;
        const char *says;
    } cases[] = {
        { "subscribe=35", "", "$VICTIM init kernels=10 return=0", 4, "NVreg_RestrictProfiling" },
        { "subscribe=15", "", "$VICTIM init kernels=10 return=0", 4, "does not fit the driver" },
        { "subscribe=15", "", "$VICTIM init kernels=10 return=0", 4,
          "/libcupti.so.13' of version 130001, driver for CUDA 13.0)" },
        { "enable=27", "", "$VICTIM init kernels=10 return=0", 4, "not supported on this device" },
        { "version=17", "", "$VICTIM init kernels=10 return=0", 4, "is older than CUDA 11.8" },
        { "a=1", "/none.so", "$VICTIM init kernels=10 return=0", 4, "cannot load KREACH_CUPTI" },
        { "subscribe=39,other=nsys", "", "$VICTIM init kernels=10 return=0", 4, "nsys" },
        { "subscribe=35", "", "$VICTIM init kernels=10 return=3", 3, "NVreg_RestrictProfiling" },
    };
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE", cases[i].fake, 1);
        setenv("KREACH_CUPTI", cases[i].cupti, 1);
        const int status = record(cases[i].script, text, sizeof text);
        unsetenv("FAKE");
        unsetenv("KREACH_CUPTI");
        const char *verdict = strstr(text, "kreach: nothing was recorded: ");
        if (status != cases[i].status || !verdict || !strstr(verdict, cases[i].says))
            print_error("%s: status %d\n%s", cases[i].fake, status, text);
        assert_int_equal(status, cases[i].status);
        assert_true(verdict && strstr(verdict, cases[i].says));
    }
}

/* Killed, or left past every hook, before anything was flushed: not the same as no work at all. */
static void work_that_was_cut_off_is_not_taken_for_none(void **state)
{
    static const struct {
        const char *script;
        int status;
    } cases[] = {
        { "$VICTIM init kernels=10 sleep=500 kill=9", 137 },
        { "env -u LD_PRELOAD $VICTIM init kernels=10 sleep=500 _exit=0", 4 },
    };
    char text[4096];

    (void)state;
    setenv("KREACH_OPTIONS", "flush=60", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = record(cases[i].script, text, sizeof text);
        const char *says = strstr(text, "the program used the GPU and no record of its work came");
        if (status != cases[i].status || !says)
            print_error("%s: status %d\n%s", cases[i].script, status, text);
        assert_int_equal(status, cases[i].status);
        assert_true(says && strstr(says, "processes cut off: 1"));
        assert_null(strstr(says, "kreach doctor"));
    }
    unsetenv("KREACH_OPTIONS");
}

/* It begins when the run is over and its folder is gone. */
static void a_latecomer_leaves_nothing_beside_the_recording(void **state)
{
    char command[400];
    char text[4096];

    (void)state;
    assert_int_equal(
        record("(sleep 0.5; $VICTIM init kernels=10 return=0; echo done) > late 2>&1 &", text,
               sizeof text),
        0);
    snprintf(command, sizeof command,
             "cd '%s' && for i in $(seq 100); do grep -q done late && break; sleep 0.1; done; "
             "cat late; ls | grep parts",
             folder);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    assert_int_equal(WEXITSTATUS(pclose(in)), 1); /* grep found none */
    assert_non_null(strstr(text, "cannot create"));
    assert_non_null(strstr(text, "done"));
}

/* What kreach writes on the program's threads may raise SIGPIPE and SIGXFSZ, which end a program.
 */
static void nothing_that_kreach_writes_ends_the_program(void **state)
{
    static const struct {
        const char *fake, *script;
    } cases[] = {
        { "subscribe=39", "{ $VICTIM sleep=500 init return=3; echo $? > status; } 2>&1 | true; "
                          "exit $(cat status)" },
        { "subscribe=39", "(ulimit -f 0; exec $VICTIM init return=3)" },
        { "hang=1", "(ulimit -f 0; exec $VICTIM init kernels=10 return=3)" },
    };
    char text[4096];

    (void)state;
    setenv("KREACH_OPTIONS", "deadline=0.2", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE", cases[i].fake, 1);
        const int status = record(cases[i].script, text, sizeof text);
        if (status != 3)
            print_error("%s: status %d\n%s", cases[i].script, status, text);
        assert_int_equal(status, 3);
    }
    unsetenv("FAKE");
    unsetenv("KREACH_OPTIONS");
}

/* Supervisors signal each process of a group, and kreach record passes its own copy on. */
static void a_signal_that_comes_twice_at_once_is_one(void **state)
{
    char text[4096];

    (void)state;
    setenv("FAKE", "slow_ms=100", 1);
    const int status =
        record("$VICTIM init kernels=10 hang & p=$!; sleep 0.5; kill $p; sleep 0.03; kill $p; "
               "wait $p",
               text, sizeof text);
    unsetenv("FAKE");
    if (!strstr(text, "complete: nothing"))
        print_error("%s", text);
    assert_int_equal(status, 143);
    assert_non_null(strstr(text, "complete: nothing"));
}

/* CUPTI stays when the window is over, and that is measured, not guessed. */
static void what_staying_costs_is_measured_by_a_second_run(void **state)
{
    static const char *const options[] = { "--twice --duration 0.3s", "--calibrate --steps 15",
                                           "--twice --profiler-api" };
    static const char *const ops[] = { "laps=90,8", "laps=220,8",
                                       "profstart laps=30,8 profstop laps=60,8" };
    char text[4096];

    (void)state;
    setenv("FAKE", "stay_us=400", 1);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char script[200];
        char path[200];
        char value[32];
        struct read_file *f = malloc(sizeof *f);

        snprintf(script, sizeof script, "$VICTIM init perlap=10 %s return=0", ops[i]);
        assert_int_equal(record_with(options[i], script, text, sizeof text), 0);
        if (!strstr(text, "outside of the window a step takes"))
            print_error("%s:\n%s", options[i], text);
        assert_non_null(strstr(text, "outside of the window a step takes"));
        assert_non_null(strstr(text, "(lap *): staying costs "));
        assert_non_null(strstr(text, "complete: nothing was dropped"));
        snprintf(path, sizeof path, "%s/out.kreach", folder);
        assert_true(kreach_read(path, f) && f->ok);
        assert_true(kreach_read_info(f, "staying_cost_frac", value, sizeof value));
        assert_true(strtod(value, NULL) > 0.35); /* ten waits of 0.4 ms in 8 ms and a little */
        assert_true(kreach_read_info(f, "staying_cost_low_frac", value, sizeof value));
        free(f);
    }
    unsetenv("FAKE");
}

/* Rows 11 and 57. Its libcupti is in no scope but its own, and kreach stands in front of it. */
static void a_client_that_is_loaded_late_gets_what_it_asks_for(void **state)
{
    static const struct {
        const char *fake, *script;
    } cases[] = {
        { "a=1", "KREACH_DISABLE=1 $CLIENT" },
        { "a=1", "KREACH_DISABLE=1 $CLIENT init" },
        { "a=1", "$CLIENT" },
        { "a=1", "$CLIENT init" },
        { "enable=27", "$CLIENT refused" },
        { "enable=27,enable_kind=22", "$CLIENT refused" }, /* after two kinds were switched on */
        { "version=17", "$CLIENT refused" },
    };
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[200];

        snprintf(script, sizeof script, "%s; echo result $?", cases[i].script);
        setenv("FAKE", cases[i].fake, 1);
        record(script, text, sizeof text);
        if (!strstr(text, "result 0\n"))
            print_error("%s, %s:\n%s", cases[i].fake, cases[i].script, text);
        assert_non_null(strstr(text, "result 0\n"));
    }
    unsetenv("FAKE");
}

/* The C library takes thread-local memory out of the stacks that threads get. */
static void threads_of_kreach_start_where_thread_local_memory_is_large(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(record("LD_PRELOAD=$LD_PRELOAD:$BIG_TLS; $VICTIM init kernels=10 kill=15 hang",
                            text, sizeof text),
                     143);
    if (!strstr(text, "complete: nothing"))
        print_error("%s", text);
    assert_non_null(strstr(text, "complete: nothing"));
}

static bool doctor_says(const char *what)
{
    char command[1000];

    snprintf(command, sizeof command, "LD_LIBRARY_PATH='%s' '%s' doctor 2>&1 | grep -q '%s.*%s'",
             FAKE_LIB, KREACH, FAKE_LIB, what);
    return system(command) == 0;
}

static void the_doctor_takes_no_cupti_that_the_library_refuses(void **state)
{
    (void)state;
    setenv("FAKE", "version=17", 1);
    assert_true(doctor_says("is older than CUDA 11.8"));
    assert_false(doctor_says("would be taken"));
    setenv("FAKE", "version=18", 1);
    assert_false(doctor_says("is older than CUDA 11.8"));
    assert_true(doctor_says("CUDA 11.8 to 12.1"));
    unsetenv("FAKE");
}

static void the_doctor_sees_driver_gpus_and_what_fits_them(void **state)
{
    static const struct {
        const char *fake, *cupti, *says;
        int status;
    } cases[] = {
        { "a=1", "libcupti.so.13", ", up to CUDA 13.0", 0 },
        { "a=1", "libcupti.so.13",
          "7: Fake GPU 7, 86 GB, 132 SMs, compute capability 9.0, GPU-a7a7a7a7-a7a7-", 0 },
        { "a=1", "libcupti.so.13", "Recording works here.", 0 },
        { "mig=1,gpus=1", "libcupti.so.13", "0 is a MIG instance", 0 },
        { "driver=12040", "libcupti.so.13", "which does not load or does not fit", 4 },
        { "init=100", "libcupti.so.13", "the driver is there, and shows no GPU", 4 },
        { "init=803", "libcupti.so.13", "CUDA cannot be initialised: error 803", 4 },
        { "gpus=9", "",
          "8: name unknown, memory unknown, SMs unknown, compute capability unknown\n", 0 },
        { "gpus=0", "libcupti.so.13", "the driver is there, and shows no GPU", 4 },
        { "driver=0", "libcupti.so.13", "for an unknown CUDA\n", 0 },
        { "driver=10020", "", "-> update the driver: recording needs", 4 },
    };
    char command[1000];
    char text[8192];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(command, sizeof command,
                 "env -i PATH=/nonexistent KREACH_LIB='%s' FAKE='%s' LD_LIBRARY_PATH='%s' "
                 "KREACH_CUPTI='%s' '%s' doctor 2>&1",
                 LIBKREACH, cases[i].fake, FAKE_LIB, cases[i].cupti, KREACH);
        FILE *in = popen(command, "r");
        assert_non_null(in);
        text[fread(text, 1, sizeof text - 1, in)] = '\0';
        const int status = pclose(in);
        if (!strstr(text, cases[i].says) || WEXITSTATUS(status) != cases[i].status)
            print_error("%s, status %x:\n%s", cases[i].fake, (unsigned)status, text);
        assert_non_null(strstr(text, cases[i].says));
        assert_int_equal(WEXITSTATUS(status), cases[i].status);
    }
}

/* Python is asked where its packages are; a broken one has no answer, and much to say. */
static void a_broken_python_does_not_disturb_the_doctor(void **state)
{
    char command[600];
    char text[4096];

    (void)state;
    snprintf(command, sizeof command, "PYTHONHOME=/nonexistent '%s' doctor 2>&1 >/dev/null",
             KREACH);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    pclose(in);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_without_a_byte_is_a_process_cut_off),
        cmocka_unit_test(a_file_that_cannot_be_made_at_first_is_made_later),
        cmocka_unit_test(the_parts_are_a_recording_when_the_recorder_is_killed),
        cmocka_unit_test(only_parts_are_read_in_the_folder_of_parts),
        cmocka_unit_test(another_tool_in_the_way_is_named),
        cmocka_unit_test(a_tool_that_cuda_loads_in_our_place_is_named),
        cmocka_unit_test(a_refusal_of_cupti_is_told_and_is_status_4),
        cmocka_unit_test(work_that_was_cut_off_is_not_taken_for_none),
        cmocka_unit_test(a_latecomer_leaves_nothing_beside_the_recording),
        cmocka_unit_test(nothing_that_kreach_writes_ends_the_program),
        cmocka_unit_test(a_signal_that_comes_twice_at_once_is_one),
        cmocka_unit_test(what_staying_costs_is_measured_by_a_second_run),
        cmocka_unit_test(a_client_that_is_loaded_late_gets_what_it_asks_for),
        cmocka_unit_test(threads_of_kreach_start_where_thread_local_memory_is_large),
        cmocka_unit_test(the_doctor_takes_no_cupti_that_the_library_refuses),
        cmocka_unit_test(the_doctor_sees_driver_gpus_and_what_fits_them),
        cmocka_unit_test(a_broken_python_does_not_disturb_the_doctor),
        cmocka_unit_test(work_of_which_no_record_came_is_a_failure),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* kreach record without a GPU: a stub stands in for libkreach.so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "import.h"
#include "kreach_build.h"
#include "mem.h"
#include "record.h"
#include "record_steps.h"

enum { ARGS_MAX = 12 };

/* What one `kreach record` said and gave. */
struct outcome {
    int status;
    char log[1 << 13];
};

static char scratch[] = "/tmp/kreach_record.XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void clean_scratch(void)
{
    DIR *dir = opendir(scratch);

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] != '.')
            nftw(e->d_name, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
    closedir(dir);
}

/* A fresh folder to work in, and the stub's defaults. */
static int set_up(void **state)
{
    (void)state;
    clean_scratch();
    unsetenv("KREACH_STUB");
    unsetenv("KREACH_OPTIONS");
    unsetenv("LD_PRELOAD");
    setenv("KREACH_LIB", KREACH_STUB_LIBRARY, 1);
    return 0;
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

/* kreach record ARGS..., where args end with NULL. */
static struct outcome record(const char *const *args)
{
    char *argv[ARGS_MAX + 3] = { (char *)"kreach", (char *)"record" };
    struct kr_io io = { .out = tmpfile(), .log = tmpfile() };
    struct outcome outcome = { 0 };
    int argc = 2;

    assert_non_null(io.out);
    assert_non_null(io.log);
    for (; args[argc - 2]; argc++)
        argv[argc] = (char *)args[argc - 2];
    fflush(NULL);
    outcome.status = kr_main(&io, argc, argv);
    assert_int_equal(ftell(io.out), 0); /* standard output is the program's */
    rewind(io.log);
    outcome.log[fread(outcome.log, 1, sizeof outcome.log - 1, io.log)] = '\0';
    fclose(io.out);
    fclose(io.log);
    return outcome;
}

#define RECORD(...) record((const char *const[]){ __VA_ARGS__, NULL })
#define SHELL(line) RECORD("-o", "r.kreach", "--", "sh", "-c", (line))

static void assert_says(const struct outcome *outcome, const char *text)
{
    if (!strstr(outcome->log, text))
        print_error("'%s' is not in:\n%s\n", text, outcome->log);
    assert_non_null(strstr(outcome->log, text));
}

/* Entries of the scratch folder. */
static size_t count_files(void)
{
    DIR *dir = opendir(scratch);
    size_t n = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static size_t read_file(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t len;

    assert_non_null(file);
    len = fread(text, 1, room - 1, file);
    text[len] = '\0';
    fclose(file);
    return len;
}

static void write_file(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

static struct kr_timeline *read_recording(const char *path)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_file(path, NULL, &err);

    if (!t)
        print_error("%s\n", err.msg);
    assert_non_null(t);
    return t;
}

static void the_programs_status_is_ours(void **state)
{
    static const struct {
        const char *program[4];
        int status;
        bool saved;
        const char *says;
    } cases[] = {
        { { "/bin/true" }, 0, true, "recorded 3 kernels, copies and memsets of 1 process in" },
        { { "/bin/false" }, 1, true, "next: kreach report r.kreach" },
        { { "sh", "-c", "exit 42" }, 42, true, "complete: nothing was dropped" },
        { { "sh", "-c", "kill -9 $$" },
          137,
          true,
          "processes without a clean end (their last moments may be missing): 1" },
        { { "sh", "-c", "kill -SEGV $$" }, 139, true, "incomplete" },
        { { "./no-such-program" }, 127, false, "cannot run './no-such-program': not found" },
        { { "/etc/passwd" }, 126, false, "cannot run '/etc/passwd': Permission denied" },
        { { "/" }, 126, false, "cannot run '/'" },
        { { "./script", "x" }, 6, true, "next: kreach report r.kreach" },
    };
    static const char script[] = "test \"$0$1$#\" = ./scriptx1 && exit 6";

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const char *args[ARGS_MAX] = { "-o", "r.kreach", "--" };
        struct outcome outcome;

        set_up(state);
        write_file("script", script, strlen(script)); /* without "#!": the shell's, as ever */
        assert_int_equal(chmod("script", 0755), 0);
        memcpy(args + 3, cases[i].program, sizeof cases[i].program);
        outcome = record(args);
        assert_int_equal(outcome.status, cases[i].status);
        assert_says(&outcome, cases[i].says);
        assert_int_equal(access("r.kreach", F_OK) == 0, cases[i].saved);
        assert_int_equal(count_files(), 1 + cases[i].saved);
    }
}

/* What the stub writes, and what that makes of a program that ends with a status. */
static void nothing_recorded_is_said_and_leaves_nothing(void **state)
{
    static const struct {
        const char *stub, *line;
        int status;
        const char *says;
    } cases[] = {
        { "nothing", "exit 0", 0, "no process recorded any GPU work; nothing was saved" },
        { "nothing", "exit 5", 5, "no process recorded any GPU work; nothing was saved" },
        { "window", "exit 0", 0, "no device work inside the recorded window" },
        { "busy", "exit 0", 4, "nothing was recorded: 'nsys' holds CUPTI" },
        { "busy", "exit 5", 5, "nothing was recorded: 'nsys' holds CUPTI" },
        { "refused", "exit 0", 4, "nothing was recorded: CUPTI is too old" },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct outcome outcome;

        set_up(state);
        setenv("KREACH_STUB", cases[i].stub, 1);
        outcome = SHELL(cases[i].line);
        assert_int_equal(outcome.status, cases[i].status);
        assert_says(&outcome, cases[i].says);
        assert_int_equal(count_files(), 0);
    }
}

static void the_file_holds_the_run_and_what_is_known_of_it(void **state)
{
    struct outcome outcome = SHELL("exit 0");
    struct kr_timeline *t;

    (void)state;
    assert_int_equal(outcome.status, 0);
    t = read_recording("r.kreach");
    assert_int_equal(t->counts.kernels, 3);
    assert_true(kr_timeline_complete(t));
    assert_string_equal(kr_timeline_fact(t, "command"), "sh -c exit 0");
    assert_non_null(kr_timeline_fact(t, "host"));
    assert_non_null(kr_timeline_fact(t, "started_ns"));
    kr_timeline_free(t);
}

static void processes_that_the_program_starts_are_recorded_too(void **state)
{
    struct outcome outcome = SHELL("/bin/true & /bin/true; wait; exec /bin/true");
    struct kr_timeline *t;

    (void)state;
    assert_int_equal(outcome.status, 0);
    assert_says(&outcome, "of 4 processes in r.kreach");
    t = read_recording("r.kreach");
    assert_int_equal(t->source.processes, 4); /* what exec starts counts as another */
    assert_int_equal(t->counts.kernels, 12);
    assert_int_equal(t->warnings[KR_WARN_NO_SECTION].count, 0);
    kr_timeline_free(t);
}

/* Puts a file in the place of a standard stream; returns what give_back takes. */
static int redirect(int fd, const char *path, int flags)
{
    int saved = dup(fd);
    int file = open(path, flags, 0600);

    fflush(NULL);
    assert_true(saved >= 0 && file >= 0);
    assert_int_equal(dup2(file, fd), fd);
    close(file);
    return saved;
}

static void give_back(int fd, int saved)
{
    assert_int_equal(dup2(saved, fd), fd);
    close(saved);
}

static void the_programs_streams_are_untouched(void **state)
{
    static const char bytes[] = "one\0two\xff\nlast line without end";
    struct outcome outcome;
    int in;
    int out;
    char copied[64];

    (void)state;
    write_file("in", bytes, sizeof bytes);
    in = redirect(STDIN_FILENO, "in", O_RDONLY);
    out = redirect(STDOUT_FILENO, "out", O_WRONLY | O_CREAT);
    outcome = RECORD("-o", "r.kreach", "cat");
    give_back(STDIN_FILENO, in);
    give_back(STDOUT_FILENO, out);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(read_file("out", copied, sizeof copied), sizeof bytes);
    assert_memory_equal(copied, bytes, sizeof bytes);
}

static void the_programs_words_are_its_own(void **state)
{
    char words[64];
    struct outcome outcome =
        RECORD("-o", "r.kreach", "sh", "-c", "echo \"$@\" >words", "sh", "--help", "-o", "x", "--");

    (void)state;
    assert_int_equal(outcome.status, 0);
    read_file("words", words, sizeof words);
    assert_string_equal(words, "--help -o x --\n");
    assert_int_equal(access("x", F_OK), -1);
}

static void the_users_environment_is_kept(void **state)
{
    char text[8192];

    (void)state;
    setenv("LD_PRELOAD", "libm.so.6", 1);
    setenv("KREACH_OPTIONS", "flush=2", 1);
    assert_int_equal(RECORD("--steps", "7", "-o", "r.kreach", "sh", "-c",
                            "printf '%s|%s|%s' $LD_PRELOAD $KREACH_OPTIONS $KREACH_RUN >env")
                         .status,
                     0);
    unsetenv("LD_PRELOAD");
    read_file("env", text, sizeof text);
    assert_non_null(strstr(text, "libkreach_stub.so:libm.so.6|steps=7,flush=2|"));
    assert_int_equal(strlen(strrchr(text, '|') + 1), 16);
}

static void options_reach_the_library_in_its_own_words(void **state)
{
    static const struct {
        const char *args[6];
        const char *text;
    } cases[] = {
        { { "-q" }, "" },
        { { "--delay", "1.5s", "--duration", "250ms" }, "delay=1.500000000,duration=0.250000000" },
        { { "--range", "a,b" }, "range=a\\,b" },
        { { "--nvtx" }, "launches,nvtx" },
        { { "--launches", "--graph-level", "--yield" }, "launches,graph-level,yield" },
        { { "--steps", "10", "--cap", "64" }, "steps=10,cap=64" },
        { { "--profiler-api" }, "profiler-api" },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const char *args[ARGS_MAX] = { "-o", "r.kreach" };
        size_t n = 2;
        char text[512];

        set_up(state);
        for (size_t k = 0; cases[i].args[k]; k++)
            args[n++] = cases[i].args[k];
        args[n++] = "sh";
        args[n++] = "-c";
        args[n++] = "printf %s \"$KREACH_OPTIONS\" >options";
        assert_int_equal(record(args).status, 0);
        read_file("options", text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void wrong_command_lines_run_nothing(void **state)
{
    static const struct {
        const char *args[7];
        const char *says;
    } cases[] = {
        { { "--" }, "'record' needs [--] PROGRAM" },
        { { "--delay", "5", "touch", "ran" }, "--delay: '5' needs a unit" },
        { { "--steps", "0", "touch", "ran" }, "--steps must be at least 1" },
        { { "--cap", "lots", "touch", "ran" }, "--cap takes a whole number" },
        { { "--range", "", "touch", "ran" }, "--range takes a name" },
        { { "--range", "a\\", "touch", "ran" }, "--range takes no name that ends with" },
        { { "--duration", "999us", "touch", "ran" }, "--duration takes 1.00 ms to " },
        { { "--duration", "0s", "touch", "ran" }, "not '0s'" },
        { { "--delay", "10000001s", "touch", "ran" }, "--delay takes 0 ns to " },
        { { "-o", "-", "touch", "ran" }, "standard output is the program's" },
        { { "-o", "/", "touch", "ran" }, "it is a directory" },
        { { "--duraton", "5s", "touch", "ran" }, "did you mean '--duration'" },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct outcome outcome;

        set_up(state);
        outcome = record(cases[i].args);
        assert_int_equal(outcome.status, KR_STATUS_USAGE);
        assert_says(&outcome, cases[i].says);
        assert_int_equal(count_files(), 0);
    }
}

static void a_file_is_replaced_only_when_asked(void **state)
{
    struct outcome outcome;
    char text[64];

    (void)state;
    write_file("r.kreach", "precious", 8);
    outcome = SHELL("touch ran");
    assert_int_equal(outcome.status, KR_STATUS_USAGE);
    assert_says(&outcome, "'r.kreach' exists; give --force to replace it");
    assert_int_equal(access("ran", F_OK), -1);
    read_file("r.kreach", text, sizeof text);
    assert_string_equal(text, "precious");
    outcome = RECORD("-f", "-o", "r.kreach", "true");
    assert_int_equal(outcome.status, 0);
    kr_timeline_free(read_recording("r.kreach"));
}

static void the_name_comes_from_program_and_pid(void **state)
{
    char name[64];

    (void)state;
    assert_int_equal(RECORD("/bin/true").status, 0);
    snprintf(name, sizeof name, "true.%ld.kreach", (long)getpid());
    assert_int_equal(access(name, R_OK), 0);
    assert_int_equal(count_files(), 1);
}

static void failures_of_recording_are_125_unless_the_program_failed(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = RECORD("-o", "no/such/folder/r.kreach", "touch", "ran");
    assert_int_equal(outcome.status, 125);
    assert_says(&outcome, "cannot make a folder beside");
    setenv("KREACH_LIB", "/nonexistent/libkreach.so", 1);
    outcome = RECORD("-o", "r.kreach", "touch", "ran");
    assert_int_equal(outcome.status, 125);
    assert_says(&outcome, "KREACH_LIB names '/nonexistent/libkreach.so'");
    assert_int_equal(count_files(), 0);
}

/* The run is not lost when its file cannot be made: the parts stay and are named. */
static void parts_are_kept_when_they_cannot_be_put_together(void **state)
{
    struct outcome outcome;
    const char *folder;

    (void)state;
    outcome = RECORD("-o", "r.kreach", "mkdir", "r.kreach");
    assert_int_equal(outcome.status, 125);
    folder = strstr(outcome.log, "what was recorded is kept; to make a file of it: cat ");
    assert_non_null(folder);
    assert_int_equal(count_files(), 2);
}

static void an_interrupt_is_the_programs(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = SHELL("trap 'touch got; exit 7' INT; kill -INT $PPID; while :; do sleep 0.05; done");
    assert_int_equal(outcome.status, 7);
    assert_int_equal(access("got", F_OK), 0);
    kr_timeline_free(read_recording("r.kreach"));
}

/* timeout(1) sends its signal to its child and to the group. */
static void two_interrupts_at_once_are_one(void **state)
{
    (void)state;
    assert_int_equal(SHELL("trap 'sleep 0.3; exit 6' INT; kill -INT $PPID; kill -INT $PPID;"
                           "while :; do sleep 0.05; done")
                         .status,
                     6);
}

static void a_second_interrupt_stops_at_once_and_the_file_stays_readable(void **state)
{
    struct outcome outcome;
    struct kr_timeline *t;

    (void)state;
    outcome = SHELL("trap '' INT; sleep 1 & kill -INT $PPID; sleep 0.3; kill -INT $PPID; sleep 5");
    assert_int_equal(outcome.status, 137);
    assert_says(&outcome, "interrupted twice: the program was killed");
    assert_null(strstr(outcome.log, "still recording")); /* sleep is, and is not waited for */
    t = read_recording("r.kreach");
    assert_true(t->warnings[KR_WARN_NOT_ENDED].count > 0);
    kr_timeline_free(t);
}

/* Signals are blocked in us while we wait, and must not be in the program. */
static void the_programs_signal_mask_is_as_it_was(void **state)
{
    char before[64];
    char inside[64];
    int out = redirect(STDOUT_FILENO, "before", O_WRONLY | O_CREAT);

    (void)state;
    assert_int_equal(system("grep SigBlk: /proc/self/status"), 0);
    give_back(STDOUT_FILENO, out);
    out = redirect(STDOUT_FILENO, "inside", O_WRONLY | O_CREAT);
    assert_int_equal(RECORD("-o", "r.kreach", "grep", "SigBlk:", "/proc/self/status").status, 0);
    give_back(STDOUT_FILENO, out);
    read_file("before", before, sizeof before);
    read_file("inside", inside, sizeof inside);
    assert_string_equal(inside, before);
}

static void signals_are_passed_on(void **state)
{
    static const char *const names[] = { "TERM", "HUP", "USR1", "USR2" };
    char line[128];

    for (size_t i = 0; i < KR_COUNT(names); i++) {
        set_up(state);
        snprintf(line, sizeof line,
                 "trap 'exit 9' %s; kill -%s $PPID; while :; do sleep 0.05; done", names[i],
                 names[i]);
        assert_int_equal(SHELL(line).status, 9);
    }
}

/* It was meant for the program, which is gone. */
static void a_signal_for_the_program_does_not_end_the_wait_for_others(void **state)
{
    struct kr_timeline *t;

    (void)state;
    assert_int_equal(SHELL("sleep 1 & (sleep 0.4; kill -USR1 $PPID) & sleep 0.2; exit 3").status,
                     3);
    t = read_recording("r.kreach");
    assert_int_equal(t->warnings[KR_WARN_NOT_ENDED].count, 0);
    kr_timeline_free(t);
}

/* libkreach.so would ignore them, and ours with them. */
static void options_that_do_not_fit_are_refused(void **state)
{
    struct outcome outcome;
    char many[1100];

    (void)state;
    memset(many, ',', sizeof many);
    many[sizeof many - 1] = '\0';
    setenv("KREACH_OPTIONS", many, 1);
    outcome = RECORD("-o", "r.kreach", "touch", "ran");
    unsetenv("KREACH_OPTIONS");
    assert_int_equal(outcome.status, KR_STATUS_USAGE);
    assert_says(&outcome, "KREACH_OPTIONS is too long");
    assert_int_equal(access("ran", F_OK), -1);
}

static void a_library_that_is_off_is_said(void **state)
{
    struct outcome outcome;

    (void)state;
    setenv("KREACH_DISABLE", "1", 1);
    outcome = RECORD("-o", "r.kreach", "/bin/true");
    unsetenv("KREACH_DISABLE");
    assert_says(&outcome, "KREACH_DISABLE is set: nothing is recorded");
}

static void processes_that_outlive_the_program_are_waited_for(void **state)
{
    struct outcome outcome;
    struct kr_timeline *t;

    (void)state;
    outcome = SHELL("sleep 0.5 & sleep 0.2; exit 3");
    assert_int_equal(outcome.status, 3);
    assert_says(&outcome, "1 process is still recording");
    t = read_recording("r.kreach");
    assert_int_equal(t->source.processes, 3);
    assert_int_equal(t->warnings[KR_WARN_NOT_ENDED].count, 0);
    kr_timeline_free(t);
}

/* A part of process `pid` that has not ended, with ranges when there are any. */
static void write_part(uint64_t pid, void (*put)(struct kr_build *b))
{
    struct kr_build b = { 0 };

    assert_int_equal(mkdir("parts", 0700), 0);
    kr_build_section(&b, pid); /* started at tick 1000 + pid, which is not true of us */
    if (put)
        put(&b);
    write_file("parts/a.part", b.file.data, b.file.len);
    kr_build_free(&b);
}

/* Two processes: one with losses, damaged bytes and a torn tail, one that is whole. */
static void build_lossy_parts(void)
{
    struct kr_build b = { 0 };
    size_t damaged;

    assert_int_equal(mkdir("parts", 0700), 0);
    kr_build_section(&b, 2);
    kr_build_one_kernel(&b, "lossy");
    for (uint32_t i = 1; i <= 3; i++) {
        damaged = b.file.len;
        kr_build_events(&b, &(struct kr_build_work){ 0, 0, 100 * i, 10, i }, 1);
    }
    kr_build_chunk(&b, KREACH_LOST,
                   KR_FIELDS(KR_V(1), KR_V(9), KR_V(0), KR_S(0), KR_S(0), KR_T("")));
    kr_build_chunk(&b, KREACH_LOST,
                   KR_FIELDS(KR_V(2), KR_V(5), KR_V(0), KR_S(0), KR_S(0), KR_T("")));
    kr_build_chunk(&b, KREACH_LOST,
                   KR_FIELDS(KR_V(8), KR_V(0), KR_V(0), KR_S(0), KR_S(0), KR_T("")));
    kr_build_chunk(&b, KREACH_TOTALS, KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(3)));
    kr_build_end(&b, 3);
    b.file.data[damaged + 20] ^= 1;
    write_file("parts/a.part", b.file.data, b.file.len - 3);
    kr_build_free(&b);
    kr_build_process(&b, 1, "whole", 4);
    write_file("parts/b.part", b.file.data, b.file.len);
    kr_build_free(&b);
}

static void what_was_lost_is_summed_up_and_said_again_by_the_file(void **state)
{
    static const struct kr_record_fact facts[] = { { "recorder", "test" }, { 0 } };
    const struct kr_record_own own = { .run_id = "0123456789abcdef", .facts = facts };
    FILE *out = fopen("r.kreach", "wb");
    struct kr_record_sum sum;
    struct kr_err err = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_lossy_parts();
    assert_non_null(out);
    assert_true(kr_record_collect("parts", &own, out, &sum, &err));
    assert_int_equal(ftell(out), sum.file_bytes);
    fclose(out);
    assert_int_equal(sum.processes, 2);
    assert_int_equal(sum.works, 6);
    assert_int_equal(sum.dropped, 9);
    assert_int_equal(sum.blind, 1);
    assert_int_equal(sum.bad_times, 5);
    assert_int_equal(sum.missing, 1);
    assert_int_equal(sum.damaged, 1);
    assert_int_equal(sum.not_ended, 1);
    t = read_recording("r.kreach");
    assert_int_equal(t->n_events, 6);
    assert_int_equal(t->tracks[0].process, 1); /* in the order in which they started */
    assert_int_equal(t->warnings[KR_WARN_DAMAGED].count, 1);
    assert_int_equal(t->warnings[KR_WARN_TRUNCATED].count, 0);
    assert_int_equal(t->warnings[KR_WARN_NOT_ENDED].count, 1);
    assert_int_equal(t->warnings[KR_WARN_TOTALS].count, 1);
    assert_int_equal(t->warnings[KR_WARN_NO_SECTION].count, 0);
    kr_timeline_free(t);
}

static void another_process_of_the_same_number_is_not_waited_for(void **state)
{
    struct kr_record_signals signals;

    (void)state;
    write_part((uint64_t)getpid(), NULL);
    kr_record_take_signals(&signals);
    assert_int_equal(kr_record_wait_others("parts", &signals, NULL), 0);
    kr_record_give_signals_back(&signals);
}

static void calibration_measures_the_same_steps_in_a_plain_run(void **state)
{
    struct outcome outcome;
    struct kr_timeline *t;
    char text[16];
    int out;

    (void)state;
    setenv("KREACH_STUB", "work ranges", 1);
    out = redirect(STDOUT_FILENO, "out", O_WRONLY | O_CREAT);
    outcome = RECORD("--calibrate", "-o", "r.kreach", "sh", "-c", "echo run >>runs; echo said");
    give_back(STDOUT_FILENO, out);
    assert_int_equal(outcome.status, 0);
    assert_says(&outcome, "a step takes 10.0 ms without profiling, 12.0 ms with it (step *)");
    read_file("runs", text, sizeof text);
    assert_string_equal(text, "run\nrun\n");
    read_file("out", text, sizeof text);
    assert_string_equal(text, "said\n"); /* once, whatever the second run says */
    t = read_recording("r.kreach");
    assert_string_equal(t->source.steps.method, "second run");
    assert_int_equal(t->source.steps.plain_step_ns, 10000000);
    assert_int_equal(t->source.steps.plain_steps, 8); /* without warm-up */
    assert_int_equal(t->source.steps.profiled_step_ns, 12000000);
    assert_int_equal(t->counts.kernels, 3);
    assert_int_equal(count_files(), 3);
    kr_timeline_free(t);
}

/* Both runs read the same file from its beginning; a pipe could be read once only. */
static void a_second_run_reads_standard_input_again_or_is_not_made(void **state)
{
    struct outcome outcome;
    int ends[2];
    char text[32];
    int in;

    (void)state;
    setenv("KREACH_STUB", "work ranges", 1);
    write_file("in", "line\n", 5);
    in = redirect(STDIN_FILENO, "in", O_RDONLY);
    outcome = RECORD("--calibrate", "-o", "r.kreach", "sh", "-c", "cat >>copies");
    give_back(STDIN_FILENO, in);
    assert_int_equal(outcome.status, 0);
    read_file("copies", text, sizeof text);
    assert_string_equal(text, "line\nline\n");
    assert_int_equal(pipe(ends), 0);
    in = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    outcome = RECORD("--calibrate", "-o", "r2.kreach", "sh", "-c", "echo run >>runs");
    give_back(STDIN_FILENO, in);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(outcome.status, 0);
    assert_says(&outcome, "standard input is a pipe, which can be read only once");
    read_file("runs", text, sizeof text);
    assert_string_equal(text, "run\n");
}

static void calibration_that_cannot_be_right_is_left_out(void **state)
{
    static const struct {
        const char *stub, *says;
    } cases[] = {
        { "work", "no NVTX range repeats that could mark the steps" },
        { "work ranges stubborn", "this libkreach.so cannot run without profiling" },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct outcome outcome;
        struct kr_timeline *t;

        set_up(state);
        setenv("KREACH_STUB", cases[i].stub, 1);
        outcome = RECORD("--calibrate", "-o", "r.kreach", "true");
        assert_int_equal(outcome.status, 0);
        assert_says(&outcome, cases[i].says);
        t = read_recording("r.kreach");
        assert_string_equal(t->source.steps.method, "");
        assert_int_equal(t->source.steps.plain_steps, 0);
        kr_timeline_free(t);
    }
}

static void quiet_says_nothing_when_all_is_well(void **state)
{
    (void)state;
    assert_string_equal(RECORD("-q", "-o", "r.kreach", "true").log, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_programs_status_is_ours, set_up),
        cmocka_unit_test_setup(nothing_recorded_is_said_and_leaves_nothing, set_up),
        cmocka_unit_test_setup(the_file_holds_the_run_and_what_is_known_of_it, set_up),
        cmocka_unit_test_setup(processes_that_the_program_starts_are_recorded_too, set_up),
        cmocka_unit_test_setup(the_programs_streams_are_untouched, set_up),
        cmocka_unit_test_setup(the_programs_words_are_its_own, set_up),
        cmocka_unit_test_setup(the_users_environment_is_kept, set_up),
        cmocka_unit_test_setup(options_reach_the_library_in_its_own_words, set_up),
        cmocka_unit_test_setup(wrong_command_lines_run_nothing, set_up),
        cmocka_unit_test_setup(a_file_is_replaced_only_when_asked, set_up),
        cmocka_unit_test_setup(the_name_comes_from_program_and_pid, set_up),
        cmocka_unit_test_setup(failures_of_recording_are_125_unless_the_program_failed, set_up),
        cmocka_unit_test_setup(parts_are_kept_when_they_cannot_be_put_together, set_up),
        cmocka_unit_test_setup(an_interrupt_is_the_programs, set_up),
        cmocka_unit_test_setup(two_interrupts_at_once_are_one, set_up),
        cmocka_unit_test_setup(a_second_interrupt_stops_at_once_and_the_file_stays_readable,
                               set_up),
        cmocka_unit_test_setup(the_programs_signal_mask_is_as_it_was, set_up),
        cmocka_unit_test_setup(signals_are_passed_on, set_up),
        cmocka_unit_test_setup(a_signal_for_the_program_does_not_end_the_wait_for_others, set_up),
        cmocka_unit_test_setup(options_that_do_not_fit_are_refused, set_up),
        cmocka_unit_test_setup(a_library_that_is_off_is_said, set_up),
        cmocka_unit_test_setup(processes_that_outlive_the_program_are_waited_for, set_up),
        cmocka_unit_test_setup(what_was_lost_is_summed_up_and_said_again_by_the_file, set_up),
        cmocka_unit_test_setup(another_process_of_the_same_number_is_not_waited_for, set_up),
        cmocka_unit_test_setup(calibration_measures_the_same_steps_in_a_plain_run, set_up),
        cmocka_unit_test_setup(a_second_run_reads_standard_input_again_or_is_not_made, set_up),
        cmocka_unit_test_setup(calibration_that_cannot_be_right_is_left_out, set_up),
        cmocka_unit_test_setup(quiet_says_nothing_when_all_is_well, set_up),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

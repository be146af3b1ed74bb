/* What libkreach.so records, on a fake CUPTI with the habits that profilers have fallen over. */
#include "kreach_format.h"
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Scenes after which the file must hold exactly this. */
static const struct recorded {
    const char *name;
    struct scene scene;
    uint64_t kernels, memcpys, memsets, graphs;
} recorded[] = {
    { "one of each", { .ops = "init kernels=1 copies=1 sets=1 return=0" }, 1, 1, 1, 0 },
    { "many buffers",
      { .ops = "init kernels=50000 return=0", .options = "buffer=64" },
      50000,
      0,
      0,
      0 },
    { "kernel records of CUDA 11",
      { .fake = "abi=5", .ops = "init kernels=3000 return=0" },
      3000,
      0,
      0,
      0 },
    { "kernel records 7", { .fake = "abi=7", .ops = "init kernels=3000 return=0" }, 3000, 0, 0, 0 },
    { "kernel records 8", { .fake = "abi=8", .ops = "init kernels=3000 return=0" }, 3000, 0, 0, 0 },
    { "kernel records of CUDA 12",
      { .fake = "abi=9", .ops = "init kernels=3000 return=0" },
      3000,
      0,
      0,
      0 },
    { "peer copies need both kinds (row 60)", { .ops = "init peers=20 return=0" }, 0, 20, 0, 0 },
    { "many kernels per launch (row 42)", { .ops = "init graph=7,500 return=0" }, 3500, 0, 0, 0 },
    { "graph level",
      { .options = "graph-level", .ops = "init graph=7,500 kernels=9 return=0" },
      9,
      0,
      0,
      7 },
    { "buffers in reverse order",
      { .fake = "reverse=1", .options = "buffer=16", .ops = "init threads=4,1000 return=0" },
      4000,
      0,
      0,
      0 },
    { "buffers delivered twice (row 22)",
      { .fake = "twice=1", .options = "buffer=16", .ops = "init kernels=2000 return=0" },
      2000,
      0,
      0,
      0 },
    { "one buffer for all threads",
      { .fake = "per_thread=0", .options = "buffer=64", .ops = "init threads=8,2000 return=0" },
      16000,
      0,
      0,
      0 },
    { "64 threads (row 24)",
      { .options = "buffer=64", .ops = "init threads=64,500 return=0" },
      32000,
      0,
      0,
      0 },
    { "slow flushes",
      { .fake = "slow_ms=50",
        .options = "flush=0.02,buffer=64",
        .ops = "init kernels=5000 sleep=300 kernels=5000 return=0" },
      10000,
      0,
      0,
      0 },
    { "without the preload",
      { .no_preload = true, .ops = "init kernels=100 return=0" },
      100,
      0,
      0,
      0 },
    { "an old CUPTI",
      { .fake = "version=18,driver=13000", .ops = "init kernels=100 return=0" },
      100,
      0,
      0,
      0 },
    { "kernels still running at the end",
      { .ops = "init us=20000 kernels=10 return=0" },
      10,
      0,
      0,
      0 },
    { "kernels only",
      { .options = "kernels-only", .ops = "init kernels=5 copies=5 sets=5 return=0" },
      5,
      0,
      0,
      0 },
};

static void every_record_reaches_the_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const struct recorded *want = &recorded[i];
        struct outcome *o = scene_run(&want->scene);
        struct read_file *f = scene_file(o);
        bool lossy = false;

        if (f->kernels != want->kernels || f->memcpys != want->memcpys ||
            f->memsets != want->memsets || f->graphs != want->graphs || f->n_lost > 0)
            print_error("scene '%s': %llu kernels, %u losses\n%s", want->name,
                        (unsigned long long)f->kernels, f->n_lost, o->stderr_text);
        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, want->kernels);
        assert_int_equal(f->memcpys, want->memcpys);
        assert_int_equal(f->memsets, want->memsets);
        assert_int_equal(f->graphs, want->graphs);
        assert_int_equal(f->totals[KREACH_TOTAL_KERNELS], want->kernels);
        assert_int_equal(f->n_lost, 0);
        assert_int_equal(kreach_read_lost(f, KREACH_LOST_CUPTI, &lossy), 0);
        assert_int_equal(f->ends, 1);
        assert_int_equal(f->end, KREACH_END_EXIT);
        assert_string_equal(o->stderr_text, "");
        scene_free(o);
    }
}

static void a_kernel_takes_at_most_32_bytes(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .ops = "init threads=4,20000 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    print_message("%.2f bytes a kernel\n", (double)f->bytes / (double)f->kernels);
    assert_int_equal(f->kernels, 80000);
    assert_true(f->bytes <= 32 * f->kernels);
    scene_free(o);
}

static void a_run_says_what_it_is(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = "init kernels=1 return=0", .options = "flush=1", .env = "RANK=3 WORLD_SIZE=8" });
    struct read_file *f = scene_file(o);
    char text[256];

    (void)state;
    assert_string_equal(f->run_id, "0123456789abcdef");
    assert_true(f->pid > 1 && f->parent_pid > 1);
    assert_true(kreach_read_info(f, "cupti", text, sizeof text));
    assert_string_equal(text, "130001");
    assert_true(kreach_read_info(f, "cupti_path", text, sizeof text));
    assert_non_null(strstr(text, "/fake/libcupti.so.13"));
    assert_true(kreach_read_info(f, "cuda", text, sizeof text));
    assert_string_equal(text, "13.0");
    assert_true(kreach_read_info(f, "rank", text, sizeof text));
    assert_string_equal(text, "3");
    assert_true(kreach_read_info(f, "options", text, sizeof text));
    assert_string_equal(text, "flush=1");
    assert_true(kreach_read_info(f, "command", text, sizeof text));
    assert_non_null(strstr(text, "victim init"));
    assert_string_equal(f->device_name[0], "Fake GPU 0");
    assert_true(f->clocks >= 1);
    scene_free(o);
}

/* Eight are there before the first kernel; more come from our own thread. */
static void a_launch_never_waits_for_a_buffer_to_be_made(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "flush=0.02", .ops = "init threads=4,100 sleep=100 threads=4,100 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(f->totals[KREACH_TOTAL_REQUESTS] >= 8);
    assert_int_equal(f->totals[KREACH_TOTAL_REQUESTS_SLOW], 0);
    assert_true(f->totals[KREACH_TOTAL_OWN_CPU_NS] > 0);
    scene_free(o);
}

/* Reading the environment while the program changes it is a race: only cuInit's thread does. */
static void the_environment_is_that_of_when_cuda_came_up(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .ops = "setenv=RANK=3 init setenv=RANK=5 kernels=10 return=0" });
    char text[32];

    (void)state;
    assert_true(kreach_read_info(scene_file(o), "rank", text, sizeof text));
    assert_string_equal(text, "3");
    scene_free(o);
}

static void eight_gpus_are_told_apart(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .ops = "init kernels=10 on=1 kernels=20 on=7 kernels=30 on=3 copies=4 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->per_device[0], 10);
    assert_int_equal(f->per_device[1], 20);
    assert_int_equal(f->per_device[7], 30);
    assert_int_equal(f->per_device[3], 4);
    assert_int_equal(f->n_devices, 4);
    assert_string_equal(f->device_name[7], "Fake GPU 7");
    scene_free(o);
}

static void peer_copies_name_both_devices(void **state)
{
    struct outcome *o = scene_run(&(struct scene){ .ops = "init peers=3 copies=2 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->memcpys, 5);
    assert_int_equal(f->peer_copies, 3);
    scene_free(o);
}

/* Row 12 of 0: a name's memory is used for another name after modules were unloaded. */
static void names_that_change_in_place_are_seen(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "flush=0.05",
        .ops = THREAD_SANITIZED ? "return=0"
                                : "init kernels=16 sleep=200 reload kernels=32 return=0" });
    uint64_t old = 0;
    uint64_t new = 0;

    (void)state;
    if (THREAD_SANITIZED) { /* unloading a module whose names are still being read is a race */
        scene_free(o);
        skip();
    }
    struct read_file *f = scene_file(o);
    for (uint64_t i = 1; i < f->n_names; i++) {
        if (strstr(f->names[i], "generation_0"))
            old += f->by_name[i];
        else if (strstr(f->names[i], "generation_1"))
            new += f->by_name[i];
    }
    assert_int_equal(old, 16);
    assert_int_equal(new, 32);
    scene_free(o);
}

/* Losses: settings of the fake, and what the file must say. */
static const struct loss_case {
    const char *name;
    struct scene scene;
    enum kreach_loss loss;
    uint64_t count, kernels;
} losses[] = {
    { "no device memory for times (rows 3, 4)",
      { .fake = "zero_every=10", .ops = "init kernels=1000 return=0" },
      KREACH_LOST_ZERO_TIME,
      100,
      900 },
    { "end before start (row 3)",
      { .fake = "bad_every=4", .ops = "init kernels=1000 return=0" },
      KREACH_LOST_BAD_TIME,
      250,
      750 },
    { "CUPTI's own drops (row 14)",
      { .fake = "dropped=12345", .ops = "init kernels=10 return=0" },
      KREACH_LOST_CUPTI,
      12345,
      10 },
    { "the drop counter fails: unknown, not zero (row 14)",
      { .fake = "dropped_error=14", .ops = "init kernels=10 return=0" },
      KREACH_LOST_COUNTER,
      0,
      10 },
    { "work still running after an error of the device: the rest of its buffer is saved (row 45)",
      { .fake = "nosync=1,per_thread=0",
        .ops = "init us=3000000 kernels=3 us=0 threads=1,50 return=0" },
      KREACH_LOST_UNFINISHED,
      3,
      50 },
    { "a forced flush: what was complete before it and has no times is not unfinished",
      { .fake = "nosync=1,zero_every=10",
        .ops = "init threads=1,1000 us=3000000 on=1 kernels=5 return=0" },
      KREACH_LOST_ZERO_TIME,
      100,
      900 },
    { "a forced flush: work queued and running is unfinished, with times or without (row 45)",
      { .fake = "nosync=1,zero_every=10",
        .ops = "init threads=1,1000 us=3000000 on=1 kernels=5 return=0" },
      KREACH_LOST_UNFINISHED,
      5,
      900 },
    { "another client takes over while work runs, and forces a flush (row 13)",
      { .fake = "nosync=1",
        .rival = true,
        .options = "flush=0.05",
        .ops =
            "init threads=1,100 us=3000000 on=1 kernels=7 sleep=200 rival on=2 us=0 threads=1,50 "
            "sleep=100 unrival sleep=200 kernels=30 return=0" },
      KREACH_LOST_TAKEOVER,
      7,
      130 },
    { "a buffer that cannot be walked to its end",
      { .fake = "garbage=1", .ops = "init kernels=10 return=0" },
      KREACH_LOST_UNKNOWN,
      1,
      1 },
};

static void every_loss_is_in_the_file_and_on_stderr(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct outcome *o = scene_run(&losses[i].scene);
        struct read_file *f = scene_file(o);
        bool present = false;
        uint64_t count = kreach_read_lost(f, losses[i].loss, &present);

        if (!present || count != losses[i].count || f->kernels != losses[i].kernels)
            print_error("scene '%s': present %d, count %llu\n", losses[i].name, present,
                        (unsigned long long)count);
        assert_true(scene_exited(o, 0));
        assert_true(present);
        assert_int_equal(count, losses[i].count);
        assert_int_equal(f->kernels, losses[i].kernels);
        assert_int_equal(f->ends, 1);
        assert_non_null(strstr(o->stderr_text, "incomplete"));
        scene_free(o);
    }
}

/*
 * Rows 19 and 20: memory stays below the cap, requests beyond it get a discard buffer (NULL would
 * crash CUPTI before 12.9, and the fake does), and what was thrown away is counted.
 */
static void at_the_memory_cap_records_are_counted_and_the_program_runs(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .fake = "version=18",
                                   .options = "cap=1,buffer=16,flush=3600",
                                   .ops = "init us=5000 threads=200,100 us=0 sync return=0" });
    struct read_file *f = scene_file(o);
    bool present = false;
    uint64_t lost = kreach_read_lost(f, KREACH_LOST_MEMORY_CAP, &present);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_true(present);
    assert_true(lost > 0);
    assert_int_equal(f->kernels + lost, 20000);
    assert_true(f->totals[KREACH_TOTAL_PEAK_POOL_BYTES] <= 1 << 20);
    scene_free(o);
}

/* Row 20, once more: each of them needs a buffer of its own. */
static void what_a_thousand_threads_lose_beyond_the_cap_is_counted(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .fake = "version=18",
                                   .options = "cap=1,buffer=16,flush=3600",
                                   .ops = "init us=20000 threads=1300,3 us=0 sync return=0" });
    struct read_file *f = scene_file(o);
    bool present = false;
    const uint64_t lost = kreach_read_lost(f, KREACH_LOST_MEMORY_CAP, &present);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_true(present);
    assert_int_equal(f->kernels + lost, 3900);
    scene_free(o);
}

/* Nothing is recorded, the program is unharmed, the reason is said and is in the file. */
static const struct refusal {
    const char *name;
    struct scene scene;
    const char *said;
    int gap; /* enum kreach_gap, 0 = none */
} refusals[] = {
    { "another client holds CUPTI (rows 10, 11)",
      { .fake = "subscribe=39,other=Nsight Systems", .ops = "init kernels=10 return=5" },
      "Nsight Systems",
      KREACH_GAP_BUSY },
    { "the old subscription limit",
      { .fake = "subscribe=12", .ops = "init kernels=10 return=5" },
      "holds CUPTI",
      KREACH_GAP_BUSY },
    { "a CUPTI that does not fit the driver (row 15)",
      { .fake = "subscribe=15", .ops = "init kernels=10 return=5" },
      "does not fit the driver",
      0 },
    { "no privileges (row 16)",
      { .fake = "enable=35", .ops = "init kernels=10 return=5" },
      "SYS_ADMIN",
      0 },
    { "MIG (row 18)", { .fake = "enable=43", .ops = "init kernels=10 return=5" }, "MIG", 0 },
    { "confidential computing",
      { .fake = "enable=41", .ops = "init kernels=10 return=5" },
      "confidential",
      0 },
    { "WSL", { .fake = "enable=45", .ops = "init kernels=10 return=5" }, "WSL", 0 },
    { "a CUPTI whose records are shorter than ours",
      { .fake = "version=17,abi=4", .ops = "init kernels=10 return=5" },
      "older than CUDA 11.8",
      0 },
    { "no CUPTI at all (row 17)",
      { .ops = "init kernels=10 return=5", .env = "KREACH_CUPTI=/nonexistent/libcupti.so" },
      "cannot load KREACH_CUPTI",
      0 },
};

static void a_refused_recording_says_why_and_harms_nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct outcome *o = scene_run(&refusals[i].scene);
        struct read_file *f = scene_file(o);
        char text[800];

        assert_true(scene_exited(o, 5));
        if (!strstr(o->stderr_text, refusals[i].said))
            print_error("scene '%s': %s\n", refusals[i].name, o->stderr_text);
        assert_non_null(strstr(o->stderr_text, refusals[i].said));
        assert_true(kreach_read_info(f, "failed", text, sizeof text));
        assert_non_null(strstr(text, refusals[i].said));
        assert_int_equal(f->kernels, 0);
        if (refusals[i].gap) {
            assert_int_equal(f->n_gaps, 1);
            assert_int_equal(f->gaps[0].kind, refusals[i].gap);
        }
        scene_free(o);
    }
}

/* Things that leave no file at all. */
static const struct scene silent[] = {
    { .ops = "return=0" },      /* no CUDA */
    { .ops = "init return=0" }, /* CUDA, but no work */
    { .fake = "strict=1", .options = "flush=0.02", .ops = "init sleep=200 return=0" }, /* row 28 */
    { .env = "KREACH_DISABLE=1", .ops = "init kernels=10 return=0" },                  /* row 57 */
    { .no_preload = true, .env = "KREACH_DISABLE=1", .ops = "init kernels=10 return=0" },
    { .options = "floor", .ops = "init kernels=5000 return=0" },
};

static void a_process_without_memory_for_buffers_says_so(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "buffer=4096", .ops = "init kernels=10 return=4", .data_limit_bytes = 6 << 20 });

    (void)state;
    if (SANITIZED) /* it has no memory then either */
        skip();
    assert_true(scene_exited(o, 4));
    assert_non_null(strstr(o->stderr_text, "is not recorded: no buffers: out of memory"));
    scene_free(o);
}

static void a_process_without_gpu_work_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        struct outcome *o = scene_run(&silent[i]);

        assert_true(scene_exited(o, 0));
        assert_int_equal(o->n_files, 0);
        assert_string_equal(o->stderr_text, "");
        scene_free(o);
    }
}

/* After an exec that failed the process has begun another section, in which it does nothing. */
static void a_section_without_work_is_not_begun(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "flush=0.02", .ops = "init kernels=10 badexec sleep=200 badexec return=3" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 3));
    assert_int_equal(f->sections, 1);
    assert_int_equal(f->kernels, 10);
    scene_free(o);
}

static void without_an_output_folder_nothing_happens_and_that_is_said(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .env = "KREACH_OUT", .ops = "init kernels=10 return=3" });

    (void)state;
    assert_true(scene_exited(o, 3));
    assert_int_equal(o->n_files, 0);
    assert_non_null(strstr(o->stderr_text, "KREACH_OUT is not set"));
    scene_free(o);
}

static void unknown_options_are_named_and_the_rest_is_used(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .options = "bufer=3,buffer=zero,launches=1,steps,delay=-1,kernels-only",
                         .ops = "init kernels=10 copies=3 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_non_null(strstr(o->stderr_text, "option 'bufer'"));
    assert_non_null(strstr(o->stderr_text, "'zero'"));
    assert_non_null(strstr(o->stderr_text, "option 'launches'"));
    assert_non_null(strstr(o->stderr_text, "option 'steps'"));
    assert_non_null(strstr(o->stderr_text, "'-1'"));
    assert_int_equal(f->kernels, 10);
    assert_int_equal(f->memcpys, 0);
    scene_free(o);
}

/* Row 2: a timestamp callback spoils kernel times in CUDA 12.6 to 13.0. A benchmark wants one. */
static void no_recording_has_a_timestamp_callback(void **state)
{
    static const struct {
        const char *options;
        bool registered;
    } cases[] = { { "ticks", false }, { "", false }, { "ticks,floor", true } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *o = scene_run(&(struct scene){
            .fake = "bare=1", .options = cases[i].options, .ops = "init kernels=10 return=0" });

        assert_int_equal(strstr(o->stderr_text, "clocks of a client are enabled") != NULL,
                         cases[i].registered);
        if (!cases[i].registered)
            assert_int_equal(scene_file(o)->kernels, 10);
        scene_free(o);
    }
}

/* Row 1: no callback and no record of calls unless they were asked for. */
static void launch_calls_are_recorded_only_on_request(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "launches", .ops = "init kernels=100 copies=50 graph=10,3 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    /* A runtime and a driver call each; copies are no launches at the runtime, the fake makes
       them through the driver's launch. */
    assert_int_equal(f->launches, 2 * 100 + 50 + 2 * 10);
    assert_int_equal(f->kernels, 130);
    /* Row 54: the kernel's thread id, not pthread's. */
    assert_int_equal(f->launch_thread, f->pid);
    scene_free(o);
}

static void clocks_that_cannot_be_read_are_no_reason_to_fail(void **state)
{
    struct outcome *o =
        scene_run(&(struct scene){ .fake = "no_time=1", .ops = "init kernels=10 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->kernels, 10);
    assert_int_equal(f->clocks, 0);
    scene_free(o);
}

/* Row 13: another client registers its callbacks; a gap says so, and we go on afterwards. */
static void a_takeover_is_a_gap_and_recording_goes_on_after_it(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true,
        .options = "flush=0.05",
        .ops =
            "init kernels=100 sync rival kernels=50 sync unrival sleep=300 kernels=30 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->n_gaps, 1);
    assert_int_equal(f->gaps[0].kind, KREACH_GAP_TAKEOVER);
    assert_true(f->gaps[0].to_ns > f->gaps[0].from_ns && f->gaps[0].from_ns > 0);
    assert_true(f->kernels >= 130);
    assert_non_null(strstr(o->stderr_text, "takes over"));
    assert_null(strstr(o->stderr_text, "rival got no buffer"));
    scene_free(o);
}

static void a_takeover_until_the_end_is_a_gap_too(void **state)
{
    struct outcome *o = scene_run(
        &(struct scene){ .rival = true, .ops = "init kernels=100 sync rival kernels=50 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_int_equal(f->kernels, 100);
    assert_int_equal(f->n_gaps, 1);
    assert_int_equal(f->gaps[0].kind, KREACH_GAP_TAKEOVER);
    scene_free(o);
}

/* All that the process did went to the other client: a gap is all there is to say. */
static void a_takeover_before_any_work_is_said_too(void **state)
{
    static const char *const ops[] = {
        "init rival enable kernels=50 return=0",
        "init rival enable kernels=50 unrival sleep=300 return=0",
        "rival enable init kernels=50 return=0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct outcome *o = scene_run(&(struct scene){ .rival = true, .ops = ops[i] });
        struct read_file *f = scene_file(o);

        assert_true(scene_exited(o, 0));
        assert_int_equal(f->kernels, 0);
        assert_int_equal(f->n_gaps, 1);
        assert_int_equal(f->gaps[0].kind, KREACH_GAP_TAKEOVER);
        scene_free(o);
    }
}

/* It registered its callbacks and only then began to use CUDA, as NVIDIA's samples do. */
static void a_client_from_before_cuda_keeps_its_records(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true,
        .ops = "rival enable init kernels=50 unrival sleep=300 kernels=30 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_true(scene_exited(o, 0));
    assert_null(strstr(o->stderr_text, "victim:"));
    assert_int_equal(f->kernels, 30);
    assert_int_equal(f->n_gaps, 1);
    assert_int_equal(f->gaps[0].kind, KREACH_GAP_TAKEOVER);
    scene_free(o);
}

static void what_another_client_switches_off_goes_on_for_us(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .rival = true, .ops = "init kernels=10 sync unrival kernels=30 return=0" });

    (void)state;
    assert_int_equal(scene_file(o)->kernels, 40);
    scene_free(o);
}

/* A push that is not seen would let its pop end the range around it. "~" is the euro sign. */
static void ranges_of_wide_characters_nest_like_others(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "nvtx",
        .ops = "init push=outer wpush=in~r wdpush=dom~ kernels=1 dpop pop kernels=1 pop "
               "return=0" });
    struct read_file *f = scene_file(o);
    static const char *const want[] = { "dom\u20ac", "in\u20acr", "outer" };

    (void)state;
    assert_int_equal(f->n_ranges, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(f->ranges[i].name, want[i]);
    scene_free(o);
}

/* There is room for 32,768 at once, and the next flush is far away. */
static void any_number_of_ranges_is_recorded(void **state)
{
    struct outcome *o = scene_run(&(struct scene){
        .options = "nvtx,flush=3600", .ops = "init kernels=1 sleep=200 ranges=40000 return=0" });
    struct read_file *f = scene_file(o);

    (void)state;
    assert_int_equal(f->totals[KREACH_TOTAL_RANGES], 40000);
    assert_int_equal(f->n_lost, 0);
    scene_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_reaches_the_file),
        cmocka_unit_test(a_kernel_takes_at_most_32_bytes),
        cmocka_unit_test(a_run_says_what_it_is),
        cmocka_unit_test(a_launch_never_waits_for_a_buffer_to_be_made),
        cmocka_unit_test(the_environment_is_that_of_when_cuda_came_up),
        cmocka_unit_test(a_process_without_memory_for_buffers_says_so),
        cmocka_unit_test(eight_gpus_are_told_apart),
        cmocka_unit_test(peer_copies_name_both_devices),
        cmocka_unit_test(names_that_change_in_place_are_seen),
        cmocka_unit_test(every_loss_is_in_the_file_and_on_stderr),
        cmocka_unit_test(at_the_memory_cap_records_are_counted_and_the_program_runs),
        cmocka_unit_test(what_a_thousand_threads_lose_beyond_the_cap_is_counted),
        cmocka_unit_test(a_refused_recording_says_why_and_harms_nobody),
        cmocka_unit_test(a_process_without_gpu_work_leaves_nothing),
        cmocka_unit_test(a_section_without_work_is_not_begun),
        cmocka_unit_test(without_an_output_folder_nothing_happens_and_that_is_said),
        cmocka_unit_test(unknown_options_are_named_and_the_rest_is_used),
        cmocka_unit_test(no_recording_has_a_timestamp_callback),
        cmocka_unit_test(launch_calls_are_recorded_only_on_request),
        cmocka_unit_test(clocks_that_cannot_be_read_are_no_reason_to_fail),
        cmocka_unit_test(a_takeover_is_a_gap_and_recording_goes_on_after_it),
        cmocka_unit_test(a_takeover_until_the_end_is_a_gap_too),
        cmocka_unit_test(a_takeover_before_any_work_is_said_too),
        cmocka_unit_test(a_client_from_before_cuda_keeps_its_records),
        cmocka_unit_test(what_another_client_switches_off_goes_on_for_us),
        cmocka_unit_test(any_number_of_ranges_is_recorded),
        cmocka_unit_test(ranges_of_wide_characters_nest_like_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

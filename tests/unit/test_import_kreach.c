/* The .kreach reader: what was written is what is read, and what is missing is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import_kreach.h"
#include "kreach_build.h"
#include "mem.h"

static struct kr_timeline *read_build(const struct kr_build *b)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_kreach("t.kreach", b->file.data, b->file.len, &err);

    if (!t)
        print_error("%s\n", err.msg);
    assert_non_null(t);
    return t;
}

static uint64_t warned(const struct kr_timeline *t, enum kr_warn warn)
{
    return t->warnings[warn].count;
}

/* Fails when anything but the given warning was counted. */
static void assert_only_warned(const struct kr_timeline *t, enum kr_warn warn, uint64_t count)
{
    for (size_t i = 0; i < KR_WARN_COUNT; i++) {
        uint64_t expected = i == (size_t)warn ? count : 0;

        if (t->warnings[i].count != expected)
            print_error("%s\n", kr_warn_key((enum kr_warn)i));
        assert_int_equal(t->warnings[i].count, expected);
    }
}

static void a_kernel_is_read_with_all_that_is_known_of_it(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    const struct kr_site *site;

    (void)state;
    kr_build_process(&b, 42, "my_kernel", 3);
    t = read_build(&b);
    assert_int_equal(t->n_events, 3);
    assert_int_equal(t->events[1].start_ns, 2000);
    assert_int_equal(t->events[1].dur_ns, 100);
    assert_int_equal(t->events[1].correlation, 2);
    assert_int_equal(t->events[1].lead_ns, KR_LEAD_UNKNOWN);
    site = &t->sites[t->events[1].site];
    assert_string_equal(kr_timeline_str(t, site->name), "my_kernel");
    assert_int_equal(site->kind, KR_KERNEL);
    assert_int_equal(site->grid[0], 8);
    assert_int_equal(site->grid[1], 2);
    assert_int_equal(site->block[0], 256);
    assert_int_equal(site->registers, 32);
    assert_int_equal(site->shared_bytes, 4096);
    assert_int_equal(t->tracks[0].process, 42);
    assert_int_equal(t->tracks[0].context, 1);
    assert_int_equal(t->tracks[0].stream, 7);
    assert_string_equal(kr_timeline_str(t, t->devices[0].name), "NVIDIA H200");
    assert_int_equal(t->devices[0].sm_count, 132);
    assert_int_equal(t->devices[0].memory_bytes, 150754820096);
    assert_int_equal(t->devices[0].cc_major, 9);
    assert_string_equal(t->source.format, "kreach");
    assert_int_equal(t->source.processes, 1);
    assert_true(t->source.drops_known);
    assert_only_warned(t, KR_WARN_COUNT, 0);
    assert_true(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* Copies and graphs: names, sizes, graph ids. */
static void copies_are_named_as_pytorch_names_them(void **state)
{
    static const char *const names[] = { "Memcpy HtoD (Pageable -> Device)",
                                         "Memcpy PtoP (Device -> Device)", "Memset (Device)",
                                         "CUDA graph 5" };
    static const uint64_t bytes[] = { 1 << 20, 64, 4096, 0 };
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_fields(&b, KR_FIELDS(KR_V(1), KR_B(KREACH_MEMCPY), KR_V(0), KR_B(1), KR_B(1), KR_B(3),
                                  KR_V(1 << 20), KR_V(0), KR_V(0), KR_V(0)));
    kr_build_fields(&b, KR_FIELDS(KR_B(KREACH_MEMCPY), KR_V(0), KR_B(10), KR_B(3), KR_B(3),
                                  KR_V(64), KR_V(2), KR_V(5), KR_V(77)));
    kr_build_fields(&b, KR_FIELDS(KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(4096), KR_V(0),
                                  KR_V(0), KR_B(KREACH_GRAPH), KR_V(0), KR_V(5)));
    kr_build_flush(&b, KREACH_SITES);
    for (uint32_t i = 1; i <= 4; i++)
        kr_build_events(&b, &(struct kr_build_work){ 0, i, i * 1000, 10, i }, 1);
    t = read_build(&b);
    assert_int_equal(t->n_events, 4);
    assert_int_equal(t->counts.memcpys, 2);
    assert_int_equal(t->counts.memsets, 1);
    assert_int_equal(t->counts.kernels, 1);
    for (size_t i = 0; i < 4; i++) {
        const struct kr_site *site = &t->sites[t->events[i].site];

        assert_string_equal(kr_timeline_str(t, site->name), names[i]);
        assert_int_equal(site->bytes, bytes[i]);
        assert_int_equal(site->graph_id, i % 2 ? 5 : 0);
    }
    assert_int_equal(t->sites[t->events[1].site].graph_node_id, 77);
    assert_int_equal(warned(t, KR_WARN_GRAPH_LEVEL), 1);
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* One piece of work, in words that do not depend on how a file numbers things. */
struct truth {
    uint64_t process, uuid, stream, start_ns, dur_ns, correlation, name;
};

static int compare_truths(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct truth));
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

enum { PROCESSES = 5, DEVICES = 3, KINDS = 20, CHUNKS = 30, PER_CHUNK = 40 };
#define RAW_NS  INT64_C(50000000000)
#define REAL_NS INT64_C(1800000000000000000)

/* The CUPTI clock of process p is this far from MONOTONIC_RAW. */
static int64_t clock_offset_ns(uint64_t p)
{
    return (int64_t)p * 7000000 + 1000;
}

static void build_clock(struct kr_build *b, uint64_t p, int64_t raw_ns)
{
    kr_build_chunk(b, KREACH_CLOCK,
                   KR_FIELDS(KR_S(REAL_NS + raw_ns), KR_S(raw_ns),
                             KR_S(raw_ns + clock_offset_ns(p)), KR_V(40)));
}

/* Names, devices (numbered differently in each process), tracks and kernel sites. */
static void build_tables(struct kr_build *b, uint64_t p)
{
    char name[32];

    kr_build_fields(b, KR_FIELDS(KR_V(1)));
    for (unsigned i = 0; i < KINDS; i++) {
        snprintf(name, sizeof name, "kernel_%u", i);
        kr_build_fields(b, KR_FIELDS(KR_T(name)));
    }
    kr_build_flush(b, KREACH_NAMES);
    for (uint64_t i = 0; i < DEVICES; i++)
        kr_build_chunk(b, KREACH_DEVICES,
                       KR_FIELDS(KR_V(i), KR_U(1 + (i + p) % DEVICES), KR_T("GPU"), KR_V(10),
                                 KR_V(1), KR_V(9), KR_V(0), KR_V(0)));
    for (uint64_t i = 0; i < DEVICES; i++)
        kr_build_chunk(
            b, KREACH_TRACKS,
            KR_FIELDS(KR_V(2 * i), KR_V(i), KR_V(1), KR_V(7), KR_V(i), KR_V(1), KR_V(13)));
    kr_build_fields(b, KR_FIELDS(KR_V(0)));
    for (uint64_t i = 0; i < KINDS; i++)
        kr_build_fields(b,
                        KR_FIELDS(KR_B(KREACH_KERNEL), KR_V(i + 1), KR_V(1), KR_V(1), KR_V(1),
                                  KR_V(32), KR_V(1), KR_V(1), KR_V(0), KR_V(0), KR_V(0), KR_V(0)));
    kr_build_flush(b, KREACH_SITES);
}

static size_t build_random_process(struct kr_build *b, uint64_t p, uint64_t *random,
                                   struct truth *truths)
{
    size_t n = 0;

    kr_build_section(b, 100 + p);
    build_tables(b, p);
    build_clock(b, p, RAW_NS);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        struct kr_build_work works[PER_CHUNK];

        for (size_t i = 0; i < PER_CHUNK; i++, n++) {
            int64_t raw_ns = RAW_NS + (int64_t)(next_random(random) % 1000000000);
            uint32_t track = (uint32_t)next_random(random) % (2 * DEVICES);
            uint32_t site = (uint32_t)next_random(random) % KINDS;

            works[i] = (struct kr_build_work){ track, site, raw_ns + clock_offset_ns(p),
                                               next_random(random) % 5000, (uint32_t)n + 1 };
            truths[n] = (struct truth){ 100 + p,
                                        1 + (track / 2 + p) % DEVICES,
                                        track % 2 ? 13 : 7,
                                        (uint64_t)(REAL_NS + raw_ns),
                                        works[i].dur_ns,
                                        n + 1,
                                        site };
        }
        kr_build_events(b, works, PER_CHUNK);
    }
    build_clock(b, p, RAW_NS + 1000000000);
    kr_build_end(b, n);
    return n;
}

static struct truth truth_of(const struct kr_timeline *t, const struct kr_event *e)
{
    const struct kr_track *track = &t->tracks[e->track];
    const char *name = kr_timeline_str(t, t->sites[e->site].name);

    return (struct truth){ track->process,
                           t->devices[track->device].uuid[0],
                           (uint64_t)track->stream,
                           (uint64_t)e->start_ns,
                           e->dur_ns,
                           e->correlation,
                           strtoul(name + strlen("kernel_"), NULL, 10) };
}

static void several_processes_come_out_as_written_on_one_clock(void **state)
{
    enum { N = PROCESSES * CHUNKS * PER_CHUNK };
    struct truth *truths = calloc(2 * (size_t)N, sizeof *truths);
    struct truth *read = truths + N;
    uint64_t random = 1;
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    size_t n = 0;

    (void)state;
    for (uint64_t p = 0; p < PROCESSES; p++)
        n += build_random_process(&b, p, &random, truths + n);
    t = read_build(&b);
    assert_int_equal(t->n_events, N);
    assert_int_equal(t->n_devices, DEVICES);
    assert_int_equal(t->source.processes, PROCESSES);
    for (size_t i = 0; i < N; i++)
        read[i] = truth_of(t, &t->events[i]);
    qsort(truths, N, sizeof *truths, compare_truths);
    qsort(read, N, sizeof *read, compare_truths);
    assert_memory_equal(read, truths, N * sizeof *read);
    assert_true(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
    free(truths);
}

static void devices_of_different_uuids_stay_apart_even_under_one_number(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    for (uint64_t p = 0; p < 2; p++) {
        kr_build_section(&b, 10 + p);
        kr_build_chunk(&b, KREACH_DEVICES,
                       KR_FIELDS(KR_V(0), KR_U(p + 1), KR_T("GPU"), KR_V(1), KR_V(1), KR_V(9),
                                 KR_V(0), KR_V(0)));
        kr_build_chunk(&b, KREACH_TRACKS, KR_FIELDS(KR_V(0), KR_V(0), KR_V(1), KR_V(9)));
        kr_build_chunk(&b, KREACH_SITES, KR_FIELDS(KR_V(0), KR_B(KREACH_GRAPH), KR_V(0), KR_V(1)));
        build_clock(&b, p, RAW_NS);
        kr_build_events(&b, &(struct kr_build_work){ 0, 0, RAW_NS, 5, 1 }, 1);
        kr_build_end(&b, 1);
    }
    t = read_build(&b);
    assert_int_equal(t->n_events, 2);
    assert_int_not_equal(t->tracks[t->events[0].track].device,
                         t->tracks[t->events[1].track].device);
    assert_int_not_equal(t->devices[0].id, t->devices[1].id);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_process_without_clock_readings_among_others_is_flagged(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_process(&b, 1, "a", 1);
    kr_build_process(&b, 2, "b", 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_NO_CLOCK, 2);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_step_of_the_clock_is_flagged(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    for (int64_t i = 0; i < 4; i++) {
        int64_t step_ns = i < 2 ? 0 : 3000000000;

        kr_build_chunk(&b, KREACH_CLOCK,
                       KR_FIELDS(KR_S(REAL_NS + i * 1000000000), KR_S(i * 1000000000),
                                 KR_S(i * 1000000000 + step_ns), KR_V(100)));
    }
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 1 }, 1);
    kr_build_end(&b, 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_CLOCK_STEP, 1);
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* Chunks that say that something is missing, and the one warning each must cause. */
static const struct {
    uint16_t type;
    struct kr_field fields[8];
    enum kr_warn warn;
    uint64_t count;
    bool complete;
} sayings[] = {
    { KREACH_LOST, { KR_V(1), KR_V(9), KR_V(0), KR_S(0), KR_S(0), KR_T("") }, KR_WARN_LOST, 9, 0 },
    { KREACH_LOST,
      { KR_V(2), KR_V(7), KR_V(1), KR_S(0), KR_S(0), KR_T("") },
      KR_WARN_ZERO_TIME,
      7,
      0 },
    { KREACH_LOST,
      { KR_V(3), KR_V(2), KR_V(1), KR_S(0), KR_S(0), KR_T("") },
      KR_WARN_NEGATIVE_DUR,
      2,
      0 },
    { KREACH_LOST, { KR_V(4), KR_V(5), KR_V(1), KR_S(0), KR_S(0), KR_T("") }, KR_WARN_LOST, 5, 0 },
    { KREACH_LOST, { KR_V(99), KR_V(3), KR_V(1), KR_S(0), KR_S(0), KR_T("") }, KR_WARN_LOST, 3, 0 },
    { KREACH_LOST,
      { KR_V(8), KR_V(0), KR_V(0), KR_S(0), KR_S(0), KR_T("") },
      KR_WARN_DROPS_UNKNOWN,
      1,
      0 },
    { KREACH_GAP, { KR_V(2), KR_S(10), KR_S(20), KR_T("nsys") }, KR_WARN_GAP, 1, 0 },
    { KREACH_GAP, { KR_V(4), KR_S(10), KR_S(20), KR_T("nsys") }, KR_WARN_GAP, 1, 0 },
    { KREACH_GAP, { KR_V(5), KR_S(10), KR_S(20), KR_T("CUPTI was busy") }, KR_WARN_GAP, 1, 0 },
    { KREACH_GAP, { KR_V(1), KR_S(10), KR_S(20), KR_T("") }, KR_WARN_PAUSED, 1, 1 },
    { KREACH_GAP, { KR_V(3), KR_S(10), KR_S(20), KR_T("") }, KR_WARN_PAUSED, 1, 1 },
    { 77, { KR_V(1) }, KR_WARN_UNKNOWN_CHUNK, 1, 1 },
    { KREACH_LOST, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_TOTALS, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_DEVICES, { KR_V(1 << 20) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_TRACKS, { KR_V(9), KR_V(5000), KR_V(1), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_TRACKS, { KR_V(1000000), KR_V(0), KR_V(1), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_NAMES, { KR_V(4000000000), KR_T("x") }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_SITES, { KR_V(5), KR_B(9), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_EVENTS, { KR_V(0), KR_S(0), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_EVENTS, { KR_V(1), KR_S(0) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_RANGES, { KR_V(UINT64_MAX), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_RANGES, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_LAUNCHES, { KR_V(1), KR_S(0) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_LAUNCHES, { KR_V(3), KR_S(INT64_MAX), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
    { KREACH_CALIBRATION, { KR_T("x"), KR_V(1000), KR_V(1) }, KR_WARN_BAD_RECORD, 1, 0 },
};

static void what_a_process_says_is_missing_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(sayings); i++) {
        struct kr_build b = { 0 };
        struct kr_timeline *t;

        kr_build_section(&b, 1);
        kr_build_one_kernel(&b, "k");
        kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 1 }, 1);
        kr_build_chunk(&b, sayings[i].type, sayings[i].fields);
        kr_build_end(&b, 1);
        t = read_build(&b);
        assert_only_warned(t, sayings[i].warn, sayings[i].count);
        assert_int_equal(kr_timeline_complete(t), sayings[i].complete);
        assert_int_equal(t->source.drops_known, sayings[i].warn != KR_WARN_DROPS_UNKNOWN);
        assert_int_equal(t->source.drops, sayings[i].warn == KR_WARN_LOST ? sayings[i].count : 0);
        kr_timeline_free(t);
        kr_build_free(&b);
    }
}

/* Records with impossible contents in an otherwise good chunk. */
static const struct {
    struct kr_build_work work;
    enum kr_warn warn;
    uint64_t kept;
} strange_works[] = {
    { { 0, 0, 0, 0, 1 }, KR_WARN_ZERO_TIME, 1 },
    { { 9, 0, 10, 5, 1 }, KR_WARN_BAD_RECORD, 1 },
    { { 0, 9, 1010, 5, 1 }, KR_WARN_LOST_SITE, 2 },
    { { 0, 0, -10, 5, 1 }, KR_WARN_HUGE_TIME, 1 },
    { { 0, 0, INT64_MAX, 5, 1 }, KR_WARN_HUGE_TIME, 1 },
    { { 0, 0, 10, UINT64_MAX, 1 }, KR_WARN_HUGE_TIME, 1 },
};

static void work_with_impossible_contents_is_counted_not_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(strange_works); i++) {
        struct kr_build b = { 0 };
        struct kr_timeline *t;

        kr_build_section(&b, 1);
        kr_build_one_kernel(&b, "k");
        kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
        kr_build_events(&b, &strange_works[i].work, 1);
        kr_build_end(&b, 2);
        t = read_build(&b);
        assert_only_warned(t, strange_works[i].warn, 1);
        assert_int_equal(t->n_events, strange_works[i].kept);
        assert_int_equal(t->counts.dropped, 2 - strange_works[i].kept);
        kr_timeline_free(t);
        kr_build_free(&b);
    }
}

static void fewer_records_than_were_written_is_a_loss(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    kr_build_end(&b, 5);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_TOTALS, 4);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* What could not be written is in the totals, and is a loss of its own. */
static void records_that_could_not_be_written_are_counted_once(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    kr_build_chunk(
        &b, KREACH_LOST,
        KR_FIELDS(KR_V(KREACH_LOST_WRITE), KR_V(4), KR_V(0), KR_S(0), KR_S(0), KR_T("no space")));
    kr_build_end(&b, 5);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_LOST, 4);
    assert_int_equal(t->source.drops, 4);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_killed_process_is_said_to_be_incomplete(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_chunk(&b, KREACH_TOTALS, KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(0)));
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_NOT_ENDED, 1);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* Two processes of one event in each chunk, for tearing and flipping. */
static void build_small(struct kr_build *b)
{
    kr_build_process(b, 1, "first", 3);
    kr_build_process(b, 2, "second", 3);
}

/* Events in whole EVENTS chunks among the first len bytes. */
static size_t events_before(const struct kr_build *b, size_t len)
{
    struct kr_chunks walk;
    struct kr_chunk chunk;
    size_t n = 0;

    kr_chunks_start(&walk, b->file.data, b->file.len);
    while (kr_chunks_next(&walk, &chunk) && walk.at <= len)
        n += chunk.type == KREACH_EVENTS;
    return n;
}

static void a_cut_anywhere_keeps_everything_before_it(void **state)
{
    struct kr_build b = { 0 };

    (void)state;
    build_small(&b);
    for (size_t len = 0; len < b.file.len; len++) {
        struct kr_err err = { 0 };
        uint8_t *cut = malloc(len + 1); /* of its own, so that a read beyond it is seen */
        struct kr_timeline *t;
        size_t expected = events_before(&b, len);

        memcpy(cut, b.file.data, len);
        t = kr_import_kreach("t.kreach", cut, len, &err);
        if (expected) {
            assert_non_null(t);
            assert_int_equal(t->n_events, expected);
            assert_int_equal(kr_timeline_complete(t), expected == 3 && !t->source.truncated &&
                                                          !warned(t, KR_WARN_NOT_ENDED));
        } else {
            assert_null(t);
            assert_int_equal(err.code, KR_EINPUT);
        }
        kr_timeline_free(t);
        free(cut);
    }
    kr_build_free(&b);
}

static void a_wrong_byte_anywhere_is_an_error_or_is_counted(void **state)
{
    struct kr_build b = { 0 };

    (void)state;
    build_small(&b);
    for (size_t at = 0; at < b.file.len; at++) {
        struct kr_err err = { 0 };
        struct kr_timeline *t;

        b.file.data[at] ^= 0x41;
        t = kr_import_kreach("t.kreach", b.file.data, b.file.len, &err);
        b.file.data[at] ^= 0x41;
        if (t) {
            assert_false(kr_timeline_complete(t));
            assert_int_equal(warned(t, KR_WARN_DAMAGED) + warned(t, KR_WARN_TRUNCATED), 1);
        } else {
            assert_int_equal(err.code, KR_EINPUT);
            assert_true(at < KREACH_SIGNATURE_BYTES);
        }
        kr_timeline_free(t);
    }
    kr_build_free(&b);
}

/* The second process's names must not go to the first one's work, nor the other way round. */
static void a_damaged_head_does_not_mix_two_processes(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    size_t head;
    size_t end;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "first");
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 1 }, 1);
    end = b.file.len;
    kr_build_end(&b, 1);
    head = b.file.len;
    kr_build_process(&b, 2, "second", 1);
    memset(b.file.data + end, 0, head + 40 - end); /* end, signature and head are gone */
    t = read_build(&b);
    assert_int_equal(t->n_events, 2);
    assert_string_equal(kr_timeline_str(t, t->sites[t->events[0].site].name), "first");
    assert_string_equal(kr_timeline_str(t, t->sites[t->events[1].site].name), "second");
    assert_int_equal(t->tracks[t->events[0].track].process, 1);
    assert_int_equal(t->tracks[t->events[1].track].process, 0);
    assert_int_equal(warned(t, KR_WARN_DAMAGED), 1);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_process_missing_from_the_file_is_counted(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 9);
    kr_build_chunk(&b, KREACH_INFO,
                   KR_FIELDS(KR_T("recorder"), KR_T("0.1"), KR_T("sections"), KR_T("3"),
                             KR_T("command"), KR_T("python3 x.py")));
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
    kr_build_process(&b, 10, "k", 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_NO_SECTION, 2);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void facts_of_the_recorder_come_first_and_last_values_count(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 9);
    kr_build_chunk(&b, KREACH_INFO,
                   KR_FIELDS(KR_T("recorder"), KR_T("0.1"), KR_T("command"), KR_T("torchrun x")));
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
    kr_build_section(&b, 10);
    kr_build_one_kernel(&b, "k");
    kr_build_chunk(&b, KREACH_INFO,
                   KR_FIELDS(KR_T("command"), KR_T("worker"), KR_T("driver"), KR_T("1"),
                             KR_T("driver"), KR_T("580"), KR_T("rank"), KR_T("3")));
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    kr_build_end(&b, 1);
    t = read_build(&b);
    assert_string_equal(kr_timeline_fact(t, "command"), "torchrun x");
    assert_string_equal(kr_timeline_fact(t, "driver"), "580");
    assert_null(kr_timeline_fact(t, "cupti"));
    assert_int_equal(t->source.rank, 3);
    assert_int_equal(t->source.processes, 1);
    kr_timeline_free(t);
    kr_build_free(&b);
}

/*
 * A replay that is queued when recording stops gets ends of the next recorded one. Work of no graph
 * was launched before and is whole; a gap by force leaves none behind.
 */
static void graph_work_that_begins_outside_of_what_was_asked_for_is_left_out(void **state)
{
    enum { EAGER, GRAPH, GRAPH_SET };
    static const struct {
        uint32_t site;
        int64_t start_ns;
        uint64_t dur_ns;
        bool kept;
    } works[] = {
        { GRAPH, 500, 9000, false }, { EAGER, 600, 5, true },   { GRAPH, 999, 5, false },
        { GRAPH, 1000, 5, true },    { GRAPH, 2999, 5, true },  { GRAPH, 3000, 900000, false },
        { EAGER, 3100, 5, true },    { GRAPH, 3500, 5, false }, { GRAPH_SET, 3999, 5, false },
        { GRAPH, 4000, 5, true },    { GRAPH, 6500, 5, true },  { GRAPH, 9000, 5, true },
    };
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    size_t kept = 0;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_chunk(&b, KREACH_SITES,
                   KR_FIELDS(KR_V(GRAPH), KR_B(KREACH_KERNEL), KR_V(1), KR_V(8), KR_V(2), KR_V(1),
                             KR_V(256), KR_V(1), KR_V(1), KR_V(32), KR_V(4096), KR_V(2), KR_V(7),
                             KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(64), KR_V(2), KR_V(8)));
    for (size_t i = 0; i < KR_COUNT(works); i++)
        kr_build_events(&b,
                        &(struct kr_build_work){ 0, works[i].site, works[i].start_ns,
                                                 works[i].dur_ns, (uint32_t)i + 1 },
                        1);
    kr_build_chunk(&b, KREACH_GAP,
                   KR_FIELDS(KR_V(KREACH_GAP_TAKEOVER), KR_S(6000), KR_S(7000), KR_T("x"),
                             KR_V(KREACH_GAP_CALIBRATE), KR_S(3000), KR_S(4000), KR_T(""),
                             KR_V(KREACH_GAP_CALIBRATE), KR_S(3200), KR_S(3300), KR_T(""),
                             KR_V(KREACH_GAP_WINDOW), KR_S(0), KR_S(1000), KR_T("")));
    kr_build_end(&b, KR_COUNT(works));
    t = read_build(&b);
    for (size_t i = 0; i < KR_COUNT(works); i++) {
        if (works[i].kept && (kept == t->n_events || t->events[kept].start_ns != works[i].start_ns))
            fail_msg("work at %lld is missing", (long long)works[i].start_ns);
        kept += works[i].kept;
    }
    assert_int_equal(t->n_events, kept);
    assert_int_equal(t->counts.events_read, KR_COUNT(works));
    assert_int_equal(t->counts.dropped, 0);
    assert_int_equal(warned(t, KR_WARN_OUTSIDE), KR_COUNT(works) - kept);
    assert_int_equal(warned(t, KR_WARN_OVERRUN), 0);
    assert_int_equal(warned(t, KR_WARN_TOTALS), 0);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void step_times_without_profiling_are_read_as_medians(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 5, 2 }, 1);
    kr_build_chunk(&b, KREACH_CALIBRATION,
                   KR_FIELDS(KR_T("second run"), KR_V(3), KR_V(900), KR_V(100), KR_V(110), KR_V(4),
                             KR_V(130), KR_V(120), KR_V(140), KR_V(5000)));
    kr_build_end(&b, 1);
    t = read_build(&b);
    assert_string_equal(t->source.steps.method, "second run");
    assert_int_equal(t->source.steps.plain_step_ns, 110);
    assert_int_equal(t->source.steps.plain_steps, 3);
    assert_int_equal(t->source.steps.profiled_step_ns, 135);
    assert_int_equal(t->source.steps.profiled_steps, 4);
    kr_timeline_free(t);
    kr_build_free(&b);
}

/* Thread 5: outer "step 3" [100, 900), inner "matmul" [200, 300); thread 6: "other" [0, 1000). */
static void build_ranges_and_launches(struct kr_build *b)
{
    kr_build_section(b, 1);
    kr_build_one_kernel(b, "k");
    kr_build_chunk(b, KREACH_NAMES,
                   KR_FIELDS(KR_V(2), KR_T("step 3"), KR_T("matmul"), KR_T("other")));
    kr_build_fields(b, KR_FIELDS(KR_V(3)));
    kr_build_fields(b, KR_FIELDS(KR_V(4), KR_V(6), KR_B(0), KR_S(0), KR_V(1000)));
    kr_build_fields(b, KR_FIELDS(KR_V(3), KR_V(5), KR_B(0), KR_S(200), KR_V(100)));
    kr_build_fields(b, KR_FIELDS(KR_V(2), KR_V(5), KR_B(0), KR_S(100), KR_V(800)));
    kr_build_flush(b, KREACH_RANGES);
    kr_build_fields(b, KR_FIELDS(KR_V(4), KR_S(0)));
    /* The driver's row of a call lies inside the runtime's and has the same id. */
    kr_build_fields(b, KR_FIELDS(KR_V(5), KR_V(1), KR_V(307), KR_S(255), KR_V(1), KR_S(1)));
    kr_build_fields(b, KR_FIELDS(KR_V(5), KR_V(0), KR_V(211), KR_S(-5), KR_V(9), KR_S(0)));
    kr_build_fields(b, KR_FIELDS(KR_V(5), KR_V(0), KR_V(211), KR_S(150), KR_V(9), KR_S(1)));
    kr_build_fields(b, KR_FIELDS(KR_V(5), KR_V(0), KR_V(311), KR_S(600), KR_V(9), KR_S(1)));
    kr_build_flush(b, KREACH_LAUNCHES);
    kr_build_events(b, &(struct kr_build_work){ 0, 0, 1250, 50, 1 }, 1);
    kr_build_events(b, &(struct kr_build_work){ 0, 0, 1400, 50, 2 }, 1);
    kr_build_events(b, &(struct kr_build_work){ 0, 0, 1500, 50, 3 }, 1);
    kr_build_events(b, &(struct kr_build_work){ 0, 0, 1600, 50, 4 }, 1);
    kr_build_chunk(b, KREACH_TOTALS,
                   KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(4), KR_V(KREACH_TOTAL_LAUNCHES),
                             KR_V(4), KR_V(KREACH_TOTAL_RANGES), KR_V(3)));
    kr_build_chunk(b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
}

static void launches_give_lead_times_and_ranges(void **state)
{
    static const char *const annotations[] = { "matmul", "step *", "", "" };
    static const uint32_t leads_ns[] = { 1000, 1000, 500, KR_LEAD_UNKNOWN };
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_ranges_and_launches(&b);
    t = read_build(&b);
    assert_int_equal(t->n_events, 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t annotation = t->sites[t->events[i].site].annotation;

        assert_string_equal(kr_timeline_str(t, annotation), annotations[i]);
        assert_int_equal(t->events[i].lead_ns, leads_ns[i]);
    }
    assert_int_equal(t->counts.launches, 2);
    assert_int_equal(t->counts.graph_launches, 1);
    assert_only_warned(t, KR_WARN_COUNT, 0);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void ranges_become_annotations_of_host_and_device(void **state)
{
    static const struct {
        const char *name;
        int64_t start_ns;
        uint64_t dur_ns;
        bool on_device;
    } expected[] = {
        { "other", 0, 1000, false },   { "step 3", 100, 800, false }, { "matmul", 200, 100, false },
        { "step 3", 1250, 200, true }, { "matmul", 1250, 50, true },
    };
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_ranges_and_launches(&b);
    t = read_build(&b);
    assert_int_equal(t->n_annotations, KR_COUNT(expected));
    for (size_t i = 0; i < KR_COUNT(expected); i++) {
        const struct kr_annotation *a = &t->annotations[i];

        assert_string_equal(kr_timeline_str(t, a->name), expected[i].name);
        assert_int_equal(a->start_ns, expected[i].start_ns);
        assert_int_equal(a->dur_ns, expected[i].dur_ns);
        assert_int_equal(a->on_device, expected[i].on_device);
        assert_int_equal(a->track, expected[i].on_device ? 0 : -1);
    }
    assert_string_equal(kr_timeline_str(t, t->annotations[1].thread), "5");
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_kernel_before_its_launch_is_counted(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_ranges_and_launches(&b);
    kr_build_process(&b, 2, "k", 0);
    kr_build_section(&b, 3);
    kr_build_one_kernel(&b, "k");
    kr_build_chunk(
        &b, KREACH_LAUNCHES,
        KR_FIELDS(KR_V(1), KR_S(0), KR_V(5), KR_V(0), KR_V(211), KR_S(900), KR_V(1), KR_S(8)));
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 800, 5, 8 }, 1);
    t = read_build(&b);
    assert_int_equal(warned(t, KR_WARN_BEFORE_LAUNCH), 1);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void launches_without_any_kernel_are_a_loss(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    kr_build_chunk(
        &b, KREACH_SITES,
        KR_FIELDS(KR_V(1), KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(4096), KR_V(0), KR_V(0)));
    kr_build_chunk(
        &b, KREACH_LAUNCHES,
        KR_FIELDS(KR_V(1), KR_S(0), KR_V(5), KR_V(0), KR_V(211), KR_S(900), KR_V(1), KR_S(8)));
    kr_build_events(&b, &(struct kr_build_work){ 0, 1, 1000, 5, 9 }, 1);
    t = read_build(&b);
    assert_int_equal(warned(t, KR_WARN_NO_KERNELS), 1);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_file_of_several_ranks_is_of_none(void **state)
{
    static const struct {
        const char *ranks[3];
        int64_t rank;
    } cases[] = { { { "0", "0", "0" }, 0 }, { { "2", "3", "2" }, -1 }, { { "0", "1", "0" }, -1 } };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_build b = { 0 };
        struct kr_timeline *t;

        for (uint64_t p = 0; p < 3; p++) {
            kr_build_section(&b, p + 1);
            kr_build_one_kernel(&b, "k");
            kr_build_chunk(&b, KREACH_INFO, KR_FIELDS(KR_T("rank"), KR_T(cases[i].ranks[p])));
            kr_build_events(&b, &(struct kr_build_work){ 0, 0, 1000, 5, 9 }, 1);
            kr_build_end(&b, 1);
        }
        t = read_build(&b);
        assert_int_equal(t->source.rank, cases[i].rank);
        kr_timeline_free(t);
        kr_build_free(&b);
    }
}

static void the_same_records_twice_are_found(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_process(&b, 1, "k", 4);
    kr_build_process(&b, 1, "k", 4);
    t = read_build(&b);
    assert_int_equal(warned(t, KR_WARN_DUPLICATE), 4);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_damaged_description_leaves_the_time_of_its_work(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    size_t sites;

    (void)state;
    kr_build_section(&b, 1);
    kr_build_one_kernel(&b, "k");
    sites = b.file.len - 1;
    kr_build_events(&b, &(struct kr_build_work){ 0, 0, 500, 50, 1 }, 1);
    kr_build_end(&b, 1);
    b.file.data[sites] ^= 1;
    t = read_build(&b);
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->events[0].dur_ns, 50);
    assert_int_equal(t->sites[t->events[0].site].name, 0);
    assert_int_equal(warned(t, KR_WARN_LOST_SITE), 1);
    assert_int_equal(warned(t, KR_WARN_DAMAGED), 1);
    assert_int_equal(warned(t, KR_WARN_TOTALS), 0);
    kr_timeline_free(t);
    kr_build_free(&b);
}

static void a_newer_major_version_is_refused(void **state)
{
    struct kr_err err = { 0 };
    struct kr_build b = { 0 };

    (void)state;
    kr_build_process(&b, 1, "k", 1);
    b.file.len = KREACH_SIGNATURE_BYTES;
    kr_build_chunk(&b, KREACH_HEAD,
                   KR_FIELDS(KR_V(2), KR_V(7), KR_V(1), KR_V(1), KR_V(1), KR_T("")));
    assert_null(kr_import_kreach("new.kreach", b.file.data, b.file.len, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_int_equal(err.offset, KREACH_SIGNATURE_BYTES);
    assert_non_null(strstr(err.msg, "new.kreach"));
    assert_non_null(strstr(err.msg, "format 2.7"));
    kr_build_free(&b);
}

static const struct {
    uint16_t type;
    struct kr_field fields[5];
    const char *says;
} empties[] = {
    { KREACH_INFO, { KR_T("error"), KR_T("CUPTI wants a newer driver") }, "wants a newer driver" },
    { KREACH_GAP, { KR_V(4), KR_S(0), KR_S(0), KR_T("nsys") }, "nsys" },
    { KREACH_GAP, { KR_V(1), KR_S(0), KR_S(0), KR_T("") }, "no device work" },
};

static void a_run_without_device_work_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(empties); i++) {
        struct kr_err err = { 0 };
        struct kr_build b = { 0 };

        kr_build_section(&b, 1);
        kr_build_chunk(&b, empties[i].type, empties[i].fields);
        assert_null(kr_import_kreach("e.kreach", b.file.data, b.file.len, &err));
        assert_int_equal(err.code, KR_EINPUT);
        assert_non_null(strstr(err.msg, empties[i].says));
        kr_build_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_read_with_all_that_is_known_of_it),
        cmocka_unit_test(copies_are_named_as_pytorch_names_them),
        cmocka_unit_test(several_processes_come_out_as_written_on_one_clock),
        cmocka_unit_test(devices_of_different_uuids_stay_apart_even_under_one_number),
        cmocka_unit_test(a_process_without_clock_readings_among_others_is_flagged),
        cmocka_unit_test(a_step_of_the_clock_is_flagged),
        cmocka_unit_test(what_a_process_says_is_missing_is_counted),
        cmocka_unit_test(work_with_impossible_contents_is_counted_not_used),
        cmocka_unit_test(fewer_records_than_were_written_is_a_loss),
        cmocka_unit_test(records_that_could_not_be_written_are_counted_once),
        cmocka_unit_test(a_killed_process_is_said_to_be_incomplete),
        cmocka_unit_test(a_cut_anywhere_keeps_everything_before_it),
        cmocka_unit_test(a_wrong_byte_anywhere_is_an_error_or_is_counted),
        cmocka_unit_test(a_damaged_head_does_not_mix_two_processes),
        cmocka_unit_test(a_process_missing_from_the_file_is_counted),
        cmocka_unit_test(facts_of_the_recorder_come_first_and_last_values_count),
        cmocka_unit_test(graph_work_that_begins_outside_of_what_was_asked_for_is_left_out),
        cmocka_unit_test(step_times_without_profiling_are_read_as_medians),
        cmocka_unit_test(launches_give_lead_times_and_ranges),
        cmocka_unit_test(ranges_become_annotations_of_host_and_device),
        cmocka_unit_test(a_kernel_before_its_launch_is_counted),
        cmocka_unit_test(launches_without_any_kernel_are_a_loss),
        cmocka_unit_test(a_file_of_several_ranks_is_of_none),
        cmocka_unit_test(the_same_records_twice_are_found),
        cmocka_unit_test(a_damaged_description_leaves_the_time_of_its_work),
        cmocka_unit_test(a_newer_major_version_is_refused),
        cmocka_unit_test(a_run_without_device_work_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

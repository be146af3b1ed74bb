/* The .kreach reader: what was written is what is read, from one process or several. */
#include "runs.h"

#include <stdio.h>

#include "build_read.h"
#include "mem.h"

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
    kr_build_begin(&b, 1, "k");
    kr_build_fields(&b, KR_FIELDS(KR_V(1), KR_B(KREACH_MEMCPY), KR_V(0), KR_B(1), KR_B(1), KR_B(3),
                                  KR_V(1 << 20), KR_V(0), KR_V(0), KR_V(0)));
    kr_build_fields(&b, KR_FIELDS(KR_B(KREACH_MEMCPY), KR_V(0), KR_B(10), KR_B(3), KR_B(3),
                                  KR_V(64), KR_V(2), KR_V(5), KR_V(77)));
    kr_build_fields(&b, KR_FIELDS(KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(4096), KR_V(0),
                                  KR_V(0), KR_B(KREACH_GRAPH), KR_V(0), KR_V(5)));
    kr_build_flush(&b, KREACH_SITES);
    for (uint32_t i = 1; i <= 4; i++)
        kr_build_event(&b, i, 1000 * (int64_t)i, 10, i);
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
}

/* One piece of work, in words that do not depend on how a file numbers things. */
struct truth {
    uint64_t process, uuid, stream, start_ns, dur_ns, correlation, name;
};

static int compare_truths(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct truth));
}

enum { PROCESSES = 5, DEVICES = 3, KINDS = 20, CHUNKS = 30, PER_CHUNK = 40 };
#define RAW_NS  INT64_C(50000000000)
#define REAL_NS INT64_C(1800000000000000000)

/* The CUPTI clock of process p is this far from MONOTONIC_RAW. */
static int64_t clock_offset_ns(uint64_t p)
{
    return (int64_t)p * 7000000 + 1000;
}

/* A reading of process p's clocks. */
static void build_clock(struct kr_build *b, uint64_t p, int64_t raw_ns)
{
    kr_build_clock(b, REAL_NS + raw_ns, raw_ns, raw_ns + clock_offset_ns(p));
}

/* A device, as a process numbers it. */
static void build_device(struct kr_build *b, uint64_t number, uint64_t uuid)
{
    kr_build_chunk(b, KREACH_DEVICES,
                   KR_FIELDS(KR_V(number), KR_U(uuid), KR_T("GPU"), KR_V(10), KR_V(1), KR_V(9),
                             KR_V(0), KR_V(0)));
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
        build_device(b, i, 1 + (i + p) % DEVICES);
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
            int64_t raw_ns = RAW_NS + (int64_t)(run_random(random) % 1000000000);
            uint32_t track = run_random(random) % (2 * DEVICES);
            uint32_t site = run_random(random) % KINDS;

            works[i] = (struct kr_build_work){ track, site, raw_ns + clock_offset_ns(p),
                                               run_random(random) % 5000, (uint32_t)n + 1 };
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
    free(truths);
}

static void devices_of_different_uuids_stay_apart_even_under_one_number(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    for (uint64_t p = 0; p < 2; p++) {
        kr_build_section(&b, 10 + p);
        build_device(&b, 0, p + 1);
        kr_build_chunk(&b, KREACH_TRACKS, KR_FIELDS(KR_V(0), KR_V(0), KR_V(1), KR_V(9)));
        kr_build_chunk(&b, KREACH_SITES, KR_FIELDS(KR_V(0), KR_B(KREACH_GRAPH), KR_V(0), KR_V(1)));
        build_clock(&b, p, RAW_NS);
        kr_build_event(&b, 0, RAW_NS, 5, 1);
        kr_build_end(&b, 1);
    }
    t = read_build(&b);
    assert_int_equal(t->n_events, 2);
    assert_int_not_equal(t->tracks[t->events[0].track].device,
                         t->tracks[t->events[1].track].device);
    assert_int_not_equal(t->devices[0].id, t->devices[1].id);
    kr_timeline_free(t);
}

static void facts_of_the_recorder_come_first_and_last_values_count(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_recorder(
        &b, KR_FIELDS(KR_T("recorder"), KR_T("0.1"), KR_T("command"), KR_T("torchrun x")));
    kr_build_begin(&b, 10, "k");
    kr_build_chunk(&b, KREACH_INFO,
                   KR_FIELDS(KR_T("command"), KR_T("worker"), KR_T("driver"), KR_T("1"),
                             KR_T("driver"), KR_T("580"), KR_T("rank"), KR_T("3")));
    kr_build_event(&b, 0, 500, 5, 2);
    kr_build_end(&b, 1);
    t = read_build(&b);
    assert_string_equal(kr_timeline_fact(t, "command"), "torchrun x");
    assert_string_equal(kr_timeline_fact(t, "driver"), "580");
    assert_null(kr_timeline_fact(t, "cupti"));
    assert_int_equal(t->source.rank, 3);
    assert_int_equal(t->source.processes, 1);
    kr_timeline_free(t);
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
            kr_build_begin(&b, p + 1, "k");
            kr_build_chunk(&b, KREACH_INFO, KR_FIELDS(KR_T("rank"), KR_T(cases[i].ranks[p])));
            kr_build_event(&b, 0, 1000, 5, 9);
            kr_build_end(&b, 1);
        }
        t = read_build(&b);
        assert_int_equal(t->source.rank, cases[i].rank);
        kr_timeline_free(t);
    }
}

static void step_times_without_profiling_are_read_as_medians(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_begin(&b, 1, "k");
    kr_build_event(&b, 0, 500, 5, 2);
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
    kr_build_begin(&b, 1, "k");
    kr_build_chunk(&b, KREACH_SITES,
                   KR_FIELDS(KR_V(GRAPH), KR_B(KREACH_KERNEL), KR_V(1), KR_V(8), KR_V(2), KR_V(1),
                             KR_V(256), KR_V(1), KR_V(1), KR_V(32), KR_V(4096), KR_V(2), KR_V(7),
                             KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(64), KR_V(2), KR_V(8)));
    for (size_t i = 0; i < KR_COUNT(works); i++)
        kr_build_event(&b, works[i].site, works[i].start_ns, works[i].dur_ns, (uint32_t)i + 1);
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
}

/* Thread 5: outer "step 3" [100, 900), inner "matmul" [200, 300); thread 6: "other" [0, 1000). */
static void build_ranges_and_launches(struct kr_build *b)
{
    static const int64_t starts_ns[] = { 1250, 1400, 1500, 1600 };

    kr_build_begin(b, 1, "k");
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
    for (uint32_t i = 0; i < KR_COUNT(starts_ns); i++)
        kr_build_event(b, 0, starts_ns[i], 50, i + 1);
    kr_build_chunk(b, KREACH_TOTALS,
                   KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(4), KR_V(KREACH_TOTAL_LAUNCHES),
                             KR_V(4), KR_V(KREACH_TOTAL_RANGES), KR_V(3)));
    kr_build_chunk(b, KREACH_END, KR_FIELDS(KR_V(KREACH_END_EXIT), KR_T("")));
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
}

/* Thread 5 launches a kernel, with id 8. */
static void build_launch(struct kr_build *b, int64_t start_ns)
{
    kr_build_chunk(
        b, KREACH_LAUNCHES,
        KR_FIELDS(KR_V(1), KR_S(0), KR_V(5), KR_V(0), KR_V(211), KR_S(start_ns), KR_V(1), KR_S(8)));
}

static void of_ranges_that_begin_at_once_the_longer_is_outside(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_begin(&b, 1, "k");
    kr_build_chunk(&b, KREACH_NAMES, KR_FIELDS(KR_V(2), KR_T("long"), KR_T("short")));
    kr_build_fields(&b, KR_FIELDS(KR_V(2)));
    kr_build_fields(&b, KR_FIELDS(KR_V(2), KR_V(5), KR_B(0), KR_S(100), KR_V(800)));
    kr_build_fields(&b, KR_FIELDS(KR_V(3), KR_V(5), KR_B(0), KR_S(100), KR_V(100)));
    kr_build_flush(&b, KREACH_RANGES);
    build_launch(&b, 150);
    kr_build_event(&b, 0, 1000, 50, 8);
    t = read_build(&b);
    assert_string_equal(kr_timeline_str(t, t->sites[t->events[0].site].annotation), "short");
    kr_timeline_free(t);
}

static void a_kernel_before_its_launch_is_counted(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_ranges_and_launches(&b);
    kr_build_process(&b, 2, "k", 0);
    kr_build_begin(&b, 3, "k");
    build_launch(&b, 900);
    kr_build_event(&b, 0, 800, 5, 8);
    t = read_build(&b);
    assert_int_equal(warned(t, KR_WARN_BEFORE_LAUNCH), 1);
    kr_timeline_free(t);
}

static void launches_without_any_kernel_are_a_loss(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_begin(&b, 1, "k");
    kr_build_chunk(
        &b, KREACH_SITES,
        KR_FIELDS(KR_V(1), KR_B(KREACH_MEMSET), KR_V(0), KR_B(3), KR_V(4096), KR_V(0), KR_V(0)));
    build_launch(&b, 900);
    kr_build_event(&b, 1, 1000, 5, 9);
    t = read_build(&b);
    assert_int_equal(warned(t, KR_WARN_NO_KERNELS), 1);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_read_with_all_that_is_known_of_it),
        cmocka_unit_test(copies_are_named_as_pytorch_names_them),
        cmocka_unit_test(several_processes_come_out_as_written_on_one_clock),
        cmocka_unit_test(devices_of_different_uuids_stay_apart_even_under_one_number),
        cmocka_unit_test(facts_of_the_recorder_come_first_and_last_values_count),
        cmocka_unit_test(a_file_of_several_ranks_is_of_none),
        cmocka_unit_test(step_times_without_profiling_are_read_as_medians),
        cmocka_unit_test(graph_work_that_begins_outside_of_what_was_asked_for_is_left_out),
        cmocka_unit_test(launches_give_lead_times_and_ranges),
        cmocka_unit_test(ranges_become_annotations_of_host_and_device),
        cmocka_unit_test(of_ranges_that_begin_at_once_the_longer_is_outside),
        cmocka_unit_test(a_kernel_before_its_launch_is_counted),
        cmocka_unit_test(launches_without_any_kernel_are_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

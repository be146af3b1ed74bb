/* The .kreach reader: what is missing, impossible or damaged is said, and the rest is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_read.h"
#include "import_kreach.h"
#include "mem.h"

/* A process under way: its kernel is described and has run once, for 5 ns. */
static void build_begun(struct kr_build *b)
{
    kr_build_begin(b, 1, "k");
    kr_build_event(b, 0, 500, 5, 2);
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
}

static void a_step_of_the_clock_is_flagged(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_begin(&b, 1, "k");
    for (int64_t i = 0; i < 4; i++) {
        const int64_t raw_ns = i * 1000000000;
        const int64_t step_ns = i < 2 ? 0 : 3000000000;

        kr_build_clock(&b, raw_ns, raw_ns, raw_ns + step_ns);
    }
    kr_build_event(&b, 0, 500, 5, 1);
    kr_build_end(&b, 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_CLOCK_STEP, 1);
    kr_timeline_free(t);
}

#define LOST(reason, n) KR_V(reason), KR_V(n), KR_V(1), KR_S(0), KR_S(0), KR_T("")
#define GAP(reason)     KR_V(reason), KR_S(10), KR_S(20), KR_T("nsys")

/* Chunks that say that something is missing, and the one warning each must cause. */
static const struct {
    uint16_t type;
    struct kr_field fields[8];
    enum kr_warn warn;
    uint64_t count;
    bool complete;
} sayings[] = {
    { KREACH_LOST, { LOST(KREACH_LOST_CUPTI, 9) }, KR_WARN_LOST, 9, false },
    { KREACH_LOST, { LOST(KREACH_LOST_ZERO_TIME, 7) }, KR_WARN_ZERO_TIME, 7, false },
    { KREACH_LOST, { LOST(KREACH_LOST_BAD_TIME, 2) }, KR_WARN_NEGATIVE_DUR, 2, false },
    { KREACH_LOST, { LOST(KREACH_LOST_MEMORY_CAP, 5) }, KR_WARN_LOST, 5, false },
    { KREACH_LOST, { LOST(99, 3) }, KR_WARN_LOST, 3, false },
    { KREACH_LOST, { LOST(KREACH_LOST_COUNTER, 0) }, KR_WARN_DROPS_UNKNOWN, 1, false },
    { KREACH_GAP, { GAP(KREACH_GAP_TAKEOVER) }, KR_WARN_GAP, 1, false },
    { KREACH_GAP, { GAP(KREACH_GAP_BUSY) }, KR_WARN_GAP, 1, false },
    { KREACH_GAP, { GAP(KREACH_GAP_MISSED) }, KR_WARN_GAP, 1, false },
    { KREACH_GAP, { GAP(99) }, KR_WARN_GAP, 1, false },
    { KREACH_GAP, { GAP(KREACH_GAP_WINDOW) }, KR_WARN_PAUSED, 1, true },
    { KREACH_GAP, { GAP(KREACH_GAP_CALIBRATE) }, KR_WARN_PAUSED, 1, true },
    { 77, { KR_V(1) }, KR_WARN_UNKNOWN_CHUNK, 1, true },
    { KREACH_LOST, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_TOTALS, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_DEVICES, { KR_V(1 << 20) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_TRACKS, { KR_V(9), KR_V(5000), KR_V(1), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_TRACKS, { KR_V(1000000), KR_V(0), KR_V(1), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_NAMES, { KR_V(4000000000), KR_T("x") }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_SITES, { KR_V(5), KR_B(9), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_EVENTS, { KR_V(0), KR_S(0), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_EVENTS, { KR_V(1), KR_S(0) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_RANGES, { KR_V(UINT64_MAX), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_RANGES, { KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_LAUNCHES, { KR_V(1), KR_S(0) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_LAUNCHES, { KR_V(3), KR_S(INT64_MAX), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
    { KREACH_CALIBRATION, { KR_T("x"), KR_V(1000), KR_V(1) }, KR_WARN_BAD_RECORD, 1, false },
};

static void what_a_process_says_is_missing_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(sayings); i++) {
        const bool timeless =
            sayings[i].warn == KR_WARN_ZERO_TIME || sayings[i].warn == KR_WARN_NEGATIVE_DUR;
        struct kr_build b = { 0 };
        struct kr_timeline *t;

        build_begun(&b);
        kr_build_chunk(&b, sayings[i].type, sayings[i].fields);
        kr_build_end(&b, 1);
        t = read_build(&b);
        assert_only_warned(t, sayings[i].warn, sayings[i].count);
        assert_int_equal(kr_timeline_complete(t), sayings[i].complete);
        assert_int_equal(t->source.drops_known, sayings[i].warn != KR_WARN_DROPS_UNKNOWN);
        assert_int_equal(t->source.drops, sayings[i].warn == KR_WARN_LOST ? sayings[i].count : 0);
        assert_int_equal(t->counts.dropped, timeless ? sayings[i].count : 0);
        kr_timeline_free(t);
    }
}

/* Where they were is unknown then, and idle time is not what it seems. */
static void gaps_with_impossible_times_are_bad_records(void **state)
{
    static const int64_t edges[][2] = { { 20, 10 }, { -5, 10 }, { 10, INT64_MAX } };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(edges); i++) {
        struct kr_build b = { 0 };
        struct kr_timeline *t;

        build_begun(&b);
        kr_build_chunk(
            &b, KREACH_GAP,
            KR_FIELDS(KR_V(KREACH_GAP_WINDOW), KR_S(edges[i][0]), KR_S(edges[i][1]), KR_T("")));
        kr_build_end(&b, 1);
        t = read_build(&b);
        assert_int_equal(t->warnings[KR_WARN_BAD_RECORD].count, 1);
        assert_int_equal(t->warnings[KR_WARN_PAUSED].count, 1);
        assert_false(kr_timeline_complete(t));
        kr_timeline_free(t);
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

        build_begun(&b);
        kr_build_events(&b, &strange_works[i].work, 1);
        kr_build_end(&b, 2);
        t = read_build(&b);
        assert_only_warned(t, strange_works[i].warn, 1);
        assert_int_equal(t->n_events, strange_works[i].kept);
        assert_int_equal(t->counts.dropped, 2 - strange_works[i].kept);
        kr_timeline_free(t);
    }
}

static void fewer_records_than_were_written_is_a_loss(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_begun(&b);
    kr_build_end(&b, 5);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_TOTALS, 4);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
}

/* What could not be written is in the totals, and is a loss of its own. */
static void records_that_could_not_be_written_are_counted_once(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    build_begun(&b);
    kr_build_chunk(&b, KREACH_LOST, KR_FIELDS(LOST(KREACH_LOST_WRITE, 4)));
    kr_build_end(&b, 5);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_LOST, 4);
    assert_int_equal(t->source.drops, 4);
    kr_timeline_free(t);
}

static void a_killed_process_is_said_to_be_incomplete(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_begin(&b, 1, "k");
    kr_build_chunk(&b, KREACH_TOTALS, KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(0)));
    kr_build_event(&b, 0, 500, 5, 2);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_NOT_ENDED, 1);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
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
    kr_build_begin(&b, 1, "first");
    kr_build_event(&b, 0, 500, 5, 1);
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
}

static void a_damaged_description_leaves_the_time_of_its_work(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;
    size_t sites;

    (void)state;
    kr_build_begin(&b, 1, "k");
    sites = b.file.len - 1;
    kr_build_event(&b, 0, 500, 50, 1);
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
}

static void a_process_missing_from_the_file_is_counted(void **state)
{
    struct kr_build b = { 0 };
    struct kr_timeline *t;

    (void)state;
    kr_build_recorder(&b, KR_FIELDS(KR_T("recorder"), KR_T("0.1"), KR_T("sections"), KR_T("3"),
                                    KR_T("command"), KR_T("python3 x.py")));
    kr_build_process(&b, 10, "k", 1);
    t = read_build(&b);
    assert_only_warned(t, KR_WARN_NO_SECTION, 2);
    kr_timeline_free(t);
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
}

/* Why the file that b is was refused; b is freed. */
static struct kr_err refuse_build(struct kr_build *b)
{
    struct kr_err err = { 0 };

    assert_null(kr_import_kreach("t.kreach", b->file.data, b->file.len, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_non_null(strstr(err.msg, "'t.kreach'"));
    kr_build_free(b);
    return err;
}

static void a_newer_major_version_is_refused(void **state)
{
    struct kr_build b = { 0 };
    struct kr_err err;

    (void)state;
    kr_build_process(&b, 1, "k", 1);
    b.file.len = KREACH_SIGNATURE_BYTES;
    kr_build_chunk(&b, KREACH_HEAD,
                   KR_FIELDS(KR_V(2), KR_V(7), KR_V(1), KR_V(1), KR_V(1), KR_T("")));
    err = refuse_build(&b);
    assert_int_equal(err.offset, KREACH_SIGNATURE_BYTES);
    assert_non_null(strstr(err.msg, "format 2.7"));
}

/* All that a process without work says, and what is told of it. */
static const struct {
    uint16_t type;
    struct kr_field fields[5];
    const char *told;
} empties[] = {
    { KREACH_INFO, { KR_T("failed"), KR_T("CUPTI wants a newer driver") }, "wants a newer driver" },
    { KREACH_GAP, { GAP(KREACH_GAP_BUSY) }, "nsys" },
    { KREACH_GAP, { GAP(KREACH_GAP_WINDOW) }, "no device work" },
};

static void a_run_without_device_work_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(empties); i++) {
        struct kr_build b = { 0 };
        struct kr_err err;

        kr_build_section(&b, 1);
        kr_build_chunk(&b, empties[i].type, empties[i].fields);
        err = refuse_build(&b);
        assert_non_null(strstr(err.msg, empties[i].told));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_without_clock_readings_among_others_is_flagged),
        cmocka_unit_test(a_step_of_the_clock_is_flagged),
        cmocka_unit_test(what_a_process_says_is_missing_is_counted),
        cmocka_unit_test(gaps_with_impossible_times_are_bad_records),
        cmocka_unit_test(work_with_impossible_contents_is_counted_not_used),
        cmocka_unit_test(fewer_records_than_were_written_is_a_loss),
        cmocka_unit_test(records_that_could_not_be_written_are_counted_once),
        cmocka_unit_test(a_killed_process_is_said_to_be_incomplete),
        cmocka_unit_test(a_cut_anywhere_keeps_everything_before_it),
        cmocka_unit_test(a_wrong_byte_anywhere_is_an_error_or_is_counted),
        cmocka_unit_test(a_damaged_head_does_not_mix_two_processes),
        cmocka_unit_test(a_damaged_description_leaves_the_time_of_its_work),
        cmocka_unit_test(a_process_missing_from_the_file_is_counted),
        cmocka_unit_test(the_same_records_twice_are_found),
        cmocka_unit_test(a_newer_major_version_is_refused),
        cmocka_unit_test(a_run_without_device_work_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

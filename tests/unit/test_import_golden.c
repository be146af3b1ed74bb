/* Recorded runs: every count and sum as an independent account has them, however they are cut. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import_reader.h"
#include "mem.h"

#include "../timeline_dump.h"

#define TRACES KREACH_SOURCE_DIR "/tests/golden/traces/"

static char *read_file(const char *path, size_t *len)
{
    FILE *in = fopen(path, "rb");
    char *bytes;

    if (!in)
        fail_msg("no %s", path);
    fseek(in, 0, SEEK_END);
    *len = (size_t)ftell(in);
    rewind(in);
    bytes = malloc(*len + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *len, in), *len);
    bytes[*len] = '\0';
    fclose(in);
    return bytes;
}

/* One line of expected.tsv; see oracle.py. */
struct expected {
    char trace[80];
    uint64_t events, n[KR_KIND_COUNT], sum_ns[KR_KIND_COUNT];
    int64_t first_ns, last_ns;
    uint64_t busy_ns, names, with_op, with_lead, lead_ns;
};

static bool read_expected(FILE *in, struct expected *e)
{
    return fscanf(in,
                  "%79s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                  " %" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                  " %" SCNu64 " %" SCNu64,
                  e->trace, &e->events, &e->n[KR_KERNEL], &e->sum_ns[KR_KERNEL], &e->n[KR_MEMCPY],
                  &e->sum_ns[KR_MEMCPY], &e->n[KR_MEMSET], &e->sum_ns[KR_MEMSET], &e->first_ns,
                  &e->last_ns, &e->busy_ns, &e->names, &e->with_op, &e->with_lead,
                  &e->lead_ns) == 15;
}

static uint64_t distinct_names(const struct kr_timeline *t)
{
    bool *seen = calloc(kr_strpool_count(t->strings), sizeof *seen);
    uint64_t n = 0;

    assert_non_null(seen);
    for (size_t i = 0; i < t->n_sites; i++) {
        n += !seen[t->sites[i].name];
        seen[t->sites[i].name] = true;
    }
    free(seen);
    return n;
}

/* The same account of a timeline; these traces have one device. */
static struct expected account(const struct kr_timeline *t)
{
    struct expected sum = { .events = t->counts.events_read, .names = distinct_names(t) };
    int64_t reach_ns = INT64_MIN;

    assert_int_equal(t->n_devices, 1);
    sum.first_ns = t->events[0].start_ns;
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];
        int64_t end_ns = e->start_ns + (int64_t)e->dur_ns;

        sum.n[e->kind]++;
        sum.sum_ns[e->kind] += e->dur_ns;
        if (end_ns > reach_ns) {
            sum.busy_ns += (uint64_t)(end_ns - (e->start_ns > reach_ns ? e->start_ns : reach_ns));
            reach_ns = end_ns;
        }
        sum.with_op += t->sites[e->site].op != 0;
        if (e->lead_ns != KR_LEAD_UNKNOWN) {
            sum.with_lead++;
            sum.lead_ns += e->lead_ns;
        }
    }
    sum.last_ns = reach_ns;
    return sum;
}

static void every_count_and_sum_is_that_of_the_oracle(void **state)
{
    FILE *in = fopen(TRACES "expected.tsv", "r");
    struct expected want = { 0 };
    size_t n = 0;

    (void)state;
    assert_non_null(in);
    assert_int_equal(fscanf(in, "%*[^\n]\n"), 0);
    for (; read_expected(in, &want); n++) {
        char path[512];
        struct kr_err err = { 0 };
        struct kr_timeline *t;
        struct expected got;

        snprintf(path, sizeof path, "%s%s", TRACES, want.trace);
        t = kr_import_file(path, NULL, &err);
        if (!t)
            fail_msg("%s", err.msg);
        got = account(t);
        memcpy(got.trace, want.trace, sizeof got.trace);
        if (memcmp(&got, &want, sizeof got) != 0)
            fail_msg("%s differs: %" PRIu64 " events, %" PRIu64 " ns busy, %" PRIu64 " with op",
                     want.trace, got.events, got.busy_ns, got.with_op);
        assert_true(kr_timeline_complete(t));
        assert_string_equal(kr_timeline_str(t, t->devices[0].name), "NVIDIA H200");
        assert_int_equal(t->devices[0].sm_count, 132);
        assert_string_equal(t->source.compression, "gzip");
        kr_timeline_free(t);
    }
    fclose(in);
    assert_int_equal(n, 12);
}

static char *dump(const char *data, size_t len, unsigned threads,
                  const struct kr_import_tuning *tuning)
{
    const struct kr_import_options opt = { .threads = threads };
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_mem_tuned("t", data, len, &opt, tuning, &err);
    char *text = dump_timeline(t, &err);

    kr_timeline_free(t);
    return text;
}

/* The inflated text of a trace. */
static char *inflate_trace(const char *path, size_t *len)
{
    struct kr_err err = { 0 };
    struct kr_input *in = kr_input_open(path, &err);
    char *text = malloc(32 << 20);
    size_t got = 1;

    assert_non_null(in);
    assert_non_null(text);
    for (*len = 0; got; *len += got)
        assert_true(kr_input_read(in, text + *len, (32 << 20) - *len, &got, &err));
    kr_input_close(in);
    return text;
}

static void the_answer_depends_on_neither_threads_nor_cuts(void **state)
{
    static const struct {
        unsigned threads;
        struct kr_import_tuning tuning;
    } ways[] = {
        { 1, { 1 << 20, 1 << 20, { 1 << 30, 1000 } } },
        { 2, { 100003, 1 << 20, { 1 << 30, 1000 } } },
        { 8, { 4099, 1 << 20, { 1 << 30, 1000 } } },
    };
    static const char *const traces[] = { "dlrm_inf.json.gz", "llama.json.gz",
                                          "resnet50_train.json.gz" };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(traces); i++) {
        char path[512];
        size_t len, packed_len;
        char *text, *packed, *want;

        snprintf(path, sizeof path, "%s%s", TRACES, traces[i]);
        text = inflate_trace(path, &len);
        packed = read_file(path, &packed_len);
        want = dump(text, len, 1, &KR_IMPORT_TUNING);
        for (size_t k = 0; k < KR_COUNT(ways); k++) {
            char *mapped = dump(text, len, ways[k].threads, &ways[k].tuning);
            struct kr_import_tuning small = ways[k].tuning;
            char *streamed;

            small.block_bytes = 4099;
            streamed = dump(packed, packed_len, ways[k].threads, &small);
            if (strcmp(want, mapped) != 0 || strcmp(want, streamed) != 0)
                fail_msg("%s, %u threads", traces[i], ways[k].threads);
            free(mapped);
            free(streamed);
        }
        free(want);
        free(packed);
        free(text);
    }
}

static void a_truncated_gzip_gives_what_came_before(void **state)
{
    size_t len;
    char *packed = read_file(TRACES "llama.json.gz", &len);
    size_t last = 0;

    (void)state;
    for (size_t tenths = 3; tenths < 10; tenths++) {
        struct kr_err err = { 0 };
        struct kr_timeline *t = kr_import_mem("t.gz", packed, len * tenths / 10, NULL, &err);

        if (!t) { /* the CPU's events come first */
            assert_int_equal(err.code, KR_EINPUT);
            assert_non_null(strstr(err.msg, "the input ends early"));
            continue;
        }
        assert_true(t->source.truncated);
        assert_false(kr_timeline_complete(t));
        assert_true(t->n_events > last);
        last = t->n_events;
        kr_timeline_free(t);
    }
    assert_true(last > 500);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_and_sum_is_that_of_the_oracle),
        cmocka_unit_test(the_answer_depends_on_neither_threads_nor_cuts),
        cmocka_unit_test(a_truncated_gzip_gives_what_came_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

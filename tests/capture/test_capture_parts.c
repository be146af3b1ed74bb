/* The parts of libkreach.so on their own: pool, tables, checksum, number coding, step detection. */
#include "cap_crc.h"
#include "cap_cupti.h"
#include "cap_mem.h"
#include "cap_nvtx.h"
#include "cap_pool.h"
#include "cap_recorder.h"
#include "cap_steps.h"
#include "cap_tables.h"
#include "kreach_read.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* RFC 3720, appendix B.4, and the check value of the CRC catalogue. */
static void checksums_agree_with_published_ones(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(cap_crc32c(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(cap_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(cap_crc32c(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(cap_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(cap_crc32c(cap_crc32c(0, bytes, 11), bytes + 11, 21), 0x46dd794e);
}

static void numbers_take_the_bytes_that_leb128_gives_them(void **state)
{
    static const struct {
        uint64_t value;
        size_t len;
        uint8_t bytes[10];
    } cases[] = {
        { 0, 1, { 0 } },
        { 127, 1, { 0x7f } },
        { 128, 2, { 0x80, 0x01 } },
        { 624485, 3, { 0xe5, 0x8e, 0x26 } },
        { UINT64_MAX, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
    };
    static const struct {
        int64_t value;
        uint64_t code;
    } signs[] = {
        { 0, 0 }, { -1, 1 }, { 1, 2 }, { INT64_MAX, UINT64_MAX - 1 }, { INT64_MIN, UINT64_MAX }
    };

    (void)state;
    for (size_t i = 0; i < CAP_COUNT(cases); i++) {
        uint8_t out[CAP_VARINT_MAX_BYTES];
        assert_int_equal(cap_varint(out, cases[i].value) - out, cases[i].len);
        assert_memory_equal(out, cases[i].bytes, cases[i].len);
    }
    for (size_t i = 0; i < CAP_COUNT(signs); i++)
        assert_true(cap_zigzag(signs[i].value) == signs[i].code);
}

#define POOL_THREADS 16
#define POOL_ROUNDS  (SANITIZED ? 2000 : 20000)

static struct cap_pool pool;
static atomic_int working;
static atomic_int wrong;

/* As CUPTI does: takes a buffer, fills it, hands it back. No two threads may hold the same. */
static void *use_pool(void *arg)
{
    const uint8_t mine = (uint8_t)(1 + (uintptr_t)arg);

    for (int i = 0; i < POOL_ROUNDS; i++) {
        uint8_t *buffer = cap_pool_take(&pool);
        if (!buffer) {
            sched_yield();
            continue;
        }
        for (size_t at = 0; at < 4096; at += 64) {
            if (buffer[at] != 0)
                atomic_fetch_add(&wrong, 1);
            buffer[at] = mine;
        }
        for (size_t at = 0; at < 4096; at += 64) {
            if (buffer[at] != mine)
                atomic_fetch_add(&wrong, 1);
        }
        cap_pool_return(&pool, cap_pool_index(&pool, buffer), 64);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void no_buffer_is_ever_held_twice(void **state)
{
    pthread_t threads[POOL_THREADS];
    uint64_t collected = 0;
    bool last = false;

    (void)state;
    assert_true(cap_pool_open(&pool, 4096, 64 * 4096, 8));
    atomic_store(&working, POOL_THREADS);
    for (uintptr_t i = 0; i < POOL_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_pool, (void *)i), 0);
    while (!last) {
        last = atomic_load(&working) == 0;
        for (uint32_t at = cap_pool_collect(&pool); at != CAP_POOL_NONE; collected++) {
            const uint32_t next = atomic_load(&pool.buffers[at].next);
            assert_int_equal(pool.buffers[at].valid_bytes, 64);
            cap_pool_recycle(&pool, at);
            at = next;
        }
    }
    for (int i = 0; i < POOL_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(collected, atomic_load(&pool.requests));
    assert_int_equal(cap_pool_outstanding(&pool), 0);
    assert_true(atomic_load(&pool.made) <= 64);
}

static void buffers_come_back_in_the_order_of_return(void **state)
{
    struct cap_pool p;
    uint8_t *taken[5];

    (void)state;
    assert_true(cap_pool_open(&p, 4096, 16 * 4096, 5));
    for (int i = 0; i < 5; i++)
        taken[i] = cap_pool_take(&p);
    for (int i = 0; i < 5; i++)
        assert_true(cap_pool_return(&p, cap_pool_index(&p, taken[i]), 100 + (size_t)i));
    uint32_t at = cap_pool_collect(&p);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(p.buffers[at].valid_bytes, 100 + i);
        at = atomic_load(&p.buffers[at].next);
    }
    assert_int_equal(at, CAP_POOL_NONE);
    assert_int_equal(cap_pool_index(&p, taken[0] + 8), CAP_POOL_NONE);
    assert_int_equal(cap_pool_index(&p, (uint8_t *)&p), CAP_POOL_NONE);
}

static void take(struct cap_pool *p, int n)
{
    for (int i = 0; i < n; i++)
        assert_non_null(cap_pool_take(p));
}

/* Making one takes a millisecond, on a thread of the program's when none is ready. */
static void a_pool_that_ran_out_keeps_more_buffers_ready(void **state)
{
    struct cap_pool p;

    (void)state;
    assert_true(cap_pool_open(&p, 4096, 64 * 4096, 4));
    assert_false(cap_pool_is_low(&p));
    take(&p, 4);
    assert_true(cap_pool_is_low(&p));
    cap_pool_refill(&p);
    assert_int_equal(atomic_load(&p.n_free), 4); /* there were enough */
    take(&p, 6);
    cap_pool_refill(&p);
    assert_int_equal(atomic_load(&p.n_free), 6);
    assert_false(cap_pool_is_low(&p));
    take(&p, 20);
    cap_pool_refill(&p);
    assert_int_equal(atomic_load(&p.n_free), 8); /* an eighth of the limit */
}

/* Page faults of the program's thread would be part of its launches. */
static void buffers_that_are_ready_have_their_memory(void **state)
{
    enum { BYTES = 64 * 4096 };
    unsigned char resident[BYTES / 4096];
    struct cap_pool p;

    (void)state;
    assert_true(cap_pool_open(&p, BYTES, 8 * BYTES, 3));
    for (int i = 0; i < 3; i++) {
        uint8_t *buffer = cap_pool_take(&p);
        assert_non_null(buffer);
        assert_int_equal(mincore(buffer, BYTES, resident), 0);
        for (size_t page = 0; page < sizeof resident; page++)
            assert_int_equal(resident[page] & 1, 1);
    }
    assert_int_equal(atomic_load(&p.requests_slow), 0);
    assert_non_null(cap_pool_take(&p));
    assert_int_equal(atomic_load(&p.requests_slow), 1);
}

static void a_full_table_forgets_and_numbers_on(void **state)
{
    struct cap_table t;
    bool is_new = false;

    (void)state;
    cap_table_init(&t, 16, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t key[4] = { i, i * 7, 0, i };
        assert_int_equal(cap_table_id(&t, key, &is_new), i);
        assert_true(is_new);
    }
    const uint32_t first[4] = { 0 };
    /* The table is full: the next look empties it, and the old key gets a new id. */
    assert_int_equal(cap_table_id(&t, first, &is_new), 1000);
    assert_true(is_new);
    assert_int_equal(cap_table_id(&t, first, &is_new), 1000);
    assert_false(is_new);
    cap_table_free(&t);
}

/* What followed a key before is only a guess. Key 0 is all zeros, as an empty slot is. */
static void an_id_does_not_depend_on_what_was_asked_before(void **state)
{
    struct cap_table t;
    bool is_new = false;
    uint32_t ids[3000];
    uint32_t at = 1;

    (void)state;
    cap_table_init(&t, 16, 3000);
    for (uint32_t i = 3000; i-- > 0;) {
        const uint32_t key[4] = { i, i * 7, 0, i };
        ids[i] = cap_table_id(&t, key, &is_new);
        assert_true(is_new);
        assert_int_equal(ids[i], 2999 - i);
    }
    t.limit++;
    for (uint32_t i = 0; i < 30000; i++) {
        at = i % 3000 < 1500 ? at * 1103515245 + 12345 : at + 65536; /* at random, then in order */
        const uint32_t k = at >> 16;
        const uint32_t key[4] = { k % 3000, k % 3000 * 7, 0, k % 3000 };
        assert_int_equal(cap_table_id(&t, key, &is_new), ids[k % 3000]);
        assert_false(is_new);
    }
    cap_table_free(&t);
}

static void names_are_kept_once_and_compared_again_each_batch(void **state)
{
    struct cap_names n;
    struct cap_bytes out = { 0 };
    char text[32] = "volta_sgemm";

    (void)state;
    assert_true(cap_names_init(&n));
    assert_int_equal(cap_names_id(&n, NULL, &out), 0);
    assert_int_equal(cap_names_id(&n, "", &out), 0);
    cap_names_batch(&n);
    assert_int_equal(cap_names_id(&n, text, &out), 1);
    assert_int_equal(cap_names_id(&n, text, &out), 1);
    assert_int_equal(cap_names_id_of(&n, "volta_sgemm", 11, &out), 1);
    assert_int_equal(out.len, 12);
    strcpy(text, "other");
    cap_names_batch(&n);
    assert_int_equal(cap_names_id(&n, text, &out), 2);
    strcpy(text, "volta_sgemm");
    cap_names_batch(&n);
    assert_int_equal(cap_names_id(&n, text, &out), 1);
    assert_int_equal(out.len, 12 + 6);
    cap_bytes_free(&out);
    cap_names_free(&n);
}

/* Row 65. */
static void names_of_any_number_and_length_are_kept_apart(void **state)
{
    static char longest[2 * CAP_NAME_LIMIT_BYTES];
    struct cap_names n;
    struct cap_bytes out = { 0 };
    const uint32_t many = (1u << 18) + 1000;
    char text[32];

    (void)state;
    assert_true(cap_names_init(&n));
    for (uint32_t i = 1; i <= many; i++) {
        out.len = 0;
        const int len = snprintf(text, sizeof text, "kernel_%u", i);
        cap_names_batch(&n);
        assert_int_equal(cap_names_id(&n, text, &out), i);
        assert_int_equal(out.len, len + 1);
    }
    out.len = 0;
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(cap_names_id(&n, longest, &out), many + 1);
    assert_true(out.len < CAP_NAME_LIMIT_BYTES + CAP_VARINT_MAX_BYTES);
    assert_int_equal(cap_names_id_of(&n, longest, CAP_NAME_LIMIT_BYTES, &out), many + 1);
    assert_int_equal(cap_names_id_of(&n, longest, sizeof longest - 1, &out), many + 1);
    cap_bytes_free(&out);
    cap_names_free(&n);
}

/* A model: `layers` equal layers of 5 kernels between a head and a tail, `us` per kernel. */
static void add_step(struct cap_steps *s, unsigned layers, int64_t *now_ns, int64_t kernel_ns)
{
    uint32_t sites[4096];
    unsigned n = 0;

    sites[n++] = 100;
    sites[n++] = 101;
    for (unsigned i = 0; i < layers * 5; i++)
        sites[n++] = i % 5;
    sites[n++] = 102;
    for (unsigned i = 0; i < n; i++) {
        cap_steps_add(s, 3, sites[i], *now_ns);
        *now_ns += kernel_ns;
    }
}

static struct cupti_kernel kernels[100];

static int next_kernel(uint8_t *buffer, size_t valid, void **record)
{
    struct cupti_kernel *const next = *record ? (struct cupti_kernel *)*record + 1 : kernels;

    (void)buffer;
    if ((size_t)(next - kernels) * sizeof *next >= valid)
        return CUPTI_E_MAX_LIMIT_REACHED;
    *record = next;
    return CUPTI_OK;
}

/* Of a run that is over, or of a user who may not write there: nothing gathers for ever. */
static void a_recorder_without_a_file_does_not_grow(void **state)
{
    static struct cap_recorder r;
    static const struct cap_opts opts = { .out = "/nonexistent/folder", .run_id = "0" };
    const struct cap_range range = { .name = "r", .name_len = 1, .dur_ns = 1 };
    const struct cap_clock_reading clock = { .realtime_ns = 1 };

    (void)state;
    assert_true(cap_recorder_open(&r, &opts));
    for (int flush = 0; flush < 100; flush++) {
        for (int i = 0; i < 20000; i++)
            cap_recorder_range(&r, &range);
        cap_recorder_gap(&r, KREACH_GAP_WINDOW, 1, 2, "");
        cap_recorder_lost(&r, KREACH_LOST_CUPTI, 1, 0, "");
        cap_recorder_clock(&r, &clock);
        cap_recorder_flush(&r, true);
    }
    assert_true(r.dead);
    assert_true(r.ranges.cap <= 1u << 20);
    assert_int_equal(r.ranges.len + r.gaps.len + r.losses.len + r.clocks.len, 0);
    assert_false(cap_recorder_has_news(&r));
    cap_recorder_close(&r);
}

/* Readers take no chunk of more than 4 MiB. */
/* What a program prints must not come into a recording, though it closed its standard streams. */
static void a_file_never_has_the_number_of_a_standard_stream(void **state)
{
    static struct cap_sink sink;
    int status = 0;

    (void)state;
    snprintf(sink.path, sizeof sink.path, "/tmp/kreach-sink-%d", (int)getpid());
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit few = { 20, 20 };
        setrlimit(RLIMIT_NOFILE, &few);
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        const bool opened = cap_sink_open(&sink, false);
        _exit(opened && sink.fd > STDERR_FILENO ? 0 : 1);
    }
    waitpid(child, &status, 0);
    unlink(sink.path);
    assert_int_equal(status, 0);
}

static void names_of_many_kernels_fit_in_their_chunks(void **state)
{
    static struct cap_recorder r;
    struct cap_opts opts = { .run_id = "0" };
    static char names[100][CAP_NAME_LIMIT_BYTES];
    const struct cap_cupti cupti = { .next_record = next_kernel };
    struct read_file *f = malloc(sizeof *f);
    char folder[] = "/tmp/kreach-names-XXXXXX";
    char command[100];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(opts.out, sizeof opts.out, "%s", folder);
    assert_true(cap_recorder_open(&r, &opts));
    for (int i = 0; i < 100; i++) {
        memset(names[i], 'a' + i % 26, sizeof names[i] - 1 - (size_t)i);
        kernels[i] = (struct cupti_kernel){
            .kind = CUPTI_KIND_CONCURRENT_KERNEL, .start = 1, .end = 2, .name = names[i]
        };
    }
    cap_recorder_buffer(&r, &cupti, (uint8_t *)kernels, sizeof kernels, KREACH_LOST_ZERO_TIME);
    cap_recorder_end(&r, KREACH_END_EXIT, "");
    assert_true(kreach_read(r.sink.path, f));
    assert_true(f->ok);
    assert_int_equal(f->kernels, 100);
    assert_int_equal(f->n_lost, 0);
    free(f);
    cap_recorder_close(&r);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void (*nvtx_core2[16])(void);
static void (**nvtx_table[16])(void);

static int nvtx_module(int module, void (****table)(void), unsigned *last_id)
{
    *table = nvtx_table;
    *last_id = 15;
    return module == 5;
}

static const void *nvtx_export_table(uint32_t id)
{
    static const struct {
        size_t struct_bytes;
        int (*module)(int, void (****)(void), unsigned *);
    } callbacks = { sizeof callbacks, nvtx_module };

    return id == 1 ? &callbacks : NULL;
}

static long resident_pages(void)
{
    long size = 0;
    long resident = 0;
    FILE *in = fopen("/proc/self/statm", "r");

    assert_non_null(in);
    assert_int_equal(fscanf(in, "%ld %ld", &size, &resident), 2);
    fclose(in);
    return resident;
}

/* Compilers register a string for each kernel; they are kept, and 100,000 are no 400 MB. */
static void registered_strings_take_their_own_length_of_memory(void **state)
{
    char text[32];

    (void)state;
    for (int i = 0; i < 16; i++)
        nvtx_table[i] = &nvtx_core2[i];
    assert_true(cap_nvtx_install(nvtx_export_table));
    void *(*const register_string)(void *, const char *) =
        (void *(*)(void *, const char *))nvtx_core2[10];
    const long before = resident_pages();
    const char *const first = register_string(NULL, "first");

    for (int i = 0; i < 100000; i++) {
        snprintf(text, sizeof text, "kernel %d", i);
        const char *const kept = register_string(NULL, text);
        assert_string_equal(kept, text);
    }
    assert_string_equal(first, "first");
    assert_true(resident_pages() - before < 2048); /* 8 MiB */
}

static void steps_are_found_and_layers_are_not_taken_for_them(void **state)
{
    struct cap_steps s = { 0 };
    int64_t now_ns = 1000;
    uint32_t period = 0;

    (void)state;
    assert_true(cap_steps_open(&s));
    assert_int_equal(cap_steps_repeated(&s, &period), 0);
    for (uint32_t i = 0; i < 500; i++) /* a warm-up without repetition */
        cap_steps_add(&s, 3, 1000 + i, now_ns += 1000000);
    assert_int_equal(cap_steps_repeated(&s, &period), 0);
    /* 32 layers of 10 us kernels: a step takes 1.63 ms, so 50 steps last no second. */
    for (int i = 0; i < 50; i++)
        add_step(&s, 32, &now_ns, 10000);
    assert_int_equal(cap_steps_repeated(&s, &period), 0);
    for (int i = 0; i < 650; i++)
        add_step(&s, 32, &now_ns, 10000);
    const uint64_t repeated = cap_steps_repeated(&s, &period);
    assert_int_equal(period, 163);
    assert_true(repeated >= 699 && repeated <= 700);
    /* Another kernel ends the repetition. */
    cap_steps_add(&s, 3, 7777, now_ns);
    assert_int_equal(cap_steps_repeated(&s, &period), 0);
    cap_steps_close(&s);
}

static void steps_are_counted_beyond_the_kernels_that_are_kept(void **state)
{
    struct cap_steps s = { 0 };
    int64_t now_ns = 1000;
    uint32_t period = 0;

    (void)state;
    assert_true(cap_steps_open(&s));
    for (int i = 1; i <= 200; i++) { /* 320,600 kernels */
        add_step(&s, 320, &now_ns, 100000);
        if (i == 10)
            assert_true(cap_steps_repeated(&s, &period) >= 9);
    }
    const uint64_t repeated = cap_steps_repeated(&s, &period);
    assert_int_equal(period, 1603);
    assert_true(repeated >= 199 && repeated <= 200);
    cap_steps_close(&s);
}

/* Another stream gets in between somewhere else in each step, and was the first one. */
static void steps_are_those_of_the_busiest_stream(void **state)
{
    struct cap_steps s = { 0 };
    int64_t now_ns = 1000;
    uint32_t period = 0;

    (void)state;
    assert_true(cap_steps_open(&s));
    for (uint32_t i = 0; i < 50; i++)
        cap_steps_add(&s, 1, 2000 + i, now_ns);
    for (uint32_t i = 0; i < 100; i++) {
        for (uint32_t k = 0; k < 11; k++) {
            cap_steps_add(&s, 2, k, now_ns += 2000000);
            if (k == i % 7)
                cap_steps_add(&s, 1, 2000, now_ns);
            cap_steps_add(&s, CAP_STEPS_TRACKS + k, k, now_ns);
        }
    }
    const uint64_t repeated = cap_steps_repeated(&s, &period);
    assert_int_equal(period, 11);
    assert_true(repeated >= 85);
    cap_steps_close(&s);
}

static void every_result_of_cupti_has_words(void **state)
{
    static const int results[] = {
        7, 8, 12, 14, 15, 21, 27, 31, 33, 35, 39, 40, 41, 42, 43, 44, 45
    };
    char number[16];

    (void)state;
    for (size_t i = 0; i < CAP_COUNT(results); i++) {
        snprintf(number, sizeof number, "result %d", results[i]);
        assert_non_null(strstr(cap_cupti_explain(results[i]).text, number));
        assert_true(strlen(cap_cupti_explain(results[i]).text) > 25);
    }
    assert_non_null(strstr(cap_cupti_explain(998).text, "unknown"));
}

/*
 * Row 41. Numbers of cupti_runtime_cbid.h and cupti_driver_cbid.h, which CUPTI never changes; the
 * runtime has domain 0 here, the driver 1.
 */
static void launch_calls_of_every_interface_are_known(void **state)
{
    static const struct {
        uint8_t domain;
        uint16_t id;
        bool launches;
    } calls[] = {
        { 0, 13, true },   /* cudaLaunch_v3020 */
        { 0, 211, true },  /* cudaLaunchKernel_v7000 */
        { 0, 214, true },  /* cudaLaunchKernel_ptsz_v7000 */
        { 0, 311, true },  /* cudaGraphLaunch_v10000 */
        { 0, 312, true },  /* cudaGraphLaunch_ptsz_v10000 */
        { 0, 269, true },  /* cudaLaunchCooperativeKernel_v9000 */
        { 0, 430, true },  /* cudaLaunchKernelExC_v11060 */
        { 0, 284, false }, /* cudaLaunchHostFunc_v10000 */
        { 0, 31, false },  /* cudaMemcpy_v3020 */
        { 0, 41, false },  /* cudaMemcpyAsync_v3020 */
        { 0, 165, false }, /* cudaDeviceSynchronize_v3020 */
        { 1, 115, true },  /* cuLaunch */
        { 1, 307, true },  /* cuLaunchKernel */
        { 1, 442, true },  /* cuLaunchKernel_ptsz */
        { 1, 514, true },  /* cuGraphLaunch */
        { 1, 515, true },  /* cuGraphLaunch_ptsz */
        { 1, 652, true },  /* cuLaunchKernelEx */
        { 1, 211, false }, { 1, 17, false }, { 0, 307, false },
    };

    (void)state;
    for (size_t i = 0; i < CAP_COUNT(calls); i++)
        assert_int_equal(cap_cupti_is_launch(calls[i].domain, calls[i].id), calls[i].launches);
}

static char scratch[] = "/tmp/kreach-parts-XXXXXX";

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* A new folder in the scratch folder. */
static void make_folder(char *path, size_t room)
{
    snprintf(path, room, "%s/XXXXXX", scratch);
    assert_non_null(mkdtemp(path));
}

static void make(const char *format, const char *folder)
{
    char command[1024];

    snprintf(command, sizeof command, format, folder, folder, folder);
    assert_int_equal(system(command), 0);
}

/* Row 17: in a child each, since a library stays mapped. */
static const struct {
    const char *name, *layout, *map; /* map: a library of the program, relative to the folder */
    const char *cuda_home;
    int driver;
    const char *expected; /* the end of the path; NULL = none */
} searches[] = {
    { "beside the CUDA runtime of a wheel",
      "mkdir -p %s/nvidia/cuda_runtime/lib %s/nvidia/cuda_cupti/lib",
      "nvidia/cuda_runtime/lib/libcudart.so.11.0", "nvidia/cuda_cupti/lib", 11080,
      "/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.11.8" },
    { "in the wheel of CUDA 13, beside torch", "mkdir -p %s/torch/lib %s/nvidia/cu13/lib",
      "torch/lib/libtorch_cuda.so", "nvidia/cu13/lib", 13000, "/nvidia/cu13/lib/libcupti.so.11.8" },
    { "in the wheel of CUDA 12, beside torch", "mkdir -p %s/torch/lib %s/nvidia/cuda_cupti/lib",
      "torch/lib/libtorch_cpu.so", "nvidia/cuda_cupti/lib", 12040,
      "/nvidia/cuda_cupti/lib/libcupti.so.11.8" },
    { "the one that the program has already, before all others",
      "mkdir -p %s/mine %s/home/lib64 && cp '" FAKE_LIB
      "/libcupti.so.13' %s/home/lib64/libcupti.so.11.8",
      "mine/libcupti.so.11.8", "mine", 11080, "/mine/libcupti.so.11.8" },
    { "in the toolkit that CUDA_HOME names", "mkdir -p %s/home/extras/CUPTI/lib64 %s/x", NULL,
      "home/extras/CUPTI/lib64", 11080, "/home/extras/CUPTI/lib64/libcupti.so.11.8" },
};

static void cupti_is_found_where_the_program_has_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < CAP_COUNT(searches); i++) {
        char folder[64];
        char text[1200];

        make_folder(folder, sizeof folder);
        make(searches[i].layout, folder);
        snprintf(text, sizeof text, "cp '" FAKE_LIB "/libcupti.so.13' %s/%s/libcupti.so.11.8",
                 folder, searches[i].cuda_home);
        assert_int_equal(system(text), 0);
        const pid_t child = fork();
        if (child == 0) {
            struct cap_cupti c;
            char why[512] = "";
            if (searches[i].map) {
                snprintf(text, sizeof text, "cp -n '" FAKE_LIB "/libcuda.so.1' %s/%s", folder,
                         searches[i].map);
                if (system(text) != 0)
                    _exit(2);
                snprintf(text, sizeof text, "%s/%s", folder, searches[i].map);
                if (!dlopen(text, RTLD_NOW))
                    _exit(3);
            }
            snprintf(text, sizeof text, "%s/home", folder);
            setenv("CUDA_HOME", text, 1);
            if (!cap_cupti_open(&c, searches[i].driver, why, sizeof why)) {
                fprintf(stderr, "%s: %s\n", searches[i].name, why);
                _exit(4);
            }
            const size_t len = strlen(c.path);
            const size_t want = strlen(searches[i].expected);
            _exit(len > want && strcmp(c.path + len - want, searches[i].expected) == 0 ? 0 : 5);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0)
            print_error("%s: %x\n", searches[i].name, (unsigned)status);
        assert_int_equal(status, 0);
    }
}

/* Row 15: a CUPTI newer than the driver is not even tried. */
static void without_any_cupti_the_reason_says_what_to_install(void **state)
{
    struct cap_cupti c;
    char why[512] = "";

    (void)state;
    setenv("KREACH_CUPTI", "/nonexistent/libcupti.so", 1);
    assert_false(cap_cupti_open(&c, 13000, why, sizeof why));
    assert_non_null(strstr(why, "KREACH_CUPTI"));
    unsetenv("KREACH_CUPTI");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    assert_false(cap_cupti_open(&c, 10020, why, sizeof why));
    assert_non_null(strstr(why, "driver version 10.2"));
}

/* Row 15: it would answer every call with result 15. */
static void a_cupti_newer_than_the_driver_is_left_alone(void **state)
{
    char folder[64];
    char why[512] = "";
    struct cap_cupti c;

    (void)state;
    make_folder(folder, sizeof folder);
    make("mkdir -p %s/lib64 && cp '" FAKE_LIB "/libcupti.so.13' %s/lib64", folder);
    setenv("CUDA_HOME", folder, 1);
    assert_false(cap_cupti_open(&c, 12080, why, sizeof why));
    assert_non_null(strstr(why, "driver version 12.8"));
    assert_true(cap_cupti_open(&c, 13000, why, sizeof why));
    unsetenv("CUDA_HOME");
}

/* Row 62: the preload is inherited by every child of a shell; none may break. */
static void programs_that_have_nothing_to_do_with_cuda_run_as_ever(void **state)
{
    static const char *const commands[] = {
        "sh -c 'exit 0'",
        "env -i /bin/sh -c 'exit 0'",
        "env sh -c 'nohup true; timeout 5 true; nice true; xargs true </dev/null'",
        "test \"$(sh -c 'echo $CUDA_INJECTION64_PATH')\" = '" LIBKREACH "'",
        "test \"$(CUDA_INJECTION64_PATH=/other sh -c 'echo $CUDA_INJECTION64_PATH')\" = /other",
        "test -z \"$(env -i KREACH_DISABLE=1 LD_PRELOAD='" LIBKREACH
        "' sh -c 'echo $CUDA_INJECTION64_PATH')\"",
        "test -z \"$(sh -c 'echo $NVTX_INJECTION64_PATH')\"",
        "test -n \"$(KREACH_OPTIONS=nvtx sh -c 'echo $NVTX_INJECTION64_PATH')\"",
        "sh -c 'exec nonexistent-program' 2>/dev/null; test $? = 127",
        /* Debian links it statically. */
        "test \"$(/sbin/ldconfig --version 2>&1 | head -c 8)\" = ldconfig",
        /* It is setuid root, so that the loader has to refuse the preload without a word. */
        ("as=; test $(id -u) != 0 || as='setpriv --reuid 65534 --clear-groups'; "
         "test \"$($as su --version 2>&1 | head -c 7)\" = 'su from'"),
    };

    (void)state;
    if (SANITIZED) /* programs without the sanitizer's run-time cannot load the library */
        skip();
    setenv("LD_PRELOAD", LIBKREACH, 1);
    for (size_t i = 0; i < CAP_COUNT(commands); i++) {
        const int status = system(commands[i]);
        if (status != 0)
            print_error("%s: %x\n", commands[i], (unsigned)status);
        assert_int_equal(status, 0);
    }
    unsetenv("LD_PRELOAD");
}

static void the_library_needs_nothing_but_libc(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    assert_int_equal(system("test \"$(readelf -d '" LIBKREACH "' | grep -c NEEDED)\" = 1 && "
                            "readelf -d '" LIBKREACH "' | grep -q 'NEEDED.*libc.so.6'"),
                     0);
    /* Nothing newer than glibc 2.28: Debian 10, Ubuntu 20.04, RHEL 8. */
    assert_int_equal(system("objdump -T '" LIBKREACH "' | grep -o 'GLIBC_2[.][0-9]*' | sort -u | "
                            "awk -F. '$2 > 28 { bad = 1 } END { exit bad }'"),
                     0);
}

/* Any other symbol could stand in front of one of the program's. */
static void the_library_shows_only_what_it_stands_in_front_of(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    assert_int_equal(system("nm -D --defined-only '" LIBKREACH "' | grep -qw execve"), 0);
    assert_int_equal(system("nm -D --defined-only '" LIBKREACH
                            "' | awk '{ print $NF }' | grep -vxE "
                            "'_[eE]xit|f?exec[a-z]+|InitializeInjection(Nvtx2)?|cupti[A-Za-z_2]+'"),
                     1 << 8);
}

/* Row 64: not by an exception, an assertion or a call. */
static void the_library_never_ends_the_program(void **state)
{
    (void)state;
    if (SANITIZED) /* its run-time does */
        skip();
    assert_int_equal(system("nm -D --undefined-only '" LIBKREACH "' | grep -qw write"), 0);
    assert_int_equal(system("nm -D --undefined-only '" LIBKREACH "' | grep -wE "
                            "'exit|abort|__assert_fail|quick_exit|__cxa_throw|_Unwind_Resume'"),
                     1 << 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_agree_with_published_ones),
        cmocka_unit_test(numbers_take_the_bytes_that_leb128_gives_them),
        cmocka_unit_test(no_buffer_is_ever_held_twice),
        cmocka_unit_test(buffers_come_back_in_the_order_of_return),
        cmocka_unit_test(a_pool_that_ran_out_keeps_more_buffers_ready),
        cmocka_unit_test(buffers_that_are_ready_have_their_memory),
        cmocka_unit_test(a_full_table_forgets_and_numbers_on),
        cmocka_unit_test(an_id_does_not_depend_on_what_was_asked_before),
        cmocka_unit_test(names_are_kept_once_and_compared_again_each_batch),
        cmocka_unit_test(names_of_any_number_and_length_are_kept_apart),
        cmocka_unit_test(a_recorder_without_a_file_does_not_grow),
        cmocka_unit_test(a_file_never_has_the_number_of_a_standard_stream),
        cmocka_unit_test(names_of_many_kernels_fit_in_their_chunks),
        cmocka_unit_test(registered_strings_take_their_own_length_of_memory),
        cmocka_unit_test(steps_are_found_and_layers_are_not_taken_for_them),
        cmocka_unit_test(steps_are_counted_beyond_the_kernels_that_are_kept),
        cmocka_unit_test(steps_are_those_of_the_busiest_stream),
        cmocka_unit_test(every_result_of_cupti_has_words),
        cmocka_unit_test(launch_calls_of_every_interface_are_known),
        cmocka_unit_test(cupti_is_found_where_the_program_has_it),
        cmocka_unit_test(without_any_cupti_the_reason_says_what_to_install),
        cmocka_unit_test(a_cupti_newer_than_the_driver_is_left_alone),
        cmocka_unit_test(programs_that_have_nothing_to_do_with_cuda_run_as_ever),
        cmocka_unit_test(the_library_needs_nothing_but_libc),
        cmocka_unit_test(the_library_shows_only_what_it_stands_in_front_of),
        cmocka_unit_test(the_library_never_ends_the_program),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

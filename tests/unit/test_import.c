/* What the trace reader makes of the rows of a trace in good order. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "import.h"
#include "mem.h"

#define DOC(events)      "{\"traceEvents\":[" events "]}"
#define READ_EVENTS(...) read_events((const char *const[]){ __VA_ARGS__, NULL })
#define X(cat, name, ts, dur, args)                                                                \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":4,\"tid\":5,\"ts\":" ts       \
    ",\"dur\":" dur ",\"args\":{" args "}}"
#define KERNEL(name, ts, args) X("kernel", name, ts, "2", "\"device\":0,\"stream\":7," args)
#define OP(name, id, more)     X("cpu_op", name, "1", "9", "\"External id\":" id more)
#define LAUNCH(call, ts, corr, id)                                                                 \
    X("cuda_runtime", call, ts, "1", "\"correlation\":" corr ",\"External id\":" id)

static struct kr_timeline *read_doc(const char *text)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_mem("t", text, strlen(text), NULL, &err);

    if (!t)
        fail_msg("%s\n%s", text, err.msg);
    return t;
}

/* A document of these events. */
static struct kr_timeline *read_events(const char *const *events)
{
    static char document[9000];
    char text[8192] = "";
    size_t len = 0;

    for (; *events; events++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? "," : "", *events);
    assert_true(len < sizeof text);
    snprintf(document, sizeof document, "{\"traceEvents\":[%s]}", text);
    return read_doc(document);
}

static const struct kr_site *site_of(const struct kr_timeline *t, size_t event)
{
    return &t->sites[t->events[event].site];
}

static void a_kernel_keeps_all_that_the_row_tells(void **state)
{
    struct kr_timeline *t = READ_EVENTS(X(
        "kernel", "k<1>(a, b)", "10.25", "3.5",
        "\"External id\":12,\"device\":3,\"context\":2,\"stream\":7,\"correlation\":99,\"registers per thread\":40,\"shared memory\":1024,\"grid\":[4, 5, 6],\"block\": [128,2,1],\"graph id\":8,\"graph node id\":17179869185"));
    const struct kr_event *e = &t->events[0];
    const struct kr_site *s = site_of(t, 0);
    const struct kr_track *track = &t->tracks[e->track];

    (void)state;
    assert_int_equal(t->n_events, 1);
    assert_int_equal(e->start_ns, 10250);
    assert_int_equal(e->dur_ns, 3500);
    assert_int_equal(e->correlation, 99);
    assert_int_equal(e->external_id, 12);
    assert_int_equal(e->lead_ns, KR_LEAD_UNKNOWN);
    assert_int_equal(e->kind, KR_KERNEL);
    assert_int_equal(t->devices[track->device].id, 3);
    assert_int_equal(track->context, 2);
    assert_int_equal(track->stream, 7);
    assert_string_equal(kr_timeline_str(t, s->name), "k<1>(a, b)");
    assert_memory_equal(s->grid, ((uint32_t[]){ 4, 5, 6 }), sizeof s->grid);
    assert_memory_equal(s->block, ((uint32_t[]){ 128, 2, 1 }), sizeof s->block);
    assert_int_equal(s->registers, 40);
    assert_int_equal(s->shared_bytes, 1024);
    assert_int_equal(s->graph_id, 8);
    assert_int_equal(s->graph_node_id, 17179869185);
    kr_timeline_free(t);
}

static void a_kernel_needs_no_more_than_name_and_times(void **state)
{
    struct kr_timeline *t =
        read_doc("[{\"cat\":\"kernel\",\"ts\":\"7.5\",\"dur\":\"1\",\"name\":\"k\"}]");

    (void)state;
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->events[0].start_ns, 7500);
    assert_int_equal(t->devices[0].id, 0);
    assert_true(kr_timeline_complete(t));
    kr_timeline_free(t);
}

static const struct {
    const char *cat, *name, *ph;
    int kind; /* -1: no device work */
} rows[] = {
    { "kernel", "k", "X", KR_KERNEL },
    { "Kernel", "k", "X", KR_KERNEL },
    { "gpu_memcpy", "Memcpy HtoD", "X", KR_MEMCPY },
    { "Memcpy", "Memcpy HtoD", "X", KR_MEMCPY },
    { "gpu_memset", "Memset (Device)", "X", KR_MEMSET },
    /* copies that HIP writes as kernels */
    { "kernel", "Memcpy DtoD (Device -> Device)", "X", KR_MEMCPY },
    { "kernel", "__amd_rocclr_copyBuffer", "X", KR_MEMCPY },
    { "kernel", "Memset (Device)", "X", KR_MEMSET },
    { "kernel", "__amd_rocclr_fillBufferAligned", "X", KR_MEMSET },
    { "kernel", "k", "s", -1 },
    { "kernel", "k", "i", -1 },
    { "gpu_user_annotation", "step", "X", -1 },
    { "user_annotation", "step", "X", -1 },
    { "cuda_profiler_range", "k", "X", -1 },
    { "overhead", "Buffer Flush", "X", -1 },
    { "cuda_sync", "Stream Wait", "X", -1 },
    { "Trace", "PyTorch Profiler (0)", "X", -1 },
    { "cpu_op", "triton_poi_fused_add_0", "X", -1 },
    { "python_function", "kernel", "X", -1 },
};

static void device_work_is_told_by_category_and_never_by_annotations(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(rows); i++) {
        char text[512];
        struct kr_timeline *t;
        size_t last;

        snprintf(text, sizeof text,
                 "[%s,{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":50,\"dur\":1,"
                 "\"args\":{\"device\":0,\"stream\":7,\"correlation\":5,\"External id\":6}}]",
                 KERNEL("first", "1", "\"correlation\":1"), rows[i].ph, rows[i].cat, rows[i].name);
        t = read_doc(text);
        last = t->n_events - 1;
        if (last != (rows[i].kind >= 0) || (last && site_of(t, last)->kind != rows[i].kind))
            fail_msg("%s '%s' gives %zu events", rows[i].cat, rows[i].name, t->n_events);
        assert_int_equal(t->counts.events_read, 2);
        kr_timeline_free(t);
    }
}

static void the_op_is_found_by_external_id_or_through_the_launch(void **state)
{
    struct kr_timeline *t = READ_EVENTS(
        OP("aten::a", "1", ""), OP("aten::b", "2", ""), LAUNCH("cudaLaunchKernel", "5", "70", "2"),
        KERNEL("direct", "10", "\"External id\":1,\"correlation\":60"),
        KERNEL("by_launch", "20", "\"correlation\":70"),
        KERNEL("alone", "30", "\"correlation\":80,\"External id\":9"));

    (void)state;
    assert_string_equal(kr_timeline_str(t, site_of(t, 0)->op), "aten::a");
    assert_string_equal(kr_timeline_str(t, site_of(t, 1)->op), "aten::b");
    assert_int_equal(t->events[1].external_id, 2);
    assert_string_equal(kr_timeline_str(t, site_of(t, 2)->op), "");
    assert_int_equal(t->counts.cpu_ops, 2);
    kr_timeline_free(t);
}

static const struct {
    const char *call;
    uint64_t launches, graphs;
    bool lead;
} calls[] = {
    { "cudaLaunchKernel", 1, 0, true },      { "cudaLaunchKernelExC_v11060", 1, 0, true },
    { "cudaLaunchKernel_ptsz", 1, 0, true }, { "cudaLaunchCooperativeKernel", 1, 0, true },
    { "cuLaunchKernel", 1, 0, true },        { "cuLaunchKernelEx_ptsz", 1, 0, true },
    { "hipLaunchKernel", 1, 0, true },       { "hipExtModuleLaunchKernel", 1, 0, true },
    { "hipModuleLaunchKernel", 1, 0, true }, { "cudaGraphLaunch", 0, 1, true },
    { "cuGraphLaunch", 0, 1, true },         { "hipGraphLaunch", 0, 1, true },
    { "cudaMemcpyAsync", 0, 0, true },       { "cudaStreamSynchronize", 0, 0, false },
    { "cudaLaunchHostFunc", 0, 0, false },   { "myLaunchKernel", 0, 0, false },
};

static void launches_are_counted_and_give_the_lead(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(calls); i++) {
        char text[1024];
        struct kr_timeline *t;
        uint32_t lead;

        snprintf(text, sizeof text,
                 "[{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"%s\",\"ts\":1.5,\"dur\":1,"
                 "\"args\":{\"correlation\":70}},%s]",
                 calls[i].call, KERNEL("k", "10", "\"correlation\":70"));
        t = read_doc(text);
        lead = t->events[0].lead_ns;
        if (t->counts.launches != calls[i].launches ||
            t->counts.graph_launches != calls[i].graphs ||
            lead != (calls[i].lead ? 8500 : KR_LEAD_UNKNOWN))
            fail_msg("%s: lead %u", calls[i].call, lead);
        kr_timeline_free(t);
    }
}

static void launches_may_come_in_any_order(void **state)
{
    struct kr_timeline *t = READ_EVENTS(
        LAUNCH("cudaLaunchKernel", "3", "90", "0"), LAUNCH("cudaLaunchKernel", "1", "70", "0"),
        LAUNCH("cudaLaunchKernel", "2", "80", "0"), KERNEL("a", "10", "\"correlation\":70"),
        KERNEL("b", "20", "\"correlation\":80"), KERNEL("c", "30", "\"correlation\":90"),
        KERNEL("d", "40", "\"correlation\":60"), KERNEL("e", "50", "\"correlation\":85"));
    static const uint32_t leads[] = { 9000, 18000, 27000, KR_LEAD_UNKNOWN, KR_LEAD_UNKNOWN };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(leads); i++)
        assert_int_equal(t->events[i].lead_ns, leads[i]);
    kr_timeline_free(t);
}

static void work_that_starts_before_its_launch_has_no_lead(void **state)
{
    struct kr_timeline *t = READ_EVENTS(LAUNCH("cudaLaunchKernel", "50", "70", "2"),
                                        KERNEL("k", "10", "\"correlation\":70"));

    (void)state;
    assert_int_equal(t->events[0].lead_ns, KR_LEAD_UNKNOWN);
    assert_int_equal(t->warnings[KR_WARN_BEFORE_LAUNCH].count, 1);
    kr_timeline_free(t);
}

#define NOTE(name, ts, dur) X("user_annotation", name, ts, dur, "")
#define GPU_NOTE(name, ts, dur)                                                                    \
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"" name                               \
    "\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" dur "}"

static void the_innermost_annotation_of_the_stream_names_the_site(void **state)
{
    struct kr_timeline *t = READ_EVENTS(
        GPU_NOTE("ProfilerStep#12", "10", "50"), GPU_NOTE("layer 3 of 20", "20", "10"),
        GPU_NOTE("Optimizer.step#AdamW.step", "40", "10"), GPU_NOTE("inner", "42", "4"),
        KERNEL("before", "1", "\"correlation\":1"), KERNEL("step", "10", "\"correlation\":2"),
        KERNEL("layer", "29.999", "\"correlation\":3"),
        KERNEL("step_again", "30", "\"correlation\":4"),
        KERNEL("optimizer", "43", "\"correlation\":5"), KERNEL("after", "60", "\"correlation\":6"),
        X("kernel", "elsewhere", "22", "1", "\"device\":0,\"stream\":8,\"correlation\":7"));
    static const char *const want[] = {
        "", "ProfilerStep#*", "", "layer * of *", "ProfilerStep#*", "Optimizer.step#AdamW.step", ""
    };

    (void)state;
    assert_int_equal(t->n_events, KR_COUNT(want));
    for (size_t i = 0; i < KR_COUNT(want); i++)
        assert_string_equal(kr_timeline_str(t, site_of(t, i)->annotation), want[i]);
    assert_int_equal(t->n_annotations, 4);
    assert_string_equal(kr_timeline_str(t, t->annotations[0].name), "ProfilerStep#12");
    assert_int_equal(t->annotations[0].on_device, 1);
    assert_int_equal(t->annotations[0].track, t->events[0].track);
    kr_timeline_free(t);
}

static void without_device_annotations_the_host_s_hold_at_the_launch(void **state)
{
    struct kr_timeline *t = READ_EVENTS(
        NOTE("step#0", "1", "20"), LAUNCH("cudaLaunchKernel", "5", "70", "0"),
        LAUNCH("cudaLaunchKernel", "25", "71", "0"), KERNEL("inside", "100", "\"correlation\":70"),
        KERNEL("outside", "110", "\"correlation\":71"),
        KERNEL("unknown", "10", "\"correlation\":72"));

    (void)state;
    assert_string_equal(kr_timeline_str(t, site_of(t, 1)->annotation), "step#*");
    assert_string_equal(kr_timeline_str(t, site_of(t, 2)->annotation), "");
    assert_string_equal(kr_timeline_str(t, site_of(t, 0)->annotation), "");
    assert_string_equal(kr_timeline_str(t, t->annotations[0].thread), "5");
    assert_int_equal(t->annotations[0].track, -1);
    kr_timeline_free(t);
}

#define IN(dims, types) ",\"Input Dims\":" dims ",\"Input type\":" types
#define F32_2           "[\"float\",\"float\"]"
#define CONV(op, concrete)                                                                         \
    op, IN("[[8,16,32,32],[64,16,3,3],[],[],[],[]]",                                               \
           "[\"float\",\"float\",\"\",\"\",\"\",\"\"]") ",\"Concrete Inputs\":" concrete

static const struct {
    const char *op, *args;
    double flop, bytes;
} works[] = {
    { "aten::mm", IN("[[4,8],[8,2]]", F32_2), 128, 4 * (32 + 16 + 8) },
    { "aten::mm", IN("[[4,8],[8,2]]", "[\"c10::BFloat16\",\"c10::BFloat16\"]"), 128,
      2 * (32 + 16 + 8) },
    { "aten::bmm", IN("[[3,4,8],[3,8,2]]", F32_2), 384, 3 * 4 * (32 + 16 + 8) },
    { "aten::addmm",
      IN("[[2],[4,8],[8,2],[],[]]", "[\"float\",\"float\",\"float\",\"Scalar\",\"\"]"), 128,
      4 * (2 + 32 + 16 + 8) },
    { "aten::baddbmm", IN("[[3,4,2],[3,4,8],[3,8,2]]", "[\"float\",\"float\",\"float\"]"), 384,
      3 * 4 * (8 + 32 + 16 + 8) },
    { "aten::linear", IN("[[5,4,8],[2,8],[2]]", "[\"float\",\"float\",\"float\"]"), 640,
      4 * (160 + 16 + 2 + 40) },
    { "aten::matmul", IN("[[5,4,8],[8,2]]", F32_2), 640, 4 * (160 + 16 + 40) },
    { "aten::_scaled_mm", IN("[[4,8],[8,2]]", "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\"]"),
      128, 0 },
    /* no shape, doubtful shape, mixed types */
    { "aten::mm", "", 0, 0 },
    { "aten::mm", IN("[[4,8],[9,2]]", F32_2), 0, 0 },
    { "aten::mm", IN("[[4,8]]", "[\"float\"]"), 0, 0 },
    { "aten::matmul", IN("[[5,4,8],[6,8,2]]", F32_2), 0, 0 },
    { "aten::mm", IN("[[[4,8],[4,8]],[8,2]]", F32_2), 0, 0 },
    { "aten::mm", IN("[[4,8],[8,2]]", "[\"float\",\"c10::Half\"]"), 128, 0 },
    /* no type at all */
    { "aten::mm", IN("[[4,8],[8,2]]", "[]"), 128, 0 },
    { "aten::mm", ",\"Input Dims\":[[4,8],[8,2]]", 0, 0 },
    { "aten::add", IN("[[4,8],[4,8]]", F32_2), 0, 0 },
    /* 8 images of 16x32x32, 64 filters of 3x3 */
    { CONV("aten::convolution", "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\"]"),
      2. * 8 * 64 * 32 * 32 * 16 * 9, 4. * (8 * 16 * 1024 + 64 * 16 * 9 + 8 * 64 * 1024) },
    { CONV("aten::convolution", "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[2, 2]\",\"False\"]"),
      2. * 8 * 64 * 14 * 14 * 16 * 9, 4. * (8 * 16 * 1024 + 64 * 16 * 9 + 8 * 64 * 196) },
    { CONV("aten::convolution", "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"True\"]"), 0,
      0 },
    { CONV("aten::cudnn_convolution", "[\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\"]"),
      2. * 8 * 64 * 16 * 16 * 16 * 9, 4. * (8 * 16 * 1024 + 64 * 16 * 9 + 8 * 64 * 256) },
    { CONV("aten::cudnn_convolution", "[]"), 0, 0 },
    { CONV("aten::cudnn_convolution", "[\"\",\"\",\"[0, 0]\",\"[1, 1]\",\"[20, 20]\",\"1\"]"), 0,
      0 }, /* the filter reaches beyond the image */
};

static void shapes_give_arithmetic_and_traffic_where_they_leave_no_doubt(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(works); i++) {
        char text[2048];
        struct kr_timeline *t;
        const struct kr_work *w;

        snprintf(text, sizeof text,
                 "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"ts\":1,\"dur\":9,"
                 "\"args\":{\"External id\":3%s}},%s]",
                 works[i].op, works[i].args, KERNEL("k", "10", "\"External id\":3"));
        t = read_doc(text);
        w = &t->works[site_of(t, 0)->work];
        if (w->flop != works[i].flop || w->bytes != works[i].bytes)
            fail_msg("case %zu, %s: %g flop, %g bytes", i, works[i].op, w->flop, w->bytes);
        assert_string_equal(kr_timeline_str(t, site_of(t, 0)->op), works[i].op);
        kr_timeline_free(t);
    }
}

static const char *const headers[] = {
    "{%s,\"traceEvents\":[%s]}",
    "{\"traceEvents\":[%s],\"x\":{\"y\":[1,{\"z\":2}]},%s}", /* behind the events; swapped below */
};

static void the_header_is_read_before_and_behind_the_events(void **state)
{
    static const char facts[] =
        "\"deviceProperties\":[{\"id\":1,\"name\":\"no\"},{\"id\":0,\"name\":\"GPU \\\"0\\\"\","
        "\"totalGlobalMem\":150109880320,\"computeMajor\":9,\"computeMinor\":4,\"numSms\":132}],"
        "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":5},\"baseTimeNanoseconds\":"
        "1790857026000000000";
    static const char events[] = KERNEL("k", "10", "\"correlation\":1");

    (void)state;
    for (size_t i = 0; i < KR_COUNT(headers); i++) {
        char text[2048];
        struct kr_timeline *t;

        snprintf(text, sizeof text, headers[i], i ? events : facts, i ? facts : events);
        t = read_doc(text);
        assert_int_equal(t->n_devices, 1);
        assert_string_equal(kr_timeline_str(t, t->devices[0].name), "GPU \"0\"");
        assert_int_equal(t->devices[0].memory_bytes, 150109880320);
        assert_int_equal(t->devices[0].cc_major, 9);
        assert_int_equal(t->devices[0].cc_minor, 4);
        assert_int_equal(t->devices[0].sm_count, 132);
        assert_int_equal(t->source.rank, 5);
        assert_int_equal(t->source.base_ns, 1790857026000000000);
        assert_string_equal(t->source.events_at, "traceEvents");
        assert_true(kr_timeline_complete(t));
        kr_timeline_free(t);
    }
}

static const struct {
    const char *before, *behind, *events_at;
} places[] = {
    { "[", "]", "[]" },
    { "{\"traceEvents\":[", "]}", "traceEvents" },
    { "{\"data\":{\"trace\":{\"traceEvents\":[", "]}}}", "data.trace.traceEvents" },
    { "{\"list\":[{\"a\":1}],\"events\":[", "]}", "events" },
    { "{\"a\":\"\\\"traceEvents\\\":[{\",\"b\":\"[{\\\"ph\\\":1}]\",\"traceEvents\" : \n[", "]}",
      "traceEvents" },
};

static void the_event_list_is_found_where_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(places); i++) {
        char text[1024];
        struct kr_timeline *t;

        snprintf(text, sizeof text, "%s%s%s", places[i].before,
                 KERNEL("k", "10", "\"correlation\":1"), places[i].behind);
        t = read_doc(text);
        assert_string_equal(t->source.events_at, places[i].events_at);
        assert_true(kr_timeline_complete(t));
        kr_timeline_free(t);
    }
}

#define ROW(name, args)                                                                            \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":2,\"tid\":\"Stream #13(Compute)\",\"ts\":5,"      \
    "\"dur\":1,\"args\":{" args "}}"

static void rows_without_categories_are_chosen_by_their_args(void **state)
{
    static const char guessed[] = ROW("k", "\"device\":1,\"stream\":3") "," ROW(
        "host", "\"correlation\":4") "," ROW("m", "\"stream\":3,\"correlation\":4");
    char text[2048];
    struct kr_timeline *t;

    (void)state;
    snprintf(text, sizeof text, "[%s]", guessed);
    t = read_doc(text);
    assert_int_equal(t->n_events, 2);
    assert_int_equal(t->warnings[KR_WARN_ROWS].count, 2);
    kr_timeline_free(t);
    snprintf(text, sizeof text, "[%s,%s]", guessed, KERNEL("real", "10", "\"correlation\":1"));
    t = read_doc(text);
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->n_devices, 1);
    assert_int_equal(t->warnings[KR_WARN_ROWS].count, 0);
    kr_timeline_free(t);
}

static void streams_of_different_devices_are_different(void **state)
{
    struct kr_timeline *t =
        READ_EVENTS(X("kernel", "a", "1", "1", "\"device\":0,\"stream\":7"),
                    X("kernel", "b", "2", "1", "\"device\":1,\"stream\":7"),
                    X("kernel", "c", "3", "1", "\"device\":1,\"context\":2,\"stream\":7"));

    (void)state;
    assert_int_equal(t->n_devices, 2);
    assert_int_equal(t->n_tracks, 3);
    kr_timeline_free(t);
}

static void launches_without_kernels_are_not_complete(void **state)
{
    struct kr_timeline *t = READ_EVENTS(
        LAUNCH("cudaGraphLaunch", "5", "70", "2"),
        X("gpu_memcpy", "Memcpy HtoD", "9", "1", "\"device\":0,\"stream\":7,\"bytes\":4096"));

    (void)state;
    assert_int_equal(t->warnings[KR_WARN_NO_KERNELS].count, 1);
    assert_false(kr_timeline_complete(t));
    assert_int_equal(site_of(t, 0)->bytes, 4096);
    kr_timeline_free(t);
}

static void a_pipe_reads_like_a_file(void **state)
{
    static const char text[] = DOC(KERNEL("k", "10", "\"correlation\":1"));
    struct kr_err err = { 0 };
    struct kr_timeline *t;
    char path[] = "/tmp/kreach-test-XXXXXX";
    char fifo[64];
    pid_t child;

    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(fifo, sizeof fifo, "%s/fifo", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    child = fork();
    if (child == 0) {
        FILE *out = fopen(fifo, "w");

        if (out) {
            fwrite(text, 1, sizeof text - 1, out);
            fclose(out);
        }
        _exit(0);
    }
    t = kr_import_file(fifo, NULL, &err);
    waitpid(child, NULL, 0);
    unlink(fifo);
    rmdir(path);
    if (!t)
        fail_msg("%s", err.msg);
    assert_int_equal(t->n_events, 1);
    assert_int_equal(t->source.text_bytes, sizeof text - 1);
    assert_string_equal(t->source.path, fifo);
    kr_timeline_free(t);
}

struct progress {
    unsigned calls;
    uint64_t last;
};

static void count_progress(void *user, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *p = user;

    assert_true(done_bytes >= p->last && done_bytes <= total_bytes);
    p->last = done_bytes;
    p->calls++;
}

static void progress_is_told_seldom_and_goes_up(void **state)
{
    size_t len = 64 << 20;
    char *text = malloc(len);
    struct progress p = { 0, 0 };
    const struct kr_import_options opt = { 1, count_progress, &p };
    struct kr_err err = { 0 };
    struct kr_timeline *t;
    size_t head;

    (void)state;
    assert_non_null(text);
    memset(text, ' ', len);
    head = (size_t)sprintf(text, "[%s", KERNEL("k", "10", "\"correlation\":1"));
    text[head] = ' ';
    text[len - 1] = ']';
    t = kr_import_mem("t", text, len, &opt, &err);
    assert_non_null(t);
    assert_in_range(p.calls, 1, 100);
    kr_timeline_free(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_keeps_all_that_the_row_tells),
        cmocka_unit_test(a_kernel_needs_no_more_than_name_and_times),
        cmocka_unit_test(device_work_is_told_by_category_and_never_by_annotations),
        cmocka_unit_test(the_op_is_found_by_external_id_or_through_the_launch),
        cmocka_unit_test(launches_are_counted_and_give_the_lead),
        cmocka_unit_test(launches_may_come_in_any_order),
        cmocka_unit_test(work_that_starts_before_its_launch_has_no_lead),
        cmocka_unit_test(the_innermost_annotation_of_the_stream_names_the_site),
        cmocka_unit_test(without_device_annotations_the_host_s_hold_at_the_launch),
        cmocka_unit_test(shapes_give_arithmetic_and_traffic_where_they_leave_no_doubt),
        cmocka_unit_test(the_header_is_read_before_and_behind_the_events),
        cmocka_unit_test(the_event_list_is_found_where_it_is),
        cmocka_unit_test(rows_without_categories_are_chosen_by_their_args),
        cmocka_unit_test(streams_of_different_devices_are_different),
        cmocka_unit_test(launches_without_kernels_are_not_complete),
        cmocka_unit_test(a_pipe_reads_like_a_file),
        cmocka_unit_test(progress_is_told_seldom_and_goes_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

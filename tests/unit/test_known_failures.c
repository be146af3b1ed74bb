/*
 * Traces and names that trace analysers are known to misread, from the text to the account. Each
 * case is a row of docs/known-failures.md; the failures that one module alone can show are tested
 * with that module.
 */
#include "runs.h"

#include <inttypes.h>
#include <stdio.h>

#include "import.h"
#include "mem.h"
#include "report.h"

#define MOST_ROWS 12

/* Rows of a trace; ts and dur are texts of microseconds. */
#define X(cat, name, ts, dur, args)                                                                \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts       \
    ",\"dur\":" dur ",\"args\":" args "}"
#define K(name, ts, dur)           X("kernel", name, ts, dur, "{\"device\":0,\"stream\":7}")
#define LINKED(name, ts, corr, id) X("kernel", name, ts, "10", ID_ARGS(corr, id))
#define OP(name, id)               X("cpu_op", name, "1", "90", "{\"External id\":" id "}")
#define CALL(name, ts, corr, id)   X("cuda_runtime", name, ts, "1", ID_ARGS(corr, id))
#define ID_ARGS(corr, id)                                                                          \
    "{\"device\":0,\"stream\":7,\"correlation\":" corr ",\"External id\":" id "}"
#define NODE(name, ts, node)                                                                       \
    X("kernel", name, ts, "10",                                                                    \
      "{\"device\":0,\"stream\":7,\"correlation\":5,\"graph id\":3,\"graph node id\":" node "}")

#define NVJET    "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"
#define RMS_NORM "void vllm::rms_norm_kernel<c10::BFloat16>(int)"

/* A document around rows, joined by commas; NULL ends them. */
struct document {
    const char *before, *rows[MOST_ROWS], *behind;
};

static struct kr_timeline *read_document(const struct document *d)
{
    char text[1 << 13];
    struct kr_err err = { 0 };
    struct kr_timeline *t;
    size_t n = (size_t)snprintf(text, sizeof text, "%s", d->before ? d->before : "[");

    for (size_t i = 0; i < MOST_ROWS && d->rows[i]; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "", d->rows[i]);
    n += (size_t)snprintf(text + n, sizeof text - n, "%s", d->behind ? d->behind : "]");
    assert_true(n < sizeof text);
    t = kr_import_mem("t", text, n, NULL, &err);
    if (!t)
        fail_msg("%s\n%s", text, err.msg);
    return t;
}

static struct kr_run analyse(struct kr_timeline *t)
{
    struct kr_err err = { 0 };
    struct kr_run run = { 0 };

    if (!kr_run_analyse(t, run_rules, "all", &run, &err))
        fail_msg("%s", err.msg);
    return run;
}

static const struct {
    const char *what; /* went wrong elsewhere */
    struct document doc;
    uint64_t kernels, busy_ns, wall_ns;
} misread[] = {
    { "a bracket in a value before the events taken for their end",
      { "{\"traceName\":\"/tmp/a]}b[{.json\",\"traceEvents\":[",
        { K("a", "1", "2"), K("b", "5", "2") },
        "]}" },
      2,
      4000,
      6000 },
    { "a bracket in a value behind the events",
      { "{\"traceEvents\":[",
        { K("a", "1", "2"), K("b", "5", "2") },
        "],\"traceName\":\"C:/x]}/[{y.json\"}" },
      2,
      4000,
      6000 },
    { "times scaled by the unit that viewers are asked to show",
      { "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", { K("a", "1.001", "0.002") }, "]}" },
      1,
      2,
      2 },
    { "the same, behind the events",
      { "{\"traceEvents\":[", { K("a", "1.001", "0.002") }, "],\"displayTimeUnit\":\"ms\"}" },
      1,
      2,
      2 },
    { "times since 1970 rounded by a double: neighbours overlap",
      { NULL,
        { K("a", "\"1790857026000000.125\"", "\"0.001\""),
          K("b", "\"1790857026000000.126\"", "\"0.001\""),
          K("c", "1790857026000000.129", "0.001") },
        NULL },
      3,
      3,
      5 },
    { "kernels under a microsecond rounded away",
      { NULL,
        { K("a", "10.2", "0.7"), K("a", "10.9", "0.9"), K("a", "11.9", "0.064"),
          K("a", "12", "0") },
        NULL },
      4,
      1664,
      1800 },
    { "args of an unexpected shape end the analysis",
      { NULL,
        { X("kernel", "a", "1", "1", "null"), X("kernel", "b", "2", "1", "\"text\""),
          X("kernel", "c", "3", "1", "[1,{\"device\":5}]"), X("kernel", "d", "4", "1", "{}"),
          X("kernel", "e", "5", "1", "{\"device\":\"x\",\"stream\":{},\"grid\":\"1,1\"}"),
          X("kernel", "f", "6", "1", "{\"Call stack\":\"a.py(3): f;b.py(\",\"block\":[[],{}]}"),
          "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"g\",\"ts\":7,\"dur\":1}" },
        NULL },
      7,
      7000,
      7000 },
    { "of work without a partner on the host a part is left out of busy time",
      { NULL,
        { OP("aten::mm", "2"), CALL("cudaLaunchKernel", "2", "60", "2"),
          LINKED("a", "10", "60", "2"), LINKED("b", "20", "999", "0"), K("c", "30", "10") },
        NULL },
      3,
      30000,
      30000 },
    { "rows that enclose kernels double the time of the device",
      { NULL,
        { X("gpu_user_annotation", "step", "0", "100", "{\"device\":0,\"stream\":7}"),
          X("overhead", "Activity Buffer Request", "0", "99", ID_ARGS("60", "2")),
          X("cuda_profiler_range", "a", "0", "98", "{\"device\":0,\"stream\":7}"),
          X("Trace", "PyTorch Profiler (0)", "0", "97", "{\"device\":0,\"stream\":7}"),
          LINKED("a", "10", "60", "2") },
        NULL },
      1,
      10000,
      10000 },
    { "dependent launches on one stream dropped",
      { NULL, { K(NVJET, "0", "10"), K("splitKreduce_kernel", "9", "3") }, NULL },
      2,
      12000,
      12000 },
};

static void traces_that_others_misread_come_out_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(misread); i++) {
        struct kr_run run = analyse(read_document(&misread[i].doc));
        const struct kr_account *a = &run.account;

        if (a->kernels != misread[i].kernels || a->time.busy_ns != misread[i].busy_ns ||
            a->time.wall_ns != misread[i].wall_ns)
            fail_msg("%s: %" PRIu64 " kernels, busy %" PRIu64 " ns of %" PRIu64 " ns",
                     misread[i].what, a->kernels, a->time.busy_ns, a->time.wall_ns);
        assert_true(kr_timeline_complete(run.timeline));
        kr_run_free(&run);
    }
}

/* Without ops, as under a replayed graph, names alone must do. */
static void kernels_of_a_graph_are_counted_one_by_one_and_classified(void **state)
{
    static const struct document doc = {
        NULL,
        { CALL("cudaGraphLaunch", "1", "5", "0"), NODE(NVJET, "10", "1"), NODE(RMS_NORM, "20", "2"),
          NODE(NVJET, "30", "3"),
          X("gpu_memcpy", "Memcpy DtoD (Device -> Device)", "40", "10", ID_ARGS("5", "0")) },
        NULL
    };
    struct kr_run run = analyse(read_document(&doc));
    const struct kr_timeline *t = run.timeline;

    (void)state;
    assert_int_equal(t->counts.graph_launches, 1);
    assert_int_equal(t->counts.launches, 0);
    assert_int_equal(t->counts.kernels, 3);
    assert_int_equal(t->counts.memcpys, 1);
    for (size_t i = 0; i < t->n_events; i++)
        assert_int_equal(t->events[i].lead_ns, 9000 + 10000 * i);
    assert_int_equal(run.account.classes[KR_OPTIMAL].exclusive_ns, 20000);
    assert_int_equal(run.account.classes[KR_ADDRESSABLE].exclusive_ns, 10000);
    assert_int_equal(run.account.classes[KR_OVERHEAD].exclusive_ns, 10000);
    assert_int_equal(run.account.classes[KR_UNCLASSIFIED].exclusive_ns, 0);
    assert_true(kr_timeline_complete(t));
    kr_run_free(&run);
}

/* Buffers of several threads come in any order: what a kernel belongs to may follow it. */
static void the_launch_and_the_op_may_stand_behind_their_kernel(void **state)
{
    static const struct document doc = { NULL,
                                         { LINKED("a", "10", "60", "2"),
                                           CALL("cudaLaunchKernel", "2", "60", "2"),
                                           OP("aten::mm", "2") },
                                         NULL };
    struct kr_timeline *t = read_document(&doc);

    (void)state;
    assert_int_equal(t->events[0].lead_ns, 8000);
    assert_string_equal(kr_timeline_str(t, t->sites[t->events[0].site].op), "aten::mm");
    kr_timeline_free(t);
}

static void two_ops_with_one_id_are_no_error(void **state)
{
    static const struct document doc = {
        NULL, { OP("aten::mm", "2"), OP("aten::mm", "2"), LINKED("a", "10", "60", "2") }, NULL
    };
    struct kr_timeline *t = read_document(&doc);

    (void)state;
    assert_int_equal(t->counts.cpu_ops, 2);
    assert_int_equal(t->n_events, 1);
    assert_string_equal(kr_timeline_str(t, t->sites[t->events[0].site].op), "aten::mm");
    kr_timeline_free(t);
}

static void every_row_that_is_read_is_kept_or_counted_as_dropped(void **state)
{
    static const struct document doc = {
        NULL,
        { K("kept", "1", "2"), K("lost", "0", "0"), K("negative", "5", "-1"),
          K("endless", "6", "1e99"), "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"timeless\"}",
          K("empty", "7", "0"), X("gpu_memset", "Memset (Device)", "8", "1", "{}"),
          OP("aten::mm", "2"), X("user_annotation", "step", "0", "9", "{}") },
        NULL
    };
    struct kr_timeline *t = read_document(&doc);
    uint64_t reasons = 0;

    (void)state;
    for (int i = KR_WARN_NO_TIME; i <= KR_WARN_HUGE_TIME; i++)
        reasons += t->warnings[i].count;
    assert_int_equal(t->counts.events_read, 9);
    assert_int_equal(t->counts.device_events, 3);
    assert_int_equal(t->counts.dropped, 4);
    assert_int_equal(reasons, 4);
    assert_false(kr_timeline_complete(t));
    kr_timeline_free(t);
}

static void assert_decided(const char *name, const char *family, enum kr_class cls, unsigned flag)
{
    const struct kr_subject subject = { name, "", "", KR_KERNEL };
    struct kr_err err = { 0 };
    struct kr_tag tag;

    assert_true(kr_rules_match(run_rules, &subject, &tag, &err));
    if (strcmp(kr_rules_family(run_rules, tag.family), family) != 0 || tag.cls != cls ||
        (tag.flags & flag) != flag)
        fail_msg("%s %s with flags %x by '%s', not %s %s: %s",
                 kr_rules_family(run_rules, tag.family), kr_class_name(tag.cls), tag.flags,
                 kr_rules_id(run_rules, tag.rule), family, kr_class_name(cls), name);
}

/* Each release renamed them, and analysers showed no communication for years. */
static void collectives_of_every_generation_are_collectives(void **state)
{
    static const char *const names[] = {
        "ncclAllReduceRingLLKernel_sum_f16(ncclColl)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
        "ncclSymkDevKernel_AllReduce_LLMC_sum_bf16(ncclSymkDevWorkArgs4K)",
        "rcclGenericKernel<1>(int)",
        "all-reduce-start",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)",
        "void deep_ep::internode::dispatch<false, 8, false, 65536, 16>(int)",
        "void nvshmem_barrier_all_kernel()",
        "kernel_cutlass_kernel_distributedRoceOneshotAllReduce_object_at_",
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(names); i++)
        assert_decided(names[i], "collective", KR_OPTIMAL, KR_FLAG_WAITS);
}

/* A part of each name says something else than what the kernel does. */
static const struct {
    const char *name, *family;
    enum kr_class cls;
} deceptive[] = {
    /* "flash" of a library that has far more than attention */
    { "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, float)",
      "norm", KR_ADDRESSABLE },
    { "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(int)", "kvcache",
      KR_ADDRESSABLE },
    /* "cutlass" and "gemm" around what is no product */
    { "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_"
      "at_",
      "norm", KR_ADDRESSABLE },
    { "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > "
      ">(int)",
      "attention", KR_OPTIMAL },
    { "void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16>("
      "tensorrt_llm::kernels::cutlass_kernels::GroupedGemmInput)",
      "moe_routing", KR_ADDRESSABLE },
    { "triton_red_fused__to_copy_add_marlin_gemm_mean_mul_pow_rsqrt_0", "norm", KR_ADDRESSABLE },
    { "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_cudnn",
      "conv", KR_OPTIMAL },
    /* "relu", "reduce", "mul", "embedding", "thrust" of a neighbour or a tile */
    { "ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x3_tn", "gemm", KR_OPTIMAL },
    { "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(int)", "gemm",
      KR_OPTIMAL },
    { "triton_poi_fused_add_all_reduce_bitwise_and_embedding_ge_lt_mul_0", "elementwise",
      KR_ADDRESSABLE },
    { "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::WelfordOps<"
      "float, float, int, thrust::pair<float, float> > > >(int)",
      "reduction", KR_ADDRESSABLE },
    /* the families that other rule tables do not see at all */
    { NVJET, "gemm", KR_OPTIMAL },
    { "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm", KR_OPTIMAL },
    { "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, 1, true>(int)", "norm",
      KR_ADDRESSABLE },
    { "void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, float>(int)",
      "norm", KR_ADDRESSABLE },
    { "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, "
      "long>(int)",
      "embedding", KR_ADDRESSABLE },
    { "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
      "FusedAdamMathFunctor<float, 4>, float const*>(int)",
      "optimizer", KR_OVERHEAD },
    { "triton_per_fused_add_mean_mul_pow_rsqrt_3", "norm", KR_ADDRESSABLE },
    { "_fwd_kernel", "attention", KR_ADDRESSABLE },
    /* one container, other contents */
    { "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
      "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}> >(int)",
      "copy", KR_ADDRESSABLE },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
      "std::array<char*, 1ul> >(int)",
      "fill", KR_OVERHEAD },
    /* what autotuning leaves behind, and what cannot be known */
    { "redzone_checker", "helper", KR_OVERHEAD },
    { "custom-call.7", "unknown", KR_UNCLASSIFIED },
};

static void names_that_deceive_lists_of_substrings_are_decided_by_their_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(deceptive); i++)
        assert_decided(deceptive[i].name, deceptive[i].family, deceptive[i].cls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_that_others_misread_come_out_whole),
        cmocka_unit_test(kernels_of_a_graph_are_counted_one_by_one_and_classified),
        cmocka_unit_test(the_launch_and_the_op_may_stand_behind_their_kernel),
        cmocka_unit_test(two_ops_with_one_id_are_no_error),
        cmocka_unit_test(every_row_that_is_read_is_kept_or_counted_as_dropped),
        cmocka_unit_test(collectives_of_every_generation_are_collectives),
        cmocka_unit_test(names_that_deceive_lists_of_substrings_are_decided_by_their_work),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

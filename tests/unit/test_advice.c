/* Advice: each kind on a run that shows its evidence, and on near-misses that do not. */
#include "runs.h"

#include "advice.h"
#include "mem.h"
#include "window.h"

#define ATEN_COPY                                                                                  \
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("            \
    "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}, "              \
    "std::array<char*, 2ul> >(int)"
#define ATEN_POW                                                                                   \
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"        \
    "pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::"                \
    "{lambda(float)#1}, std::array<char*, 2ul> >(int)"
#define ATEN_MEAN                                                                                  \
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<"      \
    "float, float, float, float>, unsigned int, float, 4, 4> >(at::native::ReduceOp)"
#define ATEN_ADD                                                                                   \
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, " \
    "std::array<char*, 2ul> >(int)"
#define ATEN_RSQRT                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda("             \
    "at::TensorIteratorBase&)::{lambda()#2}, std::array<char*, 2ul> >(int)"
#define ATEN_MUL                                                                                   \
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"              \
    "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<"      \
    "float> > >(at::TensorIteratorBase&)>(int)"
#define FOREACH                                                                                    \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "    \
    "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::"                       \
    "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(int)"
#define FUSED_ADAM                                                                                 \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "    \
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"         \
    "FusedAdamMathFunctor<float, 4>, float const*>(int)"
#define SOFTMAX                                                                                    \
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(int)"
#define GEMM  "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
#define SGEMM "ampere_sgemm_128x64_nn"
#define ODD_GEMM                                                                                   \
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(int)"
#define MANGLED_GEMM                                                                               \
    "_ZN7cutlass7Kernel2I57cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1EEvNT_"        \
    "6ParamsE"
#define EVEN_GEMM                                                                                  \
    "void cutlass::Kernel2<cutlass_80_tensorop_s8_i16832gemm_s8_128x128_64x3_tn_align16>(int)"
#define STEP "Optimizer.step#AdamW.step"

/* One launch of a run: it starts gap_us after the one before and was launched lead_us before. */
struct launch {
    const char *name, *op, *annotation;
    uint32_t dur_us, gap_us, lead_us;
    enum kr_kind kind;
    uint32_t graph;
};

struct result {
    struct kr_timeline *t;
    struct kr_advice *list;
    size_t n;
};

static struct result advise(const struct launch *launches, size_t n, size_t repeat, uint32_t cc)
{
    struct result r = { .t = run_new() };
    struct kr_err err = { 0 };
    const uint16_t track = run_track(r.t, 0, 7);
    struct kr_window w;
    struct kr_account a;
    struct kr_tag *tags;
    int64_t at = 0;

    r.t->devices[0].cc_major = cc;
    for (size_t i = 0; i < n * repeat; i++) {
        const struct launch *l = &launches[i % n];
        struct kr_site site = { .kind = (uint8_t)l->kind, .graph_id = l->graph };

        site.name = run_str(r.t, l->name);
        site.op = run_str(r.t, l->op ? l->op : "");
        site.annotation = run_str(r.t, l->annotation ? l->annotation : "");
        at += 1000 * (int64_t)l->gap_us;
        run_launch(r.t, track, run_add_site(r.t, &site), at, 1000 * (uint64_t)l->dur_us,
                   l->lead_us ? 1000 * l->lead_us : KR_LEAD_UNKNOWN);
        at += 1000 * (int64_t)l->dur_us;
    }
    run_finish(r.t);
    assert_true(kr_window_choose(r.t, "all", &w, &err));
    assert_true(kr_classify(r.t, run_rules, &tags, &err));
    assert_true(kr_account_make(r.t, tags, run_rules, &w, &a, &err));
    assert_true(kr_advice_find(r.t, tags, run_rules, &a, &r.list, &r.n, &err));
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.list[i - 1].reach_ns >= r.list[i].reach_ns);
    free(tags);
    kr_account_free(&a);
    kr_window_free(&w);
    return r;
}

static void forget(struct result *r)
{
    free(r->list);
    kr_timeline_free(r->t);
}

static const struct kr_advice *find(const struct result *r, const char *id)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->list[i].id, id) == 0)
            return &r->list[i];
    }
    return NULL;
}

static void each_kind_has_its_evidence(void **state)
{
    static const struct {
        const char *id;
        struct launch launches[8];
        uint32_t cc;
        uint64_t reach_us, count; /* 0 = nothing must be said */
    } cases[] = {
        { "fused_optimizer",
          { { GEMM, "aten::mm", NULL, 50, 0, 900, KR_KERNEL, 0 },
            { FOREACH, "aten::_foreach_mul_", STEP, 40, 0, 900, KR_KERNEL, 0 } },
          9,
          40,
          1 },
        { "fused_optimizer",
          { { GEMM, "aten::mm", NULL, 50, 0, 900, KR_KERNEL, 0 },
            { FUSED_ADAM, "aten::_fused_adamw_", STEP, 40, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "fused_optimizer", /* a gradient clip is no optimizer step */
          { { FOREACH, "aten::_foreach_mul_", NULL, 40, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "fused_optimizer", /* waiting for other ranks is no pass over parameters */
          { { "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "", STEP,
              40, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "channels_last",
          { { "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)",
              "aten::cudnn_convolution", NULL, 10, 0, 900, KR_KERNEL, 0 } },
          9,
          10,
          1 },
        { "tf32", { { SGEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } }, 9, 70, 1 },
        { "tf32", { { SGEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } }, 7, 0, 0 },
        { "tf32", { { GEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } }, 9, 0, 0 },
        { "align_shapes", { { ODD_GEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } }, 9, 70, 1 },
        { "align_shapes",
          { { MANGLED_GEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } },
          9,
          70,
          1 },
        { "align_shapes", { { EVEN_GEMM, "aten::mm", NULL, 70, 0, 900, KR_KERNEL, 0 } }, 9, 0, 0 },
        { "sdpa",
          { { GEMM, "aten::bmm", NULL, 30, 0, 900, KR_KERNEL, 0 },
            { SOFTMAX, "aten::_softmax", NULL, 20, 0, 900, KR_KERNEL, 0 },
            { GEMM, "aten::bmm", NULL, 30, 0, 900, KR_KERNEL, 0 } },
          9,
          80,
          3 },
        { "sdpa", /* a loss */
          { { GEMM, "aten::bmm", NULL, 30, 0, 900, KR_KERNEL, 0 },
            { SOFTMAX, "aten::_log_softmax", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "sdpa", /* a gate: linear layers are mm */
          { { GEMM, "aten::mm", NULL, 30, 0, 900, KR_KERNEL, 0 },
            { SOFTMAX, "aten::_softmax", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "avoid_copies",
          { { GEMM, "aten::mm", NULL, 30, 0, 900, KR_KERNEL, 0 },
            { ATEN_COPY, "aten::copy_", NULL, 20, 0, 900, KR_KERNEL, 0 },
            { "Memcpy DtoD (Device -> Device)", "aten::copy_", NULL, 7, 0, 900, KR_MEMCPY, 0 } },
          9,
          27,
          2 },
        { "avoid_copies",
          { { "Memcpy HtoD (Pinned -> Device)", "aten::copy_", NULL, 7, 0, 900, KR_MEMCPY, 0 } },
          9,
          0,
          0 },
        { "pinned_memory",
          { { "Memcpy HtoD (Pageable -> Device)", "aten::copy_", NULL, 70, 0, 900, KR_MEMCPY, 0 } },
          9,
          70,
          1 },
        { "fused_norm",
          { { GEMM, "aten::mm", NULL, 90, 0, 900, KR_KERNEL, 0 },
            { ATEN_POW, "aten::pow", NULL, 10, 0, 900, KR_KERNEL, 0 },
            { ATEN_MEAN, "aten::mean", NULL, 10, 0, 900, KR_KERNEL, 0 },
            { ATEN_ADD, "aten::add", NULL, 1, 0, 900, KR_KERNEL, 0 },
            { ATEN_RSQRT, "aten::rsqrt", NULL, 1, 0, 900, KR_KERNEL, 0 },
            { ATEN_MUL, "aten::mul", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          42,
          5 },
        { "fused_norm", /* an rsqrt alone is none */
          { { GEMM, "aten::mm", NULL, 90, 0, 900, KR_KERNEL, 0 },
            { ATEN_RSQRT, "aten::rsqrt", NULL, 10, 0, 900, KR_KERNEL, 0 },
            { ATEN_MUL, "aten::mul", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
        { "torch_compile",
          { { GEMM, "aten::mm", NULL, 90, 0, 900, KR_KERNEL, 0 },
            { ATEN_ADD, "aten::add", NULL, 12, 0, 900, KR_KERNEL, 0 },
            { "Memset (Device)", "", NULL, 1, 0, 900, KR_MEMSET, 0 },
            { ATEN_MUL, "aten::mul", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          32,
          2 },
        { "torch_compile", /* one between two products has nothing to fuse with */
          { { GEMM, "aten::mm", NULL, 90, 0, 900, KR_KERNEL, 0 },
            { ATEN_MUL, "aten::mul", NULL, 20, 0, 900, KR_KERNEL, 0 } },
          9,
          0,
          0 },
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const size_t repeat = 10;
        size_t n = 0;
        struct result r;
        const struct kr_advice *advice;

        while (n < KR_COUNT(cases[i].launches) && cases[i].launches[n].name)
            n++;
        r = advise(cases[i].launches, n, repeat, cases[i].cc);
        advice = find(&r, cases[i].id);
        if ((advice != NULL) != (cases[i].count > 0))
            fail_msg("case %zu (%s)", i, cases[i].id);
        if (advice) {
            assert_int_equal(advice->reach_ns, 1000 * repeat * cases[i].reach_us);
            assert_int_equal(advice->count, repeat * cases[i].count);
            assert_int_not_equal(advice->example, 0);
        }
        forget(&r);
    }
}

static void graphs_help_where_the_device_waits_for_launches(void **state)
{
    static const struct {
        struct launch launch;
        bool said;
    } cases[] = {
        { { GEMM, "aten::mm", NULL, 5, 12, 8, KR_KERNEL, 0 },
          true }, /* launched when it was idle */
        { { GEMM, "aten::mm", NULL, 5, 12, 900, KR_KERNEL, 0 },
          false }, /* queued: it waits for other things */
        { { GEMM, "aten::mm", NULL, 200, 12, 8, KR_KERNEL, 0 }, false }, /* long kernels */
        { { GEMM, "aten::mm", NULL, 5, 5000, 8, KR_KERNEL, 0 }, false }, /* the host is elsewhere */
        { { GEMM, "aten::mm", NULL, 5, 12, 0, KR_KERNEL, 0 },
          true }, /* no launch times, short gaps */
        { { GEMM, "aten::mm", NULL, 5, 120, 0, KR_KERNEL, 0 },
          false },                                             /* no launch times, long gaps */
        { { GEMM, "", NULL, 5, 12, 8, KR_KERNEL, 3 }, false }, /* already in a graph */
        { { GEMM, "aten::mm", NULL, 5, 0, 8, KR_KERNEL, 0 }, false }, /* never idle */
    };
    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct result r = advise(&cases[i].launch, 1, 50, 9);
        const struct kr_advice *advice = find(&r, "cuda_graphs");

        if ((advice != NULL) != cases[i].said)
            fail_msg("case %zu", i);
        if (advice)
            assert_int_equal(advice->reach_ns, 49 * 12000);
        forget(&r);
    }
}

static void what_reaches_less_than_one_percent_is_not_said(void **state)
{
    const struct launch launches[] = { { GEMM, "aten::mm", NULL, 985, 0, 900, KR_KERNEL, 0 },
                                       { SGEMM, "aten::mm", NULL, 9, 0, 900, KR_KERNEL, 0 },
                                       { GEMM, "aten::mm", NULL, 6, 0, 900, KR_KERNEL, 0 } };
    struct result r = advise(launches, 3, 1, 9);

    (void)state;
    assert_null(find(&r, "tf32"));
    forget(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_evidence),
        cmocka_unit_test(graphs_help_where_the_device_waits_for_launches),
        cmocka_unit_test(what_reaches_less_than_one_percent_is_not_said),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

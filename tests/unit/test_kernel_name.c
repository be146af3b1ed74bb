#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demangle.h"
#include "kernel_name.h"
#include "mem.h"

static char *normalise(const char *name)
{
    struct kr_err err = { 0 };
    char *out = kr_kernel_name_normalise(name, &err);

    assert_non_null(out);
    return out;
}

/* One kernel as torch, nsys, nvprof and the linker spell it. */
static const struct {
    const char *expected;
    const char *spellings[4];
} kernels[] = {
    { "at::native::vectorized_elementwise_kernel<4,at::native::FillFunctor<float>,"
      "std::array<char*,1>>",
      { "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
        "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, "
        "std::array<char *, (unsigned long)1>>(int, T2, T3)",
        "void at::native::vectorized_elementwise_kernel<int=4, at::native::FillFunctor<float>, "
        "std::array<char*, unsigned long=1>>(int, T2, T3)",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEE"
        "EviT0_T1_" } },
    { "(anonymous namespace)::softmax_warp_forward<float,float,float,6,false,false>",
      { "void (anonymous namespace)::softmax_warp_forward<float, float, float, 6, false, "
        "false>(float*, float const*, int, int, int, bool const*, int, bool)",
        "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)0>(T2 "
        "*, const T1 *, int, int, int, const bool *, int, bool)",
        "void _GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f63::softmax_warp_forward<float, float, "
        "float, int=6, bool=0, bool=0>(float*)",
        "_ZN43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6320softmax_warp_forwardIfffLi6ELb0ELb0EE"
        "EvPT0_PKT_iiiPKbib" } },
    { "at::native::elementwise_kernel<128,2,at::native::gpu_kernel_impl_nocast<"
      "at::native::direct_copy_kernel_cuda()::{lambda()#3}::operator()()::{lambda()#7}::"
      "operator()()::{lambda(float)#1}>()::{lambda(int)#1}>",
      { "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native"
        "::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
        "{lambda()#7}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, at::native"
        "::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
        "{lambda()#7}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1}>(int, int)",
        "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::"
        "gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::"
        "[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() "
        "const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) "
        "(instance 1)]>(int, T3)",
        "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23"
        "direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_"
        "RKT_EUliE_EEviT1_" } },
    { "kernel<float*,-1>",
      { "void kernel<float const*, -1>(int)", "void kernel<const float *, (int)-1>(int)",
        "_Z6kernelIPKfLin1EEvi" } },
    { "internal::gemvx::kernel<int,7>",
      { "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7>(cublasGemvParams)",
        "std::enable_if<!T2, void>::type internal::gemvx::kernel<int, (int)7>(T1)" } },
    { "sort<0,unsigned int>",
      { "void sort<(cub::SortOrder)0, unsigned int>(unsigned int*)",
        "void sort<cub::SortOrder=0, unsigned int>(unsigned int*)" } },
    { "f<{lambda(float)#1},{lambda(int)#2}>",
      { "void f<{lambda(float)#1}, {lambda(int)#2}>(int)",
        "void f<'lambda'(float), 'lambda0'(int)>(int)",
        "void f<[lambda(float) (instance 1)], [lambda(int) (instance 2)]>(int)" } },
    { "f<std::integral_constant<bool,(2>1)>>",
      { "void f<std::integral_constant<bool, (2>1)> >(int)" } },
    { "f<(2>1),4>", { "void f<(2>1), int=4>(int)", "void f<(2>1), (int)4>(int)" } },
    { "k<a::b,c::d,c::d>", { "_Z1kIN1a1bEN1c1dES3_Evv", "void k<a::b, c::d, c::d>()" } },
    { "g<0x1fu,3,12>", { "void g<0x1fu, 3ul, 12LL>(int) [clone .isra.0]" } },
    { "aiter::norm_kernel<std::bfloat16_t,256,true>",
      { "_ZN5aiter11norm_kernelIDF16bLi256ELb1EEEvPT0_",
        "void aiter::norm_kernel<std::bfloat16_t, 256, true>(int*)" } },
};

static void spellings_of_one_kernel_become_one_string(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(kernels); i++) {
        for (size_t k = 0; k < 4 && kernels[i].spellings[k]; k++) {
            char *out = normalise(kernels[i].spellings[k]);

            assert_string_equal(out, kernels[i].expected);
            free(out);
        }
    }
}

static void names_that_are_not_cxx_stay_as_they_are(void **state)
{
    static const char *const names[] = {
        "Memcpy DtoH (Device -> Pageable)",
        "[CUDA memcpy DtoH]",
        "loop_convert_fusion.111",
        "all-gather-start.10",
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
        "triton_poi_fused_add_cos_sin_0",
        "my kernel with words",
        "",
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(names); i++) {
        char *out = normalise(names[i]);

        assert_string_equal(out, names[i]);
        free(out);
    }
}

static void cut_names_keep_what_is_there(void **state)
{
    static const struct {
        const char *name, *expected;
    } cases[] = {
        { "void at::native::index_elementwise_kernel<128, 4, at::nat…",
          "at::native::index_elementwise_kernel<128,4,at::nat…" },
        { "void foo<4>(int, flo...", "foo<4>" },
        { "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128EN7cutlass1",
          "flash::flash_fwd_kernel<Flash_fwd_kernel_traits,cutlass" },
        { "void f<(int", "f<(int" },
        { "attn_fwd.kd", "attn_fwd" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        char *out = normalise(cases[i].name);

        assert_string_equal(out, cases[i].expected);
        free(out);
    }
}

static void short_names_are_pleasant_to_read(void **state)
{
    static const struct {
        const char *name, *expected;
    } cases[] = {
        { "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
          "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> "
          ">(int)",
          "vectorized_elementwise_kernel<GeluCUDAKernelImpl>" },
        { "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<"
          "float, float, float, float>, unsigned int, float, 4, 4> >(int)",
          "reduce_kernel<MeanOps>" },
        { "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
          "vectorized_layer_norm_kernel" },
        { "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(int)",
          "cutlass_80_simt_sgemm_64x64_8x5_tn_align1" },
        { "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > "
          ">(int)",
          "FlashAttnFwdSm90" },
        { "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7>(int)",
          "gemvx::kernel" },
        { "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
          "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT" },
        { "Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_err err = { 0 };
        char *normal = normalise(cases[i].name);
        char *out = kr_kernel_name_short(normal, 80, &err);

        assert_string_equal(out, cases[i].expected);
        free(out);
        free(normal);
    }
}

static void short_names_never_exceed_their_length(void **state)
{
    static const char name[] =
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw";
    struct kr_err err = { 0 };
    char *out = kr_kernel_name_short(name, 32, &err);

    (void)state;
    assert_int_equal(strlen(out), 32);
    assert_non_null(strstr(out, ".."));
    assert_memory_equal(out, name, 16);
    free(out);
    out = kr_kernel_name_short(name, 0, &err);
    assert_int_equal(strlen(out), 16);
    free(out);
}

/* A name of n repetitions, which must be handled in linear time and without harm. */
static void survive(const char *head, const char *unit, size_t n)
{
    size_t len = strlen(head) + n * strlen(unit);
    struct kr_err err = { 0 };
    char *name = malloc(len + 1);
    char *out;
    char *brief;

    assert_non_null(name);
    strcpy(name, head);
    for (size_t i = 0; i < n; i++)
        memcpy(name + strlen(head) + i * strlen(unit), unit, strlen(unit) + 1);
    out = kr_kernel_name_normalise(name, &err);
    assert_non_null(out);
    assert_true(strlen(out) <= 3 * len + 64);
    brief = kr_kernel_name_short(out, 60, &err);
    assert_non_null(brief);
    assert_true(strlen(brief) <= 60);
    free(brief);
    free(out);
    free(name);
}

static void hostile_names_are_harmless(void **state)
{
    (void)state;
    survive("", "<", 1000000);
    survive("void ", "a<", 500000);
    survive("", "(", 1000000);
    survive("f", "(x", 300000);
    survive("a", ")>]}", 250000);
    survive("void f<", "int=1,", 150000);
    survive("", "<unnamed>::", 90000);
    survive("", "[lambda(", 120000);
    survive("", "'lambda", 140000);
    survive("void f<(bool)", "0,(bool)", 100000);
    survive("_Z", "N", 60000);
    survive("_Z1fI", "1AI", 20000);
    survive("_Z1fIS", "t1A", 20000);
    survive("_Z", "9999999999", 5000);
    survive("\xff\xfe", "<\x80", 100000);
}

/* Each pair doubles the text: 2^40 bytes if nothing stopped it. */
static void substitutions_cannot_blow_up(void **state)
{
    char name[2048] = "_Z1fIJ1AI1B1BE";
    struct kr_err err = { 0 };
    char *out;

    (void)state;
    for (unsigned i = 0; i < 40; i++)
        strcat(name, "1AIS2_S2_E");
    for (unsigned i = 3; i < 35; i++) {
        char pair[16];
        const char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

        snprintf(pair, sizeof pair, "S_IS%c_S%c_E", digit, digit);
        strcat(name, pair);
    }
    strcat(name, "EEvv");
    out = kr_demangle(name, strlen(name), &err);
    assert_non_null(out);
    assert_true(strlen(out) < 65536 + 64 * sizeof name);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_of_one_kernel_become_one_string),
        cmocka_unit_test(names_that_are_not_cxx_stay_as_they_are),
        cmocka_unit_test(cut_names_keep_what_is_there),
        cmocka_unit_test(short_names_are_pleasant_to_read),
        cmocka_unit_test(short_names_never_exceed_their_length),
        cmocka_unit_test(hostile_names_are_harmless),
        cmocka_unit_test(substitutions_cannot_blow_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

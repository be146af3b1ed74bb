#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"
#include "rules.h"

static struct kr_rules *load(const struct kr_rules_options *opt)
{
    struct kr_err err = { 0 };
    struct kr_rules *rules = kr_rules_load(opt, &err);

    if (!rules)
        print_error("%s\n", err.msg);
    assert_non_null(rules);
    return rules;
}

static struct kr_tag match(const struct kr_rules *rules, struct kr_subject subject)
{
    struct kr_err err = { 0 };
    struct kr_tag tag;

    assert_true(kr_rules_match(rules, &subject, &tag, &err));
    return tag;
}

static struct kr_tag match_name(const struct kr_rules *rules, const char *name)
{
    return match(rules, (struct kr_subject){ name, "", "", KR_KERNEL });
}

/* Checks "name<TAB>family<TAB>class" lines; columns tell where the three stand. */
static size_t check_names(const char *path, const unsigned column[3], bool family_after_slash)
{
    struct kr_rules *rules = load(NULL);
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    size_t wrong = 0;
    size_t n = 0;

    assert_non_null(in);
    while (getline(&line, &cap, in) > 0) {
        char *fields[5] = { NULL };
        char *rest = line;
        struct kr_tag tag;

        if (line[0] == '#' || strncmp(line, "name\t", 5) == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (unsigned i = 0; i < 5; i++)
            fields[i] = strsep(&rest, "\t");
        assert_non_null(fields[column[2]]);
        if (family_after_slash && strrchr(fields[column[1]], '/'))
            fields[column[1]] = strrchr(fields[column[1]], '/') + 1;
        tag = match_name(rules, fields[column[0]]);
        n++;
        if (strcmp(kr_rules_family(rules, tag.family), fields[column[1]]) == 0 &&
            strcmp(kr_class_name(tag.cls), fields[column[2]]) == 0)
            continue;
        wrong++;
        print_error("%s %s by '%s', not %s %s: %.160s\n", kr_rules_family(rules, tag.family),
                    kr_class_name(tag.cls), kr_rules_id(rules, tag.rule), fields[column[1]],
                    fields[column[2]], fields[column[0]]);
    }
    free(line);
    fclose(in);
    kr_rules_free(rules);
    assert_int_equal(wrong, 0);
    return n;
}

static void names_of_recorded_runs_are_decided_rightly(void **state)
{
    const unsigned column[3] = { 0, 1, 2 };

    (void)state;
    assert_true(check_names(KREACH_SOURCE_DIR "/tests/golden/names/recorded.tsv", column, false) >
                200);
}

static void names_of_public_projects_are_decided_rightly(void **state)
{
    const unsigned column[3] = { 0, 1, 2 };

    (void)state;
    assert_true(check_names(KREACH_SOURCE_DIR "/tests/golden/names/written.tsv", column, false) >
                400);
}

/* A further list of one's own: name, library/family, what it computes, class; tab-separated. */
static void names_of_a_further_list_are_decided_rightly_where_given(void **state)
{
    const char *path = getenv("KREACH_KERNEL_NAMES");
    const unsigned column[3] = { 0, 1, 3 };

    (void)state;
    if (!path)
        skip();
    assert_true(check_names(path, column, true) > 0);
}

static void built_in_rules_have_no_problems(void **state)
{
    struct kr_rules *rules = load(NULL);
    struct kr_rules_check found;
    struct kr_err err = { 0 };

    (void)state;
    assert_true(kr_rules_check(rules, stderr, &found, &err));
    assert_int_equal(found.problems, 0);
    assert_int_equal(found.rules, kr_rules_count(rules));
    assert_true(found.examples > 2 * found.rules);
    for (uint32_t i = 0; i < found.rules; i++) {
        assert_true(kr_rules_line(rules, i) > 1);
        assert_memory_equal(kr_rules_origin_file(rules, i), "built-in/", 9);
        assert_true(strlen(kr_rules_why(rules, i)) > 5);
    }
    kr_rules_free(rules);
}

/* A kernel's op or annotation decides only where its name does not. */
static void context_breaks_ties(void **state)
{
    static const char foreach[] =
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"
        "BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)";
    static const char cut[] = "void at::native::elementwise_kernel<128, 4, at::nat…";
    static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                              "CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)";
    static const struct {
        const char *name, *op, *annotation, *family;
    } cases[] = {
        { foreach, "aten::_foreach_add_", "", "elementwise" },
        { foreach, "aten::_foreach_add_", "Optimizer.step#AdamW.step", "optimizer" },
        { foreach, "", "Optimizer.zero_grad#AdamW.zero_grad", "elementwise" },
        { add, "aten::add_", "Optimizer.step#SGD.step", "optimizer" },
        { add, "aten::copy_", "", "elementwise" },
        { cut, "", "", "elementwise" },
        { cut, "aten::copy_", "", "copy" },
        { cut, "aten::masked_fill_", "", "index" },
        { cut, "aten::zero_", "", "fill" },
        { "triton_", "", "", "fused" },
        { "triton_", "triton_red_fused_native_layer_norm_0", "", "norm" },
        { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "aten::copy_", "Optimizer.step#X.step", "gemm" },
    };
    struct kr_rules *rules = load(NULL);

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_tag tag = match(rules, (struct kr_subject){ cases[i].name, cases[i].op,
                                                              cases[i].annotation, KR_KERNEL });

        assert_string_equal(kr_rules_family(rules, tag.family), cases[i].family);
    }
    kr_rules_free(rules);
}

static void copies_and_fills_are_known_by_kind(void **state)
{
    struct kr_rules *rules = load(NULL);
    struct kr_tag copy = match(rules, (struct kr_subject){ "whatever", "", "", KR_MEMCPY });
    struct kr_tag fill = match(rules, (struct kr_subject){ "", "", "", KR_MEMSET });

    (void)state;
    assert_string_equal(kr_rules_family(rules, copy.family), "memcpy");
    assert_string_equal(kr_rules_family(rules, fill.family), "memset");
    assert_int_equal(copy.cls, KR_OVERHEAD);
    kr_rules_free(rules);
}

static void flags_say_what_the_class_does_not(void **state)
{
    static const struct {
        const char *name;
        unsigned flags;
    } cases[] = {
        { "ampere_sgemm_128x64_nn", KR_FLAG_SUSPECT },
        { "triton_tem_fused_mm_0", KR_FLAG_SUSPECT },
        { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 0 },
        { "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", KR_FLAG_WAITS },
        { "void "
          "flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)",
          KR_FLAG_WAITS | KR_FLAG_MIXED },
        { "void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", KR_FLAG_HELPER },
        { "void flash_attn_tile<256", KR_FLAG_CUT },
        { "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x128x8_stage3_ffma…",
          KR_FLAG_CUT | KR_FLAG_SUSPECT },
        { "unheard_of_thing...", KR_FLAG_CUT },
        { "void f<g->h", KR_FLAG_CUT },
        { ">", 0 }, /* found by fuzzing: nothing stands before it */
        { "void f<std::integral_constant<bool, (2>1)> >(int)", 0 },
    };
    struct kr_rules *rules = load(NULL);

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++)
        assert_int_equal(match_name(rules, cases[i].name).flags, cases[i].flags);
    kr_rules_free(rules);
}

static void whole_words_only(void **state)
{
    static const char *const strangers[] = { "gemmini_probe",    "reluctant_loop",
                                             "mulligan",         "flashy_lights",
                                             "softmaximum9",     "unheard_of_thing",
                                             "irreducible_ring", "xyzzy" };
    struct kr_rules *rules = load(NULL);

    (void)state;
    for (size_t i = 0; i < KR_COUNT(strangers); i++) {
        struct kr_tag tag = match_name(rules, strangers[i]);

        if (i != 4) /* softmax is sought anywhere, so "softmaximum" counts */
            assert_int_equal(tag.rule, KR_RULE_NONE);
        if (i != 4)
            assert_int_equal(tag.cls, KR_UNCLASSIFIED);
    }
    kr_rules_free(rules);
}

static void policies_turn_families_into_classes(void **state)
{
    static const char partial[] =
        "{\"schema\":\"kreach.policy\",\"schema_version\":1,\"name\":\"mine\",\n"
        "\"extends\":\"default\",\"classes\":{\"copy\":\"overhead\",\"gemm/"
        "compiler\":\"optimal\"}}";
    static const struct {
        const char *name;
        enum kr_class by_default, by_paper, by_mine;
    } cases[] = {
        { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", KR_OPTIMAL, KR_OPTIMAL, KR_OPTIMAL },
        { "fused_moe_kernel", KR_ADDRESSABLE, KR_ADDRESSABLE, KR_OPTIMAL },
        { "triton_tem_fused_mm_0", KR_OPTIMAL, KR_ADDRESSABLE, KR_OPTIMAL },
        { "loop_convert_fusion", KR_ADDRESSABLE, KR_ADDRESSABLE, KR_OVERHEAD },
        { "void split_embedding_codegen_forward_unweighted_kernel<float>(int)", KR_OPTIMAL,
          KR_ADDRESSABLE, KR_OPTIMAL },
        { "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >(int)",
          KR_OVERHEAD, KR_OVERHEAD, KR_OVERHEAD },
        { "custom-call.3", KR_UNCLASSIFIED, KR_UNCLASSIFIED, KR_UNCLASSIFIED },
        { "unheard_of_thing", KR_UNCLASSIFIED, KR_UNCLASSIFIED, KR_UNCLASSIFIED },
    };
    const char *path = scratch_file(partial);
    struct kr_rules *standard = load(NULL);
    struct kr_rules *paper = load(&(struct kr_rules_options){ .policy = "paper" });
    struct kr_rules *mine = load(&(struct kr_rules_options){ .policy = path });

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        assert_int_equal(match_name(standard, cases[i].name).cls, cases[i].by_default);
        assert_int_equal(match_name(paper, cases[i].name).cls, cases[i].by_paper);
        assert_int_equal(match_name(mine, cases[i].name).cls, cases[i].by_mine);
    }
    assert_string_equal(kr_rules_policy_name(standard), "default");
    assert_string_equal(kr_rules_policy_name(mine), "mine");
    assert_true(kr_rules_policy_hash(standard) != kr_rules_policy_hash(mine));
    assert_true(kr_rules_policy_hash(standard) != kr_rules_policy_hash(paper));
    kr_rules_free(standard);
    kr_rules_free(paper);
    kr_rules_free(mine);
    unlink(path);
}

static void the_policy_hash_is_of_what_it_says(void **state)
{
    static const char *const texts[] = {
        "{\"schema\":\"kreach.policy\",\"schema_version\":1,\"name\":\"a\","
        "\"classes\":{\"gemm\":\"optimal\"}}",
        "{\"name\":\"b\",\"schema\":\"kreach.policy\",\n\"schema_version\":1,"
        "\"classes\":{ \"gemm\" : \"optimal\" } }",
        "{\"schema\":\"kreach.policy\",\"schema_version\":1,\"name\":\"a\","
        "\"classes\":{\"gemm\":\"overhead\"}}",
    };
    uint64_t hash[KR_COUNT(texts)];

    (void)state;
    for (size_t i = 0; i < KR_COUNT(texts); i++) {
        const char *path = scratch_file(texts[i]);
        struct kr_rules *rules = load(&(struct kr_rules_options){ .policy = path });

        hash[i] = kr_rules_policy_hash(rules);
        kr_rules_free(rules);
        unlink(path);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(hash[0] != hash[2]);
}

static void the_policy_entry_that_decides_can_be_named(void **state)
{
    struct kr_rules *rules = load(NULL);
    struct kr_tag gemm = match_name(rules, "nvjet_tst_64x8_64x16_4x1_v_bz_TNT");
    struct kr_tag norm = match_name(rules, "_layer_norm_fwd_fused");

    (void)state;
    assert_string_equal(kr_rules_policy_entry(rules, gemm.family, gemm.origin), "gemm/vendor");
    assert_string_equal(kr_rules_policy_entry(rules, gemm.family, KR_ORIGIN_USER), "gemm");
    assert_string_equal(kr_rules_policy_entry(rules, norm.family, norm.origin), "");
    kr_rules_free(rules);
}

static const char one_rule[] =
    "{\"schema\":\"kreach.rules\",\"schema_version\":1,\"mode\":\"%s\",\"rules\":[\n"
    "{\"id\":\"mine\",\"family\":\"secret\",\"origin\":\"user\",\"name\":[\"^nvjet_\",\"^(?i)XyZ$"
    "\"],"
    "\"why\":\"because\",\"examples\":[\"nvjet_1\"]}]}";

static void user_rules_come_first_or_alone(void **state)
{
    static const char *const modes[] = { "extend", "replace" };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(modes); i++) {
        char text[512];
        const char *path;
        struct kr_rules *rules;

        snprintf(text, sizeof text, one_rule, modes[i]);
        path = scratch_file(text);
        rules = load(&(struct kr_rules_options){ .rule_files = &path, .n_rule_files = 1 });
        assert_string_equal(kr_rules_family(rules, match_name(rules, "nvjet_tst").family),
                            "secret");
        assert_string_equal(kr_rules_family(rules, match_name(rules, "xyz").family), "secret");
        assert_string_equal(
            kr_rules_family(rules, match_name(rules, "gemv2T_kernel_val<1>").family),
            i == 0 ? "gemv" : "unknown");
        assert_string_equal(kr_rules_origin_file(rules, 0), path);
        assert_int_equal(kr_rules_line(rules, 0), 2);
        assert_string_equal(kr_rules_why(rules, 0), "because");
        kr_rules_free(rules);
        unlink(path);
    }
}

static void a_pattern_that_runs_away_is_an_error_that_names_its_rule(void **state)
{
    static const char text[] =
        "{\"schema\":\"kreach.rules\",\"schema_version\":1,\"mode\":\"extend\",\"rules\":[\n"
        "{\"id\":\"slow\",\"family\":\"x\",\"origin\":\"user\",\"name\":\"^(a+)+$\",\"why\":\"w\"}]"
        "}";
    const char *path = scratch_file(text);
    struct kr_rules *rules =
        load(&(struct kr_rules_options){ .rule_files = &path, .n_rule_files = 1 });
    struct kr_subject subject = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "",
                                  "", KR_KERNEL };
    struct kr_err err = { 0 };
    struct kr_tag tag;

    (void)state;
    assert_false(kr_rules_match(rules, &subject, &tag, &err));
    assert_int_equal(err.code, KR_EINPUT);
    assert_non_null(strstr(err.msg, ":2: rule 'slow'"));
    kr_rules_free(rules);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_recorded_runs_are_decided_rightly),
        cmocka_unit_test(names_of_public_projects_are_decided_rightly),
        cmocka_unit_test(names_of_a_further_list_are_decided_rightly_where_given),
        cmocka_unit_test(built_in_rules_have_no_problems),
        cmocka_unit_test(context_breaks_ties),
        cmocka_unit_test(copies_and_fills_are_known_by_kind),
        cmocka_unit_test(flags_say_what_the_class_does_not),
        cmocka_unit_test(whole_words_only),
        cmocka_unit_test(policies_turn_families_into_classes),
        cmocka_unit_test(the_policy_hash_is_of_what_it_says),
        cmocka_unit_test(the_policy_entry_that_decides_can_be_named),
        cmocka_unit_test(user_rules_come_first_or_alone),
        cmocka_unit_test(a_pattern_that_runs_away_is_an_error_that_names_its_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

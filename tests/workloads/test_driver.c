/* kreach-workload: its command line, its check of results, its measurement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "mem.h"
#include "run.h"

/* ---- models that are wrong in known ways ---- */

enum flaw {
    NO_FLAW,
    NOT_FINITE,
    OTHER_SHAPE,
    SLIGHTLY_OFF,   /* by 1 in 1000: more than float32 rounds */
    HIDDEN_BY_MEAN, /* the same, beside a great constant */
    CONSTANT,       /* all elements alike: nothing to compare */
    LOSS_RISES,
    LOSS_LAGS, /* falls to half of where it should */
    CANNOT_BE_BUILT
};

static enum flaw flaw;
static bool only_big; /* the flaw shows in other presets than "tiny" only */

struct fake {
    struct kr_params params;
    struct kr_tensor *weight, *input;
    enum flaw flaw;
    int n_steps;
};

static bool fake_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    struct fake *f = calloc(1, sizeof *f);
    bool wrong = run->dtype != KR_F64 && (!only_big || strcmp(run->preset, "tiny") != 0);

    assert_non_null(f);
    out->state = f;
    f->flaw = wrong || flaw == CONSTANT || flaw == HIDDEN_BY_MEAN ? flaw : NO_FLAW;
    if (f->flaw == CANNOT_BE_BUILT)
        return kr_at_fail(at, KR_ENOMEM, "no room for the fake");
    if (!kr_params_open(&f->params, at, run))
        return false;
    f->weight = kr_param_normal(&f->params, 0.5, KR_DIMS(8, 4));
    f->input = kr_input_normal(&f->params, KR_DIMS(16, 4));
    if (f->flaw == HIDDEN_BY_MEAN && !wrong)
        f->flaw = NO_FLAW;
    out->batch = 16;
    out->ndim = f->params.train ? 0 : 2;
    out->shape[0] = 16;
    out->shape[1] = 8;
    return kr_at_ok(at);
}

static struct kr_tensor *fake_loss(struct kr_at *at, struct fake *f)
{
    double speed = f->flaw == LOSS_RISES ? -0.1 : f->flaw == LOSS_LAGS ? 0.05 : 0.1;

    return kr_at_full(at, KR_F32, 2 - speed * f->n_steps++, NULL, 0);
}

static struct kr_tensor *fake_step(struct kr_at *at, void *state)
{
    struct fake *f = state;
    struct kr_tensor *x;

    if (f->params.train)
        return fake_loss(at, f);
    x = kr_at_linear(at, f->input, f->weight, NULL);
    if (f->flaw == NOT_FINITE)
        x = kr_at_mul_scalar(at, x, INFINITY);
    if (f->flaw == OTHER_SHAPE)
        x = kr_at_transpose(at, x, 0, 1);
    if (f->flaw == SLIGHTLY_OFF || f->flaw == HIDDEN_BY_MEAN)
        x = kr_at_mul_scalar(at, x, 1.001);
    if (f->flaw == CONSTANT)
        x = kr_at_mul_scalar(at, x, 0);
    return flaw == HIDDEN_BY_MEAN ? kr_at_add_scalar(at, x, 1000) : x;
}

static void fake_close(void *state)
{
    struct fake *f = state;

    if (f)
        kr_params_close(&f->params);
    free(f);
}

static const struct kr_model fake = {
    .name = "fake",
    .summary = "wrong on demand",
    .phases = (const char *const[]){ "infer", "train", NULL },
    .presets = (const char *const[]){ "big", "tiny", NULL },
    .open = fake_open,
    .step = fake_step,
    .close = fake_close,
};

static struct kr_selfcheck check_of(enum flaw which, const char *phase)
{
    const struct kr_run run = { .preset = "big", .phase = phase, .dtype = KR_F32, .seed = 1 };
    struct kr_selfcheck check;
    struct kr_err err = { 0 };

    flaw = which;
    only_big = false;
    assert_true(kr_selfcheck(&fake, &run, KR_CPU, &check, &err));
    return check;
}

static void a_right_model_passes_its_check(void **state)
{
    (void)state;
    assert_true(check_of(NO_FLAW, "infer").holds);
    assert_true(check_of(NO_FLAW, "train").holds);
}

static void a_wrong_model_is_caught_and_told_why(void **state)
{
    static const struct {
        enum flaw flaw;
        const char *phase, *why;
    } cases[] = {
        { NOT_FINITE, "infer", "not finite" }, { OTHER_SHAPE, "infer", "another shape" },
        { SLIGHTLY_OFF, "infer", "differs" },  { HIDDEN_BY_MEAN, "infer", "differs" },
        { CONSTANT, "infer", "differs" },      { LOSS_RISES, "train", "does not fall" },
        { LOSS_LAGS, "train", "differs" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_selfcheck check = check_of(cases[i].flaw, cases[i].phase);

        assert_false(check.holds);
        assert_non_null(strstr(check.why, cases[i].why));
    }
}

static void a_check_that_cannot_be_made_is_an_error(void **state)
{
    const struct kr_run run = { .preset = "big", .phase = "infer", .dtype = KR_F32, .seed = 1 };
    struct kr_selfcheck check;
    struct kr_err err = { 0 };

    (void)state;
    flaw = CANNOT_BE_BUILT;
    only_big = false;
    assert_false(kr_selfcheck(&fake, &run, KR_CPU, &check, &err));
    assert_int_equal(err.code, KR_ENOMEM);
    assert_non_null(strstr(err.msg, "no room for the fake"));
}

/* ---- measuring ---- */

static struct kr_run_result run_fake(enum flaw which, uint64_t steps, bool check)
{
    const struct kr_run run = { .preset = "big", .phase = "infer", .dtype = KR_F32, .seed = 1 };
    const struct kr_run_options how = {
        .device = KR_CPU, .steps = steps, .warmup = 1, .check = check
    };
    struct kr_run_result result;
    struct kr_err err = { 0 };

    flaw = which;
    only_big = true;
    assert_true(kr_run_workload(&fake, &run, &how, &result, &err));
    return result;
}

static void a_run_that_goes_wrong_is_caught_after_its_steps(void **state)
{
    struct kr_run_result result = run_fake(NOT_FINITE, 3, true);

    (void)state;
    assert_false(result.check.holds);
    assert_non_null(strstr(result.check.why, "after the measured steps"));
}

static void an_unchecked_run_looks_at_nothing(void **state)
{
    struct kr_run_result result = run_fake(NOT_FINITE, 3, false);

    (void)state;
    assert_true(result.check.holds);
    assert_false(result.checked);
}

static void the_steps_that_are_asked_for_are_measured(void **state)
{
    struct kr_run_result result = run_fake(NO_FLAW, 7, true);

    (void)state;
    assert_true(result.check.holds);
    assert_int_equal(result.n_steps, 7);
    assert_true(result.n_blocks >= 1 && result.n_blocks <= 7);
    assert_true(result.step_ns > 0);
}

static void blocks_are_long_and_their_spread_is_told(void **state)
{
    struct kr_run_result result = run_fake(NO_FLAW, 0, true);

    (void)state;
    assert_true(result.n_blocks >= 4);
    /* 50 ms and more by the probes; a busy machine may have slowed all of these. */
    assert_true((double)result.block_steps * result.high_ns > 5e6);
    assert_true(result.low_ns <= result.step_ns && result.step_ns <= result.high_ns);
}

/* The linker puts these in place of the shim's marks. */
void __wrap_kr_nvtx_push(const char *name);
void __wrap_kr_nvtx_pop(void);

static struct {
    size_t n, n_as_due; /* ranges, and those named as the next step, one at a time */
    size_t depth;
    char last[48];
} marks;

void __wrap_kr_nvtx_push(const char *name)
{
    char due[48];

    snprintf(due, sizeof due, "step %zu", marks.n++);
    marks.n_as_due += marks.depth++ == 0 && strcmp(name, due) == 0;
    snprintf(marks.last, sizeof marks.last, "%s", name);
}

void __wrap_kr_nvtx_pop(void)
{
    marks.depth--;
}

static void each_measured_step_is_marked_and_nothing_else(void **state)
{
    (void)state;
    memset(&marks, 0, sizeof marks);
    run_fake(NO_FLAW, 7, true);
    assert_int_equal(marks.n, 7);
    assert_int_equal(marks.n_as_due, 7);
    assert_int_equal(marks.depth, 0);
}

/* Names of foreach kernels do not say that they are an optimizer's: rules go by this mark. */
static void an_optimizer_s_step_is_marked_as_torch_marks_it(void **state)
{
    const struct kr_sgd sgd = { .learning_rate = 1 };
    const struct kr_adamw adamw = { .learning_rate = 1 };
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_tensor *weight = kr_at_zeros(at, KR_F32, KR_DIMS(2));

    (void)state;
    memset(&marks, 0, sizeof marks);
    assert_true(kr_at_require_grad(at, weight));
    for (int i = 0; i < 2; i++) {
        struct kr_optim *o =
            i == 0 ? kr_at_sgd(at, &weight, 1, &sgd) : kr_at_adamw(at, &weight, 1, &adamw);

        assert_true(kr_optim_step(at, o));
        assert_string_equal(marks.last,
                            i == 0 ? "Optimizer.step#SGD.step" : "Optimizer.step#AdamW.step");
        kr_optim_free(o);
    }
    assert_int_equal(marks.n, 2);
    assert_int_equal(marks.depth, 0);
    kr_at_close(at);
}

/* ---- the command line ---- */

struct said {
    char *out, *log;
    int status;
};

static struct said tell(size_t n, const char *const words[])
{
    char *argv[40] = { (char *)"kreach-workload" };
    struct said said;
    size_t out_bytes;
    size_t log_bytes;
    FILE *out = open_memstream(&said.out, &out_bytes);
    FILE *log = open_memstream(&said.log, &log_bytes);

    assert_true(n < KR_COUNT(argv));
    for (size_t i = 0; i < n; i++)
        argv[i + 1] = (char *)words[i];
    said.status = kr_driver_main(out, log, (int)n + 1, argv);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(log), 0);
    return said;
}

#define TELL(...)                                                                                  \
    tell(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]){ __VA_ARGS__ })

static void forget(struct said *said)
{
    free(said->out);
    free(said->log);
}

static void expect(struct said said, int status, const char *part)
{
    const char *where = status ? said.log : said.out;

    if (said.status != status || !strstr(where, part))
        fail_msg("status %d, said '%s%s' where '%s' and %d were due", said.status, said.out,
                 said.log, part, status);
    if (status)
        assert_string_equal(said.out, "");
    forget(&said);
}

static void a_wrong_command_line_is_told_what_would_be_right(void **state)
{
    (void)state;
    expect(TELL("resnet5"), 2, "did you mean 'resnet50'?");
    expect(TELL("resnet50", "dlrm"), 2, "one model is needed");
    expect(TELL("--batch", "3"), 2, "one model is needed");
    expect(TELL("dlrm", "--phase", "prefill"), 2, "--phase takes one of infer, train");
    expect(TELL("dlrm", "--preset", "huge"), 2, "--preset takes one of mlperf");
    expect(TELL("dlrm", "--batch", "0"), 2, "--batch must be at least 1");
    expect(TELL("dlrm", "--dtype", "f64"), 2, "--dtype takes f32|bf16|f16");
    expect(TELL("dlrm", "--seq", "4"), 2, "neither --seq nor --layers");
    expect(TELL("dlrm", "--graph", "--device", "cpu"), 2, "--graph needs --device cuda");
    expect(TELL("dlrm", "--graph", "--phase", "train"), 2, "cannot run phase 'train'");
}

static void a_machine_without_cuda_is_told_so(void **state)
{
    (void)state;
    if (kr_at_cuda_count() > 0)
        skip();
    expect(TELL("dlrm", "--preset", "tiny"), 4, "no CUDA device");
    expect(TELL("dlrm", "--preset", "tiny"), 4, "--device cpu runs without");
}

static void help_and_list_name_every_model(void **state)
{
    struct said help = TELL("--help");
    struct said list = TELL("--list");

    (void)state;
    for (size_t i = 0; kr_models[i]; i++) {
        assert_non_null(strstr(help.out, kr_models[i]->name));
        assert_non_null(strstr(list.out, kr_models[i]->summary));
    }
    forget(&help);
    forget(&list);
}

static json_t *json_of(struct said said, int status)
{
    json_t *root;

    assert_int_equal(said.status, status);
    root = json_loads(said.out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    forget(&said);
    return root;
}

static void the_result_as_json_tells_what_ran(void **state)
{
    json_t *root = json_of(TELL("dlrm", "--preset", "tiny", "--device", "cpu", "--batch", "8",
                                "--steps", "2", "--json"),
                           0);
    const json_t *step;

    (void)state;
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "kreach.workload");
    assert_int_equal(json_integer_value(json_object_get(root, "batch")), 8);
    assert_int_equal(json_integer_value(json_object_get(root, "n_steps")), 2);
    assert_true(json_is_null(json_object_get(root, "seq")));
    assert_true(json_is_null(json_object_get(root, "peak_bytes")));
    assert_true(json_is_true(json_object_get(json_object_get(root, "check"), "made")));
    assert_true(json_number_value(json_object_get(root, "samples_per_s")) > 0);
    step = json_object_get(root, "step_ns");
    assert_true(json_number_value(json_object_get(step, "median")) > 0);
    json_decref(root);
}

static void an_error_as_json_has_its_status(void **state)
{
    json_t *root = json_of(TELL("dlrm", "--phase", "decode", "--json"), 2);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "kreach.error");
    assert_int_equal(json_integer_value(json_object_get(root, "exit_status")), 2);
    json_decref(root);
}

static void a_run_without_check_says_so(void **state)
{
    (void)state;
    expect(TELL("dlrm", "--preset", "tiny", "--device", "cpu", "--steps", "1", "--no-check"), 0,
           "NOT CHECKED");
}

/* ---- the models, and the runs of the paper ---- */

static void expect_agreement(const struct kr_model *model, const char *phase, enum kr_dtype dtype)
{
    const struct kr_run run = {
        .preset = model->presets[0], .phase = phase, .dtype = dtype, .seed = 1
    };
    struct kr_selfcheck check;
    struct kr_err err = { 0 };

    if (!kr_selfcheck(model, &run, KR_CPU, &check, &err) || !check.holds)
        fail_msg("%s %s: %s%s", model->name, phase, err.msg, check.why);
}

static void every_model_agrees_with_float64(void **state)
{
    (void)state;
    for (size_t m = 0; kr_models[m]; m++) {
        for (size_t p = 0; kr_models[m]->phases[p]; p++) {
            expect_agreement(kr_models[m], kr_models[m]->phases[p], KR_F32);
            expect_agreement(kr_models[m], kr_models[m]->phases[p], KR_BF16);
        }
    }
}

static json_t *paper_runs(void)
{
    json_error_t error;
    json_t *root =
        json_load_file(KREACH_SOURCE_DIR "/workloads/paper7.json", JSON_REJECT_DUPLICATES, &error);

    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    return root;
}

/* The driver refuses what it does not know before it looks for a device. */
static void expect_known(const json_t *run)
{
    const char *words[32];
    const json_t *args = json_object_get(run, "args");
    size_t n = json_array_size(args);
    struct said said;

    assert_true(n > 0 && n < KR_COUNT(words));
    for (size_t i = 0; i < n; i++)
        words[i] = json_string_value(json_array_get(args, i));
    said = tell(n, words);
    if (said.status != 4)
        fail_msg("%s: %s", json_string_value(json_object_get(run, "name")), said.log);
    forget(&said);
}

static void every_run_of_the_paper_is_one_the_driver_knows(void **state)
{
    json_t *root = paper_runs();
    const json_t *lists[] = { json_object_get(root, "seven"), json_object_get(root, "extras") };

    (void)state;
    if (kr_at_cuda_count() > 0)
        skip();
    for (size_t l = 0; l < KR_COUNT(lists); l++) {
        for (size_t i = 0; i < json_array_size(lists[l]); i++)
            expect_known(json_array_get(lists[l], i));
    }
    json_decref(root);
}

/* A share, the two ends of a range of them, or null. */
static void expect_shares(const json_t *value)
{
    double before = 0;

    if (json_is_array(value))
        assert_int_equal(json_array_size(value), 2);
    for (size_t i = 0; i < (json_is_array(value) ? 2 : 1); i++) {
        const json_t *share = json_is_array(value) ? json_array_get(value, i) : value;

        if (value && json_is_null(value))
            continue;
        assert_true(json_is_real(share));
        assert_true(json_real_value(share) > before && json_real_value(share) < 1);
        before = json_real_value(share);
    }
}

static void the_runs_of_the_paper_are_seven_and_told_apart(void **state)
{
    json_t *root = paper_runs();
    const json_t *lists[] = { json_object_get(root, "seven"), json_object_get(root, "extras") };
    json_t *names = json_object();

    (void)state;
    assert_int_equal(json_array_size(lists[0]), 7);
    for (size_t l = 0; l < KR_COUNT(lists); l++) {
        for (size_t i = 0; i < json_array_size(lists[l]); i++) {
            const json_t *run = json_array_get(lists[l], i);
            const json_t *article = json_object_get(run, "article");
            const char *name = json_string_value(json_object_get(run, "name"));

            assert_non_null(name);
            assert_null(json_object_get(names, name));
            json_object_set_new(names, name, json_true());
            assert_true(json_is_string(json_object_get(run, "title")));
            assert_true(json_is_object(article));
            expect_shares(json_object_get(article, "addressable"));
            expect_shares(json_object_get(article, "saved"));
            expect_shares(json_object_get(article, "family_frac"));
        }
    }
    json_decref(names);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_model_passes_its_check),
        cmocka_unit_test(a_wrong_model_is_caught_and_told_why),
        cmocka_unit_test(a_check_that_cannot_be_made_is_an_error),
        cmocka_unit_test(a_run_that_goes_wrong_is_caught_after_its_steps),
        cmocka_unit_test(an_unchecked_run_looks_at_nothing),
        cmocka_unit_test(the_steps_that_are_asked_for_are_measured),
        cmocka_unit_test(blocks_are_long_and_their_spread_is_told),
        cmocka_unit_test(each_measured_step_is_marked_and_nothing_else),
        cmocka_unit_test(an_optimizer_s_step_is_marked_as_torch_marks_it),
        cmocka_unit_test(a_wrong_command_line_is_told_what_would_be_right),
        cmocka_unit_test(a_machine_without_cuda_is_told_so),
        cmocka_unit_test(help_and_list_name_every_model),
        cmocka_unit_test(the_result_as_json_tells_what_ran),
        cmocka_unit_test(an_error_as_json_has_its_status),
        cmocka_unit_test(a_run_without_check_says_so),
        cmocka_unit_test(every_model_agrees_with_float64),
        cmocka_unit_test(every_run_of_the_paper_is_one_the_driver_knows),
        cmocka_unit_test(the_runs_of_the_paper_are_seven_and_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

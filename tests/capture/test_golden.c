/* Recordings of a real GPU: what two readers that share no code find in them. */
#include "kreach_format.h"
#include "kreach_read.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct golden {
    const char *file;
    uint64_t processes, kernels, memcpys, memsets, launches, ranges, kernel_ns, plain_steps;
    const char *how;         /* the window that report takes */
    const char *families[2]; /* the largest two */
    json_int_t steps;
    double addressable_frac; /* that the verdict rests on */
} goldens[] = {
    { .file = "resnet.kreach",
      .processes = 1,
      .kernels = 9665,
      .memcpys = 530,
      .memsets = 400,
      .kernel_ns = 177990982,
      .how = "10 of 11 steps by repetition of 816 launches; warm-up left out; 22 % of device",
      .families = { "norm", "elementwise" },
      .steps = 10,
      .addressable_frac = 0.4649 },
    { .file = "gpt2.kreach",
      .processes = 1,
      .kernels = 2971,
      .memcpys = 149,
      .memsets = 291,
      .launches = 2971,
      .ranges = 12,
      .kernel_ns = 83314035,
      .plain_steps = 11,
      .how = "11 of 12 steps from annotation 'step#*'",
      .families = { "gemm", "elementwise" },
      .steps = 11,
      .addressable_frac = 0.1973 },
    { .file = "gpt2_plain.kreach", /* the same program; what it prints comes after its last step */
      .processes = 1,
      .kernels = 2971,
      .memcpys = 149,
      .memsets = 291,
      .kernel_ns = 83176199,
      .how = "11 of 12 steps by repetition of 259 launches",
      .families = { "gemm", "elementwise" },
      .steps = 11,
      .addressable_frac = 0.2750 },
    { .file = "ddp2.kreach", /* two processes, each on a device of its own */
      .processes = 2,
      .kernels = 5170,
      .memcpys = 1398,
      .memsets = 736,
      .launches = 5170,
      .ranges = 364,
      .kernel_ns = 618330047,
      .how = "28 of 30 steps from annotation 'step *'",
      .families = { "gemm", "elementwise" },
      .steps = 28,
      .addressable_frac = 0.1140 },
};
#define N_GOLDENS (sizeof goldens / sizeof *goldens)

/* Copies and memsets have the name 0. */
static uint64_t kernel_ns(const struct read_file *f)
{
    uint64_t sum = 0;

    for (uint64_t i = 1; i < READ_NAMES_MAX; i++)
        sum += f->dur_by_name[i];
    return sum;
}

static void every_record_of_the_gpu_is_found(void **state)
{
    struct read_file *f = malloc(sizeof *f);
    char path[1024];

    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const struct golden *want = &goldens[i];

        snprintf(path, sizeof path, "%s/%s", GOLDEN, want->file);
        assert_true(kreach_read(path, f));
        if (!f->ok)
            print_error("%s: %s\n", want->file, f->why);
        assert_true(f->ok);
        assert_int_equal(f->kernels, want->kernels);
        assert_int_equal(f->memcpys, want->memcpys);
        assert_int_equal(f->memsets, want->memsets);
        assert_int_equal(f->launches, want->launches);
        assert_int_equal(f->n_ranges, want->ranges < READ_ROWS_MAX ? want->ranges : READ_ROWS_MAX);
        assert_int_equal(kernel_ns(f), want->kernel_ns);
        /* The last process's own count; both ran the same. */
        assert_int_equal(f->totals[KREACH_TOTAL_KERNELS] * want->processes, want->kernels);
        assert_int_equal(f->n_lost + f->n_gaps, 0);
        assert_int_equal(f->sections, want->processes + 1); /* one is of `record` itself */
        assert_int_equal(f->ends, want->processes + 1);
        assert_int_equal(f->end, KREACH_END_EXIT);
        assert_string_equal(f->device_name[0], "NVIDIA H200");
        assert_int_equal(f->plain_steps, want->plain_steps);
    }
    free(f);
}

static json_t *report_of(const char *file)
{
    char command[4096];

    snprintf(command, sizeof command, "'%s' report --format json '%s/%s'", KREACH, GOLDEN, file);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    json_t *report = json_loadf(in, 0, NULL);
    assert_int_equal(pclose(in), 0);
    assert_non_null(report);
    return report;
}

static json_int_t integer(const json_t *report, const char *part, const char *key)
{
    const json_t *value = json_object_get(json_object_get(report, part), key);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    assert_non_null(text);
    return text;
}

static void a_report_needs_no_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const struct golden *want = &goldens[i];
        json_t *report = report_of(want->file);
        const json_t *families = json_object_get(report, "families");

        assert_string_equal(string(json_object_get(report, "completeness"), "status"), "complete");
        assert_int_equal(integer(report, "completeness", "kept"),
                         want->kernels + want->memcpys + want->memsets);
        assert_int_equal(integer(report, "completeness", "rejected"), 0);
        assert_int_equal(integer(report, "window", "steps"), want->steps);
        assert_non_null(strstr(string(json_object_get(report, "window"), "how"), want->how));
        assert_float_equal(json_real_value(json_object_get(json_object_get(report, "verdict"),
                                                           "addressable_frac")),
                           want->addressable_frac, 0.0001);
        for (size_t k = 0; k < 2; k++)
            assert_string_equal(string(json_array_get(families, k), "family"), want->families[k]);
        json_decref(report);
    }
}

/* Step times of a second, plain run are in the file; they are the whole without any option. */
static void a_recorded_plain_step_is_used_where_there_is_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GOLDENS; i++) {
        json_t *report = report_of(goldens[i].file);
        const json_t *step = json_object_get(report, "true_step");

        if (goldens[i].plain_steps == 0) {
            assert_false(json_is_object(step));
        } else {
            assert_int_equal(integer(report, "true_step", "steps"), goldens[i].plain_steps);
            assert_int_equal(integer(report, "true_step", "plain_ns"), 11074281);
        }
        json_decref(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_of_the_gpu_is_found),
        cmocka_unit_test(a_report_needs_no_options),
        cmocka_unit_test(a_recorded_plain_step_is_used_where_there_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The context: ownership, errors, dtypes, the way to the host and back. */
#include "shim_samples.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void context_knows_its_device_and_torch(void **state)
{
    struct kr_at *at = *state;

    assert_string_equal(kr_at_device_name(at), "cpu");
    assert_int_equal(kr_at_device(at), KR_CPU);
    assert_in_range(kr_at_torch_version()[0], '2', '9');
}

static void cuda_context_needs_a_device(void **state)
{
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CUDA, &err);

    (void)state;
    assert_int_equal(at != NULL, kr_at_cuda_count() > 0);
    assert_int_equal(err.code, at ? KR_OK : KR_EENV);
    kr_at_close(at);
}

static void torchs_words_are_kept(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *a = kr_at_zeros(at, KR_F32, KR_DIMS(2, 3));

    assert_null(kr_at_matmul(at, a, a));
    assert_error(at, KR_EARG, "shapes cannot be multiplied (2x3 and 2x3)");
}

static void first_error_stays_and_later_calls_do_nothing(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *a = kr_at_zeros(at, KR_F32, KR_DIMS(2, 3));
    double out[6] = { 7 };

    assert_null(kr_at_matmul(at, a, a));
    assert_null(kr_at_add(at, a, a));
    assert_false(kr_at_fill(at, a, 1));
    assert_null(kr_at_view(at, a, KR_DIMS(5)));
    assert_false(kr_at_to_host(at, a, out, 6));
    assert_false(kr_at_fail(at, KR_EINPUT, "of the caller's own"));
    assert_true(out[0] == 7);
    assert_error(at, KR_EARG, "kr_at_matmul");
    assert_true(kr_at_to_host(at, a, out, 6));
    assert_true(out[0] == 0);
}

static void callers_error_stops_calls_too(void **state)
{
    struct kr_at *at = *state;

    assert_true(kr_at_ok(at));
    assert_null(kr_at_error(at));
    assert_false(kr_at_fail(at, KR_EINPUT, "layer %d is odd", 3));
    assert_false(kr_at_ok(at));
    assert_null(kr_at_zeros(at, KR_F32, KR_DIMS(1)));
    assert_error(at, KR_EINPUT, "layer 3 is odd");
}

static void null_is_an_error_where_a_tensor_is_needed(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *a = kr_at_zeros(at, KR_F32, KR_DIMS(2, 2));
    const struct kr_tensor *list[2] = { a, NULL };

    assert_null(kr_at_linear(at, a, NULL, NULL));
    assert_error(at, KR_EARG, "kr_at_linear: a tensor is NULL");
    assert_null(kr_at_cat(at, list, 2, 0));
    assert_error(at, KR_EARG, "kr_at_cat: a tensor is NULL");
    assert_null(kr_at_cat(at, NULL, 1, 0));
    assert_error(at, KR_EARG, "a list of tensors is NULL");
    assert_null(kr_at_index(at, a, NULL, 1));
    assert_error(at, KR_EARG, "list of indices is NULL");
    assert_null(kr_at_zeros(at, KR_F32, NULL, 1));
    assert_error(at, KR_EARG, "a shape is NULL");
    assert_null(kr_at_from_host(at, KR_F32, NULL, KR_DIMS(1)));
    assert_error(at, KR_EARG, "the data is NULL");
}

static void without_a_context_nothing_happens(void **state)
{
    (void)state;
    assert_false(kr_at_ok(NULL));
    assert_null(kr_at_error(NULL));
    assert_null(kr_at_zeros(NULL, KR_F32, KR_DIMS(1)));
    assert_false(kr_at_synchronize(NULL));
    kr_at_scope_open(NULL);
    kr_at_scope_close(NULL);
    kr_at_clear_error(NULL);
    kr_at_close(NULL);
    kr_tensor_free(NULL);
    kr_optim_free(NULL);
    kr_stream_free(NULL);
    kr_graph_free(NULL);
}

static void shapes_and_dtypes_are_checked(void **state)
{
    struct kr_at *at = *state;

    assert_null(kr_at_zeros(at, (enum kr_dtype)99, KR_DIMS(1)));
    assert_error(at, KR_EARG, "no such dtype");
    assert_null(kr_at_zeros(at, KR_F32, KR_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)));
    assert_error(at, KR_EARG, "too many dimensions");
    assert_null(kr_at_zeros(at, KR_F32, KR_DIMS(-1)));
    assert_error(at, KR_EARG, "non-negative");
    assert_null(kr_at_from_host(at, KR_F32, "", KR_DIMS(-1)));
    assert_error(at, KR_EARG, "negative dimension");
    assert_null(kr_at_from_host(at, KR_F32, "", KR_DIMS(INT64_MAX, INT64_MAX)));
    assert_error(at, KR_EARG, "the shape is too large");
    assert_null(kr_at_empty(at, KR_F32, KR_DIMS((int64_t)1 << 62)));
    assert_error(at, KR_EARG, "overflow");
    assert_null(kr_at_empty(at, KR_F32, KR_DIMS((int64_t)1 << 50)));
    assert_error(at, KR_ENOMEM, "allocate");
}

static void scope_frees_what_was_made_in_it(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *outer = kr_at_full(at, KR_F32, 1, KR_DIMS(1)), *kept, *returned;
    double x = 0;

    kr_at_scope_open(at);
    kr_at_add_scalar(at, outer, 1);
    kept = kr_at_keep(at, kr_at_add_scalar(at, outer, 2));
    kr_at_scope_open(at);
    returned = kr_at_scope_return(at, kr_at_view(at, kept, KR_DIMS(1, 1)));
    returned = kr_at_scope_return(at, returned);
    assert_true(kr_at_item(at, kept, &x) && x == 3);
    kr_tensor_free(kept);
    assert_true(kr_at_item(at, returned, &x) && x == 3);
    assert_true(kr_at_item(at, outer, &x) && x == 1);
    assert_null(kr_at_scope_return(at, (kr_at_scope_open(at), NULL)));
    kr_at_scope_open(at);
    outer = kr_at_scope_replace(at, outer, kr_at_add_scalar(at, outer, 4));
    assert_true(kr_at_item(at, outer, &x) && x == 5);
    kr_at_scope_open(at);
    assert_null(kr_at_scope_replace(at, outer, NULL));
    assert_null(kr_at_keep(at, NULL));
}

static void tensor_of_a_scope_may_be_freed_early(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *first = kr_at_zeros(at, KR_F32, KR_DIMS(2));
    struct kr_tensor *second = kr_at_zeros(at, KR_F32, KR_DIMS(2));

    kr_tensor_free(first);
    assert_int_equal(kr_tensor_numel(second), 2);
}

static void kept_tensor_outlives_its_context(void **state)
{
    struct kr_err err = { 0 };
    struct kr_at *at = kr_at_open(KR_CPU, &err);
    struct kr_tensor *t = kr_at_keep(at, kr_at_full(at, KR_F32, 5, KR_DIMS(2)));
    double v[2] = { 0 };

    kr_at_close(at);
    assert_true(kr_at_to_host(*state, t, v, 2));
    assert_true(v[0] == 5 && v[1] == 5);
    kr_tensor_free(t);
}

static void scopes_work_after_an_error(void **state)
{
    struct kr_at *at = *state;

    kr_at_fail(at, KR_EINPUT, "early");
    kr_at_scope_open(at);
    kr_at_clear_error(at);
    kr_at_zeros(at, KR_F32, KR_DIMS(1));
    kr_at_fail(at, KR_EINPUT, "late");
    kr_at_scope_close(at);
    kr_at_clear_error(at);
    kr_at_scope_close(at);
    assert_error(at, KR_EARG, "only the context's own scope");
}

static void too_many_scopes_are_an_error_but_stay_paired(void **state)
{
    struct kr_at *at = *state;

    for (int i = 0; i < 100; i++)
        kr_at_scope_open(at);
    assert_error(at, KR_ENOMEM, "scopes");
    kr_at_zeros(at, KR_F32, KR_DIMS(1));
    for (int i = 0; i < 100; i++)
        kr_at_scope_close(at);
    assert_true(kr_at_ok(at));
    kr_at_scope_close(at);
    assert_error(at, KR_EARG, "only the context's own scope");
}

static void every_dtype_goes_to_torch_and_back(void **state)
{
    static const float f32[] = { 1.5f, 0 };
    static const double f64[] = { 1.5, 0 };
    static const uint16_t f16[] = { 0x3e00, 0 }, bf16[] = { 0x3fc0, 0 };
    static const int64_t i64[] = { INT32_MAX + 1LL, -1 };
    static const int32_t i32[] = { 70000, -1 };
    static const uint8_t u8[] = { 255, 1 }, boolean[] = { 1, 0 };
    const struct {
        enum kr_dtype dtype;
        const void *data;
        double expected[2];
    } cases[] = {
        { KR_F32, f32, { 1.5, 0 } },     { KR_F64, f64, { 1.5, 0 } },
        { KR_F16, f16, { 1.5, 0 } },     { KR_BF16, bf16, { 1.5, 0 } },
        { KR_I64, i64, { 0x1p31, -1 } }, { KR_I32, i32, { 70000, -1 } },
        { KR_U8, u8, { 255, 1 } },       { KR_BOOL, boolean, { 1, 0 } },
    };
    struct kr_at *at = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct kr_tensor *t = kr_at_from_host(at, cases[i].dtype, cases[i].data, KR_DIMS(2));

        assert_int_equal(kr_tensor_dtype(t), cases[i].dtype);
        assert_int_equal(kr_tensor_device(t), KR_CPU);
        assert_tensor(at, t, cases[i].expected, KR_DIMS(2));
    }
}

static void from_host_copies(void **state)
{
    struct kr_at *at = *state;
    double data[2] = { 1, 2 };
    struct kr_tensor *t = kr_at_from_host(at, KR_F64, data, KR_DIMS(2));

    data[0] = 9;
    assert_tensor(at, t, (double[]){ 1, 2 }, KR_DIMS(2));
    assert_tensor(at, kr_at_from_host(at, KR_F64, NULL, KR_DIMS(0)), NULL, KR_DIMS(0));
    assert_tensor(at, kr_at_from_host(at, KR_F64, data, NULL, 0), (double[]){ 9 }, NULL, 0);
}

static void to_host_is_row_major_and_checks_the_length(void **state)
{
    struct kr_at *at = *state;
    struct sample x = sample_new(at, 1, KR_DIMS(2, 3));
    struct kr_tensor *t = kr_at_transpose(at, x.t, 0, 1);
    double out[6];

    assert_true(kr_at_to_host(at, t, out, 6));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            assert_true(out[i * 2 + j] == x.v[j * 3 + i]);
    assert_false(kr_at_to_host(at, t, out, 5));
    assert_error(at, KR_EARG, "number of elements");
}

static void item_needs_one_element(void **state)
{
    struct kr_at *at = *state;
    double x = 0;

    assert_true(kr_at_item(at, kr_at_full(at, KR_I64, -7, KR_DIMS(1, 1)), &x));
    assert_true(x == -7);
    assert_false(kr_at_item(at, kr_at_zeros(at, KR_F32, KR_DIMS(2)), &x));
    assert_error(at, KR_EARG, "kr_at_item");
}

static void looking_at_a_tensor_never_fails(void **state)
{
    struct kr_at *at = *state;
    struct kr_tensor *t = kr_at_zeros(at, KR_U8, KR_DIMS(2, 3, 4));

    assert_int_equal(kr_tensor_ndim(t), 3);
    assert_int_equal(kr_tensor_numel(t), 24);
    assert_int_equal(kr_tensor_dim(t, 2), 4);
    assert_int_equal(kr_tensor_dim(t, -3), 2);
    assert_int_equal(kr_tensor_dim(t, 3), 0);
    assert_int_equal(kr_tensor_dim(t, -4), 0);
    assert_int_equal(kr_tensor_ndim(NULL), 0);
    assert_int_equal(kr_tensor_dim(NULL, 0), 0);
    assert_int_equal(kr_tensor_numel(NULL), 0);
    assert_int_equal(kr_tensor_dtype(NULL), KR_F32);
    assert_int_equal(kr_tensor_device(NULL), KR_CPU);
}

static void all_finite_sees_nan_and_infinity(void **state)
{
    static const struct {
        double v[3];
        bool finite;
    } cases[] = {
        { { 1, 2, 3 }, true },
        { { 1, NAN, 3 }, false },
        { { 1, 2, -INFINITY }, false },
    };
    struct kr_at *at = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        bool finite = !cases[i].finite;

        assert_true(kr_at_all_finite(at, tensor_of(at, cases[i].v, 3), &finite));
        assert_int_equal(finite, cases[i].finite);
    }
}

static void relative_error_is_of_the_whole_tensor(void **state)
{
    static const struct {
        double a[2], b[2], expected;
    } cases[] = {
        { { 3, 4 }, { 3, 4 }, 0 },
        { { 3, 4 }, { 0, 5 }, 0.63245553203367587 }, /* sqrt(10) / 5 */
        { { 0, 0 }, { 0, 0 }, 0 },
        { { 1, 0 }, { 0, 0 }, INFINITY },
        { { NAN, 0 }, { 1, 0 }, NAN },
    };
    struct kr_at *at = *state;
    double e = -1;

    for (size_t i = 0; i < COUNT(cases); i++) {
        const double expected = cases[i].expected;

        assert_true(kr_at_relative_error(at, tensor_of(at, cases[i].a, 2),
                                         tensor_of(at, cases[i].b, 2), &e));
        assert_true(isnan(expected) ? isnan(e) : e == expected || fabs(e - expected) < 1e-15);
    }
    assert_true(kr_at_relative_error(at, kr_at_full(at, KR_BF16, 2, KR_DIMS(3)),
                                     kr_at_full(at, KR_I64, 2, KR_DIMS(3)), &e));
    assert_true(e == 0);
    assert_false(kr_at_relative_error(at, kr_at_zeros(at, KR_F32, KR_DIMS(2)),
                                      kr_at_zeros(at, KR_F32, KR_DIMS(1)), &e));
    assert_error(at, KR_EARG, "the shapes differ");
}

static void same_seed_gives_same_numbers(void **state)
{
    struct kr_at *at = *state;
    double v[2][64], again[64];

    for (uint64_t seed = 0; seed < 2; seed++) {
        assert_true(kr_at_manual_seed(at, seed));
        assert_true(kr_at_to_host(at, kr_at_randn(at, KR_F32, 1, KR_DIMS(64)), v[seed], 64));
    }
    assert_true(kr_at_manual_seed(at, 1));
    assert_true(kr_at_to_host(at, kr_at_randn(at, KR_F32, 1, KR_DIMS(64)), again, 64));
    assert_memory_equal(again, v[1], sizeof again);
    assert_memory_not_equal(again, v[0], sizeof again);
}

static void settings_work_on_a_cpu(void **state)
{
    struct kr_at *at = *state;

    assert_true(kr_at_set_threads(at, 1));
    assert_true(kr_at_allow_tf32(at, true));
    assert_true(kr_at_allow_tf32(at, false));
    assert_true(kr_at_synchronize(at));
    assert_false(kr_at_set_threads(at, 0));
    assert_error(at, KR_EARG, "positive");
    kr_nvtx_push("outside any profiler");
    kr_nvtx_pop();
}

static void what_needs_cuda_says_so(void **state)
{
    struct kr_at *at = *state;
    struct kr_at_memory memory;

    assert_false(kr_at_memory(at, &memory));
    assert_error(at, KR_EENV, "kr_at_memory: this needs a CUDA device");
    assert_false(kr_at_memory_reset_peak(at));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_null(kr_at_stream(at));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_false(kr_at_use_stream(at, NULL));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_false(kr_at_wait_stream(at, NULL));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_false(kr_at_synchronize_stream(at, NULL));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_null(kr_at_graph_begin(at));
    assert_error(at, KR_EENV, "needs a CUDA device");
    assert_false(kr_at_graph_end(at, NULL));
    assert_error(at, KR_EARG, "no capture has begun");
    assert_false(kr_at_graph_replay(at, NULL));
    assert_error(at, KR_EARG, "the graph is NULL");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(context_knows_its_device_and_torch),
        TEST(cuda_context_needs_a_device),
        TEST(torchs_words_are_kept),
        TEST(first_error_stays_and_later_calls_do_nothing),
        TEST(callers_error_stops_calls_too),
        TEST(null_is_an_error_where_a_tensor_is_needed),
        TEST(without_a_context_nothing_happens),
        TEST(shapes_and_dtypes_are_checked),
        TEST(scope_frees_what_was_made_in_it),
        TEST(tensor_of_a_scope_may_be_freed_early),
        TEST(kept_tensor_outlives_its_context),
        TEST(scopes_work_after_an_error),
        TEST(too_many_scopes_are_an_error_but_stay_paired),
        TEST(every_dtype_goes_to_torch_and_back),
        TEST(from_host_copies),
        TEST(to_host_is_row_major_and_checks_the_length),
        TEST(item_needs_one_element),
        TEST(looking_at_a_tensor_never_fails),
        TEST(all_finite_sees_nan_and_infinity),
        TEST(relative_error_is_of_the_whole_tensor),
        TEST(same_seed_gives_same_numbers),
        TEST(settings_work_on_a_cpu),
        TEST(what_needs_cuda_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "shim_samples.h"

#include "assertions.h"

#include <math.h>
#include <string.h>

struct sample sample_new(struct kr_at *at, unsigned seed, const int64_t shape[], size_t ndim)
{
    uint64_t x = 0x9e3779b97f4a7c15u * (seed + 1);
    struct sample s = { .n = 1 };

    for (size_t i = 0; i < ndim; i++)
        s.n *= (size_t)shape[i];
    assert_true(s.n <= SAMPLE_MAX);
    for (size_t i = 0; i < s.n; i++) {
        x ^= x >> 12; /* xorshift64*, Vigna 2016 */
        x ^= x << 25;
        x ^= x >> 27;
        s.v[i] = (double)(x * 0x2545f4914f6cdd1du >> 11) * 0x1p-52 - 1;
    }
    s.t = kr_at_from_host(at, KR_F64, s.v, shape, ndim);
    return s;
}

struct kr_tensor *tensor_of(struct kr_at *at, const double v[], size_t n)
{
    return kr_at_from_host(at, KR_F64, v, KR_DIMS((int64_t)n));
}

struct kr_tensor *indices_of(struct kr_at *at, const int64_t v[], size_t n)
{
    return kr_at_from_host(at, KR_I64, v, KR_DIMS((int64_t)n));
}

static void assert_no_error(const struct kr_at *at)
{
    if (!kr_at_ok(at))
        fail_msg("%s", kr_at_error(at)->msg);
}

void assert_tensor(struct kr_at *at, const struct kr_tensor *t, const double expected[],
                   const int64_t shape[], size_t ndim)
{
    double got[SAMPLE_MAX];
    size_t n = 1;

    assert_no_error(at);
    assert_int_equal(kr_tensor_ndim(t), ndim);
    for (size_t i = 0; i < ndim; i++) {
        assert_int_equal(kr_tensor_dim(t, (int)i), shape[i]);
        n *= (size_t)shape[i];
    }
    assert_true(n <= SAMPLE_MAX);
    assert_true(kr_at_to_host(at, t, got, n));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - expected[i]) <= 1e-12 * fmax(1, fabs(expected[i]))))
            fail_msg("element %zu is %.17g, not %.17g", i, got[i], expected[i]);
}

void assert_error(struct kr_at *at, enum kr_code code, const char *words)
{
    const struct kr_err *err = kr_at_error(at);

    assert_non_null(err);
    assert_int_equal(err->code, code);
    if (!strstr(err->msg, words))
        fail_msg("'%s' is not in: %s", words, err->msg);
    assert_null(strchr(err->msg, '\n'));
    kr_at_clear_error(at);
}

int open_context(void **state)
{
    struct kr_err err = { 0 };

    *state = kr_at_open(KR_CPU, &err);
    return *state && kr_at_manual_seed(*state, 1) ? 0 : -1;
}

int close_context(void **state)
{
    const bool ok = kr_at_ok(*state);

    kr_at_close(*state);
    return ok ? 0 : -1;
}

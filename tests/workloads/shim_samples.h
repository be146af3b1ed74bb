/* Small tensors with known values, for tests of the shim. */
#ifndef KR_SHIM_SAMPLES_H
#define KR_SHIM_SAMPLES_H

#include "aten_shim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SAMPLE_MAX = 512 };

/** A float64 tensor of at most SAMPLE_MAX elements, and its values row by row. */
struct sample {
    struct kr_tensor *t;
    double v[SAMPLE_MAX];
    size_t n;
};

/** Values between -1 and 1, which differ with the seed. */
struct sample sample_new(struct kr_at *at, unsigned seed, const int64_t shape[], size_t ndim);

/** A tensor of one dimension. */
struct kr_tensor *tensor_of(struct kr_at *at, const double v[], size_t n);
struct kr_tensor *indices_of(struct kr_at *at, const int64_t v[], size_t n);

/**
 * That t has this shape and these values. An oracle adds fewer than 100 terms of size 1 in double,
 * so that it and torch differ by less than 100 * 2^-53 = 1e-14; 1e-12 leaves room for a few ulp in
 * exp or tanh, and no wrong formula comes that near.
 */
void assert_tensor(struct kr_at *at, const struct kr_tensor *t, const double expected[],
                   const int64_t shape[], size_t ndim);

/** That the context has this error, with these words in it; clears it. */
void assert_error(struct kr_at *at, enum kr_code code, const char *words);

/** A cmocka setup and teardown: *state is an open CPU context. No error may be left at the end. */
int open_context(void **state);
int close_context(void **state);

#endif

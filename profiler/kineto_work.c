#include "kineto_work.h"

#include <string.h>

#include "ascii.h"
#include "json_value.h"
#include "mem.h"

enum { MAX_INPUTS = 12, MAX_DIMS = 8 };

struct shape {
    double dim[MAX_DIMS];
    int n; /* -1: not one tensor */
};

enum formula { PRODUCT, CONVOLUTION };

/* `first` is the input that holds the first factor; strides and so on follow for convolutions at
 * the places of Concrete Inputs given (-1: the op has none). */
#define NAME(text) text, sizeof text - 1

static const struct op {
    const char *name;
    size_t len;
    enum formula formula;
    int first;
    int stride, padding, dilation, transposed;
} ops[] = {
    { NAME("aten::mm"), PRODUCT, 0, 0, 0, 0, 0 },
    { NAME("aten::bmm"), PRODUCT, 0, 0, 0, 0, 0 },
    { NAME("aten::matmul"), PRODUCT, 0, 0, 0, 0, 0 },
    { NAME("aten::linear"), PRODUCT, 0, 0, 0, 0, 0 },
    { NAME("aten::_scaled_mm"), PRODUCT, 0, 0, 0, 0, 0 },
    { NAME("aten::addmm"), PRODUCT, 1, 0, 0, 0, 0 },
    { NAME("aten::baddbmm"), PRODUCT, 1, 0, 0, 0, 0 },
    { NAME("aten::convolution"), CONVOLUTION, 0, 3, 4, 5, 6 },
    { NAME("aten::_convolution"), CONVOLUTION, 0, 3, 4, 5, 6 },
    { NAME("aten::cudnn_convolution"), CONVOLUTION, 0, 3, 2, 4, -1 },
    { NAME("aten::miopen_convolution"), CONVOLUTION, 0, 4, 3, 5, -1 },
};

static const struct {
    const char *name;
    double bytes;
} types[] = {
    { "c10::BFloat16", 2 },
    { "c10::Half", 2 },
    { "float", 4 },
    { "double", 8 },
    { "signed char", 1 },
    { "unsigned char", 1 },
    { "int", 4 },
    { "long int", 8 },
    { "c10::Float8_e4m3fn", 1 },
    { "c10::Float8_e5m2", 1 },
    { "c10::complex<float>", 8 },
};

static const struct op *find_op(const char *name, size_t len)
{
    for (size_t i = 0; i < KR_COUNT(ops); i++) {
        if (ops[i].len == len && memcmp(ops[i].name, name, len) == 0)
            return &ops[i];
    }
    return NULL;
}

bool kr_kineto_has_work(const char *op, size_t len)
{
    return find_op(op, len) != NULL;
}

/* Reads "[[4, 8], [], [[1], [2]]]"; returns the number of inputs, 0 for anything else. */
static int read_shapes(struct kr_json_span list, struct shape *shapes)
{
    int depth = 0;
    int n = 0;
    size_t i = 0;

    while (i < list.len) {
        char c = list.p[i];
        size_t start = i;
        int64_t value;

        if (c == '[' && ++depth == 2) {
            if (n == MAX_INPUTS)
                return 0;
            shapes[n++].n = 0;
        } else if (c == '[' && depth > 2) {
            shapes[n - 1].n = -1;
        } else if (c == ']') {
            depth--;
        }
        i++;
        if (c < '0' || c > '9')
            continue;
        while (i < list.len && kr_is_digit(list.p[i]))
            i++;
        if (depth != 2 || shapes[n - 1].n < 0)
            continue;
        if (shapes[n - 1].n == MAX_DIMS ||
            kr_json_int(list.p + start, i - start, &value) != KR_JSON_OK)
            return 0;
        shapes[n - 1].dim[shapes[n - 1].n++] = (double)value;
    }
    return depth == 0 ? n : 0;
}

/* The index-th string of a list of strings; "" where there is none. */
static struct kr_json_span string_at(struct kr_json_span list, int index)
{
    size_t i = 0;

    for (int at = 0; i < list.len; at++) {
        const char *open = memchr(list.p + i, '"', list.len - i);
        const char *close;

        if (!open)
            break;
        i = (size_t)(open - list.p) + 1;
        close = memchr(list.p + i, '"', list.len - i);
        if (!close)
            break;
        if (at == index)
            return (struct kr_json_span){ open + 1, (size_t)(close - open) - 1 };
        i = (size_t)(close - list.p) + 1;
    }
    return (struct kr_json_span){ "", 0 };
}

/* A list such as "[2, 2]" into n values; a single value stands for all. */
static bool read_list(struct kr_json_span text, int n, double *values)
{
    struct shape shape = { .n = 0 };
    size_t i = 0;

    while (i < text.len) {
        size_t start = i;
        int64_t value;

        if (text.p[i] < '0' || text.p[i] > '9') {
            if (text.p[i] == '-')
                return false;
            i++;
            continue;
        }
        while (i < text.len && kr_is_digit(text.p[i]))
            i++;
        if (shape.n == MAX_DIMS || kr_json_int(text.p + start, i - start, &value) != KR_JSON_OK)
            return false;
        shape.dim[shape.n++] = (double)value;
    }
    if (shape.n != 1 && shape.n != n)
        return false;
    for (int d = 0; d < n; d++)
        values[d] = shape.dim[shape.n == 1 ? 0 : d];
    return true;
}

static double elements(const struct shape *s)
{
    double n = 1;

    for (int d = 0; d < s->n; d++)
        n *= s->dim[d];
    return n;
}

/* [..., M, K] x [K, N] or, for linear, [..., K] x [N, K]; or two stacks of equal size. */
static bool product_work(const struct shape *a, const struct shape *b, bool transposed,
                         double *flop, double *out)
{
    double stack = 1;
    double k, n;

    if (a->n < 2 || b->n < 2)
        return false;
    k = b->dim[b->n - (transposed ? 1 : 2)];
    n = b->dim[b->n - (transposed ? 2 : 1)];
    if (a->dim[a->n - 1] != k)
        return false;
    if (b->n > 2) {
        if (a->n != b->n)
            return false;
        for (int d = 0; d < b->n - 2; d++) {
            if (a->dim[d] != b->dim[d])
                return false;
            stack *= a->dim[d];
        }
    }
    *out = elements(a) / (k > 0 ? k : 1) * n;
    *flop = 2 * *out * k;
    return stack > 0 && k > 0;
}

/* x [N, C, H...] and w [K, C/groups, R...]. */
static bool convolution_work(const struct op *op, const struct shape *x, const struct shape *w,
                             struct kr_json_span concrete, double *flop, double *out)
{
    double stride[MAX_DIMS], padding[MAX_DIMS], dilation[MAX_DIMS];
    int n = x->n - 2;

    if (n < 1 || w->n != x->n || w->dim[1] <= 0)
        return false;
    if (op->transposed >= 0) {
        struct kr_json_span transposed = string_at(concrete, op->transposed);

        if (transposed.len != 5 || memcmp(transposed.p, "False", 5) != 0)
            return false;
    }
    if (!read_list(string_at(concrete, op->stride), n, stride) ||
        !read_list(string_at(concrete, op->padding), n, padding) ||
        !read_list(string_at(concrete, op->dilation), n, dilation))
        return false;
    *out = x->dim[0] * w->dim[0];
    for (int d = 0; d < n; d++) {
        double reach = dilation[d] * (w->dim[d + 2] - 1) + 1;
        double room = x->dim[d + 2] + 2 * padding[d] - reach;

        if (stride[d] <= 0 || room < 0)
            return false;
        *out *= (double)(int64_t)(room / stride[d]) + 1;
    }
    *flop = 2 * *out * elements(w) / w->dim[0];
    return w->dim[0] > 0;
}

static double type_bytes(struct kr_json_span type)
{
    for (size_t i = 0; i < KR_COUNT(types); i++) {
        if (strlen(types[i].name) == type.len && memcmp(types[i].name, type.p, type.len) == 0)
            return types[i].bytes;
    }
    return 0;
}

/* Traffic when every input has the output's type, which _scaled_mm's have not. */
static double traffic(const struct kr_kineto_inputs *in, const struct shape *shapes, int n,
                      double out)
{
    struct kr_json_span first = string_at(in->types, 0);
    double size = type_bytes(first);
    double total = out * size;

    for (int i = 0; i < n; i++) {
        struct kr_json_span type = string_at(in->types, i);

        if (shapes[i].n <= 0)
            continue; /* a scalar or an absent tensor */
        if (type.len != first.len || memcmp(type.p, first.p, first.len) != 0)
            return 0;
        total += elements(&shapes[i]) * size;
    }
    return total;
}

bool kr_kineto_work(const char *op_name, size_t len, const struct kr_kineto_inputs *inputs,
                    struct kr_kineto_work *work)
{
    const struct op *op = find_op(op_name, len);
    struct shape shapes[MAX_INPUTS] = { 0 };
    double out = 0;
    bool known;
    int n;

    memset(work, 0, sizeof *work);
    if (!op || !inputs->dims.p || !inputs->types.p)
        return false;
    n = read_shapes(inputs->dims, shapes);
    if (n < op->first + 2)
        return false;
    if (op->formula == PRODUCT)
        known = product_work(&shapes[op->first], &shapes[op->first + 1],
                             strcmp(op->name, "aten::linear") == 0, &work->flop, &out);
    else
        known = convolution_work(op, &shapes[0], &shapes[1], inputs->concrete, &work->flop, &out);
    if (!known) {
        work->flop = 0;
        return false;
    }
    work->dtype = string_at(inputs->types, op->first);
    if (strcmp(op->name, "aten::_scaled_mm") != 0)
        work->bytes = traffic(inputs, shapes, n, out);
    return true;
}

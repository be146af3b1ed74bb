#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "mem.h"

/* A piece of the normalised name. */
struct piece {
    const char *at;
    size_t len;
};

static bool is_ident(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool one_of(struct piece p, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p.len == strlen(list[i]) && memcmp(p.at, list[i], p.len) == 0)
            return true;
    return false;
}

static bool contains(struct piece p, const char *text)
{
    return memmem(p.at, p.len, text, strlen(text)) != NULL;
}

/* Launch wrappers that say nothing by themselves: the payload stands in for them. */
static bool is_wrapper(struct piece base)
{
    static const char *const names[] = { "Kernel",       "Kernel2",       "device_kernel",
                                         "kentry",       "KernelSm90",    "trampoline_kernel",
                                         "kernel_entry", "_kernel_agent", "EigenMetaKernel" };

    return one_of(base, names, KR_COUNT(names));
}

/* Kernels whose functor is what they compute. */
static bool is_container(struct piece base)
{
    static const char *const names[] = { "reduce_kernel", "multi_tensor_apply_kernel",
                                         "kernel_agent", "CatArrayBatchedCopy" };

    return contains(base, "elementwise") || one_of(base, names, KR_COUNT(names));
}

/* Identifiers that carry no meaning for a reader: types, adaptors, helpers. */
static bool is_noise(struct piece id)
{
    static const char *const names[] = {
        "float",
        "double",
        "int",
        "long",
        "short",
        "char",
        "bool",
        "unsigned",
        "signed",
        "void",
        "half",
        "Half",
        "__half",
        "BFloat16",
        "__nv_bfloat16",
        "bfloat16_t",
        "half_t",
        "int64_t",
        "int32_t",
        "uint8_t",
        "true",
        "false",
        "const",
        "gpu_kernel_impl",
        "gpu_kernel_impl_nocast",
        "BinaryFunctor",
        "AUnaryFunctor",
        "BUnaryFunctor",
        "ReduceOp",
        "func_wrapper_t",
        "TensorListMetadata",
        "TensorListScalarListMetadata",
        "FusedOptimizerTensorListMetadata",
        "TensorEvaluator",
        "TensorAssignOp",
        "TensorMap",
        "Tensor",
        "MakePointer",
        "opmath_symmetric_gpu_kernel_with_scalars",
        "enable_sm90_or_later",
        "enable_sm80_to_sm89",
        "enable_3x_kernel_for_sm9x",
        "enable_3x_kernel_for_sm90_or_later",
        "conv",
        "default_config",
        "gpu_index_kernel",
    };

    return isdigit((unsigned char)id.at[0]) || one_of(id, names, KR_COUNT(names));
}

static size_t skip_ident(const char *s, size_t len, size_t i)
{
    while (i < len && is_ident(s[i]))
        i++;
    return i;
}

/* The first meaningful identifier inside the template arguments; empty when there is none. */
static struct piece find_functor(struct piece args)
{
    size_t i = 0;

    while (i < args.len) {
        struct piece id = { args.at + i, 0 };
        size_t end = skip_ident(args.at, args.len, i);

        if (end == i) {
            i++;
            continue;
        }
        id.len = end - i;
        i = end;
        if (i + 1 < args.len && args.at[i] == ':' && args.at[i + 1] == ':')
            continue; /* a namespace */
        if (contains(id, "anonymous") || (id.len == 9 && memcmp(id.at, "namespace", 9) == 0))
            continue;
        if (!is_noise(id))
            return id;
    }
    return (struct piece){ args.at, 0 };
}

/* Splits "a::b::base<args>..." at the first "<". */
static void split(const char *name, struct piece *path, struct piece *args)
{
    size_t len = strlen(name);
    size_t at = strcspn(name, "<");
    size_t skip = at < len ? at + 1 : len;

    *path = (struct piece){ name, at };
    *args = (struct piece){ name + skip, len - skip };
}

/* Last part of a path; a part that says nothing ("kernel", "run") takes the one before it along. */
static struct piece last_part(struct piece path)
{
    static const char *const vague[] = { "kernel", "run", "run_global", "globalKernel" };
    struct piece base = path;
    size_t end = path.len;
    bool again = true;

    while (again) {
        size_t i = end;

        while (i >= 2 && !(path.at[i - 1] == ':' && path.at[i - 2] == ':'))
            i--;
        if (i < 2)
            return path;
        base = (struct piece){ path.at + i, path.len - i };
        again = one_of((struct piece){ path.at + i, end - i }, vague, KR_COUNT(vague));
        end = i - 2;
    }
    return base;
}

static char *shorten(char *text, size_t max_len)
{
    size_t len = strlen(text);
    size_t head;
    size_t tail;

    if (len <= max_len)
        return text;
    head = (max_len - 2) * 2 / 3;
    tail = max_len - 2 - head;
    memcpy(text + head, "..", 2);
    memmove(text + head + 2, text + len - tail, tail);
    text[max_len] = '\0';
    return text;
}

char *kr_kernel_name_short(const char *normalised, size_t max_len, struct kr_err *err)
{
    struct piece path, args, base, functor;
    char *out;
    size_t n;

    split(normalised, &path, &args);
    base = last_part(path);
    functor = find_functor(args);
    if (is_wrapper(base) && functor.len) {
        base = functor;
        functor.len = 0;
    } else if (!is_container(base)) {
        functor.len = 0;
    }
    out = kr_xcalloc(base.len + functor.len + 3, 1, err);
    if (!out)
        return NULL;
    memcpy(out, base.at, base.len);
    n = base.len;
    if (functor.len) {
        out[n++] = '<';
        memcpy(out + n, functor.at, functor.len);
        n += functor.len;
        out[n++] = '>';
    }
    return shorten(out, max_len < 16 ? 16 : max_len);
}

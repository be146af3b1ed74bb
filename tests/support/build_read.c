#include "build_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import_kreach.h"

struct kr_timeline *read_build(struct kr_build *b)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_kreach("t.kreach", b->file.data, b->file.len, &err);

    if (!t)
        fail_msg("%s", err.msg);
    kr_build_free(b);
    return t;
}

uint64_t warned(const struct kr_timeline *t, enum kr_warn warn)
{
    return t->warnings[warn].count;
}

void assert_only_warned(const struct kr_timeline *t, enum kr_warn warn, uint64_t count)
{
    for (size_t i = 0; i < KR_WARN_COUNT; i++) {
        const uint64_t expected = i == (size_t)warn ? count : 0;

        if (t->warnings[i].count != expected)
            print_error("%s\n", kr_warn_key((enum kr_warn)i));
        assert_int_equal(t->warnings[i].count, expected);
    }
}

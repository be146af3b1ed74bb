/* That no exception crosses the border to C, whatever its type. */
#include "aten_shim_impl.h"

extern "C" {
#include "shim_samples.h"
}

using namespace kr_shim;

namespace
{

struct of_no_known_type {
};

[[noreturn]] void throw_kind(int kind)
{
    switch (kind) {
    case 0:
        throw refusal(KR_EOUTPUT, "ours");
    case 1:
        TORCH_CHECK(false, "torch's\nwords\n");
    case 2:
        TORCH_CHECK_WITH(OutOfMemoryError, false, "full");
    case 3:
        throw std::bad_alloc();
    case 4:
        throw std::runtime_error("the library's");
    case 5:
        throw 7;
    default:
        throw of_no_known_type();
    }
}

const struct {
    kr_code code;
    const char *words;
} kinds[] = {
    { KR_EOUTPUT, "a_call: ours" },       { KR_EARG, "a_call: torch's words" },
    { KR_ENOMEM, "a_call: full" },        { KR_ENOMEM, "a_call: out of memory" },
    { KR_EENV, "a_call: the library's" }, { KR_EENV, "a_call: an exception of an unknown type" },
    { KR_EENV, "of an unknown type" },
};

void exception_of_any_kind_becomes_an_error(void **state)
{
    kr_at *at = static_cast<kr_at *>(*state);
    int kind = 0;

    for (const auto &k : kinds) {
        const auto thrower = [&]() -> at::Tensor { throw_kind(kind); };

        assert_null(make(at, "a_call", thrower));
        assert_error(at, k.code, k.words);
        assert_false(act(at, "a_call", thrower));
        assert_error(at, k.code, k.words);
        kind++;
    }
}

void calls_after_an_error_are_not_made(void **state)
{
    kr_at *at = static_cast<kr_at *>(*state);
    int calls = 0;
    const auto count = [&] {
        calls++;
        return at::Tensor();
    };

    kr_at_fail(at, KR_EINPUT, "early");
    assert_null(make(at, "a_call", count));
    assert_false(act(at, "a_call", count));
    assert_int_equal(calls, 0);
    assert_true(act_always(at, "a_call", count));
    assert_int_equal(calls, 1);
    assert_false(act_always(at, "a_call", [] { throw_kind(0); }));
    assert_error(at, KR_EINPUT, "early"); /* the first one stays */
}

/* Who holds a tensor cannot be seen from C. */
void closing_a_scope_lets_go_of_its_tensors(void **state)
{
    kr_at *at = static_cast<kr_at *>(*state);

    kr_at_scope_open(at);
    kr_at_scope_open(at);
    const at::Tensor freed = kr_at_zeros(at, KR_F32, nullptr, 0)->value;
    kr_tensor *moved = kr_at_zeros(at, KR_F32, nullptr, 0);
    const at::Tensor returned = moved->value;

    assert_int_equal(freed.use_count(), 2);
    kr_at_scope_return(at, moved);
    assert_int_equal(freed.use_count(), 1);
    assert_int_equal(returned.use_count(), 2);
    kr_at_scope_close(at);
    assert_int_equal(returned.use_count(), 1);
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exception_of_any_kind_becomes_an_error, open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(calls_after_an_error_are_not_made, open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(closing_a_scope_lets_go_of_its_tensors, open_context,
                                        close_context),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

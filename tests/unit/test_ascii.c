/* Digits and white space: every character is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ascii.h"

static void only_ten_characters_are_digits(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++)
        assert_int_equal(kr_is_digit((char)c), strchr("0123456789", c) != NULL);
    assert_false(kr_is_digit('\0'));
}

static void only_four_characters_are_white_space(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++)
        assert_int_equal(kr_is_space((char)c), strchr(" \t\r\n", c) != NULL);
    assert_false(kr_is_space('\0'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_ten_characters_are_digits),
        cmocka_unit_test(only_four_characters_are_white_space),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

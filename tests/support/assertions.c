#include "assertions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.15g is not %.15g within %g", got, expected, tolerance);
}

const char *scratch_file(const char *text)
{
    static char path[256];
    const size_t len = strlen(text);
    const char *dir = getenv("KREACH_TEST_TMP");
    int fd;

    snprintf(path, sizeof path, "%s/kreach-scratch-XXXXXX", dir ? dir : "/tmp");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    return path;
}

/* Programs by name, in the folders of PATH. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "search_path.h"

static char scratch[] = "/tmp/kreach_search.XXXXXX";
static char before[PATH_MAX];

/* In a/ "tool" is a folder and "plain" not executable; b/ has both as programs. */
static int make_places(void **state)
{
    static const char *const files[] = { "a/plain", "b/plain", "b/tool", "here" };

    (void)state;
    snprintf(before, sizeof before, "%s", getenv("PATH") ? getenv("PATH") : "");
    if (!mkdtemp(scratch) || chdir(scratch) < 0 || mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0 ||
        mkdir("a/tool", 0700) < 0)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        int fd = open(files[i], O_WRONLY | O_CREAT, i ? 0700 : 0600);

        if (fd < 0 || close(fd) < 0)
            return -1;
    }
    return 0;
}

static int remove_places(void **state)
{
    char command[64];

    (void)state;
    setenv("PATH", before, 1);
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void the_first_folder_with_an_executable_file_counts(void **state)
{
    static const struct {
        const char *path, *name, *found; /* found: NULL = nowhere */
    } cases[] = {
        { "a:b", "tool", "b/tool" },    { "a:b", "plain", "b/plain" }, { "b:a", "tool", "b/tool" },
        { "a", "tool", NULL },          { "a", "plain", NULL },        { "a::b", "here", "./here" },
        { ":b", "tool", "b/tool" },     { "b", "nothing", NULL },      { "", "here", NULL },
        { "b:none", "tool", "b/tool" },
    };
    char path[PATH_MAX];

    (void)state;
    if (geteuid() == 0 && access("a/plain", X_OK) == 0)
        skip(); /* a system where root may execute anything */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("PATH", cases[i].path, 1);
        assert_int_equal(kr_search_path(cases[i].name, path, sizeof path), cases[i].found != NULL);
        if (cases[i].found)
            assert_string_equal(path, cases[i].found);
    }
    unsetenv("PATH");
    assert_false(kr_search_path("tool", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_folder_with_an_executable_file_counts),
    };

    return cmocka_run_group_tests(tests, make_places, remove_places);
}

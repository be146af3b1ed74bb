/* Rule files and kernel names from strangers: the first byte chooses what the rest is. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_name.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one_name(const char *text)
{
    struct kr_err err = { 0 };
    char *name = kr_kernel_name_normalise(text, &err);
    char *brief = name ? kr_kernel_name_short(name, 40, &err) : NULL;

    if (!brief || strlen(brief) > 40 || strlen(name) > 3 * 65536 + 64 * strlen(text) + 64)
        abort();
    free(brief);
    free(name);
}

/* A rule file: loaded, checked and used once. */
static void one_file(const char *text, size_t len)
{
    static int fd = -1;
    static char path[32];
    const char *paths[] = { path };
    const struct kr_rules_options opt = { paths, 1, NULL, true };
    const struct kr_subject subject = { "void f<(int)4>(int)", "aten::copy_", "step", KR_KERNEL };
    struct kr_rules_check found;
    struct kr_rules *rules;
    struct kr_err err = { 0 };
    struct kr_tag tag;
    FILE *log = fopen("/dev/null", "w");

    if (fd < 0) {
        fd = memfd_create("rules", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (!log || ftruncate(fd, 0) != 0 || pwrite(fd, text, len, 0) != (ssize_t)len)
        abort();
    rules = kr_rules_load(&opt, &err);
    if (!rules && (err.code == KR_OK || err.msg[0] == '\0'))
        abort();
    if (rules && !kr_rules_match(rules, &subject, &tag, &err) && err.msg[0] == '\0')
        abort();
    if (rules && kr_rules_count(rules) < 20 && !kr_rules_check(rules, log, &found, &err) &&
        err.msg[0] == '\0')
        abort();
    kr_rules_free(rules);
    fclose(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 'R')
        one_file(text, size - 1);
    else
        one_name(text);
    free(text);
    return 0;
}

/*
 * Opens each libcupti.so that is named as libkreach.so would, which works without a GPU, and prints
 * its version and the optional functions that it lacks. Exit status 1 when one is refused.
 */
#include "cap_cupti.h"

#include <stdio.h>
#include <stdlib.h>

static bool tell(const char *path)
{
    struct cap_cupti c;
    char why[1024] = "";

    setenv("KREACH_CUPTI", path, 1);
    if (!cap_cupti_open(&c, 0, why, sizeof why)) {
        fprintf(stderr, "open_cupti: %s\n", why);
        return false;
    }
    printf("version %u, without:", c.version);
#define TELL(field, symbol, needed, parameters)                                                    \
    if (!c.field)                                                                                  \
        printf(" " symbol);
    CAP_CUPTI_FUNCTIONS(TELL)
#undef TELL
    putchar('\n');
    return true;
}

int main(int argc, char **argv)
{
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (!tell(argv[i]))
            status = 1;
    }
    return status;
}

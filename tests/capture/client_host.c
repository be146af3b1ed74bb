/*
 * client_host PLUGIN [init | refused]: loads a CUPTI client for itself alone, after CUDA came up
 * when there is a word more, and lets it begin. Ends with its result; refused: 100 if CUPTI
 * records.
 */
#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*begin)(void) = NULL;

    if (plugin)
        *(void **)&begin = dlsym(plugin, "client_begin");
    if (!begin) {
        fprintf(stderr, "client_host: %s\n", dlerror());
        return 101;
    }
    if (argc > 2 && cuInit(0) != 0)
        return 102;
    if (argc > 2 && strcmp(argv[2], "refused") == 0 && fake_records(0))
        return 100;
    return begin();
}

/* A library with a megabyte for each thread, which comes out of the threads' stacks. */
#include <string.h>

static __thread char each[1 << 20];

__attribute__((constructor)) static void use(void)
{
    memset(each, 1, sizeof each);
}

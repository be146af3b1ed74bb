/* A library whose constructor ends the process, while the dynamic linker still holds its lock. */
#include <stdlib.h>

__attribute__((constructor)) static void leave(void)
{
    exit(7);
}

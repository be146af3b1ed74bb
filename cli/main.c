/* The program: streams in, exit status out. Everything else is in kr_main. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "cmd.h"

int main(int argc, char **argv)
{
    const struct kr_io io = { .out = stdout, .log = stderr };
    int status = kr_main(&io, argc, argv);
    bool silent = __fpending(stdout) == 0 && !ferror(stdout);

    /* Some file systems tell only here that the bytes did not arrive. Who was started without a
     * standard output, and had nothing for it, has not failed. */
    if (fclose(stdout) != 0 && !(silent && errno == EBADF) && status == KR_STATUS_DONE)
        status = KR_STATUS_FAILED;
    return status;
}

/* The program: streams in, exit status out. Everything else is in kr_main. */
#include <stdio.h>

#include "cmd.h"

int main(int argc, char **argv)
{
    const struct kr_io io = { .out = stdout, .log = stderr };
    int status = kr_main(&io, argc, argv);

    /* Some file systems tell only here that the bytes did not arrive. */
    if (fclose(stdout) != 0 && status == KR_STATUS_DONE)
        status = KR_STATUS_FAILED;
    return status;
}

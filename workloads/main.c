/* The program: streams in, exit status out. Everything else is in kr_driver_main. */
#include <stdio.h>

#include "driver.h"
#include "status.h"

int main(int argc, char **argv)
{
    int status = kr_driver_main(stdout, stderr, argc, argv);

    /* Some file systems tell only here that the bytes did not arrive. */
    if (fclose(stdout) != 0 && status == KR_STATUS_DONE)
        status = KR_STATUS_FAILED;
    return status;
}

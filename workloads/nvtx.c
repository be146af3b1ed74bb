#include "aten_shim.h"

#include <nvtx3/nvToolsExt.h>

void kr_nvtx_push(const char *name)
{
    nvtxRangePushA(name);
}

void kr_nvtx_pop(void)
{
    nvtxRangePop();
}

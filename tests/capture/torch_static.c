/*
 * Named libtorch_cpu.so: a libtorch whose CUPTI is built in, so that no libcupti is mapped. The
 * only subscription that there is in a process is that of the fake libcupti, which kreach loads.
 */
#include "cupti_abi.h"

#include <dlfcn.h>

/** Subscribes as torch.profiler does; CUPTI's result, -1 without any. */
__attribute__((visibility("default"))) int torch_profile(void);

int torch_profile(void)
{
    static void *handle;
    struct cupti_subscriber_params params = { .struct_bytes = sizeof params, .name = "torch" };
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    int (*subscribe)(void **, cupti_callback_fn *, void *, struct cupti_subscriber_params *) = NULL;

    if (cupti)
        *(void **)&subscribe = dlsym(cupti, "cuptiSubscribe_v2");
    return subscribe ? subscribe(&handle, NULL, NULL, &params) : -1;
}

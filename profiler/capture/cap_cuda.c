#include "cap_cuda.h"

#include <dlfcn.h>
#include <string.h>

enum attribute {
    ATTRIBUTE_SM_COUNT = 16,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
};

enum result { CUDA_OK = 0, CUDA_DEINITIALIZED = 4 };

/* The process has libcuda mapped before anything here is called; it is never loaded by us. */
static void *symbol(const char *name)
{
    static const char *const sonames[] = { "libcuda.so.1", "libcuda.so" };

    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
        if (handle) {
            void *found = dlsym(handle, name);
            dlclose(handle);
            return found;
        }
    }
    return NULL;
}

/* Calls through a typed pointer, or answers "not found" when the driver lacks the function. */
#define CALL(name, types, ...)                                                                     \
    __extension__({                                                                                \
        int(*call_fn) types;                                                                       \
        *(void **)&call_fn = symbol(name);                                                         \
        call_fn ? call_fn(__VA_ARGS__) : 500;                                                      \
    })

int cap_cuda_version(void)
{
    int version = 0;

    return CALL("cuDriverGetVersion", (int *), &version) == 0 ? version : 0;
}

uint32_t cap_cuda_device_count(void)
{
    int count = 0;

    return CALL("cuDeviceGetCount", (int *), &count) == 0 && count > 0 ? (uint32_t)count : 0;
}

bool cap_cuda_was_used(void)
{
    int count = 0;
    const int result = CALL("cuDeviceGetCount", (int *), &count);

    return result == CUDA_OK || result == CUDA_DEINITIALIZED;
}

static uint32_t attribute(int device, enum attribute which)
{
    int value = 0;

    if (CALL("cuDeviceGetAttribute", (int *, int, int), &value, (int)which, device) != 0)
        return 0;
    return value > 0 ? (uint32_t)value : 0;
}

bool cap_cuda_device(uint32_t ordinal, struct cap_device *out)
{
    int device = 0;
    size_t bytes = 0;

    *out = (struct cap_device){ 0 };
    if (CALL("cuDeviceGet", (int *, int), &device, (int)ordinal) != 0)
        return false;
    /* In a MIG instance the second version answers with the instance's own UUID. */
    if (CALL("cuDeviceGetUuid_v2", (uint8_t *, int), out->uuid, device) != 0)
        CALL("cuDeviceGetUuid", (uint8_t *, int), out->uuid, device);
    CALL("cuDeviceGetName", (char *, int, int), out->name, (int)sizeof out->name - 1, device);
    if (CALL("cuDeviceTotalMem_v2", (size_t *, int), &bytes, device) == 0)
        out->memory_bytes = bytes;
    out->sm_count = attribute(device, ATTRIBUTE_SM_COUNT);
    out->cc_major = attribute(device, ATTRIBUTE_CC_MAJOR);
    out->cc_minor = attribute(device, ATTRIBUTE_CC_MINOR);
    out->mig = strstr(out->name, " MIG ") != NULL;
    return true;
}

void *cap_cuda_current_context(void)
{
    void *context = NULL;

    return CALL("cuCtxGetCurrent", (void **), &context) == 0 ? context : NULL;
}

static void synchronize(void *context)
{
    void *popped = NULL;

    if (CALL("cuCtxPushCurrent_v2", (void *), context) != 0)
        return;
    CALL("cuCtxSynchronize", (void), );
    CALL("cuCtxPopCurrent_v2", (void **), &popped);
}

void cap_cuda_synchronize(void *context, const uint32_t *devices, uint32_t n_devices)
{
    if (context)
        synchronize(context);
    for (uint32_t i = 0; i < n_devices; i++) {
        unsigned flags = 0;
        int active = 0;
        void *primary = NULL;

        /* Retaining an inactive primary context would create it. */
        if (CALL("cuDevicePrimaryCtxGetState", (int, unsigned *, int *), (int)devices[i], &flags,
                 &active) != 0 ||
            !active)
            continue;
        if (CALL("cuDevicePrimaryCtxRetain", (void **, int), &primary, (int)devices[i]) != 0)
            continue;
        if (primary != context)
            synchronize(primary);
        CALL("cuDevicePrimaryCtxRelease_v2", (int), (int)devices[i]);
    }
}

#include "cap_cuda.h"

#include <dlfcn.h>
#include <string.h>

enum attribute {
    ATTRIBUTE_SM_COUNT = 16,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
};

enum result { CUDA_OK = 0, CUDA_DEINITIALIZED = 4 };

/* X(field, symbol, parameters): what is asked of the driver, all returning an error code. */
#define FUNCTIONS(X)                                                                               \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device, "cuDeviceGet", (int *device, int ordinal))                                           \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int which, int device))               \
    X(device_uuid, "cuDeviceGetUuid", (uint8_t * uuid, int device))                                \
    X(device_uuid_v2, "cuDeviceGetUuid_v2", (uint8_t * uuid, int device))                          \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, int device))                         \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                          \
    X(current_context, "cuCtxGetCurrent", (void **context))                                        \
    X(push_context, "cuCtxPushCurrent_v2", (void *context))                                        \
    X(pop_context, "cuCtxPopCurrent_v2", (void **context))                                         \
    X(synchronize, "cuCtxSynchronize", (void))                                                     \
    X(primary_state, "cuDevicePrimaryCtxGetState", (int device, unsigned *flags, int *active))     \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))

/* NULL = the driver lacks it. */
static struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator takes none */
#define FIELD(field, symbol, parameters) int(*field) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
} driver;

/* The process has libcuda mapped before we are called; it is never loaded by us. */
void cap_cuda_open(void)
{
    static const char *const sonames[] = { "libcuda.so.1", "libcuda.so" };
    void *handle = NULL;

    for (int i = 0; i < 2 && !handle; i++)
        handle = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
    if (!handle)
        return;
        /* NOLINTBEGIN(bugprone-macro-parentheses): a member's name takes no parentheses */
#define RESOLVE(field, symbol, parameters) *(void **)&driver.field = dlsym(handle, symbol);
    FUNCTIONS(RESOLVE)
#undef RESOLVE
    /* NOLINTEND(bugprone-macro-parentheses) */
    dlclose(handle);
}

/* The driver's answer, or "not found" when it lacks the function. */
#define CALL(field, ...) (driver.field ? driver.field(__VA_ARGS__) : 500)

int cap_cuda_version(void)
{
    int version = 0;

    return CALL(driver_version, &version) == 0 ? version : 0;
}

uint32_t cap_cuda_device_count(void)
{
    int count = 0;

    return CALL(device_count, &count) == 0 && count > 0 ? (uint32_t)count : 0;
}

bool cap_cuda_was_used(void)
{
    int count = 0;
    const int result = CALL(device_count, &count);

    return result == CUDA_OK || result == CUDA_DEINITIALIZED;
}

static uint32_t attribute(int device, enum attribute which)
{
    int value = 0;

    if (CALL(device_attribute, &value, (int)which, device) != 0)
        return 0;
    return value > 0 ? (uint32_t)value : 0;
}

bool cap_cuda_device(uint32_t ordinal, struct cap_device *out)
{
    int device = 0;
    size_t bytes = 0;

    *out = (struct cap_device){ 0 };
    if (CALL(device, &device, (int)ordinal) != 0)
        return false;
    /* In a MIG instance the second version answers with the instance's own UUID. */
    if (CALL(device_uuid_v2, out->uuid, device) != 0)
        CALL(device_uuid, out->uuid, device);
    CALL(device_name, out->name, (int)sizeof out->name - 1, device);
    if (CALL(device_memory, &bytes, device) == 0)
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

    return CALL(current_context, &context) == 0 ? context : NULL;
}

static void synchronize(void *context)
{
    void *popped = NULL;

    if (CALL(push_context, context) != 0)
        return;
    if (driver.synchronize)
        driver.synchronize();
    CALL(pop_context, &popped);
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
        if (CALL(primary_state, (int)devices[i], &flags, &active) != 0 || !active)
            continue;
        if (CALL(primary_retain, &primary, (int)devices[i]) != 0)
            continue;
        if (primary != context)
            synchronize(primary);
        CALL(primary_release, (int)devices[i]);
    }
}

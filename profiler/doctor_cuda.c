/* The driver and the GPUs, asked through libcuda itself. */
#include "doctor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

enum { TIMEOUT_MS = 30000 };

/* Numbers of the CUDA driver interface, which never change. */
enum { CUDA_NO_DEVICE = 100, CUDA_UNKNOWN_ERROR = 999 };
enum { ATTRIBUTE_SM_COUNT = 16, ATTRIBUTE_CC_MAJOR = 75, ATTRIBUTE_CC_MINOR = 76 };

/* What the probe answers. */
struct answer {
    int loaded; /* libcuda.so.1 is there */
    int version;
    int init_result;
    int n_gpus;
    struct kr_doctor_gpu gpus[KR_DOCTOR_GPUS];
};

struct uuid {
    unsigned char bytes[16];
};

/* The functions we call; int stands for CUresult and CUdevice. */
struct cuda {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int len, int device);
    int (*device_uuid)(struct uuid *uuid, int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*device_attribute)(int *value, int attribute, int device);
};

static bool load_cuda(struct cuda *cuda)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *field;
    } symbols[] = {
        { "cuInit", &cuda->init },
        { "cuDriverGetVersion", &cuda->driver_version },
        { "cuDeviceGetCount", &cuda->device_count },
        { "cuDeviceGet", &cuda->device_get },
        { "cuDeviceGetName", &cuda->device_name },
        { "cuDeviceGetUuid_v2", &cuda->device_uuid },
        { "cuDeviceTotalMem_v2", &cuda->device_memory },
        { "cuDeviceGetAttribute", &cuda->device_attribute },
    };

    for (size_t i = 0; handle && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        if (!symbol)
            return false;
        memcpy(symbols[i].field, &symbol, sizeof symbol);
    }
    return handle != NULL;
}

static void print_uuid(const struct uuid *uuid, const char *name, char *text, size_t room)
{
    const unsigned char *b = uuid->bytes;

    snprintf(text, room, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             strstr(name, "MIG ") ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
             b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void describe_gpu(const struct cuda *cuda, int ordinal, struct kr_doctor_gpu *gpu)
{
    struct uuid uuid = { { 0 } };
    int device = 0;
    int value = 0;
    size_t bytes = 0;

    if (cuda->device_get(&device, ordinal) != 0)
        return;
    cuda->device_name(gpu->name, (int)sizeof gpu->name, device);
    if (cuda->device_uuid(&uuid, device) == 0)
        print_uuid(&uuid, gpu->name, gpu->uuid, sizeof gpu->uuid);
    if (cuda->device_memory(&bytes, device) == 0)
        gpu->memory_bytes = bytes;
    if (cuda->device_attribute(&value, ATTRIBUTE_SM_COUNT, device) == 0)
        gpu->sm_count = (uint32_t)value;
    if (cuda->device_attribute(&value, ATTRIBUTE_CC_MAJOR, device) == 0)
        gpu->cc_major = (uint32_t)value;
    if (cuda->device_attribute(&value, ATTRIBUTE_CC_MINOR, device) == 0)
        gpu->cc_minor = (uint32_t)value;
}

static void ask_cuda(int fd, const void *arg)
{
    struct answer a = { .init_result = CUDA_UNKNOWN_ERROR };
    struct cuda cuda;

    (void)arg;
    unsetenv("CUDA_INJECTION64_PATH"); /* no other tool should start for our question */
    unsetenv("LD_PRELOAD");
    a.loaded = load_cuda(&cuda);
    if (a.loaded) {
        cuda.driver_version(&a.version);
        a.init_result = cuda.init(0);
        if (a.init_result == 0 && cuda.device_count(&a.n_gpus) != 0)
            a.n_gpus = 0;
        if (a.n_gpus > KR_DOCTOR_GPUS)
            a.n_gpus = KR_DOCTOR_GPUS;
        for (int i = 0; i < a.n_gpus; i++)
            describe_gpu(&cuda, i, &a.gpus[i]);
    }
    if (write(fd, &a, sizeof a) != (ssize_t)sizeof a)
        _exit(1);
}

/* The release of the kernel module, from its first line in /proc. */
static void read_release(char *release, size_t room)
{
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    char line[512] = "";
    const char *word = NULL;

    if (file) {
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
        (void)fclose(file);
        word = strstr(line, "  "); /* "... Kernel Module  580.65.06  Release Build ..." */
    }
    if (word)
        snprintf(release, room, "%.*s", (int)strcspn(word + 2, " \n"), word + 2);
}

/* A GPU in words; what it does not tell is unknown, never zero. */
static bool say_gpu(struct kr_doctor *d, size_t number, struct kr_err *err)
{
    const struct kr_doctor_gpu *g = &d->gpus[number];
    char memory[32] = "memory unknown";
    char sms[32] = "SMs unknown";
    char capability[48] = "compute capability unknown";

    if (g->memory_bytes)
        snprintf(memory, sizeof memory, "%.0f GB", (double)g->memory_bytes / 1e9);
    if (g->sm_count)
        snprintf(sms, sizeof sms, "%u SMs", g->sm_count);
    if (g->cc_major)
        snprintf(capability, sizeof capability, "compute capability %u.%u", g->cc_major,
                 g->cc_minor);
    return kr_doctor_find(d, KR_HEALTH_GOOD, "gpu", "", err, "%zu: %s, %s, %s, %s%s%s", number,
                          *g->name ? g->name : "name unknown", memory, sms, capability,
                          *g->uuid ? ", " : "", g->uuid);
}

static bool judge_init(struct kr_doctor *d, const struct answer *a, struct kr_err *err)
{
    if (a->init_result == CUDA_NO_DEVICE || (a->init_result == 0 && d->n_gpus == 0))
        return kr_doctor_find(d, KR_HEALTH_FATAL, "gpu",
                              "give the container a GPU (--gpus all), or see CUDA_VISIBLE_DEVICES",
                              err, "the driver is there, and shows no GPU");
    if (a->init_result != 0)
        return kr_doctor_find(d, KR_HEALTH_FATAL, "gpu",
                              "driver and kernel module may differ in version; see dmesg", err,
                              "CUDA cannot be initialised: error %d", a->init_result);
    for (size_t i = 0; i < d->n_gpus; i++) {
        if (!say_gpu(d, i, err))
            return false;
        if (strncmp(d->gpus[i].uuid, "MIG", 3) == 0 &&
            !kr_doctor_find(d, KR_HEALTH_NOTE, "gpu", "", err,
                            "%zu is a MIG instance: shares are of the instance, not of the GPU", i))
            return false;
    }
    return true;
}

static bool say_driver(struct kr_doctor *d, struct kr_err *err)
{
    char cuda[32] = "for an unknown CUDA";

    if (d->cuda_version)
        snprintf(cuda, sizeof cuda, "up to CUDA %u.%u", d->cuda_version / 1000,
                 d->cuda_version % 1000 / 10);
    return kr_doctor_find(d, KR_HEALTH_GOOD, "driver", "", err, "NVIDIA driver %s, %s",
                          *d->driver ? d->driver : "of unknown release", cuda);
}

bool kr_doctor_examine_cuda(struct kr_doctor *d, struct kr_err *err)
{
    static struct answer a; /* too large for a small stack */
    size_t len;
    enum kr_probe_end end = kr_probe(ask_cuda, NULL, &a, sizeof a, &len, TIMEOUT_MS);

    read_release(d->driver, sizeof d->driver);
    if (end != KR_PROBE_ANSWERED || len != sizeof a)
        return kr_doctor_find(d, KR_HEALTH_FATAL, "driver", "see dmesg for what the driver says",
                              err, "libcuda %s when asked for its GPUs",
                              end == KR_PROBE_HUNG ? "does not answer" : "crashes");
    if (!a.loaded)
        return kr_doctor_find(
            d, KR_HEALTH_FATAL, "driver",
            "install the NVIDIA driver, or start the container with its libraries", err,
            "libcuda.so.1 cannot be loaded%s%s%s", *d->driver ? ", though kernel module " : "",
            d->driver, *d->driver ? " runs" : "");
    d->cuda_version = (uint32_t)a.version;
    d->n_gpus = (size_t)a.n_gpus;
    memcpy(d->gpus, a.gpus, sizeof d->gpus);
    return say_driver(d, err) && judge_init(d, &a, err);
}

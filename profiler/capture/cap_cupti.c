#include "cap_cupti.h"

#include "cap_mem.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLDEST_VERSION 18 /* CUDA 11.8: records before it are shorter than ours */
#define LIB            "libcupti.so"

static const struct {
    int result;
    const char *text;
} meanings[] = {
    { CUPTI_OK, "success" },
    { CUPTI_E_INVALID_OPERATION, "CUPTI was called in the wrong order (result 7)" },
    { CUPTI_E_MEMORY, "CUPTI ran out of memory (result 8)" },
    { CUPTI_E_MAX_LIMIT_REACHED, "another CUPTI client holds the only subscription (result 12)" },
    { CUPTI_E_NOT_COMPATIBLE, "another tool in the process uses a newer CUPTI interface; the two "
                              "cannot be mixed (result 14)" },
    { CUPTI_E_NOT_INITIALIZED, "this CUPTI does not fit the driver: it is newer than the driver, "
                               "or a second copy; see 'kreach doctor' (result 15)" },
    { CUPTI_E_KIND, "CUPTI does not know this kind of record (result 21)" },
    { CUPTI_E_NOT_SUPPORTED, "not supported on this device or driver (result 27)" },
    { CUPTI_E_MPS, "not supported under MPS (result 31)" },
    { CUPTI_E_VIRTUAL_DEVICE, "not supported on this virtual GPU (result 33)" },
    { CUPTI_E_PRIVILEGES, "the driver lets only administrators profile: run as root, give the "
                          "container --cap-add=SYS_ADMIN, or load the nvidia module with "
                          "NVreg_RestrictProfilingToAdminUsers=0 (result 35)" },
    { CUPTI_E_BUSY, "another profiler, debugger or CUPTI client is active in this process "
                    "(result 39)" },
    { CUPTI_E_VIRTUAL_PRIVILEGES, "profiling is switched off for this virtual GPU; its host must "
                                  "allow it (result 40)" },
    { CUPTI_E_CONFIDENTIAL, "not supported with confidential computing (result 41)" },
    { CUPTI_E_CMP, "not supported on CMP mining devices (result 42)" },
    { CUPTI_E_MIG, "not supported on this MIG instance (result 43)" },
    { CUPTI_E_SLI, "not supported with SLI (result 44)" },
    { CUPTI_E_WSL, "not supported under WSL (result 45)" },
};

struct cap_reason cap_cupti_explain(int result)
{
    struct cap_reason reason;

    snprintf(reason.text, sizeof reason.text,
             "CUPTI failed for a reason unknown to kreach (result %d)", result);
    for (size_t i = 0; i < CAP_COUNT(meanings); i++) {
        if (meanings[i].result == result)
            snprintf(reason.text, sizeof reason.text, "%s", meanings[i].text);
    }
    return reason;
}

static const uint16_t runtime_launches[] = { 13,  211, 213, 214, 269, 270, 272,
                                             311, 312, 430, 431, 505, 506 };
static const uint16_t driver_launches[] = { 115, 116, 117, 307, 442, 477,
                                            478, 480, 514, 515, 652, 653 };

static bool contains(const uint16_t *list, size_t n, uint32_t cbid)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == cbid)
            return true;
    }
    return false;
}

bool cap_cupti_is_launch(uint8_t domain, uint32_t cbid)
{
    if (domain == 0)
        return contains(runtime_launches, CAP_COUNT(runtime_launches), cbid);
    return contains(driver_launches, CAP_COUNT(driver_launches), cbid);
}

/* One by one: ids that this version does not have are refused. */
static bool set_launches(const struct cap_cupti *c, uint8_t on)
{
    bool some = false;

    for (size_t i = 0; i < CAP_COUNT(runtime_launches); i++)
        some |= c->enable_runtime_api(runtime_launches[i], on) == CUPTI_OK;
    for (size_t i = 0; i < CAP_COUNT(driver_launches); i++)
        some |= c->enable_driver_api(driver_launches[i], on) == CUPTI_OK;
    return some;
}

bool cap_cupti_enable_launches(const struct cap_cupti *c)
{
    if (c->enable_driver_api && c->enable_runtime_api)
        return set_launches(c, 1);
    return c->enable(CUPTI_KIND_RUNTIME) == CUPTI_OK && c->enable(CUPTI_KIND_DRIVER) == CUPTI_OK;
}

void cap_cupti_disable_launches(const struct cap_cupti *c)
{
    /* A kind that was switched off whole keeps its single calls off: they could not come back. */
    if (c->enable_driver_api && c->enable_runtime_api) {
        set_launches(c, 0);
        return;
    }
    c->disable(CUPTI_KIND_RUNTIME);
    c->disable(CUPTI_KIND_DRIVER);
}

/* What the process has mapped that tells where its CUPTI is. */
struct mapped {
    char cupti[1024];  /* libcupti itself */
    char cudart[1024]; /* libcudart */
    char torch[1024];  /* a library of torch */
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int note_mapped(struct dl_phdr_info *info, size_t size, void *user)
{
    struct mapped *m = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    char *into = NULL;

    (void)size;
    if (!slash)
        return 0;
    if (starts_with(slash + 1, LIB))
        into = m->cupti;
    else if (starts_with(slash + 1, "libcudart.so"))
        into = m->cudart;
    else if (starts_with(slash + 1, "libtorch_cpu.so") ||
             starts_with(slash + 1, "libtorch_cuda.so"))
        into = m->torch;
    const size_t len = strlen(info->dlpi_name);
    if (into && into[0] == '\0' && len < sizeof m->cupti)
        memcpy(into, info->dlpi_name, len + 1);
    return 0;
}

static bool try_open(struct cap_cupti *c, const char *path, int flags)
{
    const size_t len = strlen(path);

    c->handle = len < sizeof c->path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | flags) : NULL;
    if (!c->handle)
        return false;
    memcpy(c->path, path, len + 1);
    return true;
}

/* Opens dir/libcupti.so.N for the driver's major version and older ones. */
static bool try_dir(struct cap_cupti *c, int major, const char *format, const char *dir)
{
    char folder[1100];
    char path[1200];
    static const char *const tails[] = { ".13", ".12", ".11.8" };

    snprintf(folder, sizeof folder, format, dir);
    if (access(folder, X_OK) != 0)
        return false;
    for (size_t i = 0; i < CAP_COUNT(tails); i++) {
        /* A CUPTI of a later major version than the driver's answers every call with 15. */
        if (major && atoi(tails[i] + 1) > major)
            continue;
        snprintf(path, sizeof path, "%s/" LIB "%s", folder, tails[i]);
        if (access(path, R_OK) == 0 && try_open(c, path, 0))
            return true;
    }
    return false;
}

/* Cuts the last `levels` parts off a path. */
static void parent(char *path, int levels)
{
    for (; levels > 0; levels--) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = '\0';
    }
}

static bool try_neighbours(struct cap_cupti *c, int major, struct mapped *m)
{
    char wheel[64];

    snprintf(wheel, sizeof wheel, "%%s/nvidia/cu%d/lib", major ? major : 13);
    if (m->cudart[0]) {
        parent(m->cudart, 1);
        if (try_dir(c, major, "%s", m->cudart) ||
            try_dir(c, major, "%s/../extras/CUPTI/lib64", m->cudart) ||
            try_dir(c, major, "%s/../../cuda_cupti/lib", m->cudart))
            return true;
    }
    if (m->torch[0]) { /* SITE/torch/lib/libtorch_cpu.so */
        parent(m->torch, 3);
        if (try_dir(c, major, wheel, m->torch) ||
            try_dir(c, major, "%s/nvidia/cuda_cupti/lib", m->torch))
            return true;
    }
    return false;
}

static bool try_toolkits(struct cap_cupti *c, int major)
{
    static const char *const sonames[] = { LIB ".13", LIB ".12", LIB ".11.8" };
    static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };

    for (size_t i = 0; i < CAP_COUNT(sonames); i++) {
        if (major && atoi(sonames[i] + sizeof LIB) > major)
            continue;
        if (try_open(c, sonames[i], 0))
            return true;
    }
    for (size_t i = 0; i < CAP_COUNT(variables); i++) {
        const char *home = getenv(variables[i]);
        if (home && (try_dir(c, major, "%s/extras/CUPTI/lib64", home) ||
                     try_dir(c, major, "%s/lib64", home)))
            return true;
    }
    return try_dir(c, major, "%s/extras/CUPTI/lib64", "/usr/local/cuda") ||
           try_dir(c, major, "%s/lib64", "/usr/local/cuda") ||
           try_dir(c, major, "%s/lib", "/usr/local/cuda") ||
           try_dir(c, major, "%s/lib64", "/opt/cuda");
}

static bool find(struct cap_cupti *c, int driver_version, char *why, size_t why_bytes)
{
    struct mapped m = { 0 };
    const int major = driver_version / 1000;
    const char *chosen = getenv("KREACH_CUPTI");

    if (chosen && chosen[0]) {
        if (try_open(c, chosen, 0))
            return true;
        snprintf(why, why_bytes, "cannot load KREACH_CUPTI: %s", dlerror());
        return false;
    }
    dl_iterate_phdr(note_mapped, &m);
    c->built_in_torch = m.torch[0] && !m.cupti[0];
    if (m.cupti[0] && try_open(c, m.cupti, RTLD_NOLOAD))
        return true;
    if (try_neighbours(c, major, &m) || try_toolkits(c, major))
        return true;
    snprintf(why, why_bytes,
             "no libcupti was found for driver version %d.%d; install the CUDA toolkit's CUPTI or "
             "set KREACH_CUPTI to its path",
             major, driver_version % 1000 / 10);
    return false;
}

/* A library found by its soname has its path in the linker's books. */
static void note_real_path(struct cap_cupti *c)
{
    Dl_info where;

    if (dladdr(*(void **)&c->get_version, &where) == 0 || where.dli_fname[0] != '/')
        return;
    const size_t len = strlen(where.dli_fname);
    if (len < sizeof c->path)
        memcpy(c->path, where.dli_fname, len + 1);
}

bool cap_cupti_open(struct cap_cupti *c, int driver_version, char *why, size_t why_bytes)
{
    *c = (struct cap_cupti){ 0 };
    if (!find(c, driver_version, why, why_bytes))
        return false;
        /* NOLINTBEGIN(bugprone-macro-parentheses): a member's name takes no parentheses */
#define RESOLVE(field, symbol, needed, parameters)                                                 \
    *(void **)&c->field = dlsym(c->handle, symbol);                                                \
    if ((needed) && !c->field) {                                                                   \
        snprintf(why, why_bytes, "'%s' has no %s: it is too old", c->path, symbol);                \
        return false;                                                                              \
    }
    CAP_CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
    /* NOLINTEND(bugprone-macro-parentheses) */
    note_real_path(c);
    c->get_version(&c->version);
    if (c->version < OLDEST_VERSION) {
        snprintf(why, why_bytes, "'%s' is older than CUDA 11.8", c->path);
        return false;
    }
    return true;
}

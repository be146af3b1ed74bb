#include "doctor.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"
#include "probe.h"
#include "record.h"
#include "search_path.h"

enum { TIMEOUT_MS = 10000, MAX_FINDINGS = 1024 };

const char *kr_health_name(enum kr_health health)
{
    static const char *const names[] = { "good", "note", "trouble", "fatal" };

    return names[health];
}

bool kr_doctor_find(struct kr_doctor *d, enum kr_health health, const char *topic,
                    const char *advice, struct kr_err *err, const char *fmt, ...)
{
    struct kr_finding *f;
    va_list args;

    if (!kr_grow(&d->findings, &d->cap_findings, d->n_findings + 1, sizeof *d->findings,
                 MAX_FINDINGS, err))
        return false;
    f = &d->findings[d->n_findings++];
    f->health = health;
    snprintf(f->topic, sizeof f->topic, "%s", topic);
    snprintf(f->advice, sizeof f->advice, "%s", advice);
    va_start(args, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
    return true;
}

static void ask_loadable(int fd, const void *path)
{
    const char *why;

    if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
        return;
    why = dlerror();
    if (why && write(fd, why, strlen(why)) < 0)
        _exit(2);
    _exit(1);
}

static bool examine_library(struct kr_doctor *d, struct kr_err *err)
{
    struct kr_err missing;
    char path[PATH_MAX];
    char why[512];
    size_t len;

    if (!kr_record_find_library(path, sizeof path, &missing))
        return kr_doctor_find(d, KR_HEALTH_FATAL, "libkreach", "", err, "%s", missing.msg);
    if (kr_probe(ask_loadable, path, why, sizeof why - 1, &len, TIMEOUT_MS) == KR_PROBE_ANSWERED)
        return kr_doctor_find(d, KR_HEALTH_GOOD, "libkreach", "", err, "%s", path);
    why[len] = '\0';
    return kr_doctor_find(d, KR_HEALTH_FATAL, "libkreach", "build or install kreach again", err,
                          "%s cannot be loaded: %s", path, why);
}

/* Variables by which other tools come into a program, and what each means for a recording. */
static const struct {
    const char *name;
    enum kr_health health;
    const char *text, *advice;
} variables[] = {
    { "KREACH_DISABLE", KR_HEALTH_FATAL, "libkreach.so stays off", "unset KREACH_DISABLE" },
    { "CUDA_INJECTION64_PATH", KR_HEALTH_TROUBLE, "another tool is loaded into CUDA programs",
      "unset CUDA_INJECTION64_PATH, or record without that tool" },
    { "NVTX_INJECTION64_PATH", KR_HEALTH_TROUBLE, "NVTX ranges go to another tool",
      "unset NVTX_INJECTION64_PATH for --nvtx, --range and --calibrate" },
    { "NSYS_PROFILING_SESSION_ID", KR_HEALTH_TROUBLE, "this shell runs inside Nsight Systems",
      "record outside of nsys: only one CUPTI client gets the records" },
    { "KINETO_USE_DAEMON", KR_HEALTH_NOTE,
      "a daemon may start torch.profiler in the program at any time",
      "record --yield lets it have the records meanwhile" },
    { "KINETO_CONFIG", KR_HEALTH_NOTE, "torch.profiler may start by its configuration",
      "record --yield lets it have the records meanwhile" },
    { "LD_PRELOAD", KR_HEALTH_NOTE, "other libraries are preloaded; ours comes before them", "" },
    { "CUDA_MPS_PIPE_DIRECTORY", KR_HEALTH_NOTE,
      "programs may run under MPS: work of others on the GPU is not seen", "" },
    { "CUDA_VISIBLE_DEVICES", KR_HEALTH_NOTE, "programs see only these GPUs", "" },
};

/* In a program that is being recorded these name libkreach.so. */
static bool names_us(const char *value)
{
    struct kr_err missing;
    char path[PATH_MAX];

    return kr_record_find_library(path, sizeof path, &missing) && strcmp(value, path) == 0;
}

static bool examine_environment(struct kr_doctor *d, struct kr_err *err)
{
    for (size_t i = 0; i < KR_COUNT(variables); i++) {
        const char *value = getenv(variables[i].name);

        if (value && *value && strcmp(value, "0") != 0 && !names_us(value) &&
            !kr_doctor_find(d, variables[i].health, "environment", variables[i].advice, err,
                            "%s=%.200s: %s", variables[i].name, value, variables[i].text))
            return false;
    }
    return true;
}

static bool examine_container(struct kr_doctor *d, struct kr_err *err)
{
    const char *capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES");
    const char *name = getenv("container");

    if (!name && access("/.dockerenv", F_OK) == 0)
        name = "docker";
    else if (!name && access("/run/.containerenv", F_OK) == 0)
        name = "podman";
    else if (!name && getenv("KUBERNETES_SERVICE_HOST"))
        name = "kubernetes";
    if (!name)
        return true;
    if (!kr_doctor_find(d, KR_HEALTH_NOTE, "container", "", err, "this is a container (%.60s)",
                        name))
        return false;
    if (!capabilities || strstr(capabilities, "compute") || strstr(capabilities, "all"))
        return true;
    return kr_doctor_find(d, KR_HEALTH_TROUBLE, "container",
                          "start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility", err,
                          "NVIDIA_DRIVER_CAPABILITIES=%.100s has no 'compute'", capabilities);
}

/* Who may read hardware counters: asked for by people whose other tools failed here. */
static bool examine_rights(struct kr_doctor *d, struct kr_err *err)
{
    FILE *file = fopen("/proc/driver/nvidia/params", "r");
    char line[256];
    bool admin_only = false;

    if (!file)
        return true;
    while (fgets(line, sizeof line, file))
        admin_only |= strncmp(line, "RmProfilingAdminOnly: 1", 23) == 0;
    (void)fclose(file);
    return !admin_only ||
           kr_doctor_find(d, KR_HEALTH_NOTE, "rights", "", err,
                          "hardware counters are for administrators only; kreach needs none");
}

static bool examine_gnuplot(struct kr_doctor *d, struct kr_err *err)
{
    char path[PATH_MAX];

    if (kr_search_path("gnuplot", path, sizeof path))
        return kr_doctor_find(d, KR_HEALTH_GOOD, "gnuplot", "", err, "found");
    return kr_doctor_find(d, KR_HEALTH_NOTE, "gnuplot", "apt install gnuplot-nox", err,
                          "not found: figures are written as scripts and data only");
}

struct kr_doctor *kr_doctor_examine(struct kr_err *err)
{
    struct kr_doctor *d = kr_xnew(sizeof *d, err);

    if (d && examine_library(d, err) && kr_doctor_examine_cuda(d, err) &&
        kr_doctor_examine_cupti(d, err) && kr_doctor_try(d, err) && examine_environment(d, err) &&
        examine_container(d, err) && examine_rights(d, err) && examine_gnuplot(d, err))
        return d;
    kr_doctor_free(d);
    return NULL;
}

void kr_doctor_free(struct kr_doctor *d)
{
    if (!d)
        return;
    free(d->findings);
    free(d->cuptis);
    free(d);
}

enum kr_health kr_doctor_verdict(const struct kr_doctor *d)
{
    enum kr_health worst = KR_HEALTH_GOOD;

    for (size_t i = 0; i < d->n_findings; i++) {
        if (d->findings[i].health > worst)
            worst = d->findings[i].health;
    }
    return worst;
}

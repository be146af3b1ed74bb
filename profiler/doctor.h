/* What stands between this machine and a recording: driver, GPUs, CUPTI, rights, other tools. */
#ifndef KR_DOCTOR_H
#define KR_DOCTOR_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum kr_health {
    KR_HEALTH_GOOD,
    KR_HEALTH_NOTE,    /* worth knowing */
    KR_HEALTH_TROUBLE, /* some recordings will fail or be incomplete */
    KR_HEALTH_FATAL    /* nothing can be recorded */
};

/** "good", "note", "trouble", "fatal". */
const char *kr_health_name(enum kr_health health);

struct kr_finding {
    enum kr_health health;
    char topic[16];
    char text[PATH_MAX + 256]; /* what was found */
    char advice[256];          /* what to do about it; "" = nothing */
};

/* "" and 0 are unknown: of the compute capability, a major of 0. */
struct kr_doctor_gpu {
    char name[128];
    char uuid[48]; /* "GPU-..." or "MIG-..." */
    uint64_t memory_bytes;
    uint32_t sm_count, cc_major, cc_minor;
};

/* A libcupti on this machine. */
struct kr_doctor_cupti {
    char path[PATH_MAX];
    char found_by[32]; /* "KREACH_CUPTI", "python3", "loader path", "CUDA_HOME", "toolkit" */
    uint32_t version;  /* as cuptiGetVersion tells it, e.g. 130001; 0 = it cannot be loaded */
    bool fits_driver;  /* its major version is not newer than the driver's */
    bool chosen;       /* the one that a program would get that brings none of its own */
};

enum { KR_DOCTOR_GPUS = 64 };

struct kr_doctor {
    struct kr_finding *findings;
    size_t n_findings, cap_findings;
    struct kr_doctor_cupti *cuptis;
    size_t n_cuptis, cap_cuptis;
    struct kr_doctor_gpu gpus[KR_DOCTOR_GPUS];
    size_t n_gpus;
    char driver[64];       /* release, e.g. "580.65.06"; "" = unknown */
    uint32_t cuda_version; /* newest that the driver knows, e.g. 13000; 0 = no driver */
};

/**
 * Looks at everything; needs no GPU. Asks libraries only in processes of their own, so that a
 * broken one cannot take us along.
 * @return a report owned by the caller (kr_doctor_free); NULL with err filled when out of memory.
 */
struct kr_doctor *kr_doctor_examine(struct kr_err *err);
void kr_doctor_free(struct kr_doctor *d);

/** The worst of all findings. */
enum kr_health kr_doctor_verdict(const struct kr_doctor *d);

/* The version that CUPTI of CUDA 11.8, 12.0 and 12.1 tells, all of them. */
#define KR_CUPTI_11_8 18

/** "12.6": the first CUDA release that has a CUPTI version; major 0 when it is not known. */
struct kr_cuda_release {
    uint32_t major, minor;
};
struct kr_cuda_release kr_doctor_release_of(uint32_t cupti_version);

/* For the parts of the examination. */

/** Adds a finding; "" advice when there is none to give. */
bool kr_doctor_find(struct kr_doctor *d, enum kr_health health, const char *topic,
                    const char *advice, struct kr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/** Driver and GPUs. */
bool kr_doctor_examine_cuda(struct kr_doctor *d, struct kr_err *err);
/** All copies of CUPTI; needs the driver's version. */
bool kr_doctor_examine_cupti(struct kr_doctor *d, struct kr_err *err);
/** Lets libkreach.so begin in a process of its own, unless something is fatal already. */
bool kr_doctor_try(struct kr_doctor *d, struct kr_err *err);

#endif

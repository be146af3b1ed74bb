/*
 * A CUDA driver without a GPU, for tests of libkreach.so: libcuda.so.1 with the few functions that
 * the library asks for, and fake_* functions by which a test program makes "the GPU" work. Work
 * runs on simulated streams in real time and is reported to the fake CUPTI when that is loaded.
 *
 * The environment variable FAKE is a comma-separated list of settings, "key=number" or "key=text",
 * read by both libraries. Those of this one: init=R cuInit fails, driver=N its version, gpus=N how
 * many there are (it tells once cuInit is over), mig=1 all devices are MIG instances, nosync=1
 * waiting for the device fails at once, as after an illegal access, capturing=1 it breaks a graph's
 * capture off, and says so, early=1 at exit CUDA goes down before whatever was registered up to its
 * first launch, truth=1 a file "truth" in the current folder gets a line for each kernel, copy and
 * memset.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_GRAPH_ID 7 /* the driver's number of every graph */

enum fake_what { FAKE_KERNEL, FAKE_MEMCPY, FAKE_MEMCPY_PEER, FAKE_MEMSET, FAKE_GRAPH };

/* One launch call and the work it starts. */
struct fake_work {
    enum fake_what what;
    uint32_t device, peer, stream;
    const char *name;     /* of a kernel; the driver owns it and it stays where it is */
    uint32_t grid;        /* blocks in x */
    uint64_t bytes;       /* of a copy or memset */
    uint32_t n_nodes;     /* kernels in a graph launch */
    uint32_t duration_ns; /* of each kernel, copy or memset */
    /* Filled by the driver: */
    uint32_t correlation;
    uint64_t start_ns, end_ns; /* REALTIME */
};

int cuInit(unsigned flags);
int cuCtxSynchronize(void);

/** Starts work and returns at once. */
void fake_launch(struct fake_work work);

/** The name of kernel i (0..15), in the driver's own memory. */
const char *fake_kernel_name(unsigned i);

/** Unloads all modules and loads others at the same place: names change, pointers do not. */
void fake_reload_modules(void);

/** cudaProfilerStart and cudaProfilerStop. */
void fake_profiler(bool start);

/** True while CUPTI makes records of a kind, or with 0: of any. */
bool fake_records(uint32_t kind);

/** A setting's number, or `otherwise` when FAKE does not name it. */
long fake_setting(const char *key, long otherwise);

/** A setting's text into out; false when FAKE does not name it. */
bool fake_setting_text(const char *key, char *out, unsigned long room);

/* What the fake CUPTI installs. */
struct fake_tracer {
    void (*launched)(const struct fake_work *work);
    void (*profiler)(bool start);
    void (*version_asked)(void); /* cuDriverGetVersion ends */
    bool (*records)(uint32_t kind);
};
void fake_set_tracer(const struct fake_tracer *tracer);

/** True once something was launched: there is a context. */
bool fake_has_context(void);

/** True when CUDA has gone down before its clients. */
bool fake_cuda_is_down(void);

/** When all work launched so far is done [ns, REALTIME]. */
uint64_t fake_busy_until_ns(void);

#endif

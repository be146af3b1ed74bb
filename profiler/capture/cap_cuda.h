/* The CUDA driver of the process: what it says about itself and its devices. */
#ifndef CAP_CUDA_H
#define CAP_CUDA_H

#include <stdbool.h>
#include <stdint.h>

struct cap_device {
    uint8_t uuid[16];
    char name[128];
    uint32_t sm_count;
    uint64_t memory_bytes;
    uint32_t cc_major, cc_minor;
    bool mig;
};

/**
 * Finds the driver's functions; before it has been called nothing below has an answer. Later calls
 * ask the dynamic linker for nothing: whoever waits for the end of a recording may hold its lock,
 * in the constructor of a library.
 */
void cap_cuda_open(void);

/** Version of the driver's CUDA as cuDriverGetVersion tells it (13000), 0 = unknown. */
int cap_cuda_version(void);

/**
 * How many devices this process may use; 0 = the driver does not say, such as within cuInit. Not in
 * callbacks.
 */
uint32_t cap_cuda_device_count(void);

/** Whether cuInit has succeeded in this process; true also after CUDA took itself down. */
bool cap_cuda_was_used(void);

/** Describes a device by its ordinal; false when the driver does not know. Not in callbacks. */
bool cap_cuda_device(uint32_t ordinal, struct cap_device *out);

/** The calling thread's current context, NULL if none. Does not wait for the device. */
void *cap_cuda_current_context(void);

/** Waits until all work of a context (and of the devices' primary contexts) is done. */
void cap_cuda_synchronize(void *context, const uint32_t *devices, uint32_t n_devices);

#endif

/* Peak rates of GPUs as their vendors state them: dense arithmetic and memory bandwidth. */
#ifndef KR_PEAKS_H
#define KR_PEAKS_H

#include <stdbool.h>

enum kr_precision {
    KR_FP32, /* without tensor cores */
    KR_TF32,
    KR_FP16,
    KR_BF16,
    KR_FP8,
    KR_PRECISION_COUNT
};

struct kr_peaks {
    const char *words[2];            /* words of a device's name that choose this row */
    double flop[KR_PRECISION_COUNT]; /* [flop/s] dense; meaningful where known has the bit */
    double bytes;                    /* [byte/s] device memory */
    unsigned known;                  /* bit 1 << precision */
};

/** Peaks of a device by its name as recorded ("NVIDIA H200"), or NULL when it is not known. */
const struct kr_peaks *kr_peaks_find(const char *device_name);

/**
 * The arithmetic that an element type is computed in, by its name in a trace ("c10::BFloat16").
 * For float that is FP32: whether TF32 is used is not recorded, and the lower peak accuses no one.
 * @return false when it is not in the table (integers, double).
 */
bool kr_peaks_precision(const char *dtype, enum kr_precision *out);

#endif

#include "peaks.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "mem.h"

#define TERA (1e12)
#define GIGA (1e9)

#define AMPERE_ON (1u << KR_FP32 | 1u << KR_TF32 | 1u << KR_FP16 | 1u << KR_BF16)
#define ADA_ON    (AMPERE_ON | 1u << KR_FP8)
#define VOLTA     (1u << KR_FP32 | 1u << KR_FP16)

/* fp32, tf32, fp16 = bf16 and fp8 [Tflop/s, dense], memory [GB/s]; 0 where `known` has no bit. */
#define ROW(word, second, fp32, tf32, half, fp8, memory, known_bits)                               \
    {                                                                                              \
        { word, second }, { (fp32)*TERA, (tf32)*TERA, (half)*TERA, (half)*TERA, (fp8)*TERA },      \
            (memory)*GIGA, known_bits                                                              \
    }

/*
 * First match wins, so the more particular name stands first, and a bare name means the smallest
 * variant: too low a peak only keeps us from accusing a kernel. Tensor figures given "with
 * sparsity" are halved.
 */
static const struct kr_peaks table[] = {
    /* NVIDIA GB200 NVL72 data sheet, 2025-03: per GPU, halved. */
    ROW("GB200", NULL, 80, 1250, 2500, 5000, 8000, ADA_ON),
    /* NVIDIA HGX and DGX B200 data sheets, 2024-11: of 8 GPUs, divided, halved. */
    ROW("B200", NULL, 75, 1100, 2250, 4500, 8000, ADA_ON),
    /* NVIDIA GH200 Grace Hopper Superchip data sheet, 2023-11: HBM3e and HBM3 versions. */
    ROW("GH200", "144G", 67, 494.5, 989.5, 1979, 4900, ADA_ON),
    ROW("GH200", NULL, 67, 494.5, 989.5, 1979, 4000, ADA_ON),
    /* NVIDIA H200 Tensor Core GPU data sheet, 2024-11: SXM, then NVL. */
    ROW("H200", "NVL", 60, 417.5, 835.5, 1670.5, 4800, ADA_ON),
    ROW("H200", NULL, 67, 494.5, 989.5, 1979, 4800, ADA_ON),
    /* NVIDIA H100 Tensor Core GPU data sheet, 2023-05 (SXM, NVL) and 2022-09 (PCIe). */
    ROW("H100", "HBM3", 67, 494.5, 989.5, 1979, 3350, ADA_ON),
    ROW("H100", "NVL", 60, 417.5, 835.5, 1670.5, 3900, ADA_ON),
    ROW("H100", NULL, 51, 378, 756.5, 1513, 2000, ADA_ON),
    /* NVIDIA A100 80GB data sheet, 2021-06, and A100 data sheet, 2020-11 (40 GB). */
    ROW("A100", "SXM4-80GB", 19.5, 156, 312, 0, 2039, AMPERE_ON),
    ROW("A100", "80GB", 19.5, 156, 312, 0, 1935, AMPERE_ON),
    ROW("A100", NULL, 19.5, 156, 312, 0, 1555, AMPERE_ON),
    /* NVIDIA L40S data sheet, 2023-08; L4 data sheet, 2023-03. */
    ROW("L40S", NULL, 91.6, 183, 362, 733, 864, ADA_ON),
    ROW("L4", NULL, 30.3, 60, 121, 242.5, 300, ADA_ON),
    /* NVIDIA A10 data sheet, 2021-04. */
    ROW("A10", NULL, 31.2, 62.5, 125, 0, 600, AMPERE_ON),
    /* NVIDIA V100 data sheet, 2020-01: SXM2, V100S, PCIe. */
    ROW("V100", "SXM2", 15.7, 0, 125, 0, 900, VOLTA),
    ROW("V100S", NULL, 16.4, 0, 130, 0, 1134, VOLTA),
    ROW("V100", NULL, 14, 0, 112, 0, 900, VOLTA),
    /* NVIDIA T4 data sheet, 2019-03. */
    ROW("T4", NULL, 8.1, 0, 65, 0, 300, VOLTA),
    /* NVIDIA Ada GPU architecture paper, 2022-09, and GA102 paper, 2020-09: FP32 accumulation. */
    ROW("4090", NULL, 82.6, 82.6, 165.2, 330.3, 1008, ADA_ON),
    ROW("3090", NULL, 35.6, 35.6, 71, 0, 936, AMPERE_ON),
    /* AMD Instinct MI300X data sheet, 2023-12: vector FP32. */
    ROW("MI300X", NULL, 163.4, 653.7, 1307.4, 2614.9, 5300, ADA_ON),
};

/* True when the word stands in the name between spaces, dashes or ends. */
static bool has_word(const char *name, const char *word)
{
    const size_t len = strlen(word);

    for (const char *at = strcasestr(name, word); at; at = strcasestr(at + 1, word)) {
        const bool begins = at == name || at[-1] == ' ' || at[-1] == '-';
        const bool ends = !at[len] || at[len] == ' ' || at[len] == '-';

        if (begins && ends)
            return true;
    }
    return false;
}

const struct kr_peaks *kr_peaks_find(const char *device_name)
{
    for (size_t i = 0; i < KR_COUNT(table); i++) {
        const char *second = table[i].words[1];

        if (has_word(device_name, table[i].words[0]) && (!second || has_word(device_name, second)))
            return &table[i];
    }
    return NULL;
}

bool kr_peaks_precision(const char *dtype, enum kr_precision *out)
{
    static const struct {
        const char *name;
        enum kr_precision precision;
    } types[] = { { "c10::BFloat16", KR_BF16 },
                  { "c10::Half", KR_FP16 },
                  { "float", KR_FP32 },
                  { "c10::Float8_e4m3fn", KR_FP8 },
                  { "c10::Float8_e5m2", KR_FP8 },
                  { "c10::Float8_e4m3fnuz", KR_FP8 },
                  { "c10::Float8_e5m2fnuz", KR_FP8 } };

    for (size_t i = 0; i < KR_COUNT(types); i++) {
        if (strcmp(dtype, types[i].name) == 0) {
            *out = types[i].precision;
            return true;
        }
    }
    return false;
}

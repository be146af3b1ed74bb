/*
 * The part of CUPTI that libkreach uses, declared by ourselves: the library is built where no CUDA
 * is installed and runs with CUPTI 11.8 to 13. tests/capture/check_abi.c compares all of this with
 * NVIDIA's headers where they are installed.
 *
 * Activity records only ever grew at their end, so each struct here is the prefix that every
 * supported version has. Records are walked by CUPTI itself, never by sizeof.
 */
#ifndef CUPTI_ABI_H
#define CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Results that kreach tells apart. */
enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_E_INVALID_OPERATION = 7,
    CUPTI_E_MEMORY = 8,
    CUPTI_E_MAX_LIMIT_REACHED = 12,
    CUPTI_E_NOT_COMPATIBLE = 14,
    CUPTI_E_NOT_INITIALIZED = 15,
    CUPTI_E_KIND = 21,
    CUPTI_E_NOT_SUPPORTED = 27,
    CUPTI_E_MPS = 31,
    CUPTI_E_VIRTUAL_DEVICE = 33,
    CUPTI_E_PRIVILEGES = 35,
    CUPTI_E_BUSY = 39,
    CUPTI_E_VIRTUAL_PRIVILEGES = 40,
    CUPTI_E_CONFIDENTIAL = 41,
    CUPTI_E_CMP = 42,
    CUPTI_E_MIG = 43,
    CUPTI_E_SLI = 44,
    CUPTI_E_WSL = 45,
};

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 3, /* serialises kernels: never enabled, understood when met */
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_KIND_OVERHEAD = 17,
    CUPTI_KIND_CDP_KERNEL = 18, /* launched by a kernel, on old devices */
    CUPTI_KIND_MEMCPY2 = 22,    /* between devices; needs MEMCPY enabled as well */
    CUPTI_KIND_GRAPH_TRACE = 51,
    CUPTI_KIND_JIT = 52,
};

enum cupti_attribute {
    CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,         /* size_t */
    CUPTI_ATTR_DEVICE_BUFFER_LIMIT = 2,        /* size_t */
    CUPTI_ATTR_ZEROED_BUFFERS = 5,             /* uint8_t */
    CUPTI_ATTR_DEVICE_BUFFER_PREALLOCATED = 6, /* size_t */
    CUPTI_ATTR_HOST_PINNED = 8,                /* uint8_t */
    CUPTI_ATTR_PER_THREAD_BUFFERS = 9,         /* uint8_t */
};

enum cupti_constant {
    CUPTI_FLUSH_COMPLETE = 0, /* FlushAll: buffers whose records are all complete */
    CUPTI_FLUSH_FORCED = 1,   /* FlushAll: all buffers, incomplete records too */
    CUPTI_THREAD_ID_SYSTEM = 1,
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_SITE_ENTER = 0,
    CUPTI_SITE_EXIT = 1,
    CUPTI_DRIVER_GET_VERSION = 2,
    CUPTI_DRIVER_PROFILER_START = 308,
    CUPTI_DRIVER_PROFILER_STOP = 309,
};

struct cupti_kernel { /* CUpti_ActivityKernel5 and later */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed; /* [ns] */
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared; /* [byte] */
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch[4];
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
};

struct cupti_memcpy { /* CUpti_ActivityMemcpy5 and later */
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memcpy_peer { /* CUpti_ActivityMemcpyPtoP4 */
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memset { /* CUpti_ActivityMemset4 */
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_graph { /* CUpti_ActivityGraphTrace and later */
    uint32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

struct cupti_api { /* CUpti_ActivityAPI */
    uint32_t kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct cupti_subscriber_params { /* CUpti_SubscriberParams, CUPTI 13.0 */
    size_t struct_bytes;
    const char *name;
    char *other_name; /* out: who holds the subscription */
    size_t other_bytes;
};
#define CUPTI_SUBSCRIBER_NAME_BYTES 64

struct cupti_callback_data { /* prefix of CUpti_CallbackData */
    uint32_t site;           /* CUPTI_SITE_ENTER, CUPTI_SITE_EXIT */
};

typedef void cupti_request_fn(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                               size_t valid_bytes);
typedef void cupti_callback_fn(void *user, uint32_t domain, uint32_t cbid, const void *data);

#endif

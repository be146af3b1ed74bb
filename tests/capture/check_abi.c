/*
 * Compiled where NVIDIA's headers are installed, never run: our own declarations of CUPTI's records
 * and numbers must agree with theirs, by what the version of the headers has.
 * scripts/check-cupti does it with those of CUDA 11.8 to 13.
 */
#include <cupti.h>

#define FROM_12_2 (CUPTI_API_VERSION >= 20)
#define FROM_12_3 (CUPTI_API_VERSION >= 21)
#define FROM_12_8 (CUPTI_API_VERSION >= 26)
#define FROM_13   (CUPTI_API_VERSION >= 130000)
#ifndef FROM_12_0 /* 11.8, 12.0 and 12.1 have the same number */
#define FROM_12_0 FROM_12_2
#endif

#define CUPTI_E_SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

/* Our enums reuse no name of theirs, so both can be seen at once. */
#include "cupti_abi.h"

CUPTI_E_SAME(CUPTI_E_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
CUPTI_E_SAME(CUPTI_E_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
CUPTI_E_SAME(CUPTI_E_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
CUPTI_E_SAME(CUPTI_E_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
CUPTI_E_SAME(CUPTI_E_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
CUPTI_E_SAME(CUPTI_E_KIND, CUPTI_ERROR_INVALID_KIND);
CUPTI_E_SAME(CUPTI_E_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
CUPTI_E_SAME(CUPTI_E_MPS, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS);
CUPTI_E_SAME(CUPTI_E_VIRTUAL_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
CUPTI_E_SAME(CUPTI_E_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
CUPTI_E_SAME(CUPTI_E_BUSY, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
CUPTI_E_SAME(CUPTI_E_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
CUPTI_E_SAME(CUPTI_E_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
#if FROM_12_8
CUPTI_E_SAME(CUPTI_E_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
CUPTI_E_SAME(CUPTI_E_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
CUPTI_E_SAME(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
CUPTI_E_SAME(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
CUPTI_E_SAME(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
CUPTI_E_SAME(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
CUPTI_E_SAME(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
CUPTI_E_SAME(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
CUPTI_E_SAME(CUPTI_KIND_CDP_KERNEL, CUPTI_ACTIVITY_KIND_CDP_KERNEL);
CUPTI_E_SAME(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
CUPTI_E_SAME(CUPTI_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
CUPTI_E_SAME(CUPTI_KIND_JIT, CUPTI_ACTIVITY_KIND_JIT);
CUPTI_E_SAME(CUPTI_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
CUPTI_E_SAME(CUPTI_ATTR_DEVICE_BUFFER_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
CUPTI_E_SAME(CUPTI_ATTR_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
CUPTI_E_SAME(CUPTI_ATTR_DEVICE_BUFFER_PREALLOCATED,
             CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
CUPTI_E_SAME(CUPTI_ATTR_HOST_PINNED, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
#if FROM_12_3
CUPTI_E_SAME(CUPTI_ATTR_PER_THREAD_BUFFERS, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif
CUPTI_E_SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
CUPTI_E_SAME(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
CUPTI_E_SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
CUPTI_E_SAME(CUPTI_SITE_EXIT, CUPTI_API_EXIT);
CUPTI_E_SAME(CUPTI_DRIVER_GET_VERSION, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
CUPTI_E_SAME(CUPTI_DRIVER_PROFILER_START, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
CUPTI_E_SAME(CUPTI_DRIVER_PROFILER_STOP, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);

#define AT(ours, field, theirs, their_field)                                                       \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field) &&                \
                       sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->their_field),    \
                   #theirs "." #their_field)

/* The layouts that are met, of CUDA 11.8 to 13, and the first that has the numbers of graphs. */
#define KERNEL(theirs)                                                                             \
    AT(cupti_kernel, registers, theirs, registersPerThread);                                       \
    AT(cupti_kernel, start, theirs, start);                                                        \
    AT(cupti_kernel, end, theirs, end);                                                            \
    AT(cupti_kernel, device, theirs, deviceId);                                                    \
    AT(cupti_kernel, context, theirs, contextId);                                                  \
    AT(cupti_kernel, stream, theirs, streamId);                                                    \
    AT(cupti_kernel, static_shared, theirs, staticSharedMemory);                                   \
    AT(cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory);                                 \
    AT(cupti_kernel, correlation, theirs, correlationId);                                          \
    AT(cupti_kernel, name, theirs, name);                                                          \
    AT(cupti_kernel, graph_node, theirs, graphNodeId);                                             \
    AT(cupti_kernel, graph, theirs, graphId);                                                      \
    _Static_assert(offsetof(struct cupti_kernel, grid) == offsetof(theirs, gridX) &&               \
                       offsetof(struct cupti_kernel, block) == offsetof(theirs, blockX),           \
                   "grid and block")
KERNEL(CUpti_ActivityKernel5);
KERNEL(CUpti_ActivityKernel8);
#if FROM_12_0
KERNEL(CUpti_ActivityKernel9);
#endif
#if FROM_13
KERNEL(CUpti_ActivityKernel10);
#endif

#define COPY(theirs)                                                                               \
    AT(cupti_memcpy, copy_kind, theirs, copyKind);                                                 \
    AT(cupti_memcpy, source, theirs, srcKind);                                                     \
    AT(cupti_memcpy, destination, theirs, dstKind);                                                \
    AT(cupti_memcpy, bytes, theirs, bytes);                                                        \
    AT(cupti_memcpy, start, theirs, start);                                                        \
    AT(cupti_memcpy, end, theirs, end);                                                            \
    AT(cupti_memcpy, device, theirs, deviceId);                                                    \
    AT(cupti_memcpy, stream, theirs, streamId);                                                    \
    AT(cupti_memcpy, correlation, theirs, correlationId);                                          \
    AT(cupti_memcpy, graph_node, theirs, graphNodeId);                                             \
    AT(cupti_memcpy, graph, theirs, graphId)
COPY(CUpti_ActivityMemcpy5);
#if FROM_12_8
COPY(CUpti_ActivityMemcpy6);
#endif

AT(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
AT(cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
AT(cupti_memcpy_peer, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
AT(cupti_memcpy_peer, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
AT(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
AT(cupti_memcpy_peer, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
AT(cupti_memcpy_peer, graph, CUpti_ActivityMemcpyPtoP4, graphId);

AT(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
AT(cupti_memset, start, CUpti_ActivityMemset4, start);
AT(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
AT(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
AT(cupti_memset, memory, CUpti_ActivityMemset4, memoryKind);
AT(cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
AT(cupti_memset, graph, CUpti_ActivityMemset4, graphId);

#define GRAPH(theirs)                                                                              \
    AT(cupti_graph, correlation, theirs, correlationId);                                           \
    AT(cupti_graph, start, theirs, start);                                                         \
    AT(cupti_graph, end, theirs, end);                                                             \
    AT(cupti_graph, device, theirs, deviceId);                                                     \
    AT(cupti_graph, graph, theirs, graphId);                                                       \
    AT(cupti_graph, context, theirs, contextId);                                                   \
    AT(cupti_graph, stream, theirs, streamId)
GRAPH(CUpti_ActivityGraphTrace);
#if FROM_12_3
GRAPH(CUpti_ActivityGraphTrace2);
#endif

AT(cupti_api, cbid, CUpti_ActivityAPI, cbid);
AT(cupti_api, start, CUpti_ActivityAPI, start);
AT(cupti_api, thread, CUpti_ActivityAPI, threadId);
AT(cupti_api, correlation, CUpti_ActivityAPI, correlationId);

#if FROM_13
AT(cupti_subscriber_params, struct_bytes, CUpti_SubscriberParams, structSize);
AT(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
AT(cupti_subscriber_params, other_name, CUpti_SubscriberParams, oldSubscriberName);
AT(cupti_subscriber_params, other_bytes, CUpti_SubscriberParams, oldSubscriberSize);
#endif
_Static_assert(offsetof(struct cupti_callback_data, site) ==
                   offsetof(CUpti_CallbackData, callbackSite),
               "callbackSite");

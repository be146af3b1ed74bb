/* Finding CUPTI and resolving what libkreach needs of it; results in plain words. */
#ifndef CAP_CUPTI_H
#define CAP_CUPTI_H

#include "cupti_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cupti_subscriber *cupti_subscriber_handle;

/* X(field, symbol, needed, parameters): one line per function, all returning enum cupti_result. */
#define CAP_CUPTI_FUNCTIONS(X)                                                                     \
    X(get_version, "cuptiGetVersion", true, (uint32_t * version))                                  \
    X(get_timestamp, "cuptiGetTimestamp", true, (uint64_t * ns))                                   \
    X(register_callbacks, "cuptiActivityRegisterCallbacks", true,                                  \
      (cupti_request_fn * request, cupti_complete_fn * complete))                                  \
    X(enable, "cuptiActivityEnable", true, (uint32_t kind))                                        \
    X(disable, "cuptiActivityDisable", true, (uint32_t kind))                                      \
    X(flush_all, "cuptiActivityFlushAll", true, (uint32_t flag))                                   \
    X(next_record, "cuptiActivityGetNextRecord", true,                                             \
      (uint8_t * buffer, size_t valid_bytes, void **record))                                       \
    X(dropped, "cuptiActivityGetNumDroppedRecords", true,                                          \
      (void *context, uint32_t stream, size_t *dropped))                                           \
    X(set_attribute, "cuptiActivitySetAttribute", false,                                           \
      (uint32_t attribute, size_t * bytes, void *value))                                           \
    X(set_timestamp_callback, "cuptiActivityRegisterTimestampCallback", false,                     \
      (uint64_t(*read)(void)))                                                                     \
    X(set_thread_id_type, "cuptiSetThreadIdType", false, (uint32_t type))                          \
    X(enable_driver_api, "cuptiActivityEnableDriverApi", false, (uint32_t cbid, uint8_t enable))   \
    X(enable_runtime_api, "cuptiActivityEnableRuntimeApi", false, (uint32_t cbid, uint8_t enable)) \
    X(subscribe_v2, "cuptiSubscribe_v2", false,                                                    \
      (cupti_subscriber_handle * subscriber, cupti_callback_fn * callback, void *user,             \
       struct cupti_subscriber_params *params))                                                    \
    X(subscribe, "cuptiSubscribe", false,                                                          \
      (cupti_subscriber_handle * subscriber, cupti_callback_fn * callback, void *user))            \
    X(unsubscribe, "cuptiUnsubscribe", false, (cupti_subscriber_handle subscriber))                \
    X(enable_callback, "cuptiEnableCallback", false,                                               \
      (uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid))       \
    X(finalize, "cuptiFinalize", false, (void))

struct cap_cupti {
    void *handle;
    char path[1024];
    bool built_in_torch; /* a libtorch is there, and no libcupti that it could use but one inside */
    uint32_t version;    /* 18..28 for CUDA 11.8 to 12.9, then 130000 and so on */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator takes none */
#define CAP_CUPTI_FIELD(field, symbol, needed, parameters) int(*field) parameters;
    CAP_CUPTI_FUNCTIONS(CAP_CUPTI_FIELD)
#undef CAP_CUPTI_FIELD
};

/**
 * Finds and opens CUPTI: KREACH_CUPTI if set, else the copy that the process already mapped, else
 * the one that belongs to a mapped CUDA runtime or torch, else the toolkit's by driver version.
 * @param driver_version  as cuDriverGetVersion tells it: 13000; 0 = unknown
 * @return false with the reason in why (a sentence for the user).
 */
bool cap_cupti_open(struct cap_cupti *c, int driver_version, char *why, size_t why_bytes);

/**
 * True for calls that put kernels on a device. domain as in KREACH_LAUNCHES: 0 runtime, 1 driver.
 * Callback ids are fixed for ever by CUPTI.
 */
bool cap_cupti_is_launch(uint8_t domain, uint32_t cbid);

/** Has only launch calls recorded, or all calls where CUPTI (before 12.5) cannot choose. */
bool cap_cupti_enable_launches(const struct cap_cupti *c);
void cap_cupti_disable_launches(const struct cap_cupti *c);

/* What a result means and what to do about it; never a bare number. */
struct cap_reason {
    char text[256];
};
struct cap_reason cap_cupti_explain(int result);

#endif

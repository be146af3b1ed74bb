/* A CUPTI client in a library of its own, as torch is one: nobody else sees the libcupti it needs.
 */
#include "cupti_abi.h"

int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete);
int cuptiActivityDisable(uint32_t kind);
int cuptiSubscribe_v2(void **out, cupti_callback_fn *callback, void *user,
                      struct cupti_subscriber_params *params);

__attribute__((visibility("default"))) int client_begin(void);

/* The first result that is no success. */
int client_begin(void)
{
    struct cupti_subscriber_params params = { .struct_bytes = sizeof params, .name = "plugin" };
    void *handle = NULL;
    int result = cuptiSubscribe_v2(&handle, NULL, NULL, &params);

    if (result == CUPTI_OK)
        result = cuptiActivityRegisterCallbacks(NULL, NULL);
    return result == CUPTI_OK ? cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL) : result;
}

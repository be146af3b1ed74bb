#include "workload.h"

#include <string.h>

const struct kr_model *const kr_models[] = {
    &kr_model_bert,      &kr_model_dlrm,     &kr_model_gpt2, &kr_model_llama,
    &kr_model_mobilenet, &kr_model_resnet50, NULL,
};

const struct kr_model *kr_model_find(const char *name)
{
    for (size_t i = 0; kr_models[i]; i++) {
        if (strcmp(kr_models[i]->name, name) == 0)
            return kr_models[i];
    }
    return NULL;
}

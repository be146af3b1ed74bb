/* Whether a recording begins here: tried as in a program that is recorded. */
#include "doctor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"
#include "record.h"

/* CUPTI was seen to take a quarter of a minute where GPUs are busy. */
enum { TIMEOUT_MS = 60000 };

/* Before the reason, when libkreach.so says why it does not record. */
static const char REFUSAL[] = " is not recorded: ";

/* What libkreach.so says on standard error is the answer. There is no work, so no file either. */
static void ask_library(int fd, const void *library)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = cuda ? dlsym(cuda, "cuInit") : NULL;
    int (*init)(unsigned flags);

    memcpy(&init, &symbol, sizeof symbol);
    unsetenv("KREACH_DISABLE");
    unsetenv("KREACH_OPTIONS");
    setenv("CUDA_INJECTION64_PATH", library, 1);
    setenv("KREACH_OUT", "/dev/null/", 1);
    if (!init || dup2(fd, STDERR_FILENO) < 0 || init(0) != 0)
        _exit(1);
}

bool kr_doctor_try(struct kr_doctor *d, struct kr_err *err)
{
    struct kr_err missing;
    char library[PATH_MAX];
    char said[2048];
    size_t len;
    char *reason;

    if (kr_doctor_verdict(d) == KR_HEALTH_FATAL ||
        !kr_record_find_library(library, sizeof library, &missing))
        return true; /* that is said already */
    const enum kr_probe_end end =
        kr_probe(ask_library, library, said, sizeof said - 1, &len, TIMEOUT_MS);
    said[len] = '\0';
    reason = strstr(said, REFUSAL);
    if (reason) {
        reason += strlen(REFUSAL);
        reason[strcspn(reason, "\n")] = '\0';
        return kr_doctor_find(d, KR_HEALTH_FATAL, "cupti", "", err, "%s", reason);
    }
    if (end == KR_PROBE_ANSWERED)
        return kr_doctor_find(d, KR_HEALTH_GOOD, "cupti", "", err, "it lets a process record");
    return kr_doctor_find(d, KR_HEALTH_FATAL, "cupti", "see dmesg for what the driver says", err,
                          "CUDA %s with libkreach.so inside",
                          end == KR_PROBE_HUNG ? "does not come up" : "crashes or fails");
}

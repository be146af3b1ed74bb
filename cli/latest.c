#include "latest.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Names come sorted. */
static const char *newest(const glob_t *found)
{
    struct timespec when = { 0 };
    const char *best = NULL;

    for (size_t i = 0; i < found->gl_pathc; i++) {
        struct stat st;

        if (stat(found->gl_pathv[i], &st) != 0 || !S_ISREG(st.st_mode) ||
            (best && is_older(&st.st_mtim, &when)))
            continue;
        when = st.st_mtim;
        best = found->gl_pathv[i];
    }
    return best;
}

char *kr_latest_recording(struct kr_err *err)
{
    glob_t found = { 0 };
    int result = glob("*.kreach", 0, NULL, &found);
    const char *best = result == 0 ? newest(&found) : NULL;
    char *copy = best ? strdup(best) : NULL;

    if (result == GLOB_NOSPACE || (best && !copy))
        kr_fail(err, KR_ENOMEM, "out of memory");
    else if (!best)
        kr_fail(err, KR_EARG, "there is no recording (*.kreach) in this folder");
    globfree(&found);
    return copy;
}

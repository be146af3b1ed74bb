/* The copies of CUPTI on this machine, and which one a program would get. */
#include "doctor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"
#include "probe.h"

enum { TIMEOUT_MS = 10000, MAX_COPIES = 256, PATH_TEXT_BYTES = 1 << 16 };
#define OLDEST_VERSION KR_CUPTI_11_8 /* libkreach.so refuses what is older */

/* Where to look below a place. */
static const char *const wheel_patterns[] = {
    "%s/nvidia/cu[0-9]*/lib/libcupti.so*",
    "%s/nvidia/cuda_cupti/lib/libcupti.so*",
};
static const char *const toolkit_patterns[] = {
    "%s/extras/CUPTI/lib64/libcupti.so*",
    "%s/lib64/libcupti.so*",
    "%s/targets/*/lib/libcupti.so*",
};
static const char *const folder_patterns[] = { "%s/libcupti.so*" };

/* Answers with a uint32_t. */
static void ask_version(int fd, const void *path)
{
    int (*get_version)(uint32_t * version);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "cuptiGetVersion") : NULL;
    uint32_t version = 0;

    memcpy(&get_version, &symbol, sizeof symbol);
    if (!symbol || get_version(&version) != 0)
        _exit(1);
    if (write(fd, &version, sizeof version) != (ssize_t)sizeof version)
        _exit(1);
}

struct kr_cuda_release kr_doctor_release_of(uint32_t cupti_version)
{
    /* By version from 13 on (cupti_version.h); from CUDA 13.0 on it is 10000 * major + ... */
    static const uint16_t releases[] = { 1100, 1101, 1102, 1105, 1106, 1108, 1200, 1202,
                                         1203, 1204, 1205, 1206, 1206, 1208, 1209, 1209 };
    uint32_t release = 0;

    if (cupti_version >= 100000)
        release = cupti_version / 100;
    else if (cupti_version >= 13 && cupti_version - 13 < KR_COUNT(releases))
        release = releases[cupti_version - 13];
    return (struct kr_cuda_release){ release / 100, release % 100 };
}

static bool is_known(const struct kr_doctor *d, const char *path)
{
    for (size_t i = 0; i < d->n_cuptis; i++) {
        if (strcmp(d->cuptis[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Adds the copy at copy->path, found by copy->found_by, with what it says of itself. */
static bool add_copy(struct kr_doctor *d, struct kr_doctor_cupti *copy, struct kr_err *err)
{
    uint32_t version = 0;
    size_t len;

    if (is_known(d, copy->path) || d->n_cuptis == MAX_COPIES)
        return true;
    if (kr_probe(ask_version, copy->path, &version, sizeof version, &len, TIMEOUT_MS) ==
            KR_PROBE_ANSWERED &&
        len == sizeof version)
        copy->version = version;
    copy->fits_driver =
        copy->version &&
        (!d->cuda_version || kr_doctor_release_of(copy->version).major <= d->cuda_version / 1000);
    if (!kr_grow(&d->cuptis, &d->cap_cuptis, d->n_cuptis + 1, sizeof *copy, MAX_COPIES, err))
        return false;
    d->cuptis[d->n_cuptis++] = *copy;
    return true;
}

static bool add_found(struct kr_doctor *d, const char *path, const char *found_by,
                      struct kr_err *err)
{
    struct kr_doctor_cupti copy = { 0 };

    if (!realpath(path, copy.path))
        return true;
    snprintf(copy.found_by, sizeof copy.found_by, "%s", found_by);
    return add_copy(d, &copy, err);
}

static const char *chosen_by_user(void)
{
    const char *chosen = getenv("KREACH_CUPTI");

    return chosen && *chosen ? chosen : NULL;
}

/* It may be a name that the loader finds, or that nobody finds. */
static bool add_chosen(struct kr_doctor *d, const char *name, struct kr_err *err)
{
    struct kr_doctor_cupti copy = { .found_by = "KREACH_CUPTI" };

    if (!strchr(name, '/') || !realpath(name, copy.path))
        snprintf(copy.path, sizeof copy.path, "%s", name);
    return add_copy(d, &copy, err);
}

/* Adds all copies that match the patterns below a place. */
static bool look_in(struct kr_doctor *d, const char *place, const char *const *patterns, size_t n,
                    const char *found_by, struct kr_err *err)
{
    bool good = true;

    for (size_t i = 0; good && i < n; i++) {
        char pattern[PATH_MAX];
        glob_t found;

        if ((size_t)snprintf(pattern, sizeof pattern, patterns[i], place) >= sizeof pattern ||
            glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; good && k-- > 0;) /* newest names first */
            good = add_found(d, found.gl_pathv[k], found_by, err);
        globfree(&found);
    }
    return good;
}

/* Becomes python3, which prints the folders it imports from. */
static void ask_python(int fd, const void *arg)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)arg;
    if (nothing < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
        _exit(1);
    execlp("python3", "python3", "-c", "import sys\nfor p in sys.path: print(p)", (char *)NULL);
    _exit(1);
}

/* Splits text at a separator in place; NULL at the end. */
static char *next_word(char **rest, const char *separator)
{
    char *word;

    do
        word = strsep(rest, separator);
    while (word && !*word);
    return word;
}

static bool look_in_wheels(struct kr_doctor *d, struct kr_err *err)
{
    static char text[PATH_TEXT_BYTES];
    char *rest = text;
    bool good = true;
    size_t len;

    kr_probe(ask_python, NULL, text, sizeof text - 1, &len, TIMEOUT_MS);
    text[len] = '\0';
    for (const char *p = next_word(&rest, "\n"); good && p; p = next_word(&rest, "\n"))
        good = look_in(d, p, wheel_patterns, KR_COUNT(wheel_patterns), "python3", err);
    return good;
}

static bool look_in_loader_path(struct kr_doctor *d, struct kr_err *err)
{
    static const char *const folders[] = { "/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib" };
    const char *value = getenv("LD_LIBRARY_PATH");
    char *copy = kr_xstrndup(value ? value : "", value ? strlen(value) : 0, err);
    char *rest = copy;
    bool good = copy != NULL;

    for (const char *p = good ? next_word(&rest, ":") : NULL; good && p; p = next_word(&rest, ":"))
        good = look_in(d, p, folder_patterns, 1, "LD_LIBRARY_PATH", err);
    for (size_t i = 0; good && i < KR_COUNT(folders); i++)
        good = look_in(d, folders[i], folder_patterns, 1, "loader path", err);
    free(copy);
    return good;
}

static bool look_in_toolkits(struct kr_doctor *d, struct kr_err *err)
{
    static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
    static const char *const places[] = { "/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda" };
    bool good = true;

    for (size_t i = 0; good && i < KR_COUNT(variables); i++) {
        const char *home = getenv(variables[i]);

        if (home && *home)
            good =
                look_in(d, home, toolkit_patterns, KR_COUNT(toolkit_patterns), variables[i], err);
    }
    for (size_t i = 0; good && i < KR_COUNT(places); i++)
        good = look_in(d, places[i], toolkit_patterns, KR_COUNT(toolkit_patterns), "toolkit", err);
    return good;
}

static bool is_usable(const struct kr_doctor_cupti *copy)
{
    return copy->fits_driver && copy->version >= OLDEST_VERSION;
}

/* libkreach.so takes that copy or none, whatever the program brings. */
static bool judge_chosen(struct kr_doctor *d, struct kr_doctor_cupti *copy, struct kr_err *err)
{
    copy->chosen = is_usable(copy);
    if (copy->chosen)
        return kr_doctor_find(d, KR_HEALTH_GOOD, "cupti", "", err,
                              "%s would be taken, as KREACH_CUPTI says", copy->path);
    return kr_doctor_find(d, KR_HEALTH_FATAL, "cupti",
                          "unset KREACH_CUPTI, or set it to a copy that fits", err,
                          "KREACH_CUPTI names %s, which does not load or does not fit", copy->path);
}

/* How to get a copy that fits a driver. The wheels of CUDA 13 and later have no number. */
static const char *wheel_for(uint32_t cuda_version)
{
    if (cuda_version && cuda_version < 11000)
        return "update the driver: recording needs one for CUDA 11.8 or later";
    switch (cuda_version / 1000) {
    case 11:
        return "pip install nvidia-cuda-cupti-cu11, or install torch or a CUDA toolkit for CUDA 11";
    case 12:
        return "pip install nvidia-cuda-cupti-cu12, or install torch or a CUDA toolkit for CUDA 12";
    default:
        return "pip install nvidia-cuda-cupti, or install torch or a CUDA toolkit";
    }
}

static bool say_what_is_taken(struct kr_doctor *d, struct kr_err *err)
{
    if (chosen_by_user())
        return judge_chosen(d, &d->cuptis[0], err);
    for (size_t i = 0; i < d->n_cuptis; i++) {
        if (!is_usable(&d->cuptis[i]))
            continue;
        d->cuptis[i].chosen = true;
        return kr_doctor_find(d, KR_HEALTH_GOOD, "cupti", "", err,
                              "%s would be taken (found by %s), unless the program brings its own",
                              d->cuptis[i].path, d->cuptis[i].found_by);
    }
    return kr_doctor_find(d, KR_HEALTH_FATAL, "cupti", wheel_for(d->cuda_version), err, "%s",
                          d->n_cuptis ? "no copy of CUPTI loads and fits the driver"
                                      : "no libcupti was found");
}

bool kr_doctor_examine_cupti(struct kr_doctor *d, struct kr_err *err)
{
    const char *chosen = chosen_by_user();

    if (chosen && !add_chosen(d, chosen, err))
        return false;
    if (!look_in_wheels(d, err) || !look_in_loader_path(d, err) || !look_in_toolkits(d, err))
        return false;
    for (size_t i = 0; i < d->n_cuptis; i++) {
        const struct kr_doctor_cupti *copy = &d->cuptis[i];

        if (copy->version < OLDEST_VERSION &&
            !kr_doctor_find(d, KR_HEALTH_NOTE, "cupti", "", err, "%s %s", copy->path,
                            copy->version ? "is older than CUDA 11.8" : "cannot be loaded"))
            return false;
    }
    return say_what_is_taken(d, err);
}

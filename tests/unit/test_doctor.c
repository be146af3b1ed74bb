/* The doctor on made-up machines: what it finds follows the environment, never a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "mem.h"
#include "probe.h"

static char scratch[] = "/tmp/kreach_doctor.XXXXXX";

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int remove_scratch(void **state)
{
    (void)state;
    return nftw(scratch, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Nothing of this machine's environment may matter. */
static int set_up(void **state)
{
    static const char *const names[] = {
        "CUDA_HOME",
        "CUDA_PATH",
        "LD_LIBRARY_PATH",
        "KREACH_CUPTI",
        "KREACH_DISABLE",
        "CUDA_INJECTION64_PATH",
        "KINETO_USE_DAEMON",
        "NVTX_INJECTION64_PATH",
        "LD_PRELOAD",
        "NSYS_PROFILING_SESSION_ID",
        "NVIDIA_DRIVER_CAPABILITIES",
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(names); i++)
        unsetenv(names[i]);
    setenv("KREACH_LIB", KREACH_STUB_LIBRARY, 1);
    return 0;
}

static struct kr_doctor *examine(void)
{
    struct kr_err err = { 0 };
    struct kr_doctor *d = kr_doctor_examine(&err);

    assert_non_null(d);
    return d;
}

/* The finding on a topic whose text holds a part; NULL when there is none. */
static const struct kr_finding *find(const struct kr_doctor *d, const char *topic, const char *part)
{
    for (size_t i = 0; i < d->n_findings; i++) {
        if (strcmp(d->findings[i].topic, topic) == 0 && strstr(d->findings[i].text, part))
            return &d->findings[i];
    }
    return NULL;
}

static void what_is_in_the_environment_is_named(void **state)
{
    static const struct {
        const char *name, *value, *topic, *part;
        enum kr_health health;
    } cases[] = {
        { "KREACH_DISABLE", "1", "environment", "stays off", KR_HEALTH_FATAL },
        { "CUDA_INJECTION64_PATH", "/x/nsys.so", "environment", "another tool", KR_HEALTH_TROUBLE },
        { "NVTX_INJECTION64_PATH", "/x/nsys.so", "environment", "NVTX ranges go",
          KR_HEALTH_TROUBLE },
        { "KINETO_USE_DAEMON", "1", "environment", "daemon", KR_HEALTH_NOTE },
        { "NVIDIA_DRIVER_CAPABILITIES", "utility", "container", "has no 'compute'",
          KR_HEALTH_TROUBLE },
        { "KREACH_LIB", "/nonexistent.so", "libkreach", "/nonexistent.so", KR_HEALTH_FATAL },
        { "KREACH_LIB", "/etc/passwd", "libkreach", "cannot be loaded", KR_HEALTH_FATAL },
    };

    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const struct kr_finding *f;
        struct kr_doctor *d;

        set_up(state);
        setenv("container", "podman", 1);
        d = examine();
        assert_null(find(d, cases[i].topic, cases[i].part));
        kr_doctor_free(d);
        setenv(cases[i].name, cases[i].value, 1);
        d = examine();
        f = find(d, cases[i].topic, cases[i].part);
        assert_non_null(f);
        assert_int_equal(f->health, cases[i].health);
        assert_true(kr_doctor_verdict(d) >= cases[i].health);
        kr_doctor_free(d);
        unsetenv(cases[i].name);
    }
}

static void a_copy_of_cupti_that_cannot_be_loaded_is_listed_and_not_taken(void **state)
{
    char path[256];
    struct kr_doctor *d;
    FILE *file;

    (void)state;
    snprintf(path, sizeof path, "%s/libcupti.so.12", scratch);
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    setenv("LD_LIBRARY_PATH", scratch, 1);
    d = examine();
    assert_true(d->n_cuptis > 0);
    for (size_t i = 0; i < d->n_cuptis; i++) {
        bool ours = strcmp(d->cuptis[i].path, path) == 0;

        assert_false(ours && d->cuptis[i].chosen);
        assert_true(!ours || strcmp(d->cuptis[i].found_by, "LD_LIBRARY_PATH") == 0);
    }
    assert_non_null(find(d, "cupti", path));
    kr_doctor_free(d);
}

/* libkreach.so takes that copy or none. */
static void a_chosen_cupti_is_taken_or_nothing_is(void **state)
{
    static const char *const useless[] = { "/nonexistent/libcupti.so.13", "libnonexistent.so.1",
                                           "/etc/passwd" };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(useless); i++) {
        const struct kr_finding *f;
        struct kr_doctor *d;
        char says[128];

        snprintf(says, sizeof says, "KREACH_CUPTI names %s,", useless[i]);
        setenv("KREACH_CUPTI", useless[i], 1);
        d = examine();
        f = find(d, "cupti", says);
        assert_non_null(f);
        assert_int_equal(f->health, KR_HEALTH_FATAL);
        assert_string_equal(f->advice, "unset KREACH_CUPTI, or set it to a copy that fits");
        assert_null(find(d, "cupti", "would be taken"));
        for (size_t k = 0; k < d->n_cuptis; k++)
            assert_false(d->cuptis[k].chosen);
        kr_doctor_free(d);
    }
}

/* As in a program that is being recorded. */
static void kreach_itself_is_no_other_tool(void **state)
{
    static const char *const names[] = { "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                         "LD_PRELOAD" };
    struct kr_doctor *d;

    (void)state;
    for (size_t i = 0; i < KR_COUNT(names); i++)
        setenv(names[i], KREACH_STUB_LIBRARY, 1);
    d = examine();
    for (size_t i = 0; i < KR_COUNT(names); i++)
        assert_null(find(d, "environment", names[i]));
    kr_doctor_free(d);
}

static void releases_of_cupti_are_those_of_its_header(void **state)
{
    static const struct {
        uint32_t version, major, minor;
    } cases[] = {
        { 12, 0, 0 },  { 13, 11, 0 }, { 18, 11, 8 },     { 19, 12, 0 },     { 24, 12, 6 },
        { 28, 12, 9 }, { 29, 0, 0 },  { 130001, 13, 0 }, { 130200, 13, 2 },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_cuda_release r = kr_doctor_release_of(cases[i].version);

        assert_int_equal(r.major, cases[i].major);
        assert_int_equal(r.minor, cases[i].minor);
    }
}

static void answer(int fd, const void *arg)
{
    const char *how = arg;

    if (write(fd, how, strlen(how)) < 0 || strcmp(how, "fail") == 0)
        _exit(3);
    if (strcmp(how, "crash") == 0)
        raise(SIGKILL);
    if (strcmp(how, "hang") == 0)
        pause();
}

static void questions_survive_whoever_cannot_answer(void **state)
{
    static const struct {
        const char *how;
        enum kr_probe_end end;
    } cases[] = {
        { "well", KR_PROBE_ANSWERED },
        { "fail", KR_PROBE_FAILED },
        { "crash", KR_PROBE_FAILED },
        { "hang", KR_PROBE_HUNG },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        char out[3];
        size_t len;

        assert_int_equal(kr_probe(answer, cases[i].how, out, sizeof out, &len, 300), cases[i].end);
        assert_int_equal(len, sizeof out);
        assert_memory_equal(out, cases[i].how, sizeof out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_in_the_environment_is_named, set_up),
        cmocka_unit_test_setup(a_copy_of_cupti_that_cannot_be_loaded_is_listed_and_not_taken,
                               set_up),
        cmocka_unit_test_setup(a_chosen_cupti_is_taken_or_nothing_is, set_up),
        cmocka_unit_test_setup(kreach_itself_is_no_other_tool, set_up),
        cmocka_unit_test(releases_of_cupti_are_those_of_its_header),
        cmocka_unit_test(questions_survive_whoever_cannot_answer),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

/* What a recording says of itself without the marks of its steps: the same. */
#include "runs.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>

#include "import.h"
#include "report.h"

#define RECORDED KREACH_SOURCE_DIR "/workloads/recorded/*.kreach"

enum { LEAST_RECORDINGS = 20 };
static const double SAME_FRAC = 0.003; /* of busy time */

static void analyse(const char *path, bool marked, struct kr_run *run)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_file(path, NULL, &err);

    if (!t)
        fail_msg("%s", err.msg);
    if (!marked)
        t->n_annotations = 0;
    if (!kr_run_analyse(t, run_rules, "steady", run, &err))
        fail_msg("%s: %s", path, err.msg);
}

static double share(const struct kr_run *run, enum kr_class class)
{
    const struct kr_account *a = &run->account;

    return (double)a->classes[class].exclusive_ns / (double)a->time.busy_ns;
}

static void steps_without_marks_are_those_that_were_marked(void **state)
{
    glob_t found = { 0 };

    (void)state;
    assert_int_equal(glob(RECORDED, 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= LEAST_RECORDINGS);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct kr_run marked;
        struct kr_run unmarked;

        analyse(path, true, &marked);
        analyse(path, false, &unmarked);
        assert_int_equal(marked.window.steps_from, KR_STEPS_ANNOTATION);
        assert_int_equal(unmarked.window.steps_from, KR_STEPS_REPETITION);
        for (int c = 0; c < KR_CLASS_COUNT; c++) {
            if (fabs(share(&marked, (enum kr_class)c) - share(&unmarked, (enum kr_class)c)) >
                SAME_FRAC)
                fail_msg("%s: %s: class %d takes %g, with marks %g", path, unmarked.window.how, c,
                         share(&unmarked, (enum kr_class)c), share(&marked, (enum kr_class)c));
        }
        kr_run_free(&marked);
        kr_run_free(&unmarked);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_without_marks_are_those_that_were_marked),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

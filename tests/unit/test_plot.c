/* Figures: what stands in script and data, and what happens to gnuplot. */
#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "assertions.h"
#include "gnuplot.h"
#include "import.h"
#include "mem.h"
#include "plot_lanes.h"

#define GOLDEN KREACH_SOURCE_DIR "/tests/golden/"

/* What gnuplot could take for a command, a macro, a format, a quote, the end of a line or field. */
#define HOSTILE "`touch x`'\"@y\n\t%s\\n$(id)\xff#{"

/* A run with its report. */
struct analysed {
    struct kr_run run;
    struct kr_report report;
};

static void analyse(struct kr_timeline *t, const char *window, struct analysed *a)
{
    struct kr_err err = { 0 };

    *a = (struct analysed){ 0 };
    if (!t || !kr_run_analyse(t, run_rules, window, &a->run, &err) ||
        !kr_report_build(&a->run, 1, run_rules, 0, &a->report, &err))
        fail_msg("%s", err.msg);
}

static void forget(struct analysed *a)
{
    kr_report_free(&a->report);
    kr_run_free(&a->run);
}

static struct kr_timeline *import(const char *path)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_import_file(path, NULL, &err);

    if (!t)
        fail_msg("%s: %s", path, err.msg);
    return t;
}

/* One kernel of 60 ns and one of 20 ns behind it, in a run whose every name is hostile. */
static struct kr_timeline *hostile_run(void)
{
    struct kr_timeline *t = run_new();

    run_work(t, HOSTILE, 0, 60);
    run_work(t, "vectorized_elementwise_kernel<" HOSTILE ">", 80, 20);
    run_finish(t);
    t->source.path = strdup("dir/" HOSTILE);
    t->devices[0].name = run_str(t, HOSTILE);
    return t;
}

enum figure { CLASSES, CUMULATIVE, AMDAHL, STEP, FIGURES };

static bool build(enum figure figure, const struct analysed *a, enum kr_plot_format format,
                  struct kr_plot *plot, struct kr_err *err)
{
    const struct kr_plot_options options = { .format = format, .columns = 80 };
    const struct kr_predict_input input = { .timeline = a->run.timeline,
                                            .tags = a->run.tags,
                                            .rules = run_rules,
                                            .window = &a->run.window,
                                            .account = &a->run.account };
    struct kr_predict_result result = { 0 };
    bool good;

    *plot = (struct kr_plot){ 0 };
    if (figure == CLASSES)
        return kr_plot_classes(&a->report, 1, &options, plot, err);
    if (figure == CUMULATIVE)
        return kr_plot_cumulative(&a->report, 1, &options, plot, err);
    if (figure == STEP)
        return kr_plot_step(&a->report, &options, plot, err);
    good = kr_predict_run(&input, NULL, &(struct kr_predict_options){ 0 }, &result, err) &&
           kr_plot_amdahl(&a->report, NULL, &result, &options, plot, err);
    kr_predict_free(&result);
    return good;
}

static void must_build(enum figure figure, const struct analysed *a, enum kr_plot_format format,
                       struct kr_plot *plot)
{
    struct kr_err err = { 0 };

    if (!build(figure, a, format, plot, &err))
        fail_msg("figure %d: %s", figure, err.msg);
}

static void names_stand_in_the_data_alone_as_one_printable_field(void **state)
{
    struct analysed a;

    (void)state;
    analyse(hostile_run(), "all", &a);
    for (int f = 0; f < 2 * FIGURES; f++) {
        struct kr_plot plot;

        must_build((enum figure)(f / 2), &a, f % 2 ? KR_PLOT_DUMB : KR_PLOT_SVG, &plot);
        assert_null(strstr(plot.script, "touch"));
        assert_null(strchr(plot.script, '`'));
        assert_non_null(strstr(plot.data, "`touch x`''@y\\\\x0a\\\\x09%s\\\\n"));
        assert_null(strchr(plot.data, '"'));
        for (const char *s = plot.data; *s; s++)
            assert_true(*s == '\n' || *s == '\t' || (*s >= ' ' && *s < 127));
        kr_plot_free(&plot);
    }
    forget(&a);
}

static void the_same_run_gives_the_same_script_and_data(void **state)
{
    struct analysed a, b;

    (void)state;
    analyse(import(GOLDEN "kreach/resnet.kreach"), "steady", &a);
    analyse(import(GOLDEN "kreach/resnet.kreach"), "steady", &b);
    for (int f = 0; f < FIGURES; f++) {
        struct kr_plot one = { 0 }, two = { 0 };

        must_build((enum figure)f, &a, KR_PLOT_SVG, &one);
        must_build((enum figure)f, &b, KR_PLOT_SVG, &two);
        assert_string_equal(one.script, two.script);
        assert_string_equal(one.data, two.data);
        kr_plot_free(&one);
        kr_plot_free(&two);
    }
    forget(&a);
    forget(&b);
}

static void the_typical_step_has_the_lower_median_and_work(void **state)
{
    /* [ns], events */
    static const struct {
        uint64_t steps[5][2];
        size_t n, typical;
    } cases[] = {
        { { { 9, 1 } }, 1, 0 },
        { { { 9, 1 }, { 5, 1 }, { 7, 1 } }, 3, 2 },
        { { { 9, 1 }, { 5, 1 }, { 7, 1 }, { 6, 1 } }, 4, 3 },
        { { { 5, 1 }, { 5, 1 }, { 5, 1 } }, 3, 1 },
        { { { 9, 1 }, { 1, 0 }, { 2, 0 }, { 7, 1 }, { 8, 1 } }, 5, 4 },
        { { { 1, 0 } }, 1, SIZE_MAX },
        { { { 0 } }, 0, SIZE_MAX },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        struct kr_step_account steps[5] = { { .count = 0 } };
        const struct kr_account account = { .steps = steps, .n_steps = cases[i].n };
        struct kr_err err = { 0 };
        size_t typical = 77;

        for (size_t s = 0; s < cases[i].n; s++) {
            steps[s].time.wall_ns = cases[i].steps[s][0];
            steps[s].count = cases[i].steps[s][1];
        }
        assert_true(kr_plot_typical_step(&account, &typical, &err));
        assert_int_equal(typical, cases[i].typical);
    }
}

static void cut(const struct analysed *a, const struct kr_step *stretch, size_t columns,
                struct kr_lanes *lanes)
{
    struct kr_err err = { 0 };

    if (!kr_lanes_make(a->run.timeline, a->run.tags, stretch, columns, lanes, &err))
        fail_msg("%s", err.msg);
}

/* A run made by hand, finished here, and its lanes from time 0 on, in columns of 10 ns. */
static void cut_in_tens(struct kr_timeline *t, size_t columns, struct analysed *a,
                        struct kr_lanes *lanes)
{
    const struct kr_step stretch = { .start_ns = 0, .end_ns = 10 * (int64_t)columns };

    run_finish(t);
    analyse(t, "all", a);
    cut(a, &stretch, columns, lanes);
}

/* A matrix product, of the class optimal. */
static void add_gemm(struct kr_timeline *t, int64_t device, int64_t stream, int64_t start_ns,
                     uint64_t dur_ns)
{
    run_event(t, run_track(t, device, stream), run_kernel(t, "ampere_sgemm_128x64_tn"), start_ns,
              dur_ns);
}

/* Columns of 10 ns: stream 7 runs 5..25 and, beside itself, 20..30; stream 8 runs 35..37. */
static void a_column_shows_which_share_of_it_has_work(void **state)
{
    const double busy[4] = { 0.5, 1, 1, 0 };
    const double idle[4] = { 0.5, 0, 0, 0.8 };
    struct kr_timeline *t = run_new();
    struct kr_lanes lanes;
    struct analysed a;

    (void)state;
    add_gemm(t, 0, 7, 5, 20);
    add_gemm(t, 0, 7, 20, 10);
    add_gemm(t, 0, 8, 35, 2);
    cut_in_tens(t, 4, &a, &lanes);
    assert_int_equal(lanes.n, 3);
    assert_int_equal(lanes.items[2].n_tracks, 0);
    for (size_t c = 0; c < 4; c++) {
        assert_near(lanes.items[0].parts[c][KR_OPTIMAL], busy[c], 1e-12);
        assert_near(lanes.items[0].parts[c][KR_PLOT_IDLE], 0, 1e-12);
        assert_near(lanes.items[1].parts[c][KR_OPTIMAL], c == 3 ? 0.2 : 0, 1e-12);
        assert_near(lanes.items[2].parts[c][KR_PLOT_IDLE], idle[c], 1e-12);
    }
    kr_lanes_free(&lanes);
    forget(&a);
}

static void classes_that_overlap_share_the_column(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_lanes lanes;
    struct analysed a;

    (void)state;
    add_gemm(t, 0, 7, 0, 10);
    run_work(t, "vectorized_layer_norm_kernel", 0, 10);
    cut_in_tens(t, 1, &a, &lanes);
    assert_near(lanes.items[0].parts[0][KR_OPTIMAL], 0.5, 1e-12);
    assert_near(lanes.items[0].parts[0][KR_ADDRESSABLE], 0.5, 1e-12);
    kr_lanes_free(&lanes);
    forget(&a);
}

static void the_lanes_idle_time_is_that_of_the_account(void **state)
{
    static const char *const paths[] = { GOLDEN "kreach/resnet.kreach",
                                         GOLDEN "traces/decode.json.gz" };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(paths); i++) {
        struct analysed a;

        analyse(import(paths[i]), "all", &a);
        for (size_t s = 0; s < a.run.window.n_steps; s++) {
            const struct kr_time *time = &a.run.account.steps[s].time;
            struct kr_lanes lanes;
            double idle = 0;

            cut(&a, &a.run.window.steps[s], 777, &lanes);
            for (size_t c = 0; c < lanes.n_columns; c++)
                idle += lanes.items[lanes.n - 1].parts[c][KR_PLOT_IDLE];
            /* Within the rounding of sums of a thousand shares. */
            assert_near(idle / 777, (double)time->idle_ns / (double)time->wall_ns, 1e-9);
            kr_lanes_free(&lanes);
        }
        forget(&a);
    }
}

static void the_busiest_streams_have_lanes_and_the_others_share_one(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_lanes lanes;
    struct analysed a;

    (void)state;
    for (int64_t s = 0; s < 10; s++)
        add_gemm(t, 0, s, s, (uint64_t)(10 + s));
    run_track(t, 1, 0); /* a device without work has no lane */
    cut_in_tens(t, 10, &a, &lanes);
    assert_int_equal(lanes.n, KR_LANES_STREAMS_MAX + 2);
    assert_int_equal(lanes.n_devices, 1);
    for (size_t i = 0; i < KR_LANES_STREAMS_MAX; i++) {
        assert_int_equal(lanes.items[i].n_tracks, 1);
        assert_int_equal(a.run.timeline->tracks[lanes.items[i].track].stream, 9 - (int64_t)i);
    }
    assert_int_equal(lanes.items[KR_LANES_STREAMS_MAX].n_tracks, 10 - KR_LANES_STREAMS_MAX);
    kr_lanes_free(&lanes);
    forget(&a);
}

/* A long kernel on one stream, short ones beside it on another. */
static void a_device_is_not_idle_behind_a_short_kernel_inside_a_long_one(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_lanes lanes;
    struct analysed a;

    (void)state;
    add_gemm(t, 0, 7, 0, 80);
    add_gemm(t, 0, 8, 10, 10);
    add_gemm(t, 0, 8, 60, 10);
    cut_in_tens(t, 10, &a, &lanes);
    for (size_t c = 0; c < 10; c++)
        assert_near(lanes.items[2].parts[c][KR_PLOT_IDLE], c < 8 ? 0 : 1, 1e-12);
    kr_lanes_free(&lanes);
    forget(&a);
}

static void devices_without_room_are_counted(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_lanes lanes;
    struct kr_plot plot;
    struct analysed a;

    (void)state;
    t->source.path = strdup("ranks");
    for (int64_t d = 0; d < KR_LANES_DEVICES_MAX + 2; d++)
        add_gemm(t, d, 7, 0, 10);
    cut_in_tens(t, 10, &a, &lanes);
    assert_int_equal(lanes.n, 2 * KR_LANES_DEVICES_MAX);
    assert_int_equal(lanes.n_devices, KR_LANES_DEVICES_MAX + 2);
    must_build(STEP, &a, KR_PLOT_DUMB, &plot);
    assert_non_null(strstr(plot.data, "without 2 devices"));
    kr_plot_free(&plot);
    kr_lanes_free(&lanes);
    forget(&a);
}

static void shares_of_a_step_that_is_not_known_are_refused(void **state)
{
    const struct kr_plot_options options = { .format = KR_PLOT_SVG, .of = KR_PLOT_OF_STEP };
    struct kr_err err = { 0 };
    struct kr_plot plot;
    struct analysed a;

    (void)state;
    analyse(hostile_run(), "all", &a);
    assert_false(kr_plot_classes(&a.report, 1, &options, &plot, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "--wall"));
    kr_plot_free(&plot);
    assert_false(kr_plot_cumulative(&a.report, 1, &options, &plot, &err));
    kr_plot_free(&plot);
    forget(&a);
}

static void a_run_without_work_has_only_its_classes_to_draw(void **state)
{
    struct kr_err err = { 0 };
    struct kr_plot plot;
    struct analysed a;
    size_t n_rows;

    (void)state;
    analyse(hostile_run(), "all", &a);
    n_rows = a.report.kernel_rows.n;
    a.run.account.time.busy_ns = 0;
    a.report.kernel_rows.n = 0;
    assert_false(build(STEP, &a, KR_PLOT_SVG, &plot, &err));
    assert_int_equal(err.code, KR_EINPUT);
    kr_plot_free(&plot);
    assert_false(build(CUMULATIVE, &a, KR_PLOT_SVG, &plot, &err));
    assert_int_equal(err.code, KR_EINPUT);
    kr_plot_free(&plot);
    must_build(CLASSES, &a, KR_PLOT_SVG, &plot);
    kr_plot_free(&plot);
    a.report.kernel_rows.n = n_rows; /* they are still to be freed */
    forget(&a);
}

static void paths_in_a_script_are_quoted_or_refused(void **state)
{
    char text[4096] = "";
    struct kr_err err = { 0 };
    struct kr_plot plot;
    struct analysed a;
    FILE *out = fmemopen(text, sizeof text - 1, "w");

    (void)state;
    analyse(hostile_run(), "all", &a);
    must_build(CLASSES, &a, KR_PLOT_PNG, &plot);
    assert_true(kr_plot_write_script(&plot, "it's `id`.dat", "a\\n\".png", out, &err));
    assert_int_equal(fflush(out), 0);
    assert_non_null(strstr(text, "\ndata = 'it''s `id`.dat'\n"));
    assert_non_null(strstr(text, "\nset output 'a\\n\".png'\n"));
    assert_false(kr_plot_write_script(&plot, "a\nb.dat", NULL, out, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_int_equal(fclose(out), 0);
    kr_plot_free(&plot);
    forget(&a);
}

static char folder[] = "/tmp/kreach_plot.XXXXXX";

/* Puts a gnuplot of our own first in PATH; NULL = none at all. Real programs stay where they are.
 */
static void fake_gnuplot(const char *script)
{
    char path[sizeof folder + 16];
    FILE *out;

    snprintf(path, sizeof path, "%s/gnuplot", folder);
    unlink(path);
    setenv("PATH", folder, 1);
    if (!script)
        return;
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(script, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

struct drawn {
    bool good;
    char picture[256];
    struct kr_err err;
};

static struct drawn draw(const char *script, uint64_t timeout_ns)
{
    static char before[4096];
    struct drawn drawn = { 0 };
    FILE *out = fmemopen(drawn.picture, sizeof drawn.picture - 1, "w");
    struct kr_plot plot;
    struct analysed a;

    snprintf(before, sizeof before, "%s", getenv("PATH"));
    analyse(hostile_run(), "all", &a);
    must_build(CLASSES, &a, KR_PLOT_SVG, &plot);
    fake_gnuplot(script);
    drawn.good = kr_gnuplot_draw(&plot, timeout_ns, out, &drawn.err);
    setenv("PATH", before, 1);
    assert_int_equal(fclose(out), 0);
    kr_plot_free(&plot);
    forget(&a);
    return drawn;
}

#define MINUTE_NS UINT64_C(60000000000)

static void gnuplot_that_is_missing_is_told_apart_from_one_that_fails(void **state)
{
    struct drawn drawn = draw(NULL, MINUTE_NS);

    (void)state;
    assert_false(drawn.good);
    assert_int_equal(drawn.err.code, KR_EENV);
    assert_non_null(strstr(drawn.err.msg, "not installed"));
    drawn =
        draw("#!/bin/sh\necho half a picture\necho 'line 3:' >&2\necho no such thing >&2\nexit 7\n",
             MINUTE_NS);
    assert_false(drawn.good);
    assert_int_equal(drawn.err.code, KR_EOUTPUT);
    assert_string_equal(drawn.err.msg, "gnuplot failed with status 7: line 3: no such thing");
    assert_string_equal(drawn.picture, "");
    drawn = draw("#!/bin/sh\nkill -SEGV $$\n", MINUTE_NS);
    assert_non_null(strstr(drawn.err.msg, "signal 11"));
    drawn = draw("#!/bin/sh\nexit 0\n", MINUTE_NS);
    assert_string_equal(drawn.err.msg, "gnuplot drew nothing");
}

static void gnuplot_that_hangs_is_stopped(void **state)
{
    time_t start = time(NULL);
    struct drawn drawn = draw("#!/bin/sh\nexec /bin/sleep 50\n", 200000000);

    (void)state;
    assert_false(drawn.good);
    assert_int_equal(drawn.err.code, KR_EOUTPUT);
    assert_non_null(strstr(drawn.err.msg, "took too long"));
    assert_true(time(NULL) - start < 30);
}

static void gnuplot_gets_script_and_data_and_gives_a_picture(void **state)
{
    /* It may read nothing, or all; no pipe breaks or fills. */
    struct drawn drawn = draw("#!/bin/sh\necho picture\n", MINUTE_NS);

    (void)state;
    assert_true(drawn.good);
    assert_string_equal(drawn.picture, "picture\n");
    drawn = draw("#!/bin/sh\nread -r line\necho \"$line\"\nread -r line </dev/fd/3\n"
                 "echo \"$line\"\n",
                 MINUTE_NS);
    assert_true(drawn.good);
    assert_non_null(strstr(drawn.picture, "# Made by kreach"));
    assert_non_null(strstr(drawn.picture, "`touch x`''@y"));
}

static int set_up(void **state)
{
    return mkdtemp(folder) ? run_load_rules(state) : -1;
}

static int tear_down(void **state)
{
    char path[sizeof folder + 16];

    snprintf(path, sizeof path, "%s/gnuplot", folder);
    unlink(path);
    rmdir(folder);
    return run_free_rules(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_in_the_data_alone_as_one_printable_field),
        cmocka_unit_test(the_same_run_gives_the_same_script_and_data),
        cmocka_unit_test(the_typical_step_has_the_lower_median_and_work),
        cmocka_unit_test(a_column_shows_which_share_of_it_has_work),
        cmocka_unit_test(classes_that_overlap_share_the_column),
        cmocka_unit_test(the_lanes_idle_time_is_that_of_the_account),
        cmocka_unit_test(the_busiest_streams_have_lanes_and_the_others_share_one),
        cmocka_unit_test(a_device_is_not_idle_behind_a_short_kernel_inside_a_long_one),
        cmocka_unit_test(devices_without_room_are_counted),
        cmocka_unit_test(shares_of_a_step_that_is_not_known_are_refused),
        cmocka_unit_test(a_run_without_work_has_only_its_classes_to_draw),
        cmocka_unit_test(paths_in_a_script_are_quoted_or_refused),
        cmocka_unit_test(gnuplot_that_is_missing_is_told_apart_from_one_that_fails),
        cmocka_unit_test(gnuplot_that_hangs_is_stopped),
        cmocka_unit_test(gnuplot_gets_script_and_data_and_gives_a_picture),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#include "predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assertions.h"
#include "mem.h"
#include "runs.h"

enum { SITES_MAX = 64, STEPS_MAX = 16 };

/*
 * A run made by hand: one device, no two launches at once, so that exclusive time is duration and
 * every expected figure can be worked out beside it.
 */
struct run {
    struct kr_timeline *timeline;
    struct kr_tag tags[SITES_MAX];
    struct kr_stats sites[SITES_MAX];
    struct kr_row_kernel kernel_rows[SITES_MAX];
    struct kr_row_family family_rows[SITES_MAX];
    struct kr_device_account device;
    struct kr_step steps[STEPS_MAX];
    struct kr_window window;
    struct kr_account account;
    size_t n_sites;
};

/* Launches of one kind: everything a selector can ask for. */
struct launch {
    const char *name;
    const char *family; /* "" = unknown */
    enum kr_class cls;
    uint64_t count, exclusive_ns;
    const char *op, *annotation;
    uint32_t grid[3], block[3];
    enum kr_origin origin;
};

static void open_run(struct run *run, uint64_t wall_ns)
{
    struct kr_err err = { 0 };

    *run = (struct run){ 0 };
    run->timeline = run_new();
    assert_int_equal(kr_timeline_device(run->timeline, 0, &err), 0);
    run->timeline->devices[0].name = run_str(run->timeline, "NVIDIA H200");
    run->window.end_ns = (int64_t)wall_ns;
    run->window.steps = run->steps;
    run->account.time.wall_ns = run->account.time.idle_ns = wall_ns;
    run->account.sites = run->sites;
    run->account.kernels_rows = run->kernel_rows;
    run->account.families = run->family_rows;
    run->account.devices = &run->device;
    run->account.n_devices = 1;
}

static void close_run(struct run *run)
{
    kr_timeline_free(run->timeline);
}

static void add(struct run *run, struct launch l)
{
    struct kr_stats stats = { .count = l.count,
                              .sum_ns = l.exclusive_ns,
                              .exclusive_ns = l.exclusive_ns };
    struct kr_site site = { .name = run_str(run->timeline, l.name),
                            .op = run_str(run->timeline, l.op ? l.op : ""),
                            .annotation =
                                run_str(run->timeline, l.annotation ? l.annotation : "") };
    size_t i = run->n_sites++;
    struct kr_err err = { 0 };

    assert_true(i < SITES_MAX);
    memcpy(site.grid, l.grid, sizeof site.grid);
    memcpy(site.block, l.block, sizeof site.block);
    assert_int_equal(kr_timeline_site(run->timeline, &site, &err), i);
    run->tags[i] = (struct kr_tag){ .rule = KR_RULE_NONE,
                                    .cls = (uint8_t)l.cls,
                                    .origin = (uint8_t)l.origin,
                                    .family = l.family ? run_family(l.family) : 0 };
    run->sites[i] = stats;
    run->kernel_rows[i] =
        (struct kr_row_kernel){ .name = site.name, .tag = run->tags[i], .stats = stats };
    run->family_rows[i] = (struct kr_row_family){ run->tags[i].family, (uint8_t)l.cls, stats };
    run->account.n_sites = run->account.n_kernels_rows = run->account.n_families = run->n_sites;
    run->account.classes[l.cls].exclusive_ns += l.exclusive_ns;
    run->account.time.busy_ns += l.exclusive_ns;
    run->account.time.idle_ns -= l.exclusive_ns;
}

static void set_steps(struct run *run, size_t n, const int64_t *durations_ns)
{
    int64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        run->steps[i] = (struct kr_step){ at, at + durations_ns[i], (int64_t)i };
        at += durations_ns[i];
    }
    run->window.n_steps = n;
}

/* Reads entries (the inside of the list, with ' for ") and predicts. */
static bool try_predict(const struct run *run, const char *entries,
                        const struct kr_predict_options *opt, struct kr_predict_result *out,
                        struct kr_err *err)
{
    const struct kr_predict_input in = { run->timeline, run->tags, run_rules, &run->window,
                                         &run->account };
    const struct kr_predict_options none = { 0 };
    struct kr_sigma_file sigma;
    char text[4096];
    bool ok;

    snprintf(text, sizeof text,
             "{'schema': 'kreach.sigma', 'schema_version': 1, 'entries': [\n%s]}", entries);
    for (char *quote = strchr(text, '\''); quote; quote = strchr(quote, '\''))
        *quote = '"';
    if (!kr_sigma_read_mem("s.json", text, strlen(text), &sigma, err))
        fail_msg("%s", err->msg);
    ok = kr_predict_run(&in, &sigma, opt ? opt : &none, out, err);
    kr_sigma_free(&sigma);
    return ok;
}

static struct kr_predict_result predict(const struct run *run, const char *entries,
                                        const struct kr_predict_options *opt)
{
    struct kr_predict_result r;
    struct kr_err err = { 0 };

    if (!try_predict(run, entries, opt, &r, &err))
        fail_msg("%s", err.msg);
    return r;
}

static bool warns(const struct kr_predict_result *r, const char *piece)
{
    for (size_t i = 0; i < r->n_warnings; i++)
        if (strstr(r->warnings[i], piece))
            return true;
    return false;
}

/* --- runs -------------------------------------------------------------------------------- */

/* The recommender of the article: 37.4 % in one lookup kernel, 20.8 % in others. */
static void open_recommender(struct run *run)
{
    open_run(run, 1000000);
    add(run, (struct launch){ .name = "EmbeddingBag_updateOutputKernel",
                              .family = "embedding",
                              .cls = KR_ADDRESSABLE,
                              .count = 8,
                              .exclusive_ns = 374000,
                              .op = "aten::embedding_bag",
                              .grid = { 64 },
                              .block = { 32, 8, 1 } });
    add(run, (struct launch){ .name = "vectorized_elementwise_kernel",
                              .family = "elementwise",
                              .cls = KR_ADDRESSABLE,
                              .count = 20,
                              .exclusive_ns = 208000,
                              .op = "aten::relu" });
    add(run, (struct launch){ .name = "nvjet_hsh_128x128",
                              .family = "gemm",
                              .cls = KR_OPTIMAL,
                              .count = 12,
                              .exclusive_ns = 318000,
                              .op = "aten::mm",
                              .origin = KR_ORIGIN_VENDOR });
}

static void the_articles_projection_is_the_win_rate_mode(void **state)
{
    struct run run;
    struct kr_predict_result r;
    const struct kr_prediction *p;
    double f = 1 - 1 / 1.552, w = 0.417;

    (void)state;
    open_recommender(&run);
    r = predict(&run, "{'select': {'class': 'addressable'}, 'sigma': 1.552, 'win_rate': 0.417}",
                NULL);
    assert_string_equal(r.denominator, "window wall");
    assert_int_equal(r.n_predictions, 4);
    p = kr_predict_find(&r, KR_PREDICT_WIN_RATE);
    assert_near(100 * p->saved, 8.63, 0.005);
    assert_near(p->speedup, 1 / (1 - 0.582 * w * f), 1e-12);
    /* Two kernels, each won or not: the mean hides 0, 7.4, 13.3 or 20.7 %. */
    assert_near(p->outcome_sd, sqrt(w * (1 - w)) * f * hypot(0.374, 0.208), 1e-12);
    p = kr_predict_find(&r, KR_PREDICT_PER_KERNEL);
    assert_near(p->saved, 0.582 * f, 1e-12);
    assert_near(p->saved_of_busy, 0.582 / 0.9 * f, 1e-12);
    assert_true(isnan(p->outcome_sd));
    assert_near(kr_predict_find(&r, KR_PREDICT_CEILING)->speedup, 2.39, 0.005);
    assert_near(kr_predict_find(&r, KR_PREDICT_CEILING_ALL)->saved, 0.582, 1e-12);
    kr_predict_free(&r);
    close_run(&run);
}

static void win_rate_mode_needs_a_win_rate_and_takes_one_for_the_rest(void **state)
{
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_recommender(&run);
    r = predict(&run, "{'select': {'family': 'embedding'}, 'sigma': 2}", NULL);
    assert_null(kr_predict_find(&r, KR_PREDICT_WIN_RATE));
    kr_predict_free(&r);
    r = predict(&run,
                "{'select': {'family': 'embedding'}, 'sigma': 2},"
                "{'select': {'family': 'elementwise'}, 'sigma': 4, 'win_rate': 0.25}",
                NULL);
    assert_near(kr_predict_find(&r, KR_PREDICT_WIN_RATE)->saved, 0.374 / 2 + 0.208 * 0.75 * 0.25,
                1e-12);
    assert_near(kr_predict_find(&r, KR_PREDICT_PER_KERNEL)->saved, 0.374 / 2 + 0.208 * 0.75, 1e-12);
    assert_near(r.parts[1].saved_win, 0.208 * 0.75 * 0.25, 1e-12);
    kr_predict_free(&r);
    close_run(&run);
}

static void idle_dilutes_the_gain_and_forgetting_it_is_shown(void **state)
{
    struct run run;
    struct kr_predict_result r;
    const struct kr_prediction *p;

    (void)state;
    open_run(&run, 1000000);
    add(&run, (struct launch){ .name = "skinny",
                               .family = "gemm",
                               .cls = KR_ADDRESSABLE,
                               .count = 1,
                               .exclusive_ns = 40040 }); /* 5.2 % of busy */
    add(&run, (struct launch){ .name = "rest",
                               .family = "gemm",
                               .cls = KR_OPTIMAL,
                               .count = 1,
                               .exclusive_ns = 729960 }); /* busy = 77 % */
    r = predict(&run, "{'select': {'kernel': 'skinny'}, 'sigma': 4.4}", NULL);
    p = kr_predict_find(&r, KR_PREDICT_PER_KERNEL);
    assert_near(100 * p->saved, 3.09, 0.005);
    assert_near(100 * (p->speedup - 1), 3.19, 0.005);
    assert_near(100 * (kr_predict_speedup(p->saved_of_busy) - 1), 4.19, 0.005);
    assert_near(r.busy_frac, 0.77, 1e-12);
    assert_false(warns(&r, "idles"));
    kr_predict_free(&r);
    run.account.time.wall_ns *= 2;
    r = predict(&run, "{'select': {'kernel': 'skinny'}, 'sigma': 4.4}", NULL);
    assert_true(warns(&r, "the GPU idles for 61.5 % of the window wall"));
    kr_predict_free(&r);
    close_run(&run);
}

static void a_loss_is_negative_and_counted(void **state)
{
    struct run run;
    struct kr_predict_result r;
    const struct kr_prediction *p;

    (void)state;
    open_recommender(&run);
    r = predict(&run,
                "{'select': {'op': 'aten::mm'}, 'sigma': 0.97},"
                "{'select': {'op': 'aten::relu'}, 'sigma': 2}",
                NULL);
    p = kr_predict_find(&r, KR_PREDICT_PER_KERNEL);
    assert_near(r.parts[0].saved, 0.318 * (1 - 1 / 0.97), 1e-12);
    assert_true(r.parts[0].saved < 0);
    assert_near(p->saved, 0.318 * (1 - 1 / 0.97) + 0.104, 1e-12);
    assert_int_equal(p->n_losses, 1);
    kr_predict_free(&r);
    close_run(&run);
}

static void ranges_go_through_to_the_sum(void **state)
{
    struct run run;
    struct kr_predict_result r;
    const struct kr_prediction *p;

    (void)state;
    open_recommender(&run);
    r = predict(
        &run,
        "{'select': {'op': 'aten::embedding_bag'}, 'sigma': {'lo': 0.8, 'hi': 'inf'}},"
        "{'select': {'op': 'aten::relu'}, 'sigma': {'samples': [2, 4, 5]}, 'win_rate': 0.5}",
        NULL);
    p = kr_predict_find(&r, KR_PREDICT_PER_KERNEL);
    assert_near(p->saved_lo, 0.374 * -0.25 + 0.208 * 0.5, 1e-12);
    assert_near(p->saved, 0.374 * (1 - 0.625) + 0.208 * 0.75, 1e-12);
    assert_near(p->saved_hi, 0.374 + 0.208 * 0.8, 1e-12);
    assert_near(p->speedup_hi, 1 / (1 - 0.374 - 0.208 * 0.8), 1e-12);
    p = kr_predict_find(&r, KR_PREDICT_WIN_RATE);
    assert_near(p->saved_lo, 0.374 * -0.25 + 0.208 * 0.25, 1e-12);
    assert_near(p->saved_hi, 0.374 + 0.208 * 0.4, 1e-12);
    kr_predict_free(&r);
    close_run(&run);
}

static void a_group_is_one_unit_with_its_launch_counts(void **state)
{
    const int64_t steps[] = { 250000, 250000, 250000, 250000 };
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_recommender(&run);
    set_steps(&run, 4, steps);
    r = predict(&run,
                "{'select': {'op': 'aten::e*'}, 'sigma': 6.917, 'win_rate': 0.5,"
                " 'group': {'launches_after': 1}},"
                "{'select': {'class': 'addressable'}, 'sigma': 2, 'group': true}",
                NULL);
    assert_near(r.parts[0].launches_before, 2, 0);
    assert_near(r.parts[0].launches_after, 1, 0);
    assert_near(100 * r.parts[0].saved, 32.0, 0.05);
    assert_near(r.parts[1].launches_before, 5, 0);
    assert_near(r.parts[1].launches_after, 5, 0);
    assert_near(kr_predict_find(&r, KR_PREDICT_WIN_RATE)->outcome_sd, 0.5 * r.parts[0].saved,
                1e-12);
    kr_predict_free(&r);
    /* Two kernels in one group win or lose together. */
    r = predict(&run,
                "{'select': {'class': 'addressable'}, 'sigma': 2, 'win_rate': 0.5, 'group': true}",
                NULL);
    assert_near(kr_predict_find(&r, KR_PREDICT_WIN_RATE)->outcome_sd, 0.5 * 0.582 / 2, 1e-12);
    kr_predict_free(&r);
    run.window.n_steps = 0;
    r = predict(&run, "{'select': {'op': 'aten::e*'}, 'sigma': 2, 'group': true}", NULL);
    assert_true(isnan(r.parts[0].launches_before));
    kr_predict_free(&r);
    close_run(&run);
}

static void the_first_entry_wins_and_shadowed_time_is_told(void **state)
{
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_recommender(&run);
    r = predict(&run,
                "{'select': {'family': 'embedding'}, 'sigma': 2},\n"
                "{'select': {'class': 'addressable'}, 'sigma': 'inf'},\n"
                "{'select': {'kernel': '*Bag*'}, 'sigma': 3}",
                NULL);
    assert_int_equal(r.parts[0].exclusive_ns, 374000);
    assert_int_equal(r.parts[0].shadowed_ns, 0);
    assert_int_equal(r.parts[1].exclusive_ns, 208000);
    assert_int_equal(r.parts[1].count, 20);
    assert_int_equal(r.parts[1].shadowed_ns, 374000);
    assert_int_equal(r.parts[2].exclusive_ns, 0);
    assert_near(kr_predict_find(&r, KR_PREDICT_PER_KERNEL)->saved, 0.187 + 0.208, 1e-12);
    assert_true(warns(&r, "s.json:3: entry 'class=addressable' also matches 0.374 ms"));
    kr_predict_free(&r);
    close_run(&run);
}

/* --- selectors --------------------------------------------------------------------------- */

/* Each condition by itself, and how much of the sample run it takes. */
static const struct {
    const char *select;
    uint64_t exclusive_ns;
} selections[] = {
    { "'kernel': 'k?_*'", 1111 },
    { "'kernel': 'k1_norm'", 1 },
    { "'family': 'norm'", 11 },
    { "'class': 'overhead'", 1000 },
    { "'origin': 'vendor'", 110 },
    { "'op': 'aten::*norm'", 11 },
    { "'op': '*'", 1111 },
    { "'annotation': 'decode #*'", 101 },
    { "'grid': [132]", 10 },
    { "'grid': [132, 1, 1]", 10 },
    { "'grid': [132, 2]", 100 },
    { "'block': [256]", 1 },
    { "'family': 'norm', 'origin': 'vendor'", 10 },
    { "'kernel': '*gemm', 'annotation': 'decode*', 'grid': [132, 2, 1]", 100 },
};

static void open_sample(struct run *run)
{
    open_run(run, 2000);
    add(run, (struct launch){ .name = "k1_norm",
                              .family = "norm",
                              .cls = KR_ADDRESSABLE,
                              .count = 1,
                              .exclusive_ns = 1,
                              .op = "aten::norm",
                              .annotation = "decode #*",
                              .grid = { 8, 1, 1 },
                              .block = { 256, 1, 1 },
                              .origin = KR_ORIGIN_FRAMEWORK });
    add(run, (struct launch){ .name = "k2_norm",
                              .family = "norm",
                              .cls = KR_ADDRESSABLE,
                              .count = 1,
                              .exclusive_ns = 10,
                              .op = "aten::batch_norm",
                              .annotation = "prefill",
                              .grid = { 132, 1, 1 },
                              .block = { 32, 1, 1 },
                              .origin = KR_ORIGIN_VENDOR });
    add(run, (struct launch){ .name = "k3_gemm",
                              .family = "gemm",
                              .cls = KR_OPTIMAL,
                              .count = 2,
                              .exclusive_ns = 100,
                              .op = "aten::mm",
                              .annotation = "decode #*",
                              .grid = { 132, 2, 1 },
                              .block = { 128, 1, 1 },
                              .origin = KR_ORIGIN_VENDOR });
    add(run, (struct launch){ .name = "k4_step",
                              .family = "elementwise",
                              .cls = KR_OVERHEAD,
                              .count = 1,
                              .exclusive_ns = 1000,
                              .origin = KR_ORIGIN_USER });
    add(run, (struct launch){ .name = "k5_early",
                              .family = "elementwise",
                              .cls = KR_OVERHEAD,
                              .count = 0,
                              .exclusive_ns = 0,
                              .op = "aten::early" });
}

static void each_condition_narrows_the_selection(void **state)
{
    struct run run;

    (void)state;
    open_sample(&run);
    for (size_t i = 0; i < KR_COUNT(selections); i++) {
        struct kr_predict_result r;
        char entry[256];

        snprintf(entry, sizeof entry, "{'select': {%s}, 'sigma': 2}", selections[i].select);
        r = predict(&run, entry, NULL);
        if (r.parts[0].exclusive_ns != selections[i].exclusive_ns)
            fail_msg("%s takes %llu ns", selections[i].select,
                     (unsigned long long)r.parts[0].exclusive_ns);
        kr_predict_free(&r);
    }
    close_run(&run);
}

static const struct {
    const char *select, *message;
} mistakes[] = {
    { "'family': 'nrom'", "unknown family 'nrom'; did you mean 'norm'?" },
    { "'family': 'zzzzzzzz'", "unknown family 'zzzzzzzz'" },
    { "'class': 'adressable'", "unknown class 'adressable'; did you mean 'addressable'?" },
    { "'origin': 'vendro'", "unknown origin 'vendro'; did you mean 'vendor'?" },
    { "'rule': 'no-such-rule-at-all'", "unknown rule 'no-such-rule-at-all'" },
    { "'kernel': 'k9*'", "nothing in the window matches kernel 'k9*'" },
    { "'class': 'optimal', 'op': 'aten::sum'", "nothing in the window matches op 'aten::sum'" },
    { "'grid': [7]", "nothing in the window matches grid 7x1x1" },
    { "'family': 'norm', 'op': 'aten::mm'",
      "no launch in the window meets all its conditions at once" },
    { "'kernel': 'k5_early'", "it matches launches outside of the window only" },
};

static void a_selector_that_cannot_work_is_refused_with_the_reason(void **state)
{
    struct run run;

    (void)state;
    open_sample(&run);
    for (size_t i = 0; i < KR_COUNT(mistakes); i++) {
        struct kr_predict_result r;
        struct kr_err err = { 0 };
        char entries[512];

        snprintf(entries, sizeof entries,
                 "{'select': {'kernel': 'k3*'}, 'sigma': 2},\n"
                 "{'label': 'x', 'select': {%s}, 'sigma': 2}",
                 mistakes[i].select);
        if (try_predict(&run, entries, NULL, &r, &err))
            fail_msg("accepted: %s", mistakes[i].select);
        assert_int_equal(err.code, KR_EARG);
        if (!strstr(err.msg, mistakes[i].message) || !strstr(err.msg, "s.json:3: entry 'x': "))
            fail_msg("'%s' does not say '%s'", err.msg, mistakes[i].message);
        assert_null(r.parts);
    }
    close_run(&run);
}

/* --- the denominator --------------------------------------------------------------------- */

static void an_unprofiled_step_time_replaces_the_wall(void **state)
{
    const int64_t steps[] = { 500, 500, 500, 500 };
    const struct kr_predict_options opt = { .wall_step_ns = 400 };
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_sample(&run);
    set_steps(&run, 4, steps);
    r = predict(&run, "{'select': {'family': 'gemm'}, 'sigma': 2}", &opt);
    assert_string_equal(r.denominator, "unprofiled step");
    assert_true(r.per_step && r.denominator_ns == 1600);
    assert_near(kr_predict_find(&r, KR_PREDICT_PER_KERNEL)->saved, 100.0 / 4 / 400 / 2, 1e-12);
    assert_near(r.busy_frac, 1111.0 / 1600, 1e-12);
    assert_false(warns(&r, "steps fill"));
    kr_predict_free(&r);
    run.steps[3].end_ns -= 160;
    r = predict(&run, "{'select': {'family': 'gemm'}, 'sigma': 2}", &opt);
    assert_true(warns(&r, "the 4 steps fill 92.0 % of the window"));
    kr_predict_free(&r);
    close_run(&run);
}

static void a_step_time_that_cannot_be_this_runs_is_refused(void **state)
{
    const int64_t steps[] = { 1000, 1000 };
    struct kr_predict_options opt = { .wall_step_ns = 500 };
    struct run run;
    struct kr_predict_result r;
    struct kr_err err = { 0 };

    (void)state;
    open_sample(&run);
    assert_false(try_predict(&run, "{'select': {'op': '*'}, 'sigma': 2}", &opt, &r, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "the window has none"));
    set_steps(&run, 2, steps);
    assert_false(try_predict(&run, "{'select': {'op': '*'}, 'sigma': 2}", &opt, &r, &err));
    assert_int_equal(err.code, KR_EARG);
    assert_non_null(strstr(err.msg, "the entries match 111.1 % of the unprofiled step"));
    r = predict(&run, "{'select': {'op': 'aten::mm'}, 'sigma': 2}", &opt);
    assert_true(warns(&r, "the GPU is busy for 111.1 % of the unprofiled step"));
    kr_predict_free(&r);
    opt.wall_step_ns = 5;
    assert_false(try_predict(&run, "{'select': {'grid': [8]}, 'sigma': 2}", &opt, &r, &err));
    assert_non_null(strstr(err.msg, "addressable work alone takes 110 %"));
    run.account.time.wall_ns = 0;
    assert_false(try_predict(&run, "{'select': {'op': '*'}, 'sigma': 2}", NULL, &r, &err));
    assert_int_equal(err.code, KR_EARG);
    close_run(&run);
}

/* --- targets, evidence ------------------------------------------------------------------- */

static void targets_say_which_speedup_would_bring_one_percent(void **state)
{
    struct run run;
    struct kr_predict_result r;
    struct kr_err err = { 0 };
    struct kr_predict_input in;

    (void)state;
    open_recommender(&run);
    add(&run, (struct launch){ .name = "small",
                               .family = "norm",
                               .cls = KR_ADDRESSABLE,
                               .count = 1,
                               .exclusive_ns = 10000 });
    in = (struct kr_predict_input){ run.timeline, run.tags, run_rules, &run.window, &run.account };
    assert_true(kr_predict_run(&in, NULL, &(struct kr_predict_options){ 0 }, &r, &err));
    assert_int_equal(r.n_predictions, 1);
    assert_int_equal(r.predictions[0].mode, KR_PREDICT_CEILING_ALL);
    assert_int_equal(r.n_targets, 3);
    assert_int_equal(r.targets[0].row, 0);
    assert_near(r.targets[0].ceiling_saved, 0.374, 1e-12);
    assert_near(r.targets[0].sigma_for_1pct, 0.374 / 0.364, 1e-12);
    assert_near(r.targets[1].frac * (1 - 1 / r.targets[1].sigma_for_1pct), 0.01, 1e-12);
    assert_int_equal(r.targets[2].row, 3);
    assert_true(isnan(r.targets[2].sigma_for_1pct));
    assert_int_equal(r.n_family_targets, 3);
    assert_true(isnan(r.steps_needed) && isnan(r.smallest_detectable));
    kr_predict_free(&r);
    close_run(&run);
}

static void missing_and_foreign_evidence_is_told(void **state)
{
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_recommender(&run);
    r = predict(
        &run,
        "{'select': {'family': 'gemm'}, 'sigma': 1, 'evidence': {'device': 'H200',"
        " 'dtype': 'bf16', 'baseline': 'b', 'correctness': 'c', 'source': 's', 'shapes': 'all'}},\n"
        "{'select': {'family': 'embedding'}, 'sigma': 2, 'evidence': {'device': 'A100'}}",
        NULL);
    assert_string_equal(r.parts[0].evidence_missing, "");
    assert_string_equal(r.parts[1].evidence_missing,
                        "dtype, baseline, correctness, source, shapes");
    assert_true(warns(&r, "1 of 2 entries lack evidence; the first, 'family=embedding' (s.json:3), "
                          "says nothing of dtype, baseline"));
    assert_true(
        warns(&r, "entry 'family=embedding' was measured on 'A100', this run on 'NVIDIA H200'"));
    assert_false(warns(&r, "family=gemm"));
    kr_predict_free(&r);
    close_run(&run);
}

static void the_runs_own_spread_limits_what_can_be_seen(void **state)
{
    const int64_t steps[] = { 240000, 260000, 250000, 250000 };
    struct run run;
    struct kr_predict_result r;

    (void)state;
    open_recommender(&run);
    set_steps(&run, 4, steps);
    r = predict(&run, "{'select': {'family': 'embedding'}, 'sigma': 1.1}", NULL);
    assert_near(r.noise_cv, sqrt(2e8 / 3) / 250000, 1e-12);
    assert_near(r.smallest_detectable, 2.446912 * r.noise_cv * sqrt(0.5), 1e-6);
    assert_near(r.steps_needed,
                ceil(2 * pow(2.801585218 * r.noise_cv / (0.374 * (1 - 1 / 1.1)), 2)), 0);
    kr_predict_free(&r);
    close_run(&run);
}

/* --- properties -------------------------------------------------------------------------- */

static double random_unit(uint64_t *state)
{
    return run_random(state) / 2147483648.0;
}

/* Runs the whole timeline again with every launch at its new length, launch by launch. */
static double run_again_ns(const struct run *run, const double *sigma_of_site)
{
    double wall_ns = (double)run->account.time.idle_ns;

    for (size_t i = 0; i < run->n_sites; i++) {
        double each_ns = (double)run->sites[i].exclusive_ns / (double)run->sites[i].count;

        for (uint64_t k = 0; k < run->sites[i].count; k++)
            wall_ns += each_ns / sigma_of_site[i];
    }
    return wall_ns;
}

static void prediction_equals_running_every_launch_again(void **state)
{
    uint64_t seed = 2024;

    (void)state;
    for (size_t round = 0; round < 200; round++) {
        double sigma_of_site[8], sigmas[3], saved;
        char entries[1024] = "";
        size_t used = 0;
        struct run run;
        struct kr_predict_result r;

        open_run(&run, 10000000);
        for (size_t e = 0; e < 3; e++) {
            sigmas[e] = 0.25 + 8 * random_unit(&seed);
            used += (size_t)snprintf(entries + used, sizeof entries - used,
                                     "%s{'select': {'op': 'op%zu'}, 'sigma': %.17g}", e ? "," : "",
                                     e, sigmas[e]);
        }
        for (size_t i = 0; i < 8; i++) {
            size_t e = i < 3 ? i : (size_t)(random_unit(&seed) * 4); /* 3 = no entry's */
            char name[16], op[16];

            snprintf(name, sizeof name, "k%zu", i);
            snprintf(op, sizeof op, "op%zu", e);
            sigma_of_site[i] = e < 3 ? sigmas[e] : 1;
            add(&run, (struct launch){ .name = name,
                                       .cls = KR_ADDRESSABLE,
                                       .count = 1 + (uint64_t)(random_unit(&seed) * 50),
                                       .exclusive_ns = (uint64_t)(random_unit(&seed) * 1e6),
                                       .op = op });
        }
        r = predict(&run, entries, NULL);
        saved = kr_predict_find(&r, KR_PREDICT_PER_KERNEL)->saved;
        assert_near(saved, 1 - run_again_ns(&run, sigma_of_site) / 1e7, 1e-9);
        assert_true(saved <= kr_predict_find(&r, KR_PREDICT_CEILING)->saved);
        assert_true(kr_predict_find(&r, KR_PREDICT_CEILING)->saved <=
                    kr_predict_find(&r, KR_PREDICT_CEILING_ALL)->saved + 1e-12);
        kr_predict_free(&r);
        close_run(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_articles_projection_is_the_win_rate_mode),
        cmocka_unit_test(win_rate_mode_needs_a_win_rate_and_takes_one_for_the_rest),
        cmocka_unit_test(idle_dilutes_the_gain_and_forgetting_it_is_shown),
        cmocka_unit_test(a_loss_is_negative_and_counted),
        cmocka_unit_test(ranges_go_through_to_the_sum),
        cmocka_unit_test(a_group_is_one_unit_with_its_launch_counts),
        cmocka_unit_test(the_first_entry_wins_and_shadowed_time_is_told),
        cmocka_unit_test(each_condition_narrows_the_selection),
        cmocka_unit_test(a_selector_that_cannot_work_is_refused_with_the_reason),
        cmocka_unit_test(an_unprofiled_step_time_replaces_the_wall),
        cmocka_unit_test(a_step_time_that_cannot_be_this_runs_is_refused),
        cmocka_unit_test(targets_say_which_speedup_would_bring_one_percent),
        cmocka_unit_test(missing_and_foreign_evidence_is_told),
        cmocka_unit_test(the_runs_own_spread_limits_what_can_be_seen),
        cmocka_unit_test(prediction_equals_running_every_launch_again),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

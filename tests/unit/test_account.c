/*
 * The account of time against an oracle of another kind: the oracle looks at every nanosecond of a
 * small run and shares it in whole parts of 1/27720 ns (divisible by 1..12), without any sweep.
 */
#include "runs.h"

#include <stdio.h>

#include "account.h"
#include "mem.h"
#include "spread.h"
#include "sweep.h"

enum { PARTS = 27720, MAX_AT_ONCE = 12, MAX_SITES = 16, MAX_STEPS = 8, MAX_DEVICES = 3 };

/* Tags by the first letter of a kernel's name: o optimal, a addressable, v overhead, c collective.
 */
static struct kr_tag *tag_by_letter(const struct kr_timeline *t)
{
    struct kr_tag *tags = calloc(t->n_sites ? t->n_sites : 1, sizeof *tags);

    assert_non_null(tags);
    for (size_t i = 0; i < t->n_sites; i++) {
        const char letter = kr_timeline_str(t, t->sites[i].name)[0];
        struct kr_tag tag = { .rule = KR_RULE_NONE, .cls = KR_UNCLASSIFIED };

        if (letter == 'o')
            tag = (struct kr_tag){ .rule = 1, .family = run_family("gemm"), .cls = KR_OPTIMAL };
        else if (letter == 'a')
            tag = (struct kr_tag){ .rule = 2, .family = run_family("norm"), .cls = KR_ADDRESSABLE };
        else if (letter == 'v')
            tag = (struct kr_tag){ .rule = 3, .family = run_family("memcpy"), .cls = KR_OVERHEAD };
        else if (letter == 'c')
            tag = (struct kr_tag){ .rule = 4,
                                   .family = run_family("collective"),
                                   .cls = KR_OPTIMAL,
                                   .flags = KR_FLAG_WAITS };
        tags[i] = tag;
    }
    return tags;
}

static struct kr_account account(const struct kr_timeline *t, const struct kr_tag *tags,
                                 const struct kr_window *w)
{
    struct kr_err err = { 0 };
    struct kr_account a;

    if (!kr_account_make(t, tags, run_rules, w, &a, &err))
        fail_msg("account: %s", err.msg);
    return a;
}

/* The account of a window of a hand-made run; the run is finished here. */
static struct kr_account account_all(struct kr_timeline *t)
{
    struct kr_err err = { 0 };
    struct kr_window w;
    struct kr_account a;
    struct kr_tag *tags;

    run_finish(t);
    tags = tag_by_letter(t);
    if (!kr_window_choose(t, "all", &w, &err))
        fail_msg("window: %s", err.msg);
    a = account(t, tags, &w);
    kr_window_free(&w);
    free(tags);
    return a;
}

static const struct kr_row_kernel *row_of(const struct kr_timeline *t, const struct kr_account *a,
                                          const char *name)
{
    for (size_t i = 0; i < a->n_kernels_rows; i++) {
        if (strcmp(kr_timeline_str(t, a->kernels_rows[i].name), name) == 0)
            return &a->kernels_rows[i];
    }
    fail_msg("no row '%s'", name);
    return NULL;
}

/* A random run: up to 3 devices with 3 streams each, durations of 0 included. */
static struct kr_timeline *random_run(uint64_t seed, int64_t scale, bool backwards)
{
    static const char *const names[] = { "o1", "o2", "a1", "a2", "v1", "c1", "x1" };
    struct kr_timeline *t = run_new();
    uint64_t state = seed;
    const uint32_t n_devices = 1 + run_random(&state) % MAX_DEVICES;
    const uint32_t n = 1 + run_random(&state) % 40;
    struct {
        int64_t device, stream, start;
        uint64_t dur;
        uint32_t name, lead;
    } events[40];

    for (uint32_t i = 0; i < n; i++) {
        events[i].device = run_random(&state) % n_devices;
        events[i].stream = run_random(&state) % 3;
        events[i].start = run_random(&state) % 150 - 20;
        events[i].dur = run_random(&state) % 3 ? run_random(&state) % 25 : run_random(&state) % 3;
        events[i].name = run_random(&state) % KR_COUNT(names);
        events[i].lead = run_random(&state) % 4 ? run_random(&state) % 100 : KR_LEAD_UNKNOWN;
    }
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = backwards ? n - 1 - k : k;
        const enum kr_kind kind = names[events[i].name][0] == 'v' ? KR_MEMCPY : KR_KERNEL;

        run_launch(t, run_track(t, 10 + events[i].device, events[i].stream),
                   run_site(t, kind, names[events[i].name], events[i].stream ? "op" : ""),
                   scale * events[i].start, (uint64_t)scale * events[i].dur, events[i].lead);
    }
    run_finish(t);
    return t;
}

static struct kr_window random_window(uint64_t seed, struct kr_step steps[MAX_STEPS])
{
    struct kr_window w = { .kind = KR_WINDOW_TIME, .steps = steps };
    uint64_t state = seed * 31 + 7;
    int64_t at;

    w.start_ns = run_random(&state) % 100 - 30;
    w.end_ns = w.start_ns + run_random(&state) % 120;
    at = w.start_ns;
    while (w.n_steps < MAX_STEPS) {
        const int64_t start = at + (run_random(&state) % 3 ? 0 : run_random(&state) % 5);
        const int64_t end = start + run_random(&state) % 30;

        if (end > w.end_ns)
            break;
        steps[w.n_steps++] = (struct kr_step){ start, end, (int64_t)w.n_steps };
        at = end;
    }
    return w;
}

/* What the oracle finds; times in parts of a nanosecond where they are shared. */
struct oracle {
    uint64_t busy[MAX_DEVICES], site[MAX_DEVICES][MAX_SITES];
    uint64_t kind_sum[MAX_DEVICES][KR_KIND_COUNT], site_sum[MAX_SITES], site_count[MAX_SITES];
    uint64_t collective[MAX_DEVICES], exposed[MAX_DEVICES];
    uint64_t step_busy[MAX_STEPS], step_class[MAX_STEPS][KR_CLASS_COUNT], step_count[MAX_STEPS];
    uint64_t step_kind_sum[MAX_STEPS][KR_KIND_COUNT];
};

static bool runs_at(const struct kr_event *e, int64_t ns)
{
    return e->start_ns <= ns && ns < e->start_ns + (int64_t)e->dur_ns;
}

static size_t step_at(const struct kr_window *w, int64_t ns)
{
    size_t i = 0;

    while (i < w->n_steps && !(w->steps[i].start_ns <= ns && ns < w->steps[i].end_ns))
        i++;
    return i;
}

static void look_at_ns(const struct kr_timeline *t, const struct kr_tag *tags,
                       const struct kr_window *w, int64_t ns, uint32_t device, struct oracle *o)
{
    const size_t step = step_at(w, ns);
    uint64_t active = 0;
    uint64_t collectives = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (t->tracks[e->track].device == device && runs_at(e, ns)) {
            active++;
            collectives += tags[e->site].family == run_family("collective");
        }
    }
    assert_true(active <= MAX_AT_ONCE);
    o->busy[device] += active > 0;
    o->collective[device] += collectives > 0;
    o->exposed[device] += collectives > 0 && collectives == active;
    if (step < w->n_steps)
        o->step_busy[step] += active > 0;
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (t->tracks[e->track].device != device || !runs_at(e, ns))
            continue;
        o->site[device][e->site] += PARTS / active;
        o->kind_sum[device][e->kind]++;
        o->site_sum[e->site]++;
        if (step < w->n_steps) {
            o->step_class[step][tags[e->site].cls] += PARTS / active;
            o->step_kind_sum[step][e->kind]++;
        }
    }
}

static void ask_oracle(const struct kr_timeline *t, const struct kr_tag *tags,
                       const struct kr_window *w, struct oracle *o)
{
    memset(o, 0, sizeof *o);
    for (uint32_t device = 0; device < t->n_devices; device++) {
        for (int64_t ns = w->start_ns; ns < w->end_ns; ns++)
            look_at_ns(t, tags, w, ns, device, o);
    }
    for (size_t i = 0; i < t->n_events; i++) {
        const int64_t at = t->events[i].start_ns;

        o->site_count[t->events[i].site] += at >= w->start_ns && at < w->end_ns;
        if (step_at(w, at) < w->n_steps)
            o->step_count[step_at(w, at)]++;
    }
}

/* True when ns is parts rounded down or up. */
static bool rounds_to(uint64_t parts, uint64_t ns)
{
    return ns == parts / PARTS || (parts % PARTS && ns == parts / PARTS + 1);
}

static void check_times(const struct kr_time *time, uint64_t wall, uint64_t busy,
                        const uint64_t kind_sum[KR_KIND_COUNT])
{
    assert_int_equal(time->wall_ns, wall);
    assert_int_equal(time->busy_ns, busy);
    assert_int_equal(time->idle_ns, wall - busy);
    assert_int_equal(time->kernel_sum_ns, kind_sum[KR_KERNEL]);
    assert_int_equal(time->memcpy_sum_ns, kind_sum[KR_MEMCPY]);
    assert_int_equal(time->memset_sum_ns, kind_sum[KR_MEMSET]);
}

static uint64_t sum_classes(const uint64_t ns[KR_CLASS_COUNT])
{
    uint64_t sum = 0;

    for (size_t i = 0; i < KR_CLASS_COUNT; i++)
        sum += ns[i];
    return sum;
}

static uint64_t gap_sum(const struct kr_gaps *g)
{
    return g->launch_ns + g->host_ns + g->queued_ns + g->unknown_ns + g->tail_ns;
}

static void check_devices(const struct kr_account *a, const struct kr_window *w,
                          const struct oracle *o)
{
    const uint64_t wall = (uint64_t)(w->end_ns - w->start_ns);

    for (size_t i = 0; i < a->n_devices; i++) {
        const struct kr_device_account *d = &a->devices[i];

        check_times(&d->time, wall, o->busy[d->device], o->kind_sum[d->device]);
        assert_int_equal(sum_classes(d->class_exclusive_ns), d->time.busy_ns);
        assert_int_equal(d->collective_ns, o->collective[d->device]);
        assert_int_equal(d->collective_exposed_ns, o->exposed[d->device]);
        assert_int_equal(gap_sum(&d->gaps), d->time.idle_ns);
    }
    assert_int_equal(a->time.wall_ns, wall * a->n_devices);
}

static void check_steps(const struct kr_account *a, const struct kr_window *w,
                        const struct oracle *o)
{
    assert_int_equal(a->n_steps, w->n_steps);
    for (size_t i = 0; i < a->n_steps; i++) {
        const struct kr_step_account *s = &a->steps[i];
        const uint64_t wall = (uint64_t)(w->steps[i].end_ns - w->steps[i].start_ns);

        check_times(&s->time, wall * a->n_devices, o->step_busy[i], o->step_kind_sum[i]);
        assert_int_equal(s->count, o->step_count[i]);
        assert_int_equal(sum_classes(s->class_exclusive_ns), s->time.busy_ns);
        for (size_t k = 0; k < KR_CLASS_COUNT; k++)
            assert_true(rounds_to(o->step_class[i][k], s->class_exclusive_ns[k]));
    }
}

static void check_sites(const struct kr_timeline *t, const struct kr_account *a,
                        const struct oracle *o)
{
    for (size_t i = 0; i < t->n_sites; i++) {
        uint64_t low = 0;
        uint64_t high = 0;

        for (size_t d = 0; d < t->n_devices; d++) {
            low += o->site[d][i] / PARTS;
            high += (o->site[d][i] + PARTS - 1) / PARTS;
        }
        assert_in_range(a->sites[i].exclusive_ns, low, high);
        assert_int_equal(a->sites[i].sum_ns, o->site_sum[i]);
        assert_int_equal(a->sites[i].count, o->site_count[i]);
    }
}

/* With one device: whoever was rounded up had at least the remainder of whoever was not. */
static void check_remainders(const struct kr_timeline *t, const struct kr_account *a,
                             const struct oracle *o)
{
    uint64_t least_up = PARTS;
    uint64_t most_down = 0;

    for (size_t i = 0; i < t->n_sites && t->n_devices == 1; i++) {
        const uint64_t remainder = o->site[0][i] % PARTS;

        if (a->sites[i].exclusive_ns > o->site[0][i] / PARTS)
            least_up = remainder < least_up ? remainder : least_up;
        else
            most_down = remainder > most_down ? remainder : most_down;
    }
    assert_true(t->n_devices > 1 || least_up >= most_down);
}

static int compare_u64(const void *pa, const void *pb)
{
    const uint64_t a = *(const uint64_t *)pa;
    const uint64_t b = *(const uint64_t *)pb;

    return (a > b) - (a < b);
}

/* min, median and max of the counted events of a class, family and name: by sorting. */
static void check_spread(const struct kr_timeline *t, const struct kr_tag *tags,
                         const struct kr_window *w, const struct kr_stats *stats, int cls, int fam,
                         uint32_t name)
{
    uint64_t durations[64];
    size_t n = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (e->start_ns >= w->start_ns && e->start_ns < w->end_ns && tags[e->site].cls == cls &&
            (fam < 0 || tags[e->site].family == fam) && (!name || t->sites[e->site].name == name))
            durations[n++] = e->dur_ns;
    }
    qsort(durations, n, sizeof *durations, compare_u64);
    assert_int_equal(stats->count, n);
    assert_int_equal(stats->min_ns, n ? durations[0] : 0);
    assert_int_equal(stats->max_ns, n ? durations[n - 1] : 0);
    assert_int_equal(stats->median_ns, n ? (durations[(n - 1) / 2] + durations[n / 2]) / 2 : 0);
}

static void check_rows(const struct kr_timeline *t, const struct kr_tag *tags,
                       const struct kr_window *w, const struct kr_account *a)
{
    uint64_t classes = 0;
    uint64_t families = 0;
    uint64_t kernels = 0;
    uint64_t count = 0;

    for (int i = 0; i < KR_CLASS_COUNT; i++) {
        check_spread(t, tags, w, &a->classes[i], i, -1, 0);
        classes += a->classes[i].exclusive_ns;
    }
    for (size_t i = 0; i < a->n_families; i++) {
        const struct kr_row_family *f = &a->families[i];

        check_spread(t, tags, w, &f->stats, f->cls, f->family, 0);
        families += f->stats.exclusive_ns;
        assert_true(i == 0 || f[-1].stats.exclusive_ns >= f->stats.exclusive_ns);
    }
    for (size_t i = 0; i < a->n_kernels_rows; i++) {
        const struct kr_row_kernel *k = &a->kernels_rows[i];

        check_spread(t, tags, w, &k->stats, k->tag.cls, k->tag.family, k->name);
        kernels += k->stats.exclusive_ns;
        count += k->stats.count;
        assert_true(i == 0 || k[-1].stats.exclusive_ns >= k->stats.exclusive_ns);
    }
    assert_int_equal(classes, a->time.busy_ns);
    assert_int_equal(families, a->time.busy_ns);
    assert_int_equal(kernels, a->time.busy_ns);
    assert_int_equal(count, a->kernels + a->memcpys + a->memsets);
    assert_int_equal(classes + a->time.idle_ns, a->time.wall_ns);
}

static void the_account_agrees_with_every_nanosecond(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct kr_timeline *t = random_run(seed, 1, false);
        struct kr_tag *tags = tag_by_letter(t);
        struct kr_step steps[MAX_STEPS];
        const struct kr_window w = random_window(seed, steps);
        struct kr_account a = account(t, tags, &w);
        struct oracle o;

        assert_true(t->n_sites <= MAX_SITES);
        ask_oracle(t, tags, &w, &o);
        check_devices(&a, &w, &o);
        check_steps(&a, &w, &o);
        check_sites(t, &a, &o);
        check_remainders(t, &a, &o);
        check_rows(t, tags, &w, &a);
        kr_account_free(&a);
        free(tags);
        kr_timeline_free(t);
    }
}

static void shares_of_a_scaled_run_are_exact(void **state)
{
    (void)state; /* times a multiple of every possible k: no share needs rounding */
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct kr_timeline *small = random_run(seed, 1, false);
        struct kr_timeline *large = random_run(seed, PARTS, false);
        struct kr_tag *tags = tag_by_letter(small);
        const struct kr_window w = { .kind = KR_WINDOW_TIME, .start_ns = -20, .end_ns = 160 };
        const struct kr_window wide = { .kind = KR_WINDOW_TIME,
                                        .start_ns = -20 * PARTS,
                                        .end_ns = 160 * PARTS };
        struct kr_account a = account(large, tags, &wide);
        struct oracle o;

        ask_oracle(small, tags, &w, &o);
        for (size_t i = 0; i < small->n_sites; i++) {
            uint64_t parts = 0;

            for (size_t d = 0; d < small->n_devices; d++)
                parts += o.site[d][i];
            assert_int_equal(a.sites[i].exclusive_ns, parts);
        }
        kr_account_free(&a);
        free(tags);
        kr_timeline_free(small);
        kr_timeline_free(large);
    }
}

static void windows_that_follow_each_other_add_to_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct kr_timeline *t = random_run(seed, PARTS, false);
        struct kr_tag *tags = tag_by_letter(t);
        const int64_t edges[] = { -20, 3, 40, 41, 90, 160 };
        const struct kr_window all = { .kind = KR_WINDOW_TIME,
                                       .start_ns = edges[0] * PARTS,
                                       .end_ns = edges[5] * PARTS };
        struct kr_account whole = account(t, tags, &all);
        struct kr_time time = { 0 };
        struct kr_stats site = { 0 };

        for (size_t i = 0; i + 1 < KR_COUNT(edges); i++) {
            const struct kr_window part = { .kind = KR_WINDOW_TIME,
                                            .start_ns = edges[i] * PARTS,
                                            .end_ns = edges[i + 1] * PARTS };
            struct kr_account a = account(t, tags, &part);

            time.wall_ns += a.time.wall_ns;
            time.busy_ns += a.time.busy_ns;
            time.kernel_sum_ns += a.time.kernel_sum_ns;
            site.count += a.sites[0].count;
            site.sum_ns += a.sites[0].sum_ns;
            site.exclusive_ns += a.sites[0].exclusive_ns;
            kr_account_free(&a);
        }
        assert_int_equal(time.wall_ns, whole.time.wall_ns);
        assert_int_equal(time.busy_ns, whole.time.busy_ns);
        assert_int_equal(time.kernel_sum_ns, whole.time.kernel_sum_ns);
        assert_int_equal(site.count, whole.sites[0].count);
        assert_int_equal(site.sum_ns, whole.sites[0].sum_ns);
        assert_int_equal(site.exclusive_ns, whole.sites[0].exclusive_ns);
        kr_account_free(&whole);
        free(tags);
        kr_timeline_free(t);
    }
}

static void the_order_of_the_input_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct kr_timeline *t[2] = { random_run(seed, 1, false), random_run(seed, 1, true) };
        struct kr_tag *tags[2] = { tag_by_letter(t[0]), tag_by_letter(t[1]) };
        const struct kr_window w = { .kind = KR_WINDOW_TIME, .start_ns = -20, .end_ns = 160 };
        struct kr_account a[2] = { account(t[0], tags[0], &w), account(t[1], tags[1], &w) };

        assert_int_equal(a[0].n_kernels_rows, a[1].n_kernels_rows);
        assert_memory_equal(a[0].classes, a[1].classes, sizeof a[0].classes);
        for (size_t i = 0; i < a[0].n_kernels_rows; i++) {
            const struct kr_row_kernel *rows[2] = { &a[0].kernels_rows[i], &a[1].kernels_rows[i] };

            assert_string_equal(kr_timeline_str(t[0], rows[0]->name),
                                kr_timeline_str(t[1], rows[1]->name));
            assert_string_equal(kr_timeline_str(t[0], rows[0]->op),
                                kr_timeline_str(t[1], rows[1]->op));
            assert_memory_equal(&rows[0]->stats, &rows[1]->stats, sizeof rows[0]->stats);
        }
        for (size_t i = 0; i < 2; i++) {
            kr_account_free(&a[i]);
            free(tags[i]);
            kr_timeline_free(t[i]);
        }
    }
}

static void classes_and_idle_are_the_span(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 6, 57, 58: the remainder is a row of its own */
    run_event(t, track, run_kernel(t, "o"), 1000, 300);
    run_event(t, track, run_kernel(t, "a"), 1400, 100);
    run_event(t, track, run_site(t, KR_MEMSET, "v", ""), 1500, 50);
    run_event(t, track, run_kernel(t, "unknown"), 1900, 100);
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, 1000);
    assert_int_equal(a.time.busy_ns, 550);
    assert_int_equal(a.time.idle_ns, 450);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 300);
    assert_int_equal(a.classes[KR_ADDRESSABLE].exclusive_ns, 100);
    assert_int_equal(a.classes[KR_OVERHEAD].exclusive_ns, 50);
    assert_int_equal(a.classes[KR_UNCLASSIFIED].exclusive_ns, 100);
    assert_int_equal(a.time.memset_sum_ns, 50);
    assert_int_equal(a.memsets, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void overlap_on_one_stream_is_shared_and_nothing_is_dropped(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 29, 43, 44: programmatic dependent launch */
    run_event(t, track, run_kernel(t, "o_splitK"), 0, 100);
    run_event(t, track, run_kernel(t, "a_reduce"), 80, 40);
    a = account_all(t);
    assert_int_equal(a.kernels, 2);
    assert_int_equal(a.time.busy_ns, 120);
    assert_int_equal(a.time.kernel_sum_ns, 140);
    assert_int_equal(row_of(t, &a, "o_splitK")->stats.exclusive_ns, 90);
    assert_int_equal(row_of(t, &a, "a_reduce")->stats.exclusive_ns, 30);
    assert_int_equal(row_of(t, &a, "a_reduce")->stats.sum_ns, 40);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void an_odd_nanosecond_goes_to_the_first_name(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state;
    run_event(t, run_track(t, 0, 7), run_kernel(t, "o_b"), 0, 3);
    run_event(t, run_track(t, 0, 8), run_kernel(t, "o_a"), 0, 3);
    a = account_all(t);
    assert_int_equal(row_of(t, &a, "o_a")->stats.exclusive_ns, 2);
    assert_int_equal(row_of(t, &a, "o_b")->stats.exclusive_ns, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void work_of_no_duration_counts(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 15, 21, 44: also at the very end */
    run_event(t, track, run_kernel(t, "o"), 0, 10);
    run_event(t, track, run_kernel(t, "a"), 5, 0);
    run_event(t, track, run_kernel(t, "a"), 10, 0);
    a = account_all(t);
    assert_int_equal(a.kernels, 3);
    assert_int_equal(a.time.wall_ns, 10);
    assert_int_equal(a.classes[KR_ADDRESSABLE].count, 2);
    assert_int_equal(a.classes[KR_ADDRESSABLE].exclusive_ns, 0);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 10);
    kr_account_free(&a);
    kr_timeline_free(t);

    t = run_new();
    run_event(t, run_track(t, 0, 7), run_kernel(t, "o"), 5, 0);
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, 0);
    assert_int_equal(a.kernels, 1);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void annotations_are_never_busy(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 31, 38 */
    run_event(t, track, run_kernel(t, "o"), 0, 10);
    run_event(t, track, run_kernel(t, "o"), 90, 10);
    run_annotation(t, "main", "step#0", -50, 500);
    run_twin(t, track, "step#0", 0, 100);
    a = account_all(t);
    assert_int_equal(a.time.busy_ns, 20);
    assert_int_equal(a.time.wall_ns, 100);
    assert_int_equal(a.time.kernel_sum_ns, 20);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void unlinked_kernels_count_as_busy(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_err err = { 0 };
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaints 7, 17, 18, 22, 53: no op, no correlation; one launch, many kernels */
    for (int i = 0; i < 4; i++) {
        struct kr_site site = { .name = run_str(t, "o"), .graph_id = 9 };
        struct kr_event e = { .start_ns = 100 * i, .dur_ns = 60, .lead_ns = KR_LEAD_UNKNOWN };

        site.graph_node_id = 40 + (uint64_t)i;
        e.track = track;
        e.site = run_add_site(t, &site);
        e.correlation = i < 2 ? 0 : 5;
        assert_true(kr_timeline_add_event(t, e, &err));
    }
    a = account_all(t);
    assert_int_equal(a.kernels, 4);
    assert_int_equal(a.distinct_kernels, 1);
    assert_int_equal(a.time.busy_ns, 240);
    assert_int_equal(a.n_kernels_rows, 1);
    assert_int_equal(a.kernels_rows[0].stats.count, 4);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void one_stream_number_on_two_devices_is_two_streams(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaints 48, 49, 50: per device first, then a stated sum */
    run_event(t, run_track(t, 0, 7), run_kernel(t, "o"), 0, 100);
    run_event(t, run_track(t, 1, 7), run_kernel(t, "o"), 0, 100);
    run_event(t, run_track(t, 1, 7), run_kernel(t, "a"), 150, 50);
    a = account_all(t);
    assert_int_equal(a.n_devices, 2);
    assert_int_equal(a.devices[0].time.busy_ns, 100);
    assert_int_equal(a.devices[0].time.idle_ns, 100);
    assert_int_equal(a.devices[1].time.busy_ns, 150);
    assert_int_equal(a.time.wall_ns, 400);
    assert_int_equal(a.time.busy_ns, 250);
    assert_int_equal(row_of(t, &a, "o")->stats.exclusive_ns, 200);
    for (size_t i = 0; i < a.n_devices; i++)
        assert_true(a.devices[i].time.busy_ns <= a.devices[i].time.wall_ns);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void thousands_at_once_share_evenly(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* nested: the i-th runs from i to 2n - i */
    for (int64_t i = 0; i < 6000; i++)
        run_event(t, run_track(t, 0, i % 500), run_kernel(t, i % 2 ? "o" : "a"), i,
                  (uint64_t)(2 * (6000 - i)));
    a = account_all(t);
    assert_int_equal(a.time.busy_ns, 12000);
    assert_int_equal(a.time.kernel_sum_ns, 6000 * 6001);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns + a.classes[KR_ADDRESSABLE].exclusive_ns,
                     12000);
    assert_in_range(a.classes[KR_ADDRESSABLE].exclusive_ns, 6001, 6010);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void collectives_are_split_into_exposed_and_hidden(void **state)
{
    struct kr_timeline *t = run_new();
    struct kr_account a;

    (void)state; /* complaint 5: never silently 0 */
    run_event(t, run_track(t, 0, 7), run_kernel(t, "o"), 0, 60);
    run_event(t, run_track(t, 0, 20), run_kernel(t, "c_all_reduce"), 40, 60);
    run_event(t, run_track(t, 0, 21), run_kernel(t, "c_all_gather"), 90, 30);
    a = account_all(t);
    assert_int_equal(a.devices[0].collective_ns, 80);
    assert_int_equal(a.devices[0].collective_exposed_ns, 60);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_collective_that_waited_for_a_late_rank_is_told(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaint 28: one all-reduce of 17456 ms in a window of 18187 ms */
    run_event(t, track, run_kernel(t, "c_ar"), 0, UINT64_C(17456000000));
    for (int64_t i = 0; i < 64; i++)
        run_event(t, track, run_kernel(t, "c_ar"), INT64_C(17500000000) + 10000000 * i, 14300);
    run_event(t, track, run_kernel(t, "o"), INT64_C(18187000000), 1000000000);
    for (int64_t i = 0; i < 3; i++)
        run_event(t, track, run_kernel(t, "o"), INT64_C(18185000000) + 10000 * i, 1000);
    a = account_all(t);
    assert_true(kr_account_waits(&a, row_of(t, &a, "c_ar")));
    assert_false(kr_account_waits(&a, row_of(t, &a, "o")));
    assert_int_equal(row_of(t, &a, "c_ar")->stats.median_ns, 14300);
    kr_account_free(&a);
    kr_timeline_free(t);

    t = run_new();
    for (int64_t i = 0; i < 64; i++)
        run_event(t, run_track(t, 0, 7), run_kernel(t, "c_ar"), 15000 * i, 14300 + (uint64_t)i);
    a = account_all(t);
    assert_false(kr_account_waits(&a, row_of(t, &a, "c_ar")));
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_suspicious_overrun_still_counts(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state; /* complaint 16: flagged by the timeline, kept in the account */
    run_event(t, track, run_kernel(t, "a"), 0, 50000000);
    for (int64_t i = 1; i <= 9; i++)
        run_event(t, track, run_kernel(t, "o"), 1000 * i, 900);
    a = account_all(t);
    assert_int_equal(t->warnings[KR_WARN_OVERRUN].count, 1);
    assert_int_equal(a.kernels, 10);
    assert_int_equal(a.time.busy_ns, 50000000);
    assert_int_equal(a.classes[KR_OPTIMAL].exclusive_ns, 9 * 450);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void idle_time_has_causes(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    const uint32_t site = run_kernel(t, "o");
    struct kr_account a;
    const struct kr_gaps *g;

    (void)state; /* complaint 26 */
    run_launch(t, track, site, 0, 1000, 5000);
    run_launch(t, track, site, 21000, 1000, 6000);              /* launched in the gap */
    run_launch(t, track, site, 24000, 1000, 900000);            /* queued long before */
    run_launch(t, track, site, 3025000, 1000, 8000);            /* the host was away for 3 ms */
    run_launch(t, track, site, 3027000, 1000, KR_LEAD_UNKNOWN); /* not recorded */
    run_launch(t, track, site, 3030000, 1000, 11000);           /* just before; calls take time */
    a = account_all(t);
    g = &a.devices[0].gaps;
    assert_int_equal(g->count, 5);
    assert_int_equal(g->launch_ns, 22000);
    assert_int_equal(g->launch_count, 2);
    assert_int_equal(g->queued_ns, 2000);
    assert_int_equal(g->host_ns, 3000000);
    assert_int_equal(g->unknown_ns, 1000);
    assert_int_equal(g->unknown_short_ns, 1000);
    assert_int_equal(gap_sum(g), a.time.idle_ns);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void steps_without_work_are_counted(void **state)
{
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_step steps[] = { { 0, 100, 0 }, { 100, 200, 1 }, { 200, 300, 2 } };
    const struct kr_window w = {
        .kind = KR_WINDOW_STEADY, .start_ns = 0, .end_ns = 300, .steps = steps, .n_steps = 3
    };
    struct kr_tag *tags;
    struct kr_account a;

    (void)state; /* complaint 19; the work of step 0 reaches into step 1 */
    run_event(t, track, run_kernel(t, "o"), 0, 110);
    run_event(t, track, run_kernel(t, "a"), 250, 10);
    run_finish(t);
    tags = tag_by_letter(t);
    a = account(t, tags, &w);
    assert_int_equal(a.empty_steps, 1);
    assert_int_equal(a.steps[1].count, 0);
    assert_int_equal(a.steps[1].time.busy_ns, 10);
    assert_int_equal(a.steps[1].class_exclusive_ns[KR_OPTIMAL], 10);
    assert_int_equal(a.steps[2].time.idle_ns, 90);
    kr_account_free(&a);
    free(tags);
    kr_timeline_free(t);
}

static void times_at_the_edge_of_the_clock_do_not_overflow(void **state)
{
    const struct kr_event last = { .start_ns = INT64_MAX - 10, .dur_ns = 11 };
    struct kr_timeline *t = run_new();
    const uint16_t track = run_track(t, 0, 7);
    struct kr_account a;

    (void)state;
    assert_true(kr_sweep_end_ns(&last) == INT64_MAX);
    run_event(t, track, run_kernel(t, "o"), INT64_MIN / 2, 10);
    run_event(t, track, run_kernel(t, "a"), INT64_MAX - 10, 10);
    a = account_all(t);
    assert_int_equal(a.time.wall_ns, (uint64_t)INT64_MAX + (uint64_t)(INT64_MAX / 2) + 1);
    assert_int_equal(a.time.busy_ns, 20);
    kr_account_free(&a);
    kr_timeline_free(t);
}

static void a_spread_is_what_sorting_finds(void **state)
{
    static const uint64_t masks[] = { 1, 7, 0xfff, 0xffffff, UINT64_MAX };
    uint64_t seed = 5;

    (void)state;
    for (size_t n = 0; n < 300; n += 1 + n / 20) {
        for (size_t m = 0; m < KR_COUNT(masks); m++) {
            uint64_t values[300];
            uint64_t sorted[300];
            struct kr_spread spread;

            for (size_t i = 0; i < n; i++)
                values[i] = ((uint64_t)run_random(&seed) << 33 ^ run_random(&seed)) & masks[m];
            memcpy(sorted, values, n * sizeof *values);
            qsort(sorted, n, sizeof *sorted, compare_u64);
            spread = kr_spread_of(values, n);
            assert_int_equal(spread.min, n ? sorted[0] : 0);
            assert_int_equal(spread.max, n ? sorted[n - 1] : 0);
            if (n)
                assert_int_equal(spread.median,
                                 sorted[(n - 1) / 2] + (sorted[n / 2] - sorted[(n - 1) / 2]) / 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_account_agrees_with_every_nanosecond),
        cmocka_unit_test(shares_of_a_scaled_run_are_exact),
        cmocka_unit_test(windows_that_follow_each_other_add_to_the_whole),
        cmocka_unit_test(the_order_of_the_input_changes_nothing),
        cmocka_unit_test(classes_and_idle_are_the_span),
        cmocka_unit_test(overlap_on_one_stream_is_shared_and_nothing_is_dropped),
        cmocka_unit_test(an_odd_nanosecond_goes_to_the_first_name),
        cmocka_unit_test(work_of_no_duration_counts),
        cmocka_unit_test(annotations_are_never_busy),
        cmocka_unit_test(unlinked_kernels_count_as_busy),
        cmocka_unit_test(one_stream_number_on_two_devices_is_two_streams),
        cmocka_unit_test(thousands_at_once_share_evenly),
        cmocka_unit_test(collectives_are_split_into_exposed_and_hidden),
        cmocka_unit_test(a_collective_that_waited_for_a_late_rank_is_told),
        cmocka_unit_test(a_suspicious_overrun_still_counts),
        cmocka_unit_test(idle_time_has_causes),
        cmocka_unit_test(steps_without_work_are_counted),
        cmocka_unit_test(times_at_the_edge_of_the_clock_do_not_overflow),
        cmocka_unit_test(a_spread_is_what_sorting_finds),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

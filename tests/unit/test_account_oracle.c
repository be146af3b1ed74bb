/*
 * The account of time against an oracle of another kind: the oracle looks at every nanosecond of a
 * small run and shares it in whole parts of 1/27720 ns (divisible by 1..12), without any sweep.
 */
#include "accounts.h"

#include "mem.h"
#include "spread.h"

enum { PARTS = 27720, MAX_AT_ONCE = 12, MAX_SITES = 16, MAX_STEPS = 8, MAX_DEVICES = 3 };

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
        assert_int_equal(sum_gaps_ns(&d->gaps), d->time.idle_ns);
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
        struct kr_account a = account_of(t, tags, &w);
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
        struct kr_account a = account_of(large, tags, &wide);
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
        struct kr_account whole = account_of(t, tags, &all);
        struct kr_time time = { 0 };
        struct kr_stats site = { 0 };

        for (size_t i = 0; i + 1 < KR_COUNT(edges); i++) {
            const struct kr_window part = { .kind = KR_WINDOW_TIME,
                                            .start_ns = edges[i] * PARTS,
                                            .end_ns = edges[i + 1] * PARTS };
            struct kr_account a = account_of(t, tags, &part);

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
        struct kr_account a[2] = { account_of(t[0], tags[0], &w), account_of(t[1], tags[1], &w) };

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
        cmocka_unit_test(a_spread_is_what_sorting_finds),
    };

    return cmocka_run_group_tests(tests, run_load_rules, run_free_rules);
}

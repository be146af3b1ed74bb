#include "runs.h"

struct kr_rules *run_rules;

int run_load_rules(void **state)
{
    struct kr_err err = { 0 };

    (void)state;
    run_rules = kr_rules_load(NULL, &err);
    if (!run_rules)
        print_error("%s\n", err.msg);
    return run_rules ? 0 : -1;
}

int run_free_rules(void **state)
{
    (void)state;
    kr_rules_free(run_rules);
    run_rules = NULL;
    return 0;
}

uint16_t run_family(const char *name)
{
    for (uint16_t i = 0; i < kr_rules_family_count(run_rules); i++)
        if (strcmp(kr_rules_family(run_rules, i), name) == 0)
            return i;
    fail_msg("no family '%s'", name);
    return 0;
}

struct kr_timeline *run_new(void)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_timeline_new(&err);

    assert_non_null(t);
    return t;
}

uint32_t run_str(struct kr_timeline *t, const char *s)
{
    struct kr_err err = { 0 };
    const uint32_t id = kr_strpool_intern(t->strings, s, strlen(s), &err);

    assert_int_not_equal(id, KR_STR_NONE);
    return id;
}

uint16_t run_track(struct kr_timeline *t, int64_t device, int64_t stream)
{
    struct kr_err err = { 0 };
    const uint32_t index = kr_timeline_device(t, device, &err);
    const struct kr_track key = { .device = index, .context = 1, .stream = stream };
    const uint32_t track = kr_timeline_track(t, key, &err);

    assert_int_not_equal(track, UINT32_MAX);
    return (uint16_t)track;
}

uint32_t run_add_site(struct kr_timeline *t, const struct kr_site *site)
{
    struct kr_err err = { 0 };
    const uint32_t id = kr_timeline_site(t, site, &err);

    assert_int_not_equal(id, UINT32_MAX);
    return id;
}

uint32_t run_site(struct kr_timeline *t, enum kr_kind kind, const char *name, const char *op)
{
    struct kr_site site = { .kind = (uint8_t)kind };

    site.name = run_str(t, name);
    site.op = run_str(t, op);
    return run_add_site(t, &site);
}

uint32_t run_kernel(struct kr_timeline *t, const char *name)
{
    return run_site(t, KR_KERNEL, name, "");
}

void run_launch(struct kr_timeline *t, uint16_t track, uint32_t site, int64_t start_ns,
                uint64_t dur_ns, uint32_t lead_ns)
{
    static uint32_t correlation;
    struct kr_err err = { 0 };
    const struct kr_event e = { .start_ns = start_ns,
                                .dur_ns = dur_ns,
                                .site = site,
                                .correlation = ++correlation,
                                .lead_ns = lead_ns,
                                .track = track,
                                .kind = t->sites[site].kind };

    assert_true(kr_timeline_add_event(t, e, &err));
}

void run_event(struct kr_timeline *t, uint16_t track, uint32_t site, int64_t start_ns,
               uint64_t dur_ns)
{
    run_launch(t, track, site, start_ns, dur_ns, KR_LEAD_UNKNOWN);
}

void run_work(struct kr_timeline *t, const char *name, int64_t start_ns, uint64_t dur_ns)
{
    run_event(t, run_track(t, 0, 7), run_kernel(t, name), start_ns, dur_ns);
}

void run_annotation(struct kr_timeline *t, const char *thread, const char *name, int64_t start_ns,
                    uint64_t dur_ns)
{
    struct kr_err err = { 0 };
    const struct kr_annotation a = { .start_ns = start_ns,
                                     .dur_ns = dur_ns,
                                     .name = run_str(t, name),
                                     .thread = run_str(t, thread),
                                     .track = -1 };

    assert_true(kr_timeline_add_annotation(t, a, &err));
}

void run_twin(struct kr_timeline *t, uint16_t track, const char *name, int64_t start_ns,
              uint64_t dur_ns)
{
    struct kr_err err = { 0 };
    const struct kr_annotation a = { .start_ns = start_ns,
                                     .dur_ns = dur_ns,
                                     .name = run_str(t, name),
                                     .track = track,
                                     .on_device = 1 };

    assert_true(kr_timeline_add_annotation(t, a, &err));
}

void run_finish(struct kr_timeline *t)
{
    struct kr_err err = { 0 };

    assert_true(kr_timeline_finish(t, &err));
}

uint32_t run_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Small timelines for tests: sites by name, events by track. Any failure ends the test. */
#ifndef KR_TEST_RUNS_H
#define KR_TEST_RUNS_H

#include <stdlib.h>
#include <string.h>

#include "timeline.h"

/* cmocka's headers, in the order it asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline struct kr_timeline *run_new(void)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_timeline_new(&err);

    assert_non_null(t);
    return t;
}

static inline uint32_t run_str(struct kr_timeline *t, const char *s)
{
    struct kr_err err = { 0 };
    const uint32_t id = kr_strpool_intern(t->strings, s, strlen(s), &err);

    assert_int_not_equal(id, KR_STR_NONE);
    return id;
}

/* The track of a stream of a device; both are added when new. */
static inline uint16_t run_track(struct kr_timeline *t, int64_t device, int64_t stream)
{
    struct kr_err err = { 0 };
    const uint32_t index = kr_timeline_device(t, device, &err);
    const struct kr_track key = { .device = index, .context = 1, .stream = stream };
    const uint32_t track = kr_timeline_track(t, key, &err);

    assert_int_not_equal(track, UINT32_MAX);
    return (uint16_t)track;
}

static inline uint32_t run_add_site(struct kr_timeline *t, const struct kr_site *site)
{
    struct kr_err err = { 0 };
    const uint32_t id = kr_timeline_site(t, site, &err);

    assert_int_not_equal(id, UINT32_MAX);
    return id;
}

/* A site with a name and an op ("" = unknown). */
static inline uint32_t run_site(struct kr_timeline *t, enum kr_kind kind, const char *name,
                                const char *op)
{
    struct kr_site site = { .kind = (uint8_t)kind };

    site.name = run_str(t, name);
    site.op = run_str(t, op);
    return run_add_site(t, &site);
}

static inline uint32_t run_kernel(struct kr_timeline *t, const char *name)
{
    return run_site(t, KR_KERNEL, name, "");
}

/* An event launched lead_ns before it starts (KR_LEAD_UNKNOWN). */
static inline void run_launch(struct kr_timeline *t, uint16_t track, uint32_t site,
                              int64_t start_ns, uint64_t dur_ns, uint32_t lead_ns)
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

static inline void run_event(struct kr_timeline *t, uint16_t track, uint32_t site, int64_t start_ns,
                             uint64_t dur_ns)
{
    run_launch(t, track, site, start_ns, dur_ns, KR_LEAD_UNKNOWN);
}

static inline void run_annotation(struct kr_timeline *t, const char *thread, const char *name,
                                  int64_t start_ns, uint64_t dur_ns)
{
    struct kr_err err = { 0 };
    const struct kr_annotation a = { .start_ns = start_ns,
                                     .dur_ns = dur_ns,
                                     .name = run_str(t, name),
                                     .thread = run_str(t, thread),
                                     .track = -1 };

    assert_true(kr_timeline_add_annotation(t, a, &err));
}

/* The device's twin of an annotation. */
static inline void run_twin(struct kr_timeline *t, uint16_t track, const char *name,
                            int64_t start_ns, uint64_t dur_ns)
{
    struct kr_err err = { 0 };
    const struct kr_annotation a = { .start_ns = start_ns,
                                     .dur_ns = dur_ns,
                                     .name = run_str(t, name),
                                     .track = track,
                                     .on_device = 1 };

    assert_true(kr_timeline_add_annotation(t, a, &err));
}

static inline void run_finish(struct kr_timeline *t)
{
    struct kr_err err = { 0 };

    assert_true(kr_timeline_finish(t, &err));
}

/* A small generator of reproducible numbers (a linear congruential one; high bits only). */
static inline uint32_t run_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

#endif

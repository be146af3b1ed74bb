/*
 * Small timelines for tests: sites by name, events by track; and the built-in rules, loaded once
 * for a group of tests. Any failure ends the test.
 */
#ifndef KR_TEST_RUNS_H
#define KR_TEST_RUNS_H

#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "timeline.h"

/* cmocka's headers, in the order it asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The built-in rules and the default policy, between these two fixtures of a group. */
extern struct kr_rules *run_rules;
int run_load_rules(void **state);
int run_free_rules(void **state);

/* The number of a family of run_rules. */
uint16_t run_family(const char *name);

struct kr_timeline *run_new(void);

uint32_t run_str(struct kr_timeline *t, const char *s);

/* The track of a stream of a device; both are added when new. */
uint16_t run_track(struct kr_timeline *t, int64_t device, int64_t stream);

uint32_t run_add_site(struct kr_timeline *t, const struct kr_site *site);

/* A site with a name and an op ("" = unknown). */
uint32_t run_site(struct kr_timeline *t, enum kr_kind kind, const char *name, const char *op);

uint32_t run_kernel(struct kr_timeline *t, const char *name);

/* An event launched lead_ns before it starts (KR_LEAD_UNKNOWN). */
void run_launch(struct kr_timeline *t, uint16_t track, uint32_t site, int64_t start_ns,
                uint64_t dur_ns, uint32_t lead_ns);

void run_event(struct kr_timeline *t, uint16_t track, uint32_t site, int64_t start_ns,
               uint64_t dur_ns);

/* A kernel without an op on stream 7 of device 0. */
void run_work(struct kr_timeline *t, const char *name, int64_t start_ns, uint64_t dur_ns);

void run_annotation(struct kr_timeline *t, const char *thread, const char *name, int64_t start_ns,
                    uint64_t dur_ns);

/* The device's twin of an annotation. */
void run_twin(struct kr_timeline *t, uint16_t track, const char *name, int64_t start_ns,
              uint64_t dur_ns);

void run_finish(struct kr_timeline *t);

/* A small generator of reproducible numbers (a linear congruential one; high bits only). */
uint32_t run_random(uint64_t *state);

#endif

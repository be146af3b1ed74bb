/* What kreach_build wrote, read as a timeline, and its warnings. Any failure ends the test. */
#ifndef KR_TEST_BUILD_READ_H
#define KR_TEST_BUILD_READ_H

#include "kreach_build.h"
#include "timeline.h"

/* The timeline of the file that b is; b is freed. */
struct kr_timeline *read_build(struct kr_build *b);

/* How often t was warned of something. */
uint64_t warned(const struct kr_timeline *t, enum kr_warn warn);

/* That t was warned of this, so often, and of nothing else (KR_WARN_COUNT: of nothing at all). */
void assert_only_warned(const struct kr_timeline *t, enum kr_warn warn, uint64_t count);

#endif

/* Writes .kreach bytes for tests, field by field, right or wrong as the test wants them. */
#ifndef KREACH_BUILD_H
#define KREACH_BUILD_H

#include "chunks.h"

/* One field of a payload; a list ends with a zeroed one. */
struct kr_field {
    char kind; /* 'v' varint, 's' svarint, 't' text, 'b' byte, 'u' UUID of 16 such bytes, 0 end */
    uint64_t number;
    const char *text;
};

/* clang-format off */
#define KR_V(n) { 'v', (uint64_t)(n), NULL }
#define KR_S(n) { 's', (uint64_t)(int64_t)(n), NULL }
#define KR_B(n) { 'b', (uint64_t)(n), NULL }
#define KR_U(n) { 'u', (uint64_t)(n), NULL }
#define KR_T(s) { 't', 0, (s) }
/* clang-format on */
#define KR_FIELDS(...) ((const struct kr_field[]){ __VA_ARGS__, { 0, 0, NULL } })

/* Zeroed to start with. Running out of memory ends the test. */
struct kr_build {
    struct kr_bytes file;
    struct kr_bytes payload;
};

/** Appends a chunk of these fields. */
void kr_build_chunk(struct kr_build *b, uint16_t type, const struct kr_field *fields);

/** Appends fields to a payload that kr_build_flush ends. */
void kr_build_fields(struct kr_build *b, const struct kr_field *fields);
void kr_build_flush(struct kr_build *b, uint16_t type);

/** Begins a section: signature and head, child of process 1, run "0123456789abcdef". */
void kr_build_section(struct kr_build *b, uint64_t pid);

/** One named, described device 0, one track 0 (context 1, stream 7) and one kernel site 0. */
void kr_build_one_kernel(struct kr_build *b, const char *name);

/** The beginning of most sections: kr_build_section and kr_build_one_kernel. */
void kr_build_begin(struct kr_build *b, uint64_t pid, const char *name);

/** One CLOCK chunk: what the three clocks said within 40 ns. */
void kr_build_clock(struct kr_build *b, int64_t real_ns, int64_t raw_ns, int64_t cupti_ns);

struct kr_build_work {
    uint32_t track, site;
    int64_t start_ns;
    uint64_t dur_ns;
    uint32_t correlation;
};

/** One EVENTS chunk. */
void kr_build_events(struct kr_build *b, const struct kr_build_work *works, size_t n);

/** One EVENTS chunk of one event, on track 0. */
void kr_build_event(struct kr_build *b, uint32_t site, int64_t start_ns, uint64_t dur_ns,
                    uint32_t correlation);

/** Ends a section: totals (kernels only) and a clean end. */
void kr_build_end(struct kr_build *b, uint64_t kernels);

/** The section of a recorder, process 9: facts (names and values) and a clean end, no work. */
void kr_build_recorder(struct kr_build *b, const struct kr_field *facts);

/** A section of process `pid` with n kernels named `name`, 100 ns each, one every 1000 ns. */
void kr_build_process(struct kr_build *b, uint64_t pid, const char *name, size_t n);

void kr_build_free(struct kr_build *b);

#endif

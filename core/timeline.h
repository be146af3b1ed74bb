/*
 * The timeline model: every reader ends here, every analysis starts here.
 *
 * A timeline is one file's worth of device work from one clock. It is built by a reader through the
 * kr_timeline_add_* functions, closed once by kr_timeline_finish (which sorts and checks), and
 * read-only afterwards: any number of threads may then read it.
 *
 * To stay at 40 bytes an event, everything that repeats is interned: an event names a *site* (a
 * distinct kind of launch: name, launching op, annotation, geometry) and a *track* (where it ran).
 */
#ifndef KR_TIMELINE_H
#define KR_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strpool.h"

enum kr_kind { KR_KERNEL, KR_MEMCPY, KR_MEMSET, KR_KIND_COUNT };

/** "kernel", "memcpy" or "memset". */
const char *kr_kind_name(enum kr_kind kind);

#define KR_LEAD_UNKNOWN UINT32_MAX

enum kr_event_flag {
    KR_EVENT_OVERRUN = 1, /* its duration runs far over its successors on one stream: suspicious */
};

/* One piece of device work. Times are of the file's own clock, exact. */
struct kr_event {
    int64_t start_ns;
    uint64_t dur_ns;
    uint32_t site;        /* index into sites */
    uint32_t correlation; /* 0 = unknown; a graph launch gives one id to many kernels */
    uint32_t lead_ns;     /* start of the launching API call to start on the device;
                             KR_LEAD_UNKNOWN when not recorded or out of range */
    uint32_t external_id; /* the file's id of the launching op; 0 = unknown */
    uint16_t track;       /* index into tracks */
    uint8_t flags;        /* enum kr_event_flag */
    uint8_t kind;         /* enum kr_kind, same as the site's */
};

/* A distinct kind of device work. All string ids are of the timeline's pool; 0 means unknown. */
struct kr_site {
    uint32_t name;          /* as written in the file */
    uint32_t op;            /* launching op, e.g. aten::mm */
    uint32_t annotation;    /* innermost enclosing user annotation, digit runs replaced by '*'
                               (steps of a loop share a site); Optimizer.step#... wins over any */
    uint32_t grid[3];       /* [blocks], 0 = unknown */
    uint32_t block[3];      /* [threads], 0 = unknown */
    uint32_t registers;     /* per thread, 0 = unknown */
    uint32_t shared_bytes;  /* static + dynamic shared memory per block */
    uint32_t graph_id;      /* CUDA graph, 0 = not from a graph or unknown */
    uint32_t work;          /* index into works; 0 = unknown */
    uint64_t graph_node_id; /* 0 = not from a graph or unknown */
    uint64_t bytes;         /* memcpy/memset size, 0 = unknown */
    uint8_t kind;           /* enum kr_kind */
};

/* Arithmetic and traffic of a launching op, from its recorded shapes. works[0] is "unknown". */
struct kr_work {
    double flop;    /* multiply and add counted as two */
    double bytes;   /* each input read once and each output written once; 0 = unknown */
    uint32_t dtype; /* string id of the first input's type, e.g. c10::BFloat16 */
};

/* A place where work runs in order (programmatic dependent launch excepted). */
struct kr_track {
    uint32_t device;  /* index into devices */
    uint32_t context; /* unique in its process */
    uint32_t process; /* id of the process, 0 = unknown or the only one */
    int64_t stream;
};

struct kr_device {
    int64_t id;                  /* as in the file */
    uint32_t name;               /* string id, 0 = unknown */
    uint32_t sm_count;           /* 0 = unknown */
    uint64_t memory_bytes;       /* 0 = unknown */
    uint32_t cc_major, cc_minor; /* compute capability, 0.0 = unknown */
    uint8_t uuid[16];            /* the same in every process; all 0 = unknown */
};

/* A user annotation: record_function, NVTX range, ProfilerStep#. Never device work. */
struct kr_annotation {
    int64_t start_ns;
    uint64_t dur_ns;
    uint32_t name;     /* string id, as written */
    uint32_t thread;   /* host: string id of the thread; device: 0 */
    int32_t track;     /* device: index into tracks (-1 if no work ran there); host: -1 */
    uint8_t on_device; /* 1: the extent of the kernels launched inside (gpu_user_annotation) */
};

/** The end of an event or annotation; INT64_MAX where the sum would overflow. */
static inline int64_t kr_end_ns(int64_t start_ns, uint64_t dur_ns)
{
    int64_t end_ns;

    return __builtin_add_overflow(start_ns, dur_ns, &end_ns) ? INT64_MAX : end_ns;
}

/* A stretch in which a process did not record what it did: outside a window, while calibrating. */
struct kr_pause {
    int64_t start_ns, end_ns; /* [start, end) */
};

/*
 * What a reader met. X(enum, key, loses_data, text): loses_data = 1 means that device work may be
 * missing or wrong because of it, so the timeline is not complete.
 */
#define KR_WARN_LIST(X)                                                                            \
    X(KR_WARN_TRUNCATED, "truncated", 1, "the input ends early; what came before is used")         \
    X(KR_WARN_TRAILING, "trailing_garbage", 0, "bytes after the end of the document were ignored") \
    X(KR_WARN_UNCLOSED_ARRAY, "unclosed_array", 0, "the bare event array has no closing bracket")  \
    X(KR_WARN_MALFORMED, "malformed", 1, "events that are not JSON were skipped")                  \
    X(KR_WARN_TOO_LARGE, "too_large", 1, "events larger than the limit were skipped")              \
    X(KR_WARN_NO_TIME, "no_time", 1, "device events without a usable ts or dur were dropped")      \
    X(KR_WARN_ZERO_TIME, "zero_time", 1, "device events with time 0 (lost times) were dropped")    \
    X(KR_WARN_NEGATIVE_DUR, "negative_duration", 1, "device events with dur < 0 were dropped")     \
    X(KR_WARN_HUGE_TIME, "huge_time", 1, "device events beyond the clock's range were dropped")    \
    X(KR_WARN_NO_NAME, "no_name", 0, "device events without a name are kept as unclassified")      \
    X(KR_WARN_OVERRUN, "overrun", 1, "durations that run far over their successors in a stream")   \
    X(KR_WARN_DUPLICATE, "duplicate_event", 0, "device events equal in every field (kept)")        \
    X(KR_WARN_DUPLICATE_KEY, "duplicate_key", 0, "duplicate keys in one event; the last counts")   \
    X(KR_WARN_UTF8, "invalid_utf8", 0, "names with invalid UTF-8 were kept byte for byte")         \
    X(KR_WARN_SURROGATE, "lone_surrogate", 0, "lone surrogate escapes became U+FFFD")              \
    X(KR_WARN_CONTROL, "control_character", 0, "raw control characters inside strings")            \
    X(KR_WARN_ESCAPE, "bad_escape", 0, "unknown escapes were kept as written")                     \
    X(KR_WARN_QUOTE, "unescaped_quote", 0, "unescaped quotes inside strings were repaired")        \
    X(KR_WARN_NONFINITE, "nonfinite_number", 0, "NaN or Infinity tokens")                          \
    X(KR_WARN_BIG_NUMBER, "big_number", 0, "numbers too large for their field were ignored")       \
    X(KR_WARN_OUT_OF_ORDER, "out_of_order", 0, "device events not in time order were sorted")      \
    X(KR_WARN_BEFORE_LAUNCH, "before_launch", 0, "device events that start before their launch")   \
    X(KR_WARN_NO_KERNELS, "launches_without_kernels", 1, "launches recorded but no kernels")       \
    X(KR_WARN_ROWS, "device_rows_guessed", 0, "no event categories; device rows chosen by args")   \
    X(KR_WARN_SHIFT, "nested_events", 0, "traceEvents was found below the top level")              \
    X(KR_WARN_GZIP_TRAILING, "gzip_trailing", 0, "bytes after the last gzip member were ignored")  \
    X(KR_WARN_DAMAGED, "damaged_chunks", 1, "damaged stretches of the file were skipped")          \
    X(KR_WARN_BAD_RECORD, "bad_record", 1, "records with impossible contents were skipped")        \
    X(KR_WARN_LOST_SITE, "lost_site", 1, "work whose description was damaged is unclassified")     \
    X(KR_WARN_LOST, "lost_records", 1, "records that the recorder says it lost")                   \
    X(KR_WARN_DROPS_UNKNOWN, "drops_unknown", 1, "CUPTI did not say whether it dropped records")   \
    X(KR_WARN_TOTALS, "totals_mismatch", 1, "records written but not found in the file")           \
    X(KR_WARN_NOT_ENDED, "not_ended", 1,                                                           \
      "processes without a clean end; their last moments may be missing")                          \
    X(KR_WARN_GAP, "gap", 1, "stretches missed: another client held CUPTI, or it was busy")        \
    X(KR_WARN_PAUSED, "paused", 0, "stretches left out on purpose: window or calibration")         \
    X(KR_WARN_OUTSIDE, "outside", 0,                                                               \
      "graph kernels that began outside of what was asked for were left out")                      \
    X(KR_WARN_NO_SECTION, "missing_process", 1, "processes recorded but not in the file")          \
    X(KR_WARN_CLOCK_STEP, "clock_step", 1, "steps of the clock; times around them are off")        \
    X(KR_WARN_NO_CLOCK, "no_clock", 1, "processes that cannot be placed on the common clock")      \
    X(KR_WARN_GRAPH_LEVEL, "graph_level", 0, "whole CUDA graphs recorded as one piece of work")    \
    X(KR_WARN_UNEVEN_GRAPH, "uneven_graphs", 0,                                                    \
      "CUDA graphs whose launches differ in work; loops inside may be cut short")                  \
    X(KR_WARN_UNKNOWN_CHUNK, "unknown_chunks", 0, "chunks of a newer kreach were ignored")

enum kr_warn {
#define KR_WARN_ENUM(id, key, loses, text) id,
    KR_WARN_LIST(KR_WARN_ENUM)
#undef KR_WARN_ENUM
        KR_WARN_COUNT
};

/** Stable snake_case key of a warning, as in JSON output. */
const char *kr_warn_key(enum kr_warn warn);
/** One line for a person. */
const char *kr_warn_text(enum kr_warn warn);
/** True when device work may be missing or wrong because of it. */
bool kr_warn_loses_data(enum kr_warn warn);

struct kr_warning {
    uint64_t count;
    uint64_t first_offset; /* [byte] KR_NO_OFFSET when there is none */
};

/* Everything a reader counted. In = kept + dropped: events_read is the number of event objects. */
struct kr_counts {
    uint64_t events_read;
    uint64_t device_events; /* kept = kernels + memcpys + memsets */
    uint64_t kernels, memcpys, memsets;
    uint64_t dropped; /* device events dropped for any reason */
    uint64_t annotations, cpu_ops;
    uint64_t launches;       /* kernel-launch API rows (cudaLaunchKernel*, cuLaunchKernel*) */
    uint64_t graph_launches; /* cudaGraphLaunch, cuGraphLaunch */
};

/* Something the recorder knew about the run, e.g. "driver": "580.65.06". Ids of strings. */
struct kr_fact {
    uint32_t key, value;
};

/* Step times of the same run with and without profiling. Counts of 0: not measured. */
struct kr_step_times {
    uint64_t plain_step_ns, plain_steps;       /* time and number of unprofiled steps */
    uint64_t plain_low_ns, plain_high_ns;      /* the middle half of them lies between */
    uint64_t profiled_step_ns, profiled_steps; /* the same while profiling */
    uint64_t profiled_low_ns, profiled_high_ns;
    double cost_frac;                     /* profiled / plain - 1, of stretches side by side when */
    double cost_low_frac, cost_high_frac; /* pairs > 0; its 95 % interval. NAN = unknown */
    uint64_t pairs;                       /* stretches that were compared */
    char method[24];                      /* "alternating", "second run"; "" = not measured */
    char label[128];                      /* of the range that marks the steps, digit runs as '*';
                                             "" = unknown */
};

struct kr_source {
    char *path;              /* as given; "-" for standard input */
    const char *format;      /* "kineto-json" */
    const char *compression; /* "none", "gzip", "zstd" */
    uint64_t input_bytes;    /* as stored */
    uint64_t text_bytes;     /* after decompression */
    int64_t rank;            /* distributedInfo.rank, -1 = unknown */
    int64_t base_ns;         /* baseTimeNanoseconds, 0 = unknown */
    char events_at[64];      /* where the events were found: "traceEvents", "[]", "a.traceEvents" */
    bool truncated;
    uint64_t truncated_at; /* [byte] in the decompressed text */
    bool drops_known;      /* the format says how many records the recorder dropped */
    uint64_t drops;
    bool whole_program;    /* recorded from the program's start, so with its start-up and warm-up;
                              else of a stretch that somebody chose */
    uint64_t processes;    /* that did device work; 0 = the format does not say */
    struct kr_fact *facts; /* in order of first appearance; see kr_timeline_fact */
    size_t n_facts;
    struct kr_step_times steps;
};

struct kr_timeline {
    struct kr_source source;
    struct kr_strpool *strings;
    struct kr_event *events; /* sorted by start, then track, then correlation, then site */
    size_t n_events;
    struct kr_site *sites;
    size_t n_sites;
    struct kr_work *works; /* works[0] is unknown */
    size_t n_works;
    struct kr_track *tracks;
    size_t n_tracks;
    struct kr_device *devices;
    size_t n_devices;
    struct kr_annotation *annotations; /* sorted by start, longest first on ties */
    size_t n_annotations;
    struct kr_pause *pauses; /* in time order, apart from each other */
    size_t n_pauses;
    struct kr_counts counts;
    struct kr_warning warnings[KR_WARN_COUNT];
    struct kr_timeline_build *build; /* builder's private state; NULL once finished */
};

/** An empty timeline open for building; NULL with err filled. */
struct kr_timeline *kr_timeline_new(struct kr_err *err);
void kr_timeline_free(struct kr_timeline *t);

/** Counts one more occurrence of a warning; the first offset stays. */
void kr_timeline_warn(struct kr_timeline *t, enum kr_warn warn, uint64_t count, uint64_t offset);

/** Sets a fact about the run; a key that is there already gets the new value. */
bool kr_timeline_set_fact(struct kr_timeline *t, uint32_t key, uint32_t value, struct kr_err *err);

/** The value of a fact, or NULL when it is not known. Borrowed until kr_timeline_free. */
const char *kr_timeline_fact(const struct kr_timeline *t, const char *key);

/** Index of the device with this id, added when new; UINT32_MAX with err filled. */
uint32_t kr_timeline_device(struct kr_timeline *t, int64_t id, struct kr_err *err);

/** Index of the track, added when new; UINT32_MAX with err filled (limit: 65,535 tracks). */
uint32_t kr_timeline_track(struct kr_timeline *t, struct kr_track key, struct kr_err *err);

/** Index of the site equal to *site in every field, added when new; UINT32_MAX with err filled. */
uint32_t kr_timeline_site(struct kr_timeline *t, const struct kr_site *site, struct kr_err *err);

/** Index of an equal work, added when new; UINT32_MAX with err filled. */
uint32_t kr_timeline_work(struct kr_timeline *t, struct kr_work work, struct kr_err *err);

/** Appends an event as given (its site and track must exist); false with err filled. */
bool kr_timeline_add_event(struct kr_timeline *t, struct kr_event event, struct kr_err *err);

bool kr_timeline_add_annotation(struct kr_timeline *t, struct kr_annotation a, struct kr_err *err);

/** Adds a stretch without recording; one that is empty or upside down is ignored. */
bool kr_timeline_add_pause(struct kr_timeline *t, struct kr_pause pause, struct kr_err *err);

/**
 * Ends building: sorts events and annotations (counting KR_WARN_OUT_OF_ORDER), counts events equal
 * in every field (KR_WARN_DUPLICATE: kept, since clocks of whole microseconds make true twins),
 * flags overruns (KR_WARN_OVERRUN), counts graphs whose launches hold different numbers of events
 * (KR_WARN_UNEVEN_GRAPH: a graph's first and last launch are not compared, since a recording may
 * begin or end inside of them), fills counts.device_events/kernels/memcpys/memsets, and frees
 * the builder's state. Events already in order need no extra memory, others 16 bytes each.
 *
 * An overrun is an event that ends more than 1 ms after four or more later events of its track
 * started: real streams overlap by microseconds (programmatic dependent launch) and by one or two.
 */
bool kr_timeline_finish(struct kr_timeline *t, struct kr_err *err);

/** True when no counted warning loses data and the recorder is not known to have dropped any. */
bool kr_timeline_complete(const struct kr_timeline *t);

/** A string of the timeline's pool, "" for id 0. Borrowed until kr_timeline_free. */
const char *kr_timeline_str(const struct kr_timeline *t, uint32_t id);

#endif

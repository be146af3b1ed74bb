/* Options of a recording, carried by the environment into every process of the run. */
#ifndef CAP_OPTS_H
#define CAP_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAP_PATH_MAX 4096
#define CAP_NAME_MAX 128

/*
 * How long a window that is not wanted any more stays open. Shutting and opening it costs the
 * program up to 1.1 ms (H200, CUPTI 13.0, tests/gpu/window_costs.cu: 50 us for the kinds, 0.08
 * to 0.24 ms for the first launch afterwards, 1 ms for that of a graph, and a launch beside a move
 * waits 0.14 ms), so that ranges which come as slowly as this are slowed down by 1 % at most.
 */
#define CAP_LINGER_NS 100000000ULL

struct cap_opts {
    char out[CAP_PATH_MAX];     /* KREACH_OUT: a folder, or the beginning of the files' names */
    char run_id[17];            /* KREACH_RUN: 16 hex digits shared by the run; "" = none given */
    char text[1024];            /* KREACH_OPTIONS as given, for the file */
    char range[CAP_NAME_MAX];   /* record only inside NVTX ranges of this name; "" = everywhere */
    uint64_t delay_ns;          /* record from this long after CUDA came up */
    uint64_t duration_ns;       /* stop after recording for this long; 0 = never */
    uint64_t linger_ns;         /* how long a window stays open after the range; 0 = not at all */
    uint64_t flush_ns;          /* period of flushes to the file */
    uint64_t deadline_ns;       /* longest wait for CUPTI when the process ends */
    uint32_t steps;             /* stop after this many equal steps in a row; 0 = never */
    size_t cap_bytes;           /* most memory for records in flight */
    size_t file_bytes;          /* no rows beyond this length of the file; 0 = no limit */
    size_t buffer_bytes;        /* size of one buffer handed to CUPTI */
    size_t device_buffer_bytes; /* CUPTI's own buffers on the device: size, how many at most per */
    size_t device_limit;        /* context, and how many made in advance; 0 = as CUPTI has it */
    size_t device_ready;
    bool pinned;       /* these in pinned host memory */
    bool one_buffer;   /* one record buffer for all threads instead of one each */
    bool unzeroed;     /* CUPTI zeroes record buffers, on the program's threads */
    bool launches;     /* record launch calls */
    bool graph_level;  /* one record per graph launch instead of one per kernel in it */
    bool nvtx;         /* record NVTX ranges */
    bool calibrate;    /* take turns at recording steps and leaving them alone; sets nvtx */
    bool profiler_api; /* record between cudaProfilerStart and cudaProfilerStop */
    bool marks_after;  /* record NVTX ranges, and only them, when the window is over for good */
    bool finalize;     /* when a window is over for good, take CUPTI out of the process */
    bool yield;        /* hold no CUPTI subscription, so that others may take over */
    bool plain;        /* no CUPTI at all: NVTX ranges only, for true step times */
    bool floor;        /* benchmark: enable CUPTI, throw all records away undecoded */
    bool kernels_only; /* benchmark: no memcpy and memset records */
    bool peers;        /* records of copies between devices where there is one device, too */
    bool all_calls;    /* benchmark: records of all calls and of CUPTI's own work too */
    bool ticks;        /* benchmark, with floor: CUPTI reads the processor's counter, not a clock */
    bool own_ids;      /* benchmark: CUPTI's numbers for threads */
    bool verbose;
};

/**
 * Reads KREACH_OUT, KREACH_RUN and KREACH_OPTIONS. Options that are unknown or out of range are
 * named on standard error and skipped.
 *
 * KREACH_OPTIONS is a comma-separated list: range=NAME, delay=SECONDS, duration=SECONDS, steps=N,
 * linger=SECONDS, cap=MIB, size=MIB, buffer=KIB, flush=SECONDS, deadline=SECONDS, launches,
 * graph-level, nvtx, calibrate, profiler-api, marks-after, finalize, yield, plain, verbose; for
 * CUPTI's own memory device-buffer=KIB, device-limit=N, device-ready=N, pinned, one-buffer,
 * unzeroed; and to find out what costs, peers, kernels-only, floor, all-calls, ticks, own-ids. "\,"
 * stands for a comma inside NAME.
 */
void cap_opts_read(struct cap_opts *opts);

/** True when KREACH_DISABLE is set to anything but "" and "0". */
bool cap_opts_disabled(void);

#endif

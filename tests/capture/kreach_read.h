/*
 * A second reader of .kreach files, for tests of the writer only: written from docs/format.md, it
 * shares no code with the reader of the tool.
 */
#ifndef KREACH_READ_H
#define KREACH_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define READ_NAMES_MAX   2048
#define READ_DEVICES_MAX 64
#define READ_ROWS_MAX    64

struct read_row { /* a LOST or a GAP */
    uint64_t kind, count, device;
    int64_t from_ns, to_ns;
    char detail[160];
};

struct read_range {
    char name[64];
    uint64_t thread, dur_ns;
    unsigned kind;
};

/* What one file says, all its sections together. */
struct read_file {
    bool ok;       /* every chunk whole and understood */
    bool torn;     /* the file ends inside a chunk, or with a wrong CRC */
    char why[160]; /* the first thing that is wrong */
    unsigned sections, chunks;
    uint64_t pid, parent_pid;
    char run_id[32];
    uint64_t kernels, memcpys, memsets, graphs, launches, clocks;
    int64_t clock_offset_ns;               /* CUPTI's clock - REALTIME at the last reading */
    uint64_t bytes, event_bytes;           /* of the file; of EVENTS payloads */
    uint64_t per_device[READ_DEVICES_MAX]; /* events */
    uint64_t n_names, n_sites, n_tracks, n_devices;
    char names[READ_NAMES_MAX][1024]; /* by id, of the last section */
    char device_name[READ_DEVICES_MAX][64];
    uint64_t device_flags[READ_DEVICES_MAX];
    uint64_t by_name[READ_NAMES_MAX];     /* events of each name id */
    uint64_t dur_by_name[READ_NAMES_MAX]; /* [ns] */
    uint64_t launch_thread;               /* of the last launch call */
    uint64_t instant_events;              /* of no duration */
    uint64_t duplicates;                  /* kernels equal to their predecessor in every field */
    uint64_t peer_copies;                 /* memcpys that name a peer */
    uint64_t graph_kernels;               /* kernels with a graph id */
    struct read_row lost[READ_ROWS_MAX];
    unsigned n_lost;
    struct read_row gaps[READ_ROWS_MAX];
    unsigned n_gaps;
    uint64_t gap_rows; /* in the file, kept here or not */
    struct read_range ranges[READ_ROWS_MAX];
    unsigned n_ranges;
    uint64_t range_rows; /* likewise */
    uint64_t totals[16];
    uint64_t plain_steps, profiled_steps; /* times in a CALIBRATION chunk */
    unsigned ends;
    uint64_t end; /* of the last section */
    char end_detail[64];
    char info[8192]; /* "key=value\n"... */
    int64_t first_ns, last_ns;
};

/** Reads a file; false when it cannot be opened or is no .kreach file. */
bool kreach_read(const char *path, struct read_file *out);

/** The same; also writes a line for each event, as the fake CUDA does with truth=1. */
bool kreach_read_log(const char *path, struct read_file *out, FILE *log);

/** Sum of counts of one kind of loss; *present when there is a row of it. */
uint64_t kreach_read_lost(const struct read_file *f, uint64_t kind, bool *present);

/** The last value of an info key into out; false when there is none. */
bool kreach_read_info(const struct read_file *f, const char *key, char *out, size_t room);

#endif

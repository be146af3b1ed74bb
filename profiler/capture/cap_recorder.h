/*
 * From CUPTI's records to chunks of a .kreach file. One thread at a time; no CUPTI call is made
 * here except walking a buffer.
 *
 * Nothing is created on disk before there is something to say: a process without GPU work leaves no
 * file.
 */
#ifndef CAP_RECORDER_H
#define CAP_RECORDER_H

#include "cap_cupti.h"
#include "cap_mem.h"
#include "cap_opts.h"
#include "cap_sink.h"
#include "cap_steps.h"
#include "cap_tables.h"
#include "kreach_format.h"

#define CAP_DEVICES_MAX 64 /* larger ordinals share the last place in counts */
#define CAP_TOTALS_MAX  16
#define CAP_LOSSES_MAX  16
#define CAP_CHUNK_BYTES (256u << 10) /* rows of one chunk, about */

/* What this process is; written at the head of its section. */
struct cap_identity {
    uint64_t pid, parent_pid;
    uint64_t start_ticks; /* /proc/self/stat, field 22 */
};

/* Definitions of one kind that still have to reach the file. */
struct cap_pending {
    struct cap_bytes body;
    uint64_t first_id, n;
};

/* A chunk of delta-coded rows under construction. */
struct cap_rows {
    struct cap_bytes body;
    uint64_t n;
    int64_t base_ns, previous_ns;
    int64_t previous_correlation;
};

struct cap_recorder {
    const struct cap_opts *opts;
    struct cap_identity identity;
    struct cap_sink sink;
    struct cap_bytes info; /* pairs of text gathered before the file exists */
    bool append;           /* the program has a file already: this is its next section */
    uint32_t file_number;  /* in its name; other programs of the process have the ones below */
    bool wanted;           /* a file shall exist whatever happens */
    bool opened;           /* the file exists and has its head */
    bool hindered;         /* it could not be made at first; said so */
    bool full;             /* the file has the size that was asked for; said so */
    bool dead;             /* the file cannot be written any more; everything is only counted */
    bool graphs_seen;      /* CUDA graphs ran, as far as records tell */

    struct cap_names names;
    struct cap_table tracks, sites;
    struct cap_pending new_names, new_devices, new_tracks, new_sites;
    size_t names_kept_bytes;           /* of new_names: could not be written by the last flush */
    uint32_t devices[CAP_DEVICES_MAX]; /* ordinals already described */
    uint32_t n_devices;

    struct cap_rows events, launches;
    struct cap_bytes ranges, losses, gaps, clocks;
    uint64_t n_ranges, n_losses, n_gaps;
    int64_t first_ns, last_ns; /* extent of the events met */

    enum kreach_loss untimed; /* what records without times are in the buffer being decoded */
    uint64_t timeless[CAP_LOSSES_MAX]
                     [CAP_DEVICES_MAX]; /* by enum kreach_loss; not yet in the file */
    uint64_t unknown, unwritten;        /* likewise */
    uint64_t totals[CAP_TOTALS_MAX];    /* by enum kreach_total */
    uint64_t lost_ever;                 /* everything missing so far, for the last word on stderr */
    struct cap_steps steps;             /* empty unless a number of steps was asked for */
};

/** Prepares tables; makes no file. False when out of memory. */
bool cap_recorder_open(struct cap_recorder *r, const struct cap_opts *opts);
void cap_recorder_close(struct cap_recorder *r);

/** Adds a fact about the run (see KREACH_INFO); written with the head or at the next flush. */
void cap_recorder_info(struct cap_recorder *r, const char *key, const char *value);

/** Decodes one delivered buffer; records in it that have no times count as `untimed`. */
void cap_recorder_buffer(struct cap_recorder *r, const struct cap_cupti *c, uint8_t *buffer,
                         size_t valid_bytes, enum kreach_loss untimed);

/* An NVTX range as the host saw it. */
struct cap_range {
    const char *name;
    size_t name_len;
    uint32_t thread;
    uint8_t kind; /* as in KREACH_RANGES */
    int64_t start_ns;
    uint64_t dur_ns;
};
void cap_recorder_range(struct cap_recorder *r, const struct cap_range *range);

/** device: ordinal + 1, 0 = unknown. */
void cap_recorder_lost(struct cap_recorder *r, enum kreach_loss loss, uint64_t count,
                       uint32_t device, const char *detail);

/** from_ns and to_ns: CUPTI's clock; both 0 = unknown. */
void cap_recorder_gap(struct cap_recorder *r, enum kreach_gap gap, int64_t from_ns, int64_t to_ns,
                      const char *detail);

struct cap_clock_reading {
    int64_t realtime_ns, monotonic_raw_ns, cupti_ns;
    uint64_t width_ns;
};
void cap_recorder_clock(struct cap_recorder *r, const struct cap_clock_reading *reading);

static inline void cap_recorder_total(struct cap_recorder *r, enum kreach_total key, uint64_t value)
{
    r->totals[key] = value;
}

/** True when there is anything that belongs in a file. */
bool cap_recorder_has_news(const struct cap_recorder *r);

/** Writes everything gathered as whole chunks; with_totals adds the running totals. */
void cap_recorder_flush(struct cap_recorder *r, bool with_totals);

/** Writes the last chunk and closes the file. */
void cap_recorder_end(struct cap_recorder *r, enum kreach_end end, const char *detail);

#endif

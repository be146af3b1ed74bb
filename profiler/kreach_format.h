/*
 * The .kreach file: what libkreach.so writes and the reader reads. They share this page and
 * nothing else. The format for other implementers: docs/format.md.
 *
 * A file is a signature and then chunks, appended whole, never changed afterwards. Whatever kills
 * the writer, everything before the torn tail can be read. One process writes one section: a
 * signature, a HEAD chunk, more chunks, and (when it ended cleanly) an END chunk. A run of several
 * processes is their sections one after the other.
 *
 * All integers are little-endian. "varint" is LEB128 (7 bits a byte, low bits first, at most 10
 * bytes); "svarint" is a zigzag varint; "text" is a varint length and that many bytes.
 * Numbers of chunk types, loss kinds and so on are never reused; readers skip unknown chunk types
 * and count them.
 */
#ifndef KREACH_FORMAT_H
#define KREACH_FORMAT_H

#include <stdint.h>

#define KREACH_SIGNATURE       "KREACH\x1a\n" /* 8 bytes, then chunks */
#define KREACH_SIGNATURE_BYTES 8

#define KREACH_VERSION_MAJOR 1 /* a reader refuses a larger one */
#define KREACH_VERSION_MINOR 1

#define KREACH_CHUNK_MAGIC UINT32_C(0x4b43524b) /* "KRCK" */
#define KREACH_CHUNK_MAX_BYTES                                                                     \
    (UINT32_C(4) << 20) /* payload; a writer starts a new chunk before                             \
                         */

/* Readers leave out what begins or lasts that long: sums of two times stay within 64 bits. */
#define KREACH_TIME_LIMIT_NS (INT64_C(1) << 61)

/* 16 bytes before each payload. */
struct kreach_chunk {
    uint32_t magic;
    uint16_t type;  /* enum kreach_chunk_type */
    uint16_t flags; /* 0 */
    uint32_t payload_bytes;
    uint32_t crc; /* CRC-32C (Castagnoli) of the 12 bytes before it and the payload */
};

enum kreach_chunk_type {
    /* varint major, minor; pid; parent pid; process start time (clock ticks, /proc/self/stat);
       text run id (16 hex digits shared by all processes of one record). First in a section. */
    KREACH_HEAD = 1,
    /* Pairs of text: key, value. May appear again; the last value of a key counts. Keys: command,
       cwd, host, kernel, driver, cupti, cupti_path, cuda, options, version, rank, started_ns
       (REALTIME), failed (why CUPTI could not record in this process), ...
       The section that `kreach record` itself puts first has "recorder" = its version and
       "sections" = how many sections follow. */
    KREACH_INFO = 2,
    /* Names: varint id of the first, then texts; ids count up from 1 in the section (0 is ""). */
    KREACH_NAMES = 3,
    /* Devices: per device varint id, 16 bytes UUID, text name, varint SMs, memory bytes, compute
       capability major, minor, varint flags (enum kreach_device_flag). */
    KREACH_DEVICES = 4,
    /* Tracks: varint id of the first, then per track varint device id, context, stream. Ids count
       up from 0 in the section. */
    KREACH_TRACKS = 5,
    /* Sites: varint id of the first, then per site: u8 kind (enum kreach_kind), varint name; for a
       kernel: grid x y z, block x y z, registers, shared bytes, graph id, graph node id; for a
       memcpy: u8 copy kind, u8 source memory, u8 destination memory, varint bytes, peer device id
       + 1 (0 = none), graph id, graph node id; for a memset: u8 memory, varint bytes, graph id,
       graph node id; for a graph (graph-level mode): graph id. Ids count up from 0 in the section.
     */
    KREACH_SITES = 6,
    /* Work: varint count, svarint base [ns, CUPTI clock], then per record: varint track, varint
       site, svarint start - previous start (the first: - base), varint duration, svarint
       correlation - previous correlation (the first: - 0). In order of delivery, not of time. */
    KREACH_EVENTS = 7,
    /* Clock readings: per reading svarint REALTIME ns, MONOTONIC_RAW ns, CUPTI ns, varint width
       ns of the bracket (its uncertainty). */
    KREACH_CLOCK = 8,
    /* What is known to be missing: varint enum kreach_loss, varint count, varint device id + 1
       (0 = unknown), svarint from ns, svarint to ns (CUPTI clock; both 0 = unknown), text detail.
     */
    KREACH_LOST = 9,
    /* A stretch that was not recorded on purpose or by force: varint enum kreach_gap, svarint from
       ns, svarint to ns (CUPTI clock), text detail (the other client's name, the window spec). */
    KREACH_GAP = 10,
    /* Host ranges (NVTX): varint count, then per range varint name, thread id, u8 kind (0 push/pop,
       1 start/end, 2 mark), svarint start, varint duration [ns, CUPTI clock]. */
    KREACH_RANGES = 11,
    /* Launch calls: varint count, svarint base, then per call: varint thread id, cbid domain (0
       runtime, 1 driver), cbid, svarint start - previous start, varint duration, svarint
       correlation - previous. */
    KREACH_LAUNCHES = 12,
    /* Running totals at a flush: pairs of varint key (enum kreach_total), varint value; 0 is left
       out. A reader checks them against what it decoded: the file's work + KREACH_LOST_WRITE. */
    KREACH_TOTALS = 13,
    /* Clean end: varint enum kreach_end, text detail. Last in a section. */
    KREACH_END = 14,
    /* Step times: text method ("alternating", "second run"); varint count and as many varint ns
       measured without profiling; varint count and as many varint ns of profiled steps. Since
       version 1.1: text label (the range that marks the steps); varint count of stretches, then of
       each, in time order, u8 1 = profiled, varint steps, taken from the front of the lists. */
    KREACH_CALIBRATION = 15,
};

enum kreach_kind {
    KREACH_KERNEL = 0,
    KREACH_MEMCPY = 1,
    KREACH_MEMSET = 2,
    KREACH_GRAPH = 3, /* a whole graph launch, in graph-level mode */
};

enum kreach_device_flag { KREACH_DEVICE_MIG = 1 };

enum kreach_loss {
    KREACH_LOST_CUPTI = 1,      /* CUPTI's own counter of dropped records */
    KREACH_LOST_ZERO_TIME = 2,  /* records whose time could not be collected (start = end = 0) */
    KREACH_LOST_BAD_TIME = 3,   /* end before start, or one of them 0 */
    KREACH_LOST_MEMORY_CAP = 4, /* our memory cap was reached; records discarded */
    KREACH_LOST_WRITE = 5,      /* the file could not be written (disk full) */
    KREACH_LOST_UNKNOWN = 6,    /* records of a kind or size that we cannot decode */
    KREACH_LOST_DEADLINE = 7,   /* the final flush did not finish in time */
    KREACH_LOST_COUNTER = 8,    /* CUPTI's counter could not be read: drops are unknown (count 0) */
    KREACH_LOST_UNFINISHED = 9, /* still under way when the recording ended: no times yet */
    KREACH_LOST_TAKEOVER = 10,  /* another CUPTI client came before their times were collected */
};

enum kreach_gap {
    KREACH_GAP_WINDOW = 1,    /* outside the window that the user asked for */
    KREACH_GAP_TAKEOVER = 2,  /* another CUPTI client took the buffers */
    KREACH_GAP_CALIBRATE = 3, /* detached to measure the true step time */
    KREACH_GAP_BUSY = 4,      /* another client held CUPTI from the start: nothing recorded */
    KREACH_GAP_MISSED = 5,    /* inside the window, but recording could not be on yet */
};

enum kreach_total {
    KREACH_TOTAL_KERNELS = 1,
    KREACH_TOTAL_MEMCPYS = 2,
    KREACH_TOTAL_MEMSETS = 3,
    KREACH_TOTAL_GRAPHS = 4,
    KREACH_TOTAL_LAUNCHES = 5,
    KREACH_TOTAL_RANGES = 6,
    KREACH_TOTAL_BUFFERS = 7,        /* CUPTI buffers delivered */
    KREACH_TOTAL_OWN_CPU_NS = 8,     /* CPU time of libkreach's own threads */
    KREACH_TOTAL_REQUESTS = 9,       /* buffers CUPTI asked for */
    KREACH_TOTAL_REQUESTS_SLOW = 10, /* of them not served from the pre-faulted pool */
    KREACH_TOTAL_FILE_BYTES = 11,
    KREACH_TOTAL_FLUSHES = 12,
    KREACH_TOTAL_PEAK_POOL_BYTES = 13,
};

enum kreach_end {
    KREACH_END_EXIT = 1, /* exit() or return from main */
    KREACH_END_FAST = 2, /* _exit, _Exit, quick_exit */
    KREACH_END_EXEC = 3,
    KREACH_END_SIGNAL = 4, /* a terminating signal that we saw */
    KREACH_END_WINDOW = 5, /* the window closed and we detached */
};

#endif

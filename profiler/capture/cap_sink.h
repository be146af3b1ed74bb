/* The .kreach file of this process: whole chunks, appended; see kreach_format.h. */
#ifndef CAP_SINK_H
#define CAP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A piece of a chunk's payload. */
struct cap_piece {
    const void *data;
    size_t len;
};
#define CAP_PIECES_MAX 4

struct cap_sink {
    int fd;        /* -1 = not open */
    bool in_run;   /* a run made the folder, and took it away when it was over: never made again */
    bool reopened; /* the program closed our descriptor once; said so */
    dev_t device;  /* of the file, to know it again */
    ino_t inode;
    uint64_t end_bytes; /* length of the whole chunks so far */
    uint64_t failures;  /* chunks that could not be written */
    char path[4200];
};

/**
 * Creates the file named by `path` and keeps its descriptor out of the low numbers; missing folders
 * are made, except for a run. The file must not exist, unless `append` lets its contents stay
 * before ours.
 * @return false with errno set
 */
bool cap_sink_open(struct cap_sink *s, bool append);

/** Begins a section: the signature and a HEAD chunk in one write. */
bool cap_sink_section(struct cap_sink *s, const struct cap_piece *head);

/**
 * Appends one chunk, all or nothing: when it cannot be written whole, the file keeps its length.
 * @return false with errno set; counted in failures.
 */
bool cap_sink_chunk(struct cap_sink *s, uint16_t type, const struct cap_piece *pieces, size_t n);

/** Closes; fine when not open. */
void cap_sink_close(struct cap_sink *s);

#endif

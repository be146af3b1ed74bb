/* The parts that the processes of a run left in its folder: one file each. */
#ifndef KR_RECORD_PARTS_H
#define KR_RECORD_PARTS_H

#include <limits.h>
#include <stddef.h>

#include "err.h"

struct kr_part {
    char name[NAME_MAX + 1];
    uint64_t started_ticks, pid; /* of its process; 0 = the part does not say */
    size_t whole_bytes;          /* up to a torn tail; known once summed up */
};

struct kr_parts {
    const char *folder; /* borrowed */
    struct kr_part *items;
    size_t n, cap;
};

/** Lists all parts in the order in which their processes started; freed by free(items). */
bool kr_parts_list(const char *folder, struct kr_parts *parts, struct kr_err *err);

/* A part's bytes. */
struct kr_part_bytes {
    void *data;
    size_t len;
};

bool kr_part_map(const char *folder, const char *name, struct kr_part_bytes *bytes,
                 struct kr_err *err);
void kr_part_unmap(const struct kr_part_bytes *bytes);

#endif

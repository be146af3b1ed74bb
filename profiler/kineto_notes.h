/* Which annotation encloses a moment: user annotations flattened into a list of changes. */
#ifndef KR_KINETO_NOTES_H
#define KR_KINETO_NOTES_H

#include "kineto_part.h"

/* From this time on this name holds, until the next change. */
struct kr_note_change {
    int64_t at_ns;
    uint32_t name; /* string id with digit runs replaced by '*', 0 = none */
};

/* The changes of one stream, or of the host. */
struct kr_note_scope {
    int64_t device, stream;
    uint32_t on_device;
    size_t first, end; /* range of changes */
};

struct kr_note_map {
    struct kr_note_scope *scopes; /* sorted */
    size_t n_scopes, cap_scopes;
    struct kr_note_change *changes;
    size_t n_changes, cap_changes;
};

/**
 * Builds the map; sorts the notes on the way. Names are ids of `strings`, which gets new ones.
 * Where annotations nest, the innermost holds, but "Optimizer.step..." keeps what is inside it.
 */
bool kr_note_map_build(struct kr_note_map *map, struct kr_kineto_note *notes, size_t n,
                       struct kr_strpool *strings, struct kr_err *err);
void kr_note_map_free(struct kr_note_map *map);

/** The scope of a stream (or of the host), NULL when nothing was annotated there. */
const struct kr_note_scope *kr_note_map_scope(const struct kr_note_map *map, bool on_device,
                                              int64_t device, int64_t stream);

/** The name that holds at a time; 0 when scope is NULL or nothing does. */
uint32_t kr_note_map_at(const struct kr_note_map *map, const struct kr_note_scope *scope,
                        int64_t at_ns);

#endif

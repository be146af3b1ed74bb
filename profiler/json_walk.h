/* Walks the members of one JSON object that lies complete in memory, without building anything. */
#ifndef KR_JSON_WALK_H
#define KR_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

enum kr_json_type { KR_JSON_STRING, KR_JSON_BARE, KR_JSON_OBJECT, KR_JSON_LIST };

/* Part of the walked text, borrowed. */
struct kr_json_span {
    const char *p; /* NULL = absent */
    size_t len;
};

struct kr_json_member {
    struct kr_json_span key; /* raw inside of the key string */
    enum kr_json_type type;
    /* string: raw inside; bare: the token (number, true, NaN, ...); object, list: from the opening
     * bracket to the end of the text, until kr_json_walk_skip makes it the value alone */
    struct kr_json_span value;
};

struct kr_json_walk {
    const char *p, *end;
    bool lenient;     /* strings end where kr_split_quote_closes says so */
    bool broken;      /* not JSON at p; the walk is over */
    bool started;     /* past the first member */
    bool pending;     /* an object or list at p has not been skipped or entered */
    unsigned repairs; /* quotes that were taken as text */
};

/** Starts a walk over the object text[0..len), whose first byte is its '{'. */
struct kr_json_walk kr_json_walk_object(const char *text, size_t len, bool lenient);

/** The next member; false at the end of the object or, with broken set, where it is not JSON. */
bool kr_json_walk_next(struct kr_json_walk *w, struct kr_json_member *m);

/** Passes over the object or list of the last member and cuts m->value to it. */
bool kr_json_walk_skip(struct kr_json_walk *w, struct kr_json_member *m);

/** Starts walking the object that is the last member's value; end with kr_json_walk_leave. */
struct kr_json_walk kr_json_walk_enter(const struct kr_json_walk *w);

/** Goes on behind an entered object whose walk has ended. */
void kr_json_walk_leave(struct kr_json_walk *w, const struct kr_json_walk *inner);

#endif

/*
 * Finds where an object of an event array ends, without parsing it.
 *
 * The strict way works on blocks of 64 bytes and also notices when it has lost track of what is
 * inside a string. The lenient way is slower and knows the usual damage. Neither recurses, and both
 * look at each byte a bounded number of times.
 */
#ifndef KR_JSON_SPLIT_H
#define KR_JSON_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json_block.h"

/* A stretch of the text in memory. */
struct kr_json_text {
    const char *p;
    size_t len;
    bool last;   /* nothing follows it in the input */
    char before; /* the last byte before it that is no space; NUL at the start of the input */
};

enum kr_split_end {
    KR_SPLIT_END,  /* the object ends before pos */
    KR_SPLIT_MORE, /* the text or the limit ended first; pos is where to go on */
    KR_SPLIT_LOST  /* damaged; lenient: the next event starts at pos */
};

/*
 * State of a strict search; zeroed but for blocks, marks, and pos = place of the opening brace.
 *
 * Marks are bits, one a byte, set for both quotes of every string of the object and for its
 * { } [ ] and , outside of strings. Bit 0 is the byte of the text at pos rounded down to 64.
 */
struct kr_splitter {
    size_t pos;
    struct kr_blocks *blocks; /* over the text */
    uint64_t *marks;          /* where the marks from pos on go; NULL = none wanted */
    uint64_t depth;
    uint64_t in_string; /* all bits set or none */
    bool escaped;       /* the byte at pos follows a backslash that escapes it */
    bool after_string;  /* the byte at pos follows a closing quote */
};

/**
 * Goes on with a strict search until the object ends or `limit` [byte] is reached. Marks need room
 * up to the limit: kr_split_marks of its distance.
 *
 * Lost means that a string is not followed by what may follow one (so that a quote is missing or
 * too many before), or that an object follows a comma, which it does in lists; the lenient search
 * decides.
 */
enum kr_split_end kr_split_strict(struct kr_splitter *s, const struct kr_json_text *text,
                                  size_t limit);

/* What a lenient search found. */
struct kr_split_found {
    enum kr_split_end kind;
    size_t pos;       /* end of the object, or for KR_SPLIT_LOST the start of the event after it */
    unsigned repairs; /* quotes that were taken as text */
};

/* How a lenient search takes the text. */
struct kr_split_how {
    size_t limit; /* where to give up with KR_SPLIT_MORE [byte] */
    bool paths;   /* a backslash before a quote may end a Windows path, so that the quote closes */
    uint64_t *marks; /* as in kr_splitter, with pos = start and room up to the limit; NULL = none */
};

/**
 * Searches the end of the object at `start` where quotes may lack their backslash: a quote closes
 * a string only when a comma, colon or closing bracket follows. JSON in good order is read rightly
 * without `paths`, and rarely not with it.
 */
struct kr_split_found kr_split_lenient(const struct kr_json_text *text, size_t start,
                                       struct kr_split_how how);

/** Words of marks for an object of `len` bytes, wherever it starts. */
static inline size_t kr_split_marks(size_t len)
{
    return len / KR_BLOCK_BYTES + 2;
}

/** The last byte before pos that is no space, NUL at the start of the input. */
char kr_split_byte_before(const struct kr_json_text *text, size_t pos);

/** True when the '{' at pos looks like the start of an event: in a list, with a known first key. */
bool kr_split_is_event(const struct kr_json_text *text, size_t pos);

/** The first likely event start in [from, limit), or `limit`. */
size_t kr_split_find_event(const struct kr_json_text *text, size_t from, size_t limit);

#endif

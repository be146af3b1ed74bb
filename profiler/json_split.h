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

/* State of a strict search; zeroed but for pos = place of the opening brace. */
struct kr_splitter {
    size_t pos;
    uint64_t depth;
    uint64_t in_string; /* all bits set or none */
    bool escaped;       /* the byte at pos follows a backslash that escapes it */
    bool after_string;  /* the byte at pos follows a closing quote */
};

/**
 * Goes on with a strict search until the object ends or `limit` [byte] is reached.
 *
 * Lost means that a string is not followed by what may follow one, that an event seems to start
 * inside a string, or that an object follows a comma (lists of objects do so rightly; the lenient
 * search decides).
 */
enum kr_split_end kr_split_strict(struct kr_splitter *s, const struct kr_json_text *text,
                                  size_t limit);

/**
 * Searches the end of the object at `start` where quotes may lack their backslash: a quote closes
 * a string only when a comma, colon or closing bracket follows.
 *
 * @param limit  where to give up with KR_SPLIT_MORE [byte]
 * @param pos    end of the object, or for KR_SPLIT_LOST the start of the event after it
 */
enum kr_split_end kr_split_lenient(const struct kr_json_text *text, size_t start, size_t limit,
                                   size_t *pos);

/** The last byte before pos that is no space, NUL at the start of the input. */
char kr_split_byte_before(const struct kr_json_text *text, size_t pos);

/** True when the '{' at pos looks like the start of an event: in a list, with a known first key. */
bool kr_split_is_event(const struct kr_json_text *text, size_t pos);

/** The first likely event start in [from, limit), or `limit`. */
size_t kr_split_find_event(const struct kr_json_text *text, size_t from, size_t limit);

/** True when the quote at pos ends a string by the lenient rule: see kr_split_lenient. */
bool kr_split_quote_closes(const char *p, size_t len, size_t pos);

/** Bytes of text that the backslash at p takes inside a string: 2, or 1 where the lenient rule
 * leaves the quote after it to close the string (a Windows path ended in it). */
size_t kr_split_backslash_length(const char *p, size_t len, bool lenient);

#endif

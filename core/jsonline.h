/*
 * Line numbers for values of a JSON text that a parser has already accepted. Parsers give values
 * without their places; a message for a person needs the line.
 */
#ifndef KR_JSONLINE_H
#define KR_JSONLINE_H

#include <stddef.h>

/* One step down into a JSON text: into an object's member, or into an array's element. */
struct kr_json_step {
    const char *key; /* member name as decoded; NULL = the element `index` of an array */
    size_t index;
};

/**
 * The line (from 1) where a place in a valid JSON text begins; for a member, the line of its key.
 *
 * Where the path leads nowhere (or through a key written with escapes) the answer is the line of
 * the deepest part that exists, so a message is never without one. Cost: one pass over the text,
 * so use it for errors, and kr_jsonline_items to number many values.
 */
size_t kr_jsonline_find(const char *text, size_t len, const struct kr_json_step *path, size_t n);

/* Where a value begins. */
struct kr_json_place {
    size_t offset; /* [byte] */
    size_t line;   /* from 1 */
};

/**
 * Places where the elements of one array begin, in one pass.
 *
 * @param path    leads to the array
 * @param places  filled with at most `cap` places
 * @return number of places filled; 0 when there is no such array.
 */
size_t kr_jsonline_items(const char *text, size_t len, const struct kr_json_step *path, size_t n,
                         struct kr_json_place *places, size_t cap);

#endif

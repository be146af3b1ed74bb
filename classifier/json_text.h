/* JSON documents for people to write: parsed by jansson, located by a small scanner of our own. */
#ifndef KR_JSON_TEXT_H
#define KR_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

#include "err.h"

/**
 * Parses a document; duplicate keys are refused.
 * @param path  for the message: "path:line: what"
 * @return NULL with err filled (KR_EINPUT); json_decref when done.
 */
json_t *kr_json_parse(const char *path, const char *text, size_t len, struct kr_err *err);

/* A step into a value: a key of an object, or an item of an array. */
struct kr_json_step {
    const char *key; /* NULL: item number `item` of an array */
    size_t item;
};

/**
 * Line (from 1) of the value that the steps lead to, counted from the document's root; the line of
 * the last value that exists when they lead nowhere. The text must have parsed.
 */
size_t kr_json_line(const char *text, size_t len, const struct kr_json_step *steps, size_t n);

/* Where a value starts. */
struct kr_json_place {
    size_t line;   /* from 1 */
    size_t offset; /* [byte] */
};

/**
 * Places of the first n items of the array under a key of the root object, in one pass.
 * Items that do not exist keep what `places` held.
 */
void kr_json_item_places(const char *text, size_t len, const char *key,
                         struct kr_json_place *places, size_t n);

#endif

/*
 * Small JSON documents that people write by hand, read strictly: unknown keys, duplicate keys and
 * wrong types are errors that name file, line and place. Used by rules, policies, sigma files and
 * share lists.
 */
#ifndef KR_STRICT_JSON_H
#define KR_STRICT_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "err.h"
#include "jsonline.h"

enum { KR_DOC_DEPTH_MAX = 8 };

/* An open document and the place where the reader is; messages speak of that place. */
struct kr_doc {
    char *name; /* path as given, "standard input" for "-" */
    char *text;
    size_t len;
    json_t *root; /* an object */
    struct kr_json_step path[KR_DOC_DEPTH_MAX];
    size_t depth;
    const char
        *subject; /* borrowed: what messages speak of, e.g. "rule 'x'"; NULL = only a place */
};

/**
 * Reads a document of at most 16 MiB and parses it; "-" is standard input.
 * @return false with KR_EINPUT. Free with kr_doc_close (also after failure).
 */
bool kr_doc_open(struct kr_doc *doc, const char *path, struct kr_err *err);
/** The same for text in memory, which is copied. */
bool kr_doc_open_mem(struct kr_doc *doc, const char *name, const char *text, size_t len,
                     struct kr_err *err);
void kr_doc_close(struct kr_doc *doc);

/**
 * Steps into a member or element for the messages that follow; the key stays borrowed. A reader
 * that has failed need not step back.
 */
void kr_doc_enter_key(struct kr_doc *doc, const char *key);
void kr_doc_enter_index(struct kr_doc *doc, size_t index);
void kr_doc_leave(struct kr_doc *doc);

/**
 * Fails with KR_EINPUT and "file:line: " of the current place, then "subject: " where the document
 * has one; control bytes become '?'. One pass over the text.
 */
bool kr_doc_fail(const struct kr_doc *doc, struct kr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));
/** The same at a member of the current place; where it is missing, at the place itself. */
bool kr_doc_fail_key(const struct kr_doc *doc, const char *key, struct kr_err *err, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5), cold));

/**
 * Places of the first n elements of an array, in one pass over the object that holds it, so that
 * many can be numbered without searching for each.
 *
 * @param from  the object that holds the array, as found by this function; NULL = the root
 * @param key   the array's key in that object
 * @return n places in the document; an element that is not there has the place of the object.
 *         Freed with free(); NULL with err filled when memory runs out.
 */
struct kr_json_place *kr_doc_places(const struct kr_doc *doc, const struct kr_json_place *from,
                                    const char *key, size_t n, struct kr_err *err);

/** Checks "schema" (which must be `schema`) and "schema_version" (1) of the root. */
bool kr_doc_check_schema(const struct kr_doc *doc, const char *schema, struct kr_err *err);

/**
 * Checks that a value is an object that has only known keys.
 * @param what   names the object in messages: "an entry"
 * @param known  ends with NULL; the nearest is suggested for an unknown key
 */
bool kr_doc_check_keys(const struct kr_doc *doc, const json_t *value, const char *what,
                       const char *const *known, struct kr_err *err);

/** A string member that must be there and not be empty: borrowed until the document is closed. */
const char *kr_doc_need_text(const struct kr_doc *doc, const json_t *object, const char *key,
                             struct kr_err *err);

/** An optional string member, not empty: *out is borrowed, or NULL when the member is absent. */
bool kr_doc_text(const struct kr_doc *doc, const json_t *object, const char *key, const char **out,
                 struct kr_err *err);

/** Like kr_doc_text, but copied (freed by the caller); *out stays when the member is absent. */
bool kr_doc_string(const struct kr_doc *doc, const json_t *object, const char *key, char **out,
                   struct kr_err *err);

/** A number: an integer, a real, or (where allowed) the string "inf". */
bool kr_doc_number(const struct kr_doc *doc, const json_t *value, bool allow_inf, double *out,
                   struct kr_err *err);

/** An optional member that must be a whole number in [min, max]; *out stays when absent. */
bool kr_doc_uint(const struct kr_doc *doc, const json_t *object, const char *key, uint64_t min,
                 uint64_t max, uint64_t *out, struct kr_err *err);

#endif

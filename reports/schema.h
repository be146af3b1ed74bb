/* The JSON Schemas (draft 2020-12) of what kreach writes; reports/schemas/NAME.json, embedded. */
#ifndef KR_SCHEMA_H
#define KR_SCHEMA_H

#include <stddef.h>

struct kr_schema {
    const char *name; /* "report", ... */
    const char *text;
    size_t len;
};

/** By name; ends with a zeroed one. */
extern const struct kr_schema kr_schemas[];

#endif

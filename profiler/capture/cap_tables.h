/*
 * What repeats is written once: names, tracks and sites get ids, and events name the ids.
 *
 * All tables belong to one thread. Memory is bounded: a full table is emptied and its ids go on
 * counting, so that a thing may be defined again under a new id.
 */
#ifndef CAP_TABLES_H
#define CAP_TABLES_H

#include "cap_mem.h"

#include <stdbool.h>
#include <stdint.h>

#define CAP_ID_NONE UINT32_MAX

struct cap_slot;

/*
 * A hash table from fixed-size keys to consecutive ids. Zeroed = empty. Programs repeat themselves:
 * each slot remembers which one was wanted after it, and that one is looked at first.
 */
struct cap_table {
    uint8_t *slots;         /* per slot: struct cap_slot, then the key */
    struct cap_slot *last;  /* of the last answer; NULL = none */
    struct cap_slot *guess; /* what was wanted after it the last time; NULL = nothing */
    uint32_t n_slots, n_used, limit;
    uint32_t key_bytes;
    uint32_t next_id;
};

#define CAP_KEY_UNIT_BYTES 16

/** key_bytes must be a multiple of CAP_KEY_UNIT_BYTES; the table holds at most `limit` keys at
 * once. */
void cap_table_init(struct cap_table *t, uint32_t key_bytes, uint32_t limit);
void cap_table_free(struct cap_table *t);

/**
 * Id of an equal key, or of a new one (then *is_new). CAP_ID_NONE when out of memory.
 * Keys are compared byte by byte: padding must be zero.
 */
uint32_t cap_table_id(struct cap_table *t, const void *key, bool *is_new);

struct cap_name_slot;

/* Names by pointer, verified against the text. Ids count from 1; 0 is the empty name. */
struct cap_names {
    struct cap_name_slot *by_pointer; /* open addressing over pointers */
    uint32_t n_slots, n_used;
    uint32_t epoch;
    struct cap_table by_text; /* key: 128-bit hash of the text */
};

#define CAP_NAME_LIMIT_BYTES 65535 /* longer names are cut */

bool cap_names_init(struct cap_names *n);
void cap_names_free(struct cap_names *n);

/**
 * Begins a batch (one delivered buffer): within it a pointer is taken to mean one text. Across
 * batches the text is compared, since CUPTI may reuse the memory after a module is unloaded.
 */
void cap_names_batch(struct cap_names *n);

/** Id of a NUL-terminated name, 0 for NULL and "". New texts are appended to `out` as text. */
uint32_t cap_names_id(struct cap_names *n, const char *name, struct cap_bytes *out);

/** The same for bytes with a length; never by pointer. */
uint32_t cap_names_id_of(struct cap_names *n, const char *name, size_t len, struct cap_bytes *out);

#endif

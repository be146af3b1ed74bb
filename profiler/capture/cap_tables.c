#include "cap_tables.h"

#include <string.h>

#define FIRST_SLOTS      1024u
#define POINTER_SLOTS    65536u
#define NAME_TABLE_LIMIT (1u << 18)

__extension__ typedef unsigned __int128 wide_t;

static uint64_t mix(uint64_t a, uint64_t b)
{
    const wide_t wide = (wide_t)a * b;

    return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* Two independent 64-bit hashes of len bytes (odd multipliers chosen at random by us). */
static void hash128(const void *data, size_t len, uint64_t out[2])
{
    const uint8_t *p = data;
    uint64_t a = len ^ UINT64_C(0x8a51a1f3c9d6e2b7);
    uint64_t b = len ^ UINT64_C(0x3c79ac492ba7b653);
    uint64_t word = 0;

    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        a = mix(a ^ word, UINT64_C(0x9fb21c651e98df25));
        b = mix(b ^ word, UINT64_C(0xd6e8feb86659fd93)) + a;
    }
    word = 0;
    memcpy(&word, p, len);
    out[0] = mix(a ^ word, UINT64_C(0xbf58476d1ce4e5b9));
    out[1] = mix(b ^ word, UINT64_C(0x94d049bb133111eb)) ^ out[0];
}

/* For keys. They are compared in full afterwards, so collisions only cost time. */
static uint64_t hash64(const void *key, size_t len)
{
    const uint8_t *p = key;
    uint64_t hash = len;

    for (const uint8_t *end = p + len; p < end; p += CAP_KEY_UNIT_BYTES) {
        uint64_t words[2];
        memcpy(words, p, sizeof words);
        hash = mix(words[0] ^ UINT64_C(0x9fb21c651e98df25) ^ hash,
                   words[1] ^ UINT64_C(0xd6e8feb86659fd93));
    }
    return hash;
}

static bool same_key(const uint8_t *a, const void *b, size_t len)
{
    const uint8_t *other = b;

    for (size_t at = 0; at < len; at += CAP_KEY_UNIT_BYTES) {
        uint64_t x[2];
        uint64_t y[2];
        memcpy(x, a + at, sizeof x);
        memcpy(y, other + at, sizeof y);
        if (((x[0] ^ y[0]) | (x[1] ^ y[1])) != 0)
            return false;
    }
    return true;
}

void cap_table_init(struct cap_table *t, uint32_t key_bytes, uint32_t limit)
{
    *t = (struct cap_table){ .key_bytes = key_bytes, .limit = limit };
}

/* Slots lie at multiples of 8 bytes, which suits this. */
struct cap_slot {
    uint32_t id;   /* + 1; 0 = empty */
    uint32_t next; /* slot that was wanted after this one the last time */
};

static size_t slot_bytes(const struct cap_table *t)
{
    return sizeof(struct cap_slot) + t->key_bytes;
}

static struct cap_slot *slot_at(const struct cap_table *t, uint32_t at)
{
    return (struct cap_slot *)(void *)(t->slots + at * slot_bytes(t));
}

static uint8_t *key_of(struct cap_slot *slot)
{
    return (uint8_t *)(slot + 1);
}

void cap_table_free(struct cap_table *t)
{
    cap_pages_free(t->slots, t->n_slots * slot_bytes(t));
    t->slots = NULL;
    t->last = NULL;
    t->guess = NULL;
    t->n_slots = 0;
    t->n_used = 0;
}

/* The slot of a key, or the empty one where it belongs. */
static uint32_t find_slot(const struct cap_table *t, const void *key)
{
    for (uint64_t hash = hash64(key, t->key_bytes);; hash++) {
        const uint32_t at = (uint32_t)hash & (t->n_slots - 1);
        struct cap_slot *slot = slot_at(t, at);
        if (slot->id == 0 || same_key(key_of(slot), key, t->key_bytes))
            return at;
    }
}

static bool rehash(struct cap_table *t, uint32_t n_slots)
{
    struct cap_table bigger = *t;

    bigger.n_slots = n_slots;
    bigger.last = NULL;
    bigger.guess = NULL;
    bigger.slots = cap_pages(n_slots * slot_bytes(t));
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < t->n_slots; i++) {
        struct cap_slot *old = slot_at(t, i);
        if (old->id == 0)
            continue;
        struct cap_slot *slot = slot_at(&bigger, find_slot(&bigger, key_of(old)));
        memcpy(slot, old, slot_bytes(t));
        slot->next = 0;
    }
    cap_pages_free(t->slots, t->n_slots * slot_bytes(t));
    *t = bigger;
    return true;
}

static bool make_room(struct cap_table *t)
{
    if (t->n_used >= t->limit) {
        memset(t->slots, 0, t->n_slots * slot_bytes(t));
        t->n_used = 0;
        t->last = NULL;
        t->guess = NULL;
        return true;
    }
    if (t->n_used * 2 < t->n_slots)
        return true;
    return rehash(t, t->n_slots ? t->n_slots * 2 : FIRST_SLOTS);
}

/* Makes the next guess now, when nobody waits for it. */
static uint32_t answer(struct cap_table *t, struct cap_slot *slot)
{
    t->last = slot;
    t->guess = slot_at(t, slot->next);
    return slot->id - 1;
}

uint32_t cap_table_id(struct cap_table *t, const void *key, bool *is_new)
{
    struct cap_slot *const guess = t->guess;

    *is_new = false;
    if (guess && guess->id != 0 && same_key(key_of(guess), key, t->key_bytes))
        return answer(t, guess);
    if (!make_room(t))
        return CAP_ID_NONE;
    const uint32_t at = find_slot(t, key);
    struct cap_slot *slot = slot_at(t, at);
    if (t->last)
        t->last->next = at;
    if (slot->id == 0) {
        slot->id = ++t->next_id;
        memcpy(key_of(slot), key, t->key_bytes);
        t->n_used++;
        *is_new = true;
    }
    return answer(t, slot);
}

struct cap_name_slot {
    const char *pointer;
    uint64_t hash[2]; /* of the text when it was last looked at */
    uint32_t id, epoch;
};

bool cap_names_init(struct cap_names *n)
{
    *n = (struct cap_names){ .n_slots = POINTER_SLOTS, .epoch = 1 };
    cap_table_init(&n->by_text, 2 * sizeof(uint64_t), NAME_TABLE_LIMIT);
    n->by_text.next_id = 1; /* 0 is the empty name */
    n->by_pointer = cap_pages(POINTER_SLOTS * sizeof *n->by_pointer);
    return n->by_pointer != NULL;
}

void cap_names_free(struct cap_names *n)
{
    cap_pages_free(n->by_pointer, POINTER_SLOTS * sizeof *n->by_pointer);
    n->by_pointer = NULL;
    cap_table_free(&n->by_text);
}

void cap_names_batch(struct cap_names *n)
{
    n->epoch++;
}

static uint32_t intern(struct cap_names *n, const uint64_t hash[2], const char *name, size_t len,
                       struct cap_bytes *out)
{
    bool is_new = false;
    uint32_t id = cap_table_id(&n->by_text, hash, &is_new);

    if (is_new)
        cap_put_text(out, name, len);
    return id;
}

uint32_t cap_names_id_of(struct cap_names *n, const char *name, size_t len, struct cap_bytes *out)
{
    uint64_t hash[2];

    if (len == 0)
        return 0;
    if (len > CAP_NAME_LIMIT_BYTES)
        len = CAP_NAME_LIMIT_BYTES;
    hash128(name, len, hash);
    return intern(n, hash, name, len, out);
}

static struct cap_name_slot *pointer_slot(struct cap_names *n, const char *name)
{
    if (n->n_used * 2 >= n->n_slots) { /* a cache: emptying it loses nothing */
        memset(n->by_pointer, 0, n->n_slots * sizeof *n->by_pointer);
        n->n_used = 0;
    }
    for (uint64_t at = mix((uintptr_t)name, UINT64_C(0x9fb21c651e98df25));; at++) {
        struct cap_name_slot *slot = &n->by_pointer[at & (n->n_slots - 1)];
        if (slot->pointer == name)
            return slot;
        if (!slot->pointer) {
            slot->pointer = name;
            n->n_used++;
            return slot;
        }
    }
}

uint32_t cap_names_id(struct cap_names *n, const char *name, struct cap_bytes *out)
{
    uint64_t hash[2];

    if (!name || name[0] == '\0')
        return 0;
    struct cap_name_slot *slot = pointer_slot(n, name);
    if (slot->epoch == n->epoch)
        return slot->id;
    size_t len = strnlen(name, CAP_NAME_LIMIT_BYTES);
    hash128(name, len, hash);
    if (slot->epoch == 0 || memcmp(slot->hash, hash, sizeof hash) != 0) {
        uint32_t id = intern(n, hash, name, len, out);
        if (id == CAP_ID_NONE)
            return 0;
        memcpy(slot->hash, hash, sizeof hash);
        slot->id = id;
    }
    slot->epoch = n->epoch;
    return slot->id;
}

#include "kineto_notes.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "note_name.h"

#define MAX_CHANGES ((size_t)UINT32_MAX)

/* An annotation that is open at the moment the sweep has reached. */
struct open_note {
    int64_t end_ns;
    uint32_t name;
    bool holds;
};

struct sweep {
    struct kr_note_map *map;
    struct kr_strpool *strings;
    struct open_note *open; /* by start; the last is the innermost */
    size_t n_open, cap_open;
    struct kr_err *err;
};

static int compare_scope(const struct kr_note_scope *a, const struct kr_note_scope *b)
{
    if (a->on_device != b->on_device)
        return KR_COMPARE(a->on_device, b->on_device);
    if (a->device != b->device)
        return KR_COMPARE(a->device, b->device);
    return KR_COMPARE(a->stream, b->stream);
}

static struct kr_note_scope scope_of(const struct kr_kineto_note *note)
{
    return (struct kr_note_scope){ note->device, note->stream, note->on_device, 0, 0 };
}

static int compare_notes(const void *pa, const void *pb)
{
    const struct kr_kineto_note *a = pa;
    const struct kr_kineto_note *b = pb;
    const struct kr_note_scope sa = scope_of(a);
    const struct kr_note_scope sb = scope_of(b);
    int by_scope = compare_scope(&sa, &sb);

    if (by_scope)
        return by_scope;
    if (a->start_ns != b->start_ns)
        return KR_COMPARE(a->start_ns, b->start_ns);
    if (a->dur_ns != b->dur_ns)
        return KR_COMPARE(b->dur_ns, a->dur_ns);
    return KR_COMPARE(a->name, b->name);
}

static bool change(struct sweep *s, int64_t at_ns, uint32_t name)
{
    struct kr_note_map *map = s->map;

    if (!kr_grow(&map->changes, &map->cap_changes, map->n_changes + 1, sizeof *map->changes,
                 MAX_CHANGES, s->err))
        return false;
    map->changes[map->n_changes++] = (struct kr_note_change){ at_ns, name };
    return true;
}

/* Ends the open annotations that are over at `now`. */
static bool close_until(struct sweep *s, int64_t now)
{
    while (s->n_open && s->open[s->n_open - 1].end_ns <= now) {
        int64_t end_ns = s->open[s->n_open - 1].end_ns;

        while (s->n_open && s->open[s->n_open - 1].end_ns <= end_ns)
            s->n_open--;
        if (!change(s, end_ns, s->n_open ? s->open[s->n_open - 1].name : 0))
            return false;
    }
    return true;
}

static bool open_note(struct sweep *s, const struct kr_kineto_note *note)
{
    const struct open_note *outer = s->n_open ? &s->open[s->n_open - 1] : NULL;
    struct open_note in = { .name = kr_note_name_pattern(s->strings, note->name, s->err) };

    if (in.name == KR_STR_NONE)
        return false;
    in.holds = kr_note_name_holds(kr_strpool_get(s->strings, in.name, NULL));
    if (!in.holds && outer && outer->holds) {
        in.name = outer->name;
        in.holds = true;
    }
    in.end_ns = note->start_ns + (int64_t)note->dur_ns;
    if (!kr_grow(&s->open, &s->cap_open, s->n_open + 1, sizeof in, MAX_CHANGES, s->err))
        return false;
    s->open[s->n_open++] = in;
    return change(s, note->start_ns, in.name);
}

static bool sweep_scope(struct sweep *s, const struct kr_kineto_note *notes, size_t n)
{
    struct kr_note_map *map = s->map;
    struct kr_note_scope scope = scope_of(notes);

    if (!kr_grow(&map->scopes, &map->cap_scopes, map->n_scopes + 1, sizeof scope, MAX_CHANGES,
                 s->err))
        return false;
    scope.first = map->n_changes;
    for (size_t i = 0; i < n; i++) {
        if (!close_until(s, notes[i].start_ns) || !open_note(s, &notes[i]))
            return false;
    }
    if (!close_until(s, INT64_MAX))
        return false;
    scope.end = map->n_changes;
    map->scopes[map->n_scopes++] = scope;
    return true;
}

bool kr_note_map_build(struct kr_note_map *map, struct kr_kineto_note *notes, size_t n,
                       struct kr_strpool *strings, struct kr_err *err)
{
    struct sweep s = { .map = map, .strings = strings, .err = err };
    size_t first = 0;
    bool ok = true;

    memset(map, 0, sizeof *map);
    if (n)
        qsort(notes, n, sizeof *notes, compare_notes);
    while (ok && first < n) {
        const struct kr_note_scope scope = scope_of(&notes[first]);
        size_t end = first + 1;

        for (; end < n; end++) {
            const struct kr_note_scope next = scope_of(&notes[end]);

            if (compare_scope(&scope, &next) != 0)
                break;
        }
        ok = sweep_scope(&s, notes + first, end - first);
        first = end;
    }
    free(s.open);
    if (!ok)
        kr_note_map_free(map);
    return ok;
}

void kr_note_map_free(struct kr_note_map *map)
{
    free(map->scopes);
    free(map->changes);
    memset(map, 0, sizeof *map);
}

static int compare_scope_items(const void *a, const void *b)
{
    return compare_scope(a, b);
}

const struct kr_note_scope *kr_note_map_scope(const struct kr_note_map *map, bool on_device,
                                              int64_t device, int64_t stream)
{
    const struct kr_note_scope key = { device, stream, on_device, 0, 0 };

    if (!map->n_scopes)
        return NULL;
    return bsearch(&key, map->scopes, map->n_scopes, sizeof key, compare_scope_items);
}

uint32_t kr_note_map_at(const struct kr_note_map *map, const struct kr_note_scope *scope,
                        int64_t at_ns)
{
    size_t low, high;

    if (!scope)
        return 0;
    low = scope->first;
    high = scope->end;
    while (low < high) { /* the last change at or before the time lies before low */
        size_t middle = low + (high - low) / 2;

        if (map->changes[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > scope->first ? map->changes[low - 1].name : 0;
}

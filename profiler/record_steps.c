#include "record_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kreach_decode.h"
#include "mem.h"
#include "note_name.h"
#include "record_parts.h"

/* Fewer repeats are no loop. */
enum { MIN_REPEATS = 5 };

/* A search for the range that marks steps. */
struct search {
    const char *name; /* NULL = any */
    struct kr_record_steps *best;
    uint64_t best_covered_ns;
};

static int by_thread_label_start(const void *pa, const void *pb)
{
    const struct kr_range *a = pa;
    const struct kr_range *b = pb;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Takes n ranges of one name and thread, in time order, when they are the best so far. */
static bool offer(struct search *s, const struct kr_timeline *t, const struct kr_range *ranges,
                  size_t n, struct kr_err *err)
{
    struct kr_record_steps *best = s->best;
    uint64_t covered_ns = 0;
    uint64_t *steps_ns;

    for (size_t i = 0; i < n; i++)
        covered_ns += (uint64_t)(ranges[i].end_ns - ranges[i].start_ns);
    if (n < MIN_REPEATS || covered_ns <= s->best_covered_ns)
        return true;
    steps_ns = kr_xcalloc(n - 1, sizeof *steps_ns, err);
    if (!steps_ns)
        return false;
    for (size_t i = 0; i + 1 < n; i++)
        steps_ns[i] = (uint64_t)(ranges[i + 1].start_ns - ranges[i].start_ns);
    free(best->steps_ns);
    best->steps_ns = steps_ns;
    best->n = n - 1;
    snprintf(best->label, sizeof best->label, "%s", kr_timeline_str(t, ranges->label));
    s->best_covered_ns = covered_ns;
    return true;
}

static bool offer_all(struct search *s, const struct kr_timeline *t, const struct kr_links *links,
                      uint32_t wanted, struct kr_err *err)
{
    const struct kr_range *ranges = links->ranges;

    for (size_t i = 0, n; i < links->n_ranges; i += n) {
        for (n = 1; i + n < links->n_ranges && ranges[i + n].thread == ranges[i].thread &&
                    ranges[i + n].label == ranges[i].label;)
            n++;
        if ((wanted == KR_STR_NONE || ranges[i].label == wanted) &&
            !offer(s, t, ranges + i, n, err))
            return false;
    }
    return true;
}

/* The label that is wanted, as an id of this timeline; KR_STR_NONE = any. */
static bool intern_wanted(const struct search *s, struct kr_timeline *t, uint32_t *wanted,
                          struct kr_err *err)
{
    *wanted = KR_STR_NONE;
    if (!s->name)
        return true;
    *wanted = kr_strpool_intern(t->strings, s->name, strlen(s->name), err);
    if (*wanted != KR_STR_NONE)
        *wanted = kr_note_name_pattern(t->strings, *wanted, err);
    return *wanted != KR_STR_NONE;
}

static bool search_part(struct search *s, const struct kr_part_bytes *bytes, struct kr_err *err)
{
    struct kr_timeline *t = kr_timeline_new(err);
    const struct kr_section section = { 0 };
    struct kr_decode *d = t ? kr_decode_new(t, &section, err) : NULL;
    struct kr_chunks walk;
    struct kr_chunk chunk;
    uint32_t wanted;
    bool good = d != NULL;

    kr_chunks_start(&walk, bytes->data, bytes->len);
    while (good && kr_chunks_next(&walk, &chunk))
        good = kr_decode_definitions(d, &chunk, err);
    if (good && d->links.n_ranges) {
        qsort(d->links.ranges, d->links.n_ranges, sizeof *d->links.ranges, by_thread_label_start);
        good = intern_wanted(s, t, &wanted, err) && offer_all(s, t, &d->links, wanted, err);
    }
    kr_decode_free(d);
    kr_timeline_free(t);
    return good;
}

bool kr_record_steps_find(const char *folder, const char *name, struct kr_record_steps *steps,
                          struct kr_err *err)
{
    struct search search = { .name = name, .best = steps };
    struct kr_parts parts;
    bool good = kr_parts_list(folder, &parts, err);

    for (size_t i = 0; good && i < parts.n; i++) {
        struct kr_part_bytes bytes;

        good = kr_part_map(folder, parts.items[i].name, &bytes, err);
        if (good) {
            good = search_part(&search, &bytes, err);
            kr_part_unmap(&bytes);
        }
    }
    free(parts.items);
    return good;
}

void kr_record_steps_free(struct kr_record_steps *steps)
{
    free(steps->steps_ns);
    *steps = (struct kr_record_steps){ 0 };
}

static bool put_steps(const struct kr_record_steps *steps, struct kr_bytes *payload,
                      struct kr_err *err)
{
    if (!kr_bytes_varint(payload, steps->n, err))
        return false;
    for (size_t i = 0; i < steps->n; i++) {
        if (!kr_bytes_varint(payload, steps->steps_ns[i], err))
            return false;
    }
    return true;
}

bool kr_record_steps_calibration(const struct kr_record_steps *plain,
                                 const struct kr_record_steps *profiled, struct kr_bytes *payload,
                                 struct kr_err *err)
{
    static const char method[] = "second run";

    return kr_bytes_text(payload, method, sizeof method - 1, err) &&
           put_steps(plain, payload, err) && put_steps(profiled, payload, err);
}

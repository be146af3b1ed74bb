#include "record_marks.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "record_parts.h"

enum { MAX_PAUSES = 1 << 20 };
#define LIMIT_NS (INT64_C(1) << 62) /* as for all times of the file */

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

static bool take_gap(struct kr_record_marks *m, uint64_t kind, struct kr_record_pause gap,
                     struct kr_err *err)
{
    if (gap.from_ns < 0 || gap.to_ns < gap.from_ns || gap.to_ns >= LIMIT_NS)
        return true;
    if (kind == KREACH_GAP_CALIBRATE) {
        if (!kr_grow(&m->pauses, &m->cap_pauses, m->n_pauses + 1, sizeof *m->pauses, MAX_PAUSES,
                     err))
            return false;
        m->pauses[m->n_pauses++] = gap;
    } else if (kind == KREACH_GAP_WINDOW) {
        if (!kr_grow(&m->shut, &m->cap_shut, m->n_shut + 1, sizeof *m->shut, MAX_PAUSES, err))
            return false;
        m->shut[m->n_shut++] = gap;
    }
    return true;
}

static bool take_gaps(struct kr_record_marks *m, const struct kr_chunk *chunk, struct kr_err *err)
{
    struct kr_cursor c = kr_chunk_fields(chunk);

    while (kr_cursor_more(&c)) {
        const uint64_t kind = kr_cursor_varint(&c);
        const int64_t from_ns = kr_cursor_svarint(&c);
        const int64_t to_ns = kr_cursor_svarint(&c);

        kr_cursor_text(&c);
        if (!c.bad && !take_gap(m, kind, (struct kr_record_pause){ from_ns, to_ns }, err))
            return false;
    }
    return true;
}

static void take_info(struct kr_record_marks *m, const struct kr_chunk *chunk)
{
    struct kr_cursor c = kr_chunk_fields(chunk);
    struct kr_text key, value;

    while (kr_section_info(&c, &key, &value)) {
        if (!kr_text_is(key, "step_range") || value.len >= sizeof m->step_range)
            continue;
        memcpy(m->step_range, value.s, value.len);
        m->step_range[value.len] = '\0';
    }
}

static bool take_chunks(struct kr_record_marks *m, const struct kr_part_bytes *bytes,
                        struct kr_err *err)
{
    static const struct kr_section section; /* the decoder keeps looking at it */
    struct kr_chunks walk;
    struct kr_chunk chunk;
    bool good;

    m->timeline = kr_timeline_new(err);
    m->decode = m->timeline ? kr_decode_new(m->timeline, &section, err) : NULL;
    good = m->decode != NULL;
    kr_chunks_start(&walk, bytes->data, bytes->len);
    while (good && kr_chunks_next(&walk, &chunk)) {
        good = kr_decode_definitions(m->decode, &chunk, err);
        if (good && chunk.type == KREACH_GAP)
            good = take_gaps(m, &chunk, err);
        if (good && chunk.type == KREACH_INFO)
            take_info(m, &chunk);
    }
    return good;
}

bool kr_record_marks_read(const char *folder, const char *part, struct kr_record_marks *marks,
                          struct kr_err *err)
{
    struct kr_part_bytes bytes;
    bool good;

    *marks = (struct kr_record_marks){ 0 };
    if (!kr_part_map(folder, part, &bytes, err))
        return false;
    good = take_chunks(marks, &bytes, err);
    kr_part_unmap(&bytes);
    if (good && marks->decode->links.n_ranges)
        qsort(marks->decode->links.ranges, marks->decode->links.n_ranges,
              sizeof *marks->decode->links.ranges, by_thread_label_start);
    return good;
}

void kr_record_marks_free(struct kr_record_marks *marks)
{
    kr_decode_free(marks->decode);
    kr_timeline_free(marks->timeline);
    free(marks->pauses);
    free(marks->shut);
    *marks = (struct kr_record_marks){ 0 };
}

bool kr_record_marks_group(const struct kr_record_marks *marks, size_t *at,
                           struct kr_record_group *group)
{
    const struct kr_links *links = &marks->decode->links;
    const struct kr_range *first;

    if (*at == links->n_ranges)
        return false;
    first = &links->ranges[*at];
    *group = (struct kr_record_group){ .ranges = first };
    while (*at < links->n_ranges && links->ranges[*at].thread == first->thread &&
           links->ranges[*at].label == first->label) {
        group->covered_ns += (uint64_t)(links->ranges[*at].end_ns - links->ranges[*at].start_ns);
        group->n++;
        ++*at;
    }
    group->label = kr_timeline_str(marks->timeline, first->label);
    return true;
}

#include "record_marks.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "record_parts.h"

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

/* Gaps become lists of pauses by their reason. */
static bool take_gaps(struct kr_record_marks *m, struct kr_err *err)
{
    const struct kr_gaps *gaps = &m->decode->gaps;

    m->pauses = kr_xcalloc(gaps->n, sizeof *m->pauses, err);
    m->shut = kr_xcalloc(gaps->n, sizeof *m->shut, err);
    if (!m->pauses || !m->shut)
        return false;
    for (size_t i = 0; i < gaps->n; i++) {
        const struct kr_record_pause pause = { gaps->items[i].from_ns, gaps->items[i].to_ns };

        if (gaps->items[i].kind == KREACH_GAP_CALIBRATE)
            m->pauses[m->n_pauses++] = pause;
        else if (gaps->items[i].kind == KREACH_GAP_WINDOW)
            m->shut[m->n_shut++] = pause;
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
        if (good && chunk.type == KREACH_INFO)
            take_info(m, &chunk);
    }
    if (good)
        kr_gaps_sort(&m->decode->gaps);
    return good && take_gaps(m, err);
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

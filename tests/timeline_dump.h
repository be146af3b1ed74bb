/* A timeline as text, for tests that compare two ways of reading the same bytes. */
#ifndef KR_TIMELINE_DUMP_H
#define KR_TIMELINE_DUMP_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline.h"

static inline void dump_event(FILE *out, const struct kr_timeline *t, const struct kr_event *e)
{
    const struct kr_site *s = &t->sites[e->site];
    const struct kr_work *w = &t->works[s->work];
    const struct kr_track *track = &t->tracks[e->track];

    fprintf(out, "%s '%s' op '%s' in '%s' ", kr_kind_name(s->kind), kr_timeline_str(t, s->name),
            kr_timeline_str(t, s->op), kr_timeline_str(t, s->annotation));
    fprintf(out, "at %" PRId64 " for %" PRIu64 " corr %u lead %u ext %u ", e->start_ns, e->dur_ns,
            e->correlation, e->lead_ns, e->external_id);
    fprintf(out, "on %" PRId64 "/%u/%" PRId64 " ", t->devices[track->device].id, track->context,
            track->stream);
    fprintf(out, "grid %u,%u,%u block %u,%u,%u regs %u shared %u graph %u/%" PRIu64 " ", s->grid[0],
            s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2], s->registers,
            s->shared_bytes, s->graph_id, s->graph_node_id);
    fprintf(out, "bytes %" PRIu64 " flop %.17g traffic %.17g %s\n", s->bytes, w->flop, w->bytes,
            kr_timeline_str(t, w->dtype));
}

/* Everything but the path, on one text; free() it. For t = NULL the error. */
static inline char *dump_timeline(const struct kr_timeline *t, const struct kr_err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!t) {
        fprintf(out, "error %d at %" PRIu64 ": %s\n", err->code, err->offset, err->msg);
        fclose(out);
        return text;
    }
    fprintf(out, "at %s rank %" PRId64 " base %" PRId64 " text %" PRIu64 " cut %d@%" PRIu64 "\n",
            t->source.events_at, t->source.rank, t->source.base_ns, t->source.text_bytes,
            t->source.truncated, t->source.truncated_at);
    fprintf(out,
            "read %" PRIu64 " kept %" PRIu64 " dropped %" PRIu64 " notes %" PRIu64 " ops %" PRIu64
            " launches %" PRIu64 " graphs %" PRIu64 "\n",
            t->counts.events_read, t->counts.device_events, t->counts.dropped,
            t->counts.annotations, t->counts.cpu_ops, t->counts.launches, t->counts.graph_launches);
    for (int i = 0; i < KR_WARN_COUNT; i++) {
        if (t->warnings[i].count)
            fprintf(out, "warn %s %" PRIu64 " at %" PRIu64 "\n", kr_warn_key((enum kr_warn)i),
                    t->warnings[i].count, t->warnings[i].first_offset);
    }
    for (size_t i = 0; i < t->n_devices; i++)
        fprintf(out, "device %" PRId64 " %s %u SMs %" PRIu64 " bytes cc %u.%u\n", t->devices[i].id,
                kr_timeline_str(t, t->devices[i].name), t->devices[i].sm_count,
                t->devices[i].memory_bytes, t->devices[i].cc_major, t->devices[i].cc_minor);
    for (size_t i = 0; i < t->n_annotations; i++)
        fprintf(out, "note '%s' at %" PRId64 " for %" PRIu64 " thread '%s' track %d device %d\n",
                kr_timeline_str(t, t->annotations[i].name), t->annotations[i].start_ns,
                t->annotations[i].dur_ns, kr_timeline_str(t, t->annotations[i].thread),
                t->annotations[i].track, t->annotations[i].on_device);
    for (size_t i = 0; i < t->n_events; i++)
        dump_event(out, t, &t->events[i]);
    fclose(out);
    return text;
}

#endif

#include "kineto_total.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define MAX_ROWS ((size_t)UINT32_MAX - 1)

void kr_kineto_total_init(struct kr_kineto_total *total, struct kr_timeline *timeline)
{
    *total = (struct kr_kineto_total){ .timeline = timeline };
    kr_recpool_init(&total->sites, sizeof(struct kr_site));
    kr_recpool_init(&total->tracks, sizeof(struct kr_kineto_track));
    kr_recpool_init(&total->ops, sizeof(struct kr_kineto_op));
    kr_idmap_init(&total->op_of_external);
}

void kr_kineto_total_free(struct kr_kineto_total *total)
{
    kr_recpool_free(&total->sites);
    kr_recpool_free(&total->tracks);
    kr_recpool_free(&total->ops);
    kr_idmap_free(&total->op_of_external);
    free(total->launches);
    free(total->guesses);
    free(total->notes);
    *total = (struct kr_kineto_total){ .timeline = total->timeline };
}

/* From the places in a part to those in the total. */
struct maps {
    uint32_t *strings, *sites, *tracks, *ops;
};

static void free_maps(struct maps *maps)
{
    free(maps->strings);
    free(maps->sites);
    free(maps->tracks);
    free(maps->ops);
}

static bool map_strings(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                        struct maps *maps, struct kr_err *err)
{
    size_t n = kr_strpool_count(part->strings);

    maps->strings = kr_xcalloc(n, sizeof *maps->strings, err);
    for (uint32_t i = 0; maps->strings && i < n; i++) {
        size_t len;
        const char *text = kr_strpool_get(part->strings, i, &len);

        maps->strings[i] = kr_strpool_intern(total->timeline->strings, text, len, err);
        if (maps->strings[i] == KR_STR_NONE)
            return false;
    }
    return maps->strings != NULL;
}

static bool map_sites(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                      struct maps *maps, struct kr_err *err)
{
    const struct kr_site *sites = part->sites.items;

    maps->sites = kr_xcalloc(part->sites.n, sizeof *maps->sites, err);
    for (size_t i = 0; maps->sites && i < part->sites.n; i++) {
        struct kr_site site;

        memcpy(&site, &sites[i], sizeof site); /* with its padding */
        site.name = maps->strings[site.name];
        maps->sites[i] = kr_recpool_intern(&total->sites, &site, err);
        if (maps->sites[i] == UINT32_MAX)
            return false;
    }
    return maps->sites != NULL;
}

static bool map_tracks(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                       struct maps *maps, struct kr_err *err)
{
    const struct kr_kineto_track *tracks = part->tracks.items;

    maps->tracks = kr_xcalloc(part->tracks.n, sizeof *maps->tracks, err);
    for (size_t i = 0; maps->tracks && i < part->tracks.n; i++) {
        maps->tracks[i] = kr_recpool_intern(&total->tracks, &tracks[i], err);
        if (maps->tracks[i] == UINT32_MAX)
            return false;
        if (maps->tracks[i] >= UINT16_MAX)
            return kr_fail(err, KR_ENOMEM, "more than %d streams", UINT16_MAX);
    }
    return maps->tracks != NULL;
}

static bool map_ops(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                    struct maps *maps, struct kr_err *err)
{
    const struct kr_kineto_op *ops = part->ops.items;

    maps->ops = kr_xcalloc(part->ops.n, sizeof *maps->ops, err);
    for (size_t i = 0; maps->ops && i < part->ops.n; i++) {
        struct kr_kineto_op op = ops[i];

        op.name = maps->strings[op.name];
        op.dtype = maps->strings[op.dtype];
        maps->ops[i] = kr_recpool_intern(&total->ops, &op, err);
        if (maps->ops[i] == UINT32_MAX)
            return false;
    }
    return maps->ops != NULL;
}

static bool add_events(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                       const struct maps *maps, struct kr_err *err)
{
    for (size_t i = 0; i < part->n_events; i++) {
        struct kr_event e = part->events[i];

        e.site = maps->sites[e.site];
        e.track = (uint16_t)maps->tracks[e.track];
        if (!kr_timeline_add_event(total->timeline, e, err))
            return false;
    }
    if (total->tally.device_rows || part->tally.device_rows)
        return true; /* nothing has to be guessed */
    if (!kr_grow(&total->guesses, &total->cap_guesses, total->n_guesses + part->n_guesses,
                 sizeof *total->guesses, MAX_ROWS, err))
        return false;
    for (size_t i = 0; i < part->n_guesses; i++) {
        struct kr_event e = part->guesses[i];

        e.site = maps->sites[e.site];
        e.track = (uint16_t)maps->tracks[e.track];
        total->guesses[total->n_guesses++] = e;
    }
    return true;
}

static bool add_launches(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                         struct kr_err *err)
{
    if (!kr_grow(&total->launches, &total->cap_launches, total->n_launches + part->n_launches,
                 sizeof *total->launches, MAX_ROWS, err))
        return false;
    if (part->n_launches)
        memcpy(total->launches + total->n_launches, part->launches,
               part->n_launches * sizeof *part->launches);
    total->n_launches += part->n_launches;
    return true;
}

static bool add_notes(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                      const struct maps *maps, struct kr_err *err)
{
    if (!kr_grow(&total->notes, &total->cap_notes, total->n_notes + part->n_notes,
                 sizeof *total->notes, MAX_ROWS, err))
        return false;
    for (size_t i = 0; i < part->n_notes; i++) {
        struct kr_kineto_note note = part->notes[i];

        note.name = maps->strings[note.name];
        note.thread = maps->strings[note.thread];
        total->notes[total->n_notes++] = note;
    }
    return true;
}

static void add_counts(struct kr_kineto_total *total, const struct kr_kineto_part *part)
{
    struct kr_counts *sum = &total->timeline->counts;

    sum->events_read += part->counts.events_read;
    sum->dropped += part->counts.dropped;
    sum->annotations += part->counts.annotations;
    sum->cpu_ops += part->counts.cpu_ops;
    sum->launches += part->counts.launches;
    sum->graph_launches += part->counts.graph_launches;
    total->tally.device_rows += part->tally.device_rows;
    total->tally.counter_rows += part->tally.counter_rows;
    for (int i = 0; i < KR_WARN_COUNT; i++)
        kr_timeline_warn(total->timeline, (enum kr_warn)i, part->warnings[i].count,
                         part->warnings[i].first_offset);
}

bool kr_kineto_total_add(struct kr_kineto_total *total, const struct kr_kineto_part *part,
                         struct kr_err *err)
{
    struct maps maps = { 0 };
    bool ok = map_strings(total, part, &maps, err) && map_sites(total, part, &maps, err) &&
              map_tracks(total, part, &maps, err) && map_ops(total, part, &maps, err) &&
              add_events(total, part, &maps, err) && add_launches(total, part, err) &&
              add_notes(total, part, &maps, err);

    for (size_t i = 0; ok && i < part->n_op_rows; i++)
        ok = kr_idmap_put(&total->op_of_external, part->op_rows[i].external_id,
                          maps.ops[part->op_rows[i].op], err);
    if (ok)
        add_counts(total, part);
    free_maps(&maps);
    return ok;
}

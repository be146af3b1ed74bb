#include "render_info.h"

#include <inttypes.h>
#include <stdlib.h>

#include "json_parts.h"
#include "mem.h"
#include "text.h"
#include "text_parts.h"

/* What ran on one track. */
struct track_use {
    uint64_t count;
    uint64_t sum_ns;
};

static struct track_use *count_tracks(const struct kr_timeline *t, struct kr_err *err)
{
    struct track_use *uses = kr_xcalloc(t->n_tracks, sizeof *uses, err);

    for (size_t i = 0; uses && i < t->n_events; i++) {
        uses[t->events[i].track].count++;
        uses[t->events[i].track].sum_ns += t->events[i].dur_ns;
    }
    return uses;
}

static bool has_several_processes(const struct kr_timeline *t)
{
    for (size_t i = 1; i < t->n_tracks; i++) {
        if (t->tracks[i].process != t->tracks[0].process)
            return true;
    }
    return false;
}

static bool say_tracks(const struct kr_timeline *t, const struct track_use *uses, FILE *out,
                       const struct kr_style *style, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "process", KR_RIGHT, 0 }, { "device", KR_RIGHT, 0 }, { "context", KR_RIGHT, 0 },
        { "stream", KR_RIGHT, 0 },  { "events", KR_RIGHT, 0 }, { "sum", KR_RIGHT, 0 },
    };
    const bool several = has_several_processes(t);
    struct kr_table *table =
        kr_table_new(several ? columns : columns + 1, KR_COUNT(columns) - (several ? 0 : 1), err);
    bool good;

    if (!table)
        return false;
    for (size_t i = 0; i < t->n_tracks; i++) {
        const struct kr_track *track = &t->tracks[i];

        if (several)
            kr_table_cell(table, "%" PRIu32, track->process);
        kr_table_cell(table, "%" PRId64, t->devices[track->device].id);
        kr_table_cell(table, "%" PRIu32, track->context);
        kr_table_cell(table, "%" PRId64, track->stream);
        kr_table_cell(table, "%s", kr_text_count(uses[i].count).s);
        kr_table_cell(table, "%s", kr_text_duration((double)uses[i].sum_ns).s);
    }
    kr_say_title(out, style, "Streams", NULL);
    good = kr_table_print(table, out, style, err);
    kr_table_free(table);
    return good;
}

/* What the recorder noted of the run and its machine: versions, command, options. */
static void say_facts(const struct kr_timeline *t, FILE *out, const struct kr_style *style)
{
    if (!t->source.n_facts)
        return;
    kr_say_title(out, style, "Recording",
                 has_several_processes(t) ? "where processes differ, what the first one said"
                                          : NULL);
    for (size_t i = 0; i < t->source.n_facts; i++) {
        kr_plain_text(out, kr_timeline_str(t, t->source.facts[i].key));
        fputs(" = ", out);
        kr_plain_text(out, kr_timeline_str(t, t->source.facts[i].value));
        fputc('\n', out);
    }
}

bool kr_info_text(const struct kr_timeline *t, const struct kr_window *window, FILE *out,
                  const struct kr_style *style, struct kr_err *err)
{
    const struct kr_counts *c = &t->counts;
    struct track_use *uses = count_tracks(t, err);
    bool good;

    if (!uses)
        return false;
    kr_say_source(out, style, t);
    kr_say_fact(out, style, "device", "%s kernels, %s memcpys, %s memsets of %zu kinds",
                kr_text_count(c->kernels).s, kr_text_count(c->memcpys).s,
                kr_text_count(c->memsets).s, t->n_sites);
    kr_say_fact(out, style, "host", "%s ops, %s kernel launches, %s graph launches, %s annotations",
                kr_text_count(c->cpu_ops).s, kr_text_count(c->launches).s,
                kr_text_count(c->graph_launches).s, kr_text_count(c->annotations).s);
    kr_say_window(out, style, window);
    kr_say_fact(out, style, "span", "%s",
                kr_text_duration((double)window->end_ns - (double)window->start_ns).s);
    good = say_tracks(t, uses, out, style, err);
    say_facts(t, out, style);
    free(uses);
    return good;
}

static void write_tracks(struct kr_json *json, const struct kr_timeline *t,
                         const struct track_use *uses)
{
    kr_json_array(json, "streams");
    for (size_t i = 0; i < t->n_tracks; i++) {
        kr_json_object(json, NULL);
        kr_json_known_u64(json, "process", t->tracks[i].process, t->tracks[i].process);
        kr_json_i64(json, "device", t->devices[t->tracks[i].device].id);
        kr_json_u64(json, "context", t->tracks[i].context);
        kr_json_i64(json, "stream", t->tracks[i].stream);
        kr_json_u64(json, "events", uses[i].count);
        kr_json_u64(json, "sum_ns", uses[i].sum_ns);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_facts(struct kr_json *json, const struct kr_timeline *t)
{
    kr_json_array(json, "facts");
    for (size_t i = 0; i < t->source.n_facts; i++) {
        kr_json_object(json, NULL);
        kr_json_str(json, "key", kr_timeline_str(t, t->source.facts[i].key));
        kr_json_str(json, "value", kr_timeline_str(t, t->source.facts[i].value));
        kr_json_close(json);
    }
    kr_json_close(json);
}

bool kr_info_json(const struct kr_timeline *t, const struct kr_window *window, FILE *out,
                  struct kr_err *err)
{
    struct track_use *uses = count_tracks(t, err);
    struct kr_json json;

    if (!uses)
        return false;
    kr_json_begin(&json, out, "kreach.info", 1);
    kr_json_source(&json, "source", t);
    kr_json_completeness_of(&json, "completeness", t);
    kr_json_window(&json, "window", window);
    kr_json_object(&json, "counts");
    kr_json_u64(&json, "kernels", t->counts.kernels);
    kr_json_u64(&json, "memcpys", t->counts.memcpys);
    kr_json_u64(&json, "memsets", t->counts.memsets);
    kr_json_u64(&json, "sites", t->n_sites);
    kr_json_close(&json);
    write_tracks(&json, t, uses);
    write_facts(&json, t);
    kr_json_end(&json);
    free(uses);
    return true;
}

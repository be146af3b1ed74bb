#include "json_parts.h"

#include <inttypes.h>

static void name_or_null(struct kr_json *json, const char *key, const char *name)
{
    kr_json_str(json, key, *name ? name : NULL);
}

void kr_json_device_facts(struct kr_json *json, const struct kr_timeline *t, uint32_t device)
{
    const struct kr_device *d = &t->devices[device];
    char capability[24];

    kr_json_i64(json, "id", d->id);
    name_or_null(json, "name", kr_timeline_str(t, d->name));
    kr_json_known_u64(json, "sm_count", d->sm_count, d->sm_count);
    kr_json_known_u64(json, "memory_bytes", d->memory_bytes, d->memory_bytes);
    snprintf(capability, sizeof capability, "%" PRIu32 ".%" PRIu32, d->cc_major, d->cc_minor);
    kr_json_str(json, "compute_capability", d->cc_major ? capability : NULL);
}

void kr_json_source(struct kr_json *json, const char *key, const struct kr_timeline *t)
{
    const struct kr_source *s = &t->source;

    kr_json_object(json, key);
    kr_json_str(json, "path", s->path);
    kr_json_str(json, "format", s->format);
    kr_json_str(json, "compression", s->compression);
    kr_json_u64(json, "bytes", s->input_bytes);
    kr_json_u64(json, "text_bytes", s->text_bytes);
    if (s->rank >= 0)
        kr_json_i64(json, "rank", s->rank);
    else
        kr_json_null(json, "rank");
    name_or_null(json, "events_at", s->events_at);
    kr_json_array(json, "devices");
    for (size_t d = 0; d < t->n_devices; d++) {
        kr_json_object(json, NULL);
        kr_json_device_facts(json, t, (uint32_t)d);
        kr_json_close(json);
    }
    kr_json_close(json);
    kr_json_close(json);
}

void kr_completeness_add(struct kr_completeness *sum, const struct kr_timeline *t)
{
    const struct kr_counts *c = &t->counts;

    sum->truncated |= t->source.truncated;
    sum->incomplete |= !kr_timeline_complete(t);
    sum->drops_unknown |= !t->source.drops_known;
    sum->drops += t->source.drops;
    sum->counts.events_read += c->events_read;
    sum->counts.device_events += c->device_events;
    sum->counts.dropped += c->dropped;
    sum->counts.annotations += c->annotations;
    sum->counts.cpu_ops += c->cpu_ops;
    sum->counts.launches += c->launches;
    sum->counts.graph_launches += c->graph_launches;
    for (size_t w = 0; w < KR_WARN_COUNT; w++)
        sum->warnings[w] += t->warnings[w].count;
}

void kr_json_completeness(struct kr_json *json, const char *key, const struct kr_completeness *c)
{
    kr_json_object(json, key);
    kr_json_str(json, "status",
                c->truncated    ? "truncated"
                : c->incomplete ? "incomplete"
                                : "complete");
    if (c->drops_unknown)
        kr_json_null(json, "dropped");
    else
        kr_json_u64(json, "dropped", c->drops);
    kr_json_u64(json, "events_read", c->counts.events_read);
    kr_json_u64(json, "kept", c->counts.device_events);
    kr_json_u64(json, "rejected", c->counts.dropped);
    kr_json_u64(json, "annotations", c->counts.annotations);
    kr_json_u64(json, "cpu_ops", c->counts.cpu_ops);
    kr_json_u64(json, "launches", c->counts.launches);
    kr_json_u64(json, "graph_launches", c->counts.graph_launches);
    for (int w = 0; w < KR_WARN_COUNT; w++)
        kr_json_u64(json, kr_warn_key((enum kr_warn)w), c->warnings[w]);
    kr_json_close(json);
}

void kr_json_completeness_of(struct kr_json *json, const char *key, const struct kr_timeline *t)
{
    struct kr_completeness c = { 0 };

    kr_completeness_add(&c, t);
    kr_json_completeness(json, key, &c);
}

void kr_json_window(struct kr_json *json, const char *key, const struct kr_window *window)
{
    kr_json_object(json, key);
    kr_json_str(json, "kind", kr_window_kind_name(window->kind));
    kr_json_i64(json, "start_ns", window->start_ns);
    kr_json_i64(json, "end_ns", window->end_ns);
    kr_json_known_u64(json, "steps", window->n_steps, window->n_steps);
    kr_json_u64(json, "dropped_steps", window->dropped_steps);
    kr_json_str(json, "steps_from", kr_steps_from_name(window->steps_from));
    kr_json_str(json, "how", window->how);
    kr_json_close(json);
}

void kr_json_time(struct kr_json *json, const char *key, const struct kr_time *time)
{
    kr_json_object(json, key);
    kr_json_u64(json, "wall_ns", time->wall_ns);
    kr_json_u64(json, "busy_ns", time->busy_ns);
    kr_json_u64(json, "idle_ns", time->idle_ns);
    kr_json_u64(json, "kernel_sum_ns", time->kernel_sum_ns);
    kr_json_u64(json, "memcpy_sum_ns", time->memcpy_sum_ns);
    kr_json_u64(json, "memset_sum_ns", time->memset_sum_ns);
    kr_json_close(json);
}

void kr_json_flags(struct kr_json *json, const char *key, unsigned flags)
{
    kr_json_array(json, key);
    for (unsigned i = 0; i < KR_FLAG_COUNT; i++) {
        if (flags & 1u << i)
            kr_json_str(json, NULL, kr_flag_name(i));
    }
    kr_json_close(json);
}

void kr_json_policy(struct kr_json *json, const char *key, const struct kr_rules *rules)
{
    char hash[24];

    snprintf(hash, sizeof hash, "%016" PRIx64, kr_rules_policy_hash(rules));
    kr_json_object(json, key);
    kr_json_str(json, "name", kr_rules_policy_name(rules));
    kr_json_str(json, "hash", hash);
    kr_json_close(json);
}

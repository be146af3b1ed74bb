#include "render.h"

#include "json_parts.h"
#include "json_writer.h"

static void write_stats(struct kr_json *json, const struct kr_row *row)
{
    const struct kr_stats *s = &row->stats;

    kr_json_u64(json, "count", s->count);
    kr_json_u64(json, "sum_ns", s->sum_ns);
    kr_json_u64(json, "exclusive_ns", s->exclusive_ns);
    kr_json_num(json, "frac_busy", row->frac_busy);
    kr_json_num(json, "frac_wall", row->frac_wall);
    kr_json_num(json, "frac_step", row->frac_step);
    if (s->count) {
        kr_json_u64(json, "min_ns", s->min_ns);
        kr_json_known_u64(json, "median_ns", row->median_known, s->median_ns);
        kr_json_u64(json, "max_ns", s->max_ns);
    } else {
        kr_json_null(json, "min_ns");
        kr_json_null(json, "median_ns");
        kr_json_null(json, "max_ns");
    }
}

static void write_classes(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "classes");
    for (size_t i = 0; i < report->class_rows.n; i++) {
        const struct kr_row *row = &report->class_rows.rows[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "class", row->name);
        write_stats(json, row);
        kr_json_num(json, "step_frac_min", row->step_lo);
        kr_json_num(json, "step_frac_max", row->step_hi);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_families(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "families");
    for (size_t i = 0; i < report->family_rows.n; i++) {
        const struct kr_row *row = &report->family_rows.rows[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "family", row->name);
        kr_json_str(json, "class", kr_class_name((enum kr_class)row->tag.cls));
        write_stats(json, row);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_kernels(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "kernels");
    for (size_t i = 0; i < report->kernel_rows.n; i++) {
        const struct kr_row *row = &report->kernel_rows.rows[i];

        kr_json_object(json, NULL);
        kr_json_strn(json, "name", row->name, row->name_len);
        kr_json_str(json, "normalised", row->normalised);
        kr_json_str(json, "short_name", row->short_name);
        kr_json_str(json, "family", row->family);
        kr_json_str(json, "class", kr_class_name((enum kr_class)row->tag.cls));
        kr_json_str(json, "origin", kr_origin_name((enum kr_origin)row->tag.origin));
        kr_json_str(json, "rule", *row->rule ? row->rule : NULL);
        kr_json_flags(json, "flags", row->tag.flags);
        kr_json_bool(json, "waited", row->waited);
        kr_json_str(json, "op", *row->op ? row->op : NULL);
        write_stats(json, row);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_devices(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "devices");
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_run *run = &report->runs[r];

        for (size_t d = 0; d < run->account.n_devices; d++) {
            const struct kr_device_account *a = &run->account.devices[d];

            kr_json_object(json, NULL);
            kr_json_u64(json, "file", r);
            kr_json_device_facts(json, run->timeline, a->device);
            kr_json_time(json, "time", &a->time);
            kr_json_object(json, "class_exclusive_ns");
            for (size_t c = 0; c < KR_CLASS_COUNT; c++)
                kr_json_u64(json, kr_class_name((enum kr_class)c), a->class_exclusive_ns[c]);
            kr_json_close(json);
            kr_json_u64(json, "collective_ns", a->collective_ns);
            kr_json_u64(json, "collective_exposed_ns", a->collective_exposed_ns);
            kr_json_close(json);
        }
    }
    kr_json_close(json);
}

static void write_steps(struct kr_json *json, const struct kr_run *run)
{
    kr_json_array(json, "steps");
    for (size_t s = 0; s < run->account.n_steps; s++) {
        const struct kr_step_account *a = &run->account.steps[s];
        const struct kr_step *step = &run->window.steps[s];

        kr_json_object(json, NULL);
        kr_json_i64(json, "number", step->number);
        kr_json_i64(json, "start_ns", step->start_ns);
        kr_json_i64(json, "end_ns", step->end_ns);
        kr_json_u64(json, "count", a->count);
        kr_json_u64(json, "wall_ns", a->time.wall_ns);
        kr_json_u64(json, "busy_ns", a->time.busy_ns);
        kr_json_u64(json, "idle_ns", a->time.idle_ns);
        kr_json_object(json, "class_exclusive_ns");
        for (size_t c = 0; c < KR_CLASS_COUNT; c++)
            kr_json_u64(json, kr_class_name((enum kr_class)c), a->class_exclusive_ns[c]);
        kr_json_close(json);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_counts(struct kr_json *json, const uint64_t counts[4])
{
    static const char *const keys[] = { "kernels", "memcpys", "memsets", "distinct_kernels" };

    kr_json_object(json, "counts");
    for (size_t i = 0; i < 4; i++)
        kr_json_u64(json, keys[i], counts[i]);
    kr_json_close(json);
}

static void write_files(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "files");
    for (size_t r = 0; r < report->n_runs; r++) {
        const struct kr_run *run = &report->runs[r];
        const struct kr_timeline *t = run->timeline;
        const struct kr_account *a = &run->account;

        kr_json_object(json, NULL);
        kr_json_source(json, "source", t);
        kr_json_completeness_of(json, "completeness", t);
        kr_json_window(json, "window", &run->window);
        kr_json_time(json, "time", &a->time);
        write_counts(json,
                     (const uint64_t[]){ a->kernels, a->memcpys, a->memsets, a->distinct_kernels });
        kr_json_u64(json, "empty_steps", a->empty_steps);
        write_steps(json, run);
        kr_json_close(json);
    }
    kr_json_close(json);
}

/* Several files have no common path, clock or rank: what they do not share is null. */
static void write_common_source(struct kr_json *json, const struct kr_report *report)
{
    uint64_t bytes = 0;
    uint64_t text_bytes = 0;
    uint64_t steps = 0;
    uint64_t dropped_steps = 0;

    for (size_t r = 0; r < report->n_runs; r++) {
        bytes += report->runs[r].timeline->source.input_bytes;
        text_bytes += report->runs[r].timeline->source.text_bytes;
        steps += report->runs[r].window.n_steps;
        dropped_steps += report->runs[r].window.dropped_steps;
    }
    kr_json_object(json, "source");
    kr_json_null(json, "path");
    kr_json_str(json, "format", report->runs[0].timeline->source.format);
    kr_json_null(json, "compression");
    kr_json_u64(json, "bytes", bytes);
    kr_json_u64(json, "text_bytes", text_bytes);
    kr_json_null(json, "rank");
    kr_json_null(json, "events_at");
    kr_json_array(json, "devices");
    kr_json_close(json);
    kr_json_close(json);
    kr_json_object(json, "window");
    kr_json_str(json, "kind", kr_window_kind_name(report->runs[0].window.kind));
    kr_json_null(json, "start_ns");
    kr_json_null(json, "end_ns");
    kr_json_u64(json, "steps", steps);
    kr_json_u64(json, "dropped_steps", dropped_steps);
    kr_json_null(json, "steps_from");
    kr_json_str(json, "how", "each file in its own window; see files[]");
    kr_json_close(json);
}

static void write_head(struct kr_json *json, const struct kr_report *report)
{
    struct kr_completeness completeness = { 0 };

    for (size_t r = 0; r < report->n_runs; r++)
        kr_completeness_add(&completeness, report->runs[r].timeline);
    if (report->n_runs == 1) {
        kr_json_source(json, "source", report->runs[0].timeline);
        kr_json_window(json, "window", &report->runs[0].window);
    } else {
        write_common_source(json, report);
    }
    kr_json_completeness(json, "completeness", &completeness);
    kr_json_time(json, "time", &report->time);
    write_counts(json, (const uint64_t[]){ report->kernels, report->memcpys, report->memsets,
                                           report->distinct_kernels });
}

static void write_collectives(struct kr_json *json, const struct kr_report *report)
{
    const struct kr_collectives *c = &report->collectives;

    if (c->count == 0) {
        kr_json_null(json, "collectives");
        return;
    }
    kr_json_object(json, "collectives");
    kr_json_u64(json, "count", c->count);
    kr_json_u64(json, "sum_ns", c->sum_ns);
    kr_json_u64(json, "union_ns", c->union_ns);
    kr_json_u64(json, "exposed_ns", c->exposed_ns);
    kr_json_u64(json, "hidden_ns", c->union_ns - c->exposed_ns);
    kr_json_close(json);
}

static void write_idle(struct kr_json *json, const struct kr_gaps *gaps)
{
    kr_json_object(json, "idle");
    kr_json_u64(json, "gaps", gaps->count);
    kr_json_u64(json, "launch_ns", gaps->launch_ns);
    kr_json_u64(json, "host_ns", gaps->host_ns);
    kr_json_u64(json, "queued_ns", gaps->queued_ns);
    kr_json_u64(json, "unknown_ns", gaps->unknown_ns);
    kr_json_u64(json, "tail_ns", gaps->tail_ns);
    kr_json_close(json);
}

static void write_advice(struct kr_json *json, const struct kr_report *report)
{
    kr_json_array(json, "advice");
    for (size_t i = 0; i < report->n_advice; i++) {
        const struct kr_advice *a = &report->advice[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "id", a->id);
        kr_json_str(json, "text", a->text);
        kr_json_u64(json, "reach_ns", a->reach_ns);
        kr_json_num(json, "frac_wall", (double)a->reach_ns / (double)report->time.wall_ns);
        kr_json_u64(json, "count", a->count);
        kr_json_close(json);
    }
    kr_json_close(json);
}

/* How the recording measured its own steps; null where the plain step time was given. */
static void write_measured_step(struct kr_json *json, const struct kr_step_times *m)
{
    if (!m) {
        kr_json_null(json, "measured");
        return;
    }
    kr_json_object(json, "measured");
    kr_json_str(json, "method", m->method);
    kr_json_str(json, "label", *m->label ? m->label : NULL);
    kr_json_u64(json, "pairs", m->pairs);
    kr_json_num(json, "cost_low_frac", m->cost_low_frac);
    kr_json_num(json, "cost_high_frac", m->cost_high_frac);
    kr_json_u64(json, "plain_steps", m->plain_steps);
    kr_json_u64(json, "plain_low_ns", m->plain_low_ns);
    kr_json_u64(json, "plain_high_ns", m->plain_high_ns);
    kr_json_u64(json, "profiled_steps", m->profiled_steps);
    kr_json_u64(json, "profiled_step_ns", m->profiled_step_ns);
    kr_json_u64(json, "profiled_low_ns", m->profiled_low_ns);
    kr_json_u64(json, "profiled_high_ns", m->profiled_high_ns);
    kr_json_close(json);
}

static void write_true_step(struct kr_json *json, const struct kr_true_step *step)
{
    if (!step->known) {
        kr_json_null(json, "true_step");
        return;
    }
    kr_json_object(json, "true_step");
    kr_json_u64(json, "steps", step->steps);
    kr_json_num(json, "plain_ns", step->plain_ns);
    kr_json_num(json, "profiled_ns", step->profiled_ns);
    kr_json_num(json, "busy_ns", step->busy_ns);
    kr_json_num(json, "profiler_cost_frac", step->cost_frac);
    write_measured_step(json, step->measured);
    kr_json_num(json, "idle_frac", step->idle_frac);
    kr_json_bool(json, "busy_exceeds_step", step->busy_too_long);
    kr_json_close(json);
}

static void write_verdict(struct kr_json *json, const struct kr_verdict *verdict)
{
    kr_json_object(json, "verdict");
    kr_json_str(json, "worth", kr_worth_name(verdict->worth));
    kr_json_num(json, "addressable_frac", verdict->addressable);
    kr_json_num(json, "ceiling_x", verdict->ceiling_x);
    kr_json_str(json, "text", verdict->text);
    kr_json_str(json, "why", verdict->why);
    kr_json_close(json);
}

void kr_render_json(const struct kr_report *report, FILE *out)
{
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.report", 1);
    write_verdict(&json, &report->verdict);
    write_head(&json, report);
    kr_json_policy(&json, "policy", report->rules);
    write_true_step(&json, &report->step);
    write_classes(&json, report);
    write_families(&json, report);
    write_idle(&json, &report->gaps);
    write_devices(&json, report);
    write_collectives(&json, report);
    write_advice(&json, report);
    write_files(&json, report);
    write_kernels(&json, report);
    kr_json_end(&json);
}

#include "render_predict.h"

#include <math.h>
#include <string.h>

#include "json_parts.h"
#include "json_writer.h"

/* Speed-ups may be infinite, and JSON has no number for that: the word that sigma files use. */
static void write_factor(struct kr_json *json, const char *key, double value)
{
    if (isinf(value))
        kr_json_str(json, key, "inf");
    else
        kr_json_num(json, key, value);
}

static void write_predictions(struct kr_json *json, const struct kr_prediction_view *view)
{
    kr_json_array(json, "predictions");
    for (size_t i = 0; i < view->result->n_predictions; i++) {
        const struct kr_prediction *p = &view->result->predictions[i];

        if (!(view->modes & 1u << p->mode))
            continue;
        kr_json_object(json, NULL);
        kr_json_str(json, "mode", kr_predict_mode_name(p->mode));
        kr_json_str(json, "text", kr_predict_mode_text(p->mode));
        kr_json_num(json, "saved_frac", p->saved);
        kr_json_num(json, "saved_lo", p->saved_lo);
        kr_json_num(json, "saved_hi", p->saved_hi);
        write_factor(json, "speedup", p->speedup);
        write_factor(json, "speedup_lo", p->speedup_lo);
        write_factor(json, "speedup_hi", p->speedup_hi);
        kr_json_num(json, "saved_of_busy_frac", p->saved_of_busy);
        kr_json_num(json, "outcome_sd", p->outcome_sd);
        kr_json_u64(json, "losses", p->n_losses);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_parts(struct kr_json *json, const struct kr_prediction_view *view)
{
    size_t n = view->sigma ? view->result->n_parts : 0;

    kr_json_array(json, "parts");
    for (size_t i = 0; i < n; i++) {
        const struct kr_predict_part *part = &view->result->parts[i];
        const struct kr_sigma_entry *entry = &view->sigma->entries[part->entry];

        kr_json_object(json, NULL);
        kr_json_str(json, "entry", entry->label);
        kr_json_str(json, "file", entry->file);
        kr_json_u64(json, "line", entry->line);
        write_factor(json, "sigma", entry->sigma);
        write_factor(json, "sigma_lo", entry->lo);
        write_factor(json, "sigma_hi", entry->hi);
        kr_json_num(json, "win_rate", entry->has_win_rate ? entry->win_rate : (double)NAN);
        kr_json_u64(json, "count", part->count);
        kr_json_u64(json, "exclusive_ns", part->exclusive_ns);
        kr_json_u64(json, "shadowed_ns", part->shadowed_ns);
        kr_json_num(json, "frac", part->frac);
        kr_json_num(json, "frac_of_busy", part->frac_of_busy);
        kr_json_num(json, "saved_frac", part->saved);
        kr_json_num(json, "saved_lo", part->saved_lo);
        kr_json_num(json, "saved_hi", part->saved_hi);
        kr_json_num(json, "launches_before", part->launches_before);
        kr_json_num(json, "launches_after", part->launches_after);
        kr_json_str(json, "evidence_missing",
                    *part->evidence_missing ? part->evidence_missing : NULL);
        kr_json_bool(json, "above_roofline", part->above_roofline);
        write_factor(json, "roofline_sigma", part->roofline_sigma);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_target_numbers(struct kr_json *json, const struct kr_target *target)
{
    kr_json_num(json, "frac", target->frac);
    kr_json_num(json, "ceiling_saved_frac", target->ceiling_saved);
    kr_json_num(json, "sigma_for_1pct", target->sigma_for_1pct);
}

static void write_targets(struct kr_json *json, const struct kr_prediction_view *view)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_run *run = &view->report->runs[0];

    kr_json_array(json, "targets");
    for (size_t i = 0; i < r->n_targets; i++) {
        const struct kr_row_kernel *row = &run->account.kernels_rows[r->targets[i].row];
        size_t len;
        const char *name = kr_strpool_get(run->timeline->strings, row->name, &len);

        kr_json_object(json, NULL);
        kr_json_strn(json, "kernel", name, len);
        kr_json_str(json, "family", kr_rules_family(view->report->rules, row->tag.family));
        write_target_numbers(json, &r->targets[i]);
        kr_json_close(json);
    }
    kr_json_close(json);
    kr_json_array(json, "family_targets");
    for (size_t i = 0; i < r->n_family_targets; i++) {
        const struct kr_row_family *row = &run->account.families[r->family_targets[i].row];

        kr_json_object(json, NULL);
        kr_json_str(json, "family", kr_rules_family(view->report->rules, row->family));
        write_target_numbers(json, &r->family_targets[i]);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void write_noise(struct kr_json *json, const struct kr_predict_result *r)
{
    kr_json_object(json, "noise");
    kr_json_u64(json, "steps", r->noise.n_steps);
    kr_json_num(json, "mean_step_ns", r->noise.mean_step_ns);
    kr_json_num(json, "cv", r->noise_cv);
    kr_json_num(json, "smallest_detectable_frac", r->smallest_detectable);
    kr_json_num(json, "steps_needed", r->steps_needed);
    kr_json_close(json);
}

void kr_prediction_json(const struct kr_prediction_view *view, FILE *out)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_run *run = &view->report->runs[0];
    const struct kr_timeline *t = run->timeline;
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.predict", 1);
    kr_json_source(&json, "source", t);
    kr_json_completeness_of(&json, "completeness", t);
    kr_json_window(&json, "window", &run->window);
    kr_json_policy(&json, "policy", view->report->rules);
    kr_json_str(&json, "sigma_file", view->sigma ? view->sigma->name : NULL);
    kr_json_object(&json, "denominator");
    kr_json_str(&json, "name", r->denominator);
    kr_json_num(&json, "ns", r->denominator_ns);
    kr_json_num(&json, "busy_frac", r->busy_frac);
    kr_json_close(&json);
    write_predictions(&json, view);
    write_parts(&json, view);
    write_targets(&json, view);
    write_noise(&json, r);
    kr_json_array(&json, "warnings");
    for (size_t i = 0; i < r->n_warnings; i++)
        kr_json_str(&json, NULL, r->warnings[i]);
    kr_json_close(&json);
    kr_json_end(&json);
}

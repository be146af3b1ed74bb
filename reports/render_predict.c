#include "render_predict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "mem.h"
#include "report_rows.h"
#include "text.h"
#include "text_parts.h"

static bool is_shown(const struct kr_prediction_view *view, const struct kr_prediction *p)
{
    return view->modes & 1u << p->mode;
}

/* Nothing when the range is a point. */
static struct kr_number range_if_any(double lo, double hi)
{
    return lo == hi ? (struct kr_number){ "" } : kr_text_saved_range(lo, hi);
}

/* The spread of a prediction: its range, else what the luck of single attempts does to it. */
static struct kr_number spread_of(const struct kr_prediction *p)
{
    struct kr_number text = range_if_any(p->saved_lo, p->saved_hi);

    if (!*text.s && p->outcome_sd > 0)
        snprintf(text.s, sizeof text.s, "sd %.30s", kr_text_saved(p->outcome_sd).s);
    return text;
}

static void say_headline(const struct kr_prediction_view *view, FILE *out)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_prediction *main_one = kr_predict_find(r, KR_PREDICT_PER_KERNEL);
    const struct kr_prediction *expected = kr_predict_find(r, KR_PREDICT_WIN_RATE);
    const struct kr_prediction *ceiling = kr_predict_find(r, KR_PREDICT_CEILING_ALL);
    char text[640] = "";
    size_t at = 0;

    if (main_one)
        at +=
            (size_t)snprintf(text, sizeof text,
                             "These kernels save %s %% of the %s%s%s%s: the run gets %s as fast. ",
                             kr_text_saved(main_one->saved).s, r->denominator,
                             main_one->saved_lo != main_one->saved_hi ? " (" : "",
                             range_if_any(main_one->saved_lo, main_one->saved_hi).s,
                             main_one->saved_lo != main_one->saved_hi ? " %)" : "",
                             kr_text_gain(main_one->speedup).s);
    if (expected && at < sizeof text)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "At the given win rates %s %% are to be expected. ",
                               kr_text_saved(expected->saved).s);
    if (ceiling && at < sizeof text)
        snprintf(text + at, sizeof text - at,
                 "Addressable work that took no time at all would save %s %% (%s).",
                 kr_text_saved(ceiling->saved).s, kr_text_gain(ceiling->speedup).s);
    fputs(kr_style_paint(&view->style, KR_BOLD), out);
    kr_wrap_text(out, &view->style, 0, text);
    fputs(kr_style_paint(&view->style, KR_PLAIN), out);
    fputc('\n', out);
}

static void say_noise(const struct kr_prediction_view *view, FILE *out)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_prediction *main_one = kr_predict_find(r, KR_PREDICT_PER_KERNEL);

    if (isnan(r->smallest_detectable)) {
        kr_say_fact(out, &view->style, "noise",
                    "unknown: the window has fewer than 3 steps, so nothing says how small a gain "
                    "a measurement could see");
        return;
    }
    kr_say_fact(out, &view->style, "noise",
                "steps vary by %s %% (CV of %zu steps): two runs of as many steps show a gain of "
                "%s %% or more",
                kr_text_percent(r->noise_cv).s, r->noise.n_steps,
                kr_text_saved(r->smallest_detectable).s);
    if (main_one && fabs(main_one->saved) < r->smallest_detectable && isfinite(r->steps_needed))
        kr_say_fact(out, &view->style, "",
                    "the predicted gain is smaller; seeing it takes %s steps in each run",
                    kr_text_count((uint64_t)ceil(fmin(r->steps_needed, 1e15))).s);
}

static bool say_modes(const struct kr_prediction_view *view, FILE *out, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "mode", KR_LEFT, 0 },      { "% saved", KR_RIGHT, 0 },   { "range", KR_RIGHT, 0 },
        { "speed-up", KR_RIGHT, 0 }, { "% of busy", KR_RIGHT, 0 },
    };
    struct kr_table *table = kr_table_new(columns, KR_COUNT(columns), err);
    bool good;

    if (!table)
        return false;
    for (size_t i = 0; i < view->result->n_predictions; i++) {
        const struct kr_prediction *p = &view->result->predictions[i];

        if (!is_shown(view, p))
            continue;
        kr_table_cell(table, "%s", kr_predict_mode_name(p->mode));
        kr_table_cell(table, "%s", kr_text_saved(p->saved).s);
        kr_table_cell(table, "%s", spread_of(p).s);
        kr_table_cell(table, "%s", kr_text_gain(p->speedup).s);
        kr_table_cell(table, "%s", kr_text_saved(p->saved_of_busy).s);
    }
    kr_say_title(out, &view->style, "Modes",
                 "saved of the whole; '% of busy' forgets idle, so it overstates");
    good = kr_table_print(table, out, &view->style, err);
    kr_table_free(table);
    for (size_t i = 0; good && i < view->result->n_predictions; i++) {
        if (is_shown(view, &view->result->predictions[i]))
            kr_say_fact(out, &view->style, "", "%s: %s",
                        kr_predict_mode_name(view->result->predictions[i].mode),
                        kr_predict_mode_text(view->result->predictions[i].mode));
    }
    return good;
}

static bool say_parts(const struct kr_prediction_view *view, FILE *out, struct kr_err *err)
{
    static const struct kr_column columns[] = {
        { "% share", KR_RIGHT, 0 }, { "launches", KR_RIGHT, 0 }, { "sigma", KR_RIGHT, 0 },
        { "% saved", KR_RIGHT, 0 }, { "range", KR_RIGHT, 0 },    { "place", KR_LEFT, 14 },
        { "entry", KR_LEFT, 0 },
    };
    struct kr_table *table;
    bool good;

    if (view->result->n_parts == 0)
        return true;
    table = kr_table_new(columns, KR_COUNT(columns), err);
    if (!table)
        return false;
    for (size_t i = 0; i < view->result->n_parts; i++) {
        const struct kr_predict_part *part = &view->result->parts[i];
        const struct kr_sigma_entry *entry = &view->sigma->entries[part->entry];

        kr_table_cell(table, "%s", kr_text_percent(part->frac).s);
        kr_table_cell(table, "%" PRIu64, part->count);
        kr_table_cell(table, "%s", kr_text_gain(entry->sigma).s);
        kr_table_cell(table, "%s", kr_text_saved(part->saved).s);
        kr_table_cell(table, "%s", range_if_any(part->saved_lo, part->saved_hi).s);
        kr_table_cell(table, "%s:%zu", entry->file, entry->line);
        kr_table_cell(table, "%s", entry->label);
    }
    kr_say_title(out, &view->style, "Entries", NULL);
    good = kr_table_print(table, out, &view->style, err);
    kr_table_free(table);
    return good;
}

/* Families when `kernels` is false. */
static bool add_target(const struct kr_prediction_view *view, const struct kr_target *target,
                       bool kernels, struct kr_table *table, struct kr_err *err)
{
    const struct kr_run *run = &view->report->runs[0];
    struct kr_row row = { 0 };

    if (kernels &&
        !kr_row_of_kernel(view->report, run, &run->account.kernels_rows[target->row], &row, err))
        return false;
    kr_table_cell(table, "%s", kr_text_percent(target->frac).s);
    kr_table_cell(table, "%s", kr_text_gain(kr_predict_speedup(target->ceiling_saved)).s);
    kr_table_cell(table, "%s", kr_text_gain(target->sigma_for_1pct).s);
    kr_table_cell(
        table, "%s",
        kernels ? row.short_name
                : kr_rules_family(view->report->rules, run->account.families[target->row].family));
    kr_row_clear(&row);
    return true;
}

static bool say_targets(const struct kr_prediction_view *view, bool kernels, FILE *out,
                        struct kr_err *err)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_target *targets = kernels ? r->targets : r->family_targets;
    const size_t n = kernels ? r->n_targets : r->n_family_targets;
    const struct kr_column columns[] = {
        { "% share", KR_RIGHT, 0 },
        { "at most", KR_RIGHT, 0 },
        { "for 1 %", KR_RIGHT, 0 },
        { kernels ? "kernel" : "family", KR_LEFT, 0 },
    };
    const size_t shown = n < view->top ? n : view->top;
    struct kr_table *table;
    bool good = true;

    if (n == 0)
        return true;
    table = kr_table_new(columns, KR_COUNT(columns), err);
    if (!table)
        return false;
    for (size_t i = 0; good && i < shown; i++)
        good = add_target(view, &targets[i], kernels, table, err);
    if (good) {
        kr_say_title(out, &view->style, kernels ? "Kernels to write first" : "Families to write",
                     kernels ? NULL : "the run's speed-up at most; the part's that saves 1 %");
        good = kr_table_print(table, out, &view->style, err);
        if (shown < n)
            fprintf(out, "and %zu more\n", n - shown);
    }
    kr_table_free(table);
    return good;
}

bool kr_prediction_text(const struct kr_prediction_view *view, FILE *out, struct kr_err *err)
{
    const struct kr_predict_result *r = view->result;
    const struct kr_run *run = &view->report->runs[0];

    say_headline(view, out);
    kr_say_source(out, &view->style, run->timeline);
    kr_say_window(out, &view->style, &run->window);
    kr_say_fact(out, &view->style, "whole", "the %s; the GPU is busy for %s %% of it",
                r->denominator, kr_text_percent(r->busy_frac).s);
    say_noise(view, out);
    for (size_t i = 0; i < r->n_warnings; i++)
        kr_say_fact(out, &view->style, "warning", "%s", r->warnings[i]);
    return say_modes(view, out, err) && say_parts(view, out, err) &&
           say_targets(view, false, out, err) && say_targets(view, true, out, err);
}

static void write_frac(FILE *out, double value)
{
    if (isinf(value))
        fputs(value < 0 ? "-inf" : "inf", out);
    else if (!isnan(value))
        fprintf(out, "%.9g", value);
}

void kr_prediction_csv(const struct kr_prediction_view *view, FILE *out)
{
    fputs("mode,saved_frac,saved_lo,saved_hi,speedup,speedup_lo,speedup_hi,saved_of_busy_frac\n",
          out);
    for (size_t i = 0; i < view->result->n_predictions; i++) {
        const struct kr_prediction *p = &view->result->predictions[i];
        const double values[] = { p->saved,      p->saved_lo,   p->saved_hi,     p->speedup,
                                  p->speedup_lo, p->speedup_hi, p->saved_of_busy };

        if (!is_shown(view, p))
            continue;
        fputs(kr_predict_mode_name(p->mode), out);
        for (size_t k = 0; k < KR_COUNT(values); k++) {
            fputc(',', out);
            write_frac(out, values[k]);
        }
        fputc('\n', out);
    }
}

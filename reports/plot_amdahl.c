/* Time saved over the speed-up of kernels. */
#include <math.h>
#include <string.h>

#include "mem.h"
#include "plot_parts.h"
#include "text.h"

/* Entries of a sigma file, or families, that are named beside the curves. */
#define NAMED 7

/* A curve below this share lies on the axis [fraction]. */
#define LEAST_FAMILY_FRAC 0.005

/* Characters of a name beside the curves. */
#define NAME_WIDTH      36
#define NAME_WIDTH_DUMB 26

#define DUMB_ROWS 28

struct drawing {
    const struct kr_report *report;
    const struct kr_sigma_file *sigma; /* NULL = none */
    const struct kr_predict_result *result;
    double all, matched;    /* shares [fraction]; matched is NAN without sigma */
    size_t first[NAMED], n; /* entries or families that are named, largest share first */
    double x_from, x_to;    /* of the axis [x] */
    double y_from, y_to;    /* of the axis [%] */
};

static double frac_of(const struct drawing *d, size_t i)
{
    return d->sigma ? d->result->parts[i].frac : d->result->family_targets[i].frac;
}

/* The entries or families of the largest shares, in that order; the earlier one of equals. */
static void choose_named(struct drawing *d)
{
    size_t n = d->sigma ? d->result->n_parts : d->result->n_family_targets;

    for (size_t i = 0; i < n; i++) {
        size_t k = d->n < NAMED ? d->n : NAMED;

        if (!d->sigma && i > 0 && frac_of(d, i) < LEAST_FAMILY_FRAC)
            continue;
        d->n += d->n < NAMED;

        for (; k > 0 && frac_of(d, d->first[k - 1]) < frac_of(d, i); k--) {
            if (k < NAMED)
                d->first[k] = d->first[k - 1];
        }
        if (k < NAMED)
            d->first[k] = i;
    }
}

/*
 * The one speed-up of everything matched that saves as much as the entries' own do together; it
 * puts their sum on the curve of what they match.
 */
static double common_sigma(const struct drawing *d, double saved)
{
    return saved < d->matched ? d->matched / (d->matched - saved) : (double)INFINITY;
}

static void choose_axes(struct drawing *d)
{
    double least = 1, most = d->sigma ? 2.5 : 5, lowest = 0;

    for (size_t i = 0; d->sigma && i < d->result->n_parts; i++) {
        const struct kr_sigma_entry *entry = &d->sigma->entries[d->result->parts[i].entry];

        least = fmin(least, entry->lo);
        most = fmax(most, isfinite(entry->hi) ? entry->hi : 20);
        lowest = fmin(lowest, d->result->parts[i].saved_lo);
    }
    if (d->sigma)
        lowest = fmin(lowest, kr_predict_find(d->result, KR_PREDICT_PER_KERNEL)->saved_lo);
    d->x_from = fmax(least < 1 ? 0.8 * least : 1, 0.1);
    d->x_to = fmin(2 * most, 1000);
    d->y_from = fmax(110 * lowest, -100);
    d->y_to = fmin(108 * fmax(d->all, isnan(d->matched) ? 0 : d->matched), 100);
    if (d->y_to <= d->y_from)
        d->y_to = d->y_from + 1; /* nothing addressable: an axis all the same */
}

/* Block of entries: their sigma, saved, lo, hi [%], share [%], name, numbers. */
static bool put_entry(FILE *data, const struct drawing *d, size_t i, size_t width,
                      struct kr_err *err)
{
    const struct kr_predict_part *part = &d->result->parts[i];
    const struct kr_sigma_entry *entry = &d->sigma->entries[part->entry];

    fprintf(data, "%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t", fmin(entry->sigma, d->x_to), 100 * part->saved,
            100 * part->saved_lo, 100 * part->saved_hi, 100 * part->frac);
    if (!kr_plot_put_text(data, entry->label, width, err))
        return false;
    fprintf(data, "\t%s %% at %s: saves %s %%\n", kr_text_percent(part->frac).s,
            kr_text_gain(entry->sigma).s, kr_text_saved(part->saved).s);
    return true;
}

/* The same of families, which have no sigma: they stand where nothing is saved. */
static bool put_family(FILE *data, const struct drawing *d, size_t i, size_t width,
                       struct kr_err *err)
{
    const struct kr_target *target = &d->result->family_targets[i];
    uint16_t family = d->report->runs[0].account.families[target->row].family;

    fprintf(data, "1\t0\t0\t0\t%.6g\t", 100 * target->frac);
    if (!kr_plot_put_text(data, kr_rules_family(d->report->rules, family), width, err))
        return false;
    fprintf(data, "\t%s %%: at most %s\n", kr_text_percent(target->frac).s,
            kr_text_gain(kr_predict_speedup(target->ceiling_saved)).s);
    return true;
}

/* The point of a sum of the entries; no line when there is none of that mode. */
static void put_sum(FILE *data, const struct drawing *d, enum kr_predict_mode mode)
{
    const struct kr_prediction *sum = kr_predict_find(d->result, mode);

    if (sum)
        fprintf(data, "%.6g\t%.6g\t%.6g\t%.6g\n", fmin(common_sigma(d, sum->saved), d->x_to),
                100 * sum->saved, 100 * sum->saved_lo, 100 * sum->saved_hi);
    kr_plot_end_block(data);
}

/* Blocks: what is named, by share; then all entries together, without and with their win rates. */
static bool put_data(FILE *data, const struct drawing *d, size_t width, struct kr_err *err)
{
    for (size_t k = 0; k < d->n; k++) {
        bool good = d->sigma ? put_entry(data, d, d->first[k], width, err)
                             : put_family(data, d, d->first[k], width, err);

        if (!good)
            return false;
    }
    kr_plot_end_block(data);
    put_sum(data, d, KR_PREDICT_PER_KERNEL);
    put_sum(data, d, KR_PREDICT_WIN_RATE);
    return true;
}

/* Speed-ups of the run beside what they save, as many as have room; round ones first. */
static void put_gain_tics(FILE *script, const struct drawing *d)
{
    static const double gains[] = { 1,    2,    1.5, 1.2,  1.1,  5,    3,   1.05, 10,
                                    0.5,  0.8,  0.9, 1.3,  1.4,  1.02, 2.5, 1.75, 1.01,
                                    1.03, 1.15, 4,   1.07, 0.95, 0.7,  0.6, 20,   100 };
    double room = (d->y_to - d->y_from) / 14;
    double taken[KR_COUNT(gains)];
    size_t n = 0;

    fputs("set y2tics (", script);
    for (size_t i = 0; i < KR_COUNT(gains); i++) {
        double saved = 100 * (1 - 1 / gains[i]);
        bool fits = saved >= d->y_from && saved <= d->y_to;

        for (size_t k = 0; k < n; k++)
            fits = fits && fabs(saved - taken[k]) >= room;
        if (!fits)
            continue;
        fprintf(script, "%s'%gx' %.6g", n ? ", " : "", gains[i], saved);
        taken[n++] = saved;
    }
    fputs(") out nomirror\n", script);
}

static void put_axes(FILE *script, const struct drawing *d, bool dumb)
{
    fprintf(script,
            "saved(share, x) = share * (1 - 1 / x)\n"
            "set samples 400\n"
            "set logscale x\n"
            "set xrange [%.6g:%.6g]\n"
            "set yrange [%.6g:%.6g]\n"
            "set y2range [%.6g:%.6g]\n",
            d->x_from, d->x_to, d->y_from, d->y_to, d->y_from, d->y_to);
    fprintf(script,
            "set xtics (0.1, 0.2, 0.5, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) out "
            "nomirror\n"
            "set ytics out nomirror\n"
            "set xzeroaxis lc rgb '#808080'\n"
            "set xlabel 'speed-up of the kernels [x]'\n"
            "set ylabel 'saved of the %s [%%]'\n"
            "set border 11\n"
            "set lmargin %d\n"
            "set rmargin %d\n"
            "set bmargin 8\n"
            "set key outside below left vertical Left reverse samplen 2 maxrows 3%s\n",
            d->result->denominator, dumb ? 10 : 9, dumb ? NAME_WIDTH_DUMB + 8 : NAME_WIDTH + 6,
            dumb ? "" : " font ',9'");
    if (!dumb)
        fputs("set y2label 'speed-up of the run [x]'\n", script);
    put_gain_tics(script, d);
}

/* The point of a sum of the entries, if there is one of that mode. */
static void put_sum_script(FILE *script, const struct drawing *d, enum kr_predict_mode mode,
                           const char *what)
{
    const struct kr_prediction *sum = kr_predict_find(d->result, mode);
    bool filled = mode == KR_PREDICT_PER_KERNEL;

    if (sum)
        fprintf(script,
                ", \\\n  data index %d using 1:2:3:4 with yerrorbars pt %d ps 1.4 lw 2 lc rgb "
                "'#000000' title '%s: %s %% (%s)'",
                filled ? 2 : 3, filled ? 7 : 6, what, kr_text_saved(sum->saved).s,
                kr_text_gain(sum->speedup).s);
}

/* The curves of all addressable work, and of all that the entries match with its points. */
static void put_sums(FILE *script, const struct drawing *d)
{
    fprintf(script,
            "plot saved(%.6g, x) with lines lw 2.5 lc rgb '#000000' title 'all addressable work: "
            "%s %%'",
            100 * d->all, kr_text_percent(d->all).s);
    if (!d->sigma)
        return;
    fprintf(script,
            ", \\\n  saved(%.6g, x) with lines lw 2 dt 2 lc rgb '#000000' title 'what the entries "
            "match: %s %%'",
            100 * d->matched, kr_text_percent(d->matched).s);
    put_sum_script(script, d, KR_PREDICT_PER_KERNEL, "the entries together");
    put_sum_script(script, d, KR_PREDICT_WIN_RATE, "with their win rates");
}

/* A curve in its colour, its name and numbers in the list on the right, and its point if any. */
static void put_named(FILE *script, const struct drawing *d, size_t k, bool dumb)
{
    double y = d->y_to - (0.3 + (double)k) * (d->y_to - d->y_from) / 7.5;
    bool alone = d->n == 1 && d->sigma; /* then it is the curve of all entries */
    unsigned rgb = kr_plot_curve_rgb[alone ? 0 : k + 1];

    if (!alone)
        fprintf(script, ", \\\n  saved(%.6g, x) with lines lw 1.5 lc rgb '#%06x' notitle",
                100 * frac_of(d, d->first[k]), rgb);
    if (!alone && d->sigma)
        fprintf(script,
                ", \\\n  data index 1 every ::%zu::%zu using 1:2:3:4 with yerrorbars pt 7 ps 0.8 "
                "lc rgb '#%06x' notitle",
                k, k, rgb);
    fprintf(script,
            ", \\\n  data index 1 every ::%zu::%zu using (%.6g):(%.6g):6 with labels left offset "
            "%d,0 ",
            k, k, d->x_to, y, dumb ? 9 : 11);
    if (!dumb)
        fprintf(script, "font ',9' tc rgb '#%06x' ", rgb);
    fprintf(script,
            "notitle, \\\n  data index 1 every ::%zu::%zu using (%.6g):(%.6g):7 with labels left "
            "offset %s%s notitle",
            k, k, d->x_to, y, dumb ? "9,-1" : "11,-1.1", dumb ? "" : " font ',8' tc rgb '#555555'");
}

static void put_script(FILE *script, const struct drawing *d, bool dumb)
{
    put_axes(script, d, dumb);
    put_sums(script, d);
    if (isfinite(d->result->smallest_detectable))
        fprintf(script,
                ", \\\n  %.6g with lines dt 3 lc rgb '#808080' title 'least gain to be seen in two "
                "such runs: %s %%'",
                100 * d->result->smallest_detectable,
                kr_text_saved(d->result->smallest_detectable).s);
    for (size_t k = 0; k < d->n; k++)
        put_named(script, d, k, dumb);
    fputc('\n', script);
}

bool kr_plot_amdahl(const struct kr_report *report, const struct kr_sigma_file *sigma,
                    const struct kr_predict_result *result, const struct kr_plot_options *opt,
                    struct kr_plot *out, struct kr_err *err)
{
    bool dumb = opt->format == KR_PLOT_DUMB;
    struct drawing d = { .report = report, .sigma = sigma, .result = result, .matched = NAN };
    char title[160];

    *out = (struct kr_plot){ 0 };
    d.all = kr_predict_find(result, KR_PREDICT_CEILING_ALL)->saved;
    if (sigma)
        d.matched = kr_predict_find(result, KR_PREDICT_CEILING)->saved;
    choose_named(&d);
    choose_axes(&d);
    if (!kr_plot_begin(out, opt, err))
        return false;
    snprintf(title, sizeof title, "%.96s: what faster kernels save", kr_plot_run_name(report));
    out->height = dumb ? DUMB_ROWS : out->height;
    if (!kr_plot_head(out, title, report, 1, err) ||
        !put_data(out->data_out, &d, dumb ? NAME_WIDTH_DUMB : NAME_WIDTH, err))
        return false;
    put_script(out->script_out, &d, dumb);
    return kr_plot_end(out, err);
}

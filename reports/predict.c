#include "predict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "predict_warn.h"
#include "roofline.h"
#include "select.h"

/* Shares are sums of exact integers; this only forgives the division. */
#define SHARE_SLACK 1e-9

static const struct {
    const char *name, *text;
} modes[KR_PREDICT_MODE_COUNT] = {
    { "per-kernel", "sum of s (1 - 1/sigma): every replacement is in use" },
    { "win-rate", "sum of s w (1 - 1/sigma): a share w of the replacements wins" },
    { "ceiling", "sum of s: what the entries match takes no time at all" },
    { "ceiling-addressable", "all addressable work takes no time at all" },
};

const char *kr_predict_mode_name(enum kr_predict_mode mode)
{
    return modes[mode].name;
}

const char *kr_predict_mode_text(enum kr_predict_mode mode)
{
    return modes[mode].text;
}

/* Arguments are known to be in range. */
static double saved_of(double frac, double sigma)
{
    return frac * (1 - 1 / sigma);
}

bool kr_predict_saved(double frac, double sigma, double *out_saved_frac, struct kr_err *err)
{
    if (!(frac >= 0 && frac <= 1))
        return kr_fail(err, KR_EARG, "a share is a fraction from 0 to 1, not %g", frac);
    if (!(sigma > 0))
        return kr_fail(err, KR_EARG, "a speed-up must be > 0, not %g", sigma);
    *out_saved_frac = saved_of(frac, sigma);
    return true;
}

double kr_predict_speedup(double saved_frac)
{
    return saved_frac < 1 ? 1 / (1 - saved_frac) : INFINITY;
}

double kr_predict_sigma_needed(double frac, double target_frac)
{
    return frac > target_frac ? frac / (frac - target_frac) : NAN;
}

static bool set_denominator(const struct kr_predict_input *in, const struct kr_predict_options *opt,
                            struct kr_predict_result *r, struct kr_err *err)
{
    const struct kr_time *time = &in->account->time;

    r->denominator = "window wall";
    r->denominator_ns = (double)time->wall_ns;
    r->per_step = opt->wall_step_ns > 0;
    if (r->per_step) {
        if (!kr_window_check_plain_step(in->window, opt->wall_step_ns, err))
            return false;
        r->denominator = "unprofiled step";
        r->denominator_ns = (double)opt->wall_step_ns * (double)in->window->n_steps *
                            (double)in->account->n_devices;
    }
    if (!(r->denominator_ns > 0))
        return kr_fail(err, KR_EARG, "the window is empty: there is no time to save");
    r->busy_frac = (double)time->busy_ns / r->denominator_ns;
    return true;
}

/* Adds up what each entry owns. */
static void fill_parts(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                       const struct kr_selection *selection, struct kr_predict_result *r)
{
    double steps = (double)(in->window->n_steps * in->account->n_devices);

    for (size_t i = 0; i < selection->n_sites; i++) {
        uint32_t owner = selection->owner[i];

        if (owner == KR_SELECT_NONE)
            continue;
        r->parts[owner].count += in->account->sites[i].count;
        r->parts[owner].exclusive_ns += in->account->sites[i].exclusive_ns;
    }
    for (size_t e = 0; e < r->n_parts; e++) {
        const struct kr_sigma_entry *entry = &sigma->entries[e];
        struct kr_predict_part *p = &r->parts[e];

        p->entry = e;
        p->shadowed_ns = selection->shadowed_ns[e];
        p->frac = (double)p->exclusive_ns / r->denominator_ns;
        p->frac_of_busy = (double)p->exclusive_ns / (double)in->account->time.busy_ns;
        p->saved = saved_of(p->frac, entry->sigma);
        p->saved_lo = saved_of(p->frac, entry->lo);
        p->saved_hi = saved_of(p->frac, entry->hi);
        p->saved_win = p->saved * entry->win_rate;
        p->launches_before = steps > 0 ? (double)p->count / steps : NAN;
        p->launches_after = entry->launches_after ? entry->launches_after : p->launches_before;
        p->roofline_sigma = NAN;
        kr_sigma_evidence_missing(entry, p->evidence_missing, sizeof p->evidence_missing);
    }
}

/* One attempt to write a kernel: it wins or brings nothing, as a whole. */
struct attempt {
    uint32_t entry, name;
    uint64_t exclusive_ns;
};

static int by_entry_and_name(const void *a, const void *b)
{
    const struct attempt *x = a, *y = b;

    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return KR_COMPARE(x->name, y->name);
}

/* Sites of one kernel name are one attempt; all of a group are one. */
static size_t list_attempts(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                            const struct kr_selection *selection, struct attempt *list)
{
    size_t n = 0, merged = 0;

    for (size_t i = 0; i < selection->n_sites; i++) {
        uint32_t owner = selection->owner[i];

        if (owner == KR_SELECT_NONE)
            continue;
        list[n++] = (struct attempt){
            .entry = owner,
            .name = sigma->entries[owner].is_group ? 0 : in->timeline->sites[i].name,
            .exclusive_ns = in->account->sites[i].exclusive_ns,
        };
    }
    qsort(list, n, sizeof *list, by_entry_and_name);
    for (size_t i = 1; i < n; i++) {
        if (by_entry_and_name(&list[merged], &list[i]) == 0)
            list[merged].exclusive_ns += list[i].exclusive_ns;
        else
            list[++merged] = list[i];
    }
    return n ? merged + 1 : 0;
}

/* The win-rate figure is a mean; this is how far single outcomes stray from it. */
static bool outcome_sd(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                       const struct kr_selection *selection, double denominator_ns, double *out,
                       struct kr_err *err)
{
    struct attempt *list = kr_xcalloc(selection->n_sites, sizeof *list, err);
    double variance = 0;
    size_t n;

    if (!list)
        return false;
    n = list_attempts(in, sigma, selection, list);
    for (size_t i = 0; i < n; i++) {
        const struct kr_sigma_entry *e = &sigma->entries[list[i].entry];
        double win = saved_of((double)list[i].exclusive_ns / denominator_ns, e->sigma);

        variance += e->win_rate * (1 - e->win_rate) * win * win;
    }
    free(list);
    *out = sqrt(variance);
    return true;
}

static struct kr_prediction *add_prediction(struct kr_predict_result *r, enum kr_predict_mode mode)
{
    struct kr_prediction *p = &r->predictions[r->n_predictions++];

    p->mode = mode;
    p->outcome_sd = NAN;
    return p;
}

static void finish_prediction(const struct kr_predict_result *r, struct kr_prediction *p)
{
    p->speedup = kr_predict_speedup(p->saved);
    p->speedup_lo = kr_predict_speedup(p->saved_lo);
    p->speedup_hi = kr_predict_speedup(p->saved_hi);
    p->saved_of_busy = r->busy_frac > 0 ? p->saved / r->busy_frac : NAN;
}

/* Per-kernel and win-rate differ only in the weight of each entry. */
static void sum_parts(const struct kr_sigma_file *sigma, bool weighted, struct kr_prediction *p,
                      struct kr_predict_result *r)
{
    for (size_t e = 0; e < r->n_parts; e++) {
        double weight = weighted ? sigma->entries[e].win_rate : 1;

        p->saved += weight * r->parts[e].saved;
        p->saved_lo += weight * r->parts[e].saved_lo;
        p->saved_hi += weight * r->parts[e].saved_hi;
        p->n_losses += sigma->entries[e].sigma < 1;
    }
    finish_prediction(r, p);
}

static void set_ceiling(struct kr_predict_result *r, enum kr_predict_mode mode, double frac)
{
    struct kr_prediction *p = add_prediction(r, mode);

    p->saved = p->saved_lo = p->saved_hi = frac;
    finish_prediction(r, p);
}

static bool any_win_rate(const struct kr_sigma_file *sigma)
{
    for (size_t e = 0; e < sigma->n_entries; e++)
        if (sigma->entries[e].has_win_rate)
            return true;
    return false;
}

static bool fill_predictions(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                             const struct kr_selection *selection, struct kr_predict_result *r,
                             struct kr_err *err)
{
    double matched = 0;

    for (size_t e = 0; e < r->n_parts; e++)
        matched += r->parts[e].frac;
    if (matched > 1 + SHARE_SLACK)
        return kr_fail(err, KR_EARG,
                       "the entries match %.4g %% of the %s, more than all of it; is the step "
                       "time that of this run?",
                       100 * matched, r->denominator);
    sum_parts(sigma, false, add_prediction(r, KR_PREDICT_PER_KERNEL), r);
    if (any_win_rate(sigma)) {
        struct kr_prediction *p = add_prediction(r, KR_PREDICT_WIN_RATE);

        sum_parts(sigma, true, p, r);
        if (!outcome_sd(in, sigma, selection, r->denominator_ns, &p->outcome_sd, err))
            return false;
    }
    set_ceiling(r, KR_PREDICT_CEILING, matched);
    return true;
}

/* All that needs the entries. */
static bool apply_sigma(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                        const struct kr_predict_options *opt, struct kr_predict_result *r,
                        struct kr_err *err)
{
    struct kr_selection selection = { 0 };
    bool ok;

    r->parts = kr_xcalloc(sigma->n_entries, sizeof *r->parts, err);
    if (!r->parts)
        return false;
    r->n_parts = sigma->n_entries;
    ok = kr_select_sites(in, sigma, &selection, err);
    if (ok) {
        fill_parts(in, sigma, &selection, r);
        ok = kr_roofline_fill(in, sigma, &selection, r, err) &&
             kr_roofline_judge(sigma, opt->force, r, err) &&
             fill_predictions(in, sigma, &selection, r, err) &&
             kr_predict_warn_entries(in, sigma, r, err);
    }
    kr_selection_free(&selection);
    return ok;
}

static struct kr_target make_target(size_t row, uint64_t exclusive_ns, double denominator_ns)
{
    double frac = (double)exclusive_ns / denominator_ns;

    return (struct kr_target){ row, frac, frac, kr_predict_sigma_needed(frac, 0.01) };
}

/* The account's rows are sorted by time already. */
static bool list_targets(const struct kr_account *account, struct kr_predict_result *r,
                         struct kr_err *err)
{
    r->targets = kr_xcalloc(account->n_kernels_rows, sizeof *r->targets, err);
    if (!r->targets)
        return false;
    r->family_targets = kr_xcalloc(account->n_families, sizeof *r->family_targets, err);
    if (!r->family_targets)
        return false;
    for (size_t i = 0; i < account->n_kernels_rows; i++)
        if (account->kernels_rows[i].tag.cls == KR_ADDRESSABLE)
            r->targets[r->n_targets++] =
                make_target(i, account->kernels_rows[i].stats.exclusive_ns, r->denominator_ns);
    for (size_t i = 0; i < account->n_families; i++)
        if (account->families[i].cls == KR_ADDRESSABLE)
            r->family_targets[r->n_family_targets++] =
                make_target(i, account->families[i].stats.exclusive_ns, r->denominator_ns);
    return true;
}

static bool set_ceiling_all(const struct kr_account *account, struct kr_predict_result *r,
                            struct kr_err *err)
{
    double frac = (double)account->classes[KR_ADDRESSABLE].exclusive_ns / r->denominator_ns;

    if (frac > 1 + SHARE_SLACK)
        return kr_fail(err, KR_EARG,
                       "addressable work alone takes %.4g %% of the %s; is the step time that of "
                       "this run?",
                       100 * frac, r->denominator);
    set_ceiling(r, KR_PREDICT_CEILING_ALL, frac);
    return true;
}

static void set_noise(const struct kr_window *window, struct kr_predict_result *r)
{
    r->noise = kr_noise_of_steps(window->steps, window->n_steps);
    r->noise_cv = r->noise.cv;
    r->smallest_detectable = r->noise.smallest_detectable;
    r->steps_needed = NAN;
    if (r->n_parts > 0)
        r->steps_needed = kr_noise_steps_needed(r->noise.cv, r->predictions[0].saved);
}

bool kr_predict_run(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                    const struct kr_predict_options *opt, struct kr_predict_result *out,
                    struct kr_err *err)
{
    *out = (struct kr_predict_result){ 0 };
    if (set_denominator(in, opt, out, err) && (!sigma || apply_sigma(in, sigma, opt, out, err)) &&
        set_ceiling_all(in->account, out, err) && list_targets(in->account, out, err)) {
        set_noise(in->window, out);
        if (kr_predict_warn_run(in, out, err))
            return true;
    }
    kr_predict_free(out);
    return false;
}

void kr_predict_free(struct kr_predict_result *r)
{
    for (size_t i = 0; i < r->n_warnings; i++)
        free(r->warnings[i]);
    free(r->warnings);
    free(r->parts);
    free(r->targets);
    free(r->family_targets);
    *r = (struct kr_predict_result){ 0 };
}

const struct kr_prediction *kr_predict_find(const struct kr_predict_result *r,
                                            enum kr_predict_mode mode)
{
    for (size_t i = 0; i < r->n_predictions; i++) {
        if (r->predictions[i].mode == mode)
            return &r->predictions[i];
    }
    return NULL;
}

#include "predict_warn.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "mem.h"

enum { WARNINGS_MAX = 1 << 20 };

/* Above this share of idle the launching side is likely to be the limit. */
#define MUCH_IDLE 0.25

/* Time of the window that may lie outside of its steps before the per-step figure is doubtful. */
#define STEP_GAPS_MAX 0.05

bool kr_predict_warn(struct kr_predict_result *r, struct kr_err *err, const char *fmt, ...)
{
    size_t cap = r->n_warnings;
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* Warnings are few, so growing one at a time is no matter. */
    if (!kr_grow(&r->warnings, &cap, r->n_warnings + 1, sizeof *r->warnings, WARNINGS_MAX, err))
        return false;
    r->warnings[r->n_warnings] = kr_xstrndup(text, strlen(text), err);
    if (!r->warnings[r->n_warnings])
        return false;
    r->n_warnings++;
    return true;
}

/* The next run of letters and digits; *len is 0 at the end. */
static const char *next_word(const char *s, size_t *len)
{
    while (*s && !isalnum((unsigned char)*s))
        s++;
    *len = 0;
    while (isalnum((unsigned char)s[*len]))
        (*len)++;
    return s;
}

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(s, word, len) == 0;
}

static bool has_word(const char *text, const char *word, size_t word_len)
{
    size_t len;

    for (const char *w = next_word(text, &len); len > 0; w = next_word(w + len, &len))
        if (len == word_len && strncasecmp(w, word, len) == 0)
            return true;
    return false;
}

static bool all_words_in(const char *words, const char *text)
{
    static const char *const makers[] = { "nvidia", "geforce", "tesla", "amd", "gpu" };
    size_t len;

    for (const char *w = next_word(words, &len); len > 0; w = next_word(w + len, &len)) {
        bool maker = false;

        for (size_t i = 0; i < KR_COUNT(makers); i++)
            maker = maker || is_word(w, len, makers[i]);
        if (!maker && !has_word(text, w, len))
            return false;
    }
    return true;
}

bool kr_same_device(const char *a, const char *b)
{
    return all_words_in(a, b) || all_words_in(b, a);
}

static bool warn_device(const struct kr_predict_input *in, const struct kr_sigma_entry *e,
                        struct kr_predict_result *r, struct kr_err *err)
{
    const struct kr_timeline *t = in->timeline;

    for (size_t i = 0; e->evidence.device && i < in->account->n_devices; i++) {
        uint32_t name = t->devices[in->account->devices[i].device].name;

        if (name == 0 || kr_same_device(e->evidence.device, kr_timeline_str(t, name)))
            continue;
        return kr_predict_warn(
            r, err, "%s:%zu: entry '%.80s' was measured on '%.60s', this run on '%.60s'", e->file,
            e->line, e->label, e->evidence.device, kr_timeline_str(t, name));
    }
    return true;
}

static bool warn_evidence(const struct kr_sigma_file *sigma, struct kr_predict_result *r,
                          struct kr_err *err)
{
    char missing[sizeof r->parts->evidence_missing] = "";
    size_t lacking = 0, first = 0;

    for (size_t e = r->n_parts; e-- > 0;) {
        if (!*r->parts[e].evidence_missing)
            continue;
        lacking++;
        first = e;
        memcpy(missing, r->parts[e].evidence_missing, sizeof missing);
    }
    if (lacking == 0)
        return true;
    return kr_predict_warn(
        r, err, "%zu of %zu entries lack evidence; the first, '%.80s' (%s:%zu), says nothing of %s",
        lacking, r->n_parts, sigma->entries[first].label, sigma->entries[first].file,
        sigma->entries[first].line, missing);
}

bool kr_predict_warn_entries(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                             struct kr_predict_result *r, struct kr_err *err)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct kr_sigma_entry *e = &sigma->entries[i];

        if (r->parts[i].shadowed_ns > 0 &&
            !kr_predict_warn(r, err,
                             "%s:%zu: entry '%.80s' also matches %.3f ms that belong to entries "
                             "before it",
                             e->file, e->line, e->label, (double)r->parts[i].shadowed_ns / 1e6))
            return false;
        if (!warn_device(in, e, r, err))
            return false;
    }
    return warn_evidence(sigma, r, err);
}

/* A per-step figure takes all work of the window to be work of its steps. */
static bool warn_step_gaps(const struct kr_predict_input *in, struct kr_predict_result *r,
                           struct kr_err *err)
{
    double window_ns = (double)(in->window->end_ns - in->window->start_ns);
    double steps_ns = r->noise.mean_step_ns * (double)in->window->n_steps;

    if (fabs(window_ns - steps_ns) <= STEP_GAPS_MAX * window_ns)
        return true;
    return kr_predict_warn(r, err,
                           "the %zu steps fill %.1f %% of the window; work outside of them counts "
                           "as work of a step (--window steady leaves it out)",
                           in->window->n_steps, 100 * steps_ns / window_ns);
}

bool kr_predict_warn_run(const struct kr_predict_input *in, struct kr_predict_result *r,
                         struct kr_err *err)
{
    double idle = 1 - r->busy_frac;

    if (r->busy_frac > 1 &&
        !kr_predict_warn(r, err,
                         "the GPU is busy for %.1f %% of the %s: the step time is shorter than the "
                         "recorded work in it",
                         100 * r->busy_frac, r->denominator))
        return false;
    if (r->per_step && !warn_step_gaps(in, r, err))
        return false;
    if (idle < MUCH_IDLE)
        return true;
    return kr_predict_warn(r, err,
                           "the GPU idles for %.1f %% of the %s: where launches are the limit, "
                           "faster kernels bring more idle time instead of a shorter run",
                           100 * idle, r->denominator);
}

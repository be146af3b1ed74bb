#include "select.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "mem.h"
#include "words.h"

/* Long enough that no name is shortened for matching. */
enum { SHORT_NAME_MAX = 1 << 20 };

enum criterion { KERNEL, FAMILY, CLASS, ORIGIN, RULE, OP, ANNOTATION, GRID, BLOCK, N_CRITERIA };

static const char *const criterion_names[] = { "kernel", "family",     "class", "origin", "rule",
                                               "op",     "annotation", "grid",  "block" };

/* Answers of one glob, by string id. */
enum { UNASKED, NO, YES };

struct matcher {
    const struct kr_predict_input *in;
    const struct kr_sigma_file *sigma;
    const struct kr_sigma_entry *entry; /* the one being matched, resolved below */
    uint16_t family;
    uint8_t cls, origin;
    uint32_t rule;
    size_t n_strings;
    uint8_t *memo[N_CRITERIA]; /* for the three globs; NULL for the rest */
    char **normal, **brief;    /* by string id, made when first needed */
};

bool kr_glob_match(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL;

    while (*text) {
        if (*glob == '*') {
            star = glob++;
            resume = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            /* Only the last star need give: an earlier one could not do better. */
            glob = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return !*glob;
}

__attribute__((format(printf, 3, 4), cold)) static bool
fail(const struct matcher *m, struct kr_err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    err->code = KR_EARG;
    err->offset = KR_NO_OFFSET;
    return kr_wrap(err, "%s:%zu: entry '%.80s'", m->entry->file, m->entry->line, m->entry->label);
}

/* Turns the entry's words into numbers that tags hold. */
static bool resolve(struct matcher *m, const struct kr_sigma_entry *entry, struct kr_err *err)
{
    const struct kr_sigma_select *s = &entry->select;
    const char *const words[] = { s->family, s->cls, s->origin, s->rule };
    uint32_t found[KR_COUNT(words)] = { 0 };

    m->entry = entry;
    for (enum kr_word_kind k = KR_WORD_FAMILY; k <= KR_WORD_RULE; k++) {
        const char *near;

        if (!words[k] || kr_word_find(m->in->rules, k, words[k], &found[k], &near))
            continue;
        return fail(m, err, "unknown %s '%.80s'%s%s%s", kr_word_kind_name(k), words[k],
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    m->family = (uint16_t)found[KR_WORD_FAMILY];
    m->cls = (uint8_t)found[KR_WORD_CLASS];
    m->origin = (uint8_t)found[KR_WORD_ORIGIN];
    m->rule = found[KR_WORD_RULE];
    for (size_t c = 0; c < N_CRITERIA; c++)
        if (m->memo[c])
            memset(m->memo[c], UNASKED, m->n_strings);
    return true;
}

static bool has_criterion(const struct kr_sigma_select *s, enum criterion c)
{
    const bool has[N_CRITERIA] = { s->kernel, s->family,     s->cls,      s->origin,   s->rule,
                                   s->op,     s->annotation, s->has_grid, s->has_block };

    return has[c];
}

static const char *glob_of(const struct kr_sigma_select *s, enum criterion c)
{
    return c == KERNEL ? s->kernel : c == OP ? s->op : s->annotation;
}

/* Makes the other two spellings of a name; each is made once. */
static bool spell(struct matcher *m, uint32_t name, struct kr_err *err)
{
    if (!m->normal[name])
        m->normal[name] = kr_kernel_name_normalise(kr_timeline_str(m->in->timeline, name), err);
    if (m->normal[name] && !m->brief[name])
        m->brief[name] = kr_kernel_name_short(m->normal[name], SHORT_NAME_MAX, err);
    return m->brief[name];
}

/* Compares one string with the entry's glob; the answer is kept for the sites that follow. */
static bool ask_glob(struct matcher *m, enum criterion c, uint32_t string, bool *yes,
                     struct kr_err *err)
{
    uint8_t *answer = &m->memo[c][string];

    if (*answer == UNASKED) {
        const char *glob = glob_of(&m->entry->select, c);
        bool hit = kr_glob_match(glob, kr_timeline_str(m->in->timeline, string));

        if (!hit && c == KERNEL) {
            if (!spell(m, string, err))
                return false;
            hit = kr_glob_match(glob, m->normal[string]) || kr_glob_match(glob, m->brief[string]);
        }
        *answer = hit ? YES : NO;
    }
    *yes = *answer == YES;
    return true;
}

static bool same_dims(const uint32_t a[3], const uint32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Whether one condition of the entry holds for a site. */
static bool ask(struct matcher *m, enum criterion c, size_t site_index, bool *yes,
                struct kr_err *err)
{
    const struct kr_site *site = &m->in->timeline->sites[site_index];
    const struct kr_tag *tag = &m->in->tags[site_index];

    switch (c) {
    case KERNEL:
        return ask_glob(m, c, site->name, yes, err);
    case OP:
        return ask_glob(m, c, site->op, yes, err);
    case ANNOTATION:
        return ask_glob(m, c, site->annotation, yes, err);
    case FAMILY:
        *yes = tag->family == m->family;
        break;
    case CLASS:
        *yes = tag->cls == m->cls;
        break;
    case ORIGIN:
        *yes = tag->origin == m->origin;
        break;
    case RULE:
        *yes = tag->rule == m->rule;
        break;
    case GRID:
        *yes = same_dims(site->grid, m->entry->select.grid);
        break;
    case BLOCK:
        *yes = same_dims(site->block, m->entry->select.block);
        break;
    case N_CRITERIA:
        break;
    }
    return true;
}

static bool matches(struct matcher *m, size_t site, bool *yes, struct kr_err *err)
{
    *yes = true;
    for (enum criterion c = KERNEL; *yes && c < N_CRITERIA; c++)
        if (has_criterion(&m->entry->select, c) && !ask(m, c, site, yes, err))
            return false;
    return true;
}

static void describe(const struct kr_sigma_select *s, enum criterion c, char *out, size_t size)
{
    const char *const words[] = { s->kernel, s->family, s->cls,       s->origin,
                                  s->rule,   s->op,     s->annotation };
    const uint32_t *dims = c == GRID ? s->grid : s->block;

    if (c < KR_COUNT(words))
        (void)snprintf(out, size, "%s '%s'", criterion_names[c], words[c]);
    else
        (void)snprintf(out, size, "%s %ux%ux%u", criterion_names[c], dims[0], dims[1], dims[2]);
}

/* Says why nothing matched: the first condition that no launch of the window meets by itself. */
static bool fail_no_match(struct matcher *m, bool outside, struct kr_err *err)
{
    const struct kr_account *account = m->in->account;

    if (outside)
        return fail(m, err, "it matches launches outside of the window only (see --window)");
    for (enum criterion c = KERNEL; c < N_CRITERIA; c++) {
        bool yes = false;
        char what[200];

        if (!has_criterion(&m->entry->select, c))
            continue;
        for (size_t i = 0; !yes && i < account->n_sites; i++)
            if (account->sites[i].count > 0 && !ask(m, c, i, &yes, err))
                return false;
        if (yes)
            continue;
        describe(&m->entry->select, c, what, sizeof what);
        return fail(m, err, "nothing in the window matches %s", what);
    }
    return fail(m, err, "no launch in the window meets all its conditions at once");
}

static bool select_entry(struct matcher *m, uint32_t index, struct kr_selection *out,
                         struct kr_err *err)
{
    const struct kr_stats *sites = m->in->account->sites;
    bool inside = false, outside = false;

    if (!resolve(m, &m->sigma->entries[index], err))
        return false;
    for (size_t i = 0; i < out->n_sites; i++) {
        bool yes;

        if (!matches(m, i, &yes, err))
            return false;
        if (!yes)
            continue;
        *(sites[i].count > 0 ? &inside : &outside) = true;
        if (out->owner[i] == KR_SELECT_NONE)
            out->owner[i] = index;
        else
            out->shadowed_ns[index] += sites[i].exclusive_ns;
    }
    return inside || fail_no_match(m, outside, err);
}

static void free_matcher(struct matcher *m)
{
    for (size_t i = 0; i < m->n_strings; i++) {
        if (m->normal)
            free(m->normal[i]);
        if (m->brief)
            free(m->brief[i]);
    }
    free(m->normal);
    free(m->brief);
    for (size_t c = 0; c < N_CRITERIA; c++)
        free(m->memo[c]);
}

static bool open_matcher(struct matcher *m, struct kr_err *err)
{
    static const enum criterion globs[] = { KERNEL, OP, ANNOTATION };

    m->n_strings = kr_strpool_count(m->in->timeline->strings);
    for (size_t i = 0; i < KR_COUNT(globs); i++) {
        m->memo[globs[i]] = kr_xcalloc(m->n_strings, 1, err);
        if (!m->memo[globs[i]])
            return false;
    }
    m->normal = kr_xcalloc(m->n_strings, sizeof *m->normal, err);
    if (!m->normal)
        return false;
    m->brief = kr_xcalloc(m->n_strings, sizeof *m->brief, err);
    return m->brief;
}

bool kr_select_sites(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                     struct kr_selection *out, struct kr_err *err)
{
    struct matcher m = { .in = in, .sigma = sigma };
    bool ok;

    *out = (struct kr_selection){ .n_sites = in->account->n_sites, .n_entries = sigma->n_entries };
    out->owner = kr_xcalloc(out->n_sites, sizeof *out->owner, err);
    if (!out->owner)
        return false;
    for (size_t i = 0; i < out->n_sites; i++)
        out->owner[i] = KR_SELECT_NONE;
    out->shadowed_ns = kr_xcalloc(out->n_entries, sizeof *out->shadowed_ns, err);
    ok = out->shadowed_ns && open_matcher(&m, err);
    for (uint32_t e = 0; ok && e < sigma->n_entries; e++)
        ok = select_entry(&m, e, out, err);
    free_matcher(&m);
    return ok;
}

void kr_selection_free(struct kr_selection *s)
{
    free(s->owner);
    free(s->shadowed_ns);
    *s = (struct kr_selection){ 0 };
}

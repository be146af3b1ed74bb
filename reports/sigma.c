#include "sigma.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "strict_json.h"

enum { ENTRIES_MAX = 4096, SAMPLES_MAX = 1000000 };

static const char *const file_keys[] = { "schema", "schema_version", "entries", "note", NULL };
static const char *const entry_keys[] = { "label", "select",   "sigma", "win_rate",
                                          "group", "evidence", "note",  NULL };
static const char *const select_keys[] = { "kernel", "family",     "class", "origin", "rule",
                                           "op",     "annotation", "grid",  "block",  NULL };
static const char *const range_keys[] = { "value", "lo", "hi", NULL };
static const char *const samples_keys[] = { "samples", NULL };
static const char *const rate_keys[] = { "won", "of", NULL };
static const char *const group_keys[] = { "launches_after", NULL };
static const char *const evidence_keys[] = { "device", "dtype",  "baseline", "correctness",
                                             "source", "shapes", NULL };

/* The speed-up whose remaining time is the mean of both; rounding never leads outside of them. */
static double middle(double lo, double hi)
{
    return fmin(fmax(2 / (1 / lo + 1 / hi), lo), hi);
}

static bool read_speedup(struct kr_doc *doc, const json_t *value, double *out, struct kr_err *err)
{
    double sigma;

    if (!kr_doc_number(doc, value, true, &sigma, err))
        return false;
    if (!(sigma > 0))
        return kr_doc_fail(doc, err, "a speed-up must be > 0, not %g", sigma);
    *out = sigma;
    return true;
}

/* One optional member of a range. */
static bool read_bound(struct kr_doc *doc, const json_t *range, const char *key, double *out,
                       struct kr_err *err)
{
    const json_t *value = json_object_get(range, key);
    bool ok;

    if (!value)
        return true;
    kr_doc_enter_key(doc, key);
    ok = read_speedup(doc, value, out, err);
    kr_doc_leave(doc);
    return ok;
}

static bool read_range(struct kr_doc *doc, const json_t *range, struct kr_sigma_entry *e,
                       struct kr_err *err)
{
    if (!kr_doc_check_keys(doc, range, "a range of speed-ups", range_keys, err))
        return false;
    if (!json_object_get(range, "lo") || !json_object_get(range, "hi"))
        return kr_doc_fail(doc, err, "a range needs \"lo\" and \"hi\"");
    if (!read_bound(doc, range, "lo", &e->lo, err) || !read_bound(doc, range, "hi", &e->hi, err))
        return false;
    e->sigma = middle(e->lo, e->hi);
    if (!read_bound(doc, range, "value", &e->sigma, err))
        return false;
    if (e->lo > e->hi)
        return kr_doc_fail(doc, err, "lo is %g, above hi, %g", e->lo, e->hi);
    if (e->sigma < e->lo || e->sigma > e->hi)
        return kr_doc_fail(doc, err, "value is %g, outside lo to hi, %g to %g", e->sigma, e->lo,
                           e->hi);
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return KR_COMPARE(x, y);
}

static void take_samples(struct kr_sigma_entry *e, double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, by_value);
    e->lo = samples[0];
    e->hi = samples[n - 1];
    e->sigma = middle(samples[(n - 1) / 2], samples[n / 2]);
    e->n_samples = n;
}

static bool read_samples(struct kr_doc *doc, const json_t *object, struct kr_sigma_entry *e,
                         struct kr_err *err)
{
    const json_t *list = json_object_get(object, "samples");
    size_t n = json_array_size(list);
    double *samples;
    bool ok = true;

    if (!kr_doc_check_keys(doc, object, "samples of a speed-up", samples_keys, err))
        return false;
    if (n == 0 || n > SAMPLES_MAX)
        return kr_doc_fail(doc, err, "\"samples\" must be a list of 1 to %d speed-ups",
                           SAMPLES_MAX);
    samples = kr_xcalloc(n, sizeof *samples, err);
    if (!samples)
        return false;
    kr_doc_enter_key(doc, "samples");
    for (size_t i = 0; ok && i < n; i++) {
        kr_doc_enter_index(doc, i);
        ok = read_speedup(doc, json_array_get(list, i), &samples[i], err);
        kr_doc_leave(doc);
    }
    kr_doc_leave(doc);
    if (ok)
        take_samples(e, samples, n);
    free(samples);
    return ok;
}

static bool read_sigma(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                       struct kr_err *err)
{
    if (json_object_get(value, "samples"))
        return read_samples(doc, value, e, err);
    if (json_is_object(value))
        return read_range(doc, value, e, err);
    if (!read_speedup(doc, value, &e->sigma, err))
        return false;
    e->lo = e->hi = e->sigma;
    return true;
}

/* A share, or the two counts that it comes from, which need no rounding. */
static bool read_win_rate(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                          struct kr_err *err)
{
    double rate;

    if (json_is_object(value)) {
        uint64_t won = UINT64_MAX, of = 0;

        if (!kr_doc_check_keys(doc, value, "a win rate", rate_keys, err) ||
            !kr_doc_uint(doc, value, "won", 0, UINT32_MAX, &won, err) ||
            !kr_doc_uint(doc, value, "of", 1, UINT32_MAX, &of, err))
            return false;
        if (won > of)
            return kr_doc_fail(doc, err, "a win rate needs \"won\" and \"of\", won <= of");
        rate = (double)won / (double)of;
    } else if (!kr_doc_number(doc, value, false, &rate, err)) {
        return false;
    }
    if (!(rate >= 0 && rate <= 1))
        return kr_doc_fail(doc, err, "a win rate is a fraction from 0 to 1, not %g", rate);
    e->win_rate = rate;
    e->has_win_rate = true;
    return true;
}

/* "group": true, or {"launches_after": N}; false is as good as absent. */
static bool read_group(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                       struct kr_err *err)
{
    uint64_t after = 0;

    if (json_is_boolean(value)) {
        e->is_group = json_is_true(value);
        return true;
    }
    if (!json_is_object(value))
        return kr_doc_fail(doc, err, "\"group\" must be true or {\"launches_after\": N}");
    if (!kr_doc_check_keys(doc, value, "a group", group_keys, err) ||
        !kr_doc_uint(doc, value, "launches_after", 1, UINT32_MAX, &after, err))
        return false;
    e->is_group = true;
    e->launches_after = (uint32_t)after;
    return true;
}

static bool read_dims(struct kr_doc *doc, const json_t *value, uint32_t dims[3], struct kr_err *err)
{
    size_t n = json_array_size(value);

    if (n < 1 || n > 3)
        return kr_doc_fail(doc, err, "expected a list of 1 to 3 whole numbers");
    for (size_t i = 0; i < 3; i++) {
        const json_t *dim = json_array_get(value, i);
        json_int_t size = dim ? json_integer_value(dim) : 1;

        if (size < 1 || size > UINT32_MAX)
            return kr_doc_fail(doc, err, "expected a list of 1 to 3 whole numbers >= 1");
        dims[i] = (uint32_t)size;
    }
    return true;
}

static bool read_geometry(struct kr_doc *doc, const json_t *select, const char *key,
                          uint32_t dims[3], bool *has, struct kr_err *err)
{
    const json_t *value = json_object_get(select, key);
    bool ok;

    if (!value)
        return true;
    kr_doc_enter_key(doc, key);
    ok = read_dims(doc, value, dims, err);
    kr_doc_leave(doc);
    *has = ok;
    return ok;
}

static bool read_select(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                        struct kr_err *err)
{
    struct kr_sigma_select *s = &e->select;

    if (!kr_doc_check_keys(doc, value, "a selector", select_keys, err))
        return false;
    if (json_object_size(value) == 0)
        return kr_doc_fail(doc, err,
                           "the selector is empty; for everything, say "
                           "{\"kernel\": \"*\"}");
    return kr_doc_string(doc, value, "kernel", &s->kernel, err) &&
           kr_doc_string(doc, value, "family", &s->family, err) &&
           kr_doc_string(doc, value, "class", &s->cls, err) &&
           kr_doc_string(doc, value, "origin", &s->origin, err) &&
           kr_doc_string(doc, value, "rule", &s->rule, err) &&
           kr_doc_string(doc, value, "op", &s->op, err) &&
           kr_doc_string(doc, value, "annotation", &s->annotation, err) &&
           read_geometry(doc, value, "grid", s->grid, &s->has_grid, err) &&
           read_geometry(doc, value, "block", s->block, &s->has_block, err);
}

static bool read_evidence(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                          struct kr_err *err)
{
    struct kr_sigma_evidence *v = &e->evidence;

    return kr_doc_check_keys(doc, value, "evidence", evidence_keys, err) &&
           kr_doc_string(doc, value, "device", &v->device, err) &&
           kr_doc_string(doc, value, "dtype", &v->dtype, err) &&
           kr_doc_string(doc, value, "baseline", &v->baseline, err) &&
           kr_doc_string(doc, value, "correctness", &v->correctness, err) &&
           kr_doc_string(doc, value, "source", &v->source, err) &&
           kr_doc_string(doc, value, "shapes", &v->shapes, err);
}

/* "family=norm grid=132x1x1"; long selectors are cut. */
static bool make_label(struct kr_sigma_entry *e, struct kr_err *err)
{
    const struct kr_sigma_select *s = &e->select;
    const struct {
        const char *key, *value;
    } words[] = { { "kernel", s->kernel },        { "family", s->family }, { "class", s->cls },
                  { "origin", s->origin },        { "rule", s->rule },     { "op", s->op },
                  { "annotation", s->annotation } };
    char text[160] = "";
    size_t used = 0;

    for (size_t i = 0; i < KR_COUNT(words) && used < sizeof text; i++)
        if (words[i].value)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "",
                                     words[i].key, words[i].value);
    if (s->has_grid && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sgrid=%ux%ux%u",
                                 used ? " " : "", s->grid[0], s->grid[1], s->grid[2]);
    if (s->has_block && used < sizeof text)
        (void)snprintf(text + used, sizeof text - used, "%sblock=%ux%ux%u", used ? " " : "",
                       s->block[0], s->block[1], s->block[2]);
    e->label = kr_xstrndup(text, strlen(text), err);
    return e->label;
}

typedef bool member_reader(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                           struct kr_err *err);

static const struct {
    const char *key;
    member_reader *read;
    bool needed;
} members[] = {
    { "select", read_select, true },      { "sigma", read_sigma, true },
    { "win_rate", read_win_rate, false }, { "group", read_group, false },
    { "evidence", read_evidence, false },
};

static bool read_entry(struct kr_doc *doc, const json_t *value, struct kr_sigma_entry *e,
                       struct kr_err *err)
{
    e->win_rate = 1;
    e->file = kr_xstrndup(doc->name, strlen(doc->name), err);
    if (!e->file || !kr_doc_check_keys(doc, value, "an entry", entry_keys, err) ||
        !kr_doc_string(doc, value, "label", &e->label, err))
        return false;
    for (size_t i = 0; i < KR_COUNT(members); i++) {
        const json_t *member = json_object_get(value, members[i].key);
        bool ok;

        if (!member && members[i].needed)
            return kr_doc_fail(doc, err, "an entry needs \"%s\"", members[i].key);
        if (!member)
            continue;
        kr_doc_enter_key(doc, members[i].key);
        ok = members[i].read(doc, member, e, err);
        kr_doc_leave(doc);
        if (!ok)
            return false;
    }
    return e->label || make_label(e, err);
}

static bool number_lines(const struct kr_doc *doc, struct kr_sigma_file *file, struct kr_err *err)
{
    struct kr_json_place *places = kr_doc_places(doc, NULL, "entries", file->n_entries, err);

    if (!places)
        return false;
    for (size_t i = 0; i < file->n_entries; i++)
        file->entries[i].line = places[i].line;
    free(places);
    return true;
}

static bool read_entries(struct kr_doc *doc, struct kr_sigma_file *file, struct kr_err *err)
{
    const json_t *list = json_object_get(doc->root, "entries");
    size_t n = json_array_size(list);
    bool ok = true;

    kr_doc_enter_key(doc, "entries");
    if (n == 0 || n > ENTRIES_MAX) {
        ok = kr_doc_fail(doc, err, "\"entries\" must be a list of 1 to %d entries", ENTRIES_MAX);
    } else {
        file->entries = kr_xcalloc(n, sizeof *file->entries, err);
        ok = file->entries;
    }
    for (size_t i = 0; ok && i < n; i++) {
        file->n_entries = i + 1;
        kr_doc_enter_index(doc, i);
        ok = read_entry(doc, json_array_get(list, i), &file->entries[i], err);
        kr_doc_leave(doc);
    }
    kr_doc_leave(doc);
    return ok && number_lines(doc, file, err);
}

static bool read_doc(struct kr_doc *doc, struct kr_sigma_file *out, struct kr_err *err)
{
    out->name = kr_xstrndup(doc->name, strlen(doc->name), err);
    if (out->name && kr_doc_check_keys(doc, doc->root, "a sigma file", file_keys, err) &&
        kr_doc_check_schema(doc, "kreach.sigma", err) && read_entries(doc, out, err))
        return true;
    kr_sigma_free(out);
    return false;
}

bool kr_sigma_read(const char *path, struct kr_sigma_file *out, struct kr_err *err)
{
    struct kr_doc doc;
    bool ok;

    *out = (struct kr_sigma_file){ 0 };
    ok = kr_doc_open(&doc, path, err) && read_doc(&doc, out, err);
    kr_doc_close(&doc);
    return ok;
}

bool kr_sigma_read_mem(const char *name, const char *text, size_t len, struct kr_sigma_file *out,
                       struct kr_err *err)
{
    struct kr_doc doc;
    bool ok;

    *out = (struct kr_sigma_file){ 0 };
    ok = kr_doc_open_mem(&doc, name, text, len, err) && read_doc(&doc, out, err);
    kr_doc_close(&doc);
    return ok;
}

static void free_entry(struct kr_sigma_entry *e)
{
    char *const owned[] = { e->label,
                            e->file,
                            e->select.kernel,
                            e->select.family,
                            e->select.cls,
                            e->select.origin,
                            e->select.rule,
                            e->select.op,
                            e->select.annotation,
                            e->evidence.device,
                            e->evidence.dtype,
                            e->evidence.baseline,
                            e->evidence.correctness,
                            e->evidence.source,
                            e->evidence.shapes };

    for (size_t i = 0; i < KR_COUNT(owned); i++)
        free(owned[i]);
}

void kr_sigma_free(struct kr_sigma_file *file)
{
    for (size_t i = 0; i < file->n_entries; i++)
        free_entry(&file->entries[i]);
    free(file->entries);
    free(file->name);
    *file = (struct kr_sigma_file){ 0 };
}

bool kr_sigma_append(struct kr_sigma_file *all, struct kr_sigma_file *more, struct kr_err *err)
{
    size_t name_len = strlen(all->name) + strlen(more->name) + 3;
    char *name = kr_xcalloc(name_len, 1, err);
    size_t cap = all->n_entries;

    if (!name)
        return false;
    if (!kr_grow(&all->entries, &cap, all->n_entries + more->n_entries, sizeof *all->entries,
                 ENTRIES_MAX, err)) {
        free(name);
        return false;
    }
    memcpy(all->entries + all->n_entries, more->entries, more->n_entries * sizeof *more->entries);
    (void)snprintf(name, name_len, "%s, %s", all->name, more->name);
    free(all->name);
    all->name = name;
    all->n_entries += more->n_entries;
    more->n_entries = 0; /* moved: only the array itself is left to free */
    kr_sigma_free(more);
    return true;
}

void kr_sigma_evidence_missing(const struct kr_sigma_entry *entry, char *out, size_t size)
{
    const struct kr_sigma_evidence *v = &entry->evidence;
    const bool has[] = {
        v->device,      v->dtype,  v->baseline,
        v->correctness, v->source, v->shapes || entry->select.has_grid || entry->select.has_block
    };
    size_t used = 0;

    if (size > 0)
        out[0] = '\0';
    for (size_t i = 0; i < KR_COUNT(has) && used < size; i++)
        if (!has[i])
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     evidence_keys[i]);
}

#include "shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify.h"
#include "mem.h"
#include "strict_json.h"
#include "text.h"
#include "words.h"

enum { SHARES_MAX = 100000 };

/* Published shares are decimal; only the sum in binary needs forgiving. */
#define SUM_SLACK 1e-9

static const char *const file_keys[] = { "schema", "schema_version", "of",   "busy_frac",
                                         "device", "shares",         "note", NULL };
static const char *const share_keys[] = { "name",   "frac",  "op",   "annotation", "family",
                                          "origin", "class", "note", NULL };

/* One share while the run is built. */
struct share {
    double frac; /* of the wall */
    uint32_t site;
    uint32_t family, origin, cls; /* UINT32_MAX = not given */
};

struct builder {
    struct kr_doc *doc;
    const struct kr_rules *rules;
    struct kr_run *run;
    struct share *shares;
    size_t n_shares;
    double scale;     /* from the file's fractions to fractions of the wall */
    double busy_frac; /* of the wall */
    uint32_t track;
};

static bool read_fraction(struct kr_doc *doc, const json_t *object, const char *key, double *out,
                          struct kr_err *err)
{
    const json_t *value = json_object_get(object, key);
    bool ok;

    if (!value)
        return true;
    kr_doc_enter_key(doc, key);
    ok = kr_doc_number(doc, value, false, out, err);
    if (ok && !(*out >= 0 && *out <= 1))
        ok = kr_doc_fail(doc, err, "'%s' is a fraction from 0 to 1, not %g", key, *out);
    kr_doc_leave(doc);
    return ok;
}

/* Reads an optional string into the timeline's pool; 0 when absent. */
static bool read_name(struct builder *b, const json_t *object, const char *key, uint32_t *out,
                      struct kr_err *err)
{
    char *text = NULL;

    if (!kr_doc_string(b->doc, object, key, &text, err))
        return false;
    if (text)
        *out = kr_strpool_intern(b->run->timeline->strings, text, strlen(text), err);
    free(text);
    return *out != KR_STR_NONE;
}

static bool read_word(struct builder *b, const json_t *object, enum kr_word_kind kind,
                      uint32_t *out, struct kr_err *err)
{
    const char *key = kr_word_kind_name(kind), *near;
    char *word = NULL;
    bool ok;

    *out = UINT32_MAX;
    if (!kr_doc_string(b->doc, object, key, &word, err))
        return false;
    ok = !word || kr_word_find(b->rules, kind, word, out, &near);
    if (!ok)
        kr_doc_fail_key(b->doc, key, err, "unknown %s '%.80s'%s%s%s", key, word,
                        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(word);
    return ok;
}

static bool read_share(struct builder *b, const json_t *object, struct share *s, struct kr_err *err)
{
    struct kr_timeline *t = b->run->timeline;
    struct kr_site site = { .kind = KR_KERNEL };
    double frac = -1;
    size_t known = t->n_sites;

    if (!kr_doc_check_keys(b->doc, object, "a share", share_keys, err) ||
        !read_name(b, object, "name", &site.name, err) ||
        !read_name(b, object, "op", &site.op, err) ||
        !read_name(b, object, "annotation", &site.annotation, err) ||
        !read_fraction(b->doc, object, "frac", &frac, err) ||
        !read_word(b, object, KR_WORD_FAMILY, &s->family, err) ||
        !read_word(b, object, KR_WORD_ORIGIN, &s->origin, err) ||
        !read_word(b, object, KR_WORD_CLASS, &s->cls, err))
        return false;
    if (site.name == 0 || frac < 0)
        return kr_doc_fail(b->doc, err, "a share needs \"name\" and \"frac\"");
    s->frac = frac * b->scale;
    s->site = kr_timeline_site(t, &site, err);
    if (s->site == UINT32_MAX)
        return false;
    if (s->site < known)
        return kr_doc_fail(b->doc, err,
                           "'%.80s' is listed twice; give an \"annotation\" to tell "
                           "phases apart",
                           kr_timeline_str(t, site.name));
    return true;
}

/* "of" and "busy_frac" say what the fractions are of, and how much of the wall is busy. */
static bool read_base(struct builder *b, struct kr_err *err)
{
    const json_t *root = b->doc->root;
    bool has_busy = json_object_get(root, "busy_frac"), of_busy, known;
    char *of = NULL;

    b->busy_frac = 1;
    if (!read_fraction(b->doc, root, "busy_frac", &b->busy_frac, err) ||
        !kr_doc_string(b->doc, root, "of", &of, err))
        return false;
    of_busy = of && strcmp(of, "busy") == 0;
    known = !of || of_busy || strcmp(of, "wall") == 0;
    free(of);
    if (!known)
        return kr_doc_fail(b->doc, err, "\"of\" must be \"wall\" or \"busy\"");
    if (of_busy && !has_busy)
        return kr_doc_fail(b->doc, err,
                           "shares of busy time need \"busy_frac\", the busy share of "
                           "the wall");
    b->scale = of_busy ? b->busy_frac : 1;
    return true;
}

/* What the listed shares leave of the busy time is work too. */
static bool add_rest(struct builder *b, double sum, struct kr_err *err)
{
    struct kr_site site = { .kind = KR_KERNEL };
    struct share *rest = &b->shares[b->n_shares];

    if (sum > b->busy_frac + SUM_SLACK)
        return kr_doc_fail(b->doc, err,
                           "the shares add to %.6g, more than the whole; shares of several phases "
                           "need one file for each, or weights",
                           sum / b->scale);
    if (b->busy_frac - sum <= SUM_SLACK)
        return true;
    site.name =
        kr_strpool_intern(b->run->timeline->strings, KR_SHARES_REST, strlen(KR_SHARES_REST), err);
    if (site.name == KR_STR_NONE)
        return false;
    *rest = (struct share){
        .frac = b->busy_frac - sum, .family = 0, .origin = 0, .cls = KR_UNCLASSIFIED
    };
    rest->site = kr_timeline_site(b->run->timeline, &site, err);
    b->n_shares++;
    return rest->site != UINT32_MAX;
}

static bool read_shares(struct builder *b, struct kr_err *err)
{
    const json_t *list = json_object_get(b->doc->root, "shares");
    size_t n = json_array_size(list);
    double sum = 0;
    bool ok;

    kr_doc_enter_key(b->doc, "shares");
    if (n == 0 || n > SHARES_MAX)
        return kr_doc_fail(b->doc, err, "\"shares\" must be a list of 1 to %d shares", SHARES_MAX);
    b->shares = kr_xcalloc(n + 1, sizeof *b->shares, err);
    ok = b->shares;
    for (size_t i = 0; ok && i < n; i++) {
        kr_doc_enter_index(b->doc, i);
        ok = read_share(b, json_array_get(list, i), &b->shares[i], err);
        kr_doc_leave(b->doc);
        sum += b->shares[i].frac;
    }
    b->n_shares = n;
    ok = ok && add_rest(b, sum, err);
    kr_doc_leave(b->doc);
    return ok;
}

/* Edges, not lengths, are rounded, so that the error of a sum is that of one share. */
static bool add_events(struct builder *b, struct kr_err *err)
{
    double sum = 0;
    int64_t at = 0;

    for (size_t i = 0; i < b->n_shares; i++) {
        int64_t end;

        sum += b->shares[i].frac;
        end = llround(fmin(sum, 1) * (double)KR_SHARES_WALL_NS);
        if (!kr_timeline_add_event(b->run->timeline,
                                   (struct kr_event){ .start_ns = at,
                                                      .dur_ns = (uint64_t)(end - at),
                                                      .site = b->shares[i].site,
                                                      .track = (uint16_t)b->track,
                                                      .lead_ns = KR_LEAD_UNKNOWN,
                                                      .kind = KR_KERNEL },
                                   err))
            return false;
        at = end;
    }
    return true;
}

/* What the file says of a share goes before what the rules make of its name. */
static void apply_words(const struct builder *b)
{
    for (size_t i = 0; i < b->n_shares; i++) {
        const struct share *s = &b->shares[i];
        struct kr_tag *tag = &b->run->tags[s->site];

        if (s->origin != UINT32_MAX)
            tag->origin = (uint8_t)s->origin;
        if (s->family != UINT32_MAX)
            tag->family = (uint16_t)s->family;
        if (s->family != UINT32_MAX || s->origin != UINT32_MAX) {
            tag->cls = (uint8_t)kr_rules_class(b->rules, tag->family, tag->origin);
            tag->rule = KR_RULE_NONE;
            tag->flags = 0;
        }
        if (s->cls != UINT32_MAX)
            tag->cls = (uint8_t)s->cls;
    }
}

static bool start_run(struct builder *b, struct kr_err *err)
{
    struct kr_timeline *t = kr_timeline_new(err);

    b->run->timeline = t;
    if (!t)
        return false;
    t->source.format = "kreach-shares";
    t->source.compression = "none";
    t->source.input_bytes = t->source.text_bytes = b->doc->len;
    t->source.path = kr_xstrndup(b->doc->name, strlen(b->doc->name), err);
    if (!t->source.path || kr_timeline_device(t, 0, err) == UINT32_MAX ||
        !read_name(b, b->doc->root, "device", &t->devices[0].name, err))
        return false;
    b->track = kr_timeline_track(t, (struct kr_track){ 0 }, err);
    return b->track != UINT32_MAX;
}

static bool finish_run(struct builder *b, struct kr_err *err)
{
    struct kr_run *run = b->run;

    if (!add_events(b, err) || !kr_timeline_finish(run->timeline, err) ||
        !kr_classify(run->timeline, b->rules, &run->tags, err))
        return false;
    apply_words(b);
    run->window = (struct kr_window){ .kind = KR_WINDOW_ALL, .end_ns = KR_SHARES_WALL_NS };
    (void)snprintf(run->window.how, sizeof run->window.how,
                   "published shares, of a whole of %s that is made up",
                   kr_text_duration((double)KR_SHARES_WALL_NS).s);
    return kr_account_make(run->timeline, run->tags, b->rules, &run->window, &run->account, err);
}

static bool read_run(struct kr_doc *doc, const struct kr_rules *rules, struct kr_run *out,
                     struct kr_err *err)
{
    struct builder b = { .doc = doc, .rules = rules, .run = out };
    bool ok = kr_doc_check_keys(doc, doc->root, "a share list", file_keys, err) &&
              kr_doc_check_schema(doc, "kreach.shares", err) && start_run(&b, err) &&
              read_base(&b, err) && read_shares(&b, err) && finish_run(&b, err);

    free(b.shares);
    return ok;
}

bool kr_shares_read(const char *path, const struct kr_rules *rules, struct kr_run *out,
                    struct kr_err *err)
{
    struct kr_doc doc;
    bool ok = kr_doc_open(&doc, path, err) && read_run(&doc, rules, out, err);

    kr_doc_close(&doc);
    return ok;
}

bool kr_shares_read_mem(const char *name, const char *text, size_t len,
                        const struct kr_rules *rules, struct kr_run *out, struct kr_err *err)
{
    struct kr_doc doc;
    bool ok = kr_doc_open_mem(&doc, name, text, len, err) && read_run(&doc, rules, out, err);

    kr_doc_close(&doc);
    return ok;
}

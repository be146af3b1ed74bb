#include "classify.h"

#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "mem.h"
#include "peaks.h"

/*
 * A kernel that reaches 30 % of neither peak is suspect. Library kernels on shapes that fill the
 * device reach 60..90 % of one of them; halving that for awkward shapes, and again a little for
 * boost clocks and power limits, leaves 30 %. The best launch counts, so that a slow clock or a
 * busy neighbour accuses no one.
 */
static const double SUSPECT_FRAC = 0.30;

/* Below this, launch latency and the last wave decide the duration, not the rate. */
#define SUSPECT_MIN_NS UINT64_C(5000)

/* Families whose recorded shapes say how much arithmetic their kernels do. */
static const char *const rated_families[] = { "gemm", "gemv", "grouped_gemm", "conv", "attention" };

struct best {
    uint64_t dur_ns; /* shortest launch; UINT64_MAX = none */
    uint16_t track;  /* where it ran */
};

struct classifying {
    const struct kr_timeline *t;
    const struct kr_rules *rules;
    struct kr_tag *tags;
    bool *is_rated; /* by family */
};

static int compare_subjects(const void *pa, const void *pb, void *arg)
{
    const struct kr_timeline *t = arg;
    const struct kr_site *a = &t->sites[*(const uint32_t *)pa];
    const struct kr_site *b = &t->sites[*(const uint32_t *)pb];

    if (a->name != b->name)
        return KR_COMPARE(a->name, b->name);
    if (a->op != b->op)
        return KR_COMPARE(a->op, b->op);
    if (a->annotation != b->annotation)
        return KR_COMPARE(a->annotation, b->annotation);
    return KR_COMPARE(a->kind, b->kind);
}

static bool match_site(const struct classifying *c, uint32_t index, struct kr_err *err)
{
    const struct kr_site *site = &c->t->sites[index];
    const struct kr_subject subject = { .name = kr_timeline_str(c->t, site->name),
                                        .op = kr_timeline_str(c->t, site->op),
                                        .annotation = kr_timeline_str(c->t, site->annotation),
                                        .kind = (enum kr_kind)site->kind };

    return kr_rules_match(c->rules, &subject, &c->tags[index], err);
}

/* Sites that look the same to the rules stand side by side and are matched once. */
static bool match_sites(const struct classifying *c, struct kr_err *err)
{
    const struct kr_timeline *t = c->t;
    uint32_t *order = kr_xcalloc(t->n_sites, sizeof *order, err);
    bool done = order != NULL;

    for (uint32_t i = 0; done && i < t->n_sites; i++)
        order[i] = i;
    if (done)
        qsort_r(order, t->n_sites, sizeof *order, compare_subjects, (void *)(uintptr_t)t);
    for (size_t i = 0; done && i < t->n_sites; i++) {
        if (i > 0 && compare_subjects(&order[i - 1], &order[i], (void *)(uintptr_t)t) == 0)
            c->tags[order[i]] = c->tags[order[i - 1]];
        else
            done = match_site(c, order[i], err);
    }
    free(order);
    return done;
}

/* A copy within device memory: read once, written once. */
static bool is_device_copy(const struct kr_timeline *t, const struct kr_site *site)
{
    return site->kind == KR_MEMCPY && site->bytes &&
           strstr(kr_timeline_str(t, site->name), "DtoD") != NULL;
}

static bool may_be_suspect(const struct classifying *c, uint32_t index)
{
    const struct kr_site *site = &c->t->sites[index];
    const struct kr_tag *tag = &c->tags[index];

    if (is_device_copy(c->t, site))
        return true;
    return site->work && tag->cls == KR_OPTIMAL && c->is_rated[tag->family] &&
           !(tag->flags & KR_FLAG_HELPER);
}

/* The larger share of a peak that a site's best launch reaches; 1 when it cannot be known. */
static double reached_frac(const struct classifying *c, uint32_t index, const struct best *best)
{
    const struct kr_timeline *t = c->t;
    const struct kr_site *site = &t->sites[index];
    const struct kr_work *work = &t->works[site->work];
    const struct kr_device *device = &t->devices[t->tracks[best->track].device];
    const struct kr_peaks *peaks = kr_peaks_find(kr_timeline_str(t, device->name));
    const double seconds = (double)best->dur_ns * 1e-9;
    enum kr_precision precision;
    double flop_frac;
    double bytes_frac;

    if (!peaks)
        return 1;
    if (is_device_copy(t, site))
        return 2 * (double)site->bytes / seconds / peaks->bytes;
    if (!kr_peaks_precision(kr_timeline_str(t, work->dtype), &precision) ||
        !(peaks->known & 1u << precision))
        return 1;
    flop_frac = work->flop / seconds / peaks->flop[precision];
    bytes_frac = work->bytes / seconds / peaks->bytes;
    return flop_frac > bytes_frac ? flop_frac : bytes_frac;
}

static void find_best(const struct kr_timeline *t, struct best *best)
{
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (e->dur_ns < best[e->site].dur_ns)
            best[e->site] = (struct best){ e->dur_ns, e->track };
    }
}

static bool flag_suspects(const struct classifying *c, struct kr_err *err)
{
    const struct kr_timeline *t = c->t;
    struct best *best;
    uint32_t first = 0;

    while (first < t->n_sites && !may_be_suspect(c, first))
        first++;
    if (first == t->n_sites)
        return true;
    best = kr_xcalloc(t->n_sites, sizeof *best, err);
    if (!best)
        return false;
    for (size_t i = 0; i < t->n_sites; i++)
        best[i].dur_ns = UINT64_MAX;
    find_best(t, best);
    for (uint32_t i = first; i < t->n_sites; i++) {
        if (best[i].dur_ns == UINT64_MAX || best[i].dur_ns < SUSPECT_MIN_NS ||
            !may_be_suspect(c, i))
            continue;
        if (reached_frac(c, i, &best[i]) < SUSPECT_FRAC)
            c->tags[i].flags |= KR_FLAG_SUSPECT;
    }
    free(best);
    return true;
}

bool kr_classify(const struct kr_timeline *t, const struct kr_rules *rules,
                 struct kr_tag **out_tags, struct kr_err *err)
{
    struct classifying c = { .t = t, .rules = rules };
    bool done;

    c.tags = kr_xcalloc(t->n_sites, sizeof *c.tags, err);
    c.is_rated = kr_families_mark(rules, rated_families, KR_COUNT(rated_families), err);
    done = c.tags && c.is_rated && match_sites(&c, err) && flag_suspects(&c, err);
    free(c.is_rated);
    if (!done) {
        free(c.tags);
        return kr_wrap(err, "classifying");
    }
    *out_tags = c.tags;
    return true;
}

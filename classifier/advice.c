#include "advice.h"

#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "kernel_name.h"
#include "mem.h"

/* Advice that reaches less than this share of the wall is not given [1/wall]. */
enum { MIN_WALL = 100 };
/* A graph replaces launches only where kernels are short: mean at most this. */
#define GRAPH_KERNEL_NS UINT64_C(50000)
/* Launches looked back on from an rsqrt for the mean and the square that make it a norm. */
enum { NORM_BACK = 6, NORM_AFTER = 3 };

/* What a kernel's name tells, found once for each name. */
enum name_fact {
    NAME_KNOWN = 1 << 0,
    NAME_FUSED_OPTIMIZER = 1 << 1,
    NAME_LAYOUT = 1 << 2,
    NAME_FP32_SIMT = 1 << 3,
    NAME_COPY = 1 << 4,
    NAME_DTOD = 1 << 5,
    NAME_PAGEABLE = 1 << 6,
    NAME_SOFTMAX = 1 << 7,
    NAME_POW = 1 << 8,
    NAME_MEAN = 1 << 9,
    NAME_RSQRT = 1 << 10,
    NAME_MUL = 1 << 11,
    NAME_TENSOROP = 1 << 12,
    NAME_ODD_ALIGNED = 1 << 13,
};

static const struct {
    const char *part;
    enum name_fact fact;
} name_parts[] = {
    { "FusedAdam", NAME_FUSED_OPTIMIZER },
    { "FusedSgd", NAME_FUSED_OPTIMIZER },
    { "FusedAdagrad", NAME_FUSED_OPTIMIZER },
    { "FusedOptimizer", NAME_FUSED_OPTIMIZER },
    { "AdamFunctor", NAME_FUSED_OPTIMIZER },
    { "LAMB", NAME_FUSED_OPTIMIZER },
    { "SGDFunctor", NAME_FUSED_OPTIMIZER },
    { "nchwToNhwc", NAME_LAYOUT },
    { "nhwcToNchw", NAME_LAYOUT },
    { "ampere_sgemm", NAME_FP32_SIMT },
    { "simt_sgemm", NAME_FP32_SIMT },
    { "f32f32_f32f32", NAME_FP32_SIMT },
    { "implicit_convolve_sgemm", NAME_FP32_SIMT },
    { "_scudnn_", NAME_FP32_SIMT },
    { "copy_kernel_cuda", NAME_COPY },
    { "DtoD", NAME_DTOD },
    { "Pageable", NAME_PAGEABLE },
    { "softmax", NAME_SOFTMAX },
    { "SoftMax", NAME_SOFTMAX },
    { "pow_tensor_scalar", NAME_POW },
    { "MeanOps", NAME_MEAN },
    { "rsqrt_kernel", NAME_RSQRT },
    { "MulFunctor", NAME_MUL },
    { "tensorop", NAME_TENSOROP },
    { "_align1>", NAME_ODD_ALIGNED },
    { "_align2>", NAME_ODD_ALIGNED },
};

/* Families that torch.compile fuses with their neighbours. */
static const char *const fusable_families[] = { "elementwise", "copy", "norm",   "softmax",
                                                "reduction",   "loss", "random", "fill" };

/* How many launches of a site are of a pattern, in the whole timeline. */
struct credit {
    uint64_t launches, norm, chain;
};

struct advising {
    const struct kr_timeline *t;
    const struct kr_tag *tags;
    const struct kr_rules *rules;
    const struct kr_account *account;
    uint16_t *facts;        /* by string id: enum name_fact */
    bool *is_fusable;       /* by family */
    struct credit *credits; /* by site */
    bool tensor_cores;      /* every device is known to have TF32 */
    bool attention_unfused;
};

static const char *text_of(const struct advising *a, uint32_t id)
{
    return kr_timeline_str(a->t, id);
}

static uint16_t facts_in(const char *text)
{
    unsigned facts = 0;

    for (size_t i = 0; i < KR_COUNT(name_parts); i++) {
        if (strstr(text, name_parts[i].part))
            facts |= name_parts[i].fact;
    }
    return (uint16_t)facts;
}

/* As written and, since some recorders write mangled names, as normalised. */
static unsigned facts_of(const struct advising *a, size_t site)
{
    const uint32_t name = a->t->sites[site].name;
    struct kr_err no_memory;
    char *normalised;

    if (a->facts[name] & NAME_KNOWN)
        return a->facts[name];
    normalised = kr_kernel_name_normalise(text_of(a, name), &no_memory);
    a->facts[name] = (uint16_t)(NAME_KNOWN | facts_in(text_of(a, name)) |
                                (normalised ? facts_in(normalised) : 0));
    free(normalised);
    return a->facts[name];
}

static bool has_op(const struct advising *a, size_t site, const char *op)
{
    return strcmp(text_of(a, a->t->sites[site].op), op) == 0;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The kinds of advice: does a site fall under it? */

static bool is_unfused_optimizer(const struct advising *a, size_t site)
{
    const struct kr_site *s = &a->t->sites[site];

    return starts_with(text_of(a, s->annotation), "Optimizer.step#") &&
           !(facts_of(a, site) & NAME_FUSED_OPTIMIZER) &&
           !starts_with(text_of(a, s->op), "aten::_fused_") && s->kind == KR_KERNEL &&
           a->tags[site].origin == KR_ORIGIN_FRAMEWORK;
}

static bool is_layout(const struct advising *a, size_t site)
{
    return (facts_of(a, site) & NAME_LAYOUT) != 0;
}

static bool is_fp32_without_tensor_cores(const struct advising *a, size_t site)
{
    return a->tensor_cores && facts_of(a, site) & NAME_FP32_SIMT;
}

/* CUTLASS names the elements that each access loads: tensor cores want 8 of 16 bits. */
static bool is_odd_aligned(const struct advising *a, size_t site)
{
    const unsigned both = NAME_TENSOROP | NAME_ODD_ALIGNED;

    return (facts_of(a, site) & both) == both;
}

static bool is_bmm(const struct advising *a, size_t site)
{
    return has_op(a, site, "aten::bmm") || has_op(a, site, "aten::baddbmm");
}

static bool is_softmax(const struct advising *a, size_t site)
{
    return facts_of(a, site) & NAME_SOFTMAX &&
           (has_op(a, site, "aten::_softmax") || has_op(a, site, "aten::_softmax_backward_data"));
}

static bool is_unfused_attention(const struct advising *a, size_t site)
{
    return a->attention_unfused && (is_bmm(a, site) || is_softmax(a, site));
}

static bool is_copy(const struct advising *a, size_t site)
{
    const bool memcpy_kind = a->t->sites[site].kind == KR_MEMCPY;

    return (facts_of(a, site) & (memcpy_kind ? NAME_DTOD : NAME_COPY)) != 0;
}

static bool is_pageable(const struct advising *a, size_t site)
{
    return a->t->sites[site].kind == KR_MEMCPY && facts_of(a, site) & NAME_PAGEABLE;
}

static bool is_norm_chain(const struct advising *a, size_t site)
{
    return a->credits[site].norm > 0;
}

static bool is_fusable_chain(const struct advising *a, size_t site)
{
    return a->credits[site].chain > 0;
}

/* Launches of the site that belong to the pattern; only these are counted. */
static uint64_t all_launches(const struct credit *c)
{
    return c->launches;
}

static uint64_t norm_launches(const struct credit *c)
{
    return c->norm;
}

static uint64_t chain_launches(const struct credit *c)
{
    return c->chain;
}

static const struct {
    const char *id;
    bool (*applies)(const struct advising *a, size_t site);
    uint64_t (*launches)(const struct credit *c);
    const char *text;
} kinds[] = {
    { "fused_optimizer", is_unfused_optimizer, all_launches,
      "the optimizer step is many passes over all parameters: construct it with fused=True" },
    { "channels_last", is_layout, all_launches,
      "convolutions convert layouts: run model and input in memory_format=torch.channels_last" },
    { "tf32", is_fp32_without_tensor_cores, all_launches,
      "float32 matrix products run without tensor cores: "
      "torch.set_float32_matmul_precision('high'), or bfloat16" },
    { "align_shapes", is_odd_aligned, all_launches,
      "matrix products load one or two elements at a time because a dimension is odd: "
      "pad it (vocabulary, features, tables) to a multiple of 8" },
    { "sdpa", is_unfused_attention, all_launches,
      "attention runs as bmm, softmax, bmm: call F.scaled_dot_product_attention" },
    { "avoid_copies", is_copy, all_launches,
      "copies and casts within device memory: avoid .contiguous(), .to() and .clone() "
      "where a view or the right dtype from the start will do" },
    { "pinned_memory", is_pageable, all_launches,
      "copies from or to pageable host memory: pin it (pin_memory=True, non_blocking=True)" },
    { "fused_norm", is_norm_chain, norm_launches,
      "a norm runs as single operations (square, mean, rsqrt, multiply): "
      "use F.rms_norm or F.layer_norm, or torch.compile" },
    { "torch_compile", is_fusable_chain, chain_launches,
      "chains of small memory-bound kernels in a row: torch.compile fuses them" },
};

static const char graphs_text[] = "the device waits for launches of short kernels: CUDA graphs "
                                  "(torch.compile mode=\"reduce-overhead\") or larger batches";

/* Patterns in the order of launches, per track. */
struct walk {
    uint32_t recent[NORM_BACK]; /* last sites, a ring */
    size_t n;                   /* launches so far */
    unsigned norm_left;         /* launches after a norm's rsqrt that may still be its own */
    uint32_t chain_first;       /* site of a chain's first launch */
    size_t chain_len;
};

static uint32_t recent_site(const struct walk *w, size_t back)
{
    return w->recent[(w->n - back) % NORM_BACK];
}

/* At an rsqrt: credits the launches from the square (and a cast before it) up to now. */
static bool credit_norm(const struct advising *a, const struct walk *w, uint32_t site)
{
    const size_t reach = w->n < NORM_BACK ? w->n : NORM_BACK;
    bool mean = false;
    size_t back = 1;

    for (; back <= reach; back++) {
        const unsigned facts = facts_of(a, recent_site(w, back));

        if (facts & NAME_RSQRT)
            return false;
        mean = mean || facts & NAME_MEAN;
        if (facts & NAME_POW)
            break;
    }
    if (back > reach || !mean)
        return false;
    if (back < reach && facts_of(a, recent_site(w, back + 1)) & NAME_COPY)
        back++;
    for (; back > 0; back--)
        a->credits[recent_site(w, back)].norm++;
    a->credits[site].norm++;
    return true;
}

static void walk_norm(const struct advising *a, struct walk *w, uint32_t site)
{
    const unsigned facts = facts_of(a, site);

    if (facts & NAME_RSQRT) {
        w->norm_left = credit_norm(a, w, site) ? NORM_AFTER : 0;
    } else if (w->norm_left && facts & (NAME_MUL | NAME_COPY)) {
        a->credits[site].norm++;
        w->norm_left--;
    } else {
        w->norm_left = 0;
    }
    w->recent[w->n % NORM_BACK] = site;
    w->n++;
}

static void walk_chain(const struct advising *a, struct walk *w, uint32_t site)
{
    const struct kr_tag *tag = &a->tags[site];

    if (tag->cls != KR_ADDRESSABLE || tag->origin != KR_ORIGIN_FRAMEWORK ||
        !a->is_fusable[tag->family]) {
        w->chain_len = 0;
        return;
    }
    if (w->chain_len == 0)
        w->chain_first = site;
    else
        a->credits[site].chain++;
    if (w->chain_len == 1)
        a->credits[w->chain_first].chain++;
    w->chain_len++;
}

static bool find_patterns(const struct advising *a, struct kr_err *err)
{
    const struct kr_timeline *t = a->t;
    struct walk *walks = kr_xcalloc(t->n_tracks, sizeof *walks, err);

    if (!walks)
        return false;
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        a->credits[e->site].launches++;
        if (e->kind != KR_KERNEL)
            continue; /* a memset between two kernels does not part them */
        walk_norm(a, &walks[e->track], e->site);
        walk_chain(a, &walks[e->track], e->site);
    }
    free(walks);
    return true;
}

/* A model's own attention multiplies at least once for each softmax. */
static bool attention_is_unfused(const struct advising *a)
{
    uint64_t softmaxes = 0;
    uint64_t products = 0;

    for (size_t i = 0; i < a->account->n_sites; i++) {
        if (is_softmax(a, i))
            softmaxes += a->account->sites[i].count;
        else if (is_bmm(a, i))
            products += a->account->sites[i].count;
    }
    return softmaxes > 0 && products >= softmaxes;
}

static bool have_tensor_cores(const struct kr_timeline *t)
{
    for (size_t i = 0; i < t->n_devices; i++) {
        if (t->devices[i].cc_major < 8)
            return false;
    }
    return t->n_devices > 0;
}

static bool prepare(struct advising *a, struct kr_err *err)
{
    a->facts = kr_xcalloc(kr_strpool_count(a->t->strings), sizeof *a->facts, err);
    a->is_fusable = kr_families_mark(a->rules, fusable_families, KR_COUNT(fusable_families), err);
    a->credits = kr_xcalloc(a->t->n_sites, sizeof *a->credits, err);
    if (!a->facts || !a->is_fusable || !a->credits)
        return false;
    a->tensor_cores = have_tensor_cores(a->t);
    a->attention_unfused = attention_is_unfused(a);
    return find_patterns(a, err);
}

/* part of whole's share of ns, without overflow. */
static uint64_t share_ns(uint64_t ns, uint64_t part, uint64_t whole)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)ns * part;

    return whole ? (uint64_t)(product / whole) : 0;
}

static struct kr_advice weigh(const struct advising *a, size_t kind)
{
    struct kr_advice advice = { .id = kinds[kind].id, .text = kinds[kind].text };
    uint64_t largest_ns = 0;

    for (size_t i = 0; i < a->account->n_sites; i++) {
        const struct kr_stats *stats = &a->account->sites[i];
        const struct credit *credit = &a->credits[i];
        uint64_t reach_ns;

        if (!stats->exclusive_ns || !kinds[kind].applies(a, i))
            continue;
        reach_ns = share_ns(stats->exclusive_ns, kinds[kind].launches(credit), credit->launches);
        advice.reach_ns += reach_ns;
        advice.count += share_ns(stats->count, kinds[kind].launches(credit), credit->launches);
        if (reach_ns > largest_ns ||
            (reach_ns == largest_ns &&
             strcmp(text_of(a, a->t->sites[i].name), text_of(a, advice.example)) < 0)) {
            largest_ns = reach_ns;
            advice.example = a->t->sites[i].name;
        }
    }
    return advice;
}

static bool runs_graphs(const struct advising *a)
{
    uint64_t in_graphs = 0;

    for (size_t i = 0; i < a->account->n_sites; i++) {
        if (a->t->sites[i].graph_id)
            in_graphs += a->account->sites[i].count;
    }
    return 2 * in_graphs > a->account->kernels;
}

/* Idle time that launches cost; without any launch times, short gaps are taken for it. */
static struct kr_advice weigh_graphs(const struct advising *a)
{
    struct kr_advice advice = { .id = "cuda_graphs", .text = graphs_text };
    const struct kr_account *account = a->account;

    if (!account->kernels || account->time.kernel_sum_ns / account->kernels > GRAPH_KERNEL_NS ||
        runs_graphs(a))
        return advice;
    for (size_t i = 0; i < account->n_devices; i++) {
        const struct kr_gaps *gaps = &account->devices[i].gaps;
        const bool timed = gaps->launch_ns + gaps->host_ns + gaps->queued_ns > 0;

        advice.reach_ns += timed ? gaps->launch_ns : gaps->unknown_short_ns;
    }
    advice.count = account->kernels;
    advice.example = account->n_kernels_rows ? account->kernels_rows[0].name : 0;
    return advice;
}

static int compare_advice(const void *pa, const void *pb)
{
    const struct kr_advice *a = pa;
    const struct kr_advice *b = pb;

    if (a->reach_ns != b->reach_ns)
        return a->reach_ns > b->reach_ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

static void keep(const struct advising *a, struct kr_advice *list, size_t *n,
                 struct kr_advice advice)
{
    const uint64_t wall_ns = a->account->time.wall_ns;

    if (advice.reach_ns > 0 && advice.reach_ns >= wall_ns / MIN_WALL)
        list[(*n)++] = advice;
}

bool kr_advice_find(const struct kr_timeline *t, const struct kr_tag *tags,
                    const struct kr_rules *rules, const struct kr_account *account,
                    struct kr_advice **out, size_t *out_n, struct kr_err *err)
{
    struct advising a = { .t = t, .tags = tags, .rules = rules, .account = account };
    struct kr_advice *list = kr_xcalloc(KR_COUNT(kinds) + 1, sizeof *list, err);
    const bool done = list && prepare(&a, err);
    size_t n = 0;

    if (done) {
        for (size_t i = 0; i < KR_COUNT(kinds); i++)
            keep(&a, list, &n, weigh(&a, i));
        keep(&a, list, &n, weigh_graphs(&a));
        qsort(list, n, sizeof *list, compare_advice);
    }
    free(a.facts);
    free(a.is_fusable);
    free(a.credits);
    if (!done) {
        free(list);
        return false;
    }
    *out = list;
    *out_n = n;
    return true;
}

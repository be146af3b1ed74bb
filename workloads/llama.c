/*
 * Llama 3 (Grattafiori et al. 2024): a decoder with RMS norms, rotary positions, grouped queries
 * and a gated feed-forward part. It launches what the usual eager implementation launches: norms
 * put together from element-wise operations, three projections, rotation by slices; the "-fused"
 * presets use torch's one-kernel norm instead.
 *
 * Letters as in transformer.h; G key-value heads, F features inside the feed-forward part.
 */
#include "transformer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"

#define ROTARY_BASE 500000.0
#define NORM_EPS    1e-5

/* For cuBLAS and cuDNN workspaces and what the allocator cannot give back. */
#define SPARE_BYTES  (1.5 * 1024 * 1024 * 1024)
#define LAYER_WIDTHS 32 /* tensors [B, T, C] that one layer makes, those in float32 as two */

struct shape {
    int64_t layers, width, heads, kv_heads, hidden, words;
    int64_t prefill_batch, decode_batch, seq;
    bool tied; /* the head is the embedding */
};

static const struct shape shape_1b = { 16, 2048, 32, 8, 8192, 128256, 4, 8, 2048, true };
static const struct shape shape_8b = { 32, 4096, 32, 8, 14336, 128256, 4, 8, 2048, false };
static const struct shape shape_70b = { 80, 8192, 64, 8, 28672, 128256, 1, 8, 2048, false };
static const struct shape shape_tiny = { 2, 64, 4, 2, 160, 256, 2, 2, 24, false };

static const char *const preset_names[] = { "8b",       "1b",       "70b",        "tiny",
                                            "8b-fused", "1b-fused", "tiny-fused", NULL };

/* One for each name. */
static const struct preset {
    const struct shape *shape;
    bool fused_norm;
} presets[] = {
    { &shape_8b, false }, { &shape_1b, false }, { &shape_70b, false }, { &shape_tiny, false },
    { &shape_8b, true },  { &shape_1b, true },  { &shape_tiny, true },
};

static_assert(KR_COUNT(presets) + 1 == KR_COUNT(preset_names), "a preset for each name");

struct layer {
    struct kr_tensor *attention_norm;      /* [C] */
    struct kr_tensor *query, *key, *value; /* [H D, C], [G D, C], [G D, C] */
    struct kr_tensor *out;                 /* [C, H D] */
    struct kr_tensor *forward_norm;        /* [C] */
    struct kr_tensor *gate, *up, *down;    /* [F, C], [F, C], [C, F] */
    struct kr_tensor *keys, *values;       /* the cache [B, G, S, D] */
};

struct llama {
    struct kr_params params; /* owns all tensors */
    const struct preset *preset;
    struct layer *layers;
    int64_t n_layers;
    struct kr_tensor *embedding, *norm, *head; /* [V, C], [C], [V, C] */
    struct kr_tensor *frequencies;             /* [D/2] */
    struct kr_tensor *input;                   /* a step's tokens [B, T] */
    int64_t start;                             /* position of the first of them */
    bool decode;
};

/* What all layers of one forward pass share. */
struct pass {
    struct kr_tensor *positions; /* of the pass's tokens [T] */
    struct kr_rotary angles;
    int64_t end; /* tokens in the cache, the pass's included */
    bool causal;
};

static struct kr_tensor *rms_norm(struct kr_at *at, const struct llama *m,
                                  const struct kr_tensor *x, const struct kr_tensor *weight)
{
    struct kr_tensor *wide, *mean, *scale;

    if (m->preset->fused_norm)
        return kr_at_rms_norm(at, x, weight, NORM_EPS);
    wide = kr_at_to(at, x, KR_F32);
    mean = kr_at_mean_dim(at, kr_at_pow_scalar(at, wide, 2), -1, true);
    scale = kr_at_rsqrt(at, kr_at_add_scalar(at, mean, NORM_EPS));
    return kr_at_mul(at, weight, kr_at_to(at, kr_at_mul(at, wide, scale), kr_tensor_dtype(x)));
}

/* x [B, T, C] */
static struct kr_tensor *attention(struct kr_at *at, const struct llama *m, const struct layer *l,
                                   const struct kr_tensor *x, const struct pass *pass)
{
    const struct shape *s = m->preset->shape;
    const struct kr_at_attention how = { .causal = pass->causal, .grouped = true };
    struct kr_tensor *q = kr_heads_split(at, kr_at_linear(at, x, l->query, NULL), s->heads);
    struct kr_tensor *k = kr_heads_split(at, kr_at_linear(at, x, l->key, NULL), s->kv_heads);
    struct kr_tensor *v = kr_heads_split(at, kr_at_linear(at, x, l->value, NULL), s->kv_heads);
    struct kr_tensor *y;

    q = kr_rotary_turn(at, q, &pass->angles);
    k = kr_rotary_turn(at, k, &pass->angles);
    kr_at_index_copy(at, l->keys, 2, pass->positions, k);
    kr_at_index_copy(at, l->values, 2, pass->positions, v);
    y = kr_at_attention(at, q, kr_at_slice(at, l->keys, 2, 0, pass->end),
                        kr_at_slice(at, l->values, 2, 0, pass->end), &how);
    return kr_at_linear(at, kr_heads_merge(at, y), l->out, NULL);
}

/* x [B, T, C] */
static struct kr_tensor *feed_forward(struct kr_at *at, const struct layer *l,
                                      const struct kr_tensor *x)
{
    struct kr_tensor *gate = kr_at_silu(at, kr_at_linear(at, x, l->gate, NULL));
    struct kr_tensor *up = kr_at_linear(at, x, l->up, NULL);

    return kr_at_linear(at, kr_at_mul(at, gate, up), l->down, NULL);
}

/* x [B, T, C], which is freed; its own scope, so that a layer's tensors are gone before the next
   layer runs. */
static struct kr_tensor *layer_run(struct kr_at *at, const struct llama *m, const struct layer *l,
                                   struct kr_tensor *x, const struct pass *pass)
{
    struct kr_tensor *y, *between;

    kr_at_scope_open(at);
    y = attention(at, m, l, rms_norm(at, m, x, l->attention_norm), pass);
    between = kr_at_add(at, x, y);
    y = feed_forward(at, l, rms_norm(at, m, between, l->forward_norm));
    return kr_at_scope_replace(at, x, kr_at_add(at, between, y));
}

/* Logits [B, V] behind the last of tokens [B, T], which stand at positions start, start + 1, ...
   The cache holds what came before; T is 1 unless start is 0. */
static struct kr_tensor *forward(struct kr_at *at, const struct llama *m,
                                 const struct kr_tensor *tokens, int64_t start)
{
    int64_t n = kr_tensor_dim(tokens, 1);
    struct pass pass = { .end = start + n, .causal = n > 1 };
    struct kr_tensor *x = kr_at_embedding(at, m->embedding, tokens);

    pass.positions = kr_at_arange(at, KR_I64, (double)start, (double)pass.end, 1);
    pass.angles = kr_rotary_angles(at, m->frequencies, pass.positions, m->params.dtype);
    for (int64_t i = 0; i < m->n_layers; i++)
        x = layer_run(at, m, &m->layers[i], x, &pass);
    x = kr_at_select(at, rms_norm(at, m, x, m->norm), 1, n - 1);
    return kr_at_linear(at, x, m->head, NULL);
}

static struct kr_tensor *llama_step(struct kr_at *at, void *state)
{
    struct llama *m = state;
    struct kr_tensor *logits = forward(at, m, m->input, m->start);

    /* The chosen token is not fed back: all steps are alike, and a graph can hold one. */
    if (m->decode && !kr_at_argmax(at, logits, -1, false))
        return NULL;
    return logits;
}

static int64_t kv_width(const struct shape *s)
{
    return s->kv_heads * (s->width / s->heads);
}

static double matrix_weights(const struct shape *s)
{
    return (double)s->width * (double)(2 * s->width + 2 * kv_width(s) + 3 * s->hidden);
}

static double step_flop(const struct llama *m, const struct kr_built *b)
{
    const struct shape *s = m->preset->shape;
    double batch = (double)b->batch, n = m->decode ? 1 : (double)b->seq;
    double pairs = m->decode ? (double)b->seq : kr_causal_pairs(b->seq);
    double layer = kr_layer_flop(batch * n, matrix_weights(s), batch * pairs, s->width);

    return (double)m->n_layers * layer + 2 * batch * (double)s->width * (double)s->words;
}

static double element_bytes(enum kr_dtype dtype)
{
    return dtype == KR_F64 ? 8 : dtype == KR_F32 ? 4 : 2;
}

static bool room_bytes(struct kr_at *at, double *out)
{
    struct kr_at_memory memory;

    if (kr_at_device(at) == KR_CPU) {
        *out = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
        return true;
    }
    if (!kr_at_memory(at, &memory))
        return false;
    *out = (double)memory.free_bytes +
           ((double)memory.reserved_bytes - (double)memory.allocated_bytes);
    return true;
}

/* How many layers fit in free memory: beside their weights and cache, the vocabulary's matrices,
   the features of all tokens inside one layer, and what the libraries need. 0 on error. */
static int64_t layers_that_fit(struct kr_at *at, const struct shape *s, const struct kr_built *b,
                               enum kr_dtype dtype)
{
    double bytes = element_bytes(dtype), tokens = (double)b->batch * (double)b->seq, room, n;
    double cache = 2 * tokens * (double)kv_width(s);
    double outer = (s->tied ? 1 : 2) * (double)s->words * (double)s->width;
    double inner = tokens * (double)(4 * s->hidden + LAYER_WIDTHS * s->width);

    if (!room_bytes(at, &room))
        return 0;
    n = (room - SPARE_BYTES - (outer + inner) * bytes) / ((matrix_weights(s) + cache) * bytes);
    if (n < 1) {
        kr_at_fail(at, KR_ENOMEM, "not one layer fits in %.1f GB: ask for less with --batch, --seq",
                   room / 1e9);
        return 0;
    }
    return n < (double)s->layers ? (int64_t)n : s->layers;
}

/* A layer's matrices keep the variance of what they are given. */
static struct kr_tensor *matrix(struct kr_params *p, int64_t in, int64_t out)
{
    return kr_param_normal(p, 1 / sqrt((double)in), KR_DIMS(out, in));
}

static void layer_build(struct kr_params *p, struct layer *l, const struct shape *s,
                        const struct kr_built *b)
{
    int64_t n_features = s->width / s->heads;

    l->attention_norm = kr_param_full(p, 1, KR_DIMS(s->width));
    l->query = matrix(p, s->width, s->width);
    l->key = matrix(p, s->width, kv_width(s));
    l->value = matrix(p, s->width, kv_width(s));
    l->out = matrix(p, s->width, s->width);
    l->forward_norm = kr_param_full(p, 1, KR_DIMS(s->width));
    l->gate = matrix(p, s->width, s->hidden);
    l->up = matrix(p, s->width, s->hidden);
    l->down = matrix(p, s->hidden, s->width);
    l->keys = kr_param_state(p, p->dtype, 0, KR_DIMS(b->batch, s->kv_heads, b->seq, n_features));
    l->values = kr_param_state(p, p->dtype, 0, KR_DIMS(b->batch, s->kv_heads, b->seq, n_features));
}

static bool weights_build(struct kr_at *at, struct llama *m, const struct kr_built *b)
{
    const struct shape *s = m->preset->shape;
    struct kr_params *p = &m->params;

    m->embedding = matrix(p, s->width, s->words);
    m->layers = kr_state_alloc(at, (size_t)m->n_layers, sizeof *m->layers);
    if (!m->layers)
        return false;
    for (int64_t i = 0; i < m->n_layers; i++)
        layer_build(p, &m->layers[i], s, b);
    m->norm = kr_param_full(p, 1, KR_DIMS(s->width));
    m->head = s->tied ? m->embedding : matrix(p, s->width, s->words);
    m->frequencies = kr_input_keep(p, kr_rotary_frequencies(at, s->width / s->heads, ROTARY_BASE));
    return kr_at_ok(at);
}

/* Draws the tokens; before a step that decodes, all but the last of them go into the cache. */
static bool input_build(struct kr_at *at, struct llama *m, const struct kr_built *b)
{
    struct kr_tensor *tokens =
        kr_input_index(&m->params, m->preset->shape->words, KR_DIMS(b->batch, b->seq));
    struct kr_tensor *last;

    m->start = m->decode ? b->seq - 1 : 0;
    kr_at_scope_open(at);
    last = kr_at_slice(at, tokens, 1, m->start, b->seq);
    m->input = kr_input_keep(&m->params, kr_at_contiguous(at, last));
    if (m->start > 0)
        forward(at, m, kr_at_slice(at, tokens, 1, 0, m->start), 0);
    kr_at_scope_close(at);
    return kr_at_ok(at);
}

static bool llama_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    struct llama *m = kr_state_alloc(at, 1, sizeof *m);
    struct kr_stack stack = { 0 };
    const struct shape *s;

    if (!m)
        return false;
    out->state = m;
    m->preset = &presets[kr_name_place(preset_names, run->preset)];
    m->decode = strcmp(run->phase, "decode") == 0;
    s = m->preset->shape;
    stack.layers = s->layers;
    stack.batch = m->decode ? s->decode_batch : s->prefill_batch;
    stack.seq = s->seq;
    m->n_layers = kr_stack_resolve(at, run, &stack, out);
    if (m->n_layers != 0 && run->layers == 0)
        m->n_layers = layers_that_fit(at, s, out, run->dtype);
    if (m->n_layers == 0 || !kr_params_open(&m->params, at, run) || !weights_build(at, m, out) ||
        !input_build(at, m, out))
        return false;
    out->shape[0] = out->batch;
    out->shape[1] = s->words;
    out->ndim = 2;
    out->tokens = m->decode ? out->batch : out->batch * out->seq;
    out->n_params = m->params.n_elements;
    out->flop = step_flop(m, out);
    kr_layers_note(out, m->n_layers, s->layers);
    return true;
}

static void llama_close(void *state)
{
    struct llama *m = state;

    if (!m)
        return;
    free(m->layers);
    kr_params_close(&m->params);
    free(m);
}

const struct kr_model kr_model_llama = {
    .name = "llama",
    .summary = "Llama 3 decoder: prefill of a prompt, or decoding of one token with a cache",
    .phases = (const char *const[]){ "prefill", "decode", NULL },
    .presets = preset_names,
    .dtype = KR_BF16,
    .can_graph = true,
    .open = llama_open,
    .step = llama_step,
    .close = llama_close,
};

/*
 * BERT (Devlin et al. 2018): an encoder with layer norms behind each part, learned positions and
 * segments, an exact GELU, and the pooler that classifiers build on.
 *
 * Letters as in transformer.h.
 */
#include "transformer.h"

#include <assert.h>
#include <stdlib.h>

#include "mem.h"

#define NORM_EPS   1e-12
#define WEIGHT_STD 0.02
#define N_SEGMENTS 2

struct shape {
    struct kr_stack stack;
    int64_t width, heads, words;
};

static const struct shape shapes[] = {
    { { 12, 512, 32, 384 }, 768, 12, 30522 },
    { { 24, 512, 32, 384 }, 1024, 16, 30522 },
    { { 2, 32, 2, 24 }, 64, 4, 256 },
};

static const char *const preset_names[] = { "base", "large", "tiny", NULL };

static_assert(KR_COUNT(shapes) + 1 == KR_COUNT(preset_names), "a shape for each name");

struct layer {
    struct kr_dense query, key, value, out; /* [C, C] each */
    struct kr_norm attention_norm;
    struct kr_dense up, down; /* [4 C, C], [C, 4 C] */
    struct kr_norm forward_norm;
};

struct bert {
    struct kr_params params; /* owns all tensors */
    const struct shape *shape;
    struct layer *layers;
    int64_t n_layers;
    struct kr_tensor *words, *positions, *segments; /* [V, C], [positions, C], [2, C] */
    struct kr_norm norm;
    struct kr_dense pooler;                   /* [C, C] */
    struct kr_tensor *input, *input_segments; /* [B, T] */
};

/* x [B, T, C] */
static struct kr_tensor *attention(struct kr_at *at, const struct layer *l, int64_t n_heads,
                                   const struct kr_tensor *x)
{
    const struct kr_at_attention how = { 0 };
    struct kr_tensor *q = kr_heads_split(at, kr_dense(at, x, &l->query), n_heads);
    struct kr_tensor *k = kr_heads_split(at, kr_dense(at, x, &l->key), n_heads);
    struct kr_tensor *v = kr_heads_split(at, kr_dense(at, x, &l->value), n_heads);

    return kr_dense(at, kr_heads_merge(at, kr_at_attention(at, q, k, v, &how)), &l->out);
}

/* x [B, T, C], which is freed */
static struct kr_tensor *layer_run(struct kr_at *at, const struct layer *l, int64_t n_heads,
                                   struct kr_tensor *x)
{
    struct kr_tensor *y, *between;

    kr_at_scope_open(at);
    y = attention(at, l, n_heads, x);
    between = kr_norm(at, kr_at_add(at, y, x), &l->attention_norm, NORM_EPS);
    y = kr_dense(at, kr_at_gelu(at, kr_dense(at, between, &l->up), false), &l->down);
    y = kr_norm(at, kr_at_add(at, y, between), &l->forward_norm, NORM_EPS);
    return kr_at_scope_replace(at, x, y);
}

/* The pooled first token of each text: [B, C]. */
static struct kr_tensor *bert_step(struct kr_at *at, void *state)
{
    const struct bert *m = state;
    struct kr_tensor *places = kr_at_arange(at, KR_I64, 0, (double)kr_tensor_dim(m->input, 1), 1);
    struct kr_tensor *x = kr_at_embedding(at, m->words, m->input);

    x = kr_at_add(at, x, kr_at_embedding(at, m->segments, m->input_segments));
    x = kr_at_add(at, x, kr_at_embedding(at, m->positions, places));
    x = kr_norm(at, x, &m->norm, NORM_EPS);
    for (int64_t i = 0; i < m->n_layers; i++)
        x = layer_run(at, &m->layers[i], m->shape->heads, x);
    return kr_at_tanh(at, kr_dense(at, kr_at_select(at, x, 1, 0), &m->pooler));
}

static double step_flop(const struct bert *m, const struct kr_built *b)
{
    double width = (double)m->shape->width, batch = (double)b->batch, n = (double)b->seq;
    double layer = kr_layer_flop(batch * n, 12 * width * width, batch * n * n, m->shape->width);

    return (double)m->n_layers * layer + 2 * batch * width * width;
}

static void layer_build(struct kr_params *p, struct layer *l, int64_t width)
{
    l->query = kr_param_dense(p, width, width, WEIGHT_STD);
    l->key = kr_param_dense(p, width, width, WEIGHT_STD);
    l->value = kr_param_dense(p, width, width, WEIGHT_STD);
    l->out = kr_param_dense(p, width, width, WEIGHT_STD);
    l->attention_norm = kr_param_norm(p, width);
    l->up = kr_param_dense(p, width, 4 * width, WEIGHT_STD);
    l->down = kr_param_dense(p, 4 * width, width, WEIGHT_STD);
    l->forward_norm = kr_param_norm(p, width);
}

static bool tensors_build(struct kr_at *at, struct bert *m, const struct kr_built *b)
{
    const struct shape *s = m->shape;
    struct kr_params *p = &m->params;

    m->words = kr_param_normal(p, WEIGHT_STD, KR_DIMS(s->words, s->width));
    m->positions = kr_param_normal(p, WEIGHT_STD, KR_DIMS(s->stack.positions, s->width));
    m->segments = kr_param_normal(p, WEIGHT_STD, KR_DIMS(N_SEGMENTS, s->width));
    m->norm = kr_param_norm(p, s->width);
    m->layers = kr_state_alloc(at, (size_t)m->n_layers, sizeof *m->layers);
    if (!m->layers)
        return false;
    for (int64_t i = 0; i < m->n_layers; i++)
        layer_build(p, &m->layers[i], s->width);
    m->pooler = kr_param_dense(p, s->width, s->width, WEIGHT_STD);
    m->input = kr_input_index(p, s->words, KR_DIMS(b->batch, b->seq));
    m->input_segments = kr_input_index(p, N_SEGMENTS, KR_DIMS(b->batch, b->seq));
    return kr_at_ok(at);
}

static bool bert_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    struct bert *m = kr_state_alloc(at, 1, sizeof *m);
    const struct shape *s;

    if (!m)
        return false;
    out->state = m;
    m->shape = &shapes[kr_name_place(preset_names, run->preset)];
    s = m->shape;
    m->n_layers = kr_stack_resolve(at, run, &s->stack, out);
    if (m->n_layers == 0 || !kr_params_open(&m->params, at, run) || !tensors_build(at, m, out))
        return false;
    out->shape[0] = out->batch;
    out->shape[1] = s->width;
    out->ndim = 2;
    out->tokens = out->batch * out->seq;
    out->n_params = m->params.n_elements;
    out->flop = step_flop(m, out);
    kr_layers_note(out, m->n_layers, s->stack.layers);
    return true;
}

static void bert_close(void *state)
{
    struct bert *m = state;

    if (!m)
        return;
    free(m->layers);
    kr_params_close(&m->params);
    free(m);
}

const struct kr_model kr_model_bert = {
    .name = "bert",
    .summary = "BERT encoder: inference over a batch of texts",
    .phases = (const char *const[]){ "infer", NULL },
    .presets = preset_names,
    .dtype = KR_BF16,
    .can_graph = true,
    .open = bert_open,
    .step = bert_step,
    .close = bert_close,
};

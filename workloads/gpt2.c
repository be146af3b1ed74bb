/*
 * GPT-2 (Radford et al. 2019): a decoder with layer norms in front, learned positions, a tanh GELU
 * and a head that is its embedding. "train" is one step of AdamW on a batch of random tokens,
 * float32 weights with autocast; "infer" one forward pass.
 *
 * Letters as in transformer.h.
 */
#include "transformer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define NORM_EPS   1e-5
#define WEIGHT_STD 0.02

struct shape {
    struct kr_stack stack;
    int64_t width, heads, words;
};

static const struct shape shape_small = { { 12, 1024, 12, 1024 }, 768, 12, 50257 };
static const struct shape shape_medium = { { 24, 1024, 12, 1024 }, 1024, 16, 50257 };
static const struct shape shape_tiny = { { 2, 32, 2, 24 }, 64, 4, 256 };

static const char *const preset_names[] = { "small",        "medium",     "tiny", "small-fused",
                                            "medium-fused", "tiny-fused", NULL };

/* One for each name. */
static const struct preset {
    const struct shape *shape;
    enum kr_optim_form form;
} presets[] = {
    { &shape_small, KR_OPTIM_FOREACH }, { &shape_medium, KR_OPTIM_FOREACH },
    { &shape_tiny, KR_OPTIM_FOREACH },  { &shape_small, KR_OPTIM_FUSED },
    { &shape_medium, KR_OPTIM_FUSED },  { &shape_tiny, KR_OPTIM_FUSED },
};

static_assert(KR_COUNT(presets) + 1 == KR_COUNT(preset_names), "a preset for each name");

struct layer {
    struct kr_norm attention_norm;
    struct kr_dense query_key_value; /* [3 C, C] */
    struct kr_dense out;             /* [C, C] */
    struct kr_norm forward_norm;
    struct kr_dense up, down; /* [4 C, C], [C, 4 C] */
};

struct gpt2 {
    struct kr_params params; /* owns all tensors */
    const struct preset *preset;
    struct layer *layers;
    int64_t n_layers;
    struct kr_tensor *words, *positions; /* [V, C], [positions, C] */
    struct kr_norm norm;
    struct kr_tensor *input, *target; /* [B, T], [B T]; no target unless training */
    struct kr_optim *decayed;         /* matrices */
    struct kr_optim *plain;           /* biases and norms */
};

/* x [B, T, C] */
static struct kr_tensor *attention(struct kr_at *at, const struct layer *l, int64_t n_heads,
                                   const struct kr_tensor *x)
{
    const struct kr_at_attention how = { .causal = true };
    int64_t width = kr_tensor_dim(x, 2);
    struct kr_tensor *all = kr_dense(at, x, &l->query_key_value), *part[3];

    for (int i = 0; i < 3; i++)
        part[i] = kr_heads_split(at, kr_at_slice(at, all, 2, i * width, (i + 1) * width), n_heads);
    return kr_dense(at, kr_heads_merge(at, kr_at_attention(at, part[0], part[1], part[2], &how)),
                    &l->out);
}

/* x [B, T, C], which is freed */
static struct kr_tensor *layer_run(struct kr_at *at, const struct layer *l, int64_t n_heads,
                                   struct kr_tensor *x)
{
    struct kr_tensor *y, *between;

    kr_at_scope_open(at);
    y = attention(at, l, n_heads, kr_norm(at, x, &l->attention_norm, NORM_EPS));
    between = kr_at_add(at, x, y);
    y = kr_dense(at, kr_norm(at, between, &l->forward_norm, NORM_EPS), &l->up);
    y = kr_dense(at, kr_at_gelu(at, y, true), &l->down);
    return kr_at_scope_replace(at, x, kr_at_add(at, between, y));
}

/* Logits [B, T, V] behind each token of the input. */
static struct kr_tensor *forward(struct kr_at *at, const struct gpt2 *m)
{
    int64_t n_heads = m->preset->shape->heads;
    struct kr_tensor *places = kr_at_arange(at, KR_I64, 0, (double)kr_tensor_dim(m->input, 1), 1);
    struct kr_tensor *x = kr_at_embedding(at, m->words, m->input);

    x = kr_at_add(at, x, kr_at_embedding(at, m->positions, places));
    for (int64_t i = 0; i < m->n_layers; i++)
        x = layer_run(at, &m->layers[i], n_heads, x);
    return kr_at_linear(at, kr_norm(at, x, &m->norm, NORM_EPS), m->words, NULL);
}

static struct kr_tensor *train_step(struct kr_at *at, struct gpt2 *m)
{
    bool mixed = m->params.autocast != KR_F32;
    struct kr_tensor *logits, *loss;

    kr_optim_zero_grad(at, m->decayed);
    kr_optim_zero_grad(at, m->plain);
    if (mixed)
        kr_at_autocast(at, true, m->params.autocast);
    logits = forward(at, m);
    logits = kr_at_view(at, logits, KR_DIMS(-1, m->preset->shape->words));
    loss = kr_at_cross_entropy(at, logits, m->target);
    if (mixed)
        kr_at_autocast(at, false, m->params.autocast);
    kr_at_backward(at, loss);
    kr_optim_step(at, m->decayed);
    kr_optim_step(at, m->plain);
    return kr_at_ok(at) ? loss : NULL;
}

static struct kr_tensor *gpt2_step(struct kr_at *at, void *state)
{
    struct gpt2 *m = state;

    return m->target ? train_step(at, m) : forward(at, m);
}

static double step_flop(const struct gpt2 *m, const struct kr_built *b)
{
    const struct shape *s = m->preset->shape;
    double tokens = (double)b->batch * (double)b->seq, square = (double)s->width * (double)s->width;
    double pairs = (double)b->batch * kr_causal_pairs(b->seq);
    double layers = (double)m->n_layers * kr_layer_flop(tokens, 12 * square, pairs, s->width);
    double forward_flop = layers + 2 * tokens * (double)s->width * (double)s->words;

    return m->target ? 3 * forward_flop : forward_flop; /* backward: two products for each one */
}

/* Layers that add to the stream start smaller, the more there are: the published initialisation. */
static void layer_build(struct kr_params *p, struct layer *l, const struct shape *s)
{
    double std_added = WEIGHT_STD / sqrt(2 * (double)s->stack.layers);

    l->attention_norm = kr_param_norm(p, s->width);
    l->query_key_value = kr_param_dense(p, s->width, 3 * s->width, WEIGHT_STD);
    l->out = kr_param_dense(p, s->width, s->width, std_added);
    l->forward_norm = kr_param_norm(p, s->width);
    l->up = kr_param_dense(p, s->width, 4 * s->width, WEIGHT_STD);
    l->down = kr_param_dense(p, 4 * s->width, s->width, std_added);
}

static bool weights_build(struct kr_at *at, struct gpt2 *m)
{
    const struct shape *s = m->preset->shape;
    struct kr_params *p = &m->params;

    m->words = kr_param_normal(p, WEIGHT_STD, KR_DIMS(s->words, s->width));
    m->positions = kr_param_normal(p, WEIGHT_STD, KR_DIMS(s->stack.positions, s->width));
    m->layers = kr_state_alloc(at, (size_t)m->n_layers, sizeof *m->layers);
    if (!m->layers)
        return false;
    for (int64_t i = 0; i < m->n_layers; i++)
        layer_build(p, &m->layers[i], s);
    m->norm = kr_param_norm(p, s->width);
    return kr_at_ok(at);
}

/* Weight decay on matrices only, as in the paper of GPT-3 and most trainers since. */
static bool optimizers_build(struct kr_at *at, struct gpt2 *m)
{
    struct kr_adamw how = {
        .learning_rate = 6e-4, .beta2 = 0.95, .weight_decay = 0.1, .form = m->preset->form
    };
    size_t n = m->params.n_trained, n_matrices = 0, n_others = 0;
    struct kr_tensor **sorted = kr_state_alloc(at, n, sizeof *sorted);

    if (!sorted)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct kr_tensor *t = m->params.trained[i];

        if (kr_tensor_ndim(t) >= 2)
            sorted[n_matrices++] = t;
        else
            sorted[n - ++n_others] = t;
    }
    m->decayed = kr_at_adamw(at, sorted, n_matrices, &how);
    how.weight_decay = 0;
    m->plain = kr_at_adamw(at, sorted + n_matrices, n_others, &how);
    free(sorted);
    return kr_at_ok(at);
}

static bool input_build(struct kr_at *at, struct gpt2 *m, const struct kr_built *b)
{
    int64_t n_words = m->preset->shape->words;

    m->input = kr_input_index(&m->params, n_words, KR_DIMS(b->batch, b->seq));
    if (!m->params.train)
        return kr_at_ok(at);
    m->target = kr_input_index(&m->params, n_words, KR_DIMS(b->batch * b->seq));
    return kr_at_ok(at) && optimizers_build(at, m);
}

static bool gpt2_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    struct gpt2 *m = kr_state_alloc(at, 1, sizeof *m);
    const struct shape *s;

    if (!m)
        return false;
    out->state = m;
    m->preset = &presets[kr_name_place(preset_names, run->preset)];
    s = m->preset->shape;
    m->n_layers = kr_stack_resolve(at, run, &s->stack, out);
    if (m->n_layers == 0 || !kr_params_open(&m->params, at, run) || !weights_build(at, m) ||
        !input_build(at, m, out))
        return false;
    if (!m->target) {
        out->ndim = 3;
        memcpy(out->shape, (const int64_t[]){ out->batch, out->seq, s->words },
               3 * sizeof *out->shape);
    }
    out->tokens = out->batch * out->seq;
    out->n_params = m->params.n_elements;
    out->flop = step_flop(m, out);
    kr_layers_note(out, m->n_layers, s->stack.layers);
    return true;
}

static void gpt2_close(void *state)
{
    struct gpt2 *m = state;

    if (!m)
        return;
    kr_optim_free(m->decayed);
    kr_optim_free(m->plain);
    free(m->layers);
    kr_params_close(&m->params);
    free(m);
}

const struct kr_model kr_model_gpt2 = {
    .name = "gpt2",
    .summary = "GPT-2 decoder: training with AdamW, or logits of a batch of texts",
    .phases = (const char *const[]){ "train", "infer", NULL },
    .presets = preset_names,
    .dtype = KR_BF16,
    .can_graph = true,
    .open = gpt2_open,
    .step = gpt2_step,
    .close = gpt2_close,
};

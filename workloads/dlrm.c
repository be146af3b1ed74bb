/*
 * DLRM (Naumov et al. 2019), a recommender: dense features pass a bottom perceptron, each sparse
 * feature looks up and sums rows of its own table, all meet in an interaction, and a top perceptron
 * makes one score. Each table is a call of its own, as in the reference program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "workload.h"

/* B samples, F = tables + 1 features, D their width. */
enum { TABLES_MAX = 32, LAYERS_MAX = 6 };

struct dlrm_preset {
    const char *name;
    const char *note;
    size_t n_tables;
    const int64_t *rows; /* of each table, cut to rows_max; NULL: all have rows_max */
    int64_t rows_max;
    const int64_t *lookups; /* per sample in each table; NULL: all have lookups_max */
    int64_t lookups_max;
    int64_t dense, width;
    int64_t bottom[LAYERS_MAX], top[LAYERS_MAX]; /* outputs of the layers, up to a 0 */
    bool dots; /* interaction by dot products of all pairs; else the features side by side */
    int64_t batch;
};

/* Criteo Terabyte as MLPerf Training uses it: categories of each feature, at most 40 million; and
 * of its multi-hot form (MLPerf v3.0) the values of a sample in each feature, drawn uniformly. */
static const int64_t criteo_rows[] = { 40000000, 39060,    17295,    7424,     20265,   3,
                                       7122,     1543,     63,       40000000, 3067956, 405282,
                                       10,       2209,     11938,    155,      4,       976,
                                       14,       40000000, 40000000, 40000000, 590152,  12973,
                                       108,      36 };
static const int64_t criteo_lookups[] = { 3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                          6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1 };
static const int64_t tiny_rows[] = { 100, 7, 1000, 40 };
static const int64_t tiny_lookups[] = { 1, 2, 5, 20 };

/* With rows up to 10 million the tables take 27.7 GB in float32 (104.5 GB with 40 million): they
 * fit on one card, and are far beyond any cache all the same. */
static const struct dlrm_preset presets[] = {
    { "mlperf",
      "Criteo multi-hot, 214 lookups in 26 tables, at most 10 M rows each; random rows",
      KR_COUNT(criteo_rows),
      criteo_rows,
      10000000,
      criteo_lookups,
      0,
      13,
      128,
      { 512, 256, 128 },
      { 1024, 1024, 512, 256, 1 },
      true,
      2048 },
    { "onehot",
      "Criteo one-hot, 1 lookup in each of 26 tables of at most 10 M rows; random rows",
      KR_COUNT(criteo_rows),
      criteo_rows,
      10000000,
      NULL,
      1,
      13,
      128,
      { 512, 256, 128 },
      { 1024, 1024, 512, 256, 1 },
      true,
      2048 },
    /* RMC2 of Gupta et al. 2020, in the numbers of DeepRecSys. */
    { "rm2",
      "RMC2: 120 lookups in each of 31 tables of 500000 rows; random rows",
      31,
      NULL,
      500000,
      NULL,
      120,
      256,
      64,
      { 128, 64 },
      { 128, 64, 1 },
      false,
      2048 },
    { "tiny",
      "",
      KR_COUNT(tiny_rows),
      tiny_rows,
      1000,
      tiny_lookups,
      0,
      13,
      16,
      { 32, 16 },
      { 32, 1 },
      true,
      32 },
};

struct layer {
    struct kr_tensor *weight, *bias;
};

struct perceptron {
    struct layer layers[LAYERS_MAX];
    size_t n;
};

struct dlrm {
    struct kr_params params;
    const struct dlrm_preset *preset;
    struct perceptron bottom, top;
    struct kr_tensor *tables[TABLES_MAX];  /* [rows, D] */
    struct kr_tensor *index[TABLES_MAX];   /* [B lookups] */
    struct kr_tensor *offsets[TABLES_MAX]; /* [B] */
    struct kr_tensor *dense;               /* [B, dense] */
    struct kr_tensor *row, *column;        /* [F (F - 1) / 2]: pairs below the diagonal */
    struct kr_tensor *clicks;              /* [B, 1] in 0..1; only when training */
    struct kr_optim *optim;                /* NULL unless training */
    int64_t batch;
    double flop; /* of one forward pass */
};

/* Plain SGD: of torch's optimizers the one that takes the tables' sparse gradients as they are. */
static const struct kr_sgd recipe = { .learning_rate = 0.1, .form = KR_OPTIM_FOREACH };

static const struct dlrm_preset *find_preset(const char *name)
{
    const struct dlrm_preset *found = presets;

    for (size_t i = 0; i < KR_COUNT(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            found = &presets[i];
    }
    return found;
}

static int64_t rows_of(const struct dlrm_preset *p, size_t table)
{
    return p->rows && p->rows[table] < p->rows_max ? p->rows[table] : p->rows_max;
}

static int64_t lookups_of(const struct dlrm_preset *p, size_t table)
{
    return p->lookups ? p->lookups[table] : p->lookups_max;
}

/* Weights as the reference program draws them. */
static void make_perceptron(struct dlrm *d, struct perceptron *mlp, int64_t in,
                            const int64_t outs[LAYERS_MAX])
{
    for (size_t i = 0; i < LAYERS_MAX && outs[i]; i++) {
        int64_t out = outs[i];
        struct layer *layer = &mlp->layers[mlp->n++];

        layer->weight =
            kr_param_normal(&d->params, sqrt(2.0 / (double)(in + out)), KR_DIMS(out, in));
        layer->bias = kr_param_normal(&d->params, sqrt(1.0 / (double)out), KR_DIMS(out));
        d->flop += 2.0 * (double)d->batch * (double)in * (double)out;
        in = out;
    }
}

/* Rows such that a dot product of two pooled features is about 1 in size: the published range,
 * 1 / sqrt(rows), would drown the tables in the bottom perceptron's output, and no check of the
 * scores could see them. */
static void make_table(struct dlrm *d, size_t i)
{
    const struct dlrm_preset *p = d->preset;
    int64_t lookups = lookups_of(p, i);
    double std = sqrt(1.0 / (sqrt((double)p->width) * (double)lookups));

    d->tables[i] = kr_param_normal(&d->params, std, KR_DIMS(rows_of(p, i), p->width));
    d->index[i] = kr_input_index(&d->params, rows_of(p, i), KR_DIMS(d->batch * lookups));
    d->offsets[i] =
        kr_input_keep(&d->params, kr_at_arange(d->params.at, KR_I64, 0,
                                               (double)(d->batch * lookups), (double)lookups));
}

/* Row and column of the pairs i > j, row by row. */
static void make_pairs(struct dlrm *d)
{
    int64_t rows[TABLES_MAX * (TABLES_MAX + 1) / 2];
    int64_t columns[TABLES_MAX * (TABLES_MAX + 1) / 2];
    struct kr_at *at = d->params.at;
    size_t n = 0;

    for (size_t i = 0; i <= d->preset->n_tables; i++) {
        for (size_t j = 0; j < i; j++) {
            rows[n] = (int64_t)i;
            columns[n++] = (int64_t)j;
        }
    }
    d->row = kr_input_keep(&d->params, kr_at_from_host(at, KR_I64, rows, KR_DIMS((int64_t)n)));
    d->column =
        kr_input_keep(&d->params, kr_at_from_host(at, KR_I64, columns, KR_DIMS((int64_t)n)));
}

/* Half of the samples were clicked. */
static void make_training(struct dlrm *d)
{
    struct kr_at *at = d->params.at;
    struct kr_tensor *clicks = kr_input_index(&d->params, 2, KR_DIMS(d->batch, 1));

    d->clicks = kr_input_keep(&d->params, kr_at_to(at, clicks, d->params.dtype));
    d->optim = kr_at_sgd(at, d->params.trained, d->params.n_trained, &recipe);
}

static void build(struct dlrm *d)
{
    const struct dlrm_preset *p = d->preset;
    int64_t features = (int64_t)p->n_tables + 1;
    int64_t met = p->dots ? p->width + features * (features - 1) / 2 : features * p->width;

    d->dense = kr_input_normal(&d->params, KR_DIMS(d->batch, p->dense));
    make_perceptron(d, &d->bottom, p->dense, p->bottom);
    for (size_t i = 0; i < p->n_tables; i++)
        make_table(d, i);
    if (p->dots) {
        make_pairs(d);
        d->flop += 2.0 * (double)(d->batch * features * features) * (double)p->width;
    }
    make_perceptron(d, &d->top, met, p->top);
    if (d->params.train)
        make_training(d);
}

static bool dlrm_open(struct kr_at *at, const struct kr_run *run, struct kr_built *out)
{
    struct dlrm *d = calloc(1, sizeof *d);

    if (!d)
        return kr_at_fail(at, KR_ENOMEM, "out of memory");
    out->state = d;
    d->preset = find_preset(run->preset);
    d->batch = run->batch ? run->batch : d->preset->batch;
    if (!kr_params_open(&d->params, at, run))
        return false;
    build(d);
    out->batch = d->batch;
    out->n_params = d->params.n_elements;
    out->flop = d->flop * (d->params.train ? 3 : 1);
    if (!d->params.train) {
        out->ndim = 2;
        out->shape[0] = d->batch;
        out->shape[1] = 1;
    }
    strncpy(out->note, d->preset->note, sizeof out->note - 1);
    return kr_at_ok(at);
}

static struct kr_tensor *through(struct kr_at *at, const struct perceptron *mlp,
                                 struct kr_tensor *x, bool ends_in_relu)
{
    for (size_t i = 0; i < mlp->n; i++) {
        x = kr_at_linear(at, x, mlp->layers[i].weight, mlp->layers[i].bias);
        if (i + 1 < mlp->n || ends_in_relu)
            x = kr_at_relu(at, x);
    }
    return x;
}

/* features [n] of [B, D], the bottom perceptron's first: [B, D + pairs]. */
static struct kr_tensor *interact(struct kr_at *at, const struct dlrm *d,
                                  const struct kr_tensor *const features[], size_t n)
{
    struct kr_tensor *all = kr_at_stack(at, features, n, 1);
    struct kr_tensor *dots = kr_at_matmul(at, all, kr_at_transpose(at, all, 1, 2));
    const struct kr_tensor *const below[] = { NULL, d->row, d->column };
    struct kr_tensor *pairs = kr_at_index(at, dots, below, KR_COUNT(below));

    return kr_at_cat(at, (const struct kr_tensor *const[]){ features[0], pairs }, 2, 1);
}

/* [B, 1], before the sigmoid. */
static struct kr_tensor *forward(struct kr_at *at, const struct dlrm *d)
{
    const struct kr_tensor *features[TABLES_MAX + 1];
    size_t n = d->preset->n_tables;
    struct kr_tensor *met;

    features[0] = through(at, &d->bottom, d->dense, true);
    for (size_t i = 0; i < n; i++)
        features[i + 1] = kr_at_embedding_bag(at, d->tables[i], d->index[i], d->offsets[i],
                                              KR_BAG_SUM, d->params.train);
    met = d->preset->dots ? interact(at, d, features, n + 1) : kr_at_cat(at, features, n + 1, 1);
    return through(at, &d->top, met, false);
}

static struct kr_tensor *train(struct kr_at *at, struct dlrm *d)
{
    bool mixed = d->params.autocast != KR_F32;
    struct kr_tensor *logits;
    struct kr_tensor *loss;

    kr_optim_zero_grad(at, d->optim);
    if (mixed)
        kr_at_autocast(at, true, d->params.autocast);
    logits = forward(at, d);
    if (mixed)
        kr_at_autocast(at, false, d->params.autocast);
    loss = kr_at_bce_with_logits(at, kr_at_to(at, logits, d->params.dtype), d->clicks);
    kr_at_backward(at, loss);
    kr_optim_step(at, d->optim);
    return kr_at_detach(at, loss);
}

static struct kr_tensor *dlrm_step(struct kr_at *at, void *state)
{
    struct dlrm *d = state;
    struct kr_tensor *scores;
    bool record;

    if (d->params.train)
        return train(at, d);
    record = kr_at_grad_mode(at, false);
    scores = kr_at_sigmoid(at, forward(at, d));
    kr_at_grad_mode(at, record);
    return scores;
}

static void dlrm_close(void *state)
{
    struct dlrm *d = state;

    if (!d)
        return;
    kr_optim_free(d->optim);
    kr_params_close(&d->params);
    free(d);
}

const struct kr_model kr_model_dlrm = {
    .name = "dlrm",
    .summary = "DLRM, a recommender with embedding tables",
    .phases = (const char *const[]){ "infer", "train", NULL },
    .presets = (const char *const[]){ "mlperf", "onehot", "rm2", "tiny", NULL },
    .dtype = KR_F32,
    .can_graph = true,
    .takes_batch_only = true,
    .open = dlrm_open,
    .step = dlrm_step,
    .close = dlrm_close,
};

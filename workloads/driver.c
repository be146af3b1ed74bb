#include "driver.h"

#include <string.h>

#include "nearest.h"
#include "opts.h"
#include "opts_help.h"
#include "outcome.h"
#include "status.h"

#define SIZE_LIMIT   UINT64_C(1000000000) /* of batch, seq, layers, steps */
#define SEED_LIMIT   UINT64_C(0x7fffffffffffffff)
#define WARMUP       5
#define DEFAULT_SEED 1

static const struct kr_option options[] = {
    { "phase", 'p', "PHASE", NULL, "what to run of the model; its first phase by default" },
    { "preset", 0, "NAME", NULL, "its size; the first by default" },
    { "batch", 'b', "N", NULL, "samples of a step; the preset's by default" },
    { "seq", 's', "N", NULL, "tokens of a sample; the preset's by default" },
    { "layers", 0, "N", NULL, "how many of its layers; the preset's, or what fits, by default" },
    { "dtype", 0, "TYPE", "f32|bf16|f16", "of weights and activations; of autocast in training" },
    { "device", 'd', "WHERE", "cuda|cpu", "where to run; cuda by default" },
    { "graph", 0, NULL, NULL, "capture a step as a CUDA graph and replay it" },
    { "steps", 'n', "N", NULL, "steps to measure; by default ten blocks of 50 ms or more" },
    { "warmup", 0, "N", NULL, "steps before; 5 by default" },
    { "seed", 0, "N", NULL, "of weights and inputs; 1 by default" },
    { "no-check", 0, NULL, NULL, "do not check results: neither before nor after" },
    { "list", 'l', NULL, NULL, "list the models, their phases and presets" },
    { "json", 0, NULL, NULL, "write JSON" },
    { "help", 'h', NULL, NULL, "show this help" },
    { 0 },
};

static void print_help(FILE *out)
{
    fputs("kreach-workload: runs a model in C on libtorch, marks its steps for profilers, and\n"
          "prints how long they take\n\n"
          "usage: kreach-workload [options] MODEL\n"
          "       kreach-workload --list\n\nmodels:\n",
          out);
    for (size_t i = 0; kr_models[i]; i++) {
        char left[64];

        snprintf(left, sizeof left, "  %s", kr_models[i]->name);
        kr_opts_help_entry(out, left, kr_models[i]->summary);
    }
    fputs("\noptions:\n", out);
    kr_opts_help(out, options);
    fputs("\nWeights and inputs are random. Each run checks a tiny preset of the model against\n"
          "float64 on the CPU first.\n"
          "\nexit status: 0 done; 1 the check says that results are wrong; 2 usage; 4 no such\n"
          "device; 5 out of memory, output failed, or a bug\n"
          "\nexamples:\n"
          "  kreach-workload llama --preset 8b --phase prefill\n"
          "  kreach record --calibrate -- kreach-workload resnet50 --phase train --steps 20\n",
          out);
}

/* The entry of a list that is asked for, the first when none is. */
static bool choose(const struct kr_opts *opts, const char *option, const char *const *list,
                   const char **chosen, struct kr_err *err)
{
    const char *wanted = kr_opts_value(opts, option);
    char known[256] = "";

    *chosen = list[0];
    for (size_t i = 0; wanted && list[i]; i++) {
        size_t len = strlen(known);

        if (strcmp(list[i], wanted) == 0) {
            *chosen = list[i];
            return true;
        }
        snprintf(known + len, sizeof known - len, "%s%s", i ? ", " : "", list[i]);
    }
    return !wanted ||
           kr_fail(err, KR_EARG, "--%s takes one of %s, not '%.64s'", option, known, wanted);
}

/* A size that is at least 1, or 0 when it is not given. */
static bool read_size(const struct kr_opts *opts, const char *option, int64_t *value,
                      struct kr_err *err)
{
    uint64_t number = 0;

    if (!kr_opts_number(opts, option, SIZE_LIMIT, &number, err))
        return false;
    if (kr_opts_count(opts, option) && !number)
        return kr_fail(err, KR_EARG, "--%s must be at least 1", option);
    *value = (int64_t)number;
    return true;
}

static enum kr_dtype read_dtype(const struct kr_opts *opts, const struct kr_model *model)
{
    static const enum kr_dtype known[] = { KR_F32, KR_BF16, KR_F16 };
    const char *name = kr_opts_value(opts, "dtype");

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++) {
        if (strcmp(kr_dtype_name(known[i]), name) == 0)
            return known[i];
    }
    return model->dtype;
}

/* What a model cannot do is refused, not left out. */
static bool fits_model(const struct kr_model *model, const struct kr_run *run,
                       const struct kr_run_options *how, struct kr_err *err)
{
    if (model->takes_batch_only && (run->seq || run->layers))
        return kr_fail(err, KR_EARG, "'%s' takes --batch, but neither --seq nor --layers",
                       model->name);
    if (!run->graph)
        return true;
    if (how->device != KR_CUDA)
        return kr_fail(err, KR_EARG, "--graph needs --device cuda");
    if (!model->can_graph || strcmp(run->phase, "train") == 0)
        return kr_fail(err, KR_EARG, "'%s' cannot run phase '%s' as a CUDA graph", model->name,
                       run->phase);
    return true;
}

static bool read_run(const struct kr_opts *opts, const struct kr_model *model, struct kr_run *run,
                     struct kr_run_options *how, struct kr_err *err)
{
    const char *device = kr_opts_value(opts, "device");
    int64_t steps = 0;
    int64_t warmup = 0;

    run->seed = DEFAULT_SEED;
    run->graph = kr_opts_count(opts, "graph") > 0;
    run->dtype = read_dtype(opts, model);
    if (!choose(opts, "phase", model->phases, &run->phase, err) ||
        !choose(opts, "preset", model->presets, &run->preset, err) ||
        !read_size(opts, "batch", &run->batch, err) || !read_size(opts, "seq", &run->seq, err) ||
        !read_size(opts, "layers", &run->layers, err) || !read_size(opts, "steps", &steps, err) ||
        !read_size(opts, "warmup", &warmup, err) ||
        !kr_opts_number(opts, "seed", SEED_LIMIT, &run->seed, err))
        return false;
    how->device = device && strcmp(device, "cpu") == 0 ? KR_CPU : KR_CUDA;
    how->steps = (uint64_t)steps;
    how->warmup = warmup ? (uint64_t)warmup : WARMUP;
    how->check = kr_opts_count(opts, "no-check") == 0;
    return fits_model(model, run, how, err);
}

static const struct kr_model *find_model(const struct kr_opts *opts, struct kr_err *err)
{
    struct kr_nearest nearest = { 0 };
    const struct kr_model *model;

    if (opts->n_operands != 1) {
        kr_fail(err, KR_EARG, "one model is needed; --list shows them");
        return NULL;
    }
    model = kr_model_find(opts->operands[0]);
    for (size_t i = 0; !model && kr_models[i]; i++)
        kr_nearest_offer(&nearest, opts->operands[0], kr_models[i]->name);
    if (!model && nearest.word)
        kr_fail(err, KR_EARG, "unknown model '%.64s'; did you mean '%s'?", opts->operands[0],
                nearest.word);
    else if (!model)
        kr_fail(err, KR_EARG, "unknown model '%.64s'; --list shows them", opts->operands[0]);
    return model;
}

static bool find_device(enum kr_device device, struct kr_err *err)
{
    return device != KR_CUDA || kr_at_cuda_count() > 0 ||
           kr_fail(err, KR_EENV,
                   "there is no CUDA device, or no driver for it; --device cpu runs without");
}

struct streams {
    FILE *out, *log;
};

/* Runs the model of the command line. *status is set when a check says no. */
static bool run_model(const struct streams *io, const struct kr_opts *opts, int *status,
                      struct kr_err *err)
{
    const struct kr_model *model = find_model(opts, err);
    struct kr_run run = { 0 };
    struct kr_run_options how = { 0 };
    struct kr_run_result result;
    struct kr_outcome outcome = { model, &run, &how, &result };

    if (!model || !read_run(opts, model, &run, &how, err) || !find_device(how.device, err) ||
        !kr_run_workload(model, &run, &how, &result, err))
        return false;
    if (!result.check.holds) {
        fprintf(io->log, "kreach-workload: WRONG RESULT: %s %s, %s: %s\n", model->name, run.phase,
                kr_dtype_name(run.dtype), result.check.why);
        *status = KR_STATUS_NO;
        return true;
    }
    if (kr_opts_count(opts, "json"))
        kr_outcome_json(io->out, &outcome);
    else
        kr_outcome_text(io->out, &outcome);
    return true;
}

static bool run_options(const struct streams *io, const struct kr_opts *opts, int *status,
                        struct kr_err *err)
{
    if (kr_opts_count(opts, "help"))
        print_help(io->out);
    else if (!kr_opts_count(opts, "list"))
        return run_model(io, opts, status, err);
    else if (kr_opts_count(opts, "json"))
        kr_models_json(io->out);
    else
        kr_models_text(io->out);
    return true;
}

int kr_driver_main(FILE *out, FILE *log, int argc, char *const *argv)
{
    struct kr_opts opts = { .tables = { options } };
    struct kr_err err = { .offset = KR_NO_OFFSET };
    const struct streams io = { out, log };
    int status = KR_STATUS_DONE;
    bool good = kr_opts_parse(&opts, argc > 0 ? argc - 1 : 0, argv + 1, &err) &&
                run_options(&io, &opts, &status, &err);

    if (good && fflush(out) != 0)
        good = kr_fail(&err, KR_EOUTPUT, "writing the result failed");
    if (!good) {
        fprintf(log, "kreach-workload: %s\n", err.msg);
        if (err.code == KR_EARG)
            fputs("Try 'kreach-workload --help'.\n", log);
        if (kr_opts_count(&opts, "json") && err.code != KR_EOUTPUT)
            kr_status_write_json(out, &err);
        status = (int)kr_status_of(err.code);
    }
    kr_opts_free(&opts);
    return status;
}

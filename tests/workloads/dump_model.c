/*
 * Writes a small model and what it computes, for comparison with another implementation.
 * Usage: dump_model MODEL PHASE PRESET STEPS FILE [BATCH]
 *
 * FILE: the number of tensors of the model, those tensors in the order in which it made them, then
 * what each step gave. All numbers are doubles in the machine's byte order; a tensor is its number
 * of dimensions, their lengths, and its elements row by row.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mem.h"
#include "weights.h"

static bool number_write(FILE *out, double v)
{
    return fwrite(&v, sizeof v, 1, out) == 1;
}

static bool tensor_write(struct kr_at *at, const struct kr_tensor *t, FILE *out)
{
    const size_t n = (size_t)kr_tensor_numel(t), ndim = kr_tensor_ndim(t);
    double *v = t ? calloc(n + 1, sizeof *v) : NULL;
    bool done = v && kr_at_to_host(at, t, v, n) && number_write(out, (double)ndim);

    for (size_t i = 0; done && i < ndim; i++)
        done = number_write(out, (double)kr_tensor_dim(t, (int)i));
    done = done && fwrite(v, sizeof *v, n, out) == n;
    free(v);
    return done;
}

static bool model_write(struct kr_at *at, const struct kr_params *p, FILE *out)
{
    bool done = number_write(out, (double)p->n);

    for (size_t i = 0; done && i < p->n; i++)
        done = tensor_write(at, p->all[i], out);
    return done;
}

static bool dump(struct kr_at *at, const struct kr_model *model, const struct kr_run *run,
                 int n_steps, FILE *out)
{
    struct kr_built built = { 0 };
    bool done = model->open(at, run, &built) && weights_vary(at, built.state) &&
                model_write(at, built.state, out);

    for (int i = 0; done && i < n_steps; i++) {
        kr_at_scope_open(at);
        done = tensor_write(at, model->step(at, built.state), out);
        kr_at_scope_close(at);
    }
    model->close(built.state);
    return done;
}

int main(int argc, char *argv[])
{
    struct kr_run run = { .dtype = KR_F32, .seed = 11 };
    struct kr_err err = { 0 };
    const struct kr_model *model = argc == 6 || argc == 7 ? kr_model_find(argv[1]) : NULL;
    struct kr_at *at;
    FILE *out;
    bool done;

    if (!model) {
        fprintf(stderr, "usage: dump_model MODEL PHASE PRESET STEPS FILE [BATCH]\n");
        return 2;
    }
    run.phase = argv[2];
    run.preset = argv[3];
    run.batch = argc == 7 ? atoi(argv[6]) : 0;
    at = kr_at_open(KR_CPU, &err);
    out = fopen(argv[5], "wb");
    done = at && out && dump(at, model, &run, atoi(argv[4]), out);
    if (at && kr_at_error(at))
        fprintf(stderr, "dump_model: %s\n", kr_at_error(at)->msg);
    done = out && fclose(out) == 0 && done;
    kr_at_close(at);
    return done ? 0 : 1;
}

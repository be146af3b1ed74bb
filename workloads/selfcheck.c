#include "selfcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* Steps whose losses are compared: enough to see the optimizer, few enough that what training
 * amplifies from step to step is still rounding. Of inference the second is compared, which sees
 * what the first left behind. */
enum { TRAIN_STEPS = 4, INFER_STEPS = 2 };

/* What one run of the tiny preset came to: the elements of its result, or its losses. */
struct values {
    double *items;
    size_t n;
};

/* A failed check is no failure of checking. */
static bool refuse(struct kr_selfcheck *out, const char *what, const char *why)
{
    out->holds = false;
    out->error = INFINITY;
    snprintf(out->why, sizeof out->why, "%.64s: %.180s", what, why);
    return true;
}

static bool is_training(const struct kr_run *run)
{
    return strcmp(run->phase, "train") == 0;
}

/* "tiny", or the tiny one of the preset's variant: "tiny-fused" for "small-fused". */
static const char *tiny_of(const struct kr_model *model, const char *preset)
{
    const char *variant = strchr(preset, '-');
    const char *found = "tiny";

    for (size_t i = 0; variant && model->presets[i]; i++) {
        const char *name = model->presets[i];

        if (strncmp(name, "tiny-", 5) == 0 && strcmp(name + 4, variant) == 0)
            found = name;
    }
    return found;
}

/* Runs all steps; false with a reason in why, or with the error in the context. */
static bool run_steps(struct kr_stepper *s, bool training, struct values *v, char *why)
{
    size_t n_steps = training ? TRAIN_STEPS : INFER_STEPS;

    for (size_t i = 0; i < n_steps; i++) {
        struct kr_tensor *result;
        bool good;

        kr_at_scope_open(s->at);
        if (s->captured)
            kr_at_fill(s->at, s->captured, 0); /* it is the replay that must write it */
        result = kr_stepper_step(s);
        good = kr_stepper_check(s, result, why);
        if (good && training)
            good = kr_at_item(s->at, result, &v->items[i]);
        else if (good && i + 1 == n_steps)
            good = kr_at_to_host(s->at, result, v->items, v->n);
        kr_at_scope_close(s->at);
        if (!good)
            return false;
    }
    return true;
}

static size_t elements_of(const struct kr_built *built)
{
    size_t n = 1;

    for (size_t i = 0; i < built->ndim; i++)
        n *= (size_t)built->shape[i];
    return n;
}

/* Builds and runs one variant of the tiny preset. v->items is the caller's, also on failure. */
static bool compute(const struct kr_model *model, const struct kr_run *run, enum kr_device device,
                    struct values *v, struct kr_selfcheck *out, struct kr_err *err)
{
    struct kr_at *at = kr_at_open(device, err);
    struct kr_stepper s = { 0 };
    char why[KR_WHY_BYTES] = "";
    bool good;

    if (!at)
        return false;
    good = kr_stepper_open(&s, at, model, run);
    if (good) {
        v->n = is_training(run) ? TRAIN_STEPS : elements_of(&s.built);
        v->items = kr_xcalloc(v->n, sizeof *v->items, err);
        good = v->items && run_steps(&s, is_training(run), v, why);
    }
    if (kr_at_error(at))
        *err = *kr_at_error(at);
    kr_stepper_close(&s);
    kr_at_close(at);
    return good || (*why && refuse(out, run->preset, why));
}

static double centred_error(const struct values *a, const struct values *b)
{
    double mean = 0;
    double wrong = 0;
    double spread = 0;

    for (size_t i = 0; i < b->n; i++)
        mean += b->items[i] / (double)b->n;
    for (size_t i = 0; i < b->n; i++) {
        wrong += (a->items[i] - b->items[i]) * (a->items[i] - b->items[i]);
        spread += (b->items[i] - mean) * (b->items[i] - mean);
    }
    return sqrt(wrong / spread);
}

static double fall_of(const struct values *losses)
{
    return losses->items[0] - losses->items[losses->n - 1];
}

static double loss_error(const struct values *a, const struct values *b)
{
    double greatest = 0;

    for (size_t i = 0; i < b->n; i++)
        greatest = fmax(greatest, fabs(a->items[i] - b->items[i]));
    return greatest / fall_of(b);
}

double kr_selfcheck_tolerance(const struct kr_run *run, enum kr_device device)
{
    if (run->dtype == KR_BF16)
        return 16 * 0x1p-8;
    if (run->dtype == KR_F16 || device == KR_CUDA || is_training(run))
        return 16 * 0x1p-11;
    return 256 * 0x1p-24;
}

/* b is the reference. */
static void judge(const struct values *a, const struct values *b, bool training,
                  struct kr_selfcheck *out)
{
    if (a->n != b->n) {
        refuse(out, "tiny", "the number of results differs from the reference's");
        return;
    }
    if (training && (fall_of(a) <= 0 || fall_of(b) <= 0)) {
        refuse(out, "tiny", "the loss does not fall");
        return;
    }
    out->error = training ? loss_error(a, b) : centred_error(a, b);
    out->holds = out->error <= out->tolerance; /* false for NaN: a constant reference */
    if (!out->holds)
        snprintf(out->why, sizeof out->why,
                 "it differs from float64 on the CPU by %.3g, more than %.3g", out->error,
                 out->tolerance);
}

/* a is of the run's dtype and device, b the reference. */
static bool compare(const struct kr_model *model, const struct kr_run *tiny, enum kr_device device,
                    struct kr_selfcheck *out, struct kr_err *err)
{
    struct kr_run exact = *tiny;
    struct values a = { 0 };
    struct values b = { 0 };
    bool done = compute(model, tiny, device, &a, out, err);

    exact.dtype = KR_F64;
    exact.graph = false;
    if (done && out->holds)
        done = compute(model, &exact, KR_CPU, &b, out, err);
    if (done && out->holds)
        judge(&a, &b, is_training(tiny), out);
    free(a.items);
    free(b.items);
    return done;
}

bool kr_selfcheck(const struct kr_model *model, const struct kr_run *run, enum kr_device device,
                  struct kr_selfcheck *out, struct kr_err *err)
{
    const struct kr_run tiny = { .preset = tiny_of(model, run->preset),
                                 .phase = run->phase,
                                 .dtype = run->dtype,
                                 .graph = run->graph,
                                 .host_random = true,
                                 .seed = run->seed };

    *out = (struct kr_selfcheck){ .holds = true, .tolerance = kr_selfcheck_tolerance(run, device) };
    return compare(model, &tiny, device, out, err);
}

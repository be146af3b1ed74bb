#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mem.h"

#define BLOCK_NS 50e6 /* long against a wait for the device, tens of microseconds */
#define AUTO_NS  20e9 /* measure no longer than that, unless told to */

enum { AUTO_BLOCKS = 10, FEWEST_BLOCKS = 3, QUARTILE_BLOCKS = 4, PROBES = 3, PROBE_STEPS = 2 };

/* A workload being run. */
struct runner {
    struct kr_at *at;
    struct kr_stepper stepper;
    struct kr_stream *marks[2]; /* each waits for one of the last two steps; NULL on the CPU */
    uint64_t n_steps;           /* so far: of the warm-up, then of those measured */
};

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * Waits for the step before the one just launched. So the next is launched while the device is
 * busy, and yet the host keeps the device's pace: a range's start says when its step could begin.
 */
static void wait_for_earlier_step(struct runner *r)
{
    if (!r->marks[0])
        return;
    kr_at_use_stream(r->at, r->marks[r->n_steps % 2]);
    kr_at_wait_stream(r->at, NULL);
    kr_at_use_stream(r->at, NULL);
    kr_at_synchronize_stream(r->at, r->marks[(r->n_steps + 1) % 2]);
}

static bool run_step(struct runner *r, bool marked)
{
    char name[48];

    snprintf(name, sizeof name, "step %llu", (unsigned long long)r->n_steps);
    if (marked)
        kr_nvtx_push(name);
    kr_at_scope_open(r->at);
    kr_stepper_step(&r->stepper);
    kr_at_scope_close(r->at);
    if (marked)
        kr_nvtx_pop();
    wait_for_earlier_step(r);
    r->n_steps++;
    return kr_at_ok(r->at);
}

/* The time of n steps and of the wait for the last of them. */
static bool run_block(struct runner *r, bool marked, uint64_t n, double *ns)
{
    double start_ns;

    if (!kr_at_synchronize(r->at))
        return false;
    start_ns = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        if (!run_step(r, marked))
            return false;
    }
    if (!kr_at_synchronize(r->at))
        return false;
    *ns = now_ns() - start_ns;
    return true;
}

/* The step is the fastest of a few short probes: what disturbs one only makes it longer. */
static bool warm_up(struct runner *r, uint64_t n, double *step_ns)
{
    double ns;

    if (!run_block(r, false, n, &ns))
        return false;
    *step_ns = INFINITY;
    for (int i = 0; i < PROBES; i++) {
        if (!run_block(r, false, PROBE_STEPS, &ns))
            return false;
        *step_ns = fmin(*step_ns, ns / PROBE_STEPS);
        if (*step_ns >= BLOCK_NS)
            break; /* a block of its own in any case */
    }
    r->n_steps = 0;
    return true;
}

/* How many steps, in blocks of how many. */
static void plan(double step_ns, uint64_t wanted_steps, struct kr_run_result *out)
{
    double block_ns = fmax(BLOCK_NS, step_ns);
    uint64_t block = (uint64_t)fmax(1, ceil(BLOCK_NS / fmax(step_ns, 1)));
    double blocks = fmin(AUTO_BLOCKS, fmax(FEWEST_BLOCKS, AUTO_NS / block_ns));

    out->n_steps = wanted_steps ? wanted_steps : block * (uint64_t)blocks;
    out->block_steps = block < out->n_steps ? block : out->n_steps;
    out->n_blocks = out->n_steps / out->block_steps;
}

static int by_size(const void *pa, const void *pb)
{
    const double *a = pa;
    const double *b = pb;

    return KR_COMPARE(*a, *b);
}

/* The value below which a share of the n sorted values lies, between neighbours by distance. */
static double quantile(const double *values, uint64_t n, double frac)
{
    double place = frac * (double)(n - 1);
    uint64_t below = (uint64_t)place;
    uint64_t above = below + 1 < n ? below + 1 : below;

    return values[below] + (place - (double)below) * (values[above] - values[below]);
}

static bool measure(struct runner *r, struct kr_run_result *out, struct kr_err *err)
{
    double *step_ns = kr_xcalloc(out->n_blocks, sizeof *step_ns, err);
    bool good = step_ns != NULL;

    for (uint64_t i = 0; good && i < out->n_blocks; i++) {
        bool last = i + 1 == out->n_blocks;
        uint64_t n = last ? out->n_steps - i * out->block_steps : out->block_steps;

        good = run_block(r, true, n, &step_ns[i]);
        step_ns[i] /= (double)n;
    }
    if (good) {
        bool spread = out->n_blocks >= QUARTILE_BLOCKS;

        qsort(step_ns, out->n_blocks, sizeof *step_ns, by_size);
        out->step_ns = quantile(step_ns, out->n_blocks, 0.5);
        out->low_ns = spread ? quantile(step_ns, out->n_blocks, 0.25) : NAN;
        out->high_ns = spread ? quantile(step_ns, out->n_blocks, 0.75) : NAN;
    }
    free(step_ns);
    return good;
}

/* One more step, whose result is looked at. */
static bool check_result(struct runner *r, struct kr_selfcheck *check)
{
    char why[KR_WHY_BYTES];
    bool good;

    kr_at_scope_open(r->at);
    good = kr_stepper_check(&r->stepper, kr_stepper_step(&r->stepper), why);
    kr_at_scope_close(r->at);
    if (!good && *why) {
        check->holds = false;
        snprintf(check->why, sizeof check->why, "after the measured steps %.200s", why);
    }
    return good || *why;
}

static bool set_up(struct runner *r, const struct kr_model *model, const struct kr_run *run)
{
    bool cuda = kr_at_device(r->at) == KR_CUDA;

    if (cuda)
        kr_at_memory_reset_peak(r->at);
    for (int i = 0; cuda && i < 2; i++)
        r->marks[i] = kr_at_stream(r->at);
    return kr_stepper_open(&r->stepper, r->at, model, run);
}

static void tear_down(struct runner *r)
{
    kr_stepper_close(&r->stepper);
    kr_stream_free(r->marks[0]);
    kr_stream_free(r->marks[1]);
    kr_at_close(r->at);
}

static void take_facts(struct runner *r, struct kr_run_result *out)
{
    struct kr_at_memory memory;

    out->built = r->stepper.built;
    out->built.state = NULL;
    snprintf(out->device_name, sizeof out->device_name, "%s", kr_at_device_name(r->at));
    if (kr_at_device(r->at) == KR_CUDA && kr_at_memory(r->at, &memory))
        out->peak_bytes = memory.peak_bytes;
}

static bool run_all(struct runner *r, const struct kr_run_options *options,
                    struct kr_run_result *out, struct kr_err *err)
{
    double step_ns;

    if (!warm_up(r, options->warmup, &step_ns))
        return false;
    plan(step_ns, options->steps, out);
    if (!measure(r, out, err))
        return false;
    take_facts(r, out);
    return !options->check || check_result(r, &out->check);
}

bool kr_run_workload(const struct kr_model *model, const struct kr_run *run,
                     const struct kr_run_options *options, struct kr_run_result *out,
                     struct kr_err *err)
{
    struct runner r = { 0 };
    bool good;

    *out = (struct kr_run_result){ .checked = options->check };
    out->check.holds = true;
    if (options->check && !kr_selfcheck(model, run, options->device, &out->check, err))
        return kr_wrap(err, "checking %s", model->name);
    if (!out->check.holds)
        return true;
    r.at = kr_at_open(options->device, err);
    if (!r.at)
        return false;
    good = set_up(&r, model, run) && run_all(&r, options, out, err);
    if (kr_at_error(r.at))
        *err = *kr_at_error(r.at);
    tear_down(&r);
    return good;
}

#include "stepper.h"

#include <stdio.h>

/* Runs of a step before it is captured: torch sets up its libraries lazily, and its own advice for
 * captures is a few. */
enum { RUNS_BEFORE_CAPTURE = 3 };

static void run_unseen(struct kr_stepper *s, int n)
{
    for (int i = 0; i < n; i++) {
        kr_at_scope_open(s->at);
        s->model->step(s->at, s->built.state);
        kr_at_scope_close(s->at);
    }
}

/* On the side stream, which waits for what the model's building gave to the main one. */
static void capture(struct kr_stepper *s)
{
    kr_at_wait_stream(s->at, NULL);
    run_unseen(s, RUNS_BEFORE_CAPTURE);
    kr_at_synchronize(s->at);
    s->graph = kr_at_graph_begin(s->at);
    if (!s->graph)
        return;
    kr_at_scope_open(s->at);
    s->captured = kr_at_keep(s->at, s->model->step(s->at, s->built.state));
    kr_at_scope_close(s->at);
    kr_at_graph_end(s->at, s->graph);
}

bool kr_stepper_open(struct kr_stepper *s, struct kr_at *at, const struct kr_model *model,
                     const struct kr_run *run)
{
    s->at = at;
    s->model = model;
    if (!model->open(at, run, &s->built))
        return kr_at_fail(at, KR_EARG, "%s cannot be built", model->name);
    if (!run->graph)
        return kr_at_ok(at);
    s->side = kr_at_stream(at);
    if (s->side && kr_at_use_stream(at, s->side)) {
        capture(s);
        kr_at_use_stream(at, NULL);
    }
    kr_at_synchronize(at);
    return kr_at_ok(at);
}

void kr_stepper_close(struct kr_stepper *s)
{
    kr_tensor_free(s->captured);
    kr_graph_free(s->graph);
    kr_stream_free(s->side);
    if (s->model)
        s->model->close(s->built.state);
    *s = (struct kr_stepper){ 0 };
}

struct kr_tensor *kr_stepper_step(struct kr_stepper *s)
{
    if (!s->graph)
        return s->model->step(s->at, s->built.state);
    return kr_at_graph_replay(s->at, s->graph) ? s->captured : NULL;
}

static bool has_shape(const struct kr_tensor *t, const int64_t shape[], size_t ndim)
{
    if (kr_tensor_ndim(t) != ndim)
        return false;
    for (size_t i = 0; i < ndim; i++) {
        if (kr_tensor_dim(t, (int)i) != shape[i])
            return false;
    }
    return true;
}

bool kr_stepper_check(struct kr_stepper *s, const struct kr_tensor *result, char *why)
{
    bool finite = false;

    *why = '\0';
    if (!result || !kr_at_all_finite(s->at, result, &finite))
        return false;
    if (!has_shape(result, s->built.shape, s->built.ndim)) {
        snprintf(why, KR_WHY_BYTES, "its result has another shape than the model says");
        return false;
    }
    if (!finite)
        snprintf(why, KR_WHY_BYTES, "its result is not finite");
    return finite;
}

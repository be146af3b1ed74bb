#include "outcome.h"

#include <math.h>

#include "json_writer.h"
#include "text.h"

const char *kr_dtype_name(enum kr_dtype dtype)
{
    static const char *const names[] = {
        [KR_F32] = "f32", [KR_F64] = "f64", [KR_F16] = "f16", [KR_BF16] = "bf16",
        [KR_I64] = "i64", [KR_I32] = "i32", [KR_U8] = "u8",   [KR_BOOL] = "bool",
    };

    return names[dtype];
}

/* count in each step, per second; NAN when the model has none. */
static double rate_of(const struct kr_run_result *r, double count)
{
    return count > 0 ? count / (r->step_ns / 1e9) : NAN;
}

/* Three digits and a prefix: "61.2 T". */
static struct kr_number with_prefix(double value)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    struct kr_number text;
    size_t i = 0;

    for (; value >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes; i++)
        value /= 1000;
    snprintf(text.s, sizeof text.s, "%.*f %s",
             value < 9.995   ? 2
             : value < 99.95 ? 1
                             : 0,
             value, prefixes[i]);
    return text;
}

static void print_check(FILE *out, const struct kr_outcome *o)
{
    const struct kr_selfcheck *check = &o->result->check;

    if (!o->result->checked)
        fputs("NOT CHECKED: the results may be wrong\n", out);
    else
        fprintf(
            out,
            "checked: result finite; tiny preset within %.2g of float64 on the CPU (%.2g is allowed)\n",
            check->error, check->tolerance);
}

static void print_rates(FILE *out, const struct kr_run_result *r)
{
    const struct kr_built *b = &r->built;

    fprintf(out, "%ssamples/s", with_prefix(rate_of(r, (double)b->batch)).s);
    if (b->tokens > 0)
        fprintf(out, ", %stokens/s", with_prefix(rate_of(r, (double)b->tokens)).s);
    if (b->flop > 0)
        fprintf(out, ", %sFLOP/s", with_prefix(rate_of(r, b->flop)).s);
    fprintf(out, "\n%sparameters", with_prefix((double)b->n_params).s);
    if (r->peak_bytes)
        fprintf(out, ", at most %s of tensors", kr_text_bytes(r->peak_bytes).s);
    fputc('\n', out);
}

void kr_outcome_text(FILE *out, const struct kr_outcome *o)
{
    const struct kr_run_result *r = o->result;

    fprintf(out, "%s %s, preset %s, batch %lld", o->model->name, o->run->phase, o->run->preset,
            (long long)r->built.batch);
    if (r->built.seq)
        fprintf(out, ", sequence %lld", (long long)r->built.seq);
    fprintf(out, ", %s%s, on %s, torch %s\n", kr_dtype_name(o->run->dtype),
            o->run->graph ? ", CUDA graph" : "", r->device_name, kr_at_torch_version());
    print_check(out, o);
    fprintf(out, "step %s", kr_text_duration(r->step_ns).s);
    if (isfinite(r->low_ns))
        fprintf(out, ", quartiles %s and %s", kr_text_duration(r->low_ns).s,
                kr_text_duration(r->high_ns).s);
    fprintf(out, " (%llu step%s in %llu block%s)\n", (unsigned long long)r->n_steps,
            r->n_steps == 1 ? "" : "s", (unsigned long long)r->n_blocks,
            r->n_blocks == 1 ? "" : "s");
    print_rates(out, r);
    if (*r->built.note)
        fprintf(out, "note: %s\n", r->built.note);
}

static void json_if(struct kr_json *json, const char *key, bool known, int64_t value)
{
    if (known)
        kr_json_i64(json, key, value);
    else
        kr_json_null(json, key);
}

static void json_what(struct kr_json *json, const struct kr_outcome *o)
{
    const struct kr_built *b = &o->result->built;

    kr_json_str(json, "model", o->model->name);
    kr_json_str(json, "phase", o->run->phase);
    kr_json_str(json, "preset", o->run->preset);
    kr_json_i64(json, "batch", b->batch);
    json_if(json, "seq", b->seq > 0, b->seq);
    json_if(json, "tokens", b->tokens > 0, b->tokens);
    kr_json_str(json, "dtype", kr_dtype_name(o->run->dtype));
    kr_json_bool(json, "graph", o->run->graph);
    kr_json_u64(json, "seed", o->run->seed);
    kr_json_str(json, "note", *b->note ? b->note : NULL);
    kr_json_str(json, "device", o->options->device == KR_CUDA ? "cuda" : "cpu");
    kr_json_str(json, "device_name", o->result->device_name);
    kr_json_str(json, "torch_version", kr_at_torch_version());
    kr_json_u64(json, "n_params", b->n_params);
    kr_json_num(json, "flop", b->flop > 0 ? b->flop : NAN);
}

static void json_check(struct kr_json *json, const struct kr_run_result *r)
{
    kr_json_object(json, "check");
    kr_json_bool(json, "made", r->checked);
    kr_json_num(json, "error", r->checked ? r->check.error : NAN);
    kr_json_num(json, "tolerance", r->checked ? r->check.tolerance : NAN);
    kr_json_close(json);
}

void kr_outcome_json(FILE *out, const struct kr_outcome *o)
{
    const struct kr_run_result *r = o->result;
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.workload", 1);
    json_what(&json, o);
    json_check(&json, r);
    kr_json_u64(&json, "warmup", o->options->warmup);
    kr_json_u64(&json, "n_steps", r->n_steps);
    kr_json_u64(&json, "n_blocks", r->n_blocks);
    kr_json_object(&json, "step_ns");
    kr_json_num(&json, "median", r->step_ns);
    kr_json_num(&json, "low_quartile", r->low_ns);
    kr_json_num(&json, "high_quartile", r->high_ns);
    kr_json_close(&json);
    kr_json_num(&json, "samples_per_s", rate_of(r, (double)r->built.batch));
    kr_json_num(&json, "tokens_per_s", rate_of(r, (double)r->built.tokens));
    kr_json_num(&json, "flop_per_s", rate_of(r, r->built.flop));
    json_if(&json, "peak_bytes", r->peak_bytes > 0, (int64_t)r->peak_bytes);
    kr_json_end(&json);
}

static void print_list(FILE *out, const char *name, const char *const *items)
{
    fprintf(out, "  %s", name);
    for (size_t i = 0; items[i]; i++)
        fprintf(out, "%s %s", i ? "," : "", items[i]);
    fputc('\n', out);
}

void kr_models_text(FILE *out)
{
    for (size_t i = 0; kr_models[i]; i++) {
        const struct kr_model *m = kr_models[i];

        fprintf(out, "%s: %s; %s\n", m->name, m->summary, kr_dtype_name(m->dtype));
        print_list(out, "phases:", m->phases);
        print_list(out, "presets:", m->presets);
    }
}

static void json_list(struct kr_json *json, const char *key, const char *const *items)
{
    kr_json_array(json, key);
    for (size_t i = 0; items[i]; i++)
        kr_json_str(json, NULL, items[i]);
    kr_json_close(json);
}

void kr_models_json(FILE *out)
{
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.workloads", 1);
    kr_json_array(&json, "models");
    for (size_t i = 0; kr_models[i]; i++) {
        const struct kr_model *m = kr_models[i];

        kr_json_object(&json, NULL);
        kr_json_str(&json, "name", m->name);
        kr_json_str(&json, "summary", m->summary);
        json_list(&json, "phases", m->phases);
        json_list(&json, "presets", m->presets);
        kr_json_str(&json, "dtype", kr_dtype_name(m->dtype));
        kr_json_bool(&json, "can_graph", m->can_graph);
        kr_json_bool(&json, "takes_batch_only", m->takes_batch_only);
        kr_json_close(&json);
    }
    kr_json_close(&json);
    kr_json_end(&json);
}

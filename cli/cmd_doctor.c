/* kreach doctor: what stands between this machine and a recording. */
#include "commands.h"
#include "doctor.h"
#include "json_writer.h"
#include "text.h"

static const char *verdict_text(enum kr_health verdict)
{
    static const char *const texts[] = {
        [KR_HEALTH_GOOD] = "Recording works here.",
        [KR_HEALTH_NOTE] = "Recording works here.",
        [KR_HEALTH_TROUBLE] = "Recording may fail here: see what is marked 'trouble'.",
        [KR_HEALTH_FATAL] = "Recording cannot work here: see what is marked 'fatal'.",
    };

    return texts[verdict];
}

static enum kr_paint paint_of(enum kr_health health)
{
    static const enum kr_paint paints[] = { KR_GREEN, KR_PLAIN, KR_YELLOW, KR_RED };

    return paints[health];
}

static void print_version(FILE *out, uint32_t version)
{
    struct kr_cuda_release release = kr_doctor_release_of(version);

    if (release.major)
        fprintf(out, "CUDA %u.%u%s", release.major, release.minor,
                version == KR_CUPTI_11_8 ? " to 12.1" : "");
    else
        fprintf(out, "version %u", version);
}

static void print_cuptis(const struct kr_call *call, const struct kr_doctor *d)
{
    if (!d->n_cuptis)
        return;
    fputs("\nCopies of CUPTI, in the order of search\n", call->out);
    for (size_t i = 0; i < d->n_cuptis; i++) {
        const struct kr_doctor_cupti *c = &d->cuptis[i];

        fputs(c->chosen ? "* " : "  ", call->out);
        kr_plain_text(call->out, c->path);
        fputs(" (", call->out);
        if (c->version)
            print_version(call->out, c->version);
        else
            fputs("cannot be loaded", call->out);
        if (c->version && !c->fits_driver)
            fputs(", newer than the driver", call->out);
        fprintf(call->out, "; by %s)\n", c->found_by);
    }
}

static void print_text(const struct kr_call *call, const struct kr_doctor *d)
{
    const struct kr_style *style = &call->style;

    for (size_t i = 0; i < d->n_findings; i++) {
        const struct kr_finding *f = &d->findings[i];

        fprintf(call->out, "%s%-8s%s", kr_style_paint(style, paint_of(f->health)),
                kr_health_name(f->health), style->color ? kr_style_paint(style, KR_PLAIN) : "");
        fprintf(call->out, " %-12s", f->topic);
        kr_plain_text(call->out, f->text);
        fputc('\n', call->out);
        if (*f->advice)
            fprintf(call->out, "%21s-> %s\n", "", f->advice);
    }
    print_cuptis(call, d);
    fprintf(call->out, "\n%s\n", verdict_text(kr_doctor_verdict(d)));
}

static void print_json_gpus(struct kr_json *json, const struct kr_doctor *d)
{
    kr_json_array(json, "gpus");
    for (size_t i = 0; i < d->n_gpus; i++) {
        const struct kr_doctor_gpu *g = &d->gpus[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "name", *g->name ? g->name : NULL);
        kr_json_str(json, "uuid", *g->uuid ? g->uuid : NULL);
        kr_json_known_u64(json, "memory_bytes", g->memory_bytes, g->memory_bytes);
        kr_json_known_u64(json, "sm_count", g->sm_count, g->sm_count);
        kr_json_known_u64(json, "cc_major", g->cc_major, g->cc_major);
        kr_json_known_u64(json, "cc_minor", g->cc_major, g->cc_minor);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void print_json_cuptis(struct kr_json *json, const struct kr_doctor *d)
{
    kr_json_array(json, "cupti");
    for (size_t i = 0; i < d->n_cuptis; i++) {
        const struct kr_doctor_cupti *c = &d->cuptis[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "path", c->path);
        kr_json_str(json, "found_by", c->found_by);
        kr_json_known_u64(json, "version", c->version, c->version);
        kr_json_bool(json, "fits_driver", c->fits_driver);
        kr_json_bool(json, "chosen", c->chosen);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void print_json_findings(struct kr_json *json, const struct kr_doctor *d)
{
    kr_json_array(json, "findings");
    for (size_t i = 0; i < d->n_findings; i++) {
        const struct kr_finding *f = &d->findings[i];

        kr_json_object(json, NULL);
        kr_json_str(json, "health", kr_health_name(f->health));
        kr_json_str(json, "topic", f->topic);
        kr_json_str(json, "text", f->text);
        kr_json_str(json, "advice", *f->advice ? f->advice : NULL);
        kr_json_close(json);
    }
    kr_json_close(json);
}

static void print_json(const struct kr_call *call, const struct kr_doctor *d)
{
    enum kr_health verdict = kr_doctor_verdict(d);
    struct kr_json json;

    kr_json_begin(&json, call->out, "kreach.doctor", 1);
    kr_json_bool(&json, "can_record", verdict != KR_HEALTH_FATAL);
    kr_json_str(&json, "verdict", kr_health_name(verdict));
    kr_json_str(&json, "driver", *d->driver ? d->driver : NULL);
    kr_json_known_u64(&json, "driver_cuda_version", d->cuda_version, d->cuda_version);
    print_json_gpus(&json, d);
    print_json_cuptis(&json, d);
    print_json_findings(&json, d);
    kr_json_end(&json);
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct kr_doctor *d = kr_doctor_examine(err);

    if (!d)
        return false;
    if (kr_doctor_verdict(d) == KR_HEALTH_FATAL)
        call->status = KR_STATUS_MISSING;
    if (call->format == KR_FORMAT_JSON)
        print_json(call, d);
    else
        print_text(call, d);
    kr_doctor_free(d);
    return true;
}

static const struct kr_option options[] = {
    { "json", 0, NULL, NULL, "write JSON" },
    { 0 },
};

const struct kr_command kr_cmd_doctor = {
    .name = "doctor",
    .args = "",
    .summary = "check that this machine can record, and say what is in the way",
    .details = "Looks at the driver, the GPUs, every copy of CUPTI, containers, rights and other\n"
               "tools. Ends with status 4 when nothing could be recorded here.\n"
               "\n"
               "Examples:\n"
               "  kreach doctor\n"
               "  kreach doctor --json\n",
    .options = options,
    .run = run,
};

#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "mem.h"
#include "shares.h"
#include "term.h"
#include "text.h"

struct kr_rules *kr_load_rules(const struct kr_call *call, struct kr_err *err)
{
    struct kr_rules_options options = { .policy = kr_opts_value(&call->opts, "policy") };
    const char **files;
    struct kr_rules *rules;

    options.n_rule_files = kr_opts_count(&call->opts, "rules");
    files = kr_xcalloc(options.n_rule_files, sizeof *files, err);
    if (!files)
        return NULL;
    for (size_t i = 0; i < options.n_rule_files; i++)
        files[i] = kr_opts_nth(&call->opts, "rules", (unsigned)i);
    options.rule_files = files;
    rules = kr_rules_load(&options, err);
    free(files);
    return rules;
}

bool kr_load_sigma(const struct kr_call *call, struct kr_sigma_file *out, struct kr_err *err)
{
    for (unsigned i = 0; i < kr_opts_count(&call->opts, "sigma"); i++) {
        struct kr_sigma_file more = { 0 };
        bool good;

        if (!kr_sigma_read(kr_opts_nth(&call->opts, "sigma", i), i ? &more : out, err))
            return false;
        good = i == 0 || kr_sigma_append(out, &more, err);
        kr_sigma_free(&more);
        if (!good)
            return false;
    }
    return true;
}

static void warn_of_losses(const struct kr_call *call, const struct kr_timeline *t)
{
    for (int w = 0; w < KR_WARN_COUNT; w++) {
        const struct kr_warning *warning = &t->warnings[w];
        char place[48] = "";

        if (!warning->count || (!kr_warn_loses_data((enum kr_warn)w) && !call->verbose))
            continue;
        if (warning->first_offset != KR_NO_OFFSET)
            snprintf(place, sizeof place, ", first at byte %llu",
                     (unsigned long long)warning->first_offset);
        kr_call_warn(call, "%s: %s (%s%s)", t->source.path, kr_warn_text((enum kr_warn)w),
                     kr_text_count(warning->count).s, place);
    }
}

struct kr_timeline *kr_load_timeline(const struct kr_call *call, const char *path,
                                     struct kr_err *err)
{
    struct kr_import_options options = { 0 };
    bool progress = !call->quiet && kr_term_shows_progress(call->log);
    struct kr_timeline *t;
    uint64_t threads = 0;

    if (!kr_opts_number(&call->opts, "threads", KR_THREADS_MAX, &threads, err))
        return NULL;
    options.threads = (unsigned)threads;
    if (progress) {
        options.progress = kr_term_progress;
        options.progress_user = call->log;
    }
    t = kr_import_file(path, &options, err);
    if (progress)
        kr_term_progress_end(call->log);
    if (t)
        warn_of_losses(call, t);
    return t;
}

bool kr_load_wall(const struct kr_call *call, uint64_t *wall_step_ns, struct kr_err *err)
{
    const char *text = kr_opts_value(&call->opts, "wall");

    *wall_step_ns = 0;
    if (!text)
        return true;
    if (!kr_parse_duration(text, wall_step_ns, err))
        return kr_wrap(err, "--wall");
    return *wall_step_ns > 0 || kr_fail(err, KR_EARG, "--wall: a step cannot take no time");
}

/* What somebody chose to record is wanted whole; of a whole program, what it does again and again.
 */
static const char *default_window(const struct kr_call *call, const struct kr_source *source)
{
    bool steps_matter =
        source->whole_program || source->steps.plain_step_ns || kr_opts_value(&call->opts, "wall");

    return steps_matter ? "steady" : "all";
}

static double busy_step_ns(const struct kr_run *run)
{
    const struct kr_account *a = &run->account;

    return (double)a->time.busy_ns / ((double)a->n_steps * (double)a->n_devices);
}

uint64_t kr_load_plain_step(const struct kr_call *call, uint64_t wall_step_ns,
                            const struct kr_run *run)
{
    const struct kr_source *source = &run->timeline->source;
    struct kr_err err = { 0 };

    if (wall_step_ns || !source->steps.plain_step_ns)
        return wall_step_ns;
    if (kr_window_check_timed_steps(&run->window, &source->steps, busy_step_ns(run), &err))
        return source->steps.plain_step_ns;
    kr_call_warn(call, "%s: the recorded step time is not used: %s", source->path, err.msg);
    return 0;
}

bool kr_load_run(const struct kr_call *call, const struct kr_rules *rules, const char *path,
                 struct kr_run *out, struct kr_err *err)
{
    const char *spec = kr_opts_value(&call->opts, "window");
    struct kr_timeline *t;

    if (kr_opts_count(&call->opts, "shares"))
        return kr_shares_read(path, rules, out, err);
    t = kr_load_timeline(call, path, err);
    if (!t)
        return false;
    if (!spec)
        spec = default_window(call, &t->source);
    return kr_run_analyse(t, rules, spec, out, err) || kr_wrap(err, "%s", path);
}

enum kr_status kr_load_status(const struct kr_call *call, const struct kr_timeline *t)
{
    bool strict = kr_opts_count(&call->opts, "strict") > 0;

    if (t->source.truncated || (strict && !kr_timeline_complete(t)))
        return KR_STATUS_INPUT;
    return KR_STATUS_DONE;
}

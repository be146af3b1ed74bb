/* kreach record: runs a program with libkreach.so inside and saves what its processes did. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "mem.h"
#include "output.h"
#include "record.h"
#include "record_steps.h"
#include "step_times.h"
#include "text.h"
#include "text_parts.h"
#include "window.h"

enum { OPTIONS_BYTES = 1024, COMMAND_BYTES = 4096 }; /* options: as libkreach.so has room for */
#define MAX_STEPS       UINT64_C(1000000)
#define MAX_CAP_MIB     (UINT64_C(1) << 20)
#define MAX_SIZE_MIB    (UINT64_C(1) << 24)
#define MIN_DURATION_NS UINT64_C(1000000)
#define MAX_DURATION_NS UINT64_C(10000000000000000)

/* One recording from beginning to end. */
struct session {
    struct kr_call *call;
    struct kr_record_signals signals;
    char library[PATH_MAX];
    char folder[PATH_MAX];       /* of the parts; "" = not made */
    char plain_folder[PATH_MAX]; /* of the second, plain run's */
    char default_path[NAME_MAX + 1];
    const char *path; /* where the recording goes */
    char run_id[KR_RUN_ID_BYTES];
    char options[OPTIONS_BYTES];
    char started_ns[24];
    struct kr_bytes calibration;  /* payload; empty = not measured */
    struct kr_step_times staying; /* of steps outside of the window; zeroed = not measured */
    struct kr_record_end end;
    struct kr_record_sum sum;
};

/* A failure of recording that must not pass for the program's status. */
static void fail_with(struct session *s, int status, const struct kr_err *err)
{
    fputs("kreach: ", s->call->log);
    kr_plain_text(s->call->log, err->msg);
    fputc('\n', s->call->log);
    if (s->end.status == 0 || !s->end.pid)
        s->call->status = (enum kr_status)status;
}

static bool add_option(struct session *s, const char *text, struct kr_err *err)
{
    size_t len = strlen(s->options);
    int n = snprintf(s->options + len, sizeof s->options - len, "%s%s", len ? "," : "", text);

    if (n < 0 || (size_t)n >= sizeof s->options - len)
        return kr_fail(err, KR_EARG, "the options are too long");
    return true;
}

/* "name=SECONDS" from a duration such as 1.5s; libkreach.so takes no others than these. */
static bool add_duration(struct session *s, const char *name, uint64_t min_ns, struct kr_err *err)
{
    const char *value = kr_opts_value(&s->call->opts, name);
    char text[64];
    uint64_t ns;

    if (!value)
        return true;
    if (!kr_parse_duration(value, &ns, err))
        return kr_wrap(err, "--%s", name);
    if (ns < min_ns || ns > MAX_DURATION_NS)
        return kr_fail(err, KR_EARG, "--%s takes %s to %s, not '%.60s'", name,
                       kr_text_duration((double)min_ns).s,
                       kr_text_duration((double)MAX_DURATION_NS).s, value);
    snprintf(text, sizeof text, "%s=%llu.%09llu", name, (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns % 1000000000));
    return add_option(s, text, err);
}

static bool add_number(struct session *s, const char *name, uint64_t max, struct kr_err *err)
{
    char text[64];
    uint64_t number = 0;

    if (!kr_opts_number(&s->call->opts, name, max, &number, err))
        return false;
    if (!kr_opts_count(&s->call->opts, name))
        return true;
    if (!number)
        return kr_fail(err, KR_EARG, "--%s must be at least 1", name);
    snprintf(text, sizeof text, "%s=%llu", name, (unsigned long long)number);
    return add_option(s, text, err);
}

/* A range's name may hold commas, which are written as "\,". */
static bool add_range(struct session *s, struct kr_err *err)
{
    const char *name = kr_opts_value(&s->call->opts, "range");
    char text[512] = "range=";
    size_t len = strlen(text);

    if (!name)
        return true;
    if (!*name || strlen(name) > 120)
        return kr_fail(err, KR_EARG, "--range takes a name of 1 to 120 bytes");
    if (name[strlen(name) - 1] == '\\') /* it would take the comma behind it along */
        return kr_fail(err, KR_EARG, "--range takes no name that ends with a backslash");
    for (; *name; name++) {
        if (*name == ',')
            text[len++] = '\\';
        text[len++] = *name;
    }
    text[len] = '\0';
    return add_option(s, text, err);
}

/* Whether the true step time is wanted. */
static bool calibrates(const struct session *s)
{
    const struct kr_opts *opts = &s->call->opts;

    return kr_opts_count(opts, "calibrate") || kr_opts_count(opts, "twice");
}

/* Whether the steps can be timed within the run: these options choose stretches themselves. */
static bool takes_turns(const struct session *s)
{
    const struct kr_opts *opts = &s->call->opts;

    return calibrates(s) && !kr_opts_count(opts, "twice") && !kr_opts_count(opts, "range") &&
           !kr_opts_count(opts, "profiler-api") && !kr_opts_count(opts, "steps");
}

/* The user's options go behind ours; together they must fit. */
static bool check_room(const struct session *s, struct kr_err *err)
{
    const char *more = getenv("KREACH_OPTIONS");

    return !more || strlen(s->options) + 1 + strlen(more) < sizeof s->options ||
           kr_fail(err, KR_EARG, "KREACH_OPTIONS is too long");
}

/* Whether the window ends for good before the program does. */
static bool has_end(const struct session *s)
{
    const struct kr_opts *opts = &s->call->opts;

    return kr_opts_count(opts, "steps") || kr_opts_count(opts, "duration");
}

/* Translates our options into those of libkreach.so. */
static bool make_options(struct session *s, struct kr_err *err)
{
    static const char *const switches[] = { "launches",     "nvtx",  "calibrate",  "graph-level",
                                            "profiler-api", "yield", "marks-after" };
    const struct kr_opts *opts = &s->call->opts;

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        bool given = kr_opts_count(opts, switches[i]) > 0;

        /* ranges without launches could not be tied to kernels; calibration needs step marks */
        if (strcmp(switches[i], "launches") == 0)
            given |= kr_opts_count(opts, "nvtx") > 0;
        if (strcmp(switches[i], "nvtx") == 0)
            given |= calibrates(s);
        if (strcmp(switches[i], "calibrate") == 0)
            given = takes_turns(s);
        if (strcmp(switches[i], "marks-after") == 0)
            given = calibrates(s) && has_end(s);
        if (given && !add_option(s, switches[i], err))
            return false;
    }
    return add_range(s, err) && add_duration(s, "delay", 0, err) &&
           add_duration(s, "duration", MIN_DURATION_NS, err) &&
           add_number(s, "steps", MAX_STEPS, err) && add_number(s, "cap", MAX_CAP_MIB, err) &&
           add_number(s, "size", MAX_SIZE_MIB, err) && check_room(s, err);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Settles where the recording goes before the program runs, so that no run is wasted. */
static bool choose_path(struct session *s, struct kr_err *err)
{
    struct stat st;

    s->path = kr_opts_value(&s->call->opts, "output");
    if (!s->path) {
        snprintf(s->default_path, sizeof s->default_path, "%.200s.%ld.kreach",
                 base_name(s->call->opts.operands[0]), (long)getpid());
        s->path = s->default_path;
    }
    if (!*s->path || strcmp(s->path, "-") == 0)
        return kr_fail(err, KR_EARG,
                       "a recording goes into a file; standard output is the program's");
    if (lstat(s->path, &st) < 0)
        return true;
    if (stat(s->path, &st) == 0 && S_ISDIR(st.st_mode))
        return kr_fail(err, KR_EARG, "cannot write '%s': it is a directory", s->path);
    if (!kr_opts_count(&s->call->opts, "force"))
        return kr_fail(err, KR_EARG, "'%s' exists; give --force to replace it", s->path);
    return true;
}

/* Whether a second run could read what the first one did. */
static bool can_read_again(void)
{
    struct stat st;

    return isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &st) < 0 || S_ISREG(st.st_mode) ||
           S_ISCHR(st.st_mode);
}

/* What keeps libkreach.so out. CUDA and NVTX load one tool each: where another is named, that one.
 */
static void tell_others(const struct session *s)
{
    const struct kr_opts *opts = &s->call->opts;
    const char *cuda = getenv("CUDA_INJECTION64_PATH");
    const char *nvtx = getenv("NVTX_INJECTION64_PATH");
    const char *disabled = getenv("KREACH_DISABLE");

    if (disabled && *disabled && strcmp(disabled, "0") != 0)
        kr_call_warn(s->call, "KREACH_DISABLE is set: nothing is recorded");
    if (cuda && *cuda && strcmp(cuda, s->library) != 0)
        kr_call_warn(s->call,
                     "CUDA_INJECTION64_PATH names another tool, '%s': CUDA loads that one and "
                     "nothing is recorded; unset it",
                     cuda);
    if (nvtx && *nvtx && strcmp(nvtx, s->library) != 0 &&
        (kr_opts_count(opts, "nvtx") || kr_opts_count(opts, "range") || calibrates(s)))
        kr_call_warn(s->call,
                     "NVTX_INJECTION64_PATH names another tool, '%s': it gets the ranges; unset it",
                     nvtx);
}

static bool prepare(struct session *s, struct kr_err *err)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(s->started_ns, sizeof s->started_ns, "%lld%09ld", (long long)now.tv_sec, now.tv_nsec);
    kr_record_new_id(s->run_id);
    if (!kr_record_find_library(s->library, sizeof s->library, err))
        return false;
    tell_others(s);
    return kr_record_make_folder(s->path, s->folder, sizeof s->folder, err);
}

static struct kr_record_plan plan_of(const struct session *s)
{
    struct kr_record_plan plan = {
        .argv = (char *const *)s->call->opts.operands,
        .library = s->library,
        .folder = s->folder,
        .options = s->options,
    };

    memcpy(plan.run_id, s->run_id, sizeof plan.run_id);
    return plan;
}

/* What the parts in a folder hold; for the file that they become, see save. */
static bool sum_up(const struct session *s, const char *folder, struct kr_record_sum *sum,
                   struct kr_err *err)
{
    static const struct kr_record_fact nothing[] = { { 0 } };
    const struct kr_record_own own = { .run_id = s->run_id, .facts = nothing };

    return kr_record_collect(folder, &own, NULL, sum, err);
}

/* Runs the program again without CUPTI, so that the same steps show their true time. */
static bool run_plain(struct session *s, off_t input_at, struct kr_record_sum *sum,
                      struct kr_err *err)
{
    struct kr_record_plan plan = plan_of(s);
    struct kr_record_end end;

    if (!can_read_again())
        return kr_fail(err, KR_EENV,
                       "a second run is needed, and standard input is a pipe, which can be read "
                       "only once; give the program a file or /dev/null");
    kr_call_note(s->call, "running the program again without profiling");
    if (!kr_record_make_folder(s->path, s->plain_folder, sizeof s->plain_folder, err))
        return false;
    plan.folder = s->plain_folder;
    plan.options = "plain,nvtx";
    plan.hide_output = true;
    if (input_at >= 0)
        lseek(STDIN_FILENO, input_at, SEEK_SET);
    if (!kr_record_run(&plan, &s->signals, &end, err))
        return false;
    if (end.status != 0)
        return kr_fail(err, KR_EENV, "the plain run ended with status %d", end.status);
    return sum_up(s, s->plain_folder, sum, err);
}

static bool read_times(const struct kr_bytes *payload, struct kr_step_times *times,
                       struct kr_err *err)
{
    struct kr_cursor c = { .at = payload->data, .end = payload->data + payload->len };

    return kr_step_times_read(&c, times, err);
}

/* What CUPTI costs where nothing is recorded, by steps that lie outside of the window, of both
 * runs. Those inside of --range have its name, and others another one. */
static bool measure_staying(struct session *s, const char *label, struct kr_err *err)
{
    const char *name = kr_opts_count(&s->call->opts, "range") ? NULL : label;
    struct kr_record_calibration c = { .method = "second run" };
    struct kr_bytes payload = { 0 };
    bool good = kr_record_steps_outside(s->folder, name, &c.profiled, err);

    if (good && !c.profiled.n)
        good = kr_fail(err, KR_EENV, "too few steps lie outside of it");
    good = good && kr_record_steps_find(s->plain_folder, c.profiled.label, &c.plain, err) &&
           kr_record_steps_pair(&c, err) && kr_record_calibration_payload(&c, &payload, err) &&
           read_times(&payload, &s->staying, err);
    kr_record_calibration_free(&c);
    kr_bytes_free(&payload);
    return good;
}

static void tell_staying(struct session *s, const char *label)
{
    const struct kr_step_times *t = &s->staying;
    struct kr_err why = { 0 };

    if (measure_staying(s, label, &why))
        kr_call_note(s->call, "outside of the window a step takes %s, %s without CUPTI (%s): %s",
                     kr_text_duration((double)t->profiled_step_ns).s,
                     kr_text_duration((double)t->plain_step_ns).s, t->label,
                     kr_text_cost("staying", t->cost_frac, t->cost_low_frac, t->cost_high_frac).s);
    else if (has_end(s) || why.code != KR_EENV)
        kr_call_note(s->call, "what CUPTI costs outside of the window was not measured: %s",
                     why.msg);
}

/* The step times of this run and of a second, plain one. */
static bool measure_twice(struct session *s, off_t input_at, struct kr_record_calibration *out,
                          struct kr_err *err)
{
    struct kr_record_sum sum = { 0 };

    out->method = "second run";
    if (!kr_record_steps_find(s->folder, kr_opts_value(&s->call->opts, "range"), &out->profiled,
                              err))
        return false;
    if (!out->profiled.n)
        return kr_fail(err, KR_EENV,
                       "no NVTX range repeats that could mark the steps; in torch, put "
                       "torch.cuda.nvtx.range_push('step') and range_pop() around one");
    if (!run_plain(s, input_at, &sum, err))
        return false;
    if (sum.works)
        return kr_fail(err, KR_EENV, "this libkreach.so cannot run without profiling");
    if (!kr_record_steps_find(s->plain_folder, out->profiled.label, &out->plain, err))
        return false;
    if (!out->plain.n)
        return kr_fail(err, KR_EENV, "the plain run has no steps '%s'", out->profiled.label);
    tell_staying(s, out->profiled.label);
    return kr_record_steps_pair(out, err);
}

/*
 * Launches stay slower after CUPTI was switched off: on an H200 with CUPTI 13.0 an eager one by up
 * to 250 ns, a kernel of a graph that was launched before by up to 175 (docs/windows.md). Where
 * that much a kernel could be more than this share of a step, turns do not show the cost.
 */
#define LINGERING_NS       250.0
#define LINGERING_MAX_FRAC 0.01

/* Whether steps that were left alone are as good as plain ones. */
static bool check_lingering(const struct session *s, const struct kr_record_calibration *c,
                            struct kr_err *err)
{
    struct kr_record_steps recorded = { 0 };
    struct kr_record_sum sum;
    double plain_ns = 0;
    double launches, frac;
    bool good = sum_up(s, s->folder, &sum, err) &&
                kr_record_steps_find(s->folder, c->plain.label, &recorded, err);

    for (size_t i = 0; i < c->plain.n; i++)
        plain_ns += (double)c->plain.items[i].dur_ns / (double)c->plain.n;
    launches = good && recorded.n ? (double)sum.works / (double)recorded.n : 0;
    frac = launches * LINGERING_NS / plain_ns;
    kr_record_steps_free(&recorded);
    if (good && frac > LINGERING_MAX_FRAC)
        return kr_fail(err, KR_EENV,
                       "%.0f launches a step may take up to %.0f %% longer even while nothing is "
                       "recorded, as CUPTI leaves them slower",
                       launches, 100 * frac);
    return good;
}

/* Within the run where that was possible, else with a second one. */
static bool measure_steps(struct session *s, off_t input_at, struct kr_record_calibration *out,
                          struct kr_err *err)
{
    struct kr_err why = { 0 };

    if (takes_turns(s)) {
        if (kr_record_steps_alternating(s->folder, out, &why) && check_lingering(s, out, &why))
            return true;
        kr_record_calibration_free(out);
        if (why.code != KR_EENV) {
            *err = why;
            return false;
        }
        kr_call_note(s->call, "the run alone does not show its step time: %s", why.msg);
    }
    return measure_twice(s, input_at, out, err);
}

static void tell_steps(const struct session *s, const struct kr_step_times *t)
{
    kr_call_note(s->call, "a step takes %s without profiling, %s with it (%s): %s",
                 kr_text_duration((double)t->plain_step_ns).s,
                 kr_text_duration((double)t->profiled_step_ns).s, t->label,
                 kr_text_cost("profiling", t->cost_frac, t->cost_low_frac, t->cost_high_frac).s);
}

/* Learns the true step time for the file and says it. */
static bool learn_steps(struct session *s, off_t input_at, struct kr_err *err)
{
    struct kr_record_calibration calibration = { 0 };
    struct kr_step_times times = { 0 };
    bool good = measure_steps(s, input_at, &calibration, err) &&
                kr_record_calibration_payload(&calibration, &s->calibration, err);

    kr_record_calibration_free(&calibration);
    good = good && read_times(&s->calibration, &times, err);
    if (good)
        tell_steps(s, &times);
    return good;
}

/* Without work there will be no file that could hold a step time. */
static bool has_work(const struct session *s)
{
    struct kr_record_sum sum;
    struct kr_err ignored;

    return sum_up(s, s->folder, &sum, &ignored) && sum.with_work;
}

/* Those that outlive the program are waited for, unless the user wants it all to end: then they
 * get the moment that dying takes. */
static void wait_for_others(const struct session *s)
{
    static const struct timespec moment = { 0, 200000000 };
    FILE *log = s->call->quiet ? NULL : s->call->log;
    size_t left;

    if (s->end.stopped) {
        nanosleep(&moment, NULL);
        left = kr_record_count_writers(s->folder);
    } else {
        left = kr_record_wait_others(s->folder, &s->signals, log);
    }
    if (left)
        kr_call_alert(s->call, "%zu of its processes still run%s, unrecorded from now on", left,
                      left == 1 ? "s" : "");
}

/* Runs the program, and again for its true step time when that is wanted. */
static bool run_program(struct session *s, struct kr_err *err)
{
    struct kr_record_plan plan = plan_of(s);
    off_t input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    struct kr_err why;

    if (!kr_record_run(&plan, &s->signals, &s->end, err))
        return false;
    if (s->end.stopped)
        kr_call_alert(s->call, "interrupted twice: the program was killed");
    wait_for_others(s);
    if (calibrates(s) && s->end.status == 0 && has_work(s) && !learn_steps(s, input_at, &why))
        kr_call_alert(s->call, "no step time without profiling: %s", why.msg);
    return true;
}

/* The command line in one text, as it was typed but for quotes. */
static void join_command(const struct session *s, char *text, size_t room)
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->call->opts.n_operands && len < room; i++) {
        int n = snprintf(text + len, room - len, "%s%s", i ? " " : "", s->call->opts.operands[i]);

        len += n > 0 ? (size_t)n : 0;
    }
}

/* A fraction for the file; "" = unknown. */
struct frac_text {
    char s[24];
};

static struct frac_text frac_text(double frac)
{
    struct frac_text text = { "" };

    if (!isnan(frac))
        snprintf(text.s, sizeof text.s, "%.5f", frac);
    return text;
}

static bool save(struct session *s, struct kr_err *err)
{
    char command[COMMAND_BYTES];
    char host[256] = "";
    const bool stayed = s->staying.profiled_steps > 0;
    const struct frac_text cost = frac_text(s->staying.cost_frac);
    const struct frac_text low = frac_text(s->staying.cost_low_frac);
    const struct frac_text high = frac_text(s->staying.cost_high_frac);
    const struct kr_record_fact facts[] = {
        { "recorder", KREACH_VERSION },
        { "command", command },
        { "host", host },
        { "options", s->options },
        { "started_ns", s->started_ns },
        { stayed ? "staying_cost_frac" : NULL, cost.s },
        { *low.s ? "staying_cost_low_frac" : NULL, low.s },
        { *high.s ? "staying_cost_high_frac" : NULL, high.s },
        { 0 },
    };
    const struct kr_record_own own = {
        .run_id = s->run_id,
        .facts = facts,
        .calibration = s->calibration.len ? &s->calibration : NULL,
    };
    bool replace = kr_opts_count(&s->call->opts, "force") > 0;
    struct kr_output output;
    bool good;

    if (!kr_record_collect(s->folder, &own, NULL, &s->sum, err))
        return false;
    if (!s->sum.with_work)
        return true;
    join_command(s, command, sizeof command);
    gethostname(host, sizeof host - 1);
    good = kr_output_open(&output, s->path, NULL, replace, err) &&
           kr_record_collect(s->folder, &own, output.file, &s->sum, err) &&
           kr_output_commit(&output, err);
    kr_output_discard(&output);
    return good;
}

/* Processes know of work, and none of it is there. */
static bool is_all_lost(const struct kr_record_sum *sum)
{
    return sum->launches || sum->dropped || sum->bad_times || sum->missing || sum->blind ||
           sum->not_ended;
}

/* The option that chose a window which may never have opened; NULL = none did. */
static const char *window_option(const struct session *s)
{
    static const char *const names[] = { "range", "profiler-api", "delay" };

    for (size_t i = 0; i < KR_COUNT(names); i++) {
        if (kr_opts_count(&s->call->opts, names[i]))
            return names[i];
    }
    return NULL;
}

/* Nothing is known to have gone wrong. */
static void tell_no_work(const struct session *s)
{
    const char *option = window_option(s);

    if (s->sum.processes)
        kr_call_note(s->call, "no device work inside the recorded window; nothing was saved");
    else if (option)
        kr_call_note(s->call,
                     "no process recorded any GPU work: none did any, or the window of --%s never "
                     "opened; nothing was saved",
                     option);
    else
        kr_call_note(s->call, "no process recorded any GPU work; nothing was saved "
                              "('kreach doctor' says whether this machine can record)");
}

/* How many records are lost, as far as that is known. */
static void print_lost(const struct kr_record_sum *sum, char *text, size_t room)
{
    const uint64_t lost = sum->dropped + sum->bad_times;
    const bool unknown = sum->blind || sum->not_ended;

    if (unknown && !lost)
        snprintf(text, room, "unknown");
    else
        snprintf(text, room, "%s%s", unknown ? "at least " : "", kr_text_count(lost).s);
}

/* Who used the GPU, and what is known of it: launch calls only where they were asked for. */
static void explain_all_lost(const struct kr_record_sum *sum, struct kr_err *err)
{
    char launches[64] = "";
    char lost[64];

    print_lost(sum, lost, sizeof lost);
    if (sum->launches)
        snprintf(launches, sizeof launches, "launch calls: %s, ", kr_text_count(sum->launches).s);
    kr_fail(err, KR_EENV,
            "the program used the GPU and no record of its work came through (%slost records: %s, "
            "processes cut off: %s)",
            launches, lost, kr_text_count(sum->not_ended).s);
}

/* No process did device work: says so, and why when that is known. */
static void tell_empty(struct session *s)
{
    const struct kr_record_sum *sum = &s->sum;
    struct kr_err err = { 0 };

    if (!sum->held && !*sum->error && !is_all_lost(sum)) {
        tell_no_work(s);
        return;
    }
    if (*sum->error)
        kr_fail(&err, KR_EENV, "nothing was recorded: %s", sum->error);
    else if (!sum->held)
        explain_all_lost(sum, &err);
    else
        kr_fail(&err, KR_EENV, "nothing was recorded: %s%s%s holds CUPTI in the program",
                *sum->other ? "'" : "", *sum->other ? sum->other : "another profiler",
                *sum->other ? "'" : "");
    fail_with(s, KR_STATUS_MISSING, &err);
    if (sum->unwritten)
        kr_call_note(s->call, "they could not be written: make room, or save elsewhere with "
                              "--output");
    else if (!sum->not_ended) /* who was killed was not hindered by the machine */
        kr_call_note(s->call, "'kreach doctor' shows what is in the way");
}

/* One line for a loss; returns whether there was one. */
static bool tell_loss(const struct session *s, uint64_t n, const char *things)
{
    if (n)
        kr_call_alert(s->call, "incomplete: %s: %s", things, kr_text_count(n).s);
    return n > 0;
}

static void tell_losses(const struct session *s)
{
    const struct kr_record_sum *sum = &s->sum;
    bool lossy = false;

    lossy |= tell_loss(s, sum->dropped - sum->unwritten, "records dropped");
    lossy |= tell_loss(
        s, sum->unwritten,
        "records that could not be written (the disk is full, or the file as large as --size)");
    lossy |= tell_loss(s, sum->blind, "processes that cannot know what was dropped");
    lossy |= tell_loss(s, sum->bad_times, "records whose times were lost");
    lossy |= tell_loss(s, sum->missing, "records counted and not in the file");
    lossy |= tell_loss(s, sum->damaged, "damaged stretches");
    lossy |= tell_loss(s, sum->not_ended,
                       "processes without a clean end (their last moments may be missing)");
    lossy |= tell_loss(s, sum->missed, "stretches of the window that CUPTI missed");
    lossy |= tell_loss(s, sum->held, "processes that lost CUPTI to another client");
    lossy |= tell_loss(s, sum->newer, "processes with a newer libkreach.so than 'kreach' can read");
    if (sum->held && *sum->other)
        kr_call_alert(s->call, "that client is '%s'", sum->other);
    if (*sum->error)
        kr_call_alert(s->call, "incomplete: in a process %s", sum->error);
    if (!lossy && !*sum->error)
        kr_call_note(s->call, "complete: nothing was dropped, every process ended cleanly");
}

static void tell(struct session *s)
{
    const struct kr_record_sum *sum = &s->sum;

    if (!sum->with_work) {
        tell_empty(s);
        return;
    }
    kr_call_note(s->call, "recorded %s kernels, copies%s of %s process%s in %s (%s)",
                 kr_text_count(sum->works).s,
                 kr_opts_count(&s->call->opts, "graph-level") ? ", memsets and whole graphs"
                                                              : " and memsets",
                 kr_text_count(sum->with_work).s, sum->with_work == 1 ? "" : "es", s->path,
                 kr_text_bytes(sum->file_bytes).s);
    tell_losses(s);
    if (s->call->quiet)
        return;
    fputs("kreach: next: kreach report ", s->call->log);
    kr_plain_word(s->call->log, s->path);
    fputc('\n', s->call->log);
}

/* The recording is not lost: it can be made by hand. Part of the failure, so said in any case. */
static void tell_kept(const struct session *s)
{
    FILE *log = s->call->log;

    if (access(s->folder, F_OK) != 0)
        return;
    fputs("kreach: what was recorded is kept; to make a file of it: cat ", log);
    kr_plain_word(log, s->folder);
    fputs("/*.part > FILE\n", log);
}

static void clean_up(struct session *s, bool saved)
{
    kr_bytes_free(&s->calibration);
    if (*s->plain_folder)
        kr_record_remove_folder(s->plain_folder);
    if (*s->folder && saved)
        kr_record_remove_folder(s->folder);
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct session s = { .call = call };
    bool saved = true;

    if (!make_options(&s, err) || !choose_path(&s, err))
        return false;
    kr_record_take_signals(&s.signals);
    if (!prepare(&s, err)) {
        fail_with(&s, KR_RECORD_FAILED, err);
        if (err->code == KR_EOUTPUT && s.path == s.default_path)
            kr_call_note(call, "--output FILE saves the recording in another folder");
    } else if (!run_program(&s, err)) {
        fail_with(&s, s.end.status, err);
    } else {
        call->status = (enum kr_status)s.end.status;
        saved = save(&s, err);
        if (saved)
            tell(&s);
        else
            fail_with(&s, KR_RECORD_FAILED, err);
        if (!saved)
            tell_kept(&s);
    }
    clean_up(&s, saved);
    kr_record_give_signals_back(&s.signals);
    return true;
}

static const struct kr_option options[] = {
    { "output", 'o', "FILE", NULL, "save as FILE; by default PROGRAM.PID.kreach" },
    { "force", 'f', NULL, NULL, "let --output replace a file" },
    { "range", 0, "NAME", NULL, "record only inside NVTX ranges of this name" },
    { "delay", 0, "TIME", NULL, "begin that long after the program first used CUDA, as in 30s" },
    { "duration", 0, "TIME", NULL, "stop after that long" },
    { "steps", 0, "N", NULL, "stop after N steps that look alike" },
    { "profiler-api", 0, NULL, NULL, "record between cudaProfilerStart and cudaProfilerStop" },
    { "nvtx", 0, NULL, NULL, "record NVTX ranges too, and launches to tie kernels to them" },
    { "launches", 0, NULL, NULL, "record launch calls too" },
    { "graph-level", 0, NULL, NULL, "one record for each CUDA graph launch: cheaper, no kernels" },
    { "calibrate", 0, NULL, NULL,
      "learn the true step time: record by turns, or run twice (needs NVTX ranges)" },
    { "twice", 0, NULL, NULL,
      "learn it from a second run at once: all steps of the first are recorded" },
    { "cap", 0, "MIB", NULL, "most memory for records in flight, in each process; 512 by default" },
    { "size", 0, "MIB", NULL, "largest file of each process; what comes later is counted as lost" },
    { "yield", 0, NULL, NULL, "let other CUPTI clients, such as torch.profiler, take over" },
    { 0 },
};

static const char details[] =
    "The program keeps its terminal, streams, signals and exit status, and so does\n"
    "every process it starts; each that uses the GPU is recorded. A program killed\n"
    "by signal N gives 128+N. 125 means that recording failed, 126 that the program\n"
    "cannot be run, 127 that it is not there, 4 that it used CUDA and nothing could\n"
    "be recorded ('kreach doctor' shows why).\n"
    "\n"
    "Ctrl-C is the program's: what it did until then is saved. A second one kills it.\n"
    "\n"
    "Examples:\n"
    "  kreach record -- python3 train.py --epochs 1\n"
    "  kreach record --delay 60s --duration 5s -o serve.kreach -- vllm serve MODEL\n"
    "  kreach record --nvtx --calibrate -- python3 train.py\n";

const struct kr_command kr_cmd_record = {
    .name = "record",
    .args = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program and record its GPU work",
    .details = details,
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .runs_program = true,
    .run = run,
};

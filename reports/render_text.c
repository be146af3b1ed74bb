#include "render.h"

#include <inttypes.h>
#include <string.h>

#include "mem.h"
#include "text.h"
#include "text_parts.h"

/* Rows below this share of busy time are summed up in one line. */
#define SMALL_FRAC 0.01

/* What every section needs. */
struct page {
    const struct kr_report *report;
    const struct kr_render_options *opt;
    FILE *out;
    enum kr_unit unit; /* of all times in tables */
};

static void say_verdict(const struct page *p)
{
    static const enum kr_paint paints[] = {
        [KR_WORTH_YES] = KR_GREEN,         [KR_WORTH_LIMITED] = KR_YELLOW, [KR_WORTH_NO] = KR_RED,
        [KR_WORTH_IDLE_FIRST] = KR_YELLOW, [KR_WORTH_UNKNOWN] = KR_YELLOW,
    };
    const struct kr_verdict *v = &p->report->verdict;
    char text[sizeof v->text + 32];

    snprintf(text, sizeof text, "Worth writing kernels? %s", v->text);
    fputs(kr_style_paint(&p->opt->style, paints[v->worth]), p->out);
    kr_wrap_text(p->out, &p->opt->style, 0, text);
    fputs(kr_style_paint(&p->opt->style, KR_PLAIN), p->out);
    kr_wrap_text(p->out, &p->opt->style, 0, v->why);
    fputc('\n', p->out);
}

/* A device that idles for more of a step than this waits for the host. */
#define HOST_BOUND_FRAC 0.15

/* What profiling costs, as the recording itself measured it. */
static void say_measured_step(const struct page *p)
{
    const struct kr_true_step *s = &p->report->step;
    const struct kr_step_times *m = s->measured;
    const bool two_runs = strcmp(m->method, "second run") == 0;

    kr_say_fact(p->out, &p->opt->style, "step", "profiled steps take %s, the plain step %s: %s",
                kr_text_duration(s->profiled_ns).s, kr_text_duration(s->plain_ns).s,
                kr_text_cost("profiling", s->cost_frac, m->cost_low_frac, m->cost_high_frac).s);
    kr_say_fact(p->out, &p->opt->style, "",
                "measured %s: %s plain steps, half of them %s to %s; %s profiled ones, half of "
                "them %s to %s",
                two_runs ? "in two runs" : "by turns in one run", kr_text_count(m->plain_steps).s,
                kr_text_duration((double)m->plain_low_ns).s,
                kr_text_duration((double)m->plain_high_ns).s, kr_text_count(m->profiled_steps).s,
                kr_text_duration((double)m->profiled_low_ns).s,
                kr_text_duration((double)m->profiled_high_ns).s);
    if (two_runs && s->busy_ns < (1 - HOST_BOUND_FRAC) * s->profiled_ns)
        kr_say_fact(p->out, &p->opt->style, "",
                    "steps wait for the host here, and one process may be slower than the next by "
                    "a fifth and more: --calibrate compares within one");
}

static void say_true_step(const struct page *p)
{
    const struct kr_true_step *s = &p->report->step;

    if (!s->known)
        return;
    if (s->measured)
        say_measured_step(p);
    else if (s->cost_frac >= 0)
        kr_say_fact(p->out, &p->opt->style, "step",
                    "profiled steps take %s, the plain step %s: profiling costs %s %% here",
                    kr_text_duration(s->profiled_ns).s, kr_text_duration(s->plain_ns).s,
                    kr_text_percent(s->cost_frac).s);
    else
        kr_say_fact(p->out, &p->opt->style, "step",
                    "profiled steps take %s, the plain step %s, which is longer: the two differ by "
                    "more than profiling costs",
                    kr_text_duration(s->profiled_ns).s, kr_text_duration(s->plain_ns).s);
    if (s->busy_too_long)
        kr_say_fact(p->out, &p->opt->style, "",
                    "the GPU is busy for %s of a profiled step, longer than the plain step: the "
                    "profiler slowed the kernels or the plain time is of another run, so its idle "
                    "is unknown and the verdict rests on busy time",
                    kr_text_duration(s->busy_ns).s);
    else
        kr_say_fact(p->out, &p->opt->style, "", "idle in the plain step: %s, %s %%",
                    kr_text_duration(s->plain_ns - s->busy_ns).s, kr_text_percent(s->idle_frac).s);
}

/* Time of the windows in which nothing was recorded, on all devices. */
static uint64_t paused_ns(const struct kr_report *r)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < r->n_runs; i++) {
        const struct kr_window *w = &r->runs[i].window;
        const struct kr_account *a = &r->runs[i].account;

        sum_ns += ((uint64_t)w->end_ns - (uint64_t)w->start_ns) * a->n_devices - a->time.wall_ns;
    }
    return sum_ns;
}

static void say_facts(const struct page *p)
{
    const struct kr_report *r = p->report;
    const uint64_t left_out_ns = paused_ns(r);

    if (r->n_runs == 1) {
        kr_say_source(p->out, &p->opt->style, r->runs[0].timeline);
        kr_say_window(p->out, &p->opt->style, &r->runs[0].window);
    } else {
        kr_say_fact(p->out, &p->opt->style, "input",
                    "%zu files, each analysed in its own window; counts and times below are sums "
                    "over %zu devices, shares are of that sum",
                    r->n_runs, r->n_devices);
        kr_say_fact(p->out, &p->opt->style, "complete", "%s",
                    kr_report_complete(r) ? "yes, all files" : "NO; see the files below");
    }
    kr_say_fact(p->out, &p->opt->style, "time", "wall %s, busy %s, idle %s; durations sum to %s",
                kr_text_duration((double)r->time.wall_ns).s,
                kr_text_duration((double)r->time.busy_ns).s,
                kr_text_duration((double)r->time.idle_ns).s,
                kr_text_duration(
                    (double)(r->time.kernel_sum_ns + r->time.memcpy_sum_ns + r->time.memset_sum_ns))
                    .s);
    if (left_out_ns)
        kr_say_fact(p->out, &p->opt->style, "", "%s that were not recorded are left out",
                    kr_text_duration((double)left_out_ns).s);
    say_true_step(p);
    kr_say_fact(p->out, &p->opt->style, "policy", "%s (%016" PRIx64 ")",
                kr_rules_policy_name(r->rules), kr_rules_policy_hash(r->rules));
}

static void add_class_cells(const struct page *p, struct kr_table *table, const struct kr_row *row)
{
    kr_table_cell(table, "%s", row->name);
    kr_table_cell(table, "%" PRIu64, row->stats.count);
    kr_table_cell(table, "%s", kr_text_time(row->stats.sum_ns, p->unit).s);
    kr_table_cell(table, "%s", kr_text_time(row->stats.exclusive_ns, p->unit).s);
    kr_table_cell(table, "%s", kr_text_percent(row->frac_busy).s);
    kr_table_cell(table, "%s", kr_text_percent(row->frac_wall).s);
    if (p->report->step.known)
        kr_table_cell(table, "%s", kr_text_percent(row->frac_step).s);
    if (p->report->n_steps)
        kr_table_cell(table, "%s", kr_text_percent_range(row->step_lo, row->step_hi).s);
}

static void add_idle_cells(const struct page *p, struct kr_table *table)
{
    const struct kr_report *r = p->report;

    kr_table_line(table);
    kr_table_cell(table, "idle");
    kr_table_cell(table, "-");
    kr_table_cell(table, "-");
    kr_table_cell(table, "%s", kr_text_time(r->time.idle_ns, p->unit).s);
    kr_table_cell(table, "-");
    kr_table_cell(table, "%s", kr_text_percent(kr_frac(r->time.idle_ns, r->time.wall_ns)).s);
    if (r->step.known)
        kr_table_cell(table, "%s", kr_text_percent(r->step.idle_frac).s);
    if (r->n_steps)
        kr_table_cell(table, "%s", kr_text_percent_range(r->step_idle_lo, r->step_idle_hi).s);
}

static void add_total_cells(const struct page *p, struct kr_table *table)
{
    const struct kr_report *r = p->report;
    uint64_t sum_ns = r->time.kernel_sum_ns + r->time.memcpy_sum_ns + r->time.memset_sum_ns;
    double step_total = r->step.busy_too_long ? r->step.busy_ns / r->step.plain_ns : 1;

    kr_table_line(table);
    kr_table_cell(table, "total");
    kr_table_cell(table, "%" PRIu64, r->kernels + r->memcpys + r->memsets);
    kr_table_cell(table, "%s", kr_text_time(sum_ns, p->unit).s);
    kr_table_cell(table, "%s", kr_text_time(r->time.wall_ns, p->unit).s);
    kr_table_cell(table, "%s", kr_text_percent(kr_frac(r->time.busy_ns, r->time.busy_ns)).s);
    kr_table_cell(table, "%s", kr_text_percent(kr_frac(r->time.wall_ns, r->time.wall_ns)).s);
    if (r->step.known)
        kr_table_cell(table, "%s", kr_text_percent(step_total).s);
    if (r->n_steps)
        kr_table_cell(table, "%s", "");
}

static bool print_table(const struct page *p, struct kr_table *table, struct kr_err *err)
{
    bool good = kr_table_print(table, p->out, &p->opt->style, err);

    kr_table_free(table);
    return good;
}

static bool say_classes(const struct page *p, struct kr_err *err)
{
    const struct kr_report *r = p->report;
    struct kr_column columns[8];
    size_t n = 0;
    char sum[16], excl[16];
    struct kr_table *table;

    snprintf(sum, sizeof sum, "sum %s", kr_unit_name(p->unit));
    snprintf(excl, sizeof excl, "excl %s", kr_unit_name(p->unit));
    columns[n++] = (struct kr_column){ "class", KR_LEFT, 0 };
    columns[n++] = (struct kr_column){ "count", KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ sum, KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ excl, KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ "% busy", KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ "% wall", KR_RIGHT, 0 };
    if (r->step.known)
        columns[n++] = (struct kr_column){ "% step", KR_RIGHT, 0 };
    if (r->n_steps)
        columns[n++] = (struct kr_column){ "% in steps", KR_RIGHT, 0 };
    table = kr_table_new(columns, n, err);
    if (!table)
        return false;
    for (size_t i = 0; i < r->class_rows.n; i++)
        add_class_cells(p, table, &r->class_rows.rows[i]);
    add_idle_cells(p, table);
    add_total_cells(p, table);
    fputc('\n', p->out);
    return print_table(p, table, err);
}

/* A table of rows by size: families or kernels. */
struct listing {
    const char *title; /* "Families" */
    const char *one, *many;
    const struct kr_rows *rows;
    bool asked; /* the user wants this table in particular */
};

/* What the rows that are not shown come to. */
static void say_rest(const struct page *p, const struct listing *list, size_t shown)
{
    const struct kr_rows *rows = list->rows;
    uint64_t rest_ns = 0;

    if (shown >= rows->n)
        return;
    for (size_t i = shown; i < rows->n; i++)
        rest_ns += rows->rows[i].stats.exclusive_ns;
    fprintf(p->out, "and %zu more %s: %s %% of busy, %s %% of wall\n", rows->n - shown,
            rows->n - shown == 1 ? list->one : list->many,
            kr_text_percent(kr_frac(rest_ns, p->report->time.busy_ns)).s,
            kr_text_percent(kr_frac(rest_ns, p->report->time.wall_ns)).s);
}

/* Rows worth showing: the largest, at most `top`; small ones too when the user asked for them. */
static size_t rows_to_show(const struct page *p, const struct kr_rows *rows, bool asked)
{
    size_t n = 0;

    while (n < rows->n && n < p->opt->top && (asked || !(rows->rows[n].frac_busy < SMALL_FRAC)))
        n++;
    return n;
}

static void add_share_cells(const struct page *p, struct kr_table *table, const struct kr_row *row)
{
    kr_table_cell(table, "%s", kr_text_percent(row->frac_busy).s);
    kr_table_cell(table, "%s",
                  kr_text_percent(p->report->step.known ? row->frac_step : row->frac_wall).s);
    kr_table_cell(table, "%" PRIu64, row->stats.count);
    kr_table_cell(table, "%s", kr_text_time(row->stats.exclusive_ns, p->unit).s);
}

/* The numeric columns that families and kernels share; the caller adds those of names. */
static size_t share_columns(const struct page *p, struct kr_column *columns, const char *excl)
{
    size_t n = 0;

    columns[n++] = (struct kr_column){ "% busy", KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ p->report->step.known ? "% step" : "% wall", KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ "count", KR_RIGHT, 0 };
    columns[n++] = (struct kr_column){ excl, KR_RIGHT, 0 };
    return n;
}

static bool say_listing(const struct page *p, const struct listing *list, struct kr_err *err)
{
    size_t shown = rows_to_show(p, list->rows, list->asked);
    struct kr_column columns[8];
    char excl[16];
    size_t n;
    struct kr_table *table;

    snprintf(excl, sizeof excl, "excl %s", kr_unit_name(p->unit));
    n = share_columns(p, columns, excl);
    columns[n++] = (struct kr_column){ "class", KR_LEFT, 0 };
    columns[n++] = (struct kr_column){ list->one, KR_LEFT, 0 };
    table = kr_table_new(columns, n, err);
    if (!table)
        return false;
    for (size_t i = 0; i < shown; i++) {
        const struct kr_row *row = &list->rows->rows[i];

        add_share_cells(p, table, row);
        kr_table_cell(table, "%s%s", kr_class_name((enum kr_class)row->tag.cls),
                      row->tag.flags & KR_FLAG_SUSPECT ? "?" : "");
        kr_table_cell(table, "%s", row->short_name ? row->short_name : row->name);
    }
    kr_say_title(p->out, &p->opt->style, list->title, NULL);
    if (!print_table(p, table, err))
        return false;
    say_rest(p, list, shown);
    return true;
}

static void say_collectives(const struct page *p)
{
    const struct kr_collectives *c = &p->report->collectives;

    if (c->count == 0)
        return;
    kr_say_fact(p->out, &p->opt->style, "collective",
                "%s collectives, %s in all: %s with nothing beside (exposed), %s hidden",
                kr_text_count(c->count).s, kr_text_duration((double)c->union_ns).s,
                kr_text_duration((double)c->exposed_ns).s,
                kr_text_duration((double)(c->union_ns - c->exposed_ns)).s);
}

static void say_waits(const struct page *p)
{
    const struct kr_rows *rows = &p->report->kernel_rows;

    for (size_t i = 0; i < rows->n; i++) {
        const struct kr_row *row = &rows->rows[i];

        if (row->waited)
            kr_say_fact(p->out, &p->opt->style, "waits",
                        "%s: the longest took %s, the median %s; waiting for others is inside",
                        row->short_name, kr_text_duration((double)row->stats.max_ns).s,
                        row->median_known ? kr_text_duration((double)row->stats.median_ns).s : "-");
    }
}

/* Why the device was idle, by what ended each gap; small parts are left out. */
static void say_idle(const struct page *p)
{
    const struct kr_gaps *g = &p->report->gaps;
    const struct {
        uint64_t ns;
        const char *what;
    } parts[] = {
        { g->launch_ns, "before work launched in the gap (launch-bound)" },
        { g->host_ns, "while the host was busy elsewhere" },
        { g->queued_ns, "before work launched in time (kernel after kernel, or a wait for "
                        "other streams, copies or ranks)" },
        { g->unknown_ns, "before work of unknown launch time" },
        { g->tail_ns, "after the last work" },
    };
    uint64_t idle_ns = p->report->time.idle_ns;
    char text[400];
    size_t before, at;

    if (idle_ns == 0 || kr_frac(idle_ns, p->report->time.wall_ns) < SMALL_FRAC)
        return;
    before = at = (size_t)snprintf(text, sizeof text, "%s gaps", kr_text_count(g->count).s);
    for (size_t i = 0; i < KR_COUNT(parts); i++) {
        double frac = kr_frac(parts[i].ns, idle_ns);

        if (frac >= SMALL_FRAC && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s %s %% %s",
                                   at > before ? "," : ":", kr_text_percent(frac).s, parts[i].what);
    }
    kr_say_fact(p->out, &p->opt->style, "idle", "%s", text);
}

static void say_notes(const struct page *p)
{
    const struct kr_report *r = p->report;

    fputc('\n', p->out);
    say_idle(p);
    say_collectives(p);
    say_waits(p);
    if (r->empty_steps)
        kr_say_fact(p->out, &p->opt->style, "steps", "%zu of %zu steps hold no work",
                    r->empty_steps, r->n_steps);
    if (r->suspect_ns)
        kr_say_fact(p->out, &p->opt->style, "suspect",
                    "%s %% of wall is of a class with nothing to gain, yet runs far below what the "
                    "device can do (kernels marked ?)",
                    kr_text_percent(kr_frac(r->suspect_ns, r->time.wall_ns)).s);
    if (r->n_advice == 0)
        return;
    kr_say_title(p->out, &p->opt->style, "Without a new kernel", NULL);
    for (size_t i = 0; i < r->n_advice; i++) {
        char label[16];

        snprintf(label, sizeof label, "%5.8s %%",
                 kr_text_percent(kr_frac(r->advice[i].reach_ns, r->time.wall_ns)).s);
        kr_say_fact(p->out, &p->opt->style, label, "%s", r->advice[i].text);
    }
}

/* The option that gave the plain step's time, in the largest unit that has it whole. */
static void put_wall(const struct page *p)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
    const struct kr_true_step *step = &p->report->step;
    uint64_t wall_ns = (uint64_t)step->plain_ns;
    size_t u = 0;

    if (!step->known || step->measured)
        return;
    while (wall_ns % units[u].ns != 0)
        u++;
    fprintf(p->out, "--wall %" PRIu64 "%s ", wall_ns / units[u].ns, units[u].name);
}

/* Commands to copy: never wrapped. */
static void say_next(const struct page *p)
{
    const struct kr_report *r = p->report;
    const char *path = r->runs[0].timeline->source.path;

    kr_say_title(p->out, &p->opt->style, "Next", NULL);
    if (r->class_rows.rows[KR_UNCLASSIFIED].stats.count) {
        fputs("  kreach explain --unclassified ", p->out);
        kr_plain_word(p->out, path);
        fputc('\n', p->out);
    }
    fputs("  kreach predict --sigma SIGMA.json ", p->out);
    put_wall(p);
    kr_plain_word(p->out, path);
    fputc('\n', p->out);
}

static bool say_tables(const struct page *p, struct kr_err *err)
{
    const struct kr_report *r = p->report;
    const enum kr_by by = p->opt->by;
    const struct listing families = { .title = "Families",
                                      .one = "family",
                                      .many = "families",
                                      .rows = &r->family_rows,
                                      .asked = by == KR_BY_FAMILY };
    const struct listing kernels = { .title = "Kernels",
                                     .one = "kernel",
                                     .many = "kernels",
                                     .rows = &r->kernel_rows,
                                     .asked = by == KR_BY_KERNEL };

    if (!say_classes(p, err))
        return false;
    if (r->n_runs > 1 && !kr_render_text_files(r, p->opt, p->out, err))
        return false;
    if ((by == KR_BY_ALL || by == KR_BY_FAMILY) && !say_listing(p, &families, err))
        return false;
    return (by != KR_BY_ALL && by != KR_BY_KERNEL) || say_listing(p, &kernels, err);
}

bool kr_render_text(const struct kr_report *report, const struct kr_render_options *opt, FILE *out,
                    struct kr_err *err)
{
    const struct page page = {
        .report = report, .opt = opt, .out = out, .unit = kr_unit_for(report->time.wall_ns)
    };

    say_verdict(&page);
    say_facts(&page);
    if (!say_tables(&page, err))
        return false;
    say_notes(&page);
    say_next(&page);
    return true;
}

/* One step on a time axis. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "plot_lanes.h"
#include "text.h"

/* Columns that the time axis is cut into; about the pixels that it has. */
#define COLUMNS 800

/* Characters left and right of the axis. */
#define LABEL_WIDTH  22
#define RIGHT_MARGIN 3

/* How high a lane is where lanes are 1 apart. */
#define LANE_HEIGHT 0.8
enum { LANE_NAME_BYTES = 96 }; /* three numbers of any size, and the words between them */

/* What is drawn. */
struct stretch {
    struct kr_step step;
    struct kr_time time;
    size_t index; /* in the window; SIZE_MAX = the whole window */
};

struct length {
    uint64_t wall_ns;
    size_t index;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct length *a = left;
    const struct length *b = right;

    if (a->wall_ns != b->wall_ns)
        return KR_COMPARE(a->wall_ns, b->wall_ns);
    return KR_COMPARE(a->index, b->index);
}

bool kr_plot_typical_step(const struct kr_account *account, size_t *out, struct kr_err *err)
{
    struct length *lengths = kr_xcalloc(account->n_steps, sizeof *lengths, err);
    size_t n = 0;

    if (!lengths)
        return false;
    for (size_t i = 0; i < account->n_steps; i++) {
        if (account->steps[i].count)
            lengths[n++] = (struct length){ account->steps[i].time.wall_ns, i };
    }
    qsort(lengths, n, sizeof *lengths, compare_lengths);
    *out = n ? lengths[(n - 1) / 2].index : SIZE_MAX;
    free(lengths);
    return true;
}

static bool choose(const struct kr_run *run, struct stretch *out, struct kr_err *err)
{
    const struct kr_account *a = &run->account;

    if (!kr_plot_typical_step(a, &out->index, err))
        return false;
    if (out->index != SIZE_MAX) {
        out->step = run->window.steps[out->index];
        out->time = a->steps[out->index].time;
    } else {
        out->step =
            (struct kr_step){ .start_ns = run->window.start_ns, .end_ns = run->window.end_ns };
        out->time = a->time;
    }
    if (out->step.start_ns >= out->step.end_ns || !out->time.busy_ns)
        return kr_fail(err, KR_EINPUT, "%s: no device work to draw in the window",
                       run->timeline->source.path);
    return true;
}

static bool put_heading(struct kr_plot *plot, const struct kr_report *report,
                        const struct stretch *s, size_t hidden_devices, struct kr_err *err)
{
    double length_ns = (double)(s->step.end_ns - s->step.start_ns);
    char what[64] = "the whole window", hidden[48] = "";
    char title[384];

    if (s->index != SIZE_MAX && report->n_steps == 1)
        snprintf(what, sizeof what, "step %" PRId64, s->step.number);
    else if (s->index != SIZE_MAX)
        snprintf(what, sizeof what, "step %" PRId64 " (median length)", s->step.number);
    if (hidden_devices)
        snprintf(hidden, sizeof hidden, ", without %zu devices", hidden_devices);
    snprintf(title, sizeof title, "%.96s: %s, %s, busy %s %%, idle %s %%%s",
             kr_plot_run_name(report), what, kr_text_duration(length_ns).s,
             kr_text_percent(kr_frac(s->time.busy_ns, s->time.wall_ns)).s,
             kr_text_percent(kr_frac(s->time.idle_ns, s->time.wall_ns)).s, hidden);
    return kr_plot_head(plot, title, report, 1, err);
}

/* Whether another lane of the same device belongs to another process. */
static bool shares_device(const struct kr_timeline *t, const struct kr_lanes *lanes,
                          const struct kr_lane *lane)
{
    for (size_t i = 0; i < lanes->n; i++) {
        const struct kr_lane *other = &lanes->items[i];

        if (other->device == lane->device && other->track != UINT32_MAX &&
            t->tracks[other->track].process != t->tracks[lane->track].process)
            return true;
    }
    return false;
}

static void name_lane(const struct kr_timeline *t, const struct kr_lanes *lanes,
                      const struct kr_lane *lane, char *out, size_t size)
{
    const struct kr_track *track = lane->track == UINT32_MAX ? NULL : &t->tracks[lane->track];
    char device[32] = "";

    if (lanes->n_devices > 1)
        snprintf(device, sizeof device, "GPU %" PRId64 ", ", t->devices[lane->device].id);
    if (!track)
        snprintf(out, size, "%sidle", device);
    else if (lane->n_tracks > 1)
        snprintf(out, size, "%s%zu more streams", device, lane->n_tracks);
    else if (shares_device(t, lanes, lane))
        snprintf(out, size, "%sprocess %" PRIu32 ", stream %" PRId64, device, track->process,
                 track->stream);
    else
        snprintf(out, size, "%sstream %" PRId64, device, track->stream);
}

/* The letter of what fills most of a column; '-' where there is work, but more time without. */
static char letter_of(const double parts[KR_PLOT_PARTS])
{
    double rest = 1;
    unsigned most = 0;

    for (unsigned p = 0; p < KR_PLOT_PARTS; p++) {
        rest -= parts[p];
        if (parts[p] > parts[most])
            most = p;
    }
    if (parts[most] >= rest)
        return kr_plot_looks[most].letter;
    return rest < 1 ? '-' : ' ';
}

/* Block: y, name, and in dumb a strip of letters. */
static void put_lanes(FILE *data, const struct kr_timeline *t, const struct kr_lanes *lanes,
                      bool strips)
{
    for (size_t i = 0; i < lanes->n; i++) {
        const struct kr_lane *lane = &lanes->items[i];
        char name[LANE_NAME_BYTES];

        name_lane(t, lanes, lane, name, sizeof name);
        fprintf(data, "%zu\t%s", i, name);
        fputs(strips ? "\t|" : "", data); /* gnuplot would cut blanks at the start of a field */
        for (size_t c = 0; strips && c < lanes->n_columns; c++)
            fputc(letter_of(lane->parts[c]), data);
        fputc('\n', data);
    }
    kr_plot_end_block(data);
}

/* One class of one lane: polygons, with a blank line between them. */
static void put_area(FILE *data, const struct kr_lanes *lanes, size_t i, unsigned part,
                     double column_width)
{
    double bottom = (double)i + LANE_HEIGHT / 2;
    bool open = false;

    for (size_t c = 0; c < lanes->n_columns; c++) {
        const double *parts = lanes->items[i].parts[c];
        double below = 0;

        for (unsigned p = 0; p < part; p++)
            below += parts[p];
        if (parts[part] < 0.001) { /* nothing that a pixel could show */
            fputs(open ? "\n" : "", data);
            open = false;
            continue;
        }
        for (size_t side = 0; side < 2; side++)
            fprintf(data, "%.6g\t%.4f\t%.4f\n", (double)(c + side) * column_width,
                    bottom - LANE_HEIGHT * below, bottom - LANE_HEIGHT * (below + parts[part]));
        open = true;
    }
    fputs(open ? "\n" : "", data);
}

/* Blocks: one for each part, x and both y of its areas. A block that would be empty has a point. */
static void put_areas(FILE *data, const struct kr_lanes *lanes, double length)
{
    for (unsigned p = 0; p < KR_PLOT_PARTS; p++) {
        fputs("0\t0\t0\n\n", data);
        for (size_t i = 0; i < lanes->n; i++)
            put_area(data, lanes, i, p, length / (double)lanes->n_columns);
        kr_plot_end_block(data);
    }
}

static enum kr_unit unit_of(uint64_t length_ns)
{
    if (length_ns >= 1000000000)
        return KR_UNIT_S;
    return length_ns >= 1000000 ? KR_UNIT_MS : KR_UNIT_US;
}

static double unit_ns(enum kr_unit unit)
{
    return unit == KR_UNIT_US ? 1e3 : unit == KR_UNIT_MS ? 1e6 : 1e9;
}

/* What is drawn was recorded; the plain step's time tells how far that stretched it. */
static void put_axes(FILE *script, size_t n_lanes, double length, enum kr_unit unit,
                     const struct kr_true_step *step)
{
    fprintf(script,
            "set xrange [0:%.6g]\n"
            "set yrange [%zu.5:-0.5]\n"
            "unset ytics\n"
            "set xtics out nomirror\n"
            "set rmargin %d\n"
            "set xlabel \"time from the start [%s]",
            length, n_lanes - 1, RIGHT_MARGIN, kr_unit_name(unit));
    if (step->known)
        fprintf(script, "; a step takes %s without profiler", kr_text_duration(step->plain_ns).s);
}

static void put_areas_script(FILE *script, double length)
{
    fputs("\"\n"
          "set lmargin 24\n"
          "set bmargin 5.5\n"
          "set border 1\n" KR_PLOT_KEY "plot ",
          script);
    kr_plot_put_key(script, true);
    for (unsigned p = 0; p < KR_PLOT_PARTS; p++)
        fprintf(script,
                ", \\\n  data index %u using 1:2:3 with filledcurves fillstyle solid 1.0 noborder "
                "fillcolor rgb '#%06x' notitle",
                2 + p, kr_plot_looks[p].rgb);
    fprintf(
        script,
        ", \\\n  data index 1 using (0):($1+%g):(%.6g):(0) with vectors nohead lc rgb '#808080' "
        "notitle"
        ", \\\n  data index 1 using (0):1:2 with labels right offset -1,0 notitle\n",
        LANE_HEIGHT / 2, length);
}

static void put_strips_script(FILE *script)
{
    fputs("\\n", script);
    kr_plot_put_letters(script, true);
    fprintf(script,
            "  - less than half\"\n"
            "set lmargin %d\n"
            "unset key\n"
            "plot data index 1 using (0):1:2 with labels right offset -1,0, \\\n"
            "  data index 1 using (0):1:3 with labels left\n",
            LABEL_WIDTH);
}

bool kr_plot_step(const struct kr_report *report, const struct kr_plot_options *opt,
                  struct kr_plot *out, struct kr_err *err)
{
    const struct kr_run *run = &report->runs[0];
    bool dumb = opt->format == KR_PLOT_DUMB;
    struct kr_lanes lanes = { 0 };
    struct stretch stretch;
    bool good;

    *out = (struct kr_plot){ 0 };
    if (!choose(run, &stretch, err) || !kr_plot_begin(out, opt, err))
        return false;
    good = kr_lanes_make(run->timeline, run->tags, &stretch.step,
                         dumb ? opt->columns - LABEL_WIDTH - RIGHT_MARGIN - 2 : COLUMNS, &lanes,
                         err) &&
           put_heading(
               out, report, &stretch,
               lanes.n_devices > KR_LANES_DEVICES_MAX ? lanes.n_devices - KR_LANES_DEVICES_MAX : 0,
               err);
    if (good) {
        uint64_t length_ns = (uint64_t)(stretch.step.end_ns - stretch.step.start_ns);
        enum kr_unit unit = unit_of(length_ns);
        double length = (double)length_ns / unit_ns(unit);

        out->height = dumb ? 2 * lanes.n + 11 : 180 + 60 * lanes.n;
        put_lanes(out->data_out, run->timeline, &lanes, dumb);
        put_axes(out->script_out, lanes.n, length, unit, &report->step);
        if (dumb) {
            put_strips_script(out->script_out);
        } else {
            put_areas(out->data_out, &lanes, length);
            put_areas_script(out->script_out, length);
        }
    }
    kr_lanes_free(&lanes);
    return good && kr_plot_end(out, err);
}

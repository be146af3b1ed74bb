#include "text_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define LABEL_WIDTH 11

void kr_say_fact(FILE *out, const struct kr_style *style, const char *label, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    fprintf(out, "%s%-*s%s", kr_style_paint(style, KR_DIM), LABEL_WIDTH, label,
            kr_style_paint(style, KR_PLAIN));
    kr_wrap_text(out, style, LABEL_WIDTH, len < 0 ? "(out of memory)" : text);
    free(text);
}

void kr_say_title(FILE *out, const struct kr_style *style, const char *title, const char *detail)
{
    fprintf(out, "\n%s%s%s%s%s\n", kr_style_paint(style, KR_BOLD), title,
            kr_style_paint(style, KR_PLAIN), detail ? ": " : "", detail ? detail : "");
}

static void say_input(FILE *out, const struct kr_style *style, const struct kr_timeline *t)
{
    const struct kr_source *s = &t->source;
    char devices[160] = "";
    char rank[32] = "";

    for (size_t d = 0; d < t->n_devices; d++) {
        const char *name = kr_timeline_str(t, t->devices[d].name);
        size_t at = strlen(devices);

        if (d > 3) {
            snprintf(devices + at, sizeof devices - at, ", ...");
            break;
        }
        snprintf(devices + at, sizeof devices - at, ", device %" PRId64 "%s%.24s", t->devices[d].id,
                 *name ? " " : "", name);
    }
    if (s->rank >= 0)
        snprintf(rank, sizeof rank, ", rank %" PRId64, s->rank);
    kr_say_fact(out, style, "input", "%s: %s, %s%s%s%s", s->path, s->format,
                kr_text_bytes(s->input_bytes).s, strcmp(s->compression, "none") == 0 ? "" : " ",
                strcmp(s->compression, "none") == 0 ? "" : s->compression, rank);
    kr_say_fact(out, style, "", "%zu device%s%s", t->n_devices, t->n_devices == 1 ? "" : "s",
                devices);
}

static void say_complete(FILE *out, const struct kr_style *style, const struct kr_timeline *t)
{
    const struct kr_counts *c = &t->counts;
    const char *status = t->source.truncated       ? "NO, the input ends early"
                         : kr_timeline_complete(t) ? "yes"
                                                   : "NO, device work is missing or wrong";

    kr_say_fact(out, style, "complete", "%s: %s events read, %s device events kept, %s rejected%s",
                status, kr_text_count(c->events_read).s, kr_text_count(c->device_events).s,
                kr_text_count(c->dropped).s,
                t->source.drops_known ? "" : "; drops by the recorder unknown");
    if (t->source.drops_known && t->source.drops)
        kr_say_fact(out, style, "", "the recorder dropped %s records",
                    kr_text_count(t->source.drops).s);
}

void kr_say_source(FILE *out, const struct kr_style *style, const struct kr_timeline *t)
{
    say_input(out, style, t);
    say_complete(out, style, t);
    for (int w = 0; w < KR_WARN_COUNT; w++) {
        if (t->warnings[w].count)
            kr_say_fact(out, style, "warning", "%s (%s)", kr_warn_text((enum kr_warn)w),
                        kr_text_count(t->warnings[w].count).s);
    }
}

void kr_say_window(FILE *out, const struct kr_style *style, const struct kr_window *window)
{
    char steps[96] = "";

    if (window->n_steps)
        snprintf(steps, sizeof steps, "; %zu in the window", window->n_steps);
    if (window->dropped_steps)
        snprintf(steps + strlen(steps), sizeof steps - strlen(steps), ", %zu left out",
                 window->dropped_steps);
    kr_say_fact(out, style, "window", "%s: %s%s", kr_window_kind_name(window->kind), window->how,
                steps);
}

struct kr_cost_text kr_text_cost(const char *what, double frac, double low_frac, double high_frac)
{
    struct kr_cost_text text;

    if (frac < 0 && (isnan(low_frac) || isnan(high_frac) || high_frac < 0))
        snprintf(text.s, sizeof text.s,
                 "what %s costs here is not measurable: steps are shorter with it by %s %%", what,
                 kr_text_percent(-frac).s);
    else if (isnan(low_frac) || isnan(high_frac))
        snprintf(text.s, sizeof text.s, "%s costs %s %% here", what, kr_text_percent(frac).s);
    else if (low_frac <= 0)
        snprintf(text.s, sizeof text.s, "what %s costs here is not measurable (< %s %%)", what,
                 kr_text_percent(fmax(high_frac, -low_frac)).s);
    else
        snprintf(text.s, sizeof text.s, "%s costs %s %% here (%s)", what, kr_text_percent(frac).s,
                 kr_text_percent_range(low_frac, high_frac).s);
    return text;
}

#include "render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

/*
 * RFC 4180: quotes around everything that needs them, doubled inside. Control characters become
 * visible, so a line is a row and a terminal is safe; JSON has names byte for byte.
 */
static void write_fieldn(FILE *out, const char *text, size_t len)
{
    size_t start = 0;

    if (!memchr(text, ',', len) && !memchr(text, '"', len)) {
        kr_plain_textn(out, text, len);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '"')
            continue;
        kr_plain_textn(out, text + start, i - start);
        fputs("\"\"", out);
        start = i + 1;
    }
    kr_plain_textn(out, text + start, len - start);
    fputc('"', out);
}

static void write_field(FILE *out, const char *text)
{
    write_fieldn(out, text, strlen(text));
    fputc(',', out);
}

static void write_frac(FILE *out, double frac)
{
    if (isfinite(frac))
        fprintf(out, "%.9g", frac);
}

static void write_numbers(FILE *out, const struct kr_row *row)
{
    const struct kr_stats *s = &row->stats;

    fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", s->count, s->sum_ns, s->exclusive_ns);
    write_frac(out, row->frac_busy);
    fputc(',', out);
    write_frac(out, row->frac_wall);
    fputc(',', out);
    write_frac(out, row->frac_step);
    fputc(',', out);
    if (s->count)
        fprintf(out, "%" PRIu64, s->min_ns);
    fputc(',', out);
    if (s->count && row->median_known)
        fprintf(out, "%" PRIu64, s->median_ns);
    fputc(',', out);
    if (s->count)
        fprintf(out, "%" PRIu64, s->max_ns);
    fputc('\n', out);
}

#define NUMBER_HEADS                                                                               \
    "count,sum_ns,exclusive_ns,frac_busy,frac_wall,frac_step,min_ns,median_ns,max_ns\n"

static void write_kernel_names(FILE *out, const struct kr_row *row)
{
    write_fieldn(out, row->name, row->name_len);
    fputc(',', out);
    write_field(out, row->short_name);
    write_field(out, row->family);
    write_field(out, kr_class_name((enum kr_class)row->tag.cls));
    write_field(out, kr_origin_name((enum kr_origin)row->tag.origin));
    write_field(out, row->rule);
    for (unsigned i = 0, n = 0; i < KR_FLAG_COUNT; i++) {
        if (row->tag.flags & 1u << i)
            fprintf(out, "%s%s", n++ ? " " : "", kr_flag_name(i));
    }
    fputc(',', out);
    write_field(out, row->op);
}

/* Classes and idle close to the wall; the idle row has no launches and no busy share. */
static void write_idle(FILE *out, const struct kr_report *report)
{
    fprintf(out, "idle,,,%" PRIu64 ",,", report->time.idle_ns);
    write_frac(out, kr_frac(report->time.idle_ns, report->time.wall_ns));
    fputc(',', out);
    if (report->step.known)
        write_frac(out, report->step.idle_frac);
    fputs(",,,\n", out);
}

void kr_render_csv(const struct kr_report *report, enum kr_by by, FILE *out)
{
    const struct kr_rows *rows = by == KR_BY_CLASS    ? &report->class_rows
                                 : by == KR_BY_FAMILY ? &report->family_rows
                                                      : &report->kernel_rows;

    if (by == KR_BY_CLASS)
        fputs("class," NUMBER_HEADS, out);
    else if (by == KR_BY_FAMILY)
        fputs("family,class," NUMBER_HEADS, out);
    else
        fputs("name,short_name,family,class,origin,rule,flags,op," NUMBER_HEADS, out);
    for (size_t i = 0; i < rows->n; i++) {
        const struct kr_row *row = &rows->rows[i];

        if (by == KR_BY_CLASS || by == KR_BY_FAMILY)
            write_field(out, row->name);
        else
            write_kernel_names(out, row);
        if (by == KR_BY_FAMILY)
            write_field(out, kr_class_name((enum kr_class)row->tag.cls));
        write_numbers(out, row);
    }
    if (by == KR_BY_CLASS)
        write_idle(out, report);
}

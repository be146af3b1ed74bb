#include "render_explain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "json_parts.h"
#include "text.h"
#include "text_parts.h"

struct kr_explained kr_explained_row(const struct kr_row *row)
{
    return (struct kr_explained){
        .name = row->name,
        .name_len = row->name_len,
        .normalised = row->normalised,
        .short_name = row->short_name,
        .op = row->op,
        .tag = row->tag,
        .stats = &row->stats,
        .frac_busy = row->frac_busy,
        .frac_wall = row->frac_wall,
    };
}

static void say_flags(FILE *out, const struct kr_style *style, unsigned flags)
{
    char names[96] = "";

    for (unsigned i = 0; i < KR_FLAG_COUNT; i++) {
        if (flags & 1u << i)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     *names ? ", " : "", kr_flag_name(i));
    }
    if (*names)
        kr_say_fact(out, style, "flags", "%s", names);
}

static void say_policy(const struct kr_rules *rules, const struct kr_tag *tag, FILE *out,
                       const struct kr_style *style)
{
    const char *entry = kr_rules_policy_entry(rules, tag->family, (enum kr_origin)tag->origin);

    kr_say_fact(out, style, "class", "%s (policy %s: %s)", kr_class_name((enum kr_class)tag->cls),
                kr_rules_policy_name(rules), *entry ? entry : "its 'otherwise'");
}

void kr_explain_text(const struct kr_rules *rules, const struct kr_explained *kernel, FILE *out,
                     const struct kr_style *style)
{
    const struct kr_tag *tag = &kernel->tag;
    const char *why = kr_rules_why(rules, tag->rule);

    kr_say_fact(out, style, "kernel", "%.*s", (int)kernel->name_len, kernel->name);
    if (strlen(kernel->normalised) != kernel->name_len ||
        memcmp(kernel->normalised, kernel->name, kernel->name_len) != 0)
        kr_say_fact(out, style, "normalised", "%s", kernel->normalised);
    kr_say_fact(out, style, "short", "%s", kernel->short_name);
    if (*kernel->op)
        kr_say_fact(out, style, "op", "%s", kernel->op);
    if (tag->rule == KR_RULE_NONE)
        kr_say_fact(out, style, "rule", "none: no rule knows this name");
    else
        kr_say_fact(out, style, "rule", "%s (%s:%zu)", kr_rules_id(rules, tag->rule),
                    kr_rules_origin_file(rules, tag->rule), kr_rules_line(rules, tag->rule));
    if (*why)
        kr_say_fact(out, style, "why", "%s", why);
    kr_say_fact(out, style, "family", "%s, origin %s", kr_rules_family(rules, tag->family),
                kr_origin_name((enum kr_origin)tag->origin));
    say_flags(out, style, tag->flags);
    say_policy(rules, tag, out, style);
    if (kernel->stats)
        kr_say_fact(out, style, "time",
                    "%s launches, %s exclusive: %s %% of busy, %s %% of wall; median %s",
                    kr_text_count(kernel->stats->count).s,
                    kr_text_duration((double)kernel->stats->exclusive_ns).s,
                    kr_text_percent(kernel->frac_busy).s, kr_text_percent(kernel->frac_wall).s,
                    kr_text_duration((double)kernel->stats->median_ns).s);
}

static void write_kernel(struct kr_json *json, const struct kr_rules *rules,
                         const struct kr_explained *kernel)
{
    const struct kr_tag *tag = &kernel->tag;
    const char *entry = kr_rules_policy_entry(rules, tag->family, (enum kr_origin)tag->origin);
    bool has_rule = tag->rule != KR_RULE_NONE;

    kr_json_object(json, NULL);
    kr_json_strn(json, "name", kernel->name, kernel->name_len);
    kr_json_str(json, "normalised", kernel->normalised);
    kr_json_str(json, "short_name", kernel->short_name);
    kr_json_str(json, "op", *kernel->op ? kernel->op : NULL);
    kr_json_str(json, "rule", has_rule ? kr_rules_id(rules, tag->rule) : NULL);
    kr_json_str(json, "rule_file", has_rule ? kr_rules_origin_file(rules, tag->rule) : NULL);
    kr_json_known_u64(json, "rule_line", has_rule, has_rule ? kr_rules_line(rules, tag->rule) : 0);
    kr_json_str(json, "why", has_rule ? kr_rules_why(rules, tag->rule) : NULL);
    kr_json_str(json, "family", kr_rules_family(rules, tag->family));
    kr_json_str(json, "origin", kr_origin_name((enum kr_origin)tag->origin));
    kr_json_flags(json, "flags", tag->flags);
    kr_json_str(json, "policy_entry", *entry ? entry : NULL);
    kr_json_str(json, "class", kr_class_name((enum kr_class)tag->cls));
    if (kernel->stats) {
        kr_json_u64(json, "count", kernel->stats->count);
        kr_json_u64(json, "exclusive_ns", kernel->stats->exclusive_ns);
    } else {
        kr_json_null(json, "count");
        kr_json_null(json, "exclusive_ns");
    }
    kr_json_num(json, "frac_busy", kernel->frac_busy);
    kr_json_num(json, "frac_wall", kernel->frac_wall);
    kr_json_close(json);
}

void kr_explain_json(const struct kr_rules *rules, const struct kr_explained *kernels, size_t n,
                     const struct kr_timeline *source, FILE *out)
{
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.explain", 1);
    kr_json_policy(&json, "policy", rules);
    if (source)
        kr_json_source(&json, "source", source);
    else
        kr_json_null(&json, "source");
    kr_json_array(&json, "kernels");
    for (size_t i = 0; i < n; i++)
        write_kernel(&json, rules, &kernels[i]);
    kr_json_close(&json);
    kr_json_end(&json);
}

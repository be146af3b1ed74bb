#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "text.h"

static bool fail_form(const char *text, struct kr_err *err)
{
    return kr_fail(err, KR_EARG,
                   "'%.64s' is no condition; write e.g. 'unclassified>1%%' or 'idle/busy<=0.2'",
                   text);
}

/* Digits, at most one point, an optional percent sign; nothing that depends on the locale. */
static bool parse_limit(const char *text, double *limit)
{
    double value = 0;
    double unit = 0; /* of the next decimal; 0 = before the point */
    size_t digits = 0;

    for (; (*text >= '0' && *text <= '9') || (*text == '.' && unit == 0); text++) {
        if (*text == '.') {
            unit = 0.1;
        } else if (unit > 0) {
            value += unit * (*text - '0');
            unit /= 10;
            digits++;
        } else {
            value = 10 * value + (*text - '0');
            digits++;
        }
    }
    text += strspn(text, " ");
    *limit = *text == '%' ? value / 100 : value;
    return digits > 0 && text[*text == '%'] == '\0';
}

bool kr_check_parse(const char *text, struct kr_check *out, struct kr_err *err)
{
    size_t len = strcspn(text, "<>");
    const char *op = text + len;
    size_t op_len = op[0] ? 1 + (op[1] == '=') : 0;
    const char *limit = op + op_len + strspn(op + op_len, " ");

    while (len && text[len - 1] == ' ')
        len--;
    *out = (struct kr_check){ 0 };
    if (op_len == 0 || len == 0 || len >= sizeof out->what)
        return fail_form(text, err);
    memcpy(out->what, text, len);
    memcpy(out->op, op, op_len);
    if (len > 5 && strcmp(out->what + len - 5, "/busy") == 0) {
        out->of_busy = true;
        out->what[len - 5] = '\0';
    }
    return parse_limit(limit, &out->limit) || fail_form(text, err);
}

/* Exclusive time of what is named; a known family that the run lacks takes none. */
static bool find_time(const struct kr_check *check, const struct kr_report *report,
                      uint64_t *time_ns, struct kr_err *err)
{
    struct kr_nearest nearest = { 0 };
    bool known = false;

    *time_ns = 0;
    if (strcmp(check->what, "idle") == 0 || strcmp(check->what, "suspect") == 0) {
        *time_ns = *check->what == 'i' ? report->time.idle_ns : report->suspect_ns;
        return true;
    }
    if (strchr(check->what, '/'))
        return kr_fail(err, KR_EARG, "'%s': a share is of wall time, or with '/busy' of busy time",
                       check->what);
    kr_nearest_offer(&nearest, check->what, "idle");
    kr_nearest_offer(&nearest, check->what, "suspect");
    for (size_t c = 0; c < KR_CLASS_COUNT; c++) {
        const struct kr_row *row = kr_report_class(report, (enum kr_class)c);

        if (strcmp(check->what, row->name) == 0) {
            *time_ns = row->stats.exclusive_ns;
            return true;
        }
        kr_nearest_offer(&nearest, check->what, row->name);
    }
    for (size_t f = 0; f < kr_rules_family_count(report->rules); f++) {
        const char *family = kr_rules_family(report->rules, (uint16_t)f);

        known = known || strcmp(check->what, family) == 0;
        kr_nearest_offer(&nearest, check->what, family);
    }
    for (size_t i = 0; i < report->family_rows.n; i++) {
        if (strcmp(check->what, report->family_rows.rows[i].name) == 0)
            *time_ns += report->family_rows.rows[i].stats.exclusive_ns;
    }
    if (known)
        return true;
    if (nearest.word)
        return kr_fail(err, KR_EARG, "no class or family '%s' to check; did you mean '%s'?",
                       check->what, nearest.word);
    return kr_fail(err, KR_EARG, "no class or family '%s' to check", check->what);
}

bool kr_check_holds(const struct kr_check *check, const struct kr_report *report, bool *holds,
                    double *value, struct kr_err *err)
{
    uint64_t time_ns;

    if (!find_time(check, report, &time_ns, err))
        return false;
    *value = kr_frac(time_ns, check->of_busy ? report->time.busy_ns : report->time.wall_ns);
    if (isnan(*value))
        return kr_fail(err, KR_EARG, "the share of '%s' is unknown: no time passed in the window",
                       check->what);
    *holds = check->op[0] == '>' ? *value > check->limit : *value < check->limit;
    *holds = *holds || (check->op[1] == '=' && *value == check->limit);
    return true;
}

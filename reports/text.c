#include "text.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    double ns;
} units[] = {
    [KR_UNIT_US] = { "us", 1e3 },
    [KR_UNIT_MS] = { "ms", 1e6 },
    [KR_UNIT_S] = { "s", 1e9 },
};

const char *kr_unit_name(enum kr_unit unit)
{
    return units[unit].name;
}

enum kr_unit kr_unit_for(uint64_t whole_ns)
{
    if (whole_ns >= 20000000000u)
        return KR_UNIT_S;
    return whole_ns >= 20000000u ? KR_UNIT_MS : KR_UNIT_US;
}

struct kr_number kr_text_time(uint64_t ns, enum kr_unit unit)
{
    struct kr_number text;

    snprintf(text.s, sizeof text.s, "%.3f", (double)ns / units[unit].ns);
    return text;
}

/* Three significant digits, never in exponent form; v is below 1e6. */
static void three_digits(struct kr_number *text, double v, const char *unit)
{
    int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

    snprintf(text->s, sizeof text->s, "%.*f %s", decimals, v, unit);
}

struct kr_number kr_text_duration(double ns)
{
    struct kr_number text = { "-" };

    if (!isfinite(ns))
        return text;
    if (ns < 999.5)
        snprintf(text.s, sizeof text.s, "%.0f ns", ns);
    else if (ns < 999.5e3)
        three_digits(&text, ns / 1e3, "us");
    else if (ns < 999.5e6)
        three_digits(&text, ns / 1e6, "ms");
    else
        three_digits(&text, ns / 1e9, "s");
    return text;
}

/* A percentage with so many decimals; what would read as zero and is not says so. */
static struct kr_number percent(double frac, int decimals)
{
    double least = pow(10, -decimals); /* [%] */
    struct kr_number text = { "-" };

    if (isnan(frac))
        return text;
    if (frac != 0 && fabs(100 * frac) < least / 2)
        snprintf(text.s, sizeof text.s, "%s%.*f", frac > 0 ? "<" : ">-", decimals, least);
    else
        snprintf(text.s, sizeof text.s, "%.*f", decimals, 100 * frac + 0.0);
    return text;
}

static struct kr_number percent_range(double lo, double hi, int decimals)
{
    struct kr_number text = percent(lo, decimals);

    if (!isnan(lo) || !isnan(hi))
        snprintf(text.s, sizeof text.s, "%.18s..%.18s", percent(lo, decimals).s,
                 percent(hi, decimals).s);
    return text;
}

struct kr_number kr_text_percent(double frac)
{
    return percent(frac, 1);
}

struct kr_number kr_text_percent_range(double lo, double hi)
{
    return percent_range(lo, hi, 1);
}

struct kr_number kr_text_saved(double frac)
{
    return percent(frac, 2);
}

struct kr_number kr_text_saved_range(double lo, double hi)
{
    return percent_range(lo, hi, 2);
}

struct kr_number kr_text_gain(double gain_x)
{
    struct kr_number text = { "-" };

    if (isinf(gain_x))
        snprintf(text.s, sizeof text.s, "no limit");
    else if (!isnan(gain_x))
        snprintf(text.s, sizeof text.s, gain_x < 999.5 ? "%.2fx" : "%.3gx", gain_x);
    return text;
}

struct kr_number kr_text_count(uint64_t n)
{
    struct kr_number text;
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            text.s[at++] = ',';
        text.s[at++] = digits[i];
    }
    text.s[at] = '\0';
    return text;
}

struct kr_number kr_text_bytes(uint64_t bytes)
{
    struct kr_number text;
    double v = (double)bytes;

    if (bytes < 1000)
        snprintf(text.s, sizeof text.s, "%u B", (unsigned)bytes);
    else if (v < 999.5e3)
        three_digits(&text, v / 1e3, "kB");
    else if (v < 999.5e6)
        three_digits(&text, v / 1e6, "MB");
    else
        three_digits(&text, v / 1e9, "GB");
    return text;
}

double kr_frac(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static bool is_continuation(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t kr_utf8_char(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n;

    if (len == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || n > len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (!is_continuation(s[i]))
            return 0;
    }
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

bool kr_utf8_is_control(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;

    if (n == 1)
        return s[0] < 0x20 || s[0] == 0x7F;
    if (n == 2)
        return s[0] == 0xC2 && s[1] < 0xA0;
    if (n != 3 || s[0] != 0xE2)
        return false;
    return (s[1] == 0x80 && ((s[2] >= 0x8E && s[2] <= 0x8F) || (s[2] >= 0xA8 && s[2] <= 0xAE))) ||
           (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9);
}

void kr_plain_textn(FILE *out, const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = kr_utf8_char(s + i, len - i);
        size_t step = n ? n : 1;

        if (n && !kr_utf8_is_control(s + i, n)) {
            fwrite(s + i, 1, n, out);
        } else {
            for (size_t k = 0; k < step; k++)
                fprintf(out, "\\x%02x", (unsigned)(unsigned char)s[i + k]);
        }
        i += step;
    }
}

void kr_plain_text(FILE *out, const char *s)
{
    kr_plain_textn(out, s, strlen(s));
}

void kr_plain_word(FILE *out, const char *s)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./,:=@%+";

    if (*s == '-' && s[1]) /* a dash alone is standard input */
        fputs("./", out);
    if (*s && strspn(s, safe) == strlen(s)) {
        fputs(s, out);
        return;
    }
    fputc('\'', out);
    for (size_t len; *s; s += len + (s[len] == '\'')) {
        len = strcspn(s, "'");
        kr_plain_textn(out, s, len);
        if (s[len])
            fputs("'\\''", out);
    }
    fputc('\'', out);
}

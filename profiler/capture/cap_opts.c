#include "cap_opts.h"

#include "cap_say.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1000000000ULL

enum value_type { FLAG, TEXT, SECONDS, NUMBER, COUNT, MIB, KIB };

/* Ranges are of the number as written. */
static const struct option {
    const char *name;
    enum value_type type;
    size_t offset;
    double min, max;
} options[] = {
    { "range", TEXT, offsetof(struct cap_opts, range), 0, 0 },
    { "delay", SECONDS, offsetof(struct cap_opts, delay_ns), 0, 1e7 },
    { "duration", SECONDS, offsetof(struct cap_opts, duration_ns), 1e-3, 1e7 },
    { "linger", SECONDS, offsetof(struct cap_opts, linger_ns), 0, 3600 },
    { "flush", SECONDS, offsetof(struct cap_opts, flush_ns), 0.01, 3600 },
    { "deadline", SECONDS, offsetof(struct cap_opts, deadline_ns), 0.01, 3600 },
    { "steps", NUMBER, offsetof(struct cap_opts, steps), 1, 1e6 },
    { "cap", MIB, offsetof(struct cap_opts, cap_bytes), 1, 1 << 20 },
    { "size", MIB, offsetof(struct cap_opts, file_bytes), 1, 1 << 24 },
    { "buffer", KIB, offsetof(struct cap_opts, buffer_bytes), 16, 1 << 16 },
    { "device-buffer", KIB, offsetof(struct cap_opts, device_buffer_bytes), 1, 1 << 20 },
    { "device-limit", COUNT, offsetof(struct cap_opts, device_limit), 1, 1e6 },
    { "device-ready", COUNT, offsetof(struct cap_opts, device_ready), 1, 1e6 },
    { "pinned", FLAG, offsetof(struct cap_opts, pinned), 0, 0 },
    { "one-buffer", FLAG, offsetof(struct cap_opts, one_buffer), 0, 0 },
    { "unzeroed", FLAG, offsetof(struct cap_opts, unzeroed), 0, 0 },
    { "launches", FLAG, offsetof(struct cap_opts, launches), 0, 0 },
    { "graph-level", FLAG, offsetof(struct cap_opts, graph_level), 0, 0 },
    { "nvtx", FLAG, offsetof(struct cap_opts, nvtx), 0, 0 },
    { "calibrate", FLAG, offsetof(struct cap_opts, calibrate), 0, 0 },
    { "profiler-api", FLAG, offsetof(struct cap_opts, profiler_api), 0, 0 },
    { "marks-after", FLAG, offsetof(struct cap_opts, marks_after), 0, 0 },
    { "finalize", FLAG, offsetof(struct cap_opts, finalize), 0, 0 },
    { "yield", FLAG, offsetof(struct cap_opts, yield), 0, 0 },
    { "plain", FLAG, offsetof(struct cap_opts, plain), 0, 0 },
    { "kernels-only", FLAG, offsetof(struct cap_opts, kernels_only), 0, 0 },
    { "peers", FLAG, offsetof(struct cap_opts, peers), 0, 0 },
    { "all-calls", FLAG, offsetof(struct cap_opts, all_calls), 0, 0 },
    { "ticks", FLAG, offsetof(struct cap_opts, ticks), 0, 0 },
    { "own-ids", FLAG, offsetof(struct cap_opts, own_ids), 0, 0 },
    { "floor", FLAG, offsetof(struct cap_opts, floor), 0, 0 },
    { "verbose", FLAG, offsetof(struct cap_opts, verbose), 0, 0 },
};

/* Digits with an optional decimal part; strtod would follow the program's locale. */
static bool parse_decimal(const char *text, double *out)
{
    double value = 0;
    double scale = 1;
    bool digits = false;

    for (; *text >= '0' && *text <= '9'; text++, digits = true)
        value = value * 10 + (*text - '0');
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, digits = true) {
            scale /= 10;
            value += (*text - '0') * scale;
        }
    }
    *out = value;
    return digits && *text == '\0';
}

static bool store(struct cap_opts *opts, const struct option *option, const char *value)
{
    char *field = (char *)opts + option->offset;
    double number = 0;

    if (option->type == FLAG) {
        *(bool *)field = true;
        return !value;
    }
    if (!value)
        return false;
    if (option->type == TEXT) {
        size_t len = strlen(value);
        if (len == 0 || len >= CAP_NAME_MAX)
            return false;
        memcpy(field, value, len + 1);
        return true;
    }
    if (!parse_decimal(value, &number) || number < option->min || number > option->max)
        return false;
    switch (option->type) {
    case SECONDS:
        *(uint64_t *)(void *)field = (uint64_t)(number * (double)NS_PER_S);
        break;
    case NUMBER:
        *(uint32_t *)(void *)field = (uint32_t)number;
        break;
    case COUNT:
        *(size_t *)(void *)field = (size_t)number;
        break;
    default:
        *(size_t *)(void *)field = (size_t)number << (option->type == MIB ? 20 : 10);
    }
    return true;
}

static void read_one(struct cap_opts *opts, char *item)
{
    char *value = strchr(item, '=');

    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].name, item) != 0)
            continue;
        if (!store(opts, &options[i], value))
            cap_say("option '%s' in KREACH_OPTIONS has no such value '%s'; ignored", item,
                    value ? value : "");
        return;
    }
    cap_say("option '%s' in KREACH_OPTIONS is unknown; ignored", item);
}

/* Copies the item at text (escapes removed) into item; returns where the next one begins. */
static const char *next_item(const char *text, char *item, size_t room)
{
    size_t len = 0;

    for (; *text && *text != ','; text++) {
        if (*text == '\\' && text[1] == ',')
            text++;
        if (len + 1 < room)
            item[len++] = *text;
    }
    item[len] = '\0';
    return *text ? text + 1 : text;
}

static void copy_env(const char *name, char *out, size_t room)
{
    const char *value = getenv(name);
    size_t len = value ? strlen(value) : 0;

    if (len >= room) {
        cap_say("%s is too long; ignored", name);
        len = 0;
    }
    memcpy(out, value ? value : "", len);
    out[len] = '\0';
}

void cap_opts_read(struct cap_opts *opts)
{
    char item[256];

    *opts = (struct cap_opts){
        .linger_ns = CAP_LINGER_NS,
        .flush_ns = NS_PER_S / 2,
        .deadline_ns = 10 * NS_PER_S,
        .cap_bytes = (size_t)512 << 20,
        .buffer_bytes = (size_t)2 << 20,
    };
    copy_env("KREACH_OUT", opts->out, sizeof opts->out);
    copy_env("KREACH_RUN", opts->run_id, sizeof opts->run_id);
    copy_env("KREACH_OPTIONS", opts->text, sizeof opts->text);
    for (const char *p = opts->text; *p;) {
        p = next_item(p, item, sizeof item);
        if (item[0])
            read_one(opts, item);
    }
    /* Windows of the program's making, and counting equal steps, leave no steps to take turns at.
     */
    if (opts->range[0] || opts->profiler_api || opts->steps > 0)
        opts->calibrate = false;
    opts->nvtx |= opts->calibrate;
    opts->ticks &= opts->floor; /* nothing of ours understands such times */
    if (opts->cap_bytes < 4 * opts->buffer_bytes)
        opts->cap_bytes = 4 * opts->buffer_bytes;
}

bool cap_opts_disabled(void)
{
    const char *value = getenv("KREACH_DISABLE");

    return value && value[0] && strcmp(value, "0") != 0;
}

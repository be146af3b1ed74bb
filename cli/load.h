/* What commands on traces share: options, rules, reading, warnings. */
#ifndef KR_LOAD_H
#define KR_LOAD_H

#include "cmd.h"
#include "report.h"
#include "sigma.h"

/* Options of every command that classifies. */
#define KR_OPTIONS_RULES                                                                           \
    { "rules", 'r', "FILE", NULL,                                                                  \
      "rules that go before the built-in ones or replace them; may be repeated" },                 \
    {                                                                                              \
        "policy", 'p', "NAME", NULL,                                                               \
            "default, paper, or a file: which families count as addressable"                       \
    }

/* Options of every command that reads traces. */
#define KR_OPTIONS_READ                                                                            \
    {                                                                                              \
        "threads", 0, "N", NULL, "threads that read; as many as processors by default"             \
    }

/* Options of every command that accounts for time. */
#define KR_OPTION_WINDOW                                                                           \
    {                                                                                              \
        "window", 'w', "SPEC", NULL,                                                               \
            "all, steady, step:N, name:TEXT or time:A..B; all by default, steady for a .kreach"    \
    }
#define KR_OPTIONS_WINDOW                                                                          \
    KR_OPTION_WINDOW,                                                                              \
    {                                                                                              \
        "wall", 0, "DURATION", NULL,                                                               \
            "step time without a profiler, e.g. 31.4ms; takes the steady window"                   \
    }

/* Option of commands that can do without a trace. */
#define KR_OPTION_SHARES                                                                           \
    {                                                                                              \
        "shares", 0, NULL, NULL, "FILE lists published shares instead of a trace (docs/shares.md)" \
    }

#define KR_THREADS_MAX 256

/* The option of commands that know measured speed-ups. */
#define KR_OPTION_SIGMA                                                                            \
    {                                                                                              \
        "sigma", 's', "FILE", NULL, "measured speed-ups (docs/sigma.md); may be repeated"          \
    }

/**
 * Reads all files of --sigma as one; *out is empty when there is none. Freed with kr_sigma_free,
 * also after a failure.
 */
bool kr_load_sigma(const struct kr_call *call, struct kr_sigma_file *out, struct kr_err *err);

/** Rules by the options --rules and --policy; NULL with err filled. Freed with kr_rules_free. */
struct kr_rules *kr_load_rules(const struct kr_call *call, struct kr_err *err);

/**
 * Reads a trace, with progress on a terminal; warnings that lose data go to the log.
 * @return NULL with err filled. Freed with kr_timeline_free.
 */
struct kr_timeline *kr_load_timeline(const struct kr_call *call, const char *path,
                                     struct kr_err *err);

/** --wall in nanoseconds, 0 when absent; false with KR_EARG when it is no duration or zero. */
bool kr_load_wall(const struct kr_call *call, uint64_t *wall_step_ns, struct kr_err *err);

/**
 * The plain step time of one run: `wall_step_ns` (of --wall) when not 0, else what the recording
 * measured by itself, else 0. A recorded one that cannot stand beside the window's steps is told
 * on the log and left out.
 */
uint64_t kr_load_plain_step(const struct kr_call *call, uint64_t wall_step_ns,
                            const struct kr_run *run);

/**
 * Reads and analyses one trace in the window of --window (steady where a plain step time is given
 * or recorded, else all), or one list of shares with --shares.
 */
bool kr_load_run(const struct kr_call *call, const struct kr_rules *rules, const char *path,
                 struct kr_run *out, struct kr_err *err);

/**
 * The status of a command that could use its input: KR_STATUS_INPUT when the input was truncated,
 * or lost data and --strict was given.
 */
enum kr_status kr_load_status(const struct kr_call *call, const struct kr_timeline *t);

#endif

/* Commands: one table of {name, summary, options, run}; help, parser and completion read it. */
#ifndef KR_CMD_H
#define KR_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "opts.h"
#include "status.h"
#include "table.h"

/* Streams of one invocation, so that tests can call commands in process. */
struct kr_io {
    FILE *out; /* data */
    FILE *log; /* everything else */
};

enum kr_format { KR_FORMAT_TEXT, KR_FORMAT_JSON, KR_FORMAT_CSV };

/* One running command. */
struct kr_call {
    const struct kr_command *command;
    struct kr_opts opts;
    FILE *out; /* where data goes: standard output or the file of --output */
    FILE *log;
    char *latest; /* the recording that stands for a missing operand; NULL = none is missing */
    enum kr_format format;
    struct kr_style style; /* how text on `out` looks */
    unsigned verbose;      /* times -v was given */
    bool quiet;            /* only errors on `log` */
    enum kr_status status; /* what a command that ended well reports; starts as KR_STATUS_DONE */
};

struct kr_command {
    const char *name;    /* one word, or two when it belongs to a group: "rules check" */
    const char *args;    /* for the usage line: "FILE..." */
    const char *summary; /* one line without a full stop */
    const char *details; /* more help that ends with examples; NULL = none */
    const struct kr_option *options;
    size_t min_operands, max_operands; /* SIZE_MAX = any number */
    bool runs_program; /* the operands are a program and its arguments: options end before them, and
                          --output is the command's own business */
    bool takes_latest; /* without operands, and without --shares, it reads the newest recording */
    bool (*run)(struct kr_call *call, struct kr_err *err);
};

/** All commands in the order of help; ends with NULL. */
extern const struct kr_command *const kr_commands[];

/** Options that every command takes; ends with a zeroed one. */
extern const struct kr_option kr_global_options[];

/** The command of exactly that name ("report", "rules check"), or NULL. */
const struct kr_command *kr_command_find(const char *name);

/** Whether `word` is the first of the command's two words: "rules" of "rules check". */
bool kr_command_in_group(const struct kr_command *command, const char *word);

/** Whether any command is in the group of that name. */
bool kr_command_is_group(const char *word);

/* Options for commands that write data. */
#define KR_OPTIONS_OUTPUT                                                                          \
    { "json", 0, NULL, NULL, "the same as --format json" },                                        \
        { "format", 0, "FORMAT", "text|json|csv", "how data is written; text by default" },        \
        KR_OPTIONS_FILE
#define KR_OPTIONS_FILE                                                                            \
    { "output", 'o', "FILE", NULL, "write to FILE instead of standard output" },                   \
    {                                                                                              \
        "force", 'f', NULL, NULL, "let --output replace a file"                                    \
    }

/** Prints "kreach: warning: ..." to the log, however quiet: for what went wrong and shows nowhere
 * else. */
void kr_call_alert(const struct kr_call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints "kreach: warning: ..." to the log, unless the user asked for quiet. */
void kr_call_warn(const struct kr_call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints "kreach: ..." to the log, unless the user asked for quiet. */
void kr_call_note(const struct kr_call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Runs the whole tool: argv[0] is the program. Returns the exit status, never exits. */
int kr_main(const struct kr_io *io, int argc, char *const *argv);

#endif

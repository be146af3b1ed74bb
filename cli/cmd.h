/* Commands: a table of {name, summary, options, run}; help, parser and completion read it. */
#ifndef KR_CMD_H
#define KR_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "err.h"

/* Streams of one invocation, so that tests can call commands in process. */
struct kr_io {
    FILE *out; /* data */
    FILE *log; /* everything else */
    FILE *in;  /* standard input */
};

/* One option of a command. */
struct kr_option {
    const char *name; /* long name without dashes */
    char letter;      /* short form, 0 = none */
    const char *arg;  /* name of its argument for help, NULL = a switch */
    const char *help;
};

struct kr_command {
    const char *name;
    const char *args;                /* for the usage line: "FILE..." */
    const char *summary;             /* one line */
    const char *details;             /* more help, NULL = none; ends with examples */
    const struct kr_option *options; /* ends with a zeroed one */
    int (*run)(const struct kr_io *io, int argc, char **argv); /* the exit status */
};

/** All commands in the order of help; ends with a zeroed one. */
extern const struct kr_command kr_commands[];

/** The command of that exact name, or NULL. */
const struct kr_command *kr_command_find(const char *name);

/* Result of parsing a command line against a command's option table. */
struct kr_opts {
    const char **values[32]; /* per table index: NULL-terminated list of given arguments */
    unsigned given[32];      /* per table index: how often */
    char **operands;
    size_t n_operands;
};

/** Runs the whole tool: argv[0] is the program. Never exits the process. */
int kr_main(const struct kr_io *io, int argc, char **argv);

#endif

/* Options: one table feeds the parser, the help and the shell completion. */
#ifndef KR_OPTS_H
#define KR_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* One option of a command. A table ends with a zeroed one. */
struct kr_option {
    const char *name;    /* long name without dashes */
    char letter;         /* short form, 0 = none */
    const char *arg;     /* name of its argument for help, e.g. "FILE"; NULL = a switch */
    const char *choices; /* "auto|always|never": the only arguments allowed; NULL = any */
    const char *help;    /* one sentence without a full stop */
};

struct kr_given {
    const struct kr_option *option;
    const char *value; /* NULL for a switch */
};

#define KR_OPTS_TABLES 2

/* A parsed command line. Strings are borrowed from argv. */
struct kr_opts {
    const struct kr_option *tables[KR_OPTS_TABLES]; /* what is known; NULL = none */
    bool stop_at_operand;                           /* leave everything from the first operand on */
    struct kr_given *given;                         /* in the order of the command line */
    size_t n_given;
    const char **operands; /* ends with NULL */
    size_t n_operands;
    int n_used; /* how many items of argv were taken */
};

/**
 * Parses argv[0..argc) (without the program's name) against the tables set in opts.
 *
 * Understands --name VALUE, --name=VALUE, -x VALUE, -xVALUE, grouped switches (-qv), options among
 * operands, and "--" that ends options; "-" is an operand. Long names must be whole.
 * @return false with KR_EARG when an option is unknown (the nearest is named), its argument is
 *         missing, superfluous or not among the choices. Free with kr_opts_free, also on failure.
 */
bool kr_opts_parse(struct kr_opts *opts, int argc, char *const *argv, struct kr_err *err);
void kr_opts_free(struct kr_opts *opts);

/** How often an option was given; 0 also when no table has it. */
unsigned kr_opts_count(const struct kr_opts *opts, const char *name);

/** Its last argument; NULL when it was not given. */
const char *kr_opts_value(const struct kr_opts *opts, const char *name);

/** The argument of the nth (from 0) occurrence of the option; NULL when there are fewer. */
const char *kr_opts_nth(const struct kr_opts *opts, const char *name, unsigned nth);

/**
 * Reads a whole number given to an option; *value stays when the option is absent.
 * @return false with KR_EARG when it is not a plain decimal number of at most `max`.
 */
bool kr_opts_number(const struct kr_opts *opts, const char *name, uint64_t max, uint64_t *value,
                    struct kr_err *err);

#endif

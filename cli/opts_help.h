/* Help text made from an option table. */
#ifndef KR_OPTS_HELP_H
#define KR_OPTS_HELP_H

#include <stdio.h>

#include "opts.h"

/** "  left        explanation", the explanation wrapped in its own column. */
void kr_opts_help_entry(FILE *out, const char *left, const char *text);

/** One entry for each option of a table. */
void kr_opts_help(FILE *out, const struct kr_option *options);

#endif

/* Help, made from the command and option tables. */
#ifndef KR_HELP_H
#define KR_HELP_H

#include "cmd.h"

/** The list of commands, the options before a command, exit statuses. */
void kr_help_overview(FILE *out);

/** The commands that begin with one word: "plot". */
void kr_help_group(FILE *out, const char *group);

/** Usage, options, details and examples of one command. */
void kr_help_command(FILE *out, const struct kr_command *command);

#endif

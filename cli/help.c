#include "help.h"

#include "opts_help.h"

/* Names and summaries of the commands of a group, or of all with NULL. */
static void list_commands(FILE *out, const char *group)
{
    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];
        char left[64];

        if (group && !kr_command_in_group(c, group))
            continue;
        snprintf(left, sizeof left, "  %s", c->name);
        kr_opts_help_entry(out, left, c->summary);
    }
}

void kr_help_group(FILE *out, const char *group)
{
    fprintf(out, "usage: kreach %s COMMAND [options] ...\n\ncommands:\n", group);
    list_commands(out, group);
    fprintf(out, "\n'kreach help %s COMMAND' explains one.\n", group);
}

void kr_help_overview(FILE *out)
{
    fputs("kreach: how far better GPU kernels would reach in your workload\n\n"
          "usage: kreach COMMAND [options] ...\n\ncommands:\n",
          out);
    list_commands(out, NULL);
    fputs("\noptions of every command:\n", out);
    kr_opts_help(out, kr_global_options);
    fputs("\n'kreach help COMMAND' explains one command. Start with: kreach report TRACE\n"
          "\nexit status: 0 done; 1 a check said no; 2 usage; 3 input unreadable, malformed or\n"
          "incomplete; 4 something needed is missing; 5 output failed, memory, or a bug\n",
          out);
}

void kr_help_command(FILE *out, const struct kr_command *command)
{
    fprintf(out, "kreach %s: %s\n\nusage: kreach %s%s%s%s\n", command->name, command->summary,
            command->name, command->options->name ? " [options]" : "", *command->args ? " " : "",
            command->args);
    if (command->takes_latest)
        fputs("\nWithout FILE it reads the newest recording (.kreach) in the current folder.\n",
              out);
    if (command->options->name) {
        fputs("\noptions:\n", out);
        kr_opts_help(out, command->options);
    }
    fputs("\noptions of every command:\n", out);
    kr_opts_help(out, kr_global_options);
    if (command->details)
        fprintf(out, "\n%s", command->details);
}

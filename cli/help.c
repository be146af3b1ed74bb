#include "help.h"

#include <string.h>

/* Column where explanations begin. */
#define HELP_COLUMN 26

static const struct kr_style plain = { .columns = 80 };

/* "  left        explanation", the explanation wrapped in its own column. */
static void print_entry(FILE *out, const char *left, const char *text)
{
    struct kr_style rest = { .columns = plain.columns - HELP_COLUMN };
    size_t len = strlen(left);
    size_t column = 0;

    fprintf(out, "%s%*s", left, len < HELP_COLUMN ? (int)(HELP_COLUMN - len) : 0, "");
    if (len >= HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    for (; *text; text += strspn(text, " ")) {
        size_t word = strcspn(text, " ");

        if (column && column + 1 + word > rest.columns) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = 0;
        }
        fprintf(out, "%s%.*s", column ? " " : "", (int)word, text);
        column += word + (column ? 1 : 0);
        text += word;
    }
    fputc('\n', out);
}

static void print_options(FILE *out, const struct kr_option *options)
{
    for (const struct kr_option *o = options; o->name; o++) {
        char left[64];
        char letter[8] = "    ";

        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
                 o->choices ? o->choices
                 : o->arg   ? o->arg
                            : "");
        print_entry(out, left, o->help);
    }
}

void kr_help_overview(FILE *out)
{
    fputs("kreach: how far better GPU kernels would reach in your workload\n\n"
          "usage: kreach COMMAND [options] ...\n\ncommands:\n",
          out);
    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];

        char left[64];

        snprintf(left, sizeof left, "  %s", c->name);
        print_entry(out, left, c->summary);
    }
    fputs("\noptions of every command:\n", out);
    print_options(out, kr_global_options);
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
    if (command->options->name) {
        fputs("\noptions:\n", out);
        print_options(out, command->options);
    }
    fputs("\noptions of every command:\n", out);
    print_options(out, kr_global_options);
    if (command->details)
        fprintf(out, "\n%s", command->details);
}

#include "opts_help.h"

#include <string.h>

#include "table.h"

/* Column where explanations begin. */
#define HELP_COLUMN 26

static const struct kr_style plain = { .columns = 80 };

void kr_opts_help_entry(FILE *out, const char *left, const char *text)
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

void kr_opts_help(FILE *out, const struct kr_option *options)
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
        kr_opts_help_entry(out, left, o->help);
    }
}

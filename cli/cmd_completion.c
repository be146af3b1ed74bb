/* kreach completion SHELL: a script made from the same tables as parser and help. */
#include <string.h>

#include "commands.h"

/* Walks the words that may follow "kreach" and "kreach GROUP". */
static void print_first_words(FILE *out)
{
    const char *before = "";

    for (size_t i = 0; kr_commands[i]; i++) {
        const char *name = kr_commands[i]->name;
        size_t len = strcspn(name, " ");

        if (strncmp(before, name, len) == 0 && before[len] == ' ')
            continue; /* another one of the same group */
        fprintf(out, "%s%.*s", i ? " " : "", (int)len, name);
        before = name;
    }
}

static void print_option_words(FILE *out, const struct kr_option *options)
{
    for (const struct kr_option *o = options; o->name; o++)
        fprintf(out, " --%s", o->name);
}

static void print_choices(FILE *out, const char *choices)
{
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, out);
}

static void bash_command(FILE *out, const struct kr_command *command)
{
    fprintf(out, "    '%s') options='", command->name);
    print_option_words(out, command->options);
    print_option_words(out, kr_global_options);
    fputs("' ;;\n", out);
}

/* Arguments of options that have choices; `before` is the command and a space, or nothing. */
static void bash_choices(FILE *out, const char *before, const struct kr_option *options)
{
    for (const struct kr_option *o = options; o->name; o++) {
        if (!o->choices)
            continue;
        fprintf(out, "    '%s%s--%s') COMPREPLY=($(compgen -W '", before, *before ? " " : "",
                o->name);
        print_choices(out, o->choices);
        fputs("' -- \"$word\")); return ;;\n", out);
    }
}

/* The length of the group's name when the command at i is the first of a group, else 0. */
static size_t opens_group(size_t i)
{
    const char *name = kr_commands[i]->name;
    size_t len = strcspn(name, " ");

    if (!name[len] || (i && strncmp(kr_commands[i - 1]->name, name, len + 1) == 0))
        return 0;
    return len;
}

/* Second words of the group that the command at i opens. */
static void print_second_words(FILE *out, size_t i)
{
    const char *name = kr_commands[i]->name;
    size_t len = strcspn(name, " ");

    for (size_t k = i; kr_commands[k] && strncmp(kr_commands[k]->name, name, len + 1) == 0; k++)
        fprintf(out, "%s%s", k > i ? " " : "", kr_commands[k]->name + len + 1);
}

/* One case for each group: what stands before and behind its second words. */
static void print_groups(FILE *out, const char *before, const char *behind)
{
    for (size_t i = 0; kr_commands[i]; i++) {
        size_t len = opens_group(i);

        if (!len)
            continue;
        fprintf(out, "    '%.*s') %s", (int)len, kr_commands[i]->name, before);
        print_second_words(out, i);
        fprintf(out, "%s ;;\n", behind);
    }
}

static void print_bash(FILE *out)
{
    fputs("_kreach()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} options second=\n"
          "    local before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W '",
          out);
    print_first_words(out);
    fputs("' -- \"$word\"))\n        return\n    fi\n    case $before in\n", out);
    bash_choices(out, "", kr_global_options);
    fputs("    esac\n    case $command in\n", out);
    print_groups(out, "second='", "'");
    fputs("    esac\n    if [ \"$second\" ]; then\n"
          "        if [ \"$COMP_CWORD\" = 2 ]; then\n"
          "            COMPREPLY=($(compgen -W \"$second\" -- \"$word\"))\n"
          "            return\n        fi\n"
          "        command=\"$command ${COMP_WORDS[2]}\"\n    fi\n"
          "    case \"$command $before\" in\n",
          out);
    for (size_t i = 0; kr_commands[i]; i++)
        bash_choices(out, kr_commands[i]->name, kr_commands[i]->options);
    fputs("    esac\n    case $command in\n", out);
    for (size_t i = 0; kr_commands[i]; i++)
        bash_command(out, kr_commands[i]);
    fputs("    esac\n    case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
          "complete -o filenames -F _kreach kreach\n",
          out);
}

/* zsh and fish: text in single quotes; our own help has no quotes that end it. */
static void print_quoted(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
}

static void zsh_option(FILE *out, const struct kr_option *o)
{
    fprintf(out, " '--%s[", o->name);
    print_quoted(out, o->help);
    fputc(']', out);
    if (o->choices) {
        fprintf(out, ":%s:(", o->arg);
        print_choices(out, o->choices);
        fputc(')', out);
    } else if (o->arg) {
        fprintf(out, ":%s:_files", o->arg);
    }
    fputc('\'', out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef kreach\n_kreach()\n{\n    if (( CURRENT == 2 )); then\n        compadd ", out);
    print_first_words(out);
    fputs("\n        return\n    fi\n    if (( CURRENT == 3 )); then\n    case ${words[2]} in\n",
          out);
    print_groups(out, "compadd ", "; return");
    fputs("    esac\n    fi\n    case \"${words[2]} ${words[3]}\" in\n", out);
    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];

        fprintf(out, "    '%s'%s) _arguments", c->name, strchr(c->name, ' ') ? "" : "' '*");
        for (const struct kr_option *o = c->options; o->name; o++)
            zsh_option(out, o);
        for (const struct kr_option *o = kr_global_options; o->name; o++)
            zsh_option(out, o);
        fputs(" '*:file:_files' ;;\n", out);
    }
    fputs("    esac\n}\n_kreach \"$@\"\n", out);
}

static void fish_option(FILE *out, const char *condition, const struct kr_option *o)
{
    fprintf(out, "complete -c kreach %s -l %s", condition, o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->choices) {
        fputs(" -x -a '", out);
        print_choices(out, o->choices);
        fputc('\'', out);
    } else if (o->arg) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    print_quoted(out, o->help);
    fputs("'\n", out);
}

/* A command where its group was typed: offered until one of the group's commands was. */
static void fish_second_word(FILE *out, size_t opened, size_t i)
{
    const char *name = kr_commands[i]->name;
    int len = (int)strcspn(name, " ");

    fprintf(out,
            "complete -c kreach -n '__fish_seen_subcommand_from %.*s; and not "
            "__fish_seen_subcommand_from ",
            len, name);
    print_second_words(out, opened);
    fprintf(out, "' -f -a '%s' -d '", name + len + 1);
    print_quoted(out, kr_commands[i]->summary);
    fputs("'\n", out);
}

/* A group is described by its second words. */
static void fish_first_word(FILE *out, size_t i)
{
    const struct kr_command *c = kr_commands[i];

    fprintf(out, "complete -c kreach -n __fish_use_subcommand -f -a '%.*s' -d '",
            (int)strcspn(c->name, " "), c->name);
    if (opens_group(i))
        print_second_words(out, i);
    else
        print_quoted(out, c->summary);
    fputs("'\n", out);
}

static void print_fish(FILE *out)
{
    size_t opened = 0;

    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];
        int len = (int)strcspn(c->name, " ");
        char condition[128];

        if (opens_group(i))
            opened = i;
        if (!c->name[len] || opened == i)
            fish_first_word(out, i);
        if (c->name[len])
            fish_second_word(out, opened, i);
        snprintf(condition, sizeof condition, "-n '__fish_seen_subcommand_from %.*s%s%s'", len,
                 c->name, c->name[len] ? "; and __fish_seen_subcommand_from" : "", c->name + len);
        for (const struct kr_option *o = c->options; o->name; o++)
            fish_option(out, condition, o);
    }
    for (const struct kr_option *o = kr_global_options; o->name; o++)
        fish_option(out, "", o);
}

static bool run(struct kr_call *call, struct kr_err *err)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(call->opts.operands[0], shells[i].name) == 0) {
            shells[i].print(call->out);
            return true;
        }
    }
    return kr_fail(err, KR_EARG, "no completion for '%.32s': give bash, zsh or fish",
                   call->opts.operands[0]);
}

static const struct kr_option options[] = { KR_OPTIONS_FILE, { 0 } };

const struct kr_command kr_cmd_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .details = "examples:\n"
               "  kreach completion bash > ~/.local/share/bash-completion/completions/kreach\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

#include "cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "latest.h"
#include "nearest.h"
#include "output.h"
#include "term.h"
#include "text.h"

const struct kr_option kr_global_options[] = {
    { "help", 'h', NULL, NULL, "show this help" },
    { "quiet", 'q', NULL, NULL, "say only what went wrong" },
    { "verbose", 'v', NULL, NULL, "say more; may be repeated" },
    { "color", 0, "WHEN", "auto|always|never", "colour in text; auto by default" },
    { 0 },
};

/* Options that stand before the command. */
static const struct kr_option lead_options[] = {
    { "version", 'V', NULL, NULL, "show the version" },
    { 0 },
};

/* One running invocation: what kr_main's steps hand on. */
struct invocation {
    const struct kr_io *io;
    struct kr_call call;
    struct kr_opts lead; /* options before the command */
    const char *color;   /* --color's argument, or NULL */
    bool json_errors;    /* --json stands on the command line */
};

const struct kr_command *kr_command_find(const char *name)
{
    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];

        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

bool kr_command_in_group(const struct kr_command *command, const char *word)
{
    size_t len = strlen(word);

    return strncmp(command->name, word, len) == 0 && command->name[len] == ' ';
}

bool kr_command_is_group(const char *word)
{
    for (size_t i = 0; kr_commands[i]; i++) {
        if (kr_command_in_group(kr_commands[i], word))
            return true;
    }
    return false;
}

/* Messages carry names from strangers: they are written so that they can do nothing. */
static void say(FILE *log, const char *prefix, const char *fmt, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    fprintf(log, "kreach: %s", prefix);
    kr_plain_text(log, text ? text : "(out of memory)");
    fputc('\n', log);
    free(text);
}

void kr_call_alert(const struct kr_call *call, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(call->log, "warning: ", fmt, args);
    va_end(args);
}

void kr_call_warn(const struct kr_call *call, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!call->quiet)
        say(call->log, "warning: ", fmt, args);
    va_end(args);
}

void kr_call_note(const struct kr_call *call, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!call->quiet)
        say(call->log, "", fmt, args);
    va_end(args);
}

static int report_error(const struct invocation *inv, const struct kr_err *err)
{
    const struct kr_command *command = inv->call.command;
    const char *name = command ? command->name : NULL;

    if (err->code == KR_EOUTPUT && errno == EPIPE)
        return KR_STATUS_FAILED; /* the reader went away: nobody to tell */
    kr_plain_text(inv->io->log, "kreach: ");
    kr_plain_text(inv->io->log, err->msg);
    if (err->offset != KR_NO_OFFSET)
        fprintf(inv->io->log, " (byte %llu)", (unsigned long long)err->offset);
    fputc('\n', inv->io->log);
    if (err->code == KR_EARG)
        fprintf(inv->io->log, "Try 'kreach %s%s--help'.\n", name ? name : "", name ? " " : "");
    if (inv->json_errors && err->code != KR_EOUTPUT)
        kr_status_write_json(inv->io->out, err);
    return (int)kr_status_of(err->code);
}

static bool asks_json(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--format=json") == 0)
            return true;
        if (strcmp(argv[i], "--format") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0)
            return true;
    }
    return false;
}

static bool fail_group(const char *group, const char *word, struct kr_err *err)
{
    char names[128] = "";
    struct kr_nearest nearest = { 0 };

    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];

        const char *sub = c->name + strlen(group) + 1;

        if (!kr_command_in_group(c, group))
            continue;
        if (word)
            kr_nearest_offer(&nearest, word, sub);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "",
                 sub);
    }
    if (nearest.word)
        return kr_fail(err, KR_EARG, "unknown command '%s %.64s'; did you mean '%s %s'?", group,
                       word, group, nearest.word);
    return kr_fail(err, KR_EARG, "'%s' needs one of: %s", group, names);
}

/* Finds the command of words[0] (and words[1] in a group); *used says how many words it took. */
static const struct kr_command *choose_command(int n, char *const *words, int *used,
                                               struct kr_err *err)
{
    struct kr_nearest nearest = { 0 };
    char pair[64];

    for (size_t i = 0; kr_commands[i]; i++) {
        const struct kr_command *c = kr_commands[i];

        if (strcmp(c->name, words[0]) == 0) {
            *used = 1;
            return c;
        }
        if (kr_command_in_group(c, words[0])) {
            const struct kr_command *sub = NULL;

            snprintf(pair, sizeof pair, "%s %.32s", words[0], n > 1 ? words[1] : "");
            sub = kr_command_find(pair);
            if (!sub)
                fail_group(words[0], n > 1 ? words[1] : NULL, err);
            *used = 2;
            return sub;
        }
        kr_nearest_offer(&nearest, words[0], c->name);
    }
    if (nearest.word)
        kr_fail(err, KR_EARG, "unknown command '%.64s'; did you mean '%s'?", words[0],
                nearest.word);
    else
        kr_fail(err, KR_EARG, "unknown command '%.64s'", words[0]);
    return NULL;
}

static bool take_latest(struct kr_call *call, struct kr_err *err)
{
    call->latest = kr_latest_recording(err);
    if (!call->latest)
        return kr_wrap(err, "'%s' was given no FILE", call->command->name);
    call->opts.operands[call->opts.n_operands++] = call->latest;
    kr_call_note(call, "%s, the newest recording in this folder", call->latest);
    return true;
}

static bool check_operands(struct kr_call *call, struct kr_err *err)
{
    const struct kr_command *c = call->command;

    if (c->takes_latest && !call->opts.n_operands && !kr_opts_count(&call->opts, "shares"))
        return take_latest(call, err);
    if (call->opts.n_operands < c->min_operands)
        return kr_fail(err, KR_EARG, "'%s' needs %s", c->name, c->takes_latest ? "FILE" : c->args);
    if (call->opts.n_operands > c->max_operands)
        return kr_fail(err, KR_EARG, "'%s' does not take '%.64s'", c->name,
                       call->opts.operands[c->max_operands]);
    return true;
}

static bool choose_format(struct kr_call *call, struct kr_err *err)
{
    const char *format = kr_opts_value(&call->opts, "format");
    bool json = kr_opts_count(&call->opts, "json") > 0;

    if (format && json && strcmp(format, "json") != 0)
        return kr_fail(err, KR_EARG, "--json and --format %s contradict each other", format);
    if (json || (format && strcmp(format, "json") == 0))
        call->format = KR_FORMAT_JSON;
    else if (format && strcmp(format, "csv") == 0)
        call->format = KR_FORMAT_CSV;
    return true;
}

/* Runs a parsed command between opening and committing its output. */
static bool run_command(struct invocation *inv, struct kr_err *err)
{
    struct kr_call *call = &inv->call;
    const char *path = call->command->runs_program ? NULL : kr_opts_value(&call->opts, "output");
    struct kr_output output;
    bool done;

    if (!choose_format(call, err) || !check_operands(call, err))
        return false;
    if (!kr_output_open(&output, path, inv->io->out, kr_opts_count(&call->opts, "force") > 0,
                        err)) {
        kr_output_discard(&output);
        return false;
    }
    call->out = output.file;
    call->style = kr_term_style(call->out, inv->color);
    done = call->command->run(call, err) && kr_output_commit(&output, err);
    kr_output_discard(&output);
    return done;
}

/* Options given before the command count as if they stood behind it. */
static void take_lead_options(struct invocation *inv)
{
    struct kr_call *call = &inv->call;
    const char *color = kr_opts_value(&call->opts, "color");

    call->quiet = kr_opts_count(&inv->lead, "quiet") + kr_opts_count(&call->opts, "quiet") > 0;
    call->verbose = kr_opts_count(&inv->lead, "verbose") + kr_opts_count(&call->opts, "verbose");
    inv->color = color ? color : kr_opts_value(&inv->lead, "color");
}

/* Parses the words behind the command's name; opts must be freed also on failure. */
static bool parse_words(const struct kr_command *command, int argc, char *const *argv,
                        struct kr_opts *opts, struct kr_err *err)
{
    *opts = (struct kr_opts){ .tables = { command->options, kr_global_options },
                              .stop_at_operand = command->runs_program };
    if (!kr_opts_parse(opts, argc, argv, err))
        return false;
    for (int i = opts->n_used; command->runs_program && i < argc; i++)
        opts->operands[opts->n_operands++] = argv[i];
    return true;
}

/* Parses the words behind the command's name and runs it. */
static bool run_words(struct invocation *inv, int argc, char *const *argv, struct kr_err *err)
{
    struct kr_opts *opts = &inv->call.opts;

    kr_opts_free(opts);
    if (!parse_words(inv->call.command, argc, argv, opts, err))
        return false;
    take_lead_options(inv);
    return run_command(inv, err);
}

/* Help for a command, a group, or with NULL for all. */
static bool show_help(struct invocation *inv, const char *topic, struct kr_err *err)
{
    char *const words[] = { (char *)"--", (char *)topic, NULL };

    inv->call.command = &kr_cmd_help;
    return run_words(inv, topic ? 2 : 1, words, err);
}

static bool asks_help(const struct kr_command *command, int argc, char *const *argv)
{
    struct kr_opts opts;
    struct kr_err ignored;
    bool asked = false;

    if (parse_words(command, argc, argv, &opts, &ignored))
        asked = kr_opts_count(&opts, "help") > 0;
    kr_opts_free(&opts);
    return asked;
}

/* The same of words behind the name of a group: "plot --help". */
static bool asks_group_help(int argc, char *const *argv)
{
    struct kr_opts opts = { .tables = { kr_global_options }, .stop_at_operand = true };
    struct kr_err ignored;
    bool asked = kr_opts_parse(&opts, argc, argv, &ignored) && kr_opts_count(&opts, "help") > 0;

    kr_opts_free(&opts);
    return asked;
}

static bool invoke(struct invocation *inv, int argc, char *const *argv, struct kr_err *err)
{
    const struct kr_command *command;
    int used = 0;

    inv->lead.tables[0] = lead_options;
    inv->lead.tables[1] = kr_global_options;
    inv->lead.stop_at_operand = true;
    if (!kr_opts_parse(&inv->lead, argc > 0 ? argc - 1 : 0, argv + 1, err))
        return false;
    if (kr_opts_count(&inv->lead, "help"))
        return show_help(inv, NULL, err);
    if (kr_opts_count(&inv->lead, "version")) {
        inv->call.command = &kr_cmd_version;
        return run_words(inv, 0, argv, err);
    }
    argc -= inv->lead.n_used + 1;
    argv += inv->lead.n_used + 1;
    if (argc <= 0) {
        kr_help_overview(inv->io->log);
        return kr_fail(err, KR_EARG, "a command is needed");
    }
    if (kr_command_is_group(argv[0]) && asks_group_help(argc - 1, argv + 1))
        return show_help(inv, argv[0], err);
    command = choose_command(argc, argv, &used, err);
    if (!command)
        return false;
    if (asks_help(command, argc - used, argv + used))
        return show_help(inv, command->name, err);
    inv->call.command = command;
    return run_words(inv, argc - used, argv + used, err);
}

int kr_main(const struct kr_io *io, int argc, char *const *argv)
{
    struct invocation inv = { .io = io, .call = { .log = io->log } };
    struct kr_err err = { .offset = KR_NO_OFFSET };
    int status;

    inv.json_errors = asks_json(argc, argv);
    if (invoke(&inv, argc, argv, &err))
        status = (int)inv.call.status;
    else
        status = report_error(&inv, &err);
    kr_opts_free(&inv.lead);
    kr_opts_free(&inv.call.opts);
    free(inv.call.latest);
    return status;
}

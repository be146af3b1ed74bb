/* kreach help [COMMAND]: what --help shows, too. A group, such as "plot", lists its commands. */
#include <string.h>

#include "commands.h"
#include "help.h"
#include "nearest.h"

static bool run(struct kr_call *call, struct kr_err *err)
{
    char name[64] = "";
    struct kr_nearest nearest = { 0 };
    const struct kr_command *command;

    if (call->opts.n_operands == 0) {
        kr_help_overview(call->out);
        return true;
    }
    for (size_t i = 0; i < call->opts.n_operands; i++)
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s%.30s", i ? " " : "",
                 call->opts.operands[i]);
    command = kr_command_find(name);
    if (command) {
        kr_help_command(call->out, command);
        return true;
    }
    if (kr_command_is_group(name)) {
        kr_help_group(call->out, name);
        return true;
    }
    for (size_t i = 0; kr_commands[i]; i++)
        kr_nearest_offer(&nearest, name, kr_commands[i]->name);
    if (nearest.word)
        return kr_fail(err, KR_EARG, "no command '%s' to explain; did you mean '%s'?", name,
                       nearest.word);
    return kr_fail(err, KR_EARG, "no command '%s' to explain", name);
}

static const struct kr_option options[] = { { 0 } };

const struct kr_command kr_cmd_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "explain a command",
    .options = options,
    .max_operands = 2,
    .run = run,
};

/* kreach schema NAME: the JSON Schema of what other commands write. */
#include <string.h>

#include "commands.h"
#include "nearest.h"
#include "schema.h"

static bool run(struct kr_call *call, struct kr_err *err)
{
    const char *name = call->opts.n_operands ? call->opts.operands[0] : NULL;
    struct kr_nearest nearest = { 0 };

    for (const struct kr_schema *s = kr_schemas; s->name; s++) {
        if (!name) {
            fprintf(call->out, "%s\n", s->name);
        } else if (strcmp(name, s->name) == 0) {
            fwrite(s->text, 1, s->len, call->out);
            return true;
        } else {
            kr_nearest_offer(&nearest, name, s->name);
        }
    }
    if (!name)
        return true;
    if (nearest.word)
        return kr_fail(err, KR_EARG, "no schema '%.64s'; did you mean '%s'?", name, nearest.word);
    return kr_fail(err, KR_EARG, "no schema '%.64s'; 'kreach schema' lists them", name);
}

static const struct kr_option options[] = { KR_OPTIONS_FILE, { 0 } };

const struct kr_command kr_cmd_schema = {
    .name = "schema",
    .args = "[NAME]",
    .summary = "print the JSON Schema of a command's --json output",
    .details = "Without NAME the known schemas are listed.\n\n"
               "examples:\n"
               "  kreach schema report\n",
    .options = options,
    .max_operands = 1,
    .run = run,
};

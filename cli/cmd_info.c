/* kreach info: what is in a file. */
#include "commands.h"
#include "load.h"
#include "render_info.h"

static bool run(struct kr_call *call, struct kr_err *err)
{
    struct kr_timeline *t = kr_load_timeline(call, call->opts.operands[0], err);
    struct kr_window window = { 0 };
    bool good;

    if (!t)
        return false;
    good = kr_window_choose(t, "all", &window, err);
    if (good && call->format == KR_FORMAT_JSON)
        good = kr_info_json(t, &window, call->out, err);
    else if (good)
        good = kr_info_text(t, &window, call->out, &call->style, err);
    if (good)
        call->status = kr_load_status(call, t);
    kr_window_free(&window);
    kr_timeline_free(t);
    return good;
}

static const struct kr_option options[] = {
    { "strict", 0, NULL, NULL, "exit with 3 when device work may be missing or wrong" },
    { "json", 0, NULL, NULL, "write JSON" },
    KR_OPTIONS_FILE,
    KR_OPTIONS_READ,
    { 0 },
};

const struct kr_command kr_cmd_info = {
    .name = "info",
    .args = "[FILE]",
    .summary = "show what a trace holds: counts, devices, streams, steps, damage",
    .details = "examples:\n"
               "  kreach info trace.json.gz\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .takes_latest = true,
    .run = run,
};

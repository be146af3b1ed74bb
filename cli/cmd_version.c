/* kreach version: what this is, and the libraries that it runs on. */
#include <jansson.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <zlib.h>
#include <zstd.h>

#include "commands.h"
#include "json_writer.h"

static bool run(struct kr_call *call, struct kr_err *err)
{
    char pcre2[64] = "";
    const struct {
        const char *name, *version;
    } parts[] = {
        { "jansson", jansson_version_str() },
        { "pcre2", pcre2 },
        { "zlib", zlibVersion() },
        { "zstd", ZSTD_versionString() },
    };
    struct kr_json json;

    (void)err;
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) < (int)sizeof pcre2)
        pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    if (call->format != KR_FORMAT_JSON) {
        fprintf(call->out, "kreach %s\n", KREACH_VERSION);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            fprintf(call->out, "%s %s\n", parts[i].name, parts[i].version);
        return true;
    }
    kr_json_begin(&json, call->out, "kreach.version", 1);
    kr_json_str(&json, "version", KREACH_VERSION);
    kr_json_object(&json, "libraries");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        kr_json_str(&json, parts[i].name, parts[i].version);
    kr_json_close(&json);
    kr_json_end(&json);
    return true;
}

static const struct kr_option options[] = {
    { "json", 0, NULL, NULL, "write JSON" },
    { 0 },
};

const struct kr_command kr_cmd_version = {
    .name = "version",
    .args = "",
    .summary = "show the version and the libraries in use",
    .options = options,
    .run = run,
};

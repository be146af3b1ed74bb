#include "status.h"

#include "json_writer.h"

enum kr_status kr_status_of(enum kr_code code)
{
    switch (code) {
    case KR_OK:
        return KR_STATUS_DONE;
    case KR_EARG:
        return KR_STATUS_USAGE;
    case KR_EINPUT:
        return KR_STATUS_INPUT;
    case KR_EENV:
        return KR_STATUS_MISSING;
    case KR_EOUTPUT:
    case KR_ENOMEM:
        break;
    }
    return KR_STATUS_FAILED;
}

static const char *code_name(enum kr_code code)
{
    static const char *const names[] = {
        [KR_OK] = "ok",        [KR_EARG] = "usage",     [KR_EINPUT] = "input",
        [KR_EENV] = "missing", [KR_EOUTPUT] = "output", [KR_ENOMEM] = "memory",
    };

    return names[code];
}

void kr_status_write_json(FILE *out, const struct kr_err *err)
{
    struct kr_json json;

    kr_json_begin(&json, out, "kreach.error", 1);
    kr_json_str(&json, "code", code_name(err->code));
    kr_json_u64(&json, "exit_status", kr_status_of(err->code));
    kr_json_str(&json, "message", err->msg);
    kr_json_known_u64(&json, "offset_bytes", err->offset != KR_NO_OFFSET, err->offset);
    kr_json_end(&json);
    (void)fflush(out);
}

#include "note_name.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint32_t kr_note_name_pattern(struct kr_strpool *strings, uint32_t name, struct kr_err *err)
{
    size_t len;
    size_t n = 0;
    const char *text = kr_strpool_get(strings, name, &len);
    char *pattern = kr_xcalloc(len, 1, err);
    uint32_t id;

    if (!pattern)
        return KR_STR_NONE;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text[i]))
            pattern[n++] = text[i];
        else if (i == 0 || !is_digit(text[i - 1]))
            pattern[n++] = '*';
    }
    id = kr_strpool_intern(strings, pattern, n, err);
    free(pattern);
    return id;
}

bool kr_note_name_holds(const char *name)
{
    static const char optimizer[] = "Optimizer.step";

    return strncmp(name, optimizer, sizeof optimizer - 1) == 0;
}

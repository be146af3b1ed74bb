#include "note_name.h"

#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "mem.h"

size_t kr_note_name_write(const char *name, size_t len, char *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (!kr_is_digit(name[i]))
            pattern[n++] = name[i];
        else if (i == 0 || !kr_is_digit(name[i - 1]))
            pattern[n++] = '*';
    }
    pattern[n] = '\0';
    return n;
}

uint32_t kr_note_name_pattern(struct kr_strpool *strings, uint32_t name, struct kr_err *err)
{
    size_t len;
    const char *text = kr_strpool_get(strings, name, &len);
    char *pattern = kr_xcalloc(len + 1, 1, err);
    uint32_t id;

    if (!pattern)
        return KR_STR_NONE;
    id = kr_strpool_intern(strings, pattern, kr_note_name_write(text, len, pattern), err);
    free(pattern);
    return id;
}

bool kr_note_name_holds(const char *name)
{
    static const char optimizer[] = "Optimizer.step";

    return strncmp(name, optimizer, sizeof optimizer - 1) == 0;
}

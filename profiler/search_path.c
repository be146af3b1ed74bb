#include "search_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool kr_search_path(const char *name, char *path, size_t room)
{
    const char *folders = getenv("PATH");
    struct stat st;

    for (size_t len; folders && *folders; folders += len + (folders[len] == ':')) {
        len = strcspn(folders, ":");
        snprintf(path, room, "%.*s%s%s", (int)len, folders, len ? "/" : "./", name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* Programs by name, as the shell and execvp(3) find them. */
#ifndef KR_SEARCH_PATH_H
#define KR_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Finds a program that a name without a slash stands for in the folders of PATH; an empty one is
 * the current folder.
 * @param path  filled with where it is, in part where there is no room for all of it
 * @return false when PATH is not set or has no such executable file; path is then of no meaning.
 */
bool kr_search_path(const char *name, char *path, size_t room);

#endif

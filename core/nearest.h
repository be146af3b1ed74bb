/* "did you mean": the known word nearest to a mistyped one. */
#ifndef KR_NEAREST_H
#define KR_NEAREST_H

#include <stddef.h>

/**
 * The number of single-character insertions, deletions, replacements and swaps of neighbours that
 * turn one word into the other; words longer than 63 bytes count as far apart (SIZE_MAX).
 */
size_t kr_edit_distance(const char *a, const char *b);

/* Running search: start zeroed, offer every known word, then read `word`. */
struct kr_nearest {
    const char *word; /* nearest so far, or NULL when none is near enough to suggest */
    size_t distance;
};

/** Considers one known word, which stays borrowed. Ties go to the word offered first. */
void kr_nearest_offer(struct kr_nearest *n, const char *typed, const char *known);

#endif

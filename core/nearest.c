#include "nearest.h"

#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 63 };

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Restricted Damerau-Levenshtein distance; three rows are all that a swap looks back. */
size_t kr_edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t na = strnlen(a, WORD_MAX + 1), nb = strnlen(b, WORD_MAX + 1);

    if (na > WORD_MAX || nb > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = min2(min2(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min2(now[j], before[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

void kr_nearest_offer(struct kr_nearest *n, const char *typed, const char *known)
{
    size_t distance = kr_edit_distance(typed, known);

    /* A third of the word may be wrong, else the suggestion is noise. */
    if (distance > strlen(typed) / 3 + 1 || distance >= strlen(known))
        return;
    if (n->word && distance >= n->distance)
        return;
    n->word = known;
    n->distance = distance;
}

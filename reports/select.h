/* Which sites of a timeline the entries of a sigma file speak of. */
#ifndef KR_SELECT_H
#define KR_SELECT_H

#include "predict.h"

#define KR_SELECT_NONE UINT32_MAX

struct kr_selection {
    uint32_t *owner; /* per site: the first entry that matches it, or KR_SELECT_NONE */
    size_t n_sites;
    uint64_t *shadowed_ns; /* per entry: exclusive time that it matches but an earlier one owns */
    size_t n_entries;
};

/**
 * Gives every site to the first entry that matches it.
 *
 * @return false with KR_EARG (file, line and label in the message) when an entry names an unknown
 *         family, class, origin or rule, with the nearest known word, or when it matches no launch
 *         in the window, with the condition that is to blame. Free with kr_selection_free (also
 *         after failure).
 * Cost: each distinct string is compared once per pattern; the rest is sites times entries.
 */
bool kr_select_sites(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                     struct kr_selection *out, struct kr_err *err);
void kr_selection_free(struct kr_selection *s);

/** True when the glob matches all of text: '*' any run, '?' any one byte, all else itself. */
bool kr_glob_match(const char *glob, const char *text);

#endif

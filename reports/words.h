/* Words that people write for families, classes, origins and rules, turned into numbers. */
#ifndef KR_WORDS_H
#define KR_WORDS_H

#include "rules.h"

enum kr_word_kind { KR_WORD_FAMILY, KR_WORD_CLASS, KR_WORD_ORIGIN, KR_WORD_RULE };

/** "family", "class", "origin", "rule". */
const char *kr_word_kind_name(enum kr_word_kind kind);

/**
 * Finds a word exactly as it is printed.
 *
 * @param out   its number: what kr_tag holds for this kind
 * @param near  on failure: the nearest known word, or NULL when none is near; borrowed from rules
 */
bool kr_word_find(const struct kr_rules *rules, enum kr_word_kind kind, const char *word,
                  uint32_t *out, const char **near);

#endif

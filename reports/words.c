#include "words.h"

#include <string.h>

#include "nearest.h"

const char *kr_word_kind_name(enum kr_word_kind kind)
{
    static const char *const names[] = { "family", "class", "origin", "rule" };

    return names[kind];
}

static size_t word_count(const struct kr_rules *rules, enum kr_word_kind kind)
{
    switch (kind) {
    case KR_WORD_FAMILY:
        return kr_rules_family_count(rules);
    case KR_WORD_CLASS:
        return KR_CLASS_COUNT;
    case KR_WORD_ORIGIN:
        return KR_ORIGIN_COUNT;
    case KR_WORD_RULE:
        break;
    }
    return kr_rules_count(rules);
}

static const char *word_at(const struct kr_rules *rules, enum kr_word_kind kind, size_t i)
{
    switch (kind) {
    case KR_WORD_FAMILY:
        return kr_rules_family(rules, (uint16_t)i);
    case KR_WORD_CLASS:
        return kr_class_name((enum kr_class)i);
    case KR_WORD_ORIGIN:
        return kr_origin_name((enum kr_origin)i);
    case KR_WORD_RULE:
        break;
    }
    return kr_rules_id(rules, (uint32_t)i);
}

bool kr_word_find(const struct kr_rules *rules, enum kr_word_kind kind, const char *word,
                  uint32_t *out, const char **near)
{
    size_t n = word_count(rules, kind);
    struct kr_nearest nearest = { 0 };

    for (size_t i = 0; i < n; i++) {
        const char *known = word_at(rules, kind, i);

        if (strcmp(known, word) == 0) {
            *out = (uint32_t)i;
            return true;
        }
        kr_nearest_offer(&nearest, word, known);
    }
    *near = nearest.word;
    return false;
}

#include "opts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "nearest.h"

static const struct kr_option *find_long(const struct kr_opts *opts, const char *name, size_t len)
{
    for (size_t t = 0; t < KR_OPTS_TABLES; t++) {
        for (const struct kr_option *o = opts->tables[t]; o && o->name; o++) {
            if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
                return o;
        }
    }
    return NULL;
}

static const struct kr_option *find_letter(const struct kr_opts *opts, char letter)
{
    for (size_t t = 0; t < KR_OPTS_TABLES; t++) {
        for (const struct kr_option *o = opts->tables[t]; o && o->name; o++) {
            if (o->letter && o->letter == letter)
                return o;
        }
    }
    return NULL;
}

static bool fail_unknown(const struct kr_opts *opts, const char *name, size_t len,
                         struct kr_err *err)
{
    struct kr_nearest nearest = { 0 };
    char word[64];

    snprintf(word, sizeof word, "%.*s", (int)(len < 64 ? len : 64), name);
    for (size_t t = 0; t < KR_OPTS_TABLES; t++) {
        for (const struct kr_option *o = opts->tables[t]; o && o->name; o++)
            kr_nearest_offer(&nearest, word, o->name);
    }
    if (!nearest.word)
        return kr_fail(err, KR_EARG, "unknown option '--%s'", word);
    return kr_fail(err, KR_EARG, "unknown option '--%s'; did you mean '--%s'?", word, nearest.word);
}

static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);

    for (const char *c = choices;; c++) {
        size_t n = strcspn(c, "|");

        if (n == len && memcmp(c, value, n) == 0)
            return true;
        c += n;
        if (!*c)
            return false;
    }
}

static bool add_given(struct kr_opts *opts, const struct kr_option *option, const char *value,
                      struct kr_err *err)
{
    if (value && option->choices && !is_choice(option->choices, value))
        return kr_fail(err, KR_EARG, "--%s takes %s, not '%s'", option->name, option->choices,
                       value);
    opts->given[opts->n_given++] = (struct kr_given){ .option = option, .value = value };
    return true;
}

/* The words still to be read; `at` is the one in hand. */
struct words {
    char *const *argv;
    int argc, at;
};

static bool take_argument(struct words *words, const struct kr_option *option, const char **value,
                          struct kr_err *err)
{
    if (words->at + 1 >= words->argc)
        return kr_fail(err, KR_EARG, "option '--%s' needs %s", option->name, option->arg);
    *value = words->argv[++words->at];
    return true;
}

static bool parse_long(struct kr_opts *opts, struct words *words, struct kr_err *err)
{
    const char *name = words->argv[words->at] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const struct kr_option *option = find_long(opts, name, len);

    if (!option)
        return fail_unknown(opts, name, len, err);
    if (!option->arg && value)
        return kr_fail(err, KR_EARG, "option '--%s' takes no argument", option->name);
    if (option->arg && !value && !take_argument(words, option, &value, err))
        return false;
    return add_given(opts, option, value, err);
}

static bool parse_letters(struct kr_opts *opts, struct words *words, struct kr_err *err)
{
    for (const char *letters = words->argv[words->at] + 1; *letters; letters++) {
        const struct kr_option *option = find_letter(opts, *letters);
        const char *value = NULL;

        if (!option)
            return kr_fail(err, KR_EARG, "unknown option '-%c'",
                           isprint((unsigned char)*letters) ? *letters : '?');
        if (option->arg && letters[1])
            value = letters + 1;
        else if (option->arg && !take_argument(words, option, &value, err))
            return false;
        if (!add_given(opts, option, value, err))
            return false;
        if (option->arg)
            return true;
    }
    return true;
}

/* A word gives at most one option a byte, so grouped switches are counted by length. */
static size_t most_given(int argc, char *const *argv)
{
    size_t n = 0;

    for (int i = 0; i < argc; i++)
        n += argv[i][0] == '-' ? strlen(argv[i]) : 0;
    return n;
}

bool kr_opts_parse(struct kr_opts *opts, int argc, char *const *argv, struct kr_err *err)
{
    struct words words = { .argv = argv, .argc = argc };
    bool options_over = false;

    opts->given = kr_xcalloc(most_given(argc, argv), sizeof *opts->given, err);
    opts->operands = kr_xcalloc((size_t)argc + 1, sizeof *opts->operands, err);
    if (!opts->given || !opts->operands)
        return false;
    for (; words.at < argc; words.at++) {
        const char *word = argv[words.at];

        if (options_over || word[0] != '-' || !word[1]) {
            if (opts->stop_at_operand)
                break;
            opts->operands[opts->n_operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_over = true;
        } else if (!(word[1] == '-' ? parse_long : parse_letters)(opts, &words, err)) {
            return false;
        }
    }
    opts->n_used = words.at;
    return true;
}

void kr_opts_free(struct kr_opts *opts)
{
    free(opts->given);
    free(opts->operands);
    opts->given = NULL;
    opts->operands = NULL;
    opts->n_given = opts->n_operands = 0;
}

const char *kr_opts_nth(const struct kr_opts *opts, const char *name, unsigned nth)
{
    for (size_t i = 0; i < opts->n_given; i++) {
        if (strcmp(opts->given[i].option->name, name) == 0 && nth-- == 0)
            return opts->given[i].value;
    }
    return NULL;
}

unsigned kr_opts_count(const struct kr_opts *opts, const char *name)
{
    unsigned n = 0;

    for (size_t i = 0; i < opts->n_given; i++)
        n += strcmp(opts->given[i].option->name, name) == 0;
    return n;
}

const char *kr_opts_value(const struct kr_opts *opts, const char *name)
{
    unsigned n = kr_opts_count(opts, name);

    return n ? kr_opts_nth(opts, name, n - 1) : NULL;
}

bool kr_opts_number(const struct kr_opts *opts, const char *name, uint64_t max, uint64_t *value,
                    struct kr_err *err)
{
    const char *text = kr_opts_value(opts, name);
    uint64_t n = 0;

    if (!text)
        return true;
    for (const char *c = text; *c || c == text; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n) || n > max)
            return kr_fail(err, KR_EARG, "--%s takes a whole number up to %llu, not '%s'", name,
                           (unsigned long long)max, text);
    }
    *value = n;
    return true;
}

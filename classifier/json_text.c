#include "json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

json_t *kr_json_parse(const char *path, const char *text, size_t len, struct kr_err *err)
{
    json_error_t where;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);

    if (!root)
        kr_fail_at(err, KR_EINPUT, where.position < 0 ? KR_NO_OFFSET : (uint64_t)where.position,
                   "%s:%d: %s", path, where.line < 1 ? 1 : where.line, where.text);
    return root;
}

/* A walk over a text that is known to be JSON. */
struct cursor {
    const char *at, *end;
    size_t line;
};

static char next_mark(struct cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n,:", *c->at)) {
        c->line += *c->at == '\n';
        c->at++;
    }
    return c->at < c->end ? *c->at : '\0';
}

/* Past a string whose opening quote is next; its raw text when wanted. */
static void skip_string(struct cursor *c, const char **text, size_t *len)
{
    const char *start = ++c->at;

    while (c->at < c->end && *c->at != '"')
        c->at += *c->at == '\\' ? 2 : 1;
    if (c->at > c->end)
        c->at = c->end;
    *text = start;
    *len = (size_t)(c->at - start);
    if (c->at < c->end)
        c->at++;
}

/* Past one value of any depth, without recursion. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;
    const char *text;
    size_t len;

    do {
        char mark = next_mark(c);

        if (mark == '\0')
            return;
        if (mark == '"') {
            skip_string(c, &text, &len);
            continue;
        }
        depth += mark == '{' || mark == '[';
        depth -= depth && (mark == '}' || mark == ']');
        c->at++;
        if (!strchr("{}[]", mark))
            while (c->at < c->end && !strchr(" \t\r\n,:]}", *c->at))
                c->at++;
    } while (depth);
}

/* Moves to the value under a key of the object that is next; false when it has none. */
static bool enter_key(struct cursor *c, const char *key)
{
    const char *text;
    size_t len;

    if (next_mark(c) != '{')
        return false;
    c->at++;
    while (next_mark(c) == '"') {
        skip_string(c, &text, &len);
        if (len == strlen(key) && memcmp(text, key, len) == 0) {
            next_mark(c);
            return true;
        }
        skip_value(c);
    }
    return false;
}

static bool enter_item(struct cursor *c, size_t item)
{
    if (next_mark(c) != '[')
        return false;
    c->at++;
    while (next_mark(c) != ']' && c->at < c->end) {
        if (item-- == 0)
            return true;
        skip_value(c);
    }
    return false;
}

size_t kr_json_line(const char *text, size_t len, const struct kr_json_step *steps, size_t n)
{
    struct cursor c = { text, text + len, 1 };
    size_t line;

    next_mark(&c);
    line = c.line;
    for (size_t i = 0; i < n; i++) {
        if (!(steps[i].key ? enter_key(&c, steps[i].key) : enter_item(&c, steps[i].item)))
            return line;
        line = c.line;
    }
    return line;
}

void kr_json_item_places(const char *text, size_t len, const char *key,
                         struct kr_json_place *places, size_t n)
{
    struct cursor c = { text, text + len, 1 };
    size_t i = 0;

    if (!enter_key(&c, key) || next_mark(&c) != '[')
        return;
    c.at++;
    while (i < n && next_mark(&c) != ']' && c.at < c.end) {
        places[i++] = (struct kr_json_place){ c.line, (size_t)(c.at - text) };
        skip_value(&c);
    }
}

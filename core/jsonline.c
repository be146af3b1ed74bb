#include "jsonline.h"

#include <stdbool.h>
#include <string.h>

/* A reading position. The text is valid JSON; if not, every function stops at its end. */
struct cursor {
    const char *at, *end;
    size_t line;
};

/* Passes what separates values. jansson lets a zero byte stand after a number, so we do too. */
static void skip_space(struct cursor *c)
{
    for (; c->at < c->end && ((unsigned char)*c->at <= ' ' || *c->at == ',' || *c->at == ':');
         c->at++)
        c->line += *c->at == '\n';
}

/* Passes a string and leaves its raw inside (escapes as written) in *inside and *inside_len. */
static void skip_string(struct cursor *c, const char **inside, size_t *inside_len)
{
    const char *start = ++c->at;

    while (c->at < c->end && *c->at != '"') {
        c->line += *c->at == '\n';
        c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    }
    *inside = start;
    *inside_len = (size_t)(c->at - start);
    if (c->at < c->end)
        c->at++;
}

/* Passes one value of any depth without recursion: only the number of open brackets matters. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;

    do {
        const char *inside;
        size_t len;

        skip_space(c);
        if (c->at == c->end)
            return;
        if (*c->at == '"') {
            skip_string(c, &inside, &len);
            continue;
        }
        if (*c->at == '{' || *c->at == '[')
            depth++;
        else if ((*c->at == '}' || *c->at == ']') && depth > 0)
            depth--;
        else
            while (c->end - c->at > 1 && !strchr(" \t\r\n,:]}\"[{", c->at[1]))
                c->at++;
        c->at++;
    } while (depth > 0);
}

static bool at_close(struct cursor *c)
{
    skip_space(c);
    return c->at == c->end || *c->at == ']' || *c->at == '}';
}

/* Moves into the member or element; false leaves the cursor anywhere after the container's start.
 * *line becomes the line of the key or element that was found. */
static bool descend(struct cursor *c, const struct kr_json_step *step, size_t *line)
{
    skip_space(c);
    if (c->at == c->end || *c->at != (step->key ? '{' : '['))
        return false;
    c->at++;
    for (size_t i = 0; !at_close(c); i++) {
        const char *inside = "";
        size_t len = 0, here = c->line;

        if (step->key) {
            if (*c->at != '"')
                return false;
            skip_string(c, &inside, &len);
        }
        if (step->key ? strlen(step->key) == len && memcmp(step->key, inside, len) == 0
                      : i == step->index) {
            *line = here;
            return true;
        }
        skip_value(c);
    }
    return false;
}

/* Follows the path as far as it leads; true when it leads to its end. */
static bool follow(struct cursor *c, const struct kr_json_step *path, size_t n, size_t *line)
{
    skip_space(c);
    *line = c->line;
    for (size_t i = 0; i < n; i++)
        if (!descend(c, &path[i], line))
            return false;
    skip_space(c);
    return true;
}

size_t kr_jsonline_find(const char *text, size_t len, const struct kr_json_step *path, size_t n)
{
    struct cursor c = { text, text + len, 1 };
    size_t line;

    follow(&c, path, n, &line);
    return line;
}

size_t kr_jsonline_items(const char *text, size_t len, const struct kr_json_step *path, size_t n,
                         struct kr_json_place *places, size_t cap)
{
    struct cursor c = { text, text + len, 1 };
    size_t line, found = 0;

    if (!follow(&c, path, n, &line) || c.at == c.end || *c.at != '[')
        return 0;
    c.at++;
    for (; found < cap && !at_close(&c); found++) {
        places[found] = (struct kr_json_place){ (size_t)(c.at - text), c.line };
        skip_value(&c);
    }
    return found;
}

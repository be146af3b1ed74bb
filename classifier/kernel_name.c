#include "kernel_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "mem.h"

/* Brackets deeper than this are copied without being looked into: no real name goes there. */
enum { MAX_OPEN = 256 };

/* A bracket that is still open, as positions in the output. */
struct open {
    char c;
    bool call;       /* "(" of a parameter list */
    unsigned lambda; /* number of a 'lambda'(...) of LLVM's spelling, 0 = none */
    size_t at;       /* of the bracket itself */
    size_t arg;      /* start of the current argument */
};

struct norm {
    const char *in;
    size_t len, pos;
    char *out;
    size_t n;
    struct open open[MAX_OPEN];
    size_t depth;
    size_t beyond;    /* brackets open beyond MAX_OPEN */
    size_t name_at;   /* where the name starts, after its return type */
    size_t params_at; /* outermost parameter list seen last: its start and end */
    size_t params_end;
    bool space;   /* a space was read and not yet written */
    bool is_bool; /* the number that follows was cast to bool */
    bool done;
};

static const char anonymous[] = "(anonymous namespace)";

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static char last(const struct norm *s)
{
    return s->n ? s->out[s->n - 1] : '\0';
}

static char next_char(const struct norm *s, size_t ahead)
{
    return s->pos + ahead < s->len ? s->in[s->pos + ahead] : '\0';
}

static void emit(struct norm *s, const char *text, size_t len)
{
    memcpy(s->out + s->n, text, len);
    s->n += len;
}

static bool in_starts(const struct norm *s, const char *text)
{
    size_t n = strlen(text);

    return s->len - s->pos >= n && memcmp(s->in + s->pos, text, n) == 0;
}

static bool out_ends(const struct norm *s, const char *word)
{
    size_t n = strlen(word);

    return s->n >= n && memcmp(s->out + s->n - n, word, n) == 0 &&
           (s->n == n || !is_word(s->out[s->n - n - 1]));
}

/* Writes the pending space where it parts two words, or a return type from its name. */
static void settle_space(struct norm *s, bool next_is_word)
{
    char before = last(s);
    bool top = s->depth == 0 && s->beyond == 0;

    if (!s->space)
        return;
    s->space = false;
    if (next_is_word && is_word(before))
        emit(s, " ", 1);
    if (top && next_is_word && s->n && before != ',' && before != ':')
        s->name_at = s->n;
}

static void push(struct norm *s, char c, bool call)
{
    if (s->depth == MAX_OPEN) {
        s->beyond++;
    } else {
        s->open[s->depth++] = (struct open){ .c = c, .call = call, .at = s->n, .arg = s->n + 1 };
    }
    emit(s, &c, 1);
}

/* Closes the bracket; what is open inside it was a less-than sign, or is missing. */
static struct open *pop(struct norm *s, char opener)
{
    size_t i = s->depth;

    if (s->beyond) {
        s->beyond--;
        return NULL;
    }
    while (i > 0 && s->open[i - 1].c != opener)
        i--;
    if (i == 0)
        return NULL;
    s->depth = i - 1;
    return &s->open[i - 1];
}

/* The text since `at` was the type of a number: drops it, and notes whether it was bool. */
static void drop_cast(struct norm *s, size_t at)
{
    const char *type = s->out + at;
    size_t len = s->n - at;

    if (len && type[0] == '(') {
        type++;
        len--;
    }
    s->is_bool = len == 4 && memcmp(type, "bool", 4) == 0;
    s->n = at;
}

static bool number_follows(const struct norm *s)
{
    char c = next_char(s, 0);

    return isdigit((unsigned char)c) || (c == '-' && isdigit((unsigned char)next_char(s, 1)));
}

static void take_number(struct norm *s, const char *word, size_t len)
{
    size_t digits = 0;

    while (digits < len && isdigit((unsigned char)word[digits]))
        digits++;
    for (size_t i = digits; i < len; i++)
        if (!strchr("uUlL", word[i]))
            digits = len; /* not an integer's suffix: 0x1f, 3rd */
    if (s->is_bool && digits == 1 && (word[0] == '0' || word[0] == '1'))
        emit(s, word[0] == '1' ? "true" : "false", word[0] == '1' ? 4 : 5);
    else
        emit(s, word, digits);
    s->is_bool = false;
}

static bool is_dropped(const struct norm *s, const char *word, size_t len)
{
    char c = next_char(s, 1);

    if ((len == 5 && memcmp(word, "const", 5) == 0) ||
        (len == 8 && memcmp(word, "volatile", 8) == 0))
        return true;
    /* the return type of a function inside a template argument, which only nsys writes */
    return s->depth > 0 && len == 4 && memcmp(word, "void", 4) == 0 && next_char(s, 0) == ' ' &&
           (isalpha((unsigned char)c) || c == '_');
}

static void take_word(struct norm *s)
{
    const char *word = s->in + s->pos;
    size_t start = s->pos;
    size_t len;

    while (s->pos < s->len && is_word(s->in[s->pos]))
        s->pos++;
    len = s->pos - start;
    if (is_dropped(s, word, len)) {
        s->space = s->space || next_char(s, 0) == ' ';
        return;
    }
    settle_space(s, true);
    if (len > 10 && memcmp(word, "_GLOBAL__N", 10) == 0)
        emit(s, anonymous, sizeof anonymous - 1);
    else if (isdigit((unsigned char)word[0]))
        take_number(s, word, len);
    else
        emit(s, word, len);
}

/* Other spellings of "(anonymous namespace)". */
static bool take_anonymous(struct norm *s)
{
    static const char *const spellings[] = { "(anonymous namespace)", "<unnamed>", "{anonymous}",
                                             "(anonymous)", "`anonymous namespace'" };

    for (size_t i = 0; i < KR_COUNT(spellings); i++) {
        if (in_starts(s, spellings[i])) {
            s->pos += strlen(spellings[i]);
            settle_space(s, true);
            emit(s, anonymous, sizeof anonymous - 1);
            return true;
        }
    }
    return false;
}

/* "[lambda(float) (instance 1)]" and 'lambda0'(float) become "{lambda(float)#1}". */
static bool take_lambda(struct norm *s)
{
    static const char instance[] = "(instance ";
    unsigned n = 1;

    if (in_starts(s, "[lambda(")) {
        s->pos += 7;
        settle_space(s, true);
        push(s, '{', false);
        emit(s, "lambda", 6);
        return true;
    }
    if (in_starts(s, "'lambda")) {
        s->pos += 7;
        if (isdigit((unsigned char)next_char(s, 0)))
            n = (unsigned)(s->in[s->pos++] - '0') + 2;
        while (s->pos < s->len && s->in[s->pos] != '(' && s->in[s->pos] != ' ')
            s->pos++;
        settle_space(s, true);
        push(s, '{', false);
        if (s->depth)
            s->open[s->depth - 1].lambda = n;
        emit(s, "lambda", 6);
        return true;
    }
    if (in_starts(s, instance) && last(s) == ')') {
        s->pos += sizeof instance - 1;
        emit(s, "#", 1);
        while (isdigit((unsigned char)next_char(s, 0)))
            emit(s, s->in + s->pos++, 1);
        s->pos += next_char(s, 0) == ')';
        s->space = false;
        return true;
    }
    return false;
}

static bool is_call(const struct norm *s)
{
    static const char *const keepers[] = { "lambda", "decltype", "sizeof", "operator" };
    char before = last(s);

    for (size_t i = 0; i < KR_COUNT(keepers); i++)
        if (out_ends(s, keepers[i]))
            return false;
    return is_word(before) || before == '>' || out_ends(s, "operator()");
}

static void close_round(struct norm *s)
{
    struct open *o = pop(s, '(');
    char before;

    if (!o) {
        emit(s, ")", 1);
        return;
    }
    before = o->at ? s->out[o->at - 1] : '\0';
    if (!o->call && number_follows(s) && (before == '<' || before == ',')) {
        drop_cast(s, o->at);
        return;
    }
    if (o->call)
        s->n = o->at + 1; /* parameters are spelled in too many ways to be kept */
    emit(s, ")", 1);
    if (o->call && s->depth == 0 && s->beyond == 0) {
        s->params_at = o->at;
        s->params_end = s->n;
    }
    if (s->depth && s->open[s->depth - 1].lambda) {
        char number[2] = { '#', (char)('0' + s->open[s->depth - 1].lambda % 10) };

        emit(s, number, 2);
        emit(s, "}", 1);
        s->depth--;
    }
}

static void take_closer(struct norm *s, char c)
{
    struct open *o;

    if (c == ')') {
        close_round(s);
        return;
    }
    if (c == '>' && (last(s) == '-' || (s->depth && s->open[s->depth - 1].c == '('))) {
        emit(s, ">", 1); /* an arrow, or greater-than inside an expression */
        return;
    }
    if (c == '>') {
        pop(s, '<');
        emit(s, ">", 1);
        return;
    }
    o = pop(s, '{'); /* "]" may close a lambda that was opened as "{" */
    if (c == ']' && !o)
        emit(s, "]", 1);
    else
        emit(s, "}", 1);
}

/* nvprof writes a template argument as "int=4". */
static bool take_nvprof_equals(struct norm *s)
{
    char before = last(s);

    if (s->depth == 0 || s->open[s->depth - 1].c != '<' || !(is_word(before) || before == '>'))
        return false;
    s->pos++;
    if (number_follows(s)) {
        drop_cast(s, s->open[s->depth - 1].arg);
        return true;
    }
    s->pos--;
    return false;
}

static void take_other(struct norm *s, char c)
{
    if (c == '=' && take_nvprof_equals(s))
        return;
    s->pos++;
    settle_space(s, false);
    if (c == '<' && out_ends(s, "operator"))
        emit(s, &c, 1);
    else if (c == '<' || c == '{')
        push(s, c, false);
    else if (c == '(')
        push(s, c, is_call(s));
    else if (c == '>' || c == ')' || c == '}' || c == ']')
        take_closer(s, c);
    else
        emit(s, &c, 1);
    if (c == ',' && s->depth && !s->beyond)
        s->open[s->depth - 1].arg = s->n;
}

static void take_next(struct norm *s)
{
    char c = s->in[s->pos];

    if (isspace((unsigned char)c)) {
        s->done = s->depth == 0 && in_starts(s, " [clone");
        s->space = s->n > 0;
        s->pos++;
    } else if (is_word(c)) {
        take_word(s);
    } else if (!take_anonymous(s) && !take_lambda(s)) {
        take_other(s, c);
    }
}

/* Names of copies, XLA instructions and generated kernels are not C++ and stay as they are. */
static bool is_cxx(const char *name, size_t len)
{
    if (len > 5 && memcmp(name, "void ", 5) == 0)
        return true;
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '<' || (name[i] == ':' && i + 1 < len && name[i + 1] == ':'))
            return true;
        if (name[i] == '(' && i > 0 && is_word(name[i - 1]))
            return true;
    }
    return false;
}

/* One pass over a C++ name; `out` has room for three times its length and a little more. */
static size_t rewrite(const char *name, size_t len, char *out, struct kr_err *err)
{
    struct norm *s = kr_xnew(sizeof *s, err);
    size_t n;

    if (!s)
        return 0;
    s->in = name;
    s->len = len;
    s->out = out;
    while (s->pos < s->len && !s->done)
        take_next(s);
    if (s->depth && s->open[0].c == '(' && s->open[0].call)
        s->n = s->open[0].at; /* the name was cut inside its parameters */
    else if (s->params_end && s->params_end == s->n)
        s->n = s->params_at;
    n = s->n;
    if (s->name_at < n) {
        n -= s->name_at;
        memmove(out, out + s->name_at, n);
    }
    free(s);
    out[n] = '\0';
    return n;
}

static void trim(const char **name, size_t *len)
{
    while (*len && isspace((unsigned char)**name)) {
        ++*name;
        --*len;
    }
    while (*len && isspace((unsigned char)(*name)[*len - 1]))
        --*len;
    if (*len > 3 && memcmp(*name + *len - 3, ".kd", 3) == 0)
        *len -= 3; /* ROCm's kernel descriptor */
}

char *kr_kernel_name_normalise(const char *name, struct kr_err *err)
{
    size_t len = strlen(name);
    char *plain = NULL;
    char *out;
    size_t n;

    trim(&name, &len);
    if (kr_demangle_is_mangled(name, len)) {
        plain = kr_demangle(name, len, err);
        if (!plain)
            return NULL;
        if (plain[0]) {
            name = plain;
            len = strlen(plain);
        }
    }
    if (!is_cxx(name, len)) {
        out = kr_xstrndup(name, len, err);
        free(plain);
        return out;
    }
    out = kr_xcalloc(3 * len + 64, 1, err);
    n = out ? rewrite(name, len, out, err) : 0;
    if (out && n == 0) {
        free(out);
        out = err->code == KR_ENOMEM ? NULL : kr_xstrndup(name, len, err);
    }
    free(plain);
    return out;
}

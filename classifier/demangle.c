#include "demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

/*
 * A recursive-descent parser that builds text instead of a tree. Every finished component is a span
 * of one append-only arena, so a substitution is just an earlier span. Two limits make hostile
 * names harmless: the depth of recursion, and the arena, which stops substitutions that double the
 * text.
 */
enum { MAX_DEPTH = 128, MAX_SUBS = 4096 };

struct span {
    size_t at, len;
};

struct parser {
    const char *in;
    size_t len, pos;
    char *arena;
    size_t used, cap;
    struct span subs[MAX_SUBS];
    size_t n_subs;
    unsigned depth;
    bool failed;
};

static struct span parse_type(struct parser *p);
static struct span parse_name(struct parser *p);
static struct span parse_encoding(struct parser *p);
static struct span parse_expression(struct parser *p);

static char peek_at(const struct parser *p, size_t ahead)
{
    return p->pos + ahead < p->len ? p->in[p->pos + ahead] : '\0';
}

static char peek(const struct parser *p)
{
    return peek_at(p, 0);
}

static bool accept(struct parser *p, const char *text)
{
    size_t n = strlen(text);

    if (p->failed || p->len - p->pos < n || memcmp(p->in + p->pos, text, n) != 0)
        return false;
    p->pos += n;
    return true;
}

static struct span fail(struct parser *p)
{
    p->failed = true;
    return (struct span){ 0, 0 };
}

/* Joins up to three pieces into a new span; pieces may lie in the arena. */
static struct span put3(struct parser *p, const char *a, size_t a_len, const char *b, size_t b_len,
                        struct span c)
{
    struct span out = { p->used, a_len + b_len + c.len };

    if (p->failed || out.len > p->cap - p->used)
        return fail(p);
    memcpy(p->arena + p->used, a, a_len);
    memcpy(p->arena + p->used + a_len, b, b_len);
    memcpy(p->arena + p->used + a_len + b_len, p->arena + c.at, c.len);
    p->used += out.len;
    return out;
}

static struct span put(struct parser *p, const char *text, size_t len)
{
    return put3(p, text, len, "", 0, (struct span){ 0, 0 });
}

static struct span put_text(struct parser *p, const char *text)
{
    return put(p, text, strlen(text));
}

/* Left, text between, right. */
static struct span join(struct parser *p, struct span left, const char *mid, struct span right)
{
    if (p->failed)
        return left;
    return put3(p, p->arena + left.at, left.len, mid, strlen(mid), right);
}

static struct span append(struct parser *p, struct span left, const char *text)
{
    return join(p, left, text, (struct span){ 0, 0 });
}

static void remember(struct parser *p, struct span s)
{
    if (p->failed)
        return;
    if (p->n_subs == MAX_SUBS) {
        p->failed = true;
        return;
    }
    p->subs[p->n_subs++] = s;
}

static bool enter(struct parser *p)
{
    if (p->depth == MAX_DEPTH)
        p->failed = true;
    p->depth++;
    return !p->failed;
}

static struct span leave(struct parser *p, struct span s)
{
    p->depth--;
    return s;
}

/* <number>: decimal; false when there is none or it is absurd. */
static bool parse_number(struct parser *p, size_t *out)
{
    size_t value = 0;
    size_t start = p->pos;

    while (isdigit((unsigned char)peek(p)) && value < 100000000)
        value = value * 10 + (size_t)(p->in[p->pos++] - '0');
    *out = value;
    return p->pos > start;
}

/* <seq-id> _ : base 36, "_" alone is 0 and "0_" is 1. */
static bool parse_seq(struct parser *p, size_t *out)
{
    size_t value = 0;
    bool any = false;

    while (isdigit((unsigned char)peek(p)) || isupper((unsigned char)peek(p))) {
        char c = p->in[p->pos++];

        value = value * 36 + (size_t)(isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10);
        any = true;
        if (value > MAX_SUBS)
            return false;
    }
    *out = any ? value + 1 : 0;
    return accept(p, "_");
}

/* [<number>] _ of lambdas and discriminators, counted from 1. */
static bool parse_ordinal(struct parser *p, size_t *out)
{
    size_t n;

    *out = parse_number(p, &n) ? n + 2 : 1;
    return accept(p, "_");
}

static struct span parse_source_name(struct parser *p)
{
    size_t n;
    const char *text;

    if (!parse_number(p, &n) || n == 0 || n > p->len - p->pos)
        return fail(p);
    text = p->in + p->pos;
    p->pos += n;
    if (n > 9 && memcmp(text, "_GLOBAL_", 8) == 0 && text[9] == 'N')
        return put_text(p, "(anonymous namespace)");
    return put(p, text, n);
}

static struct span put_ordinal(struct parser *p, struct span left, size_t ordinal)
{
    char digits[24];
    size_t n = sizeof digits;

    digits[--n] = '\0';
    do {
        digits[--n] = (char)('0' + ordinal % 10);
        ordinal /= 10;
    } while (ordinal);
    return append(p, left, digits + n);
}

/* Comma-separated types up to E; a lone v is an empty list. */
static struct span parse_type_list(struct parser *p)
{
    struct span list = { 0, 0 };
    bool first = true;

    if (peek(p) == 'v' && (peek_at(p, 1) == 'E' || p->pos + 1 >= p->len)) {
        p->pos++;
        return list;
    }
    while (!p->failed && p->pos < p->len && peek(p) != 'E' && peek(p) != '.') {
        struct span type = parse_type(p);

        list = first ? type : join(p, list, ",", type);
        first = false;
    }
    return list;
}

/* Ul <types> E [n] _ or Ut [n] _ */
static struct span parse_unnamed(struct parser *p)
{
    struct span s;
    size_t ordinal;

    if (accept(p, "Ul")) {
        s = join(p, put_text(p, "{lambda("), "", parse_type_list(p));
        s = append(p, s, ")#");
        if (!accept(p, "E"))
            return fail(p);
    } else if (accept(p, "Ut")) {
        s = put_text(p, "{unnamed type#");
    } else {
        return fail(p);
    }
    if (!parse_ordinal(p, &ordinal))
        return fail(p);
    return append(p, put_ordinal(p, s, ordinal), "}");
}

struct operator_name {
    char code[3];
    unsigned char arity; /* 0 = not usable in an expression here */
    const char *text;
};

static const struct operator_name operators[] = {
    { "nw", 0, " new" }, { "na", 0, " new[]" }, { "dl", 0, " delete" }, { "da", 0, " delete[]" },
    { "ps", 1, "+" },    { "ng", 1, "-" },      { "ad", 1, "&" },       { "de", 1, "*" },
    { "co", 1, "~" },    { "pl", 2, "+" },      { "mi", 2, "-" },       { "ml", 2, "*" },
    { "dv", 2, "/" },    { "rm", 2, "%" },      { "an", 2, "&" },       { "or", 2, "|" },
    { "eo", 2, "^" },    { "aS", 2, "=" },      { "pL", 2, "+=" },      { "mI", 2, "-=" },
    { "mL", 2, "*=" },   { "dV", 2, "/=" },     { "rM", 2, "%=" },      { "aN", 2, "&=" },
    { "oR", 2, "|=" },   { "eO", 2, "^=" },     { "ls", 2, "<<" },      { "rs", 2, ">>" },
    { "lS", 2, "<<=" },  { "rS", 2, ">>=" },    { "eq", 2, "==" },      { "ne", 2, "!=" },
    { "lt", 2, "<" },    { "gt", 2, ">" },      { "le", 2, "<=" },      { "ge", 2, ">=" },
    { "ss", 2, "<=>" },  { "nt", 1, "!" },      { "aa", 2, "&&" },      { "oo", 2, "||" },
    { "pp", 1, "++" },   { "mm", 1, "--" },     { "cm", 2, "," },       { "pm", 2, "->*" },
    { "pt", 2, "->" },   { "cl", 0, "()" },     { "ix", 2, "[]" },      { "qu", 3, "?" },
};

static const struct operator_name *find_operator(const struct parser *p)
{
    for (size_t i = 0; i < KR_COUNT(operators); i++)
        if (peek(p) == operators[i].code[0] && peek_at(p, 1) == operators[i].code[1])
            return &operators[i];
    return NULL;
}

static struct span parse_operator(struct parser *p)
{
    const struct operator_name *op = find_operator(p);

    if (accept(p, "cv"))
        return join(p, put_text(p, "operator"), " ", parse_type(p));
    if (accept(p, "li"))
        return join(p, put_text(p, "operator"), "\"\"", parse_source_name(p));
    if (!op)
        return fail(p);
    p->pos += 2;
    return append(p, put_text(p, "operator"), op->text);
}

static struct span skip_abi_tags(struct parser *p, struct span name)
{
    while (!p->failed && accept(p, "B"))
        parse_source_name(p);
    return name;
}

/* <unqualified-name>; constructors and destructors take the name of `scope`'s last part. */
static struct span parse_unqualified(struct parser *p)
{
    struct span name;

    accept(p, "L"); /* internal linkage */
    if (isdigit((unsigned char)peek(p)))
        name = parse_source_name(p);
    else if (peek(p) == 'U')
        name = parse_unnamed(p);
    else if (peek(p) == 'C' && isdigit((unsigned char)peek_at(p, 1))) {
        p->pos += 2;
        name = put_text(p, "{ctor}");
    } else if (peek(p) == 'D' && isdigit((unsigned char)peek_at(p, 1))) {
        p->pos += 2;
        name = put_text(p, "{dtor}");
    } else {
        name = parse_operator(p);
    }
    return skip_abi_tags(p, name);
}

/* L <type> <value> E | L _Z <encoding> E */
static struct span parse_literal(struct parser *p)
{
    struct span type;
    size_t start;

    if (accept(p, "_Z") || accept(p, "Z")) {
        type = parse_encoding(p);
        return accept(p, "E") ? type : fail(p);
    }
    type = parse_type(p);
    start = p->pos;
    while (p->pos < p->len && peek(p) != 'E')
        p->pos++;
    if (p->failed || p->pos >= p->len)
        return fail(p);
    p->pos++;
    if (type.len == 4 && memcmp(p->arena + type.at, "bool", 4) == 0)
        return put_text(p, p->in[start] == '0' ? "false" : "true");
    if (p->pos - 1 == start)
        return put_text(p, "nullptr");
    if (p->in[start] == 'n')
        return join(p, put_text(p, "-"), "", put(p, p->in + start + 1, p->pos - start - 2));
    return put(p, p->in + start, p->pos - 1 - start);
}

static struct span parse_operation(struct parser *p, const struct operator_name *op)
{
    struct span left;

    p->pos += 2;
    if (op->arity == 1)
        return join(p, put_text(p, op->text), "", parse_expression(p));
    left = join(p, put_text(p, "("), "", parse_expression(p));
    left = join(p, left, op->text, parse_expression(p));
    if (op->arity == 3)
        left = join(p, left, ":", parse_expression(p));
    return append(p, left, ")");
}

static struct span parse_sized(struct parser *p)
{
    struct span inner;

    if (accept(p, "sZ"))
        inner = parse_type(p);
    else if (accept(p, "st") || accept(p, "at"))
        inner = parse_type(p);
    else if (accept(p, "sz") || accept(p, "az") || accept(p, "sp"))
        inner = parse_expression(p);
    else
        return fail(p);
    return append(p, join(p, put_text(p, "sizeof("), "", inner), ")");
}

/* The expressions that occur in kernels' template arguments. */
static struct span parse_expression(struct parser *p)
{
    const struct operator_name *op = find_operator(p);
    struct span s;

    if (!enter(p))
        return leave(p, fail(p));
    if (accept(p, "L")) {
        s = parse_literal(p);
    } else if (accept(p, "sr")) {
        s = parse_type(p);
        s = join(p, s, "::", parse_unqualified(p));
    } else if (accept(p, "cv")) {
        s = parse_type(p);
        s = append(p, join(p, append(p, s, "("), "", parse_expression(p)), ")");
    } else if (peek(p) == 's' ||
               (peek(p) == 'a' && (peek_at(p, 1) == 't' || peek_at(p, 1) == 'z'))) {
        s = op && op->arity ? parse_operation(p, op) : parse_sized(p);
    } else if (op && op->arity) {
        s = parse_operation(p, op);
    } else if (peek(p) == 'T' || peek(p) == 'S') {
        s = parse_type(p);
    } else if (isdigit((unsigned char)peek(p))) {
        s = parse_source_name(p);
    } else {
        s = fail(p);
    }
    return leave(p, s);
}

static struct span parse_template_args(struct parser *p);

static struct span parse_template_arg(struct parser *p)
{
    struct span s;

    if (accept(p, "L"))
        return parse_literal(p);
    if (accept(p, "X")) {
        s = parse_expression(p);
        return accept(p, "E") ? s : fail(p);
    }
    if (accept(p, "Tn")) /* a non-type parameter's own type, then the argument */
        parse_type(p);
    if (peek(p) == 'L' || peek(p) == 'X' || peek(p) == 'J')
        return parse_template_args(p);
    return parse_type(p);
}

/* I <arg>* E and the packs J <arg>* E inside it, which are written in line. */
static struct span parse_template_args(struct parser *p)
{
    struct span list = { 0, 0 };
    bool pack = peek(p) == 'J';
    bool first = true;

    if (!enter(p))
        return leave(p, fail(p));
    if (peek(p) == 'L' || peek(p) == 'X')
        return leave(p, parse_template_arg(p));
    p->pos++; /* I or J */
    while (!p->failed && !accept(p, "E")) {
        struct span arg;

        if (p->pos >= p->len)
            return leave(p, fail(p));
        arg = peek(p) == 'J' ? parse_template_args(p) : parse_template_arg(p);
        if (!first && arg.len)
            list = join(p, list, ",", arg);
        else if (first)
            list = arg;
        first = first && arg.len == 0;
    }
    if (pack)
        return leave(p, list);
    return leave(p, append(p, join(p, put_text(p, "<"), "", list), ">"));
}

static struct span parse_standard(struct parser *p)
{
    static const char *const names[] = { "aallocator", "bbasic_string", "sstring",
                                         "iistream",   "oostream",      "diostream" };

    for (size_t i = 0; i < KR_COUNT(names); i++) {
        if (peek(p) == names[i][0]) {
            p->pos++;
            return append(p, put_text(p, "std::"), names[i] + 1);
        }
    }
    return fail(p);
}

/* S_, S0_, Sa ... after the S; "St" is handled by the callers. */
static struct span parse_substitution(struct parser *p)
{
    size_t seq;

    if (islower((unsigned char)peek(p)))
        return parse_standard(p);
    if (!parse_seq(p, &seq) || seq >= p->n_subs)
        return fail(p);
    return p->subs[seq];
}

/* T_ , T0_: written T1, T2; which type it stands for matters to no rule. */
static struct span parse_template_param(struct parser *p)
{
    size_t seq;

    if (!accept(p, "T") || !parse_seq(p, &seq))
        return fail(p);
    return put_ordinal(p, put_text(p, "T"), seq + 1);
}

static struct span parse_decltype(struct parser *p)
{
    struct span s;

    p->pos += 2;
    s = join(p, put_text(p, "decltype("), "", parse_expression(p));
    return accept(p, "E") ? append(p, s, ")") : fail(p);
}

/* The next part of a nested name's prefix; *grown tells whether it becomes a substitution. */
static struct span parse_prefix_part(struct parser *p, struct span prefix, bool *grown)
{
    *grown = true;
    if (peek(p) == 'S') {
        p->pos++;
        *grown = false;
        return accept(p, "t") ? put_text(p, "std") : parse_substitution(p);
    }
    if (peek(p) == 'T')
        return parse_template_param(p);
    if (peek(p) == 'I')
        return join(p, prefix, "", parse_template_args(p));
    if (peek(p) == 'D' && (peek_at(p, 1) == 't' || peek_at(p, 1) == 'T'))
        return parse_decltype(p);
    if (prefix.len == 0)
        return parse_unqualified(p);
    return join(p, prefix, "::", parse_unqualified(p));
}

/* N [cv] [ref] <prefix> E, after the N. */
static struct span parse_nested(struct parser *p)
{
    struct span prefix = { 0, 0 };

    while (peek(p) == 'r' || peek(p) == 'V' || peek(p) == 'K')
        p->pos++;
    if (peek(p) == 'R' || peek(p) == 'O')
        p->pos++;
    while (!p->failed && !accept(p, "E")) {
        bool grown;

        if (accept(p, "M")) /* data member whose initialiser holds a lambda */
            continue;
        if (p->pos >= p->len)
            return fail(p);
        prefix = parse_prefix_part(p, prefix, &grown);
        if (grown && peek(p) != 'E')
            remember(p, prefix);
    }
    return prefix;
}

/* Z <encoding> E <entity> [discriminator], after the Z. */
static struct span parse_local(struct parser *p)
{
    struct span scope = parse_encoding(p);
    struct span name;
    size_t ordinal;

    if (!accept(p, "E"))
        return fail(p);
    if (accept(p, "s"))
        return scope;
    if (accept(p, "d") && !parse_ordinal(p, &ordinal))
        return fail(p);
    name = parse_name(p);
    if (accept(p, "__")) {
        if (!parse_number(p, &ordinal) || !accept(p, "_"))
            return fail(p);
    } else if (peek(p) == '_' && isdigit((unsigned char)peek_at(p, 1))) {
        p->pos += 2;
    }
    return join(p, scope, "::", name);
}

/* <name>; what it adds to the substitutions is the template's name before its arguments. */
static struct span parse_name(struct parser *p)
{
    struct span name;
    bool known = false;

    if (!enter(p))
        return leave(p, fail(p));
    if (accept(p, "N"))
        return leave(p, parse_nested(p));
    if (accept(p, "Z"))
        return leave(p, parse_local(p));
    if (accept(p, "St")) {
        name = join(p, put_text(p, "std"), "::", parse_unqualified(p));
    } else if (accept(p, "S")) {
        name = parse_substitution(p);
        known = true;
    } else {
        name = parse_unqualified(p);
    }
    if (peek(p) == 'I') {
        if (!known)
            remember(p, name);
        name = join(p, name, "", parse_template_args(p));
    }
    return leave(p, name);
}

/* <name> [<types>]: the types are parsed for their substitutions and written "()". */
static struct span parse_encoding(struct parser *p)
{
    struct span name;

    if (!enter(p))
        return leave(p, fail(p));
    name = parse_name(p);
    if (p->pos < p->len && peek(p) != 'E' && peek(p) != '.') {
        parse_type_list(p);
        name = append(p, name, "()");
    }
    return leave(p, name);
}

static const char *builtin_name(char code)
{
    /* a to z */
    static const char *const names[26] = { "signed char",
                                           "bool",
                                           "char",
                                           "double",
                                           "long double",
                                           "float",
                                           "__float128",
                                           "unsigned char",
                                           "int",
                                           "unsigned int",
                                           NULL,
                                           "long",
                                           "unsigned long",
                                           "__int128",
                                           "unsigned __int128",
                                           NULL,
                                           NULL,
                                           NULL,
                                           "short",
                                           "unsigned short",
                                           NULL,
                                           "void",
                                           "wchar_t",
                                           "long long",
                                           "unsigned long long",
                                           "..." };

    return islower((unsigned char)code) ? names[code - 'a'] : NULL;
}

/* D?: builtins of two letters, pack expansions, decltype; false when none fits. */
static bool parse_d_type(struct parser *p, struct span *out)
{
    static const char *const names[] = {
        "Ddecimal64", "Def128",    "Dfd32",  "Dhhalf",           "Dichar32_t",
        "Dschar16_t", "Duchar8_t", "Daauto", "Dcdecltype(auto)", "Dndecltype(nullptr)"
    };

    if (accept(p, "DF16b")) {
        *out = put_text(p, "std::bfloat16_t");
    } else if (accept(p, "DF")) {
        while (isdigit((unsigned char)peek(p)))
            p->pos++;
        accept(p, "_");
        accept(p, "x");
        *out = put_text(p, "_Float16");
    } else if (accept(p, "Dp") || accept(p, "Do")) {
        *out = parse_type(p);
    } else if (peek_at(p, 1) == 't' || peek_at(p, 1) == 'T') {
        *out = parse_decltype(p);
        remember(p, *out);
    } else {
        for (size_t i = 0; i < KR_COUNT(names); i++) {
            if (peek_at(p, 1) == names[i][1]) {
                p->pos += 2;
                *out = put_text(p, names[i] + 2);
                return true;
            }
        }
        return false;
    }
    return true;
}

/* F <return> <params> E, A <n> _ <type>, M <class> <member>, Dv <n> _ <type>: after the letter. */
static struct span parse_compound(struct parser *p, char code)
{
    struct span s;
    size_t at;
    size_t n;

    if (code == 'F') {
        accept(p, "Y");
        s = parse_type(p);
        s = append(p, join(p, append(p, s, "("), "", parse_type_list(p)), ")");
        accept(p, "R");
        return accept(p, "E") ? s : fail(p);
    }
    if (code == 'M') {
        s = parse_type(p);
        s = join(p, append(p, s, "::*"), "", parse_type(p));
        return s;
    }
    at = p->pos;
    if (!parse_number(p, &n) && peek(p) != '_')
        parse_expression(p);
    n = p->pos - at;
    if (!accept(p, "_"))
        return fail(p);
    s = append(p, parse_type(p), "[");
    return append(p, join(p, s, "", put(p, p->in + at, n)), "]");
}

/* P, R, O and the qualifiers. Qualifiers are dropped but count as a substitution of their own. */
static struct span parse_modified(struct parser *p, char code)
{
    struct span inner;

    if (code == 'K' || code == 'V' || code == 'r') {
        while (peek(p) == 'K' || peek(p) == 'V' || peek(p) == 'r')
            p->pos++;
        return parse_type(p);
    }
    inner = parse_type(p);
    return append(p, inner, code == 'P' ? "*" : code == 'R' ? "&" : code == 'O' ? "&&" : "");
}

static struct span parse_class_type(struct parser *p)
{
    struct span s;

    if (peek(p) == 'T') {
        s = parse_template_param(p);
    } else if (peek(p) == 'S' && peek_at(p, 1) != 't') {
        p->pos++;
        s = parse_substitution(p);
        if (peek(p) != 'I')
            return s;
    } else {
        s = parse_name(p);
        remember(p, s);
        return s;
    }
    if (peek(p) == 'I') {
        if (p->in[p->pos - 1] == '_' && s.len && p->arena[s.at] == 'T')
            remember(p, s);
        s = join(p, s, "", parse_template_args(p));
    }
    remember(p, s);
    return s;
}

static struct span parse_type(struct parser *p)
{
    const char *builtin = builtin_name(peek(p));
    char code = peek(p);
    struct span s;

    if (!enter(p))
        return leave(p, fail(p));
    if (code && strchr("rKVPROCG", code)) {
        p->pos++;
        s = parse_modified(p, code);
        remember(p, s);
    } else if (builtin) {
        p->pos++;
        s = put_text(p, builtin);
    } else if (accept(p, "u")) {
        s = parse_source_name(p);
        remember(p, s);
    } else if (accept(p, "Dv")) {
        s = parse_compound(p, 'D');
        remember(p, s);
    } else if (code == 'D') {
        if (!parse_d_type(p, &s))
            s = fail(p);
    } else if (code == 'F' || code == 'A' || code == 'M') {
        p->pos++;
        s = parse_compound(p, code);
        remember(p, s);
    } else {
        s = parse_class_type(p);
    }
    return leave(p, s);
}

bool kr_demangle_is_mangled(const char *name, size_t len)
{
    return len > 3 && name[0] == '_' && name[1] == 'Z' && (isalnum((unsigned char)name[2]));
}

char *kr_demangle(const char *name, size_t len, struct kr_err *err)
{
    struct parser *p = kr_xnew(sizeof *p, err);
    char *out = NULL;

    if (!p)
        return NULL;
    p->in = name;
    p->len = len;
    p->pos = 2;
    p->cap = len > 65536 ? 0 : 65536 + 64 * len;
    p->arena = kr_xcalloc(p->cap + 2 * len + 1, 1, err);
    if (p->arena) {
        struct span s = parse_name(p);

        if (p->failed || s.len == 0)
            s = (struct span){ 0, kr_demangle_identifiers(name, len, p->arena) };
        out = kr_xstrndup(p->arena + s.at, s.len, err);
    }
    free(p->arena);
    free(p);
    return out;
}

#include "table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "text.h"

#define GAP        2  /* spaces between columns */
#define LAST_LEAST 16 /* the last column never gets narrower */
#define CELLS_MAX  (1u << 24)

struct kr_table {
    struct kr_column *columns;
    size_t n_columns;
    char **cells; /* row by row */
    size_t n_cells, cap_cells;
    size_t *lines; /* cell counts before which a line is drawn */
    size_t n_lines, cap_lines;
    struct kr_err err; /* the first failure */
};

const char *kr_style_paint(const struct kr_style *style, enum kr_paint paint)
{
    static const char *const codes[] = {
        [KR_PLAIN] = "\033[0m",  [KR_BOLD] = "\033[1m",    [KR_DIM] = "\033[2m",
        [KR_GREEN] = "\033[32m", [KR_YELLOW] = "\033[33m", [KR_RED] = "\033[31m",
    };

    return style->color ? codes[paint] : "";
}

/* Characters, not bytes; cells hold well-formed UTF-8 without control characters. */
static size_t width_of(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* Byte position of the nth character. */
static size_t byte_at(const char *s, size_t n)
{
    size_t at = 0;

    for (; s[at]; at++) {
        if (((unsigned char)s[at] & 0xC0) == 0x80)
            continue;
        if (n-- == 0)
            break;
    }
    return at;
}

char *kr_text_cut(const char *text, size_t width)
{
    size_t chars = width_of(text);
    size_t head, tail;
    char *cut = NULL;

    if (chars <= width)
        return strdup(text);
    head = byte_at(text, (width - 1) / 2);
    tail = byte_at(text, chars - (width - 2 - (width - 1) / 2));
    if (asprintf(&cut, "%.*s..%s", (int)head, text, text + tail) < 0)
        return NULL;
    return cut;
}

struct kr_table *kr_table_new(const struct kr_column *columns, size_t n, struct kr_err *err)
{
    struct kr_table *table = kr_xnew(sizeof *table, err);

    if (!table)
        return NULL;
    table->columns = kr_xcalloc(n, sizeof *columns, err);
    if (!table->columns) {
        kr_table_free(table);
        return NULL;
    }
    memcpy(table->columns, columns, n * sizeof *columns);
    table->n_columns = n;
    return table;
}

void kr_table_free(struct kr_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->lines);
    free(table->columns);
    free(table);
}

/* A copy that is safe on a terminal. */
static char *plain_copy(const char *text, size_t len)
{
    char *copy = NULL;
    size_t copy_len = 0;
    FILE *stream = open_memstream(&copy, &copy_len);

    if (!stream)
        return NULL;
    kr_plain_textn(stream, text, len);
    if (fclose(stream) != 0) {
        free(copy);
        return NULL;
    }
    return copy;
}

static void add_cell(struct kr_table *table, const char *text, size_t len)
{
    const struct kr_column *column = &table->columns[table->n_cells % table->n_columns];
    char *plain;
    char *cell;

    if (!kr_grow(&table->cells, &table->cap_cells, table->n_cells + 1, sizeof *table->cells,
                 CELLS_MAX, &table->err))
        return;
    plain = plain_copy(text, len);
    cell = plain && column->max_width ? kr_text_cut(plain, column->max_width) : plain;
    if (cell != plain)
        free(plain);
    if (!cell) {
        kr_fail(&table->err, KR_ENOMEM, "out of memory: a table cell of %zu bytes", len);
        return;
    }
    table->cells[table->n_cells++] = cell;
}

void kr_table_cell(struct kr_table *table, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    if (!table || table->err.code != KR_OK)
        return;
    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0) {
        kr_fail(&table->err, KR_ENOMEM, "out of memory: a table cell");
        return;
    }
    add_cell(table, text, (size_t)len);
    free(text);
}

void kr_table_line(struct kr_table *table)
{
    if (!table || table->err.code != KR_OK)
        return;
    if (kr_grow(&table->lines, &table->cap_lines, table->n_lines + 1, sizeof *table->lines,
                CELLS_MAX, &table->err))
        table->lines[table->n_lines++] = table->n_cells;
}

static const char *cell_at(const struct kr_table *table, size_t i)
{
    return i < table->n_cells ? table->cells[i] : "";
}

/* The widths of all columns; the last one is made to fit. */
static void measure(const struct kr_table *table, const struct kr_style *style, size_t *widths)
{
    size_t last = table->n_columns - 1;
    size_t before = 0;

    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = width_of(table->columns[c].head);
        for (size_t i = c; i < table->n_cells; i += table->n_columns) {
            size_t w = width_of(table->cells[i]);

            widths[c] = w > widths[c] ? w : widths[c];
        }
        before += c < last ? widths[c] + GAP : 0;
    }
    if (before + widths[last] > style->columns) {
        size_t room = style->columns > before ? style->columns - before : 0;

        room = room > LAST_LEAST ? room : LAST_LEAST;
        widths[last] = widths[last] < room ? widths[last] : room;
    }
}

/* Trailing spaces are never written: they would wrap on a narrow terminal and clutter diffs. */
static bool print_row(const struct kr_table *table, size_t first, const size_t *widths, FILE *out)
{
    size_t owed = 0; /* spaces to write before the next visible character */

    for (size_t c = 0; c < table->n_columns; c++) {
        const char *text = first == SIZE_MAX ? table->columns[c].head : cell_at(table, first + c);
        char *cut = kr_text_cut(text, widths[c]);
        size_t pad;

        if (!cut)
            return false;
        pad = widths[c] - width_of(cut);
        owed += c ? GAP : 0;
        owed += table->columns[c].align == KR_RIGHT ? pad : 0;
        if (*cut) {
            fprintf(out, "%*s%s", (int)owed, "", cut);
            owed = 0;
        }
        owed += table->columns[c].align == KR_LEFT ? pad : 0;
        free(cut);
    }
    fputc('\n', out);
    return true;
}

static void print_line(const struct kr_table *table, const size_t *widths, FILE *out)
{
    size_t width = 0;

    for (size_t c = 0; c < table->n_columns; c++)
        width += widths[c] + (c ? GAP : 0);
    while (width--)
        fputc('-', out);
    fputc('\n', out);
}

bool kr_table_print(const struct kr_table *table, FILE *out, const struct kr_style *style,
                    struct kr_err *err)
{
    size_t *widths;
    size_t line = 0;
    bool good;

    if (table->err.code != KR_OK) {
        *err = table->err;
        return false;
    }
    widths = kr_xcalloc(table->n_columns, sizeof *widths, err);
    if (!widths)
        return false;
    measure(table, style, widths);
    fputs(kr_style_paint(style, KR_BOLD), out);
    good = print_row(table, SIZE_MAX, widths, out);
    fputs(kr_style_paint(style, KR_PLAIN), out);
    for (size_t i = 0; good && i < table->n_cells; i += table->n_columns) {
        for (; line < table->n_lines && table->lines[line] <= i; line++)
            print_line(table, widths, out);
        good = print_row(table, i, widths, out);
    }
    free(widths);
    return good || kr_fail(err, KR_ENOMEM, "out of memory: printing a table");
}

void kr_wrap_text(FILE *out, const struct kr_style *style, size_t indent, const char *text)
{
    size_t column = indent;

    while (*text) {
        size_t len = strcspn(text, " ");
        bool first = column == indent;

        if (!first && column + 1 + len > style->columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        kr_plain_textn(out, text, len);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* Tables of text for people: columns as wide as needed, the last one cut in its middle to fit. */
#ifndef KR_TABLE_H
#define KR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "err.h"

/* How text looks on the stream it goes to. */
struct kr_style {
    bool color;
    size_t columns; /* width to fit [characters] */
};

enum kr_paint { KR_PLAIN, KR_BOLD, KR_DIM, KR_GREEN, KR_YELLOW, KR_RED };

/** The escape sequence that begins a paint, or ends any (KR_PLAIN); "" without colour. */
const char *kr_style_paint(const struct kr_style *style, enum kr_paint paint);

enum kr_align { KR_LEFT, KR_RIGHT };

struct kr_column {
    const char *head;
    enum kr_align align;
    size_t max_width; /* longer cells are cut in their middle; 0 = no limit of its own */
};

struct kr_table;

/**
 * An empty table. Failures of memory are kept and told by kr_table_print.
 * @param columns  n of them; copied
 */
struct kr_table *kr_table_new(const struct kr_column *columns, size_t n, struct kr_err *err);
void kr_table_free(struct kr_table *table);

/** Adds the next cell, row by row; control characters are made visible. NULL table: nothing. */
void kr_table_cell(struct kr_table *table, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Draws a line above the row that comes next. */
void kr_table_line(struct kr_table *table);

/**
 * Prints head and rows; cells missing from the last row are empty. When the whole is wider than the
 * style's columns, the last column gives way, down to 16 characters.
 * @return false with err filled when memory had run out; write errors show at the stream's end.
 */
bool kr_table_print(const struct kr_table *table, FILE *out, const struct kr_style *style,
                    struct kr_err *err);

/**
 * Prints text wrapped at spaces to the style's columns, and ends the line.
 * @param indent  of later lines [columns]; the first one is taken to stand there already
 */
void kr_wrap_text(FILE *out, const struct kr_style *style, size_t indent, const char *text);

/**
 * Copies text cut in its middle (with "..") to at most `width` characters, always on the borders
 * of UTF-8 characters. Returns a string owned by the caller (free); NULL when memory is out.
 */
char *kr_text_cut(const char *text, size_t width);

#endif

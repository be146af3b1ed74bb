/* Parts of text output that several commands share. */
#ifndef KR_TEXT_PARTS_H
#define KR_TEXT_PARTS_H

#include "account.h"
#include "table.h"
#include "timeline.h"
#include "window.h"

/** "label      text...": a labelled line, wrapped under its text. */
void kr_say_fact(FILE *out, const struct kr_style *style, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** A blank line and a bold title; detail follows in plain, NULL = none. */
void kr_say_title(FILE *out, const struct kr_style *style, const char *title, const char *detail);

/** "input", "complete" and one "warning" line for each kind that was met. */
void kr_say_source(FILE *out, const struct kr_style *style, const struct kr_timeline *t);

/* What something costs, in words. */
struct kr_cost_text {
    char s[144];
};

/**
 * "profiling costs 4.1 % here (3.8..4.5)", or that it costs too little to be told from noise.
 * what: "profiling", or what else is done to the steps. The limits are of a 95 % interval of the
 * cost, as fractions of a plain step; NAN = unknown.
 */
struct kr_cost_text kr_text_cost(const char *what, double frac, double low_frac, double high_frac);

/** "window": kind, how it was chosen, steps. */
void kr_say_window(FILE *out, const struct kr_style *style, const struct kr_window *window);

#endif

/* What the figures share: building a plot, its palette, its headings. */
#ifndef KR_PLOT_PARTS_H
#define KR_PLOT_PARTS_H

#include "plot.h"

/* The classes in their order, then idle. */
enum { KR_PLOT_IDLE = KR_CLASS_COUNT, KR_PLOT_PARTS };

/*
 * How a class looks. The colours are told apart by people with any colour vision, and their
 * lightness (CIE L* about 46, 77, 62, 9, 84) without any.
 */
struct kr_plot_look {
    const char *name;
    unsigned rgb, text_rgb; /* of its area, and of text on it */
    char letter;            /* in dumb strips */
};

extern const struct kr_plot_look kr_plot_looks[KR_PLOT_PARTS];

/* Curves: dark enough for text on white, and apart for people with any colour vision. */
extern const unsigned kr_plot_curve_rgb[KR_PLOT_CURVES_MAX];

/** Opens an empty plot for building. Ended by kr_plot_end; kr_plot_free copes with what is left. */
bool kr_plot_begin(struct kr_plot *plot, const struct kr_plot_options *opt, struct kr_err *err);

/** Closes a plot that is complete; false with KR_ENOMEM when its texts did not fit. */
bool kr_plot_end(struct kr_plot *plot, struct kr_err *err);

/**
 * Writes text as a field of the data: printable, without tabs or quotes, cut in its middle.
 * @param width  most characters
 */
bool kr_plot_put_text(FILE *data, const char *text, size_t width, struct kr_err *err);

/** Ends a block of the data. The first is the heading's. */
void kr_plot_end_block(FILE *data);

/**
 * The heading's block, and the lines of the script that draw it and set what all figures have in
 * common. The second line of the heading says device, window, policy and what is incomplete.
 * @param reports  of one run each
 */
bool kr_plot_head(struct kr_plot *plot, const char *title, const struct kr_report *reports,
                  size_t n, struct kr_err *err);

/* Where the key of classes stands: one row under the axis, which needs a bmargin of 5.5. */
#define KR_PLOT_KEY                                                                                \
    "set key outside below center horizontal Left reverse samplen 1 width -2 maxrows 1 font "      \
    "',9'\n"

/** "keyentry" parts of a plot command: one for each class, in order, and idle where asked. */
void kr_plot_put_key(FILE *script, bool with_idle);

/** The letters of strips: "o optimal  A addressable ...". */
void kr_plot_put_letters(FILE *script, bool with_idle);

/** The last component of a run's path, borrowed from it. */
const char *kr_plot_run_name(const struct kr_report *report);

/** The same, but the whole path where two of the n runs would have the same name. */
const char *kr_plot_run_label(const struct kr_report *reports, size_t n, size_t run);

/** False with KR_EARG when shares of `of` are not known for every run. */
bool kr_plot_check_of(const struct kr_report *reports, size_t n, enum kr_plot_of of,
                      struct kr_err *err);

/** The share that `of` asks for of one class or idle; NAN when unknown. */
double kr_plot_frac(const struct kr_report *report, unsigned part, enum kr_plot_of of);

/** "share of wall time", ... */
const char *kr_plot_of_text(enum kr_plot_of of);

#endif

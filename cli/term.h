/* What the terminal wants: colour, width, and whether to show progress. */
#ifndef KR_TERM_H
#define KR_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "table.h"

/**
 * How text on a stream should look.
 * @param color_wish  "always", "never", or "auto" or NULL: then NO_COLOR (when not empty), else
 *                    CLICOLOR_FORCE (when not empty and not 0), else TERM=dumb, else whether the
 *                    stream is a terminal decides.
 * Width: the terminal's, at least 80 columns; 80 when it is none.
 */
struct kr_style kr_term_style(FILE *stream, const char *color_wish);

/** True when progress may be drawn on this stream: a terminal that can, and not under CI. */
bool kr_term_shows_progress(FILE *stream);

/** Draws or redraws a progress line ("reading: 40 %"); a kr_progress_fn whose user is the FILE. */
void kr_term_progress(void *stream, uint64_t done_bytes, uint64_t total_bytes);

/** Takes the progress line away. */
void kr_term_progress_end(FILE *stream);

#endif

/* What is in a recorded run, before any judgement. */
#ifndef KR_RENDER_INFO_H
#define KR_RENDER_INFO_H

#include "table.h"
#include "timeline.h"
#include "window.h"

/** Text for people. `window` is that of "all", for its steps. */
bool kr_info_text(const struct kr_timeline *t, const struct kr_window *window, FILE *out,
                  const struct kr_style *style, struct kr_err *err);

/** Schema "kreach.info". */
bool kr_info_json(const struct kr_timeline *t, const struct kr_window *window, FILE *out,
                  struct kr_err *err);

#endif

/* Tags for every site of a timeline: each distinct kernel name is matched once. */
#ifndef KR_CLASSIFY_H
#define KR_CLASSIFY_H

#include "rules.h"
#include "timeline.h"

/**
 * Tags for all sites, in site order.
 *
 * Beside the rules it sets KR_FLAG_SUSPECT where shapes or bytes are known and the best achieved
 * rate of a site classed optimal stays far under the device's peaks (classifier/peaks.h).
 * @param out_tags  array of t->n_sites tags owned by the caller (free)
 */
bool kr_classify(const struct kr_timeline *t, const struct kr_rules *rules,
                 struct kr_tag **out_tags, struct kr_err *err);

#endif

/* A stretch of time as lanes: one for each stream, and one for each device's idle time. */
#ifndef KR_PLOT_LANES_H
#define KR_PLOT_LANES_H

#include "plot_parts.h"

/* Lanes of one device: its busiest streams, then one for all others, then idle. */
#define KR_LANES_STREAMS_MAX 6
#define KR_LANES_DEVICES_MAX 8

struct kr_lane {
    uint32_t device; /* index into the timeline's devices */
    uint32_t track;  /* its (or, of several, the busiest) track; UINT32_MAX for idle */
    size_t n_tracks; /* that share the lane; 0 for idle */
    /*
     * The stretch is cut into columns of the same length. [column][part]: the share of the column
     * that each class takes [fraction]; in a lane of idle only KR_PLOT_IDLE, elsewhere only
     * classes. Classes that overlap are scaled to share the column.
     */
    double (*parts)[KR_PLOT_PARTS];
};

struct kr_lanes {
    struct kr_lane *items; /* by device, then as drawn */
    size_t n, n_columns;
    size_t n_devices; /* with work in the stretch, those without room included */
};

/**
 * Cuts a stretch of the timeline into lanes. A device without work in it has none.
 * @param tags  kr_classify's
 * Cost: O(events + lanes x columns). Free with kr_lanes_free, also after a failure.
 */
bool kr_lanes_make(const struct kr_timeline *t, const struct kr_tag *tags,
                   const struct kr_step *stretch, size_t n_columns, struct kr_lanes *out,
                   struct kr_err *err);
void kr_lanes_free(struct kr_lanes *lanes);

#endif

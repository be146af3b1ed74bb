/* Windows: which stretch of the timeline the shares are of, and the steps inside it. */
#ifndef KR_WINDOW_H
#define KR_WINDOW_H

#include "timeline.h"

enum kr_window_kind {
    KR_WINDOW_ALL,
    KR_WINDOW_STEADY,
    KR_WINDOW_STEP,
    KR_WINDOW_NAME,
    KR_WINDOW_TIME
};

/* Where steps came from. */
enum kr_steps_from { KR_STEPS_NONE, KR_STEPS_ANNOTATION, KR_STEPS_REPETITION };

struct kr_step {
    int64_t start_ns, end_ns; /* [start, end) on the device clock */
    int64_t number;           /* the annotation's number, else 0, 1, 2 ... */
};

struct kr_window {
    enum kr_window_kind kind;
    int64_t start_ns, end_ns; /* [start, end) */
    struct kr_step *steps;    /* inside the window, in time order */
    size_t n_steps;           /* 0 = unknown */
    size_t dropped_steps;     /* warm-up and incomplete steps left out by steady */
    enum kr_steps_from steps_from;
    char how[224]; /* one line for a person: how the window was chosen */
};

/** "all", "steady", "step", "name", "time". */
const char *kr_window_kind_name(enum kr_window_kind kind);
/** "none", "annotation", "repetition". */
const char *kr_steps_from_name(enum kr_steps_from from);

/**
 * Chooses a window.
 *
 * @param spec  "all" | "steady" | "step:N" (the step numbered N) | "name:TEXT" (from the first to
 *              the last work under annotations whose name contains TEXT; each of them is a step)
 *              | "time:A..B" (durations such as 1.5ms counted from the first work of the timeline;
 * either may be empty)
 * @return false with KR_EARG when the spec is not of these forms, or KR_EINPUT when the timeline
 *         has no such step, name or work. Free with kr_window_free.
 */
bool kr_window_choose(const struct kr_timeline *t, const char *spec, struct kr_window *out,
                      struct kr_err *err);
void kr_window_free(struct kr_window *w);

/**
 * Whether an unprofiled step time can stand beside the steps of this window.
 * @return false with KR_EARG when the window has no steps, when they leave out more than a tenth of
 *         it, or when the plain step is over 1.5 times as long as the profiled ones: profiling
 * never makes a run that much faster, so the time is of a step of another kind.
 */
bool kr_window_check_plain_step(const struct kr_window *w, uint64_t plain_step_ns,
                                struct kr_err *err);

/**
 * The same for step times that the recording measured itself, by marks of the program.
 * @param busy_step_ns  how long a device works for a step of the window [ns]
 * @return false with KR_EARG also when the window's steps take the device over 1.5 times as long as
 *         the marks lay apart while recording, or when a plain step is shorter than the work in it
 *         by over 2 %, which clocks of the device do not explain: these are other steps, or the
 *         program had run ahead of the device, so that its marks do not show how long a step takes.
 */
bool kr_window_check_timed_steps(const struct kr_window *w, const struct kr_step_times *times,
                                 double busy_step_ns, struct kr_err *err);

/**
 * Parses a duration: "31.4ms", "250us", "1e6ns", "2s", "983 us"; a unit is required.
 * @param out_ns  [ns] rounded to the nearest
 */
bool kr_parse_duration(const char *text, uint64_t *out_ns, struct kr_err *err);

#endif

/* One event of a Kineto trace: what it is, and what is worth keeping of it. */
#ifndef KR_KINETO_EVENT_H
#define KR_KINETO_EVENT_H

#include "kineto_part.h"

enum kr_kineto_taken {
    KR_KINETO_TAKEN,  /* read, or of no interest */
    KR_KINETO_BROKEN, /* not JSON; nothing was added */
    KR_KINETO_FAILED  /* err is filled */
};

struct kr_kineto_text {
    const char *p; /* the object, braces included */
    size_t len;
    uint64_t offset;       /* [byte] in the whole text */
    const uint64_t *marks; /* of json_split.h */
    size_t shift;          /* bytes from bit 0 of the marks to the object */
    bool lenient;          /* they were found by the lenient search */
    unsigned repairs;      /* by it */
};

/** Reads one event object into the part. */
enum kr_kineto_taken kr_kineto_take(struct kr_kineto_part *part, const struct kr_kineto_text *text,
                                    struct kr_err *err);

/** True when the object has a top-level member "ph", which makes it a trace event. */
bool kr_kineto_is_event(const struct kr_kineto_text *text);

#endif

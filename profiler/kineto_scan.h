/* Reads the elements of the event array from any cut of the text. */
#ifndef KR_KINETO_SCAN_H
#define KR_KINETO_SCAN_H

#include "json_split.h"
#include "kineto_part.h"

/* Events beyond this are skipped: no memory for them, and no second look. */
#define KR_SCAN_MAX_EVENT ((size_t)16 << 20)

enum kr_scan_end {
    KR_SCAN_MORE,    /* the text ended; keep what lies from *pos on */
    KR_SCAN_STOPPED, /* at an event start, or lost, at or after `stop` */
    KR_SCAN_CLOSED,  /* *pos is behind the array's closing bracket */
    KR_SCAN_FAILED   /* err is filled */
};

struct kr_kineto_scan {
    struct kr_kineto_part *part; /* gets the rows */
    bool lost;                   /* between events, searching for the start of one */
    bool skipping;               /* inside an event beyond the limit */
    bool cut;                    /* the text ended inside an event */
    struct kr_splitter splitter; /* while skipping */
    struct kr_blocks blocks;     /* of the text at hand */
    uint64_t *marks;             /* of the event at hand */
    size_t cap_marks;
};

/** Frees what the scan itself holds, which is not its part. */
void kr_kineto_scan_end(struct kr_kineto_scan *scan);

/**
 * Reads events from *pos on.
 * @param base  place of text->p in the whole text [byte]
 * @param stop  events that start at or after it [byte of text->p] are left alone
 */
enum kr_scan_end kr_kineto_scan(struct kr_kineto_scan *scan, const struct kr_json_text *text,
                                uint64_t base, size_t *pos, size_t stop, struct kr_err *err);

#endif

/*
 * The document around the events: finds the event array, tells where it stood, and keeps the few
 * header values that matter, before or behind the events. Works on any cut of the text.
 */
#ifndef KR_KINETO_DOC_H
#define KR_KINETO_DOC_H

#include "json_split.h"
#include "timeline.h"

enum { KR_DOC_LEVELS = 8, KR_DOC_NAME = 64 };

/* Header values that are kept as text. */
enum kr_doc_value { KR_DOC_DEVICES, KR_DOC_DISTRIBUTED, KR_DOC_BASE_TIME, KR_DOC_VALUES };

struct kr_doc_capture {
    char *text;
    size_t len, cap;
};

struct kr_kineto_doc {
    bool started;  /* past the first byte that is no space */
    bool found;    /* the event array */
    bool closed;   /* the document's last bracket was met */
    bool not_json; /* the first byte starts no object or array */
    bool in_string, escaped;
    bool key_ready;         /* name holds a key whose value comes next */
    uint64_t depth;         /* brackets open */
    char name[KR_DOC_NAME]; /* the last string, cut */
    size_t name_len;        /* as it was */
    char path[KR_DOC_NAME]; /* keys on the way, dots between them */
    size_t path_len[KR_DOC_LEVELS + 1];
    uint64_t events_depth;       /* brackets open inside the event array */
    char events_at[KR_DOC_NAME]; /* where it was found; see kr_source */
    int capturing;               /* enum kr_doc_value, -1 = none */
    uint64_t capture_depth;
    struct kr_doc_capture captures[KR_DOC_VALUES];
    uint64_t *marks; /* of a list's first object */
    size_t cap_marks;
    uint64_t trailing_at; /* [byte] first byte after the document, KR_NO_OFFSET = none */
    uint64_t again_at;    /* [byte] a second "traceEvents", KR_NO_OFFSET = none */
};

void kr_kineto_doc_init(struct kr_kineto_doc *doc);
void kr_kineto_doc_free(struct kr_kineto_doc *doc);

/**
 * Goes on from *pos until the event array begins (doc->found turns true, *pos is behind its '[')
 * or the text ends; *pos may stay before the end while text is not the last, to see more first.
 * @param base  place of text->p in the whole text [byte]
 * @return false with err filled when the text is no JSON at all or memory ends.
 */
bool kr_kineto_doc_feed(struct kr_kineto_doc *doc, const struct kr_json_text *text, size_t *pos,
                        uint64_t base, struct kr_err *err);

/** Tells that the event array was closed, so that what follows can be fed. */
void kr_kineto_doc_close_events(struct kr_kineto_doc *doc);

/** Puts the header's facts (devices with work, rank, base time, events_at) into the timeline. */
bool kr_kineto_doc_apply(const struct kr_kineto_doc *doc, struct kr_timeline *t,
                         struct kr_err *err);

#endif

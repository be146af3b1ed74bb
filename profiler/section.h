/*
 * What one process wrote about itself in a .kreach file, as far as it can be known without decoding
 * its records. The reader and `kreach record` both look at a section first through this.
 */
#ifndef KR_SECTION_H
#define KR_SECTION_H

#include "chunks.h"

/* In one file: the reader takes no more, so that `kreach record` makes no more. */
enum { KR_MAX_SECTIONS = 1 << 16 };

enum { KR_SECTION_LOSSES = 16, KR_SECTION_GAPS = 8, KR_SECTION_TOTALS = 32 };

/* Texts are borrowed from the file's bytes. */
struct kr_section {
    uint64_t offset; /* [byte] of its first chunk */
    uint64_t version_major, version_minor;
    uint64_t pid, parent_pid;
    uint64_t started_ticks;             /* of the process, as in /proc/PID/stat */
    struct kr_text run;                 /* shared by all processes of one record */
    uint64_t events;                    /* records in its EVENTS chunks, as these say */
    uint64_t totals[KR_SECTION_TOTALS]; /* by enum kreach_total */
    uint64_t lost[KR_SECTION_LOSSES];   /* by enum kreach_loss; unknown kinds under 0 */
    uint64_t gaps[KR_SECTION_GAPS];     /* by enum kreach_gap; unknown kinds under 0 */
    struct kr_text other;               /* the CUPTI client that was in the way */
    struct kr_text error;               /* why CUPTI could not record in this process */
    uint64_t follow;                    /* a recorder's count of sections that follow */
    uint64_t unknown_chunks;            /* of types that this version does not know */
    uint64_t bad_chunks;                /* intact, but with impossible contents */
    uint64_t next_id[3];                /* not defined yet: of names, tracks, sites */
    bool has_head;                      /* false: the chunk that names the process was damaged */
    bool ended;                         /* has its END chunk */
    bool has_totals;
    bool lost_uncounted; /* something was lost, nobody knows how much */
    bool is_recorder;    /* the section of `kreach record` itself */
};

/** Takes in one more chunk of the section. Chunks of records are only counted. */
void kr_section_note(struct kr_section *s, const struct kr_chunk *chunk);

/** True when this chunk cannot belong to a section that has come so far: its ids start again, as
 *  they do when the head of the next section was damaged. */
bool kr_section_restarts(const struct kr_section *s, const struct kr_chunk *chunk);

/** Records that the recorder knows it lost, those with lost times (zero or bad) excepted. */
uint64_t kr_section_dropped(const struct kr_section *s);

/** False when the number of dropped records cannot be known. */
bool kr_section_drops_known(const struct kr_section *s);

/** The device work that should be in the file: all that the process took in by its last totals, but
 *  for what it says it could not write (KREACH_LOST_WRITE). */
uint64_t kr_section_written(const struct kr_section *s);

/** One pair of an INFO chunk; false at the end. */
bool kr_section_info(struct kr_cursor *c, struct kr_text *key, struct kr_text *value);

/** True when the text is exactly the string. */
bool kr_text_is(struct kr_text text, const char *s);

/** The text as a plain decimal number; false when it is none or too large. */
bool kr_text_number(struct kr_text text, uint64_t *value);

#endif

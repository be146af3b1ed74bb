/* Parts that several JSON documents share, so that one thing looks the same in all of them. */
#ifndef KR_JSON_PARTS_H
#define KR_JSON_PARTS_H

#include "account.h"
#include "json_writer.h"
#include "timeline.h"

/** "source": where a timeline came from. */
void kr_json_source(struct kr_json *json, const char *key, const struct kr_timeline *t);

/* What was read, kept and lost, of one or several timelines; starts zeroed. */
struct kr_completeness {
    bool truncated, incomplete;
    bool drops_unknown; /* a recorder cannot say whether it dropped records */
    uint64_t drops;     /* records that recorders say they dropped */
    struct kr_counts counts;
    uint64_t warnings[KR_WARN_COUNT];
};

void kr_completeness_add(struct kr_completeness *sum, const struct kr_timeline *t);

/** "completeness": the worst status, counts added, one key for each warning. */
void kr_json_completeness(struct kr_json *json, const char *key, const struct kr_completeness *c);

/** The same for one timeline. */
void kr_json_completeness_of(struct kr_json *json, const char *key, const struct kr_timeline *t);

/** "window". */
void kr_json_window(struct kr_json *json, const char *key, const struct kr_window *window);

/** "time". */
void kr_json_time(struct kr_json *json, const char *key, const struct kr_time *time);

/** "devices" of a timeline: what is known of each. */
void kr_json_device_facts(struct kr_json *json, const struct kr_timeline *t, uint32_t device);

/** "flags": an array of names. */
void kr_json_flags(struct kr_json *json, const char *key, unsigned flags);

/** "policy": its name and hash. */
void kr_json_policy(struct kr_json *json, const char *key, const struct kr_rules *rules);

#endif

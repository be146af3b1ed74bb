/* Parts that several JSON documents share, so that one thing looks the same in all of them. */
#ifndef KR_JSON_PARTS_H
#define KR_JSON_PARTS_H

#include "account.h"
#include "json_writer.h"
#include "timeline.h"

/** "source": where a timeline came from. */
void kr_json_source(struct kr_json *json, const char *key, const struct kr_timeline *t);

/** "completeness" of n timelines: the worst status, counts added; one key for each warning. */
void kr_json_completeness(struct kr_json *json, const char *key,
                          const struct kr_timeline *const *timelines, size_t n);

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

/** "complete", "incomplete" or "truncated". */
const char *kr_completeness_name(const struct kr_timeline *t);

#endif

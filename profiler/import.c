#include "import.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "import_kreach.h"
#include "import_reader.h"
#include "mem.h"

enum { MAX_THREADS = 8, READ_BYTES = 1 << 20 };
#define MAX_HELD    ((size_t)64 << 30)
#define PROGRESS_NS UINT64_C(100000000)

void kr_import_tell(struct kr_import *im, uint64_t done_bytes, uint64_t total_bytes)
{
    struct timespec now;
    uint64_t now_ns;

    if (!im->progress)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    if (now_ns < im->next_progress_ns)
        return;
    im->next_progress_ns = now_ns + PROGRESS_NS;
    im->progress(im->progress_user, done_bytes, total_bytes);
}

bool kr_import_flush(struct kr_import *im, struct kr_err *err)
{
    bool ok = !im->scan.part || kr_kineto_total_add(&im->total, im->scan.part, err);

    kr_kineto_part_free(im->scan.part);
    im->scan.part = NULL;
    return ok;
}

static bool feed_events(struct kr_import *im, const struct kr_json_text *text, uint64_t base,
                        size_t *pos, size_t stop, struct kr_err *err)
{
    enum kr_scan_end end;

    if (!im->scan.part)
        im->scan.part = kr_kineto_part_new(err);
    if (!im->scan.part)
        return false;
    end = kr_kineto_scan(&im->scan, text, base, pos, stop, err);
    if (end == KR_SCAN_CLOSED) {
        kr_kineto_doc_close_events(&im->doc);
        im->stage = KR_STAGE_TAIL;
    }
    return end != KR_SCAN_FAILED;
}

bool kr_import_feed(struct kr_import *im, const struct kr_json_text *text, uint64_t base,
                    size_t *pos, size_t stop, struct kr_err *err)
{
    if (im->stage == KR_STAGE_HEAD) {
        if (!kr_kineto_doc_feed(&im->doc, text, pos, base, err))
            return false;
        if (im->doc.found)
            im->stage = KR_STAGE_EVENTS;
    }
    if (im->stage == KR_STAGE_EVENTS && !feed_events(im, text, base, pos, stop, err))
        return false;
    return im->stage != KR_STAGE_TAIL || kr_kineto_doc_feed(&im->doc, text, pos, base, err);
}

bool kr_import_whole(struct kr_import *im, const struct kr_json_text *text, struct kr_err *err)
{
    size_t pos = 0;

    if (!kr_import_feed(im, text, 0, &pos, 0, err))
        return false;
    if (im->stage == KR_STAGE_EVENTS && im->threads > 1 &&
        text->len - pos > im->tuning.segment_bytes) {
        if (!kr_import_segments(im, text, &pos, err))
            return false;
    }
    while (im->stage == KR_STAGE_EVENTS && pos < text->len) {
        size_t stop =
            text->len - pos > im->tuning.segment_bytes ? pos + im->tuning.segment_bytes : text->len;

        if (!kr_import_feed(im, text, 0, &pos, stop, err) || !kr_import_flush(im, err))
            return false;
        kr_input_forget(im->in, pos);
        kr_import_tell(im, pos, text->len);
    }
    if (im->stage == KR_STAGE_TAIL && !kr_kineto_doc_feed(&im->doc, text, &pos, 0, err))
        return false;
    im->text_bytes = text->len;
    return true;
}

/* What is known only at the end of the text: did all brackets close? */
static void judge_end(struct kr_import *im)
{
    struct kr_timeline *t = im->timeline;
    bool damaged = kr_input_state(im->in).damaged;
    bool open_events = im->stage == KR_STAGE_EVENTS && !im->scan.lost;
    bool bare = im->doc.events_depth == 1;

    if (open_events && bare && !im->scan.cut && !damaged)
        kr_timeline_warn(t, KR_WARN_UNCLOSED_ARRAY, 1, im->text_bytes);
    else if (open_events || damaged || (im->stage == KR_STAGE_TAIL && !im->doc.closed))
        t->source.truncated = true;
    if (t->source.truncated) {
        t->source.truncated_at = im->text_bytes;
        kr_timeline_warn(t, KR_WARN_TRUNCATED, 1, im->text_bytes);
    }
    if (im->doc.trailing_at != KR_NO_OFFSET)
        kr_timeline_warn(t, KR_WARN_TRAILING, 1, im->doc.trailing_at);
    if (im->doc.again_at != KR_NO_OFFSET)
        kr_timeline_warn(t, KR_WARN_DUPLICATE_KEY, 1, im->doc.again_at);
    if (im->doc.events_depth > 2)
        kr_timeline_warn(t, KR_WARN_SHIFT, 1, KR_NO_OFFSET);
    if (kr_input_state(im->in).gzip_trailing)
        kr_timeline_warn(t, KR_WARN_GZIP_TRAILING, 1, KR_NO_OFFSET);
}

static bool check_document(const struct kr_import *im, struct kr_err *err)
{
    struct kr_input_state state = kr_input_state(im->in);

    if (im->doc.found)
        return true;
    if (state.damaged && !im->doc.started)
        return kr_fail_at(err, KR_EINPUT, state.damaged_at,
                          "the %s stream is damaged from byte %llu of the file on",
                          state.compression, (unsigned long long)state.damaged_at);
    if (!im->doc.started)
        return kr_fail_at(err, KR_EINPUT, im->text_bytes, "there is nothing but spaces in it");
    if (!im->doc.closed)
        return kr_fail_at(err, KR_EINPUT, im->text_bytes,
                          "the JSON ends at byte %llu before any trace events",
                          (unsigned long long)im->text_bytes);
    return kr_fail_at(err, KR_EINPUT, im->text_bytes,
                      "JSON without trace events: no \"traceEvents\" list and no list of objects "
                      "with \"ph\" in %llu bytes",
                      (unsigned long long)im->text_bytes);
}

static bool read_all(struct kr_import *im, struct kr_err *err)
{
    struct kr_json_text text = { .last = true };

    text.p = (const char *)kr_input_text(im->in, &text.len);
    if (text.p)
        return kr_import_whole(im, &text, err);
    return kr_import_stream(im, err);
}

static bool finish(struct kr_import *im, const char *name, struct kr_err *err)
{
    struct kr_source *source = &im->timeline->source;
    struct kr_input_state state = kr_input_state(im->in);

    if (!check_document(im, err))
        return false;
    judge_end(im);
    if (!kr_kineto_total_link(&im->total, err) || !kr_kineto_doc_apply(&im->doc, im->timeline, err))
        return false;
    source->format = "kineto-json";
    source->compression = state.compression;
    source->input_bytes = state.input_total ? state.input_total : state.input_bytes;
    source->text_bytes = im->text_bytes;
    source->path = kr_xstrndup(name, strlen(name), err);
    return source->path && kr_timeline_finish(im->timeline, err);
}

static unsigned choose_threads(const struct kr_import_options *opt)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (opt && opt->threads)
        return opt->threads < MAX_THREADS ? opt->threads : MAX_THREADS;
    return cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : (unsigned)cpus;
}

/* A whole input in memory; mapped files and memory are used as they lie. */
static const void *hold_all(struct kr_input *in, size_t *len, void **owned, struct kr_err *err)
{
    const void *text = kr_input_text(in, len);
    size_t cap = 0;
    size_t got = 1;

    *owned = NULL;
    if (text)
        return text;
    for (*len = 0; got; *len += got) {
        if (!kr_grow(owned, &cap, *len + READ_BYTES, 1, MAX_HELD, err) ||
            !kr_input_read(in, (char *)*owned + *len, READ_BYTES, &got, err))
            return NULL;
    }
    return *owned;
}

/* A file of our own; it is read with random access. */
static struct kr_timeline *import_kreach(struct kr_input *in, const char *name, struct kr_err *err)
{
    struct kr_timeline *t = NULL;
    void *owned;
    size_t len;
    const void *data = hold_all(in, &len, &owned, err);

    if (data)
        t = kr_import_kreach(name, data, len, err);
    free(owned);
    kr_input_close(in);
    return t;
}

/* Takes the input over; `name` stands in messages. */
static struct kr_timeline *import(struct kr_input *in, const char *name,
                                  const struct kr_import_options *opt,
                                  const struct kr_import_tuning *tuning, struct kr_err *err)
{
    const unsigned char *head;
    size_t head_len;

    struct kr_import im = { .in = in, .tuning = *tuning, .threads = choose_threads(opt) };
    bool ok;

    if (!in)
        return NULL;
    head = kr_input_peek(in, &head_len);
    if (kr_import_kreach_detect(head, head_len))
        return import_kreach(in, name, err);
    if (opt) {
        im.progress = opt->progress;
        im.progress_user = opt->progress_user;
    }
    kr_input_set_limits(in, tuning->limits);
    kr_kineto_doc_init(&im.doc);
    im.timeline = kr_timeline_new(err);
    kr_kineto_total_init(&im.total, im.timeline);
    ok = im.timeline && read_all(&im, err) && kr_import_flush(&im, err) && finish(&im, name, err);
    kr_kineto_part_free(im.scan.part);
    kr_kineto_scan_end(&im.scan);
    kr_kineto_total_free(&im.total);
    kr_kineto_doc_free(&im.doc);
    kr_input_close(in);
    if (ok)
        return im.timeline;
    if (!strstr(err->msg, name))
        kr_wrap(err, "'%s'", name);
    kr_timeline_free(im.timeline);
    return NULL;
}

struct kr_timeline *kr_import_file(const char *path, const struct kr_import_options *opt,
                                   struct kr_err *err)
{
    return import(kr_input_open(path, err), path, opt, &KR_IMPORT_TUNING, err);
}

struct kr_timeline *kr_import_mem(const char *name, const void *data, size_t len,
                                  const struct kr_import_options *opt, struct kr_err *err)
{
    return import(kr_input_open_mem(name, data, len, err), name, opt, &KR_IMPORT_TUNING, err);
}

struct kr_timeline *kr_import_mem_tuned(const char *name, const void *data, size_t len,
                                        const struct kr_import_options *opt,
                                        const struct kr_import_tuning *tuning, struct kr_err *err)
{
    return import(kr_input_open_mem(name, data, len, err), name, opt, tuning, err);
}

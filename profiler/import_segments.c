#include "import_reader.h"

#include <pthread.h>
#include <stdlib.h>

#include "mem.h"

/*
 * Threads read segments of the text ahead of time. Each starts at the first place of its segment
 * that looks like an event and goes on to the first event of the next segment. The joiner accepts
 * a segment only when the one before really ended where it started; else it reads it again from the
 * right place. So the result is that of one thread.
 */
#define NO_START SIZE_MAX

struct segment {
    size_t start, stop; /* start: NO_START when nothing looked like an event */
    size_t pos;         /* where reading ended */
    enum kr_scan_end end;
    struct kr_kineto_scan scan;
    struct kr_err err; /* when end is FAILED */
    bool done;
};

struct plan {
    const struct kr_json_text *text;
    size_t first, segment_bytes;
    size_t n_segments;
    size_t window; /* segments in memory at once */
    struct segment *ring;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next, joined; /* next to be read; all before joined are over */
    bool stop;
};

static size_t segment_begin(const struct plan *p, size_t k)
{
    return k >= p->n_segments ? p->text->len : p->first + k * p->segment_bytes;
}

static void read_segment(const struct plan *p, size_t k, struct segment *s)
{
    size_t begin = segment_begin(p, k);

    *s = (struct segment){ .start = begin, .stop = segment_begin(p, k + 1) };
    if (k > 0) {
        s->start = kr_split_find_event(p->text, begin, s->stop);
        if (s->start == s->stop) {
            s->start = NO_START;
            return;
        }
    }
    s->pos = s->start;
    s->end = KR_SCAN_FAILED;
    s->scan.part = kr_kineto_part_new(&s->err);
    if (s->scan.part)
        s->end = kr_kineto_scan(&s->scan, p->text, 0, &s->pos, s->stop, &s->err);
    kr_kineto_scan_end(&s->scan);
}

static void *work(void *arg)
{
    struct plan *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->n_segments) {
        size_t k = p->next;
        struct segment s;

        if (k >= p->joined + p->window) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        p->next++;
        pthread_mutex_unlock(&p->lock);
        read_segment(p, k, &s);
        pthread_mutex_lock(&p->lock);
        s.done = true;
        p->ring[k % p->window] = s;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Takes segment k out of the ring once it has been read. */
static struct segment take_segment(struct plan *p, size_t k)
{
    struct segment *s = &p->ring[k % p->window];
    struct segment taken;

    pthread_mutex_lock(&p->lock);
    while (!s->done)
        pthread_cond_wait(&p->changed, &p->lock);
    taken = *s;
    *s = (struct segment){ 0 };
    p->joined = k + 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return taken;
}

/* Adds what segment s holds, given that reading has come to *pos. */
static bool join_segment(struct kr_import *im, const struct plan *p, struct segment *s, size_t *pos,
                         struct kr_err *err)
{
    bool right = im->scan.lost ? s->start != NO_START && s->start >= *pos : s->start == *pos;

    if (*pos >= s->stop && *pos < p->text->len)
        return true; /* an event, or something lost, reaches beyond it */
    if (!right)
        return kr_import_feed(im, p->text, 0, pos, s->stop, err) && kr_import_flush(im, err);
    if (s->end == KR_SCAN_FAILED) {
        *err = s->err;
        return false;
    }
    if (!kr_kineto_total_add(&im->total, s->scan.part, err))
        return false;
    *pos = s->pos;
    im->scan.lost = s->scan.lost;
    im->scan.cut = s->scan.cut;
    if (s->end == KR_SCAN_CLOSED) {
        kr_kineto_doc_close_events(&im->doc);
        im->stage = KR_STAGE_TAIL;
    }
    return true;
}

static bool join_all(struct kr_import *im, struct plan *p, size_t *pos, struct kr_err *err)
{
    for (size_t k = 0; k < p->n_segments && im->stage == KR_STAGE_EVENTS; k++) {
        struct segment s = take_segment(p, k);
        bool ok = join_segment(im, p, &s, pos, err);

        kr_kineto_part_free(s.scan.part);
        if (!ok)
            return false;
        kr_input_forget(im->in, *pos);
        kr_import_tell(im, *pos, p->text->len);
    }
    return true;
}

static void stop_threads(struct plan *p, pthread_t *threads, unsigned n)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

bool kr_import_segments(struct kr_import *im, const struct kr_json_text *text, size_t *pos,
                        struct kr_err *err)
{
    struct plan p = { .text = text, .first = *pos, .segment_bytes = im->tuning.segment_bytes };
    pthread_t *threads = kr_xcalloc(im->threads, sizeof *threads, err);
    unsigned started = 0;
    bool ok;

    p.n_segments = (text->len - *pos + p.segment_bytes - 1) / p.segment_bytes;
    p.window = im->threads + 2;
    p.ring = kr_xcalloc(p.window, sizeof *p.ring, err);
    ok = threads && p.ring;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    while (ok && started < im->threads && pthread_create(&threads[started], NULL, work, &p) == 0)
        started++;
    if (ok && started == 0)
        ok = kr_fail(err, KR_ENOMEM, "cannot start a thread");
    ok = ok && join_all(im, &p, pos, err);
    stop_threads(&p, threads, started);
    for (size_t i = 0; p.ring && i < p.window; i++)
        kr_kineto_part_free(p.ring[i].scan.part);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    free(p.ring);
    free(threads);
    return ok;
}

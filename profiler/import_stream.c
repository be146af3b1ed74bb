#include "import_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { BLOCKS = 4 };

/* Blocks go around: the pump fills them, the parser empties them. */
struct ring {
    struct kr_input *in;
    size_t block_bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *blocks[BLOCKS];
    size_t len[BLOCKS];
    size_t filled, emptied; /* counts; filled - emptied blocks wait */
    bool ended, failed, stop;
    struct kr_err err; /* when failed */
};

static bool wait_for_room(struct ring *r)
{
    bool stop;

    pthread_mutex_lock(&r->lock);
    while (r->filled - r->emptied == BLOCKS && !r->stop)
        pthread_cond_wait(&r->changed, &r->lock);
    stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    return !stop;
}

static void *pump(void *arg)
{
    struct ring *r = arg;
    bool go_on = true;

    while (go_on && wait_for_room(r)) {
        size_t slot = r->filled % BLOCKS;
        size_t len = 0;
        size_t got = 1;
        bool ok = true;

        /* whole blocks, since inflate hands out little at a time near member ends */
        while (ok && got && len < r->block_bytes) {
            ok = kr_input_read(r->in, r->blocks[slot] + len, r->block_bytes - len, &got, &r->err);
            len += got;
        }
        pthread_mutex_lock(&r->lock);
        r->len[slot] = len;
        r->filled++;
        r->ended = !got;
        r->failed = !ok;
        go_on = ok && got;
        pthread_cond_signal(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* Waits for the next block; false at the end, or with *failed. */
static bool take_block(struct ring *r, const char **block, size_t *len, bool *failed)
{
    bool have;

    pthread_mutex_lock(&r->lock);
    while (r->filled == r->emptied && !r->ended && !r->failed)
        pthread_cond_wait(&r->changed, &r->lock);
    have = r->filled > r->emptied;
    *failed = !have && r->failed;
    if (have) {
        *block = r->blocks[r->emptied % BLOCKS];
        *len = r->len[r->emptied % BLOCKS];
    }
    pthread_mutex_unlock(&r->lock);
    return have;
}

static void give_back(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    r->emptied++;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Text that waits to be parsed: what the last feed left, and new blocks behind it. */
struct pending {
    char *p;
    size_t len, cap;
    uint64_t base; /* place in the whole text [byte] */
    char before;   /* see kr_json_text */
    uint64_t part_start;
};

static bool parse(struct kr_import *im, struct pending *text, bool last, struct kr_err *err)
{
    const struct kr_json_text view = { text->p, text->len, last, text->before };
    size_t pos = 0;

    if (!kr_import_feed(im, &view, text->base, &pos, SIZE_MAX, err))
        return false;
    text->before = kr_split_byte_before(&view, pos);
    text->base += pos;
    text->len -= pos;
    if (text->p && text->len)
        memmove(text->p, text->p + pos, text->len);
    im->text_bytes = text->base + text->len;
    if (text->base - text->part_start < im->tuning.segment_bytes)
        return true;
    text->part_start = text->base;
    return kr_import_flush(im, err);
}

static bool append(struct pending *text, const char *block, size_t len, struct kr_err *err)
{
    if (len == 0)
        return true;
    if (!kr_grow(&text->p, &text->cap, text->len + len, 1, SIZE_MAX / 4, err))
        return false;
    memcpy(text->p + text->len, block, len);
    text->len += len;
    return true;
}

static bool parse_blocks(struct kr_import *im, struct ring *r, struct pending *text,
                         struct kr_err *err)
{
    size_t next_parse = 0; /* an unfinished event waits until the text has doubled */
    const char *block;
    size_t len;
    bool failed;

    while (take_block(r, &block, &len, &failed)) {
        bool ok = append(text, block, len, err);

        give_back(r);
        if (!ok)
            return false;
        if (text->len < next_parse)
            continue;
        if (!parse(im, text, false, err))
            return false;
        next_parse = 2 * text->len;
        kr_import_tell(im, text->base, 0);
    }
    if (failed) {
        *err = r->err;
        return false;
    }
    return parse(im, text, true, err);
}

static bool open_ring(struct ring *r, struct kr_import *im, struct kr_err *err)
{
    *r = (struct ring){ .in = im->in, .block_bytes = im->tuning.block_bytes };
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        r->blocks[i] = kr_xcalloc(r->block_bytes, 1, err);
        if (!r->blocks[i])
            return false;
    }
    return true;
}

static void close_ring(struct ring *r)
{
    for (size_t i = 0; i < BLOCKS; i++)
        free(r->blocks[i]);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}

bool kr_import_stream(struct kr_import *im, struct kr_err *err)
{
    struct pending text = { 0 };
    struct ring ring;
    pthread_t thread;
    bool ok = open_ring(&ring, im, err);

    if (ok && pthread_create(&thread, NULL, pump, &ring) != 0)
        ok = kr_fail(err, KR_ENOMEM, "cannot start a thread");
    else if (ok) {
        ok = parse_blocks(im, &ring, &text, err);
        pthread_mutex_lock(&ring.lock);
        ring.stop = true;
        pthread_cond_signal(&ring.changed);
        pthread_mutex_unlock(&ring.lock);
        pthread_join(thread, NULL);
    }
    close_ring(&ring);
    free(text.p);
    return ok;
}

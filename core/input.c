#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "mem.h"

enum { RAW_BYTES = 256 * 1024, HEAD_BYTES = 16, ZSTD_FIRST_BYTES = 5, ZSTD_BLOCK_HEADER = 3 };

enum coding { PLAIN, GZIP, ZSTD };

struct kr_input {
    char *name;
    int fd;                    /* -1 when the bytes are in memory */
    const unsigned char *data; /* mapped or borrowed bytes */
    size_t data_len;
    bool mapped;
    size_t forgotten;
    unsigned char *raw; /* bytes read from fd */
    const unsigned char *next;
    size_t avail; /* bytes at next */
    bool raw_end;
    enum coding coding;
    z_stream inflate;
    bool inflate_open;
    bool in_member; /* inside a gzip member or zstd frame */
    bool text_end;
    ZSTD_DStream *zstd;
    size_t zstd_wants; /* bytes for its next step */
    bool zstd_full;    /* the last step filled its room */
    uint64_t text_bytes;
    struct kr_input_limits limits;
    struct kr_input_state state;
};

void kr_input_close(struct kr_input *in)
{
    if (!in)
        return;
    if (in->inflate_open)
        inflateEnd(&in->inflate);
    ZSTD_freeDStream(in->zstd);
    if (in->mapped)
        munmap((void *)(uintptr_t)in->data, in->data_len);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    free(in->raw);
    free(in->name);
    free(in);
}

static struct kr_input *new_input(const char *name, struct kr_err *err)
{
    struct kr_input *in = kr_xnew(sizeof *in, err);

    if (!in)
        return NULL;
    in->fd = -1;
    in->limits = KR_INPUT_LIMITS;
    in->name = kr_xstrndup(name, strlen(name), err);
    if (!in->name) {
        kr_input_close(in);
        return NULL;
    }
    return in;
}

/* Makes at least `want` raw bytes available, fewer only at the end of the input. */
static bool fill_raw(struct kr_input *in, size_t want, struct kr_err *err)
{
    if (in->avail >= want || in->raw_end)
        return true;
    memmove(in->raw, in->next, in->avail);
    in->next = in->raw;
    while (in->avail < want) {
        ssize_t n = read(in->fd, in->raw + in->avail, RAW_BYTES - in->avail);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kr_fail_at(err, KR_EINPUT, in->state.input_bytes, "cannot read '%s': %s",
                              in->name, strerror(errno));
        if (n == 0) {
            in->raw_end = true;
            break;
        }
        in->avail += (size_t)n;
    }
    return true;
}

static void consume_raw(struct kr_input *in, size_t n)
{
    in->next += n;
    in->avail -= n;
    in->state.input_bytes += n;
}

static bool is_gzip(const struct kr_input *in)
{
    return in->avail >= 2 && in->next[0] == 0x1f && in->next[1] == 0x8b;
}

/* A zstd frame, or a skippable frame (magic 0x184d2a50 to 0x184d2a5f, little endian). */
static bool is_zstd(const struct kr_input *in)
{
    const unsigned char *p = in->next;

    if (in->avail < 4)
        return false;
    if (p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
        return true;
    return (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18;
}

static bool start_decoder(struct kr_input *in, struct kr_err *err)
{
    in->state.compression = "none";
    if (is_gzip(in)) {
        in->coding = GZIP;
        in->state.compression = "gzip";
        /* 16: expect the gzip wrapper, and check its sum */
        if (inflateInit2(&in->inflate, 16 + MAX_WBITS) != Z_OK)
            return kr_fail(err, KR_ENOMEM, "out of memory for zlib");
        in->inflate_open = true;
        in->in_member = true;
    } else if (is_zstd(in)) {
        in->coding = ZSTD;
        in->state.compression = "zstd";
        in->zstd = ZSTD_createDStream();
        in->zstd_wants = ZSTD_FIRST_BYTES;
        if (!in->zstd)
            return kr_fail(err, KR_ENOMEM, "out of memory for zstd");
        /* bounds the decoder's memory: 128 MiB windows and more are refused */
        ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, 27);
    }
    return true;
}

static bool begin(struct kr_input *in, struct kr_err *err)
{
    if (in->data) {
        in->next = in->data;
        in->avail = in->data_len;
        in->raw_end = true;
    } else {
        in->raw = malloc(RAW_BYTES);
        if (!in->raw)
            return kr_fail(err, KR_ENOMEM, "out of memory for a read buffer");
        in->next = in->raw;
        if (!fill_raw(in, HEAD_BYTES, err))
            return false;
    }
    if (in->avail == 0)
        return kr_fail(err, KR_EINPUT, "'%s' is empty", in->name);
    return start_decoder(in, err);
}

/* Maps regular files; pipes, terminals and files of /proc (size 0) are read instead. */
static bool open_fd(struct kr_input *in, const char *path, struct kr_err *err)
{
    struct stat st;
    void *map;

    if (strcmp(path, "-") == 0)
        in->fd = STDIN_FILENO;
    else
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return kr_fail(err, KR_EINPUT, "cannot open '%s': %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return kr_fail(err, KR_EINPUT, "'%s' is a directory; name a file in it", path);
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || lseek(in->fd, 0, SEEK_CUR) != 0)
        return true;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, in->fd, 0);
    if (map == MAP_FAILED)
        return true; /* reading still works */
    madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
    in->data = map;
    in->data_len = (size_t)st.st_size;
    in->mapped = true;
    in->state.input_total = in->data_len;
    return true;
}

struct kr_input *kr_input_open(const char *path, struct kr_err *err)
{
    struct kr_input *in = new_input(path, err);

    if (!in)
        return NULL;
    if (!open_fd(in, path, err) || !begin(in, err)) {
        kr_input_close(in);
        return NULL;
    }
    return in;
}

struct kr_input *kr_input_open_mem(const char *name, const void *data, size_t len,
                                   struct kr_err *err)
{
    struct kr_input *in = new_input(name, err);

    if (!in)
        return NULL;
    in->data = data ? data : (const unsigned char *)"";
    in->data_len = len;
    in->state.input_total = len;
    if (!begin(in, err)) {
        kr_input_close(in);
        return NULL;
    }
    return in;
}

void kr_input_set_limits(struct kr_input *in, struct kr_input_limits limits)
{
    in->limits = limits;
}

const unsigned char *kr_input_text(const struct kr_input *in, size_t *len)
{
    if (!in->data || in->coding != PLAIN)
        return NULL;
    *len = in->data_len;
    return in->data;
}

const unsigned char *kr_input_peek(const struct kr_input *in, size_t *len)
{
    *len = in->avail;
    return in->next;
}

void kr_input_forget(struct kr_input *in, size_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    end -= end % page;
    if (!in->mapped || end <= in->forgotten)
        return;
    madvise((void *)(uintptr_t)(in->data + in->forgotten), end - in->forgotten, MADV_DONTNEED);
    in->forgotten = end;
}

static void end_damaged(struct kr_input *in)
{
    in->text_end = true;
    in->state.damaged = true;
    in->state.damaged_at = in->state.input_bytes;
}

static void read_plain(struct kr_input *in, unsigned char *buf, size_t cap, size_t *got)
{
    size_t n = in->avail < cap ? in->avail : cap;

    memcpy(buf, in->next, n);
    consume_raw(in, n);
    *got = n;
    in->text_end = n == 0;
}

/* After a gzip member: the next one, padding zeros, or foreign bytes that are only counted. */
static void next_member(struct kr_input *in)
{
    if (is_gzip(in)) {
        inflateReset(&in->inflate);
        in->in_member = true;
        return;
    }
    in->text_end = true;
    for (size_t i = 0; i < in->avail; i++)
        in->state.gzip_trailing |= in->next[i] != 0;
}

static void read_gzip(struct kr_input *in, unsigned char *buf, size_t cap, size_t *got)
{
    uInt chunk = in->avail < UINT32_MAX / 2 ? (uInt)in->avail : UINT32_MAX / 2;
    int status;

    if (!in->in_member) {
        next_member(in);
        return;
    }
    in->inflate.next_in = (Bytef *)(uintptr_t)in->next;
    in->inflate.avail_in = chunk;
    in->inflate.next_out = buf;
    in->inflate.avail_out = (uInt)cap;
    status = inflate(&in->inflate, Z_NO_FLUSH);
    consume_raw(in, chunk - in->inflate.avail_in);
    *got = cap - in->inflate.avail_out;
    if (status == Z_STREAM_END)
        in->in_member = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
        end_damaged(in);
    else if (*got == 0 && in->avail == 0 && in->raw_end)
        end_damaged(in); /* the member is not finished, and nothing is left */
}

/*
 * zstd gives nothing of a call that fails. So it gets no more than it asks for, one block at a
 * time, and nothing new while it may still hold text that did not fit.
 */
static void read_zstd(struct kr_input *in, unsigned char *buf, size_t cap, size_t *got)
{
    size_t wants = in->zstd_full ? 0 : in->zstd_wants;
    ZSTD_inBuffer src = { in->next, in->avail < wants ? in->avail : wants, 0 };
    ZSTD_outBuffer dst = { buf, cap, 0 };
    size_t hint;

    if (in->avail == 0 && in->raw_end && !in->zstd_full) {
        in->text_end = true;
        if (in->in_member)
            end_damaged(in);
        return;
    }
    hint = ZSTD_decompressStream(in->zstd, &dst, &src);
    if (ZSTD_isError(hint)) {
        end_damaged(in);
        return;
    }
    consume_raw(in, src.pos);
    *got = dst.pos;
    in->zstd_full = dst.pos == cap;
    in->in_member = hint != 0;
    /* what it asks for holds the header of the block after, whose damage must not cost this block
     */
    in->zstd_wants = !hint                      ? ZSTD_FIRST_BYTES
                     : hint > ZSTD_BLOCK_HEADER ? hint - ZSTD_BLOCK_HEADER
                                                : hint;
}

static bool within_limits(const struct kr_input *in, struct kr_err *err)
{
    if (in->coding == PLAIN || in->text_bytes <= in->limits.free_bytes)
        return true;
    if (in->text_bytes / in->limits.max_ratio <= in->state.input_bytes)
        return true;
    return kr_fail_at(err, KR_EINPUT, in->text_bytes,
                      "'%s' inflates more than %llu-fold, which no trace does; gave up at byte "
                      "%llu of the text",
                      in->name, (unsigned long long)in->limits.max_ratio,
                      (unsigned long long)in->text_bytes);
}

bool kr_input_read(struct kr_input *in, void *buf, size_t cap, size_t *got, struct kr_err *err)
{
    if (cap > INT32_MAX)
        cap = INT32_MAX;
    *got = 0;
    while (*got == 0 && !in->text_end) {
        if (!in->data && !fill_raw(in, HEAD_BYTES, err))
            return false;
        if (in->coding == PLAIN)
            read_plain(in, buf, cap, got);
        else if (in->coding == GZIP)
            read_gzip(in, buf, cap, got);
        else
            read_zstd(in, buf, cap, got);
    }
    in->text_bytes += *got;
    return within_limits(in, err);
}

struct kr_input_state kr_input_state(const struct kr_input *in)
{
    return in->state;
}

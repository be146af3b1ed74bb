#include "cap_sink.h"

#include "cap_crc.h"
#include "cap_say.h"
#include "kreach_format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOWEST_FD 500 /* above what shells and daemons close or reuse by number */

/* Makes the folders of a path; failures show when the file is opened. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* Where the limit of open files is lower, any number but those of the standard streams will do. */
static int move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);

    if (high < 0)
        high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* statx and not fstat: the latter's symbol is newer than some systems that we serve. */
static bool look(int fd, struct statx *st)
{
    return statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE, st) == 0;
}

bool cap_sink_open(struct cap_sink *s, bool append)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? 0 : O_EXCL);
    struct statx st;

    s->inode = 0;
    s->fd = open(s->path, flags, 0666);
    if (s->fd < 0 && errno == ENOENT && !s->in_run) {
        make_folders(s->path);
        s->fd = open(s->path, flags, 0666);
    }
    if (s->fd < 0)
        return false;
    s->fd = move_high(s->fd);
    if (!look(s->fd, &st)) {
        cap_sink_close(s);
        return false;
    }
    s->device = makedev(st.stx_dev_major, st.stx_dev_minor);
    s->inode = st.stx_ino;
    s->end_bytes = st.stx_size;
    return true;
}

static bool is_ours(const struct cap_sink *s, int fd)
{
    struct statx st;

    return look(fd, &st) && makedev(st.stx_dev_major, st.stx_dev_minor) == s->device &&
           st.stx_ino == s->inode;
}

/*
 * Programs that close every descriptor (daemons, close_range) close ours too, and its number may
 * since belong to a file of theirs: never write before looking.
 */
static bool check_descriptor(struct cap_sink *s)
{
    if (s->fd < 0)
        return false;
    if (is_ours(s, s->fd))
        return true;
    int fd = open(s->path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && !is_ours(s, fd)) {
        close(fd);
        errno = ENOENT;
        fd = -1;
    }
    if (fd < 0)
        return false;
    s->fd = move_high(fd);
    if (!s->reopened)
        cap_say("the program closed the descriptor of '%s'; opened again", s->path);
    s->reopened = true;
    return true;
}

static bool write_all(struct cap_sink *s, struct iovec *iov, int n)
{
    uint64_t at = s->end_bytes;

    while (n > 0) {
        ssize_t done = pwritev(s->fd, iov, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            const int saved = done < 0 ? errno : ENOSPC;
            if (ftruncate(s->fd, (off_t)s->end_bytes) != 0)
                s->failures++; /* the torn tail stays; a reader stops at its CRC */
            errno = saved;
            return false;
        }
        at += (uint64_t)done;
        for (; n > 0 && (size_t)done >= iov->iov_len; iov++, n--)
            done -= (ssize_t)iov->iov_len;
        if (n > 0) {
            iov->iov_base = (char *)iov->iov_base + done;
            iov->iov_len -= (size_t)done;
        }
    }
    s->end_bytes = at;
    return true;
}

static struct kreach_chunk chunk_of(uint16_t type, const struct cap_piece *pieces, size_t n)
{
    struct kreach_chunk head = { .magic = KREACH_CHUNK_MAGIC, .type = type };

    for (size_t i = 0; i < n; i++)
        head.payload_bytes += (uint32_t)pieces[i].len;
    head.crc = cap_crc32c(0, &head, offsetof(struct kreach_chunk, crc));
    for (size_t i = 0; i < n; i++)
        head.crc = cap_crc32c(head.crc, pieces[i].data, pieces[i].len);
    return head;
}

static void add_piece(struct iovec *iov, int *n, const void *data, size_t len)
{
    if (len == 0)
        return;
    iov[*n].iov_base = (void *)(uintptr_t)data;
    iov[(*n)++].iov_len = len;
}

static bool append(struct cap_sink *s, struct iovec *iov, int n)
{
    if (check_descriptor(s) && write_all(s, iov, n))
        return true;
    s->failures++;
    return false;
}

bool cap_sink_section(struct cap_sink *s, const struct cap_piece *head)
{
    const struct kreach_chunk chunk = chunk_of(KREACH_HEAD, head, 1);
    struct iovec iov[3];
    int n = 0;

    add_piece(iov, &n, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES);
    add_piece(iov, &n, &chunk, sizeof chunk);
    add_piece(iov, &n, head->data, head->len);
    return append(s, iov, n);
}

bool cap_sink_chunk(struct cap_sink *s, uint16_t type, const struct cap_piece *pieces, size_t n)
{
    const struct kreach_chunk chunk = chunk_of(type, pieces, n);
    struct iovec iov[1 + CAP_PIECES_MAX];
    int parts = 0;

    add_piece(iov, &parts, &chunk, sizeof chunk);
    for (size_t i = 0; i < n; i++)
        add_piece(iov, &parts, pieces[i].data, pieces[i].len);
    return append(s, iov, parts);
}

void cap_sink_close(struct cap_sink *s)
{
    /* Without an inode the file is just being opened, by a thread that a fork left behind. */
    if (s->fd >= 0 && (s->inode == 0 || is_ours(s, s->fd)))
        close(s->fd);
    s->fd = -1;
}

#include "cap_sink.h"

#include "cap_crc.h"
#include "cap_say.h"
#include "kreach_format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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

static int move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);

    if (high < 0)
        return fd; /* the limit of open files is lower: a low number works too */
    close(fd);
    return high;
}

bool cap_sink_open(struct cap_sink *s, bool append)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? 0 : O_EXCL);
    struct stat st;

    s->fd = open(s->path, flags, 0666);
    if (s->fd < 0 && errno == ENOENT) {
        make_folders(s->path);
        s->fd = open(s->path, flags, 0666);
    }
    if (s->fd < 0)
        return false;
    s->fd = move_high(s->fd);
    if (fstat(s->fd, &st) != 0)
        return false;
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->end_bytes = (uint64_t)st.st_size;
    return true;
}

static bool is_ours(const struct cap_sink *s, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
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

bool cap_sink_raw(struct cap_sink *s, const void *data, size_t len)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };

    if (check_descriptor(s) && write_all(s, &iov, 1))
        return true;
    s->failures++;
    return false;
}

bool cap_sink_chunk(struct cap_sink *s, uint16_t type, const struct cap_piece *pieces, size_t n)
{
    struct kreach_chunk head = { .magic = KREACH_CHUNK_MAGIC, .type = type };
    struct iovec iov[1 + CAP_PIECES_MAX];
    int parts = 1;

    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len == 0)
            continue;
        iov[parts].iov_base = (void *)(uintptr_t)pieces[i].data;
        iov[parts++].iov_len = pieces[i].len;
        head.payload_bytes += (uint32_t)pieces[i].len;
    }
    head.crc = cap_crc32c(0, &head, offsetof(struct kreach_chunk, crc));
    for (int i = 1; i < parts; i++)
        head.crc = cap_crc32c(head.crc, iov[i].iov_base, iov[i].iov_len);
    iov[0].iov_base = &head;
    iov[0].iov_len = sizeof head;
    if (check_descriptor(s) && write_all(s, iov, parts))
        return true;
    s->failures++;
    return false;
}

void cap_sink_close(struct cap_sink *s)
{
    if (s->fd >= 0 && is_ours(s, s->fd))
        close(s->fd);
    s->fd = -1;
}

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

static bool fail_write(const struct kr_output *out, struct kr_err *err)
{
    int saved = errno;

    kr_fail(err, KR_EOUTPUT, "cannot write %s%s%s: %s", out->path ? "'" : "",
            out->path ? out->path : "standard output", out->path ? "'" : "", strerror(saved));
    errno = saved;
    return false;
}

/* mkstemp makes private files; the finished one should be as any other that the user makes. */
static int open_temporary(char *template)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    fd = mkstemp(template);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) < 0) {
        close(fd);
        unlink(template);
        return -1;
    }
    return fd;
}

/* Where a standard stream is closed its number is free, and what is said there must not end in the
 * data. */
static int above_streams(int fd)
{
    int high = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (high < 0)
        return fd;
    if (high != fd)
        close(fd);
    return high;
}

static bool open_file(struct kr_output *out, bool in_place, struct kr_err *err)
{
    int fd;

    if (in_place) {
        fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
        size_t len = strlen(out->path);

        out->temporary = kr_xcalloc(len + sizeof ".XXXXXX", 1, err);
        if (!out->temporary)
            return false;
        memcpy(out->temporary, out->path, len);
        memcpy(out->temporary + len, ".XXXXXX", sizeof ".XXXXXX");
        fd = open_temporary(out->temporary);
    }
    if (fd < 0) {
        free(out->temporary); /* never created: nothing to unlink */
        out->temporary = NULL;
        return fail_write(out, err);
    }
    fd = above_streams(fd);
    out->file = fdopen(fd, "w");
    out->owned = out->file != NULL;
    if (!out->file) {
        close(fd);
        return fail_write(out, err);
    }
    return true;
}

bool kr_output_open(struct kr_output *out, const char *path, FILE *stream, bool replace,
                    struct kr_err *err)
{
    struct stat st;
    bool exists;

    *out = (struct kr_output){ .replace = replace };
    if (!path || strcmp(path, "-") == 0) {
        out->file = stream;
        return true;
    }
    out->path = path;
    exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return kr_fail(err, KR_EARG, "cannot write '%s': it is a directory", path);
    if (exists && S_ISREG(st.st_mode) && !replace)
        return kr_fail(err, KR_EARG, "'%s' exists; give --force to replace it", path);
    return open_file(out, exists && !S_ISREG(st.st_mode), err);
}

/* Gives the temporary file its name; without `replace` only when nobody else took it meanwhile. */
static bool name_file(struct kr_output *out, struct kr_err *err)
{
    unsigned flags = out->replace ? 0 : RENAME_NOREPLACE;
    int rc = renameat2(AT_FDCWD, out->temporary, AT_FDCWD, out->path, flags);

    if (rc < 0 && flags && (errno == EINVAL || errno == ENOSYS)) /* an old file system */
        rc = access(out->path, F_OK) == 0 ? -1 : rename(out->temporary, out->path);
    if (rc < 0)
        return fail_write(out, err);
    free(out->temporary);
    out->temporary = NULL;
    return true;
}

bool kr_output_commit(struct kr_output *out, struct kr_err *err)
{
    bool good = fflush(out->file) == 0;

    if (good && ferror(out->file)) {
        errno = EIO; /* an earlier write failed; its reason is gone */
        good = false;
    }
    if (good && out->temporary)
        good = fsync(fileno(out->file)) == 0;
    if (!good)
        return fail_write(out, err);
    if (out->owned) {
        out->owned = false;
        if (fclose(out->file) != 0)
            return fail_write(out, err);
    }
    return !out->temporary || name_file(out, err);
}

void kr_output_discard(struct kr_output *out)
{
    if (out->owned)
        (void)fclose(out->file);
    if (out->temporary)
        unlink(out->temporary);
    free(out->temporary);
    *out = (struct kr_output){ 0 };
}

/* Where tests of a recorder put what it writes. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <sys/statvfs.h>
#include <unistd.h>

#define SCRATCH_BYTES (512ull << 20)

/*
 * A folder in memory where there is room for it. A disk that stands still for seconds holds up the
 * recorder's thread, as it should; tests of what happens when would take that for a fault.
 */
static inline const char *scratch_root(void)
{
    struct statvfs fs;

    if (access("/dev/shm", W_OK | X_OK) == 0 && statvfs("/dev/shm", &fs) == 0 &&
        (unsigned long long)fs.f_bavail * fs.f_frsize >= SCRATCH_BYTES)
        return "/dev/shm";
    return "/tmp";
}

#endif

#include "record_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mem.h"
#include "record.h"
#include "section.h"

enum {
    MAX_PARTS = KR_MAX_SECTIONS - 1, /* beside the recorder's own section */
    PROBE_BYTES = 4096
};

bool kr_part_map(const char *folder, const char *name, struct kr_part_bytes *map,
                 struct kr_err *err)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    int fd;

    *map = (struct kr_part_bytes){ 0 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        goto fail;
    map->len = (size_t)st.st_size;
    map->data = map->len ? mmap(NULL, map->len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (map->data == MAP_FAILED)
        goto fail;
    close(fd);
    return true;
fail:
    kr_fail(err, KR_EINPUT, "cannot read '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return false;
}

void kr_part_unmap(const struct kr_part_bytes *map)
{
    if (map->data)
        munmap(map->data, map->len);
}

static void count_section(struct kr_record_sum *sum, const struct kr_section *s)
{
    uint64_t written = kr_section_written(s);

    sum->processes++;
    sum->missing += written > s->events ? written - s->events : 0;
    sum->with_work += s->events > 0;
    sum->works += s->events;
    sum->launches += s->totals[KREACH_TOTAL_LAUNCHES];
    sum->dropped += kr_section_dropped(s);
    sum->unwritten += s->lost[KREACH_LOST_WRITE];
    sum->newer += s->version_major > KREACH_VERSION_MAJOR;
    sum->blind += !kr_section_drops_known(s);
    sum->bad_times += s->lost[KREACH_LOST_ZERO_TIME] + s->lost[KREACH_LOST_BAD_TIME];
    sum->not_ended += !s->ended;
    sum->missed += s->gaps[KREACH_GAP_MISSED];
    sum->held += s->gaps[KREACH_GAP_BUSY] + s->gaps[KREACH_GAP_TAKEOVER] > 0;
    if (s->other.len && !*sum->other)
        snprintf(sum->other, sizeof sum->other, "%.*s", (int)(s->other.len & INT_MAX), s->other.s);
    if (s->error.len && !*sum->error)
        snprintf(sum->error, sizeof sum->error, "%.*s", (int)(s->error.len & INT_MAX), s->error.s);
}

static bool put(FILE *out, const void *data, size_t len, struct kr_record_sum *sum,
                struct kr_err *err)
{
    sum->file_bytes += len;
    if (len && fwrite(data, 1, len, out) != len)
        return kr_fail(err, KR_EOUTPUT, "cannot write the recording: %s", strerror(errno));
    return true;
}

/* Sums the sections of a part up; returns where its torn tail begins, or its length. */
static size_t sum_part(const struct kr_part_bytes *map, struct kr_record_sum *sum)
{
    struct kr_section section = { 0 };
    struct kr_chunks walk;
    struct kr_chunk chunk;
    bool open = false;

    kr_chunks_start(&walk, map->data, map->len);
    while (kr_chunks_next(&walk, &chunk)) {
        if (chunk.type == KR_CHUNK_SIGNATURE)
            continue;
        if (open && chunk.type == KREACH_HEAD) {
            count_section(sum, &section);
            section = (struct kr_section){ 0 };
        }
        open = true;
        kr_section_note(&section, &chunk);
    }
    /* A process begins its part when it uses the GPU: one without a byte could not write, or died.
     */
    if (open || !map->len)
        count_section(sum, &section);
    sum->damaged += walk.damaged;
    return walk.torn ? walk.torn_at : map->len;
}

/* The process that wrote a part; zeros when the part does not say. */
static void read_author(const struct kr_part_bytes *map, struct kr_part *part)
{
    struct kr_section section = { 0 };
    struct kr_chunks walk;
    struct kr_chunk chunk;

    kr_chunks_start(&walk, map->data, map->len < PROBE_BYTES ? map->len : PROBE_BYTES);
    while (!section.has_head && kr_chunks_next(&walk, &chunk)) {
        if (chunk.type == KREACH_HEAD)
            kr_section_note(&section, &chunk);
    }
    part->started_ticks = section.started_ticks;
    part->pid = section.pid;
}

static int by_start(const void *pa, const void *pb)
{
    const struct kr_part *a = pa;
    const struct kr_part *b = pb;

    if (a->started_ticks != b->started_ticks)
        return a->started_ticks < b->started_ticks ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return strcmp(a->name, b->name);
}

static bool add_part(struct kr_parts *parts, const char *name, struct kr_err *err)
{
    struct kr_part_bytes map;
    struct kr_part *part;

    if (!kr_part_map(parts->folder, name, &map, err))
        return false;
    if (!kr_grow(&parts->items, &parts->cap, parts->n + 1, sizeof *parts->items, MAX_PARTS, err)) {
        kr_part_unmap(&map);
        return kr_wrap(err, "processes");
    }
    part = &parts->items[parts->n++];
    snprintf(part->name, sizeof part->name, "%s", name);
    read_author(&map, part);
    kr_part_unmap(&map);
    return true;
}

/* The program knows the folder and may leave other things there: pipes, links, files of its own. */
static bool is_part(int folder, const char *name)
{
    static const char tail[] = ".part";
    size_t len = strlen(name);
    struct stat st;

    return len >= sizeof tail && strcmp(name + len - (sizeof tail - 1), tail) == 0 &&
           fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* All parts in the folder, in the order in which their processes started. */
bool kr_parts_list(const char *folder, struct kr_parts *parts, struct kr_err *err)
{
    DIR *dir = opendir(folder);
    bool good = true;

    *parts = (struct kr_parts){ .folder = folder };
    if (!dir)
        return kr_fail(err, KR_EINPUT, "cannot open '%s': %s", folder, strerror(errno));
    for (const struct dirent *entry = readdir(dir); entry && good; entry = readdir(dir)) {
        if (is_part(dirfd(dir), entry->d_name))
            good = add_part(parts, entry->d_name, err);
    }
    closedir(dir);
    if (good && parts->n)
        qsort(parts->items, parts->n, sizeof *parts->items, by_start);
    return good;
}

static bool sum_all(const struct kr_parts *parts, struct kr_record_sum *sum, struct kr_err *err)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct kr_part_bytes map;

        if (!kr_part_map(parts->folder, parts->items[i].name, &map, err))
            return false;
        parts->items[i].whole_bytes = sum_part(&map, sum);
        kr_part_unmap(&map);
    }
    return true;
}

static bool copy_all(const struct kr_parts *parts, FILE *out, struct kr_record_sum *sum,
                     struct kr_err *err)
{
    for (size_t i = 0; i < parts->n; i++) {
        size_t len = parts->items[i].whole_bytes;
        struct kr_part_bytes map;
        bool good;

        if (!kr_part_map(parts->folder, parts->items[i].name, &map, err))
            return false;
        if (len > map.len) /* its process still runs and took something back */
            len = map.len;
        good = put(out, map.data, len, sum, err);
        kr_part_unmap(&map);
        if (!good)
            return false;
    }
    return true;
}

static bool put_text(struct kr_bytes *b, const char *s, struct kr_err *err)
{
    return kr_bytes_text(b, s, strlen(s), err);
}

static bool make_head(const struct kr_record_own *own, struct kr_bytes *b, struct kr_err *err)
{
    const uint64_t numbers[] = { KREACH_VERSION_MAJOR, KREACH_VERSION_MINOR, (uint64_t)getpid(),
                                 (uint64_t)getppid(), 0 };

    for (size_t i = 0; i < KR_COUNT(numbers); i++) {
        if (!kr_bytes_varint(b, numbers[i], err))
            return false;
    }
    return put_text(b, own->run_id, err);
}

static bool make_info(const struct kr_record_own *own, uint64_t sections, struct kr_bytes *b,
                      struct kr_err *err)
{
    char number[24];

    for (const struct kr_record_fact *f = own->facts; f->key; f++) {
        if (!put_text(b, f->key, err) || !put_text(b, f->value, err))
            return false;
    }
    snprintf(number, sizeof number, "%llu", (unsigned long long)sections);
    return put_text(b, "sections", err) && put_text(b, number, err);
}

static bool make_end(struct kr_bytes *b, struct kr_err *err)
{
    return kr_bytes_varint(b, KREACH_END_EXIT, err) && put_text(b, "", err);
}

/* The recorder's own section. */
static bool make_own(const struct kr_record_own *own, uint64_t sections, struct kr_bytes *file,
                     struct kr_err *err)
{
    struct kr_bytes head = { 0 };
    struct kr_bytes info = { 0 };
    struct kr_bytes end = { 0 };
    bool good;

    good = kr_bytes_put(file, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES, err) &&
           make_head(own, &head, err) && kr_bytes_chunk(file, KREACH_HEAD, &head, err) &&
           make_info(own, sections, &info, err) && kr_bytes_chunk(file, KREACH_INFO, &info, err) &&
           (!own->calibration || kr_bytes_chunk(file, KREACH_CALIBRATION, own->calibration, err)) &&
           make_end(&end, err) && kr_bytes_chunk(file, KREACH_END, &end, err);
    kr_bytes_free(&head);
    kr_bytes_free(&info);
    kr_bytes_free(&end);
    return good;
}

bool kr_record_collect(const char *folder, const struct kr_record_own *own, FILE *out,
                       struct kr_record_sum *sum, struct kr_err *err)
{
    struct kr_parts parts;
    struct kr_bytes head = { 0 };
    bool good;

    *sum = (struct kr_record_sum){ 0 };
    good = kr_parts_list(folder, &parts, err) && sum_all(&parts, sum, err);
    if (good && out)
        good = make_own(own, sum->processes, &head, err) &&
               put(out, head.data, head.len, sum, err) && copy_all(&parts, out, sum, err);
    kr_bytes_free(&head);
    free(parts.items);
    return good;
}

/* True when the last chunk of the part is a clean end. */
static bool has_ended(const struct kr_part_bytes *map)
{
    size_t from = map->len < PROBE_BYTES ? 0 : map->len - PROBE_BYTES;
    struct kr_section section = { 0 };
    struct kr_chunks walk;
    struct kr_chunk chunk;

    kr_chunks_start(&walk, (const char *)map->data + from, map->len - from);
    while (kr_chunks_next(&walk, &chunk)) {
        section.ended = false;
        kr_section_note(&section, &chunk);
    }
    return section.ended;
}

/* True when the process that began then still runs: its start time tells it from a later one. */
static bool still_runs(const struct kr_part *part)
{
    char path[64];
    char text[1024];
    const char *field;
    unsigned long long started = 0;
    char state = 'Z';
    ssize_t len = -1;
    int fd;

    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)part->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[len > 0 ? len : 0] = '\0';
    field = strrchr(text, ')'); /* the name before it may hold anything */
    return field &&
           sscanf(
               field + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &started) == 2 &&
           state != 'Z' && started == part->started_ticks;
}

size_t kr_record_count_writers(const char *folder)
{
    struct kr_err ignored = { 0 };
    struct kr_parts parts;
    size_t n = 0;

    kr_parts_list(folder, &parts, &ignored);
    for (size_t i = 0; i < parts.n; i++) {
        struct kr_part_bytes map;

        if (!still_runs(&parts.items[i]) ||
            !kr_part_map(folder, parts.items[i].name, &map, &ignored))
            continue;
        n += !has_ended(&map);
        kr_part_unmap(&map);
    }
    free(parts.items);
    return n;
}

/* Looks for those that still write, and says when to look again: where there are thousands of
 * parts, the program's processes have better use for the CPU. */
static size_t look_for_writers(const char *folder, struct timespec *again)
{
    enum { PAUSE_NS = 100000000, PAUSES = 10 };
    struct timespec before;
    struct timespec after;
    int64_t pause_ns;
    size_t n;

    clock_gettime(CLOCK_MONOTONIC, &before);
    n = kr_record_count_writers(folder);
    clock_gettime(CLOCK_MONOTONIC, &after);
    pause_ns = PAUSES * ((int64_t)(after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
                         before.tv_nsec);
    if (pause_ns < PAUSE_NS)
        pause_ns = PAUSE_NS;
    *again = (struct timespec){ pause_ns / 1000000000, pause_ns % 1000000000 };
    return n;
}

size_t kr_record_wait_others(const char *folder, const struct kr_record_signals *signals, FILE *log)
{
    static const int meant_for_program[] = { SIGCHLD, SIGUSR1, SIGUSR2 };
    sigset_t stop = signals->taken;
    struct timespec again;
    size_t n = look_for_writers(folder, &again);

    for (size_t i = 0; i < KR_COUNT(meant_for_program); i++)
        sigdelset(&stop, meant_for_program[i]);
    if (n && log)
        fprintf(log, "kreach: %zu process%s still recording; Ctrl-C stops the wait\n", n,
                n == 1 ? " is" : "es are");
    while (n && sigtimedwait(&stop, NULL, &again) < 0)
        n = look_for_writers(folder, &again);
    return n;
}

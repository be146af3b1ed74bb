/* Reads one trace as the tool does and prints what that cost; run by scripts/bench/import. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "import.h"

static atomic_bool over;
static atomic_ulong peak_kib;

/* Memory that is not pages of the mapped file, looked at every few milliseconds. */
static void *watch_memory(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        FILE *status = fopen("/proc/self/status", "r");
        char line[256];
        unsigned long kib;

        while (status && fgets(line, sizeof line, status)) {
            if (sscanf(line, "RssAnon: %lu", &kib) == 1 && kib > atomic_load(&peak_kib))
                atomic_store(&peak_kib, kib);
        }
        if (status)
            fclose(status);
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
    return NULL;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct kr_import_options opt = { .threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0 };
    struct kr_err err = { 0 };
    struct kr_timeline *t;
    pthread_t watcher;
    uint64_t sum_ns = 0;
    double start_s = now_s();
    double s;

    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE [THREADS]\n", argv[0]);
        return 2;
    }
    pthread_create(&watcher, NULL, watch_memory, NULL);
    t = kr_import_file(argv[1], &opt, &err);
    s = now_s() - start_s;
    atomic_store(&over, true);
    pthread_join(watcher, NULL);
    if (!t) {
        fprintf(stderr, "%s\n", err.msg);
        return 3;
    }
    for (size_t i = 0; i < t->n_events; i++)
        sum_ns += t->events[i].dur_ns;
    printf("seconds %.4f text_bytes %llu events %zu sum_ns %llu peak_anon_kib %lu\n", s,
           (unsigned long long)t->source.text_bytes, t->n_events, (unsigned long long)sum_ns,
           atomic_load(&peak_kib));
    kr_timeline_free(t);
    return 0;
}

/*
 * Recording a program: runs it with libkreach.so inside, waits for it and for those it started, and
 * puts what they wrote into one .kreach file.
 *
 * The program's terminal, standard streams, process group, signals and exit status are its own
 * business: the recorder stays out of the way. One recording at a time in a process.
 */
#ifndef KR_RECORD_H
#define KR_RECORD_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "chunks.h"
#include "err.h"

/* Exit statuses of `record` itself, as in the shell and in env(1). */
enum {
    KR_RECORD_FAILED = 125,         /* recording could not be set up or saved */
    KR_RECORD_NOT_EXECUTABLE = 126, /* the program is there and cannot be run */
    KR_RECORD_NOT_FOUND = 127
};

enum { KR_RUN_ID_BYTES = 17 };

/* A run about to happen. Strings are borrowed. */
struct kr_record_plan {
    char *const *argv;            /* program and arguments; ends with NULL */
    const char *library;          /* absolute path of libkreach.so */
    const char *folder;           /* absolute path where the processes write their parts */
    const char *options;          /* for libkreach.so, as in KREACH_OPTIONS */
    char run_id[KR_RUN_ID_BYTES]; /* 16 hex digits: the same in all processes of the run */
    bool hide_output;             /* send the program's standard output to /dev/null */
};

/* Signals that are taken by waiting for them while something is recorded. */
struct kr_record_signals {
    sigset_t taken, before; /* `before`: the mask to go back to, and the program's */
    sigset_t own;           /* what our own writing may raise: held back, for its error tells */
};

/**
 * Takes SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 (those that were not ignored) until
 * kr_record_give_signals_back, so that a recording is always saved and nothing stays behind. Before
 * other threads are started. SIGPIPE and SIGXFSZ, too, no longer end us: the recording is saved
 * although nobody reads what we say, and a file that is too large is an error like others.
 */
void kr_record_take_signals(struct kr_record_signals *s);
void kr_record_give_signals_back(const struct kr_record_signals *s);

/* How a run ended. */
struct kr_record_end {
    int status;   /* the program's exit status, 128 + N when signal N killed it, or 126 or 127 */
    pid_t pid;    /* 0 = it could not be started */
    bool stopped; /* the user interrupted twice: the program was killed */
};

/**
 * Finds libkreach.so: KREACH_LIB, else beside the running program (../lib), as installed and as
 * built.
 * @param path  filled with an absolute path
 * @return false with KR_EENV when there is none, or when LD_PRELOAD cannot hold its path.
 */
bool kr_record_find_library(char *path, size_t room, struct kr_err *err);

/** Makes a private folder for the parts of a run: PREFIX.parts.XXXXXX; false with KR_EOUTPUT. */
bool kr_record_make_folder(const char *prefix, char *path, size_t room, struct kr_err *err);

/** Removes a folder of parts with all files in it; what is not there is fine. */
void kr_record_remove_folder(const char *path);

/** Fills a new run id. */
void kr_record_new_id(char *id);

/**
 * Runs the program and waits until it has ended.
 *
 * Meanwhile SIGINT and SIGQUIT are left to the program (the terminal sends them to it as well;
 * those sent to us alone are passed on), a second SIGINT kills it, the others are passed on.
 * @param signals  taken
 * @return false with err filled when it could not be started: end->status says how (126, 127, or
 *         125 when the fault is not the program's).
 */
bool kr_record_run(const struct kr_record_plan *plan, const struct kr_record_signals *signals,
                   struct kr_record_end *end, struct kr_err *err);

/**
 * Waits for processes that outlive the program and still write into the folder, until they end or
 * a signal comes that is not for the program alone.
 * @param log  told once that there is something to wait for; NULL = silently
 * @return how many still write.
 */
size_t kr_record_wait_others(const char *folder, const struct kr_record_signals *signals,
                             FILE *log);

/** How many of them there are, without a wait. */
size_t kr_record_count_writers(const char *folder);

/* What the processes of a run wrote, for the person who waits for it. */
struct kr_record_sum {
    uint64_t processes;  /* that wrote anything; what exec starts counts as another */
    uint64_t with_work;  /* of them, those with device work */
    uint64_t works;      /* kernels, copies, memsets and graphs */
    uint64_t launches;   /* launch calls, where they were asked for */
    uint64_t dropped;    /* records that the processes know they lost */
    uint64_t unwritten;  /* of them, those that the disk did not take */
    uint64_t blind;      /* processes that cannot know what was dropped */
    uint64_t bad_times;  /* records whose times were lost */
    uint64_t not_ended;  /* processes without a clean end */
    uint64_t missing;    /* records written by the processes' own count and not found */
    uint64_t damaged;    /* stretches of bytes that were no chunks */
    uint64_t missed;     /* stretches of windows in which CUPTI could not record */
    uint64_t held;       /* processes in which another CUPTI client held the records */
    uint64_t newer;      /* processes whose libkreach.so writes a format that is not ours yet */
    char other[128];     /* that client; "" = not known */
    char error[256];     /* why CUPTI could not record in a process; "" = it could */
    uint64_t file_bytes; /* of the whole file */
};

/* A fact for the recorder's own section. */
struct kr_record_fact {
    const char *key, *value;
};

/* What the recorder itself puts into the file. */
struct kr_record_own {
    const char *run_id;
    const struct kr_record_fact *facts; /* ends with a zeroed one */
    const struct kr_bytes *calibration; /* payload of a CALIBRATION chunk; NULL = none */
};

/**
 * Puts the parts in a folder into one file: the recorder's own section, then the sections of the
 * processes by their start. Torn tails are left out, which leaves their sections without a clean
 * end; other damage is copied, for the reader to count.
 * @param out  NULL = only sum up
 * @return false with KR_EINPUT or KR_EOUTPUT.
 */
bool kr_record_collect(const char *folder, const struct kr_record_own *own, FILE *out,
                       struct kr_record_sum *sum, struct kr_err *err);

#endif

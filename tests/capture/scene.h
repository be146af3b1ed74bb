/* Runs a test program under libkreach.so with the fake CUDA, and reads what it left. */
#ifndef SCENE_H
#define SCENE_H

#include "kreach_read.h"

#include <stdbool.h>

/* A run to make. Zeroed fields take the plain choice. */
struct scene {
    const char *fake;            /* settings of the fake libraries */
    const char *options;         /* KREACH_OPTIONS */
    const char *ops;             /* the victim's arguments, separated by spaces */
    const char *env;             /* "NAME=VALUE" pairs, separated by spaces; "NAME" alone unsets */
    bool rival;                  /* the program that is a CUPTI client itself */
    bool no_preload;             /* found by CUDA_INJECTION64_PATH alone */
    unsigned kill_after_us;      /* SIGKILL then, counted from the start; 0 = never */
    bool kill_counts_from_ready; /* of the operation "ready" */
    int signal;                  /* with kill_after_us: this signal instead */
    unsigned long file_limit_bytes; /* RLIMIT_FSIZE */
    unsigned long data_limit_bytes; /* RLIMIT_DATA */
    unsigned timeout_s;             /* default 200: then the run has hung */
};

#define SCENE_FILES_MAX 64

struct outcome {
    int status; /* as waitpid gives it */
    bool hung;
    unsigned n_files;
    struct read_file *files[SCENE_FILES_MAX]; /* ordered by name */
    char stderr_text[16384];
    char folder[256];
    double seconds;
    struct outcome *next; /* not freed either */
};

/** Runs the scene in a new folder; the result is freed by scene_free. Aborts when it cannot. */
struct outcome *scene_run(const struct scene *scene);

/** Frees the result and removes the folder. */
void scene_free(struct outcome *o);

/** True when the program returned this exit status. */
bool scene_exited(const struct outcome *o, int status);

/** The only file; fails the test, printing what happened, when there is not exactly one. */
struct read_file *scene_file(struct outcome *o);

#endif

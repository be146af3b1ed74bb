/* The command line of kreach-workload. */
#ifndef KR_DRIVER_H
#define KR_DRIVER_H

#include <stdio.h>

/** Runs the whole program; argv[0] is its name. Returns the exit status, never exits. */
int kr_driver_main(FILE *out, FILE *log, int argc, char *const *argv);

#endif

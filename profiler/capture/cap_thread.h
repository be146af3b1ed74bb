/* Threads of libkreach's own in the program. */
#ifndef CAP_THREAD_H
#define CAP_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/** Starts a detached thread that takes no signal; false when the process is at a limit. */
bool cap_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif

#include "cap_thread.h"

#include <signal.h>

/*
 * Thread-local memory of the program's libraries comes out of a stack, megabytes of it at times.
 * Only what is touched costs memory; where even address space is short, little has to do.
 */
#define STACK_BYTES       ((size_t)8 << 20)
#define SHORT_STACK_BYTES ((size_t)256 << 10)

bool cap_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;

    /* A signal of the program's must never run on our thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = pthread_create(thread, &attr, run, arg);
    if (failed) {
        pthread_attr_setstacksize(&attr, SHORT_STACK_BYTES);
        failed = pthread_create(thread, &attr, run, arg);
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

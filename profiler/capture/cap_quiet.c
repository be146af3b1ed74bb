#include "cap_quiet.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void cap_quiet_begin(struct cap_quiet *q)
{
    static const int raised[] = { SIGPIPE, SIGXFSZ };
    sigset_t pending;

    sigemptyset(&q->raised);
    sigemptyset(&pending);
    sigpending(&pending);
    for (int i = 0; i < 2; i++) {
        if (sigismember(&pending, raised[i]) == 0)
            sigaddset(&q->raised, raised[i]);
    }
    pthread_sigmask(SIG_BLOCK, &q->raised, &q->before);
}

void cap_quiet_end(const struct cap_quiet *q)
{
    static const struct timespec now = { 0, 0 };
    const int saved = errno;

    while (sigtimedwait(&q->raised, NULL, &now) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
    errno = saved;
}

/* Writing on the program's threads without the signals that a write may raise. */
#ifndef CAP_QUIET_H
#define CAP_QUIET_H

#include <signal.h>

/* Between begin and end; of one thread. */
struct cap_quiet {
    sigset_t before; /* the thread's mask */
    sigset_t raised; /* what is ours to swallow: SIGPIPE and SIGXFSZ, unless pending already */
};

/** From here on a closed pipe or a full file is an error number and no signal. */
void cap_quiet_begin(struct cap_quiet *q);

/** Swallows what was raised meanwhile and gives the thread its mask back. Keeps errno. */
void cap_quiet_end(const struct cap_quiet *q);

#endif

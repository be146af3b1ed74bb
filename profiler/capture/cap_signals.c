/*
 * A terminating signal that the program does not handle: the file is completed, then the process
 * dies of the signal as it would have.
 *
 * The handler only wakes a thread of ours. Flushing inside it could wait for a lock that the
 * interrupted thread holds. So the program goes on for a while; where it ends meanwhile, it dies of
 * the signal too.
 */
#include "cap_session.h"
#include "cap_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NEVER_NS 3600000000000ULL

/*
 * Supervisors signal a group and each process of it, and `kreach record` passes its own copy on:
 * what follows that closely (its own measure, too) is the same signal.
 */
#define TWIN_NS 100000000ULL

static const int handled[] = { SIGTERM, SIGINT, SIGHUP };

static struct cap_wake reaper_wake;
static _Atomic int caught;
static _Atomic uint64_t caught_ns; /* MONOTONIC, when that was; 0 = just now */
static _Atomic int reaper_pid;     /* the process whose reaper thread runs; 0 = none */

void cap_signals_die_of(int signo)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t set;

    sigaction(signo, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    raise(signo);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* first: the signal that was caught before. */
static bool is_twin(int signo, int first)
{
    const uint64_t first_ns = atomic_load(&caught_ns);

    return signo == first && (first_ns == 0 || cap_now_ns() - first_ns < TWIN_NS);
}

static void handle(int signo)
{
    const int saved = errno;
    int none = 0;

    /* A second signal, or one in a forked child, does not wait for anything. */
    if (atomic_load(&reaper_pid) != getpid()) {
        cap_signals_die_of(signo);
    } else if (atomic_compare_exchange_strong(&caught, &none, signo)) {
        atomic_store(&caught_ns, cap_now_ns());
        cap_wake_up(&reaper_wake);
    } else if (!is_twin(signo, none)) {
        cap_signals_die_of(signo);
    }
    errno = saved;
}

int cap_signals_caught(void)
{
    return atomic_load(&reaper_pid) == getpid() ? atomic_load(&caught) : 0;
}

static void *reap(void *unused)
{
    (void)unused;
    for (;;) {
        const uint32_t ticket = cap_wake_ticket(&reaper_wake);
        const int signo = atomic_load(&caught);
        if (signo != 0) {
            cap_session_finish(KREACH_END_SIGNAL, "");
            cap_signals_die_of(signo);
        }
        cap_wake_wait(&reaper_wake, ticket, NEVER_NS);
    }
    return NULL;
}

void cap_signals_open(struct cap_session *s)
{
    pthread_t reaper;
    struct sigaction now;
    struct sigaction ours = { .sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK };
    bool ready = atomic_load(&reaper_pid) == s->pid;

    /* The first process of a container does not die of them. */
    if (s->pid == 1)
        return;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < CAP_COUNT(handled); i++) {
        if (sigaction(handled[i], NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
            now.sa_handler != SIG_DFL)
            continue;
        if (!ready) {
            if (!cap_thread_start(&reaper, reap, NULL))
                return;
            atomic_store(&reaper_pid, s->pid);
            ready = true;
        }
        sigaction(handled[i], &ours, NULL);
    }
}

void cap_signals_forget(void)
{
    const struct sigaction standard = { .sa_handler = SIG_DFL };
    struct sigaction now;

    atomic_store(&reaper_pid, 0);
    atomic_store(&caught, 0);
    atomic_store(&caught_ns, 0);
    for (size_t i = 0; i < CAP_COUNT(handled); i++) {
        if (sigaction(handled[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == handle)
            sigaction(handled[i], &standard, NULL);
    }
}

/*
 * One recording of one process: from cuInit to the end of the process, its exec, or its window.
 *
 * Phases only move forward, by atomic exchange, so that any number of threads may try to end a
 * session and one does. The worker thread owns the recorder and makes all CUPTI calls after the
 * start, except opening a window. No lock of ours is ever held, least of all during a CUPTI call.
 */
#ifndef CAP_SESSION_H
#define CAP_SESSION_H

#include "cap_cupti.h"
#include "cap_opts.h"
#include "cap_pool.h"
#include "cap_recorder.h"
#include "cap_wake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum cap_phase {
    CAP_UNINIT,   /* CUDA has not called yet */
    CAP_STARTING, /* inside InitializeInjection */
    CAP_ON,
    CAP_DRAINING, /* someone is ending it */
    CAP_DONE,     /* ended; the file is complete */
    CAP_INERT,    /* nothing is recorded in this process; said why */
};

/* Who may touch the recorder. */
enum cap_owner {
    CAP_OWNER_WORKER,
    CAP_OWNER_IN_CUPTI, /* the worker, which is inside a CUPTI call: the ending may be taken over */
    CAP_OWNER_STOLEN,   /* the worker never came back; whoever ends the process has it */
};

enum cap_window_state { CAP_SHUT, CAP_MOVING, CAP_OPEN };

struct cap_session {
    _Atomic uint32_t phase; /* enum cap_phase */
    pid_t pid;
    uint32_t sections;    /* earlier sections of this program, when an exec failed */
    uint32_t file_number; /* of their file */
    struct cap_opts opts;
    struct cap_cupti cupti;
    _Atomic(cupti_subscriber_handle) subscriber; /* NULL = we hold none */
    struct cap_pool pool;
    _Atomic uint64_t requests_before; /* pool.requests when this section began */
    struct cap_pool discard;          /* for requests over the limit; see cap_callbacks.c */
    _Atomic uint64_t discarded;       /* records thrown away there, not yet in the file */
    struct cap_recorder recorder;

    pthread_t worker;
    struct cap_wake wake; /* of the worker */
    struct cap_wake done; /* of those who wait for the end */
    _Atomic uint32_t owner;
    uint32_t end; /* enum kreach_end; the worker sets a window's, others stand before end_asked */
    char end_detail[64];
    _Atomic uint32_t end_asked;
    _Atomic uint32_t hurried;     /* 1 = the process ends, and someone waits for an end under way */
    _Atomic(void *) exit_context; /* CUDA context of the thread that ends the process */

    _Atomic uint32_t window; /* enum cap_window_state */
    _Atomic uint32_t window_wanted;
    _Atomic uint32_t window_done;      /* it is over for good, and only ranges are recorded */
    _Atomic uint32_t lingering;        /* 1 = the worker will look whether to shut it */
    _Atomic int window_refused;        /* CUPTI's last reason not to open it */
    struct cap_wake moved;             /* of those who wait while another thread moves it */
    _Atomic uint64_t unwanted_ns;      /* MONOTONIC, since when it is not; set before it is not */
    _Atomic uint64_t window_opened_ns; /* CUPTI's clock; 0 = the worker has seen it */
    _Atomic uint64_t missed_from_ns;   /* CUPTI's clock: wanted and not open; 0 = not so */
    _Atomic uint64_t missed_to_ns;     /* when it was not wanted any more; old ones count not */
    uint64_t window_shut_ns;           /* CUPTI's clock; worker only */
    uint64_t exec_ns;             /* CUPTI's clock when a section ended for an exec; 0 = none */
    uint64_t ready_ns;            /* MONOTONIC, when CUDA came up; of the first section */
    uint64_t opened_mono_ns;      /* MONOTONIC, when recording began; 0 = not yet; worker */
    int64_t offset_ns;            /* CUPTI's clock - REALTIME at the last reading; worker */
    _Atomic uint32_t kinds_early; /* 1 = they went on before any work, and not off since */
    _Atomic uint32_t one_device;  /* 1 = the process may use one, which copies to no other */
    uint64_t count_devices_ns;    /* MONOTONIC, when to ask again; 0 = at once; worker only */
    uint64_t count_pause_ns;      /* until the time after that; worker only, like the next */
    bool delay_over;
    bool device_warned; /* said that CUPTI's device buffers are nearly full */
    bool drops_unknown; /* CUPTI's counter failed once; said so */

    _Atomic uint32_t foreign_on; /* 1 = another client registered its callbacks, not finished */
    _Atomic(cupti_complete_fn *) foreign_complete; /* of a client that took the buffers */
    _Atomic uint64_t taken_over_ns;                /* CUPTI's clock when it did; 0 = it has not */
    _Atomic uint32_t rearm;                        /* 1 = it has finished */
    _Atomic uint32_t rearming; /* 1 = the worker takes the buffers back, or looks whether to */
    uint64_t rearmed_from_ns, rearmed_ns; /* a takeover to be noted; worker only */
};

extern struct cap_session cap_session;

/** Called from cuInit: reads the options and begins to record, unless that has happened. */
void cap_session_start(void);

/**
 * At the end of a process in which CUDA loads another tool, so that cap_session_start() is never
 * called: says that its work is not recorded, if it used CUDA.
 */
void cap_session_missed(void);

/**
 * Ends the recording of this process and waits until the file is complete, at most the deadline.
 * Any thread, any number of times; does nothing where nothing is recorded, and in a child that
 * shares or inherited our memory.
 */
void cap_session_finish(enum kreach_end end, const char *detail);

/** After an exec that failed: begins the next section of the same file. */
void cap_session_resume(void);

/** True while this very process is being recorded. */
bool cap_session_active(void);

/** The worker thread; its argument is the session. */
void *cap_worker_main(void *session);

/** Gives the only subscription up, if we hold it; true when we did. Any thread. */
bool cap_session_unsubscribe(struct cap_session *s);

/** In a forked child: forgets the parent's session without touching CUPTI or the file. */
void cap_session_forget(void);

/* Callbacks given to CUPTI. */
void cap_request(uint8_t **buffer, size_t *bytes, size_t *max_records);
void cap_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                  size_t valid_bytes);
bool cap_callbacks_open(struct cap_session *s);

/** Switches the kinds of records on; an enum cupti_result. Not under any lock. */
int cap_kinds_enable(struct cap_session *s);
/** Switches them off. What follows is not plain time: launches stay slower, see cap_detach.h. */
void cap_kinds_disable(struct cap_session *s);

/**
 * Leaves the records of copies between devices out once the driver says that there is one device.
 * Worker only. Calls CUPTI.
 * @return how long until it has to be called again [ns]
 */
uint64_t cap_kinds_fit_devices(struct cap_session *s, uint64_t now_ns);

/** Another client switched a kind off: on again, if it is recorded now. Any thread. */
void cap_kinds_keep(struct cap_session *s, uint32_t kind);

/** CUPTI's clock now, 0 if it does not tell. */
uint64_t cap_cupti_now(const struct cap_session *s);

/**
 * Asks to record (or not) from now on. Any thread.
 *
 * Opening takes effect before it returns: it waits for a shutting that has begun, a second
 * at most, and what cannot be had becomes a gap KREACH_GAP_MISSED. A window that is not
 * wanted any more stays open for linger_ns, so that one that is wanted again before that costs the
 * program neither a call of CUPTI's nor a wait. Kernels that were launched before it shuts are
 * recorded even when they run later.
 */
void cap_window_want(struct cap_session *s, bool open);

/** Handlers for SIGTERM, SIGINT and SIGHUP where the disposition is the default one. */
void cap_signals_open(struct cap_session *s);
void cap_signals_forget(void);

/** The signal that this process is going to die of; 0 = none. Any thread. */
int cap_signals_caught(void);

/** As if the signal had never been handled. Returns only where it does not end the process. */
void cap_signals_die_of(int signo);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * personality.h - properties of threads that the layer above the core defines: one constant table,
 * which is part of each library when it is linked. So it holds for every caller, also before any
 * constructor of the library has run.
 *
 * src/native/native_personality.c defines it for the native API, weakly; a library with the POSIX
 * layer has that layer's table instead (src/posix/linux/posix_personality.c,
 * src/posix/bare/posix_personality_bare.c).
 *
 * A NULL entry: there is nothing to do, or the core's default counts. An entry is called in the
 * thread that it concerns, outside the runtime, unless its comment says otherwise.
 */
#ifndef PIRN_CORE_PERSONALITY_H
#define PIRN_CORE_PERSONALITY_H

#include "compiler.h"

struct thread;

struct rt_personality {
    /* The meaning of options whose value is "auto". */
    bool own_tls;               /* threads have thread-local storage of their own: option tls */
    bool preempt;               /* option preempt */
    bool classes;               /* a discipline with scheduling classes: option discipline */
    bool early;                 /* kernel threads call while the runtime starts: see init.c */
    bool take_calls;            /* threads in unannounced calls lose their CPU */
    size_t (*stack_size)(void); /* of the option stack where it is not given */

    const char *(*main_name)(void); /* of the main thread */

    /* A runtime is about to be started by the caller, with nothing done yet; it has been started.
     */
    void (*begin)(void);
    void (*started)(void);

    void (*local_end)(struct thread *self);  /* a thread with thread->local ends: it may block */
    void (*local_drop)(struct thread *self); /* it was needed again after its end */
    void (*tools_end)(struct thread *self);  /* with rt_tooled: after everything else of a thread */
    void (*tools_exit)(void);                /* with rt_tooled: the process ends (exit) */
    void (*cancel_act)(void);                /* the caller, whose request to end is due, ends */
    void (*signals_act)(void);               /* with rt_signals: it takes what there is for it */
    void (*signals_end)(struct thread *self); /* with rt_signals: it takes none any more */
    void (*forked)(void); /* in the child, after the core, before handlers of the program's */
};

HIDDEN extern const struct rt_personality rt_personality;

#endif

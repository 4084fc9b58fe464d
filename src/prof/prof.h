/* SPDX-License-Identifier: MIT */
/*
 * prof.h - the profiler: call trees of instrumented functions (-finstrument-functions), and samples
 * of the code that CPUs run. This is the interface for the core, the options and the port. The
 * file: docs/internals/profile-format.md.
 *
 * A profile begins before the runtime, with the program, on a platform that supports it; elsewhere
 * it begins with the runtime. All its memory is allocated then; records that do not fit are counted
 * as lost.
 */
#ifndef PIRN_PROF_PROF_H
#define PIRN_PROF_PROF_H

#include "compiler.h"
#include "config.h"

struct cpu;
struct thread;

#ifndef PIRN_WITHOUT_PROF

/* State of each thread, and of each kernel thread outside the runtime. Only that thread and signal
 * handlers on it write it. Zero: the profiler has not seen the thread. */
struct prof_thread {
    uint32_t life;       /* the life and profile that the other fields belong to: tree.c */
    uint32_t entry_life; /* the same for entry */
    uint32_t entry;
    uint32_t node; /* the innermost active call */
    uint32_t root;
    uint32_t skipped;     /* active calls below it that have no node */
    uintptr_t skipped_sp; /* of the first of them */
    bool shared;          /* the tree is not this thread's alone */
};

HIDDEN extern bool prof_on;

/* Read without ordering: a call that comes a moment too early is not counted. */
ALWAYS_INLINE bool prof_is_on(void)
{
#ifdef PIRN_TSAN
    return __atomic_load_n(&prof_on, __ATOMIC_RELAXED);
#else
    return prof_on;
#endif
}

/* Begin the profile that the options ask for, unless it has begun. If that is impossible, the
 * program ends with a message and status 2. */
void prof_start(void);

/* The program ends: write the file. A second call does nothing. */
void prof_end(void);

/* In the child of a fork the profile so far belongs to the parent. Also called at the end of a
 * simulator run. */
void prof_forked(void);
void prof_forget(void);

/* t takes over the calls of the kernel thread that calls, which had no descriptor until now. */
void prof_adopt(struct thread *t);

/* The living thread t has a new name. */
void prof_rename(const struct thread *t);

/* The calling thread enters, or leaves, the function `fn`, called from `site`; sp: its stack
 * pointer there. Any context. */
void prof_enter(uintptr_t fn, uintptr_t site, uintptr_t sp);
void prof_exit(uintptr_t fn, uintptr_t site);

/* For the port, in a handler: the interrupted kernel thread or CPU was at pc; count that `weight`
 * times. context: for port_prof_frames. */
void prof_sample(uintptr_t pc, uint32_t weight, const void *context);

/* For ports that can call it when the program begins: read the profile's options, and begin. */
void prof_program_begins(void);

/* For pirn_prof and pirn_prof_write. 0; -ENOENT: the option names no file; -errno of the file. */
int prof_set_on(bool on);
int prof_write(const char *path);

/* The options prof, profrate, profclock and so on. */
struct prof_options {
    char path[RT_PATH_MAX]; /* "": no profile is asked for */
    uint32_t rate, nodes, threads, wait_ns;
    bool wall, frames, waits;
};
HIDDEN extern struct prof_options prof_options;

#else

struct prof_thread {
};

ALWAYS_INLINE void prof_start(void) {}
ALWAYS_INLINE void prof_end(void) {}
ALWAYS_INLINE void prof_forked(void) {}
ALWAYS_INLINE void prof_program_begins(void) {}
ALWAYS_INLINE void prof_adopt(struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE void prof_rename(const struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE void prof_sample(uintptr_t pc, uint32_t weight, const void *context)
{
    (void)pc;
    (void)weight;
    (void)context;
}
ALWAYS_INLINE int prof_set_on(bool on)
{
    (void)on;
    return -2; /* -ENOENT */
}
ALWAYS_INLINE int prof_write(const char *path)
{
    (void)path;
    return -2;
}

#endif

#ifndef PIRN_WITHOUT_WAITS

/* For core/observe.c, inside the runtime, and while waits are recorded. cpu leaves prev and goes to
 * cpu->current; t, which waited, is made ready by the caller; t begins a call that may block, or is
 * back from one, with a CPU or, NULL, without; t begins to wait without a CPU, or is back. */
void prof_waits_switch(const struct cpu *cpu, struct thread *prev, unsigned post);
void prof_waits_wake(const struct cpu *cpu, struct thread *t, unsigned why);
void prof_waits_call(struct thread *t);
void prof_waits_called(const struct cpu *cpu, struct thread *t);
void prof_waits_park(struct thread *t, bool in);

/* t, which has begun a call, as far as is known, computes. */
void prof_waits_left(struct thread *t);

/* The port, in a handler on the kernel thread of a user thread that is found blocked in the kernel,
 * before it says so: context as in prof_sample. */
void prof_waits_blocked(const void *context);

#else

ALWAYS_INLINE void prof_waits_switch(const struct cpu *cpu, struct thread *prev, unsigned post)
{
    (void)cpu;
    (void)prev;
    (void)post;
}
ALWAYS_INLINE void prof_waits_wake(const struct cpu *cpu, struct thread *t, unsigned why)
{
    (void)cpu;
    (void)t;
    (void)why;
}
ALWAYS_INLINE void prof_waits_call(struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE void prof_waits_called(const struct cpu *cpu, struct thread *t)
{
    (void)cpu;
    (void)t;
}
ALWAYS_INLINE void prof_waits_park(struct thread *t, bool in)
{
    (void)t;
    (void)in;
}
ALWAYS_INLINE void prof_waits_left(struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE void prof_waits_blocked(const void *context)
{
    (void)context;
}

#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * prof.h - the profiler: call trees of instrumented functions (-finstrument-functions) and samples
 * of where CPUs are. What the core, the options and the port see of it. The file:
 * docs/internals/profile-format.md.
 *
 * A profile begins before the runtime, where the place can begin it with the program, or with the
 * runtime. All its memory is there from then on; what does not fit is counted as lost.
 */
#ifndef PIRN_PROF_PROF_H
#define PIRN_PROF_PROF_H

#include "compiler.h"
#include "config.h"

struct cpu;
struct thread;

#ifndef PIRN_WITHOUT_PROF

/* What each thread, and each kernel thread outside the runtime, keeps of its own: written by it
 * alone, and by signal handlers on it. Zero: it has not been seen. */
struct prof_thread {
    uint32_t life;       /* which life of which profile the rest belongs to: tree.c */
    uint32_t entry_life; /* the same, of entry */
    uint32_t entry;
    uint32_t node; /* the innermost active call */
    uint32_t root;
    uint32_t skipped;     /* active calls below it that have no node */
    uintptr_t skipped_sp; /* of the first of them */
    bool shared;          /* the tree is not this thread's alone */
};

HIDDEN extern bool prof_on;

/* Read without order: a call that is a moment too early is not counted. */
ALWAYS_INLINE bool prof_is_on(void)
{
#ifdef PIRN_TSAN
    return __atomic_load_n(&prof_on, __ATOMIC_RELAXED);
#else
    return prof_on;
#endif
}

/* Begin what the options ask for, unless it has begun; for options that cannot be met a message,
 * and the program ends with status 2. */
void prof_start(void);

/* The program ends: write the file. Again does nothing new. */
void prof_end(void);

/* The process is a child of fork; the profile so far is its parent's. Or: a run of the simulator is
 * over. */
void prof_forked(void);
void prof_forget(void);

/* t goes on where the kernel thread that calls was before it had a descriptor. */
void prof_adopt(struct thread *t);

/* t, alive, has another name. */
void prof_rename(const struct thread *t);

/* The calling thread enters, or leaves, the function `fn`, called from `site`; sp: of the stack
 * there. Any context. */
void prof_enter(uintptr_t fn, uintptr_t site, uintptr_t sp);
void prof_exit(uintptr_t fn, uintptr_t site);

/* The port, in a handler: the kernel thread, or CPU, that it interrupts was found at pc, which
 * counts `weight` times. context: for port_prof_frames. */
void prof_sample(uintptr_t pc, uint32_t weight, const void *context);

/* The port, where it can, when the program begins: read the profile's options, and begin. */
void prof_program_begins(void);

/* For pirn_prof and pirn_prof_write. 0, -ENOENT: the option asks for none; -errno of the file. */
int prof_set_on(bool on);
int prof_write(const char *path);

/* The options prof, profrate, profclock and so on. */
struct prof_options {
    char path[RT_PATH_MAX]; /* "": no profile is asked for */
    uint32_t rate, nodes, threads;
    bool wall, frames;
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

#endif

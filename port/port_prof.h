/* SPDX-License-Identifier: MIT */
/*
 * port_prof.h - the profiler (prof/prof.h).
 *
 * PORT_PROF (port_env.h): true where kernel threads, or cores, can be sampled. PORT_PROF_FRAMES:
 * true where samples have their callers if no option says otherwise.
 */
#ifndef PIRN_PORT_PROF_H
#define PIRN_PORT_PROF_H

#include "port.h"

#include <errno.h>

/* Executable code: bytes of files, in memory. */
struct port_code {
    uintptr_t start, end;
    uint64_t offset;
    const char *path;
};
struct prof_thread;

#if PORT_PROF
/* Take samples from now on, of each carrier, and of the caller: `hz` a second of its CPU time, or
 * of wall time. 0, -ENOTSUP and *why, -errno. */
int port_prof_start(uint32_t hz, bool wall, const char **why);

/* The profiler's state of the calling kernel thread while it runs no user thread. Is it the
 * program's main one? The stack of the main one, if it is known. */
struct prof_thread *port_prof_outside(void);
bool port_prof_main(void);
bool port_prof_stack(uintptr_t *low, uintptr_t *high);

/* The return addresses of the active functions at the sample, the innermost first, by call frame
 * information or the chain of frame pointers, as far as it goes on the stack from low to high.
 * Returns their number. */
unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max);

/* The same of a thread that does not run, whose context is saved; and of the caller itself, outside
 * of handlers. *pc: where the innermost function is; 0: not known. On boards neither is called. */
unsigned port_prof_stopped(const struct port_ctx *ctx, uintptr_t low, uintptr_t high, uintptr_t *pc,
                           uintptr_t *frames, unsigned max);
unsigned port_prof_here(uintptr_t low, uintptr_t high, uintptr_t *pc, uintptr_t *frames,
                        unsigned max);

/* Call fn for each executable piece of memory. */
void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg);
#else
ALWAYS_INLINE int port_prof_start(uint32_t hz, bool wall, const char **why)
{
    (void)hz;
    (void)wall;
    *why = "this port takes no samples";
    return -ENOTSUP;
}

ALWAYS_INLINE struct prof_thread *port_prof_outside(void)
{
    return NULL;
}

ALWAYS_INLINE bool port_prof_main(void)
{
    return false;
}

ALWAYS_INLINE bool port_prof_stack(uintptr_t *low, uintptr_t *high)
{
    (void)low;
    (void)high;
    return false;
}

ALWAYS_INLINE unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high,
                                        uintptr_t *frames, unsigned max)
{
    (void)context;
    (void)low;
    (void)high;
    (void)frames;
    (void)max;
    return 0;
}

ALWAYS_INLINE unsigned port_prof_stopped(const struct port_ctx *ctx, uintptr_t low, uintptr_t high,
                                         uintptr_t *pc, uintptr_t *frames, unsigned max)
{
    (void)ctx;
    (void)low;
    (void)high;
    (void)pc;
    (void)frames;
    (void)max;
    return 0;
}

ALWAYS_INLINE unsigned port_prof_here(uintptr_t low, uintptr_t high, uintptr_t *pc,
                                      uintptr_t *frames, unsigned max)
{
    (void)low;
    (void)high;
    (void)pc;
    (void)frames;
    (void)max;
    return 0;
}

ALWAYS_INLINE void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg)
{
    (void)fn;
    (void)arg;
}
#endif

#endif

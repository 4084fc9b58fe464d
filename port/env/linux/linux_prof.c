/* SPDX-License-Identifier: MIT */
/*
 * linux_prof.c (Linux) - samples for the profiler, and the profiler's queries about the process.
 *
 * Each carrier, and the program's main kernel thread from the beginning, has a timer that sends it
 * a signal: on its CPU time, so that a sleeping thread is not woken, or on wall-clock time. The
 * kernel checks CPU time at its own tick (CONFIG_HZ, often 250 a second). At higher rates a signal
 * stands for several samples, and says for how many.
 *
 * If several signals come at once, the kernel stacks their frames, small numbers first. So ours has
 * one of the smallest numbers and blocks the others: it sees the interrupted code, not the first
 * instruction of the handler of a preemption tick, which comes with the same tick of the kernel.
 *
 * The handler switches no thread and takes no locks; it may interrupt any code of the carrier, also
 * inside the runtime. It runs on the worker's own signal stack, so threads need no room for it.
 */
#include "linux.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../src/prof/prof.h"
#include "../frames.h"
#include "linux_cfi.h"
#include "port_files.h"
#include "port_options.h"
#include "port_posix.h"
#include "port_prof.h"

static struct {
    int signal; /* 0: there are no samples */
    uint64_t interval_ns;
    bool wall;
} prof;

static __thread struct prof_thread outside __attribute__((tls_model("initial-exec")));
/* Of the program's main kernel thread, before it is a carrier: the timer's id + 1; 0: none. */
static __thread int timer __attribute__((tls_model("initial-exec")));

struct prof_thread *port_prof_outside(void)
{
    return &outside;
}

bool port_prof_main(void)
{
    return syscall(SYS_gettid) == syscall(SYS_getpid);
}

/* Where the kernel has put it, as the dynamic linker noted. */
extern void *__libc_stack_end __attribute__((weak));
#define MAIN_STACK_MOST (UINT64_C(64) << 20)

bool port_prof_stack(uintptr_t *low, uintptr_t *high)
{
    struct rlimit limit;
    if (&__libc_stack_end == NULL || getrlimit(RLIMIT_STACK, &limit) != 0) {
        return false;
    }
    *high = (uintptr_t)__libc_stack_end;
    *low = *high - (limit.rlim_cur < MAIN_STACK_MOST ? limit.rlim_cur : MAIN_STACK_MOST);
    return true;
}

#ifdef CFI_TABLES

unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max)
{
    struct cfi_registers regs;
    PORT_ARCH_CFI_OF_SIGNAL(&regs, (const ucontext_t *)context);
    return cfi_frames(&regs, low, high, frames, max);
}

unsigned port_prof_stopped(const struct port_ctx *ctx, uintptr_t low, uintptr_t high, uintptr_t *pc,
                           uintptr_t *frames, unsigned max)
{
    struct port_arch_frame at = port_arch_frame_of(ctx);
    struct cfi_registers regs = {.known = PORT_ARCH_CFI_SAVED};
    regs.value[PORT_ARCH_CFI_FP] = (uintptr_t)at.bp;
    regs.value[PORT_ARCH_CFI_SP] = (uintptr_t)at.sp;
    regs.value[PORT_ARCH_CFI_PC] = *pc = (uintptr_t)at.pc;
    return cfi_frames(&regs, low, high, frames, max);
}

unsigned port_prof_here(uintptr_t low, uintptr_t high, uintptr_t *pc, uintptr_t *frames,
                        unsigned max)
{
    struct cfi_registers regs = {.known = 0};
    PORT_ARCH_CFI_HERE(&regs);
    *pc = regs.value[PORT_ARCH_CFI_PC];
    return cfi_frames(&regs, low, high, frames, max);
}

#else

unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max)
{
    const ucontext_t *uc = context;
    return frames_follow(&(struct frame_registers){.sp = PORT_ARCH_SIGNAL_SP(uc),
                                                   .fp = PORT_ARCH_SIGNAL_FP(uc),
                                                   .link = PORT_ARCH_SIGNAL_LINK(uc)},
                         low, high, frames, max);
}

/* A wait is known by its thread and its object. */
unsigned port_prof_stopped(const struct port_ctx *ctx, uintptr_t low, uintptr_t high, uintptr_t *pc,
                           uintptr_t *frames, unsigned max)
{
    (void)ctx;
    (void)max;
    (void)frames;
    (void)low;
    (void)high;
    *pc = 0;
    return 0;
}

unsigned port_prof_here(uintptr_t low, uintptr_t high, uintptr_t *pc, uintptr_t *frames,
                        unsigned max)
{
    return port_prof_stopped(NULL, low, high, pc, frames, max);
}

#endif

void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg)
{
    size_t size;
    char *text = port_file_read("/proc/self/maps", 64u << 20, &size), *rest = text;
    for (char *l; rest != NULL && (l = strsep(&rest, "\n")) != NULL;) {
        unsigned long long start, end, offset;
        char access[8];
        int path = 0;
        if (sscanf(l, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, access, &offset, &path) == 4 &&
            path != 0 && strchr(access, 'x') != NULL) {
            struct port_code code = {(uintptr_t)start, (uintptr_t)end, offset, l + path};
            fn(arg, &code);
        }
    }
    if (text != NULL) {
        port_table_free(text, size);
    }
}

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)

int port_prof_start(uint32_t hz, bool wall, const char **why)
{
    (void)hz;
    (void)wall;
    *why = "this library is built with a sanitizer, which delivers signals late: no samples";
    return -ENOTSUP;
}

void prof_begin(struct port_carrier *port)
{
    (void)port;
}

void prof_pause(const struct port_carrier *port, bool pauses)
{
    (void)port;
    (void)pauses;
}

#else

static void on_sample(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (port_cpu_self() == NULL) {
        port_disturbed = true;
    }
    prof_sample(PORT_ARCH_SIGNAL_PC((const ucontext_t *)context), 1 + (uint32_t)info->si_overrun,
                context);
}

/* Of the calling kernel thread. 0: it has none. */
static int timer_make(void)
{
    RT_ASSERT(prof.signal != 0 && prof.interval_ns != 0);
    int id = own_timer(prof.wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, prof.signal);
    if (id < 0) {
        static const char text[] = "pirn: no timer for a kernel thread: it is not sampled\n";
        port_write(text, sizeof(text) - 1);
        return 0;
    }
    own_timer_set(id, prof.interval_ns, prof.interval_ns);
    return id + 1;
}

void prof_begin(struct port_carrier *port)
{
    RT_ASSERT(carrier_is_own(port)); /* a timer is the calling kernel thread's */
    if (prof.signal != 0) {
        port->prof_timer = timer != 0 ? timer : timer_make();
    }
}

void prof_pause(const struct port_carrier *port, bool pauses)
{
    if (port->prof_timer != 0) {
        uint64_t ns = pauses ? 0 : prof.interval_ns;
        own_timer_set(port->prof_timer - 1, ns, ns);
    }
}

int port_prof_start(uint32_t hz, bool wall, const char **why)
{
    struct sigaction act = {.sa_sigaction = on_sample,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    RT_ASSERT(hz != 0 && hz <= 1000000000u);
    own_signal_alone(&act);
    prof.wall = wall;
    prof.interval_ns = 1000000000u / hz;
    int error = own_signal(&prof.signal, true, &act, why);
    if (error != 0) {
        return error;
    }
    timer = timer_make();
    return 0;
}

#endif

void prof_unmask(uint64_t *set)
{
    own_signal_unmask(prof.signal, set);
}

/* Timers are not inherited. */
void prof_in_child(void)
{
    timer = 0;
    prof_forked();
}

/* With the program, before its own constructors. */
static __attribute__((constructor)) void program_begins(void)
{
    if (port_option("prof") == NULL) {
        return;
    }
    prof_program_begins();
    if (port_fork_watch() != 0 || atexit(prof_end) != 0) {
        static const char text[] = "pirn: no memory for an exit handler\n";
        port_write(text, sizeof(text) - 1);
        port_exit_now(1);
    }
}

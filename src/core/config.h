/* SPDX-License-Identifier: MIT */
/*
 * config.h - every compile-time size of the core, with its reason.
 */
#ifndef PIRN_CORE_CONFIG_H
#define PIRN_CORE_CONFIG_H

#define RT_TEXT(number) RT_TEXT_OF(number)
#define RT_TEXT_OF(text) #text

#define RT_VERSION "0.1.0"

/* Upper bound of CPUs: sizes the idle bitmap and the CPU table. The simulator uses hundreds. */
#ifndef RT_MAX_CPUS
#define RT_MAX_CPUS 256
#endif

/* Is there one CPU, on which only interrupts come between? Then no lock is ever waited for, as its
 * holder has disabled them (spinlock.h); fences order nothing but the compiler's accesses
 * (atomic.h); and nobody searches for work, or is to be found asleep by others (wake.h). Libraries
 * with assertions lock all the same, and check it. */
#if defined(PIRN_BARE) && RT_MAX_CPUS == 1 && !defined(PIRN_DEBUG)
#define RT_ALONE 1
#else
#define RT_ALONE 0
#endif

/* Fields written by different CPUs stay this far apart. */
#if defined(PIRN_BARE) && RT_MAX_CPUS == 1
#define RT_CACHELINE 16
#else
#define RT_CACHELINE 64
#endif

/* Features of the build, as constants: the compiler leaves out the code of those that are off.
 * src/features.cmake */
#ifdef PIRN_WITHOUT_SETTINGS
#define RT_SETTINGS false
#define RT_DETOUR false
#else
#define RT_SETTINGS true
#define RT_DETOUR true
#endif
#ifdef PIRN_WITHOUT_CLASSES
#define RT_CLASSES false
#else
#define RT_CLASSES true
#endif
#ifdef PIRN_WITHOUT_WEIGHTS
#define RT_WEIGHTS false
#else
#define RT_WEIGHTS true
#endif
#ifdef PIRN_WITHOUT_AFFINITY
#define RT_AFFINITY false
#else
#define RT_AFFINITY true
#endif
#ifdef PIRN_WITHOUT_DEMANDS
#define RT_DEMANDS false
#else
#define RT_DEMANDS true
#endif
#ifdef PIRN_WITHOUT_OWNED
#define RT_OWNED false
#else
#define RT_OWNED true
#endif
#ifdef PIRN_WITHOUT_TIMED
#define RT_TIMED false
#else
#define RT_TIMED true
#endif
#ifdef PIRN_WITHOUT_CANCEL
#define RT_CANCEL false
#else
#define RT_CANCEL true
#endif
#ifdef PIRN_WITHOUT_STACKS
#define RT_STACKS false
#else
#define RT_STACKS true
#endif
#ifdef PIRN_WITHOUT_MARKS
#define RT_MARKS false
#else
#define RT_MARKS true
#endif
#ifdef PIRN_WITHOUT_WATCHDOG
#define RT_WATCHDOG false
#else
#define RT_WATCHDOG true
#endif
#ifdef PIRN_WITHOUT_REPORT
#define RT_REPORT false
#else
#define RT_REPORT true
#endif
#ifdef PIRN_WITHOUT_INPUT
#define RT_INPUT false
#else
#define RT_INPUT true
#endif
/* Is it always the program's main thread that starts the runtime? And does a start that fails end
 * the program, so that nothing need be given back? */
#ifdef PIRN_BARE
#define RT_MAIN_STARTS true
#else
#define RT_MAIN_STARTS false
#endif
/* Are there pollers: <pirn/poll.h>; labels of waits: <pirn/label.h>? */
#ifdef PIRN_BARE
#define RT_POLLERS false
#define RT_LABELS false
#else
#define RT_POLLERS true
#define RT_LABELS true
#endif
#ifdef PIRN_WITHOUT_PROF
#define RT_PROF false
#else
#define RT_PROF true
#endif
/* Are waits profiled: by hooks of the event trace, in counts of 64 bits. */
#if defined(PIRN_WITHOUT_PROF) || defined(PIRN_WITHOUT_TRACE) || defined(PIRN_BARE)
#define PIRN_WITHOUT_WAITS
#define RT_WAITS false
#else
#define RT_WAITS true
#endif
/* Is there something to do when the program ends? */
#if defined(PIRN_WITHOUT_TRACE) && defined(PIRN_WITHOUT_STATS) && defined(PIRN_WITHOUT_LOADS)
#define RT_AT_EXIT false
#else
#define RT_AT_EXIT true
#endif
/* Is code for size, not for speed? */
#ifdef PIRN_WITHOUT_SPEED
#define RT_SPEED false
#else
#define RT_SPEED true
#endif
#ifdef PIRN_WITHOUT_PREEMPT
#define RT_PREEMPT false
#else
#define RT_PREEMPT true
#endif

/* The policy that is used if the user names none; and its table. */
#ifndef RT_SCHED_DEFAULT
#define RT_SCHED_DEFAULT "steal"
#define RT_SCHED_FIRST sched_steal
#endif

/* Threads at once, and for how many of them the table of ids grows at a time: powers of two. */
#ifdef PIRN_BARE
#ifndef RT_ID_INDEX_BITS
#define RT_ID_INDEX_BITS 16u
#endif
#define RT_ID_CHUNK_BITS (RT_ID_INDEX_BITS < 6u ? RT_ID_INDEX_BITS : 6u)
#else
#define RT_ID_INDEX_BITS 25u
#define RT_ID_CHUNK_BITS 12u
#endif

/* Bytes in a thread descriptor that belong to the policy. Without settings there are no policies
 * from outside; `single` has nothing there. */
#if defined(PIRN_WITHOUT_SETTINGS) && defined(PIRN_ONLY_SINGLE)
#define RT_POLICY_ROOM 8
#else
#define RT_POLICY_ROOM 32
#endif

/* Bytes of a thread's name with its terminator, as in pthread_setname_np. */
#define RT_NAME_MAX 16

/* Default stack of a native thread: one page is touched by a thread that only blocks. That of a
 * thread of the pthread API is the process's stack limit, as in glibc, but on boards, whose memory
 * is used whole. RT_STACK_UNLIMITED_M: MiB where there is no limit. */
#define RT_STACK_DEFAULT (64u << 10)
#define RT_STACK_UNLIMITED_M 8
#ifdef PIRN_BARE
#define RT_STACK_PTHREAD_TEXT NULL
#else
#define RT_STACK_PTHREAD_TEXT "ulimit -s, " RT_TEXT(RT_STACK_UNLIMITED_M) "M if it is unlimited"
#endif
#ifndef RT_STACK_MIN
#define RT_STACK_MIN (16u << 10)
#endif
/* Beside the signal frame, where threads are preempted; minima are multiples of the unit. */
#define RT_STACK_MARGIN (RT_STACK_MIN / 2)
#define RT_STACK_UNIT (RT_STACK_MIN < 4096u ? 64u : 4096u)
#define RT_STACK_MAX (1ul << 30)
#define RT_GUARD_DEFAULT 4096u

/* Recycled stacks kept per process, at most. */
#define RT_RESERVOIR_MAX (1u << 22)
#define RT_RESERVOIR_CPU 256u /* for each CPU at least, unless the user says how many in all */

/* Bytes of the name of a file that an option names, with its terminator. */
#define RT_PATH_MAX 512

/* One of RT_BYPASS_LIMIT threads that may run ahead of the ready queue goes through the queue, and
 * one after each tick (wake.h). A LIFO queue gives away its oldest thread at one of RT_LIFO_OLDEST
 * picks. The values of the simulator are small, so that it explores these cases. */
#ifdef PIRN_SIM
#define RT_BYPASS_LIMIT 16u
#define RT_LIFO_OLDEST 16u
#else
#define RT_BYPASS_LIMIT 1024u
#define RT_LIFO_OLDEST 64u
#endif

/* Ticks of preemption, and slices, in microseconds of CPU time. */
#ifdef PIRN_METERED /* port/env/linux/meter.h */
#define RT_TICK_MIN 50u
#else
#define RT_TICK_MIN 1000u
#endif
#define RT_TICK_MAX 1000000u

/* Creating a thread without memory for it waits so long for stacks that other CPUs keep. */
#define RT_NEED_NS 20000000ull

/* A mutex waiter that lost the race for this long gets the mutex handed over. */
#define RT_MUTEX_HANDOVER_NS 1000000ull

/* Is `single` the only policy that there can be, and code for size: then the core calls its
 * operations directly (policy_only.h). */
#if defined(PIRN_ONLY_SINGLE) && defined(PIRN_WITHOUT_SETTINGS) &&                                 \
    defined(PIRN_WITHOUT_AFFINITY) && defined(PIRN_WITHOUT_CAPACITIES) &&                          \
    defined(PIRN_WITHOUT_SPEED)
#define RT_ONLY_SINGLE 1
#else
#define RT_ONLY_SINGLE 0
#endif

/* Is there a policy that can bind threads to CPUs? bind.h */
#if defined(PIRN_WITHOUT_CENTRAL) && defined(PIRN_WITHOUT_DIST)
#define RT_BINDS false
#else
#define RT_BINDS true
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * port_processes.h - several processes: shared words, fork, limits of a process, its start.
 *
 * PORT_PROCESSES (port_env.h): true where other processes can see the same memory.
 */
#ifndef PIRN_PORT_PROCESSES_H
#define PIRN_PORT_PROCESSES_H

#include "port.h"

#if PORT_PROCESSES
/*
 * Both are for foreign threads, or threads that may block their CPU. Wait until port_shared_wake
 * for the word, in any process, unless it does not hold `value`. `deadline` is in ns of port_now,
 * or, with `realtime`, of the system's clock, whose steps count. Returns 0, -ETIMEDOUT, or -EINTR
 * if the system ran a signal handler; 0 may come early. Wake at most n waiters. Both are full
 * fences with respect to the word.
 */
int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime);
void port_shared_wake(_Atomic(uint32_t) *word, unsigned n);

/*
 * The list that the kernel goes through when the calling kernel thread ends, in the kernel's layout
 * (struct robust_list_head), and that thread's number, which is the owner in the words of the
 * mutexes on it. An entry is the address of the next entry's place, at `offset` from which the word
 * is; the last one is the address of the list. `pending` is the entry of a mutex that the thread is
 * about to take, or give up. NULL: there is no list, for no thread of the process, or it is not for
 * words at PORT_ROBUST_OFFSET from their entries. Interrupts are off.
 */
struct port_robust_list {
    _Atomic(void *) first;
    long offset;
    _Atomic(void *) pending;
};
#define PORT_ROBUST_OFFSET (-32)
struct port_robust_list *port_robust_list(uint32_t *tid);

/* The bytes of address space that the process may use; UINT64_MAX: there is no limit. Any
 * context. */
uint64_t port_memory_limit(void);

/* Around the start, which may be in any call of the program: the first returns the caller's errno,
 * the second sets it again. */
int port_start_enter(void);
void port_start_leave(int kept);

/* Does the process get the memory and the kernel threads that a start with so many CPUs needs?
 * Asked where the start can be refused: rt_start. May answer true where it does not know. Memory
 * for the CPUs is kept until port_start_goes_on, which is called after port_init and
 * port_tls_start. */
bool port_start_possible(unsigned ncpu);
void port_start_goes_on(void);
#else
ALWAYS_INLINE int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline,
                                   bool realtime)
{
    (void)word;
    (void)value;
    (void)deadline;
    (void)realtime;
    rt_no_such_call();
}

ALWAYS_INLINE void port_shared_wake(_Atomic(uint32_t) *word, unsigned n)
{
    (void)word;
    (void)n;
    rt_no_such_call();
}

struct port_robust_list {
    _Atomic(void *) first, pending;
};

ALWAYS_INLINE struct port_robust_list *port_robust_list(uint32_t *tid)
{
    (void)tid;
    rt_no_such_call();
}

ALWAYS_INLINE uint64_t port_memory_limit(void)
{
    return UINT64_MAX;
}

ALWAYS_INLINE int port_start_enter(void)
{
    return 0;
}

ALWAYS_INLINE void port_start_leave(int kept)
{
    (void)kept;
}

ALWAYS_INLINE bool port_start_possible(unsigned ncpu)
{
    (void)ncpu;
    return true;
}

ALWAYS_INLINE void port_start_goes_on(void) {}
#endif

/* Upcalls. */
void rt_fork_begin(void);   /* the caller, outside of all locks, is about to fork */
bool rt_forked(void);       /* the caller is the child of a fork; true if there was a runtime */
void rt_forked_above(void); /* after that, with or without a runtime: tell the personality */

#endif

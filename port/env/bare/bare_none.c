/* SPDX-License-Identifier: MIT */
/*
 * bare_none.c (bare) - calls of port.h about what boards do not have: kernel threads that are none of
 * the runtime's, calls that block a core, file descriptors to wait for, signals, other processes.
 */
#include "bare.h"

#include <errno.h>
#include <limits.h>

/* Whoever calls is a thread, or an interrupt handler of a core that runs one. */
static NORETURN void nobody(void)
{
    bare_stop("the API was called where no thread runs: by an interrupt handler before the runtime "
              "has started",
              1);
}

struct thread *port_foreign_self(void)
{
    nobody();
}

void port_foreign_park(struct thread *t, uint64_t deadline)
{
    (void)t;
    (void)deadline;
    nobody();
}

void port_foreign_unpark(struct thread *t)
{
    (void)t;
    nobody();
}

int port_foreign_start(void (*fn)(void *), void *arg)
{
    (void)fn;
    (void)arg;
    return -ENOSYS;
}

struct thread *port_left_self(void)
{
    return NULL;
}

bool port_may_wait(void)
{
    return port_cpu_self() != NULL && port_may_switch();
}

/* Cores are carriers that never leave their CPU. */
void port_cpu_back(struct cpu *cpu)
{
    (void)cpu;
    nobody();
}

void port_cpu_leave(struct thread *t)
{
    (void)t;
    nobody();
}

void port_carrier_wait(struct carrier *k)
{
    (void)k;
    nobody();
}

void port_carrier_wake(struct carrier *k)
{
    (void)k;
    nobody();
}

void port_carrier_interrupt(struct carrier *k)
{
    (void)k;
    nobody();
}

void port_carrier_ask(void) {}
void port_calls_watch(void) {}
void port_interrupt_accept(void) {}

void port_thread_interrupt(struct thread *t)
{
    (void)t;
}

/* No descriptor is closed there while a thread waits for it. */
int port_io_copy(int fd)
{
    (void)fd;
    return -ENOSYS;
}

void port_io_drop(int fd)
{
    (void)fd;
}

unsigned port_io_own(unsigned first)
{
    (void)first;
    return UINT_MAX;
}

bool port_is_inside(void)
{
    return false;
}

int port_io_block(int fd, uint32_t events, uint64_t deadline)
{
    (void)fd;
    (void)events;
    (void)deadline;
    return -EBADF;
}

int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime)
{
    (void)word;
    (void)value;
    (void)deadline;
    (void)realtime;
    nobody();
}

void port_shared_wake(_Atomic(uint32_t) *word, unsigned n)
{
    (void)word;
    (void)n;
    nobody();
}

bool port_alone(void)
{
    return false;
}

int port_signal_of(const char *name)
{
    (void)name;
    return -1;
}

int port_dump_start(int signal)
{
    (void)signal;
    return -ENOSYS;
}

/* SPDX-License-Identifier: MIT */
/*
 * template.c (template) - the functions of port.h, and no other: the shortest port that boots. It
 * needs a C library with malloc, a monotonic clock and a sleep. tests/template/boots.c runs threads
 * on it (test template-boots). docs/internals/porting.md says how to make your own port
 * from it.
 *
 * Limits: one CPU; a thread runs until it yields or blocks; rt_on_tick is called only while the CPU
 * has no ready thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "atomic.h"
#include "port.h"

struct cpu *port_template_cpu;

/* There is one CPU: no other needs the fence. */
bool port_fence_asymmetric = true;
void port_fence_heavy(void) {}

void port_check(void) {}

unsigned port_cpu_count(void)
{
    return 1;
}

int port_init(bool *caller_is_main)
{
    *caller_is_main = true;
    return atexit(rt_on_exit) == 0 ? 0 : -ENOMEM;
}

void port_exit_now(int status)
{
    _exit(status);
}

void port_panic(void)
{
    abort();
}

void port_exit(int status)
{
    exit(status);
}

void port_write(const char *text, size_t length)
{
    if (write(2, text, length) < 0) {
        return; /* there is nobody to tell */
    }
}

/* For a second CPU. */
int port_carrier_start(struct carrier *k)
{
    (void)k;
    return -ENOSYS;
}

int port_carrier_begin(struct carrier *k, struct thread *t)
{
    (void)k;
    (void)t;
    return 0;
}

void port_cpu_take(struct carrier *k, struct cpu *cpu)
{
    (void)k;
    port_template_cpu = cpu;
    rt_cpu_port(cpu)->tick_at = UINT64_MAX;
}

/* No other thread runs that could post a permit meanwhile: only time ends the sleep. */
void port_cpu_idle(struct cpu *cpu, uint64_t deadline)
{
    struct port_cpu *own = rt_cpu_port(cpu);
    uint64_t now = port_now(), until = own->tick_at < deadline ? own->tick_at : deadline;
    if (!own->permit && until > now) {
        uint64_t ns = until - now < 1000000000u ? until - now : 1000000000u;
        nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                                     .tv_nsec = (long)(ns % 1000000000u)},
                  NULL);
    }
    own->permit = false;
    if (port_now() >= own->tick_at) {
        own->tick_at = UINT64_MAX;
        rt_on_tick(cpu);
    }
}

void port_cpu_kick(struct cpu *cpu)
{
    rt_cpu_port(cpu)->permit = true;
}

void port_relax(unsigned round)
{
    (void)round;
    port_cpu_relax();
}

uint64_t port_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void port_timer_set(struct cpu *cpu, uint64_t deadline)
{
    rt_cpu_port(cpu)->tick_at = deadline;
}

/* No guard: there is no MMU that this port knows of. */
int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard)
{
    (void)guard;
    *stack = (struct port_stack){.low = malloc(size), .size = size};
    return stack->low != NULL ? 0 : -ENOMEM;
}

void port_stack_free(struct port_stack *stack)
{
    free(stack->low);
}

void *port_table_alloc(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
    return p != NULL ? memset(p, 0, size) : NULL;
}

void port_table_free(void *p, size_t size)
{
    (void)size;
    free(p);
}

/* SPDX-License-Identifier: MIT */
/*
 * monitor.c (Linux) - a kernel thread that delivers ticks to busy workers; an idle worker sleeps
 * with its own deadline.
 *
 * It starts with the runtime: later, a process near its memory limit could not start it. Each
 * worker's tick_at is its next tick; `wake_at` is when the monitor wakes. Setting an earlier tick
 * bumps the monitor: store tick_at, then read wake_at; the monitor stores wake_at, then reads every
 * tick_at again. Sequentially consistent: one of them sees the other. ORDER(monitor)
 */
#include "linux.h"

#include <string.h>

#define MAX_CPUS 256

static struct {
    struct cpu *cpus[MAX_CPUS];
    uint64_t wake_at; /* UINT64_MAX while asleep without limit, 0 while awake */
    uint32_t bump;    /* futex permit */
} monitor;

/* Deliver what is due; returns the next time. */
static uint64_t monitor_deliver(uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct cpu *cpu = __atomic_load_n(&monitor.cpus[i], __ATOMIC_ACQUIRE); /* ORDER(monitor) */
        if (cpu == NULL) {
            continue;
        }
        struct port_cpu *port = rt_cpu_port(cpu);
        uint64_t at = __atomic_load_n(&port->tick_at, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        if (at <= now && __atomic_compare_exchange_n(&port->tick_at, &at, UINT64_MAX, false,
                                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            rt_on_tick(cpu);
        } else if (at < next) {
            next = at;
        }
    }
    return next;
}

static void *monitor_main(void *unused)
{
    (void)unused;
    for (;;) {
        uint64_t next = monitor_deliver(port_now());
        __atomic_store_n(&monitor.wake_at, next, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        uint64_t again = monitor_deliver(port_now());
        if (again >= next) {
            permit_wait(&monitor.bump, next);
        }
        __atomic_store_n(&monitor.wake_at, 0, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    }
    return NULL;
}

int monitor_start(void)
{
    return kernel_thread_create(monitor_main, NULL);
}

void port_timer_set(struct cpu *cpu, uint64_t deadline)
{
    __atomic_store_n(&monitor.cpus[rt_cpu_id(cpu)], cpu, __ATOMIC_RELEASE);   /* ORDER(monitor) */
    __atomic_store_n(&rt_cpu_port(cpu)->tick_at, deadline, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    if (deadline < __atomic_load_n(&monitor.wake_at, __ATOMIC_SEQ_CST)) {     /* ORDER(monitor) */
        permit_post(&monitor.bump);
    }
}

void monitor_forked(void)
{
    memset(&monitor, 0, sizeof(monitor));
}

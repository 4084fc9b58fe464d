/* SPDX-License-Identifier: MIT */
/*
 * linux_meter.c (Linux) - see meter.h. Compiled for the metered library only.
 *
 * Invariants:
 *   1. A CPU's meter is touched by the kernel thread that executes the CPU, inside the runtime; so
 *      neither a tick nor a migration comes in between. The report reads other CPUs' meters without
 *      synchronisation.
 *   2. `since` is 0 outside of events. A thread that has no CPU, or loses it (port_cpu_leave), is
 *      in no event.
 *
 * The cost of measuring: an event contains the reading of the counter and the two calls once
 * (pair_inside_ns), and makes the program longer by pair_ns. Both are measured when the program
 * ends, by empty events, for the reader to subtract; here nothing is subtracted.
 */
#include "linux.h"

#include <stdio.h>

#include "config.h"
#include "port_tools.h"

#ifndef __x86_64__
#error "the metered library reads the time-stamp counter of x86-64"
#endif

#define BATCHES 64
#define PAIRS 64

static struct cpu *seen[RT_MAX_CPUS]; /* by id; (A) */
static struct {
    uint64_t cycles, ns; /* at the first event */
} start;

static uint64_t cycles(void)
{
    return __builtin_ia32_rdtsc();
}

static struct meter *meter_self(void)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL ? &rt_cpu_port(cpu)->meter : NULL;
}

static NOINLINE COLD void meter_first(struct meter *m)
{
    struct cpu *cpu = port_cpu_self();
    unsigned id = rt_cpu_id(cpu);
    if (id < RT_MAX_CPUS) { /* else it is a carrier's limbo */
        __atomic_store_n(&seen[id], cpu, __ATOMIC_RELAXED);
    }
    if (start.ns == 0) { /* main, alone */
        start.ns = port_now();
        start.cycles = cycles();
    }
    m->shortest = UINT64_MAX;
}

void meter_begin(void)
{
    struct meter *m = meter_self();
    if (m == NULL) {
        return;
    }
    if (unlikely(m->shortest == 0)) {
        meter_first(m);
    }
    m->since = cycles();
}

void meter_end(void)
{
    uint64_t now = cycles();
    struct meter *m = meter_self();
    if (m == NULL || m->since == 0) {
        return;
    }
    uint64_t took = now - m->since;
    m->since = 0;
    m->events++;
    m->inside += took;
    m->longest = took > m->longest ? took : m->longest;
    m->shortest = took < m->shortest ? took : m->shortest;
}

void meter_entered(void)
{
    if ((port_tls_inside & ~PREEMPT_DEFERRED) == 1) {
        meter_begin();
    }
}

void meter_leaving(void)
{
    if ((port_tls_inside & ~PREEMPT_DEFERRED) == 1) {
        meter_end();
    }
}

/* An empty event, the best of many: its length, and the time that it adds to the program. Both are
 * 0 unless the caller is a user thread outside the runtime. */
static void meter_calibrate(double *inside, double *whole)
{
    struct meter *m = meter_self();
    *inside = *whole = 0;
    if (m == NULL || port_tls_inside != 0) {
        return;
    }
    struct meter before = *m;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t inside_before = m->inside, from = cycles();
        for (int i = 0; i < PAIRS; i++) {
            port_irq_restore(port_irq_save());
        }
        double all = (double)(cycles() - from) / PAIRS;
        if (batch == 0 || all < *whole) {
            *whole = all;
            *inside = (double)(m->inside - inside_before) / PAIRS;
        }
    }
    *m = before;
}

static size_t meter_format_cpu(char *text, size_t size, const struct meter *m, double per_cycle)
{
    return (size_t)snprintf(text, size,
                            "{\"events\":%llu,\"inside_ns\":%.0f,\"longest_ns\":%.0f,"
                            "\"shortest_ns\":%.0f}",
                            (unsigned long long)m->events, (double)m->inside * per_cycle,
                            (double)m->longest * per_cycle,
                            m->events == 0 ? 0 : (double)m->shortest * per_cycle);
}

size_t port_meter_format(char *text, size_t size, bool json)
{
    double inside, whole;
    uint64_t passed = port_now() - start.ns;
    double per_cycle = start.ns != 0 ? (double)passed / (double)(cycles() - start.cycles) : 0;
    meter_calibrate(&inside, &whole);
    size_t n = (size_t)snprintf(text, size,
                                json ? ",\"meter\":{\"pair_ns\":%.1f,\"pair_inside_ns\":%.1f"
                                       ",\"per_cpu\":["
                                     : "pirn: meter pair_ns %.1f pair_inside_ns %.1f\n",
                                whole * per_cycle, inside * per_cycle);
    bool first = true;
    for (unsigned id = 0; id < RT_MAX_CPUS && n < size; id++) {
        struct cpu *cpu = __atomic_load_n(&seen[id], __ATOMIC_RELAXED);
        if (cpu == NULL) {
            continue;
        }
        const char *between = json && !first ? "," : "";
        n += json ? (size_t)snprintf(text + n, size - n, "%s", between)
                  : (size_t)snprintf(text + n, size - n, "pirn: meter cpu %u ", id);
        n += n < size ? meter_format_cpu(text + n, size - n, &rt_cpu_port(cpu)->meter, per_cycle)
                      : 0;
        n += json || n >= size ? 0 : (size_t)snprintf(text + n, size - n, "\n");
        first = false;
    }
    n += json && n < size ? (size_t)snprintf(text + n, size - n, "]}") : 0;
    return n < size ? n : size - 1;
}

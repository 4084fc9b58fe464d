/* SPDX-License-Identifier: MIT */
/*
 * bare_report.c (bare) - reports of deadlocks (src/sync/report.h).
 *
 * There is nobody beside the cores: the one that goes to sleep last looks, while it sleeps, by its
 * timer (port_cpu_idle). It counts as asleep meanwhile, as it runs no thread.
 */
#include "bare.h"
#include "bare_watchdog.h"
#include "config.h"
#include "port_report.h"

#define CALLS_OF_WAIT 8

void port_report_poke(void)
{
    RT_ASSERT(bare_is_inside()); /* the CPU that is about to sleep */
    rt_cpu_port(port_cpu_self())->report_at = 0;
}

/* The watchdog is petted by a handler, too. */
bool port_outsiders(void)
{
    return bare_irq_outsiders() ||
           (RT_WATCHDOG && __atomic_load_n(&watchdog_us, __ATOMIC_RELAXED) != 0);
}

/* No core runs a thread, and no other one looks. */
void port_report_run(void (*fn)(void))
{
    RT_ASSERT(bare_is_inside() && rt_thread_is_idle(rt_cpu_thread(port_cpu_self())));
    fn();
}

bool port_where(const struct thread *t, char *text, size_t size)
{
    (void)t;
    (void)text;
    (void)size;
    return false;
}

void port_say_places(void) {}

void port_say_calls(const struct thread *t)
{
    if (rt_thread_waits(t)) {
        bare_say_calls(t, (uintptr_t)rt_thread_ctx(t)->sp, UINTPTR_MAX, CALLS_OF_WAIT);
    }
}

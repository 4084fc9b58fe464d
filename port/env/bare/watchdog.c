/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c (bare) - see <pirn/watchdog.h>. Each CPU has a look at itself when its timer
 * interrupts it for that, and notes that it makes progress; the watching CPU, which called
 * pirn_watchdog, then asks for all notes. Who sleeps needs none: a CPU that does not sleep when the
 * watching one looks and has no note either gets one more period, because it may just have woken
 * up.
 *
 * Lock: dog.lock guards all but `noted`: bits of CPUs, set by each of them, cleared by the watching
 * one. watchdog_on is a hint; what it is about is read under the lock.
 */
#include <errno.h>
#include <pirn/watchdog.h>

#include "bare.h"
#include "watchdog.h"

#define LEAST_NS 1000000u

uint32_t watchdog_on;

static struct {
    uint32_t lock;
    void (*pet)(void); /* NULL: off */
    uint64_t period;
    struct cpu *watching;
    uint32_t missed; /* bits of CPUs */
    uint32_t noted;  /* (A) */
} dog;

int pirn_watchdog(uint64_t period, void (*pet)(void))
{
    if (pet != NULL && period < LEAST_NS) {
        return -EINVAL;
    }
    unsigned n = rt_cpu_count();
    unsigned long irq = bare_lock(&dog.lock);
    dog.pet = pet;
    dog.period = period;
    dog.watching = port_cpu_self();
    dog.missed = 0;
    __atomic_store_n(&dog.noted, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&watchdog_on, pet != NULL, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n; i++) {
        board_ipi(rt_cpu_port(rt_cpu_at(i))->hart); /* each sets its timer */
    }
    bare_unlock(&dog.lock, irq);
    return 0;
}

void watchdog_begin(struct port_cpu *port)
{
    unsigned long irq = bare_lock(&dog.lock);
    port->watch_at = dog.pet != NULL ? port_now() + dog.period : UINT64_MAX;
    bare_unlock(&dog.lock, irq);
}

/* Only the watching CPU wakes up for it. */
void watchdog_sleeps(struct cpu *cpu, struct port_cpu *port)
{
    unsigned long irq = bare_lock(&dog.lock);
    if (cpu != dog.watching) {
        port->watch_at = UINT64_MAX;
    }
    bare_unlock(&dog.lock, irq);
}

static uint32_t awake(void)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < rt_cpu_count(); i++) {
        bits |= rt_cpu_asleep(i) ? 0 : 1u << i;
    }
    return bits;
}

/* Whom to call: unless somebody awake has said nothing, for the second time. */
static void (*look_locked(void))(void)
{
    uint32_t silent = awake() & ~__atomic_exchange_n(&dog.noted, 0, __ATOMIC_RELAXED);
    bool stuck = (silent & dog.missed) != 0;
    dog.missed = silent;
    return stuck ? NULL : dog.pet;
}

void watchdog_look(struct cpu *cpu, struct port_cpu *port)
{
    uint64_t switches = rt_cpu_switches(cpu);
    if (rt_thread_is_idle(rt_cpu_thread(cpu)) || switches != port->watch_seen || core_preempts() ||
        !rt_cpu_has_ready(cpu)) {
        __atomic_fetch_or(&dog.noted, 1u << rt_cpu_id(cpu), __ATOMIC_RELAXED);
    }
    port->watch_seen = switches;
    unsigned long irq = bare_lock(&dog.lock);
    void (*pet)(void) = cpu == dog.watching ? look_locked() : NULL;
    bare_unlock(&dog.lock, irq);
    if (pet != NULL) {
        pet();
    }
    watchdog_begin(port);
}

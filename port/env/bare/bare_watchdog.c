/* SPDX-License-Identifier: MIT */
/*
 * bare_watchdog.c (bare) - see <pirn/watchdog.h>. Each CPU looks at itself when its timer
 * interrupts it, and notes that it makes progress. The watching CPU, which called pirn_watchdog,
 * then checks all notes. A CPU that sleeps needs none. A CPU that is awake when the watching one
 * looks, and has no note, gets one more period, because it may just have woken up.
 *
 * There is no lock, for which cores would compete at each period. Every word stands alone, and a
 * CPU that sees an old value is late by one period. `missed`, `said` and `searches` belong to the
 * watching CPU.
 */
#include <errno.h>
#include <pirn/watchdog.h>

#include "bare.h"
#include "bare_watchdog.h"

#define US 1000u
#define LEAST_NS 1000000u
#define MOST_NS 3600000000000u
#define SEARCH_LOOKS 100u

uint32_t watchdog_us;

static struct {
    void (*pet)(void);
    struct cpu *watching;
    uint32_t noted;                /* bits of CPUs */
    uint32_t missed;               /* the same */
    bool said;                     /* that it is not served; until it is again */
    uint32_t searches[BARE_CORES]; /* at how many looks the CPU had no thread, and was awake */
} dog;

int pirn_watchdog(uint64_t period, void (*pet)(void))
{
    if (pet != NULL && (period < LEAST_NS || period > MOST_NS)) {
        return -EINVAL;
    }
    unsigned n = rt_cpu_count();
    RT_ASSERT(n <= 32); /* bits of `noted` */
    unsigned long irq = port_irq_save();
    STORE_RLX(&dog.noted, 0);
    STORE_RLX(&dog.pet, pet);
    STORE_RLX(&dog.watching, port_cpu_self());
    dog.missed = 0;
    STORE_RLX(&watchdog_us, pet != NULL ? (uint32_t)(period / US) : 0);
    for (unsigned i = 0; i < n; i++) {
        board_ipi(rt_cpu_port(rt_cpu_at(i))->hart); /* each sets its timer */
    }
    port_irq_restore(irq);
    return 0;
}

void watchdog_begin(struct port_cpu *port)
{
    uint64_t us = __atomic_load_n(&watchdog_us, __ATOMIC_RELAXED);
    RT_ASSERT(arch_irq_is_off() && port == rt_cpu_port(port_cpu_self()));
    port->watch_at = us != 0 ? port_now() + us * US : UINT64_MAX;
}

static bool watches(const struct cpu *cpu)
{
    return cpu == __atomic_load_n(&dog.watching, __ATOMIC_RELAXED);
}

/* Only the watching CPU wakes up for it. */
void watchdog_sleeps(struct cpu *cpu, struct port_cpu *port)
{
    RT_ASSERT(bare_is_inside() && cpu == port_cpu_self());
    if (!watches(cpu)) {
        port->watch_at = UINT64_MAX;
    }
}

/* CPUs that must have left a note. One without a thread searches for a moment, and sleeps then. But
 * with an emulator that executes cores in turns this may take some periods, so it has many. */
static uint32_t awake(void)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < rt_cpu_count(); i++) {
        dog.searches[i] = rt_cpu_searches(i) ? dog.searches[i] + 1 : 0;
        bool may = rt_cpu_asleep(i) || (dog.searches[i] != 0 && dog.searches[i] < SEARCH_LOOKS);
        bits |= may ? 0 : 1u << i;
    }
    return bits;
}

/* The board's watchdog is going to reset the machine: say why, once. */
static void say_stuck(uint32_t cpus)
{
    if (!dog.said) {
        dog.said = true;
        bare_say_stuck((unsigned)__builtin_ctz(cpus));
    }
}

/* Unless somebody awake has said nothing, for the second time. */
static void look(void)
{
    void (*pet)(void) = __atomic_load_n(&dog.pet, __ATOMIC_RELAXED);
    uint32_t silent = awake() & ~__atomic_exchange_n(&dog.noted, 0, __ATOMIC_RELAXED);
    uint32_t stuck = silent & dog.missed;
    dog.missed = silent;
    if (pet == NULL) {
        return;
    }
    if (stuck != 0) {
        say_stuck(stuck);
        return;
    }
    dog.said = false;
    uint32_t outer = arch_core()->handler; /* the timer may interrupt one */
    arch_core()->handler = BARE_WATCHDOG;
    pet();
    STORE_REL(&arch_core()->handler, outer);
    bare_look_again();
}

void watchdog_look(struct cpu *cpu, struct port_cpu *port)
{
    uint64_t switches = rt_cpu_switches(cpu);
    RT_ASSERT(bare_in_handler() && cpu == port_cpu_self());
    if (rt_thread_is_idle(rt_cpu_thread(cpu)) || switches != port->watch_seen || core_preempts() ||
        !rt_cpu_has_ready(cpu)) {
        __atomic_fetch_or(&dog.noted, 1u << rt_cpu_id(cpu), __ATOMIC_RELAXED);
    }
    port->watch_seen = switches;
    if (watches(cpu)) {
        look();
    }
    watchdog_begin(port);
}

/* SPDX-License-Identifier: MIT */
/*
 * bare_irq.c (bare) - handlers of devices' interrupts: which, with which priority, on which core.
 *
 * Invariants:
 *   1. An entry is written with the lock held and read by handlers with the lock held, which they
 *      give back before they call: a handler may attach others.
 *   2. Interrupts stay disabled while a handler runs, unless one of a higher priority is attached
 *      somewhere: then the core lets in those, and what it needs itself (its timer, and those of
 *      other cores, where they are not the controller's). A handler so interrupted goes on on its
 *      core: bare_irq_leaves switches at the end of the outermost one only.
 *   3. core->handler says whose handler is under way. If that one lets in others, core->below says
 *      the same, and core->from is the lowest priority that it lets in. All three are the core's
 *      own, written with interrupts disabled; the end of a handler puts back what it has found. So
 *      a core has at most PIRN_IRQ_PRIORITIES handlers under way, and no source twice, as its
 *      priority cannot change while it is attached.
 *   4. A source interrupts one core: entry.hart.
 *
 * A handler of the program's may wake threads as long as it is attached or under way, so the search
 * for a deadlock asks (bare_irq_outsiders). The console's handler is the environment's own: the
 * threads that wait for input are known.
 */
#include <pirn/irq.h>

#include <errno.h>

#include "bare.h"

/* Numbers of sources below it: of the board's description, or fewer, as the tables take memory. */
#if defined(BARE_INTERRUPTS_MOST)
#define SOURCES BARE_INTERRUPTS_MOST
#elif defined(BOARD_SOURCES)
#define SOURCES BOARD_SOURCES
#elif defined(BOARD_INTERRUPTS)
#define SOURCES BOARD_INTERRUPTS
#else
#define SOURCES 256
#endif

/* What an interrupt calls: the handler, or call_nesting with the source. */
static struct {
    void (*fn)(void *arg);
    void *arg;
} table[SOURCES]; /* (lock) */

static struct entry {
    void (*fn)(void *arg); /* NULL: not attached */
    void *arg;
    uint8_t priority;
    uint8_t hart;   /* that it interrupts, while it is attached */
    uint8_t chosen; /* 1 and the hart that the program wants; 0: it has said nothing */
} entries[SOURCES]; /* (lock) */

static unsigned attached; /* of the program's (lock) */
static unsigned highest;  /* priority of those that are attached (lock) */
static uint32_t lock;

static void call_nesting(void *entry);

static bool is_programs(unsigned source)
{
    return source != board_console_source() && entries[source].fn != NULL;
}

static void table_write_locked(unsigned source)
{
    struct entry *e = &entries[source];
    bool nests = e->fn != NULL && e->priority < highest;
    table[source].fn = nests ? call_nesting : e->fn;
    table[source].arg = nests ? e : e->arg;
}

/* The entry has changed, and with it perhaps who nests. */
static void table_renew_locked(unsigned source)
{
    unsigned before = highest;
    highest = 0;
    for (unsigned i = 0; i < SOURCES; i++) {
        bool counts = entries[i].fn != NULL && entries[i].priority > highest;
        highest = counts ? entries[i].priority : highest;
    }
    for (unsigned i = 0; i < SOURCES && highest != before; i++) {
        table_write_locked(i);
    }
    table_write_locked(source);
    RT_ASSERT(highest < PIRN_IRQ_PRIORITIES);
}

/* The table first: it may come as soon as it is enabled. */
static bool attach_locked(unsigned source, void (*fn)(void *arg), void *arg)
{
    struct entry *e = &entries[source];
    unsigned hart = e->chosen != 0 ? e->chosen - 1u : (unsigned)arch_core()->hart;
    if (!board_irq_has(source, hart, e->priority)) {
        return false;
    }
    if (e->fn != NULL && (fn == NULL || e->hart != hart)) {
        board_irq_disable(source, e->hart);
    }
    *e = (struct entry){fn, arg, e->priority, (uint8_t)hart, e->chosen};
    table_renew_locked(source);
    if (fn != NULL) {
        board_irq_enable(source, hart, e->priority);
    }
    return true;
}

int bare_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    if (source >= SOURCES) {
        return -EINVAL;
    }
    unsigned long irq = bare_lock(&lock);
    attached -= is_programs(source);
    bool there = attach_locked(source, fn, arg);
    attached += is_programs(source);
    RT_ASSERT(attached <= SOURCES);
    bare_unlock(&lock, irq);
    return there ? 0 : -EINVAL;
}

static bool may_be_programs(unsigned source)
{
    return source < SOURCES && source != board_console_source();
}

EXPORT int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    return may_be_programs(source) ? bare_irq_attach(source, fn, arg) : -EINVAL;
}

static int prioritize_locked(unsigned source, unsigned priority)
{
    unsigned self = (unsigned)arch_core()->hart;
    if (!board_irq_has(source, self, 0)) {
        return -EINVAL;
    }
    if (entries[source].fn != NULL) {
        return -EBUSY;
    }
    if (!board_irq_has(source, self, priority)) {
        return -ENOTSUP;
    }
    entries[source].priority = (uint8_t)priority;
    return 0;
}

EXPORT int pirn_irq_set_priority(unsigned source, unsigned priority)
{
    if (!may_be_programs(source) || priority >= PIRN_IRQ_PRIORITIES) {
        return -EINVAL;
    }
    unsigned long irq = bare_lock(&lock);
    int error = prioritize_locked(source, priority);
    bare_unlock(&lock, irq);
    return error;
}

static int move_locked(unsigned source, unsigned hart)
{
    struct entry *e = &entries[source];
    if (!board_irq_has(source, (unsigned)arch_core()->hart, e->priority)) {
        return -EINVAL;
    }
    if (!board_irq_has(source, hart, e->priority)) {
        return -ENOTSUP;
    }
    e->chosen = (uint8_t)(hart + 1);
    if (e->fn != NULL && e->hart != hart) {
        board_irq_disable(source, e->hart);
        e->hart = (uint8_t)hart;
        board_irq_enable(source, hart, e->priority);
    }
    return 0;
}

/* A core may not have begun yet. */
static unsigned hart_of(unsigned cpu)
{
    struct bare_core *core = &bare_cores[rt_carrier_port(rt_cpu_carrier(rt_cpu_at(cpu)))->core];
    for (unsigned round = 0; __atomic_load_n(&core->cpu, __ATOMIC_ACQUIRE) == NULL; round++) {
        port_relax(round); /* ORDER(carrier) */
    }
    return (unsigned)core->hart;
}

EXPORT int pirn_irq_set_affinity(unsigned source, unsigned cpu)
{
    if (!may_be_programs(source) || cpu >= rt_cpu_count()) {
        return -EINVAL;
    }
    unsigned hart = hart_of(cpu);
    unsigned long irq = bare_lock(&lock);
    int error = move_locked(source, hart);
    bare_unlock(&lock, irq);
    return error;
}

/* A handler may have detached itself, and still be under way. */
bool bare_irq_outsiders(void)
{
    unsigned long irq = bare_lock(&lock);
    bool any = attached != 0;
    for (unsigned i = 0; i < BARE_CORES; i++) {
        any |= __atomic_load_n(&bare_cores[i].handler, __ATOMIC_ACQUIRE) != 0;
    }
    bare_unlock(&lock, irq);
    return any;
}

static void admit(struct bare_core *core, uint32_t below, uint32_t from)
{
    unsigned long irq = bare_lock(&lock);
    core->below = below;
    core->from = from;
    board_irq_admit(from);
    bare_unlock(&lock, irq);
}

/* While the handler runs, those of higher priorities come in. A controller may be late with what
 * must wait by now: then that one, too, lets in only what the handler below it does. */
static void call_nesting(void *entry)
{
    struct bare_core *core = arch_core();
    uint32_t below = core->below, from = core->from;
    unsigned long irq = bare_lock(&lock);
    struct entry e = *(const struct entry *)entry;
    bare_unlock(&lock, irq);
    if (e.fn == NULL) {
        return; /* detached meanwhile */
    }
    admit(core, core->handler, e.priority >= from ? e.priority + 1u : from);
    section_on();
    arch_irq_restore(0);
    e.fn(e.arg);
    (void)arch_irq_save();
    section_off();
    admit(core, below, from);
}

void bare_on_device(unsigned source)
{
    struct bare_core *core = arch_core();
    RT_ASSERT(bare_in_handler() && core->handler == core->below);
    unsigned long irq = bare_lock(&lock);
    void (*fn)(void *arg) = source < SOURCES ? table[source].fn : NULL;
    void *arg = source < SOURCES ? table[source].arg : NULL;
    core->handler = source + 1;
    bare_unlock(&lock, irq);
    if (fn != NULL) {
        fn(arg);
        if (unlikely(BARE_CANARY_WRONG(core->stack_low) != 0)) {
            bare_overran();
        }
        RT_ASSERT(bare_in_handler() && core == arch_core()); /* it has not switched */
        bare_look_again();
    }
    STORE_REL(&core->handler, core->below);
}

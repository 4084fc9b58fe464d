/* SPDX-License-Identifier: MIT */
/*
 * bare_irq.c (bare) - handlers of devices' interrupts. An entry is written with the lock held and
 * read by handlers with the lock held, which they give back before they call: a handler may attach
 * others.
 *
 * A handler of the program's may wake threads as long as it is attached or under way, so the search
 * for a deadlock asks (bare_irq_outsiders). Which one is under way is the core's own word, written
 * with the lock held, and cleared when it is done. The console's handler is the environment's own:
 * the threads that wait for input are known.
 */
#include <pirn/irq.h>

#include <errno.h>

#include "bare.h"

#define SOURCES 256

static struct {
    void (*fn)(void *arg);
    void *arg;
} table[SOURCES];
static uint32_t lock;
static unsigned attached; /* of the program's (lock) */

static bool is_programs(unsigned source)
{
    return source != board_console_source() && table[source].fn != NULL;
}

int bare_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    if (source >= SOURCES) {
        return -EINVAL;
    }
    unsigned long irq = bare_lock(&lock);
    bool there = board_irq_enable(source, fn != NULL);
    attached -= is_programs(source);
    table[source].fn = there ? fn : NULL;
    table[source].arg = arg;
    attached += is_programs(source);
    RT_ASSERT(attached <= SOURCES);
    bare_unlock(&lock, irq);
    return there ? 0 : -EINVAL;
}

EXPORT int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    return source != board_console_source() ? bare_irq_attach(source, fn, arg) : -EINVAL;
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

void bare_on_device(unsigned source)
{
    struct bare_core *core = arch_core();
    RT_ASSERT(bare_in_handler() && core->handler == 0);
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
        RT_ASSERT(bare_in_handler()); /* the handler has neither enabled interrupts nor switched */
        bare_look_again();
    }
    STORE_REL(&core->handler, 0);
}

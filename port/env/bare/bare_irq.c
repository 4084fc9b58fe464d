/* SPDX-License-Identifier: MIT */
/*
 * bare_irq.c (bare) - handlers of devices' interrupts. An entry is written with the lock held and
 * read by handlers with the lock held, which they give back before they call: a handler may attach
 * others.
 *
 * A handler of the program's may wake threads as long as it is attached or under way, so the search
 * for a deadlock asks (bare_irq_outsiders). The console's handler is the environment's own: the
 * threads that wait for input are known.
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
static unsigned attached, under_way; /* of the program's (lock) */

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

bool bare_irq_outsiders(void)
{
    unsigned long irq = bare_lock(&lock);
    bool any = attached + under_way != 0;
    bare_unlock(&lock, irq);
    return any;
}

void bare_on_device(unsigned source)
{
    RT_ASSERT(bare_in_handler());
    unsigned long irq = bare_lock(&lock);
    bool programs = source < SOURCES && is_programs(source);
    void (*fn)(void *arg) = source < SOURCES ? table[source].fn : NULL;
    void *arg = source < SOURCES ? table[source].arg : NULL;
    under_way += programs;
    bare_unlock(&lock, irq);
    if (fn == NULL) {
        return;
    }
    struct bare_core *core = arch_core();
    core->handler = source + 1;
    fn(arg);
    core->handler = 0;
    RT_ASSERT(bare_in_handler()); /* the handler has neither enabled interrupts nor switched */
    bare_look_again();
    if (programs) {
        irq = bare_lock(&lock);
        RT_ASSERT(under_way != 0);
        under_way--;
        bare_unlock(&lock, irq);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * irq.c (bare) - handlers of devices' interrupts. An entry is written with the lock held and read
 * by handlers with the lock held, which they give back before they call: a handler may attach
 * others.
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

int bare_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    if (source >= SOURCES) {
        return -EINVAL;
    }
    unsigned long irq = bare_lock(&lock);
    table[source].fn = fn;
    table[source].arg = arg;
    int error = board_irq_enable(source, fn != NULL) ? 0 : -EINVAL;
    bare_unlock(&lock, irq);
    return error;
}

EXPORT int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg)
{
    return source != board_console_source() ? bare_irq_attach(source, fn, arg) : -EINVAL;
}

void bare_on_device(unsigned source)
{
    unsigned long irq = bare_lock(&lock);
    void (*fn)(void *arg) = source < SOURCES ? table[source].fn : NULL;
    void *arg = source < SOURCES ? table[source].arg : NULL;
    bare_unlock(&lock, irq);
    if (fn != NULL) {
        fn(arg);
    }
}

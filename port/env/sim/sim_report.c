/* SPDX-License-Identifier: MIT */
/*
 * sim_report.c - what ports need for reports of threads that wait: nothing here.
 */
#include <errno.h>

#include "port_foreign.h"
#include "port_report.h"
#include "port_signals.h"
#include "sim_internal.h"

/* The simulator finds deadlocks itself, and ends the run. */
void port_report_poke(void) {}

bool port_outsiders(void)
{
    return true;
}

bool port_alone(void)
{
    return sim.alone;
}

void port_report_run(void (*fn)(void))
{
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
    (void)t;
}

int port_signal_of(const char *name)
{
    (void)name;
    return -1;
}

int port_dump_start(int signal)
{
    (void)signal;
    return -ENOSYS;
}

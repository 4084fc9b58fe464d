/* SPDX-License-Identifier: MIT */
/*
 * start_failed.c - a resource that the runtime cannot work without is refused, at the start or when
 * a kernel thread begins: which one, what limits it, and what can be done. Any kernel thread.
 */
#include <errno.h>
#include <stdio.h>

#include "port_report.h"
#include "runtime.h"
#include "start_failed.h"

/* A policy's own error, whatever its number, has nothing to do with limits. */
static const char *advice(int error)
{
    return error == -EAGAIN || error == -ENOMEM
               ? "; raise the limit that is reached, or use fewer CPUs (PIRN_CPUS)"
               : "";
}

void start_failed(int error, const char *what)
{
    char why[384];
    port_error_text(error, why, sizeof(why));
    rt_say("pirn: cannot start the runtime: %s: %s%s\n", what, why, advice(error));
    port_exit_now(1);
}

void start_failed_of(int error, const char *what, unsigned cpu)
{
    char text[128];
    snprintf(text, sizeof(text), "%s CPU %u of %u", what, cpu, rt.ncpu);
    start_failed(error, text);
}

void start_failed_policy(int error)
{
    char text[96];
    snprintf(text, sizeof(text), "policy %.31s cannot begin", rt.policy.name);
    start_failed(error, text);
}

/* SPDX-License-Identifier: MIT */
/*
 * start_failed.c - a resource that the runtime cannot work without is refused, at the start or when
 * a kernel thread begins: the message says which one. The error in words, the limits and the advice
 * are the platform's (port_error_text). Any kernel thread.
 */
#include <stdio.h>

#include "port_report.h"
#include "runtime.h"
#include "start_failed.h"

void start_failed(int error, const char *what)
{
    char why[400];
    port_error_text(error, why, sizeof(why));
    rt_say("pirn: cannot start the runtime: %s: %s\n", what, why);
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

/* SPDX-License-Identifier: MIT */
/*
 * message.c (bare) - what is said of a program that cannot go on. Any context.
 */
#include "bare.h"

#include <stdio.h>
#include <string.h>

void bare_stop(const char *what, int status)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "pirn: %s\n", what);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    board_exit(status);
}

void bare_few_cores(unsigned there)
{
    char text[64];
    snprintf(text, sizeof(text), "option cpus: the board has %u cores", there);
    bare_stop(text, 2);
}

/* Tools put the function and the line behind such lines. which: "at", or "from": a return address.
 */
static void say_place(const char *which, uintptr_t pc)
{
    char text[48];
    int n = snprintf(text, sizeof(text), "pirn: %s %#lx\n", which, (unsigned long)pc);
    port_write(text, (size_t)n);
}

void bare_fault(const struct bare_fault *fault)
{
    char text[256], who[64] = "";
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        rt_describe_thread(rt_cpu_thread(cpu), who, sizeof(who));
    }
    int n = snprintf(text, sizeof(text), "pirn: fault: %s (cause %lu), address %#lx%s%s\n",
                     fault->what, fault->cause, (unsigned long)fault->address,
                     who[0] != '\0' ? ", in thread " : "", who);
    port_write(text, (size_t)n);
    say_place("at", fault->pc);
    if (fault->caller != 0) {
        say_place("from", fault->caller);
    }
    port_panic();
}

static NORETURN void overflow(uintptr_t pc)
{
    char text[256] = "pirn: stack overflow\n";
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        rt_describe_full_stack(rt_cpu_thread(cpu), text, sizeof(text));
    }
    port_write(text, strlen(text));
    if (pc != 0) {
        say_place("at", pc);
    }
    port_panic();
}

void bare_no_room(uintptr_t pc)
{
    overflow(pc);
}

/* The core is about to switch: its running thread is the one that was to go on. */
void bare_overflow(const struct port_thread *t)
{
    char text[256];
    rt_describe_full_stack(rt_thread_of_port(t), text, sizeof(text));
    port_write(text, strlen(text));
    port_panic();
}

/* SPDX-License-Identifier: MIT */
/*
 * bare_message.c (bare) - what is said of a program that cannot go on. Any context.
 */
#include "bare.h"
#include "port_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_OF_FAULT 16
#define OWN_CALLS 2048u /* bytes of stack */
#define STATUS_CRASHED 134

void bare_stop(const char *what, int status)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "pirn: %s\n", what);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    board_exit(status);
}

void port_error_text(int error, char *text, size_t size)
{
    if (error == -ENOMEM || error == -EAGAIN) {
        snprintf(text, size,
                 "the memory of the board is used up (error %d); use fewer CPUs (option cpus) or "
                 "smaller stacks (option stack)",
                 -error);
    } else if (error == -ENODEV) {
        snprintf(text, size, "this board has no such hardware (error %d)", -error);
    } else {
        snprintf(text, size, "error %d", -error);
    }
}

void bare_say_stuck(unsigned cpu)
{
    char text[80];
    int n = snprintf(text, sizeof(text),
                     "pirn: watchdog: CPU %u makes no progress; the watchdog is not served\n", cpu);
    port_write(text, (size_t)n);
    if (RT_REPORT) {
        rt_dump();
    }
}

void bare_few_cores(unsigned there)
{
    char text[64];
    snprintf(text, sizeof(text), "option cpus: the board has %u cores", there);
    bare_stop(text, 2);
}

void bare_say_place(const char *which, uintptr_t pc)
{
    char text[48];
    int n = snprintf(text, sizeof(text), "pirn: %s %#lx\n", which, (unsigned long)pc);
    port_write(text, (size_t)n);
}

/* A report may fail, as a stack has been overrun: an overflow in the first one is reported, another
 * fault is not. */
static void report_begins(void)
{
    static uint8_t reports[BARE_CORES];
    if (++reports[arch_core() - bare_cores] > 2) {
        bare_stop("a fault while another one was reported", STATUS_CRASHED);
    }
}

static void say_overflow_of(const char *what, const char *who, size_t size, const char *larger)
{
    char text[256];
    int n = snprintf(text, sizeof(text),
                     "pirn: stack overflow in %s%s: its %lu bytes are used up (%s)\n", what, who,
                     (unsigned long)size, larger);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void say_overflow(const struct thread *t)
{
    char who[64] = "\"main\"";
    unsigned core = (unsigned)(arch_core() - bare_cores);
    const struct bare_own *own = &bare_own[core];
    bool is_own = arch_core()->stack_low == own->low;
    if (t != NULL) {
        rt_describe_thread(t, who, sizeof(who));
    }
    if (t != NULL ? rt_thread_is_idle(t) : core != 0) {
        snprintf(who, sizeof(who), "%u", core);
        say_overflow_of("the scheduler of core ", who,
                        is_own ? own->high - own->low : BARE_CORE_STACK,
                        "handlers of interrupts use it while the core sleeps");
    } else if (is_own || t == NULL) {
        say_overflow_of("thread ", who, bare_own[0].high - bare_own[0].low,
                        "the linker's symbol bare_first_stack_size makes it larger");
    } else {
        say_overflow_of("thread ", who, rt_thread_stack_size(t),
                        "PIRN_STACK or the stack size attribute makes it larger");
    }
}

/* Say the calls on its stack, from `from` to `to`. */
static NORETURN void overflow(const struct thread *t, uintptr_t pc, uintptr_t from, uintptr_t to)
{
    uintptr_t low = arch_core()->stack_low;
    bare_write_regain();
    report_begins();
    say_overflow(t);
    if (pc != 0) {
        bare_say_place("at", pc);
    }
    bare_say_calls(t, from > low ? from : low, to, CALLS_OF_FAULT);
    port_panic();
}

/* The stack pointer is below the stack, or the access was to the zone below it. (Handlers may have
 * the stack of traps.) */
static bool is_overflow(const struct bare_fault *fault)
{
    uintptr_t low = arch_core()->stack_low, trap = arch_core()->trap_stack;
    bool in_trap = trap - fault->sp < BARE_TRAP_STACK;
    return (fault->sp != 0 && fault->sp < low && !in_trap) ||
           low - fault->address - 1 < BARE_ZONE_MOST;
}

/* "in thread ...", or whose function it is if the core runs one for an interrupt. t: the thread
 * that runs, or is interrupted; NULL: main, which has not called the runtime, or a core begins. */
static void say_where(const struct thread *t, char *text, size_t size)
{
    char who[64] = "\"main\"";
    uint32_t handler = arch_core()->handler;
    if (t != NULL) {
        rt_describe_thread(t, who, sizeof(who));
    }
    if (handler == BARE_WATCHDOG) {
        snprintf(text, size, "in the watchdog's function");
    } else if (handler != 0) {
        snprintf(text, size, "in the handler of interrupt %lu", (unsigned long)handler - 1);
    } else if (t != NULL || arch_core() == bare_cores) {
        snprintf(text, size, "in thread %s", who);
    } else {
        snprintf(text, size, "on core %u", (unsigned)(arch_core() - bare_cores));
    }
}

void bare_fault(const struct bare_fault *fault)
{
    char text[256], where[96];
    struct cpu *cpu = port_cpu_self();
    struct thread *t = cpu != NULL ? rt_cpu_thread(cpu) : NULL;
    if (is_overflow(fault)) {
        overflow(t, fault->pc, fault->sp, UINTPTR_MAX);
    }
    report_begins();
    say_where(t, where, sizeof(where));
    int n = snprintf(text, sizeof(text), "pirn: fault: %s (cause %lu), address %#lx, %s\n",
                     fault->what, fault->cause, (unsigned long)fault->address, where);
    port_write(text, (size_t)n);
    bare_say_place("at", fault->pc);
    if (fault->caller != 0) {
        bare_say_place("from", fault->caller);
    }
    if (fault->sp != 0) {
        bare_say_calls(t, fault->sp, UINTPTR_MAX, CALLS_OF_FAULT);
    }
    port_panic();
}

/* The C library's ends the program without a word. Weak: the program may have one. */
__attribute__((weak)) void abort(void)
{
    char text[128], where[96];
    struct cpu *cpu = port_cpu_self();
    struct thread *t = cpu != NULL ? rt_cpu_thread(cpu) : NULL;
    (void)arch_irq_save();
    say_where(t, where, sizeof(where));
    int n = snprintf(text, sizeof(text), "pirn: abort, %s\n", where);
    port_write(text, (size_t)n);
    bare_say_place("from", (uintptr_t)__builtin_return_address(0)); /* no call returns from here */
    bare_say_calls(t, (uintptr_t)__builtin_frame_address(0), UINTPTR_MAX, CALLS_OF_FAULT);
    port_panic();
}

void bare_no_room(uintptr_t pc)
{
    struct cpu *cpu = port_cpu_self();
    overflow(cpu != NULL ? rt_cpu_thread(cpu) : NULL, pc, arch_core()->stack_low, UINTPTR_MAX);
}

/* The handler's wait is described as if it were the interrupted thread's. */
static void say_wait(const struct thread *t)
{
    char wait[96], text[128];
    if (rt_describe_wait(t, wait, sizeof(wait))) {
        int n = snprintf(text, sizeof(text), "pirn: it waits for %s\n", wait);
        port_write(text, (size_t)n);
    }
}

/* t: the interrupted thread. */
static NORETURN void handler_refuse(const struct thread *t, const char *what)
{
    char text[160];
    uint32_t handler = arch_core()->handler;
    RT_ASSERT(bare_in_handler());
    int n = handler != BARE_WATCHDOG
                ? snprintf(text, sizeof(text), "pirn: the handler of interrupt %lu %s\n",
                           (unsigned long)handler - 1, what)
                : snprintf(text, sizeof(text), "pirn: the watchdog's function %s\n", what);
    port_write(text, (size_t)n);
    if (RT_REPORT && t != NULL) {
        say_wait(t);
    }
    bare_say_calls(t, (uintptr_t)__builtin_frame_address(0), UINTPTR_MAX, CALLS_OF_FAULT);
    port_panic();
}

/* One that others may interrupt comes with interrupts enabled. */
void port_handler_refuse(const char *what)
{
    (void)arch_irq_save();
    struct cpu *cpu = port_cpu_self();
    handler_refuse(cpu != NULL ? rt_cpu_thread(cpu) : NULL, what);
}

/* If the thread is not deep any more, the remains of its earlier calls say more than its active
 * calls: they lie below the stack that this report uses. */
void bare_overflow(const struct thread *t, uintptr_t sp)
{
    uintptr_t low = arch_core()->stack_low;
    bool deep = sp < low + OWN_CALLS;
    overflow(t, 0, deep ? sp : low, deep ? UINTPTR_MAX : sp - OWN_CALLS);
}

/* The core is about to switch away from the running thread. */
void bare_switch_refused(const struct port_thread *port)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (arch_core()->depth != 0 && !bare_stack_is_over()) {
        handler_refuse(rt_thread_of_port(port),
                       "waits, yields or ends, which handlers must not do");
    }
    bare_overflow(rt_thread_of_port(port), sp);
}

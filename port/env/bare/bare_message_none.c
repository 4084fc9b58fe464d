/* SPDX-License-Identifier: MIT */
/*
 * bare_message_none.c (bare) - a library without messages: the status is all that is said.
 */
#include "bare.h"
#include "port_report.h"

void bare_stop_quietly(int status)
{
    board_exit(status);
}

/* No message shows it. */
void port_error_text(int error, char *text, size_t size)
{
    (void)error;
    (void)size;
    text[0] = '\0';
}

void bare_few_cores(unsigned there)
{
    (void)there;
    board_exit(2);
}

void bare_say_stuck(unsigned cpu)
{
    (void)cpu;
    if (RT_REPORT) {
        rt_dump();
    }
}

void bare_fault(const struct bare_fault *fault)
{
    (void)fault;
    port_panic();
}

void bare_no_room(uintptr_t pc)
{
    (void)pc;
    port_panic();
}

void bare_overflow(const struct thread *t, uintptr_t from)
{
    (void)t;
    (void)from;
    port_panic();
}

void bare_switch_refused(const struct port_thread *t)
{
    (void)t;
    port_panic();
}

void bare_say_place(const char *which, uintptr_t pc)
{
    (void)which;
    (void)pc;
}

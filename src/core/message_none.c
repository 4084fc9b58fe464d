/* SPDX-License-Identifier: MIT */
/* message_none.c - a library without messages: the program ends, and its status says why. */
#include "check.h"
#include "port.h"

void rt_panic_quietly(void)
{
    port_panic();
}

void rt_refuse_quietly(void)
{
    port_exit_now(2);
}

void rt_no_such_call(void)
{
    port_exit_now(1);
}

/* SPDX-License-Identifier: MIT */
/*
 * board.h - the contract between the bare environment and a board: addresses and devices, nothing
 * else. Everything else about a board is in its description, board.toml: memory, addresses for the
 * devices that boards share, compiler, tests.
 *
 * A core has a number of its own, 0 to board_core_count() - 1, which it takes at reset; `hart` is
 * the hardware's name for it.
 */
#ifndef PIRN_ENV_BARE_BOARD_H
#define PIRN_ENV_BARE_BOARD_H

#include "compiler.h"

/* Cores of the machine that is running, found at reset. */
unsigned board_core_count(void);

/* Make the other cores, which wait since reset, check whether they should start. And their wait,
 * until the former is called; it may return early. A wake-up that has ended one wait does not end
 * the next. */
void board_cores_wake(void);
void board_core_wait(void);

/* On each core, before it takes interrupts: its timer and its inter-core interrupt exist, the timer
 * is not set. */
void board_core_begin(void);

/* Interrupt another core: bare_on_ipi there. The caller, in bare_on_ipi's handler: it is taken. */
void board_ipi(unsigned hart);
void board_ipi_taken(void);

/* The clock: the same on all cores; ticks a second, which stay the same once the first core has
 * begun (board_core_begin). */
uint64_t board_clock(void);
uint32_t board_clock_hz(void);

/* The caller's timer: bare_on_timer when the clock reaches `at`; UINT64_MAX: never. Replaces what
 * was asked before. */
void board_timer_set(uint64_t at);

/* The console. Write a byte, waiting until there is room; any context. */
void board_console_put(char c);

/* Take a byte that has come: -1: there is none. After board_console_listen it interrupts while one
 * is there, as board_console_source(). A console that cannot interrupt: board_console_source is a
 * number for which board_irq_has says false. Then a thread that reads calls board_console_get
 * every millisecond, and board_console_listen is not called. */
int board_console_get(void);
void board_console_listen(void);
unsigned board_console_source(void);

/* The caller of these four functions has a lock that is held for every call of them; hart is a
 * core's.
 *
 * Is there such a source, can it interrupt that core, and with that priority? Priorities go from 0,
 * which is that of the core's own interrupts, to PIRN_IRQ_PRIORITIES - 1. Always false where there
 * is no controller for devices. */
bool board_irq_has(unsigned source, unsigned hart, unsigned priority);

/* It interrupts that core from now on, and no other; or none any more. What comes meanwhile stays
 * pending. */
void board_irq_enable(unsigned source, unsigned hart, unsigned priority);
void board_irq_disable(unsigned source, unsigned hart);

/* On a core whose handler begins or ends: sources of priority `from` and higher interrupt the core,
 * lower ones wait. Empty where the controller keeps back what is not higher than the running
 * handler's; it does so until board_on_device ends. */
void board_irq_admit(unsigned from);

/* A device has interrupted: find out which, and call bare_on_device. Where one controller has all
 * interrupts, timers and those between cores, too: bare_on_timer, bare_on_ipi. Empty where no
 * device interrupts. */
void board_on_device(void);

/* End the machine, with exit status 0 to 255 of the program that runs it. */
NORETURN void board_exit(int status);

#endif

/* SPDX-License-Identifier: MIT
 *
 * pirn-kernel: its commands and what they share. Each command gets its own command line, argv[0]
 * being its name, and returns the status of the process. Errors of the user end the process with a
 * sentence: status 2 for the command line, 1 for the rest.
 */
#ifndef KERNEL_TOOL_H
#define KERNEL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../shared.h"

int command_load(int argc, char **argv);
int command_unload(int argc, char **argv);
int command_status(int argc, char **argv);
int command_counters(int argc, char **argv);
int command_events(int argc, char **argv);
int command_add(int argc, char **argv);
int command_delete(int argc, char **argv);
int command_list(int argc, char **argv);
int command_run(int argc, char **argv);

/* ---- system.c: the kernel's side ---- */

/* Ends the process if this kernel or this user cannot use sched_ext. */
void require_sched_ext(void);
void require_privileges(void);
void require_bpffs(void);

/* The loaded scheduler's name; empty: none. */
void loaded_scheduler(char *name, size_t size);
bool is_ours(const char *name);

/* Opens one of the pinned maps; ends the process if no scheduler of ours is loaded, or none can
 * be. */
int require_map(const char *pin);

/* Why the scheduler ended; false: it runs, or nothing is pinned. */
bool scheduler_ended(struct kernel_end *end);
void print_end(FILE *to, const struct kernel_end *end);

/* Removes all pins and their folder. */
void remove_pins(void);

/* ---- names.c: threads ---- */

/* The number of the thread that an operand names, by number or name. Ends the process if there is
 * none, or several have the name. */
uint32_t operand_thread(const char *operand);
/* Its name; "?" if it has ended. */
void thread_name(uint32_t tid, char *name, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * filter.h - filters of system calls (seccomp(2)) from files like docker.filter, each line one of
 *
 *   # a comment
 *   ACTION CALL...                  these calls get the action; the first line with a call counts
 *   ACTION CALL if ARG MASK VALUE   ... if (argument ARG & MASK) == VALUE; numbers as in C
 *   default ACTION                  for calls that no line names
 *   newer ACTION                    for calls with a higher number than all that are named
 *
 * ACTION is allow, kill, or errno NUMBER. Calls that the system's headers do not know are left out.
 * A wrong file ends the program with a message.
 */
#ifndef PIRN_TESTS_FILTER_H
#define PIRN_TESTS_FILTER_H

/* From now on for the calling process and what it executes; it gets no new privileges. */
void filter_install(const char *path);

#endif

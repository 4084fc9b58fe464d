/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of the system that may wait: how each comes to wait, and what ends its wait. For
 * io_block.c (others run meanwhile) and io_eintr.c (handlers interrupt it).
 */
#ifndef CONFORMANCE_CALLS_H
#define CONFORMANCE_CALLS_H

#include "harness.h"

/* What a handler that interrupts the call does to it. */
enum after_handler {
    RESTARTS,     /* SA_RESTART: the call goes on; else EINTR */
    ALWAYS_EINTR, /* EINTR, SA_RESTART or not */
    HIDDEN,       /* it goes on: the C library repeats what it waits for */
};

struct call {
    const char *name;
    void (*setup)(void);   /* afterwards the call waits, and nothing but `satisfy` ends that */
    int (*run)(void);      /* 0: it has returned what it must; else its error */
    void (*satisfy)(void); /* by another thread, once */
    enum after_handler handler;
};

struct call_table {
    const struct call *calls;
    size_t count;
};

extern const struct call_table descriptor_calls, process_calls;

/* The error of a call that returned `result`; 0 if it is not -1. `gives`: then it must be `want`.
 */
int error_of(long result);
int gives(long result, long want);

/* A thread that makes the call. When this returns it waits, or nearly so. */
pthread_t call_start(const struct call *c);
bool call_has_returned(void);
int call_result(void);

/* Makes the call in this thread, and satisfies it in another. */
int call_here(const struct call *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * calls.h - system calls that may wait: how each is made to wait, and the action that ends its
 * wait. For io_block.c (others run meanwhile) and io_eintr.c (handlers interrupt it).
 */
#ifndef CONFORMANCE_CALLS_H
#define CONFORMANCE_CALLS_H

#include "harness.h"

/* The effect of a handler that interrupts the call. */
enum after_handler {
    RESTARTS,     /* with SA_RESTART the call continues; else EINTR */
    ALWAYS_EINTR, /* EINTR, with or without SA_RESTART */
    HIDDEN,       /* continues: the C library repeats the call */
};

struct call {
    const char *name;
    void (*setup)(void);   /* afterwards the call waits, and only `satisfy` ends the wait */
    int (*run)(void);      /* 0: the result is right; else the error */
    void (*satisfy)(void); /* called by another thread, once */
    enum after_handler handler;
};

struct call_table {
    const struct call *calls;
    size_t count;
};

extern const struct call_table descriptor_calls, process_calls;

/* The error of a call that returned `result`; 0 if that is not -1. If `gives`, it must be
 * `want`. */
int error_of(long result);
int gives(long result, long want);

/* A thread that makes the call. When this returns, the thread waits, or nearly so. */
pthread_t call_start(const struct call *c);
bool call_has_returned(void);
int call_result(void);

/* Makes the call in this thread, and satisfies it in another. */
int call_here(const struct call *c);

#endif

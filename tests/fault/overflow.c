/* SPDX-License-Identifier: MIT */
/*
 * overflow.c - a user thread needs more stack than it has: the message names it, and the program
 * ends by SIGSEGV.
 */
#include <string.h>

#include "fault.h"

static bool elsewhere; /* overflow only on a worker that is not the main thread's */
static bool arrived;

/* Frames are smaller than a page, so none steps over the guard. */
static unsigned __attribute__((noinline)) deeper(unsigned n)
{
    volatile unsigned char frame[512];
    frame[n % sizeof(frame)] = (unsigned char)n;
    return deeper(n + 1) + frame[n % sizeof(frame)];
}

static void *overflow_main(void *arg)
{
    while (elsewhere && pirn_cpu_self() == 0) {
        pirn_yield();
    }
    __atomic_store_n(&arrived, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&fault_no_stdio, true, __ATOMIC_SEQ_CST);
    return (void *)(uintptr_t)(deeper(0) + (arg != NULL));
}

void fault_overflow(const char *whose)
{
    static pirn_thread_storage_t storage;
    pirn_attr_t attr = {.name = "deep one", .detached = strcmp(whose, "detached") == 0};
    pirn_thread_t t;
    elsewhere = strcmp(whose, "elsewhere") == 0;
    attr.stack_size = strcmp(whose, "sized") == 0 ? 32768 : 0;
    attr.storage = strcmp(whose, "static") == 0 ? &storage : NULL;
    CHECK(!elsewhere || pirn_cpu_count() > 1);
    CHECK(pirn_create(&t, &attr, overflow_main, NULL) == 0);
    while (elsewhere && !__atomic_load_n(&arrived, __ATOMIC_SEQ_CST)) {
        /* keep this worker busy: another one must take the thread */
    }
    for (;;) {
        pirn_sleep(1000000000);
    }
}

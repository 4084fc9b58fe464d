/* SPDX-License-Identifier: MIT */
/*
 * static.h - threads whose stack and descriptor are variables of the program. Their memory is known
 * when the program is linked, and nothing is allocated for them. (Objects such as mutexes are the
 * program's variables anyway: pirn.h.)
 *
 *     #include <pirn/static.h>
 *
 *     static void *blink(void *arg) { ... }
 *     PIRN_THREAD_DEFINE(blinker, 4096, blink, NULL);        it runs when main begins
 *     PIRN_THREAD_ROOM(worker, 4096, work, NULL);            it runs from pirn_static_create on
 *
 *     pirn_static_create(&worker);
 *     pirn_join(worker.thread, NULL);
 *
 * A thread that has been joined can be created again. It is joinable and takes its name from its
 * variable. Its class and priority are those of `sched`, or of its creator.
 */
#ifndef PIRN_STATIC_H
#define PIRN_STATIC_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pirn_static_thread {
    pirn_thread_t thread; /* valid once the thread has been created */
    void *(*fn)(void *);
    void *arg;
    void *stack;
    size_t stack_size;
    pirn_thread_storage_t *storage;
    const char *name;
    const pirn_sched_t *sched; /* NULL = the creator's; set it before creating the thread */
} pirn_static_thread_t;

/* A variable for a stack. `bytes` is the size of the whole stack, including the thread's block of
 * thread-local storage if it has one; at least pirn_static_stack_min(). */
#define PIRN_STACK_ALIGN 64u
#define PIRN_STACK_BYTES(bytes)                                                                    \
    (((bytes) + PIRN_STACK_ALIGN - 1u) & ~(size_t)(PIRN_STACK_ALIGN - 1u))
#define PIRN_STACK(name, bytes)                                                                    \
    unsigned char name[PIRN_STACK_BYTES(bytes)] __attribute__((aligned(64)))

/* Define the variables of a thread, with `name` for the thread, at file scope. */
#define PIRN_THREAD_ROOM(name, bytes, fn, arg)                                                     \
    static struct {                                                                                \
        PIRN_STACK(stack, bytes);                                                                  \
        pirn_thread_storage_t storage; /* above it: an overflow does not reach it */               \
    } name##_room;                                                                                 \
    static pirn_static_thread_t name = {                                                           \
        0, fn, arg, name##_room.stack, sizeof(name##_room.stack), &name##_room.storage, #name, 0}

/* The same, and create the thread before main begins, in the order of the definitions in the file.
 * The runtime starts with it. If the thread cannot be created, the program ends with a message. In
 * C++ the thread begins before the constructors of the file's objects run. */
#define PIRN_THREAD_DEFINE(name, bytes, fn, arg)                                                   \
    PIRN_THREAD_ROOM(name, bytes, fn, arg);                                                        \
    static __attribute__((constructor)) void name##_begins(void)                                   \
    {                                                                                              \
        pirn_static_begin(&name);                                                                  \
    }                                                                                              \
    struct pirn_static_thread

/* Create the thread, as pirn_create. -EBUSY: it has been created and not been joined; -EINVAL: its
 * stack is too small. From any thread, one at a time for each variable; not from an interrupt
 * handler. */
int pirn_static_create(pirn_static_thread_t *thread);

/* Wait until it ends, as pirn_join. -ESRCH: it has not been created. From threads. */
int pirn_static_join(pirn_static_thread_t *thread, void **ret);

/* PIRN_THREAD_DEFINE calls it; programs do not. */
void pirn_static_begin(pirn_static_thread_t *thread);

/*
 * A library for boards that is built without settings (docs/guide/boards.md, small systems) reads
 * no options when the program starts. It reads this constant if the program defines it; 0 means the
 * default of each setting.
 *
 *     const struct pirn_settings pirn_settings = {.preempt = true, .tick_us = 5000};
 *
 * An invalid value ends the program with a message and status 2 when the runtime starts.
 */
struct pirn_settings {
    unsigned cpus;      /* at most; default: all */
    bool stack_fill;    /* as option stackfill; default: no */
    bool preempt;       /* default: only with POSIX threads */
    uint32_t tick_us;   /* us between ticks: 1000 or more; default 4000 */
    uint32_t slice_us;  /* us, at least a tick; default 4000, or a tick if that is longer */
    size_t stack_size;  /* bytes, for a thread that asks for no size; default 64 KiB */
    unsigned reservoir; /* stacks kept for reuse; default: none */
    bool priorities;    /* as option discipline=posix; default: only with POSIX threads */
};
extern const struct pirn_settings pirn_settings;

/* The smallest stack, bytes: pirn_stack_min plus the thread's block of thread-local storage. */
size_t pirn_static_stack_min(void);

#ifdef __cplusplus
}
#endif

#endif

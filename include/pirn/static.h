/* SPDX-License-Identifier: MIT */
/*
 * static.h - threads whose stack and descriptor are the program's own variables: their memory is
 * known when the program is linked, and nothing is allocated for them. (Objects, mutexes and so on,
 * are the program's variables anyway: pirn.h.)
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
 * After a thread was joined it can be created again. It is joinable, has its name from its
 * variable, and class and priority of its creator, or those of `sched`.
 */
#ifndef PIRN_STATIC_H
#define PIRN_STATIC_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pirn_static_thread {
    pirn_thread_t thread; /* its handle, once it has been created */
    void *(*fn)(void *);
    void *arg;
    void *stack;
    size_t stack_size;
    pirn_thread_storage_t *storage;
    const char *name;
    const pirn_sched_t *sched; /* NULL = that of the creator; to be set before it is created */
} pirn_static_thread_t;

/* A variable for a stack. `bytes` is the whole stack, in which the thread's block of thread-local
 * storage lies, too, if it has one; at least pirn_static_stack_min(). */
#define PIRN_STACK_ALIGN 64u
#define PIRN_STACK_BYTES(bytes)                                                                    \
    (((bytes) + PIRN_STACK_ALIGN - 1u) & ~(size_t)(PIRN_STACK_ALIGN - 1u))
#define PIRN_STACK(name, bytes)                                                                    \
    unsigned char name[PIRN_STACK_BYTES(bytes)] __attribute__((aligned(64)))

/* What a thread needs, `name` for it, at file scope. */
#define PIRN_THREAD_ROOM(name, bytes, fn, arg)                                                     \
    static PIRN_STACK(name##_stack, bytes);                                                        \
    static pirn_thread_storage_t name##_storage;                                                   \
    static pirn_static_thread_t name = {                                                           \
        0, fn, arg, name##_stack, sizeof(name##_stack), &name##_storage, #name, 0}

/* The same, and it is created before main begins, in the order of the file's definitions. The
 * runtime starts with it. A thread that cannot be created ends the program with a message. In C++
 * it begins before the file's objects that have constructors are made. */
#define PIRN_THREAD_DEFINE(name, bytes, fn, arg)                                                   \
    PIRN_THREAD_ROOM(name, bytes, fn, arg);                                                        \
    static __attribute__((constructor)) void name##_begins(void)                                   \
    {                                                                                              \
        pirn_static_begin(&name);                                                                  \
    }                                                                                              \
    struct pirn_static_thread

/* Create the thread, as pirn_create. -EBUSY: it has been created, and nobody has joined it;
 * -EINVAL: its stack is too small. Any thread, one at a time for each variable; not an interrupt
 * handler. */
int pirn_static_create(pirn_static_thread_t *thread);

/* Wait until it ends, as pirn_join. -ESRCH: it has not been created. */
int pirn_static_join(pirn_static_thread_t *thread, void **ret);

/* What PIRN_THREAD_DEFINE calls. */
void pirn_static_begin(pirn_static_thread_t *thread);

/*
 * A library for boards that is built without settings (docs/guide/boards.md, small systems) reads
 * none when the program starts. It takes this constant, if the program defines it; 0 is each
 * default.
 *
 *     const struct pirn_settings pirn_settings = {.preempt = true, .tick_us = 5000};
 *
 * A value that is not valid ends the program with a message and status 2 when the runtime starts.
 */
struct pirn_settings {
    unsigned cpus;      /* at most; default: all */
    bool stack_fill;    /* as option stackfill; default: no */
    bool preempt;       /* default: only with POSIX threads */
    uint32_t tick_us;   /* between ticks: 1000 or more; default 10000 */
    uint32_t slice_us;  /* at least a tick; default 10000 */
    size_t stack_size;  /* of a thread that asks for no size; default 64 KiB */
    unsigned reservoir; /* stacks that are kept for recycling; default: none */
};
extern const struct pirn_settings pirn_settings;

/* Bytes of the smallest stack: as pirn_stack_min, and the thread's block of thread-local storage.
 */
size_t pirn_static_stack_min(void);

#ifdef __cplusplus
}
#endif

#endif

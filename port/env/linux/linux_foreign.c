/* SPDX-License-Identifier: MIT */
/*
 * linux_foreign.c (Linux) - the identity of kernel threads without a CPU: the stand-ins of foreign
 * kernel threads, and the main thread before the runtime has started.
 *
 * The program's allocator may be the caller, at any time: during its initialization, with its locks
 * held, in a new kernel thread of the runtime. So nothing here calls the allocator:
 *   1. A stand-in's memory comes from the kernel (port_table_alloc, rt_foreign_new).
 *   2. A stand-in ends by the destructor of a key of the C library. The first 32 keys of a process
 *      need no memory, and under the POSIX layer the program's keys are not among them. (The C++
 *      function for the end of a thread, __cxa_thread_atexit_impl, allocates.)
 *   3. port_tls_thread is written before the value is set.
 * After the destructors the C library may still call functions that need a stand-in: free(), which
 * may be the program's; madvise(), which RDMA libraries hook. That one stays as the key's value in
 * the descriptor of the kernel thread, which lies on its stack; and the C library gives this stack,
 * as it is, to a later kernel thread. So a kernel thread that has not been identified may find a
 * stand-in: it ends that one when it gets its own, or at its end.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_report.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's: the names may be the POSIX layer's. */
static struct {
    int (*create)(pthread_key_t *key, void (*end)(void *));
    int (*set)(pthread_key_t key, const void *value);
    void *(*get)(pthread_key_t key);
    pthread_key_t key;
    uint32_t state; /* enum, (A) */
} end;
enum { END_UNKNOWN, END_BEING_MADE, END_MADE };

struct thread *port_main_thread;
void *port_main_handle;

static NORETURN void no_memory(void)
{
    char why[400], text[512];
    port_error_text(-ENOMEM, why, sizeof(why));
    snprintf(text, sizeof(text), "pirn: no memory for the stand-in of a kernel thread: %s\n", why);
    port_write(text, strlen(text));
    port_exit_now(1);
}

/* The key's destructors run after those of thread_local objects, and again if there is a new value.
 * It may be one that was left here. */
static void foreign_end(void *t)
{
    RT_ASSERT((port_tls_thread == NULL || t == port_tls_thread) && port_cpu_self() == NULL);
    rt_foreign_free(t);
    port_tls_thread = NULL;
}

static void end_make(void)
{
    *(void **)&end.create = dlsym(RTLD_NEXT, "pthread_key_create");
    *(void **)&end.set = dlsym(RTLD_NEXT, "pthread_setspecific");
    *(void **)&end.get = dlsym(RTLD_NEXT, "pthread_getspecific");
    if (end.create == NULL || end.set == NULL || end.get == NULL ||
        end.create(&end.key, foreign_end) != 0) {
        no_memory();
    }
}

static void end_announce(struct thread *t)
{
    uint32_t state = END_UNKNOWN;
    RT_ASSERT(t == port_tls_thread);
    if (__atomic_compare_exchange_n(&end.state, &state, END_BEING_MADE, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE)) { /* ORDER(helper) */
        end_make();
        __atomic_store_n(&end.state, END_MADE, __ATOMIC_RELEASE); /* ORDER(helper) */
    }
    for (unsigned round = 0;
         __atomic_load_n(&end.state, __ATOMIC_ACQUIRE) != END_MADE; /* ORDER(helper) */
         round++) {
        port_relax(round);
    }
    if (end.set(end.key, t) != 0) {
        no_memory();
    }
}

static __thread bool is_helper;

void foreign_is_helper(void)
{
    is_helper = true;
}

bool port_is_helper(void)
{
    return is_helper;
}

struct thread *port_left_self(void)
{
    struct thread *t = port_tls_thread;
    return t != NULL && !rt_thread_is_foreign(t) ? t : NULL;
}

/* Does the program's main kernel thread call, and carries no CPU? */
static bool is_main(int tid)
{
    return tid == getpid() && !rt_main_is_carrier();
}

/* NULL: there is none. */
static struct thread *foreign_left_here(void)
{
    bool made = __atomic_load_n(&end.state, __ATOMIC_ACQUIRE) == END_MADE; /* ORDER(helper) */
    return made ? end.get(end.key) : NULL;
}

static COLD NOINLINE struct thread *foreign_identify(void)
{
    int tid = (int)syscall(SYS_gettid);
    bool main = is_main(tid);
    struct thread *t = main ? rt_main_identity() : rt_foreign_new();
    if (t == NULL) {
        no_memory();
    }
    rt_thread_port(t)->tls = port_arch_tp();
    rt_thread_port(t)->tid = tid;
    port_tls_thread = t;
    if (!main) {
        struct thread *left = foreign_left_here();
        end_announce(t);
        if (left != NULL) {
            rt_foreign_free(left);
        }
    } else if (port_main_thread == NULL) {
        port_main_handle = port_tls_handle_early();
        port_main_thread = t;
    }
    return t;
}

struct thread *port_foreign_self(void)
{
    RT_ASSERT(port_cpu_self() == NULL);
    struct thread *t = port_tls_thread;
    return likely(t != NULL) ? t : foreign_identify();
}

struct thread *port_foreign_known(void)
{
    struct thread *t = port_tls_thread;
    return t != NULL && rt_thread_is_foreign(t) ? t : NULL;
}

void foreign_becomes(struct thread *t)
{
    struct thread *before = port_tls_thread;
    if (before != NULL && before != t) {
        RT_ASSERT(end.state == END_MADE);
        port_tls_thread = NULL;
        end.set(end.key, NULL);
        rt_foreign_becomes(before, t);
    }
}

/* The kernel thread of the child has a number of its own. */
void foreign_forked(bool started)
{
    RT_ASSERT(port_cpu_self() == NULL);
    if (end.state == END_BEING_MADE) { /* by a kernel thread that is not here */
        end.state = END_UNKNOWN;
    }
    if (started) {
        port_tls_thread = rt_main_identity();
        if (end.state == END_MADE) { /* it was perhaps a stand-in, which would end */
            end.set(end.key, NULL);
        }
    }
    if (port_tls_thread != NULL) {
        rt_thread_port(port_tls_thread)->tid = (int)syscall(SYS_gettid);
    }
}

void port_foreign_park(struct thread *t, uint64_t deadline)
{
    RT_ASSERT(port_cpu_self() == NULL && t == port_tls_thread);
    permit_wait(&rt_thread_port(t)->permit, deadline);
}

void port_foreign_unpark(struct thread *t)
{
    permit_post(&rt_thread_port(t)->permit);
}

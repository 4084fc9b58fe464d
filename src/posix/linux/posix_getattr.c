/* SPDX-License-Identifier: MIT */
/*
 * posix_getattr.c - pthread_getattr_np: the actual attributes of a thread. Garbage collectors and
 * language runtimes read the bounds of their stacks from it.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "port_affinity.h"
#include "port_posix.h"
#include "posix_sanitizer.h"
#include "runtime.h"

extern void *__libc_stack_end;

/* The main thread's stack ends where its mapping ends. It may grow down to the resource limit or to
 * the mapping below. */
static int main_stack(char **top, size_t *size)
{
    struct rlimit limit;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL || getrlimit(RLIMIT_STACK, &limit) != 0) {
        int error = errno;
        if (maps != NULL) {
            fclose(maps);
        }
        return error;
    }
    char line[512];
    uintptr_t from, to, below = 0;
    int error = ENOENT;
    while (error != 0 && fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx", &from, &to) != 2) {
            continue;
        }
        if (from <= (uintptr_t)__libc_stack_end && (uintptr_t)__libc_stack_end < to) {
            size_t room = to - below;
            *top = (char *)to;
            *size = limit.rlim_cur < room ? limit.rlim_cur & ~(size_t)4095 : room;
            error = 0;
        }
        below = to;
    }
    fclose(maps);
    return error;
}

static bool is_detached(struct thread *t)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&t->join.lock, RANK_JOIN);
    bool detached = t->join_flags & JOIN_DETACHED;
    state_unlock(&t->join.lock, RANK_JOIN);
    rt_leave(irq);
    return detached;
}

/* A foreign thread's stack: the C library knows it. */
static int foreign(struct thread *t, pthread_t thread, pthread_attr_t *attr)
{
    if (t == rt_identity()) {
        return posix_sanitizer_getattr(posix_sanitizer_self(), attr);
    }
    return port_tls_own ? posix_sanitizer_getattr(thread, attr) : ESRCH;
}

/* The main thread of a child that a foreign thread has forked is on that one's stack. */
static int foreign_stack(struct thread *t, pthread_t thread, struct posix_attr *a)
{
    pthread_attr_t theirs;
    void *low;
    int error = foreign(t, thread, &theirs);
    if (error == 0) {
        error = pirn_pthread_attr_getstack(&theirs, &low, &a->size);
        pirn_pthread_attr_getguardsize(&theirs, &a->guard);
        a->top = (char *)low + a->size;
        pirn_pthread_attr_destroy(&theirs);
    }
    return error;
}

static int get_stack(struct thread *t, pthread_t thread, struct posix_attr *a)
{
    if (t == &rt.main_thread) {
        a->guard = 0;
        return main_stack(&a->top, &a->size);
    }
    if (t->flags & THREAD_MAIN) {
        return foreign_stack(t, thread, a);
    }
    uintptr_t low = (uintptr_t)t->stack.low;
    uintptr_t at = (uintptr_t)t;
    /* The descriptor lies above the stack, except that of a thread in the caller's own storage. A
     * stack that the program supplied is returned as it was given. */
    bool inside =
        at > low && at <= low + t->stack.size && !(t->flags & THREAD_OWN_STACK); /* or as given */
    a->top = (char *)(inside ? at : low + t->stack.size);
    a->size = (uintptr_t)a->top - low;
    a->guard = t->stack.guard;
    return 0;
}

int pirn_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    if (unlikely(port_helper_self())) {
        return posix_sanitizer_getattr(thread, attr);
    }
    struct thread *t = posix_thread(thread);
    cpu_set_t cpus;
    if (t == NULL) {
        return ESRCH;
    }
    if ((t->flags & (THREAD_FOREIGN | THREAD_MAIN)) == THREAD_FOREIGN) {
        return foreign(t, thread, attr);
    }
    pirn_pthread_attr_init(attr);
    ATTR(attr)->flags = POSIX_ATTR_STACK | (is_detached(t) ? POSIX_ATTR_DETACHED : 0);
    struct sched_param param;
    pirn_pthread_getschedparam(thread, &ATTR(attr)->policy, &param);
    ATTR(attr)->priority = param.sched_priority;
    int error = get_stack(t, thread, ATTR(attr));
    if (error == 0) {
        error = -port_cpus_get(&t->port, &cpus);
    }
    return error != 0 ? error : pirn_pthread_attr_setaffinity_np(attr, sizeof(cpus), &cpus);
}

/* SPDX-License-Identifier: MIT */
/*
 * posix_attr_ext.c - thread attributes that need memory of their own (CPU set, signal mask), and
 * the defaults of the process (pthread_setattr_default_np).
 *
 * The extension has glibc's layout and comes from malloc, because glibc's own functions read and
 * copy attributes. The set that `cpuset` points to lies behind the extension.
 *
 * Lock: defaults.lock (RANK_STACK), taken alone; nothing is allocated under it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../signals/posix_signal.h"
#include "port_affinity.h"

#ifndef PTHREAD_ATTR_NO_SIGMASK_NP
#define PTHREAD_ATTR_NO_SIGMASK_NP (-1) /* glibc 2.32 and newer */
#endif

_Static_assert(offsetof(struct posix_attr, guard) == 16, "pthread_attr_t");
_Static_assert(offsetof(struct posix_attr, size) == 32, "pthread_attr_t");
_Static_assert(offsetof(struct posix_attr, extension) == 40, "pthread_attr_t");

_Atomic(uint32_t) posix_attr_default_set;

static struct {
    spinlock_t lock;
    struct posix_attr attr;
    struct posix_attr_extension extension; /* attr.extension is NULL or this */
} defaults;

void posix_attr_forked(void)
{
    at_init(&defaults.lock.word, 0u);
}

static struct posix_attr_extension *extension_of(pthread_attr_t *attr)
{
    struct posix_attr *a = ATTR(attr);
    if (a->extension == NULL) {
        a->extension = calloc(1, sizeof(*a->extension));
    }
    return a->extension;
}

int pirn_pthread_attr_setstackaddr(pthread_attr_t *attr, void *top)
{
    ATTR(attr)->top = top;
    ATTR(attr)->flags |= POSIX_ATTR_STACK;
    return 0;
}

int pirn_pthread_attr_getstackaddr(const pthread_attr_t *attr, void **top)
{
    *top = CONST_ATTR(attr)->top;
    return 0;
}

int pirn_pthread_attr_destroy(pthread_attr_t *attr)
{
    struct posix_attr_extension *x = ATTR(attr)->extension;
    if (x != NULL && x->cpuset != &x->set) {
        free(x->cpuset); /* the C library's pthread_getattr_np allocated it */
    }
    free(x);
    ATTR(attr)->extension = NULL;
    return 0;
}

/* A set may have any size, but no bit beyond `room` bytes may be set. */
static bool cpus_fit(const void *set, size_t size, size_t room)
{
    const unsigned char *bytes = set;
    for (size_t i = room; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

int pirn_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set)
{
    if (set == NULL || size == 0) {
        if (ATTR(attr)->extension != NULL) {
            ATTR(attr)->extension->cpuset = NULL;
            ATTR(attr)->extension->cpusetsize = 0;
        }
        return 0;
    }
    if (!cpus_fit(set, size, sizeof(cpu_set_t))) {
        return EINVAL;
    }
    struct posix_attr_extension *x = extension_of(attr);
    if (x == NULL) {
        return ENOMEM;
    }
    memset(&x->set, 0, sizeof(x->set));
    memcpy(&x->set, set, size < sizeof(x->set) ? size : sizeof(x->set));
    x->cpuset = &x->set;
    x->cpusetsize = sizeof(x->set);
    return 0;
}

int pirn_pthread_attr_getaffinity_np(const pthread_attr_t *attr, size_t size, cpu_set_t *set)
{
    const struct posix_attr_extension *x = CONST_ATTR(attr)->extension;
    if (x == NULL || x->cpuset == NULL) {
        memset(set, 0xff, size);
        return 0;
    }
    if (!cpus_fit(x->cpuset, x->cpusetsize, size)) {
        return EINVAL;
    }
    memset(set, 0, size);
    memcpy(set, x->cpuset, size < x->cpusetsize ? size : x->cpusetsize);
    return 0;
}

int pirn_pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask)
{
    if (mask == NULL) {
        if (ATTR(attr)->extension != NULL) {
            ATTR(attr)->extension->sigmask_set = false;
        }
        return 0;
    }
    struct posix_attr_extension *x = extension_of(attr);
    if (x == NULL) {
        return ENOMEM;
    }
    x->sigmask = *mask;
    x->sigmask_set = true;
    return 0;
}

int pirn_pthread_attr_getsigmask_np(const pthread_attr_t *attr, sigset_t *mask)
{
    const struct posix_attr_extension *x = CONST_ATTR(attr)->extension;
    if (x == NULL || !x->sigmask_set) {
        sigemptyset(mask);
        return PTHREAD_ATTR_NO_SIGMASK_NP;
    }
    *mask = x->sigmask;
    return 0;
}

int posix_attr_translate_more(const struct posix_attr *attr, struct thread_attr *out)
{
    const struct posix_attr_extension *x = attr->extension;
    const struct port_cpus *cpus;
    if (x == NULL) {
        return 0;
    }
    if (x->sigmask_set) {
        rt_self(); /* starts the runtime */
        if (!posix_signals_begin()) {
            return ENOTSUP;
        }
        out->sigmask = (const uint64_t *)(const void *)&x->sigmask;
    }
    int error = x->cpuset != NULL ? -port_cpus_find(x->cpuset, x->cpusetsize, &cpus) : 0;
    if (x->cpuset != NULL && error == 0) {
        out->cpus = cpus;
    }
    return error;
}

/* ---- defaults ---- */

/* Copies *from. The extension is copied to *x. */
static void attr_copy(struct posix_attr *to, struct posix_attr_extension *x,
                      const struct posix_attr *from)
{
    *to = *from;
    to->extension = NULL;
    if (from->extension != NULL) {
        *x = *from->extension;
        x->cpuset = x->cpuset != NULL ? &x->set : NULL;
        to->extension = x;
    }
}

size_t posix_attr_default_size(void)
{
    return at_load_rlx(&posix_attr_default_set) ? defaults.attr.size : 0;
}

int posix_attr_translate_default(struct thread_attr *out)
{
    unsigned long irq;
    rt_enter_lock(&irq, &defaults.lock, RANK_STACK);
    int error = posix_attr_translate((const pthread_attr_t *)&defaults.attr, out);
    rt_leave_unlock(irq, &defaults.lock, RANK_STACK);
    return error;
}

int pirn_pthread_getattr_default_np(pthread_attr_t *attr)
{
    unsigned long irq;
    pirn_pthread_attr_init(attr);
    struct posix_attr_extension *x = calloc(1, sizeof(*x));
    if (x == NULL) {
        return ENOMEM;
    }
    if (at_load_rlx(&posix_attr_default_set)) {
        rt_enter_lock(&irq, &defaults.lock, RANK_STACK);
        attr_copy(ATTR(attr), x, &defaults.attr);
        rt_leave_unlock(irq, &defaults.lock, RANK_STACK);
    }
    if (ATTR(attr)->extension != x) {
        free(x);
    }
    if (ATTR(attr)->size == 0) {
        ATTR(attr)->size = rt_personality.stack_size();
    }
    return 0;
}

/* Sets the attributes of threads that are created without any, and the stack size of threads whose
 * attribute has none. */
int pirn_pthread_setattr_default_np(const pthread_attr_t *attr)
{
    struct thread_attr ignored = {0};
    struct posix_attr copy = *CONST_ATTR(attr);
    unsigned long irq;
    if ((copy.flags & POSIX_ATTR_STACK) || (copy.size != 0 && copy.size < RT_STACK_MIN)) {
        return EINVAL;
    }
    int error = posix_attr_translate(attr, &ignored);
    if (error != 0) {
        return error;
    }
    rt_self();
    rt_enter_lock(&irq, &defaults.lock, RANK_STACK);
    if (copy.size == 0) {
        copy.size = defaults.attr.size;
    }
    attr_copy(&defaults.attr, &defaults.extension, &copy);
    at_store_rlx(&posix_attr_default_set, 1u);
    rt_leave_unlock(irq, &defaults.lock, RANK_STACK);
    return 0;
}

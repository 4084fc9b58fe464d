/* SPDX-License-Identifier: MIT
 *
 * Checked calls (see check.h). The thread attribute is made once and then only
 * read, so that starting a thread costs one call into the runtime.
 */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static pthread_attr_t small_stack;
static pthread_once_t small_stack_once = PTHREAD_ONCE_INIT;

void check_rc(int rc, const char *what)
{
    if (rc != 0)
        app_die("%s: %s", what, strerror(rc));
}

void *check_alloc(void *memory, size_t bytes)
{
    if (memory == NULL)
        app_die("out of memory: %zu bytes wanted", bytes);
    return memory;
}

void *array_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL)
        app_die("out of memory: %zu times %zu bytes wanted", count, bytes);
    return memory;
}

/* AArch64's system threads accept nothing below 128 KiB. */
static size_t small_stack_size(void)
{
    size_t least = (size_t)PTHREAD_STACK_MIN;

    return least > APP_STACK_SIZE ? least : APP_STACK_SIZE;
}

void small_stack_attr(pthread_attr_t *attr)
{
    check_rc(pthread_attr_init(attr), "pthread_attr_init");
    check_rc(pthread_attr_setstacksize(attr, small_stack_size()), "pthread_attr_setstacksize");
}

static void small_stack_make(void)
{
    small_stack_attr(&small_stack);
}

void thread_start(pthread_t *thread, void *(*entry)(void *), void *arg)
{
    check_rc(pthread_once(&small_stack_once, small_stack_make), "pthread_once");
    check_rc(pthread_create(thread, &small_stack, entry, arg), "pthread_create");
}

void thread_join(pthread_t thread)
{
    check_rc(pthread_join(thread, NULL), "pthread_join");
}

void semaphore_init(sem_t *sem, unsigned value)
{
    if (sem_init(sem, 0, value) != 0)
        check_rc(errno, "sem_init");
}

void semaphore_wait(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        if (errno != EINTR)
            check_rc(errno, "sem_wait");
}

void semaphore_post(sem_t *sem)
{
    if (sem_post(sem) != 0)
        check_rc(errno, "sem_post");
}

void semaphore_destroy(sem_t *sem)
{
    if (sem_destroy(sem) != 0)
        check_rc(errno, "sem_destroy");
}

/* SPDX-License-Identifier: MIT */
/*
 * static.c - threads in the program's own variables (static.h). `thread` is NULL while there is no
 * thread in them: the creator sets it, and the thread that has joined it clears it.
 */
#include <errno.h>
#include <pirn/static.h>

#include "cpu.h"
#include "port_report.h"
#include "runtime.h"

EXPORT size_t pirn_static_stack_min(void)
{
    rt_self();
    return rt_stack_min_given();
}

EXPORT int pirn_static_create(pirn_static_thread_t *thread)
{
    const pirn_attr_t attr = {.stack_size = thread->stack_size,
                              .stack = thread->stack,
                              .storage = thread->storage,
                              .name = thread->name,
                              .sched = thread->sched};
    if (thread->thread != NULL) {
        return -EBUSY;
    }
    int error = pirn_create(&thread->thread, &attr, thread->fn, thread->arg);
    if (error != 0) {
        thread->thread = NULL;
    }
    return error;
}

EXPORT int pirn_static_join(pirn_static_thread_t *thread, void **ret)
{
    if (thread->thread == NULL) {
        return -ESRCH;
    }
    int error = pirn_join(thread->thread, ret);
    if (error == 0) {
        thread->thread = NULL;
    }
    return error;
}

EXPORT void pirn_static_begin(pirn_static_thread_t *thread)
{
    int error = pirn_static_create(thread);
    if (error == 0) {
        return;
    }
    if (error == -EINVAL && thread->stack_size < rt_stack_min_given()) {
        rt_say("pirn: thread \"%s\" cannot be created: its stack has %zu bytes; at least %zu are "
               "needed\n",
               thread->name, thread->stack_size, rt_stack_min_given());
    } else {
        char why[384];
        port_error_text(error, why, sizeof(why));
        rt_say("pirn: thread \"%s\" cannot be created: %s\n", thread->name, why);
    }
    port_exit_now(1);
}

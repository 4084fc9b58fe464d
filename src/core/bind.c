/* SPDX-License-Identifier: MIT */
/*
 * bind.c - a thread binds itself to a CPU: bind.h.
 *
 * Only the thread itself changes its home, while it runs. So whoever else has it (a queue, an
 * inbox, a waker) finds a home that does not change meanwhile. If it runs on another CPU, it steps
 * aside as in a yield, and the policy's enqueue, on the stack of the next thread, sends it there.
 */
#include "bind.h"

#include <errno.h>

#include "../sched/policy.h"
#include "block.h"
#include "handed.h"
#include "runtime.h"
#include "switch.h"

static void leave_for(struct cpu *cpu)
{
    struct thread *next = rt_pick(cpu);
    switch_to(cpu, next != NULL ? next : cpu->idle, POST_YIELD, NULL);
}

int rt_bind_possible(unsigned id)
{
    rt_self(); /* starts the runtime */
    return id >= rt.ncpu ? -EINVAL : sched_binds() ? 0 : -ENOTSUP;
}

int rt_bind(int id)
{
    struct thread *self = rt_self();
    unsigned long irq;
    int error = id == -1 ? 0 : id < 0 ? -EINVAL : rt_bind_possible((unsigned)id);
    if (error != 0 || !sched_binds() || (self->flags & THREAD_FOREIGN)) {
        return error == 0 && id >= 0 ? -ENOTSUP : error;
    }
    RT_ASSERT(rt_is_outside());
    struct cpu *cpu = rt_enter(&irq);
    sched_bind(self, id);
    if (id >= 0 && cpu->id != (uint32_t)id) {
        ready_bound(self);
        leave_for(cpu);
        RT_ASSERT(port_cpu_self()->id == (uint32_t)id);
    }
    rt_leave(irq);
    return 0;
}

int rt_bound(struct thread *t)
{
    return t->flags & THREAD_FOREIGN ? -1 : sched_bound(t);
}

/* SPDX-License-Identifier: MIT */
/*
 * thread.c - the thread descriptor: its states, its name, a descriptor that has not lived yet.
 *
 * Callers: everything that makes a descriptor (thread_memory.c, stack.c, init.c, fork.c), and
 * naming. The life of a thread: thread_create.c, thread_exit.c, thread_join.c; where its memory
 * comes from: thread_memory.c.
 *
 * Invariants: those of thread.h. A descriptor that has not lived is EXITED, so that its first life
 * begins like every other.
 * Locks: none.
 */
#include <string.h>

#include "../trace/trace.h"
#include "id.h"
#include "mutant.h"
#include "port_tls.h"
#include "producers.h"
#include "runtime.h"
#include "wake.h"

static const char *const state_names[] = {"new", "ready", "running", "blocked", "exited"};

const char *thread_state_name(uint32_t state)
{
    return state < ARRAY_SIZE(state_names) ? state_names[state] : "corrupt";
}

void thread_bad_transition(const struct thread *t, uint32_t to)
{
    RT_PANIC("thread %s: state %s cannot become %s", t->name,
             thread_state_name(at_load_rlx(&t->state)), thread_state_name(to));
}

#ifdef PIRN_DEBUG
bool thread_may_change(uint32_t from, uint32_t to)
{
    static const uint8_t allowed[] = {
        [THREAD_NEW] = 1 << THREAD_READY | 1 << THREAD_RUNNING,
        [THREAD_READY] = 1 << THREAD_RUNNING,
        [THREAD_RUNNING] = 1 << THREAD_READY | 1 << THREAD_BLOCKED | 1 << THREAD_EXITED,
        [THREAD_BLOCKED] = 1 << THREAD_READY,
        [THREAD_EXITED] = 1 << THREAD_NEW,
    };
    return from < ARRAY_SIZE(allowed) && (allowed[from] & 1u << to) != 0;
}
#endif

void thread_init_bare(struct thread *t, uint32_t flags, const char *name)
{
    memset((void *)t, 0, sizeof(*t));
    at_init(&t->state, (uint32_t)THREAD_EXITED);
    at_init(&t->park, (uint32_t)PARK_NONE);
    at_init(&t->cancel, 0u);
    at_init(&t->join.lock.word, 0u);
    at_init(&t->priority, 0u);
    at_init(&t->base_priority, 0u);
    at_init(&t->sched.attr, 0u);
    if (PORT_SIGNALS && !(flags & THREAD_FOREIGN)) {
        /* until it has one: thread_create */
        thread_mask_set(t, MUTANT(SIGNAL_NEW) ? 0 : ~UINT64_C(0));
    }
    t->flags = flags;
    memset(&t->prof, 0, sizeof(t->prof));
    t->stack_class = STACK_NO_CLASS;
    thread_set_name(t, name);
}

void thread_fini_bare(struct thread *t)
{
    if (t->flags & THREAD_TLS && !(t->flags & THREAD_FOREIGN)) {
        port_tls_free(t);
    }
    id_release(t);
}

void rt_thread_rename(struct thread *t, const char *name)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    thread_set_name(t, name);
    trace_name(cpu, t);
    prof_rename(t);
    rt_leave(irq);
    producers_named(t);
}

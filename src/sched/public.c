/* SPDX-License-Identifier: MIT */
/*
 * public.c - the functions of <pirn/policy.h> for policies from outside: the core's own inline
 * functions, called through the library's boundary. All accesses to shared memory are compiled
 * here, so that the simulator sees them.
 */
#include <pirn/policy.h>

#include "cpu.h"
#include "runq_fifo.h"
#include "runtime.h"
#include "wake.h"

_Static_assert(PIRN_POLICY_ROOM == RT_POLICY_ROOM, "PIRN_POLICY_ROOM");
_Static_assert(PIRN_POLICY_LINK == sizeof(struct list), "PIRN_POLICY_LINK");
_Static_assert(PIRN_POLICY_CPUS >= RT_MAX_CPUS, "PIRN_POLICY_CPUS");
_Static_assert(sizeof(struct runq) <= sizeof(pirn_runq_t), "pirn_runq_t");
_Static_assert(sizeof(spinlock_t) == sizeof(pirn_policy_lock_t), "pirn_policy_lock_t");
_Static_assert(sizeof(_Atomic(uintptr_t)) == sizeof(pirn_policy_word_t), "pirn_policy_word_t");

#define LOCK(l) ((spinlock_t *)(l))
#define WORD(w) ((_Atomic(uintptr_t) *)(w))
#define RUNQ(q) ((struct runq *)(q))

EXPORT int pirn_sched_register(const struct pirn_policy *policy)
{
    return sched_register(policy);
}

EXPORT const char *pirn_sched_refusal(void)
{
    return sched_refusal();
}

EXPORT bool pirn_sched_pinned(void)
{
    return rt_is_pinned();
}

EXPORT bool pirn_sched_private_queues(void)
{
    return rt_has_private_queues();
}

EXPORT void *pirn_policy_room(pirn_thread_t t)
{
    return t->policy;
}

EXPORT pirn_thread_t pirn_policy_thread(void *room)
{
    return CONTAINER_OF(room, struct thread, policy);
}

EXPORT int pirn_policy_thread_cpu(pirn_thread_t t)
{
    return t->cpu != NULL ? (int)t->cpu->id : -1;
}

EXPORT unsigned pirn_policy_thread_priority(pirn_thread_t t)
{
    return at_load_rlx(&t->priority);
}

EXPORT bool pirn_policy_thread_ready(pirn_thread_t t)
{
    return at_load_rlx(&t->state) == THREAD_READY;
}

EXPORT unsigned pirn_policy_cpu_count(void)
{
    return rt.ncpu;
}

EXPORT unsigned pirn_policy_cpu_id(pirn_cpu_t cpu)
{
    return cpu->id;
}

EXPORT pirn_cpu_t pirn_policy_cpu(unsigned id)
{
    return rt.cpus[id];
}

EXPORT unsigned pirn_policy_cpu_capacity(unsigned id)
{
    return rt_capacity(id);
}

EXPORT bool pirn_policy_cpu_sleeps(unsigned id)
{
    return rt_cpu_sleeps(id);
}

EXPORT void pirn_policy_kick(pirn_cpu_t self, unsigned id)
{
    waker_fence(); /* ORDER(idle-wake) */
    rt_kick_cpu(self, id);
}

EXPORT void pirn_policy_preempt(pirn_cpu_t self, unsigned id)
{
    rt_preempt_cpu(self, id);
}

EXPORT void pirn_policy_kick_any(pirn_cpu_t self)
{
    rt_kick_any(self);
}

EXPORT void pirn_policy_post(pirn_cpu_t cpu)
{
    rt_post(cpu, RT_PENDING_POLL);
}

EXPORT void pirn_policy_lock_init(pirn_policy_lock_t *lock)
{
    at_init(&LOCK(lock)->word, 0u);
}

EXPORT void pirn_policy_lock(pirn_policy_lock_t *lock)
{
    spin_lock(LOCK(lock), RANK_RUNQ);
}

EXPORT bool pirn_policy_trylock(pirn_policy_lock_t *lock)
{
    return spin_trylock(LOCK(lock), RANK_RUNQ);
}

EXPORT void pirn_policy_unlock(pirn_policy_lock_t *lock)
{
    spin_unlock(LOCK(lock), RANK_RUNQ);
}

EXPORT void pirn_policy_word_init(pirn_policy_word_t *word, uintptr_t value)
{
    at_init(WORD(word), value);
}

EXPORT uintptr_t pirn_policy_peek(const pirn_policy_word_t *word)
{
    return at_load_rlx(WORD(word));
}

EXPORT uintptr_t pirn_policy_load(const pirn_policy_word_t *word)
{
    return at_load_acq(WORD(word)); /* ORDER(policy-word) */
}

EXPORT void pirn_policy_store(pirn_policy_word_t *word, uintptr_t value)
{
    at_store_rel(WORD(word), value); /* ORDER(policy-word) */
}

EXPORT uintptr_t pirn_policy_add(pirn_policy_word_t *word, uintptr_t n)
{
    return at_add_acq_rel(WORD(word), n); /* ORDER(policy-word) */
}

EXPORT bool pirn_policy_swap(pirn_policy_word_t *word, uintptr_t *want, uintptr_t value)
{
    return at_cas_acq_rel(WORD(word), want, value); /* ORDER(policy-word) */
}

EXPORT void pirn_runq_init(pirn_runq_t *queue, bool lifo)
{
    runq_init(RUNQ(queue), lifo);
}

EXPORT void pirn_runq_push(pirn_runq_t *queue, pirn_thread_t t, enum pirn_why why)
{
    runq_push_locked(RUNQ(queue), t, runq_to_head(RUNQ(queue), why));
}

EXPORT void pirn_runq_push_head(pirn_runq_t *queue, pirn_thread_t t)
{
    runq_push_locked(RUNQ(queue), t, true);
}

EXPORT void pirn_runq_push_tail(pirn_runq_t *queue, pirn_thread_t t)
{
    runq_push_locked(RUNQ(queue), t, false);
}

EXPORT pirn_thread_t pirn_runq_pop(pirn_runq_t *queue)
{
    return runq_pop_locked(RUNQ(queue));
}

EXPORT pirn_thread_t pirn_runq_pop_tail(pirn_runq_t *queue)
{
    return runq_give_locked(RUNQ(queue), false);
}

EXPORT pirn_thread_t pirn_runq_rotate(pirn_runq_t *queue, pirn_thread_t t)
{
    return runq_rotate_locked(RUNQ(queue), t);
}

EXPORT void pirn_runq_remove(pirn_runq_t *queue, pirn_thread_t t)
{
    runq_remove_locked(RUNQ(queue), t);
}

static pirn_thread_t runq_at(const struct runq *q, struct list *node)
{
    return node != &q->threads ? CONTAINER_OF(node, struct thread, rq) : NULL;
}

EXPORT pirn_thread_t pirn_runq_first(const pirn_runq_t *queue)
{
    return runq_at(RUNQ(queue), RUNQ(queue)->threads.next);
}

EXPORT pirn_thread_t pirn_runq_next(const pirn_runq_t *queue, pirn_thread_t t)
{
    return runq_at(RUNQ(queue), t->rq.next);
}

EXPORT unsigned pirn_runq_length(const pirn_runq_t *queue)
{
    return runq_estimate(RUNQ(queue));
}

EXPORT void pirn_policy_send(pirn_cpu_t to, pirn_thread_t t)
{
    inbox_push(to, t);
}

EXPORT unsigned pirn_policy_receive(pirn_cpu_t self, void (*take)(pirn_cpu_t self, pirn_thread_t t))
{
    unsigned n = 0;
    struct thread *t = inbox_take_owner(self);
    while (t != NULL) {
        struct thread *next = (struct thread *)t->rq.next;
        t->rq.next = NULL;
        take(self, t);
        t = next;
        n++;
    }
    return n;
}

EXPORT bool pirn_policy_inbox_empty(pirn_cpu_t self)
{
    return inbox_empty(self);
}

EXPORT void pirn_policy_panic(const char *file, int line, const char *text)
{
    rt_panic(file, line, "%s", text);
}

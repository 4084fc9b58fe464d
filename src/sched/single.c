/* SPDX-License-Identifier: MIT */
/*
 * single.c - policy "single" (SMP): one ready queue for all CPUs under one lock; threads
 * migrate freely.
 *
 * A yield changes places with the first thread in one visit. The queue stays locked until the
 * context of the yielding thread is saved (POST_UNLOCK): no other CPU takes it before.
 *
 * Lock: queue.lock (RANK_RUNQ). queue.length is written under it and read without it by has_work,
 * whose caller has fenced (ORDER(idle-wake)).
 */
#include "affinity.h"
#include "cpu.h"
#include "held.h"
#include "runq.h"
#include "yield.h"

/* The core may call it directly: policy_only.h. */
#if RT_ONLY_SINGLE
#define SINGLE_OPERATION
#else
#define SINGLE_OPERATION static
#endif

static struct {
    spinlock_t lock;
    struct runq q; /* (lock) */
} queue ALIGNED(RT_CACHELINE);

SINGLE_OPERATION int single_init(unsigned ncpu)
{
    (void)ncpu;
    int error = classes_init(1);
    at_init(&queue.lock.word, 0u);
    ready_init(&queue.q, 0);
    return error;
}

static NOINLINE struct pirn_kick single_enqueue_class(struct cpu *self, struct thread *t,
                                                      enum pirn_why why)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    ready_push_locked(&queue.q, t, why);
    uint32_t urgency = classq_urgency(RUNQ_CLASSES(&queue.q), t); /* in the queue: see requeue */
    spin_unlock(&queue.lock, RANK_RUNQ);
    return classes_kick_lowest(self, urgency);
}

SINGLE_OPERATION struct pirn_kick single_enqueue(struct cpu *self, struct thread *t,
                                                 enum pirn_why why)
{
    if (unlikely(RUNQ_CLASSES(&queue.q) != NULL)) {
        return single_enqueue_class(self, t, why);
    }
    bool head = runq_to_head(&queue.q, why); /* outside the lock, to hold it for a short time */
    spin_lock(&queue.lock, RANK_RUNQ);
    runq_push_locked(&queue.q, t, head);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

SINGLE_OPERATION struct thread *single_pick(struct cpu *self)
{
    if (runq_estimate(&queue.q) == 0) {
        if (RUNQ_CLASSES(&queue.q) != NULL) {
            classes_take(self, RUNQ_CLASSES(&queue.q), NULL);
        }
        return NULL;
    }
    spin_lock(&queue.lock, RANK_RUNQ);
    struct thread *t = ready_pop_locked(self, &queue.q);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return t;
}

/* If the lock is taken, the long way waits for it. */
ALWAYS_INLINE struct pirn_rotation single_rotate(struct cpu *self, struct thread *t)
{
    if (runq_estimate(&queue.q) == 0 || unlikely(!spin_trylock(&queue.lock, RANK_RUNQ))) {
        return (struct pirn_rotation){0};
    }
    struct thread *next = ready_rotate_locked(self, &queue.q, t);
    if (unlikely(next == NULL)) {
        spin_unlock(&queue.lock, RANK_RUNQ);
        return (struct pirn_rotation){0};
    }
    return (struct pirn_rotation){next, held_to_policy(held_spinlock(&queue.lock))};
}

static bool single_yield(void)
{
    return yield_by(single_rotate, true);
}

static bool single_has(const struct thread *t)
{
    return RUNQ_CLASSES(&queue.q) != NULL
               ? classq_queued(t)
               : at_load_rlx(&t->state) == THREAD_READY && list_linked(&t->rq);
}

SINGLE_OPERATION bool single_remove(struct cpu *self, struct thread *t)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    bool queued = single_has(t) && ready_remove_locked(self, &queue.q, t);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return queued;
}

SINGLE_OPERATION struct thread *single_preempt(struct cpu *self, struct thread *running,
                                               enum pirn_why why)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    struct thread *next = ready_preempt_locked(self, &queue.q, running, why);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return next;
}

/* The priority is stored. The thread that enqueues t sees it, or t is in the queue here. */
SINGLE_OPERATION void single_requeue(struct thread *t)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    bool queued = single_has(t);
    if (queued) {
        classq_requeue(RUNQ_CLASSES(&queue.q), t);
    }
    uint32_t urgency = ready_urgency(&queue.q, t);
    spin_unlock(&queue.lock, RANK_RUNQ);
    if (queued) {
        classes_preempt_lowest(urgency);
    } else {
        classes_look_again(t);
    }
}

/* ---- task affinity ---- */

static bool single_run(struct cpu *self, struct thread *t)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    bool runs = ready_may_lead_locked(&queue.q, t);
    if (runs) {
        ready_run_locked(self, &queue.q, t);
    }
    spin_unlock(&queue.lock, RANK_RUNQ);
    return runs;
}

static uint32_t single_length(unsigned id)
{
    (void)id;
    return 0;
}

static uint32_t single_urgency(unsigned id)
{
    (void)id;
    spin_lock(&queue.lock, RANK_RUNQ);
    struct thread *first = ready_peek_locked(&queue.q);
    uint32_t urgency = first != NULL ? ready_urgency(&queue.q, first) : (uint32_t)URGENCY_IDLE;
    spin_unlock(&queue.lock, RANK_RUNQ);
    return urgency;
}

SINGLE_OPERATION bool single_has_work(struct cpu *self)
{
    (void)self;
    return runq_estimate(&queue.q) != 0; /* ORDER(idle-wake) */
}

static void single_check(void)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    ready_check_locked(&queue.q);
    spin_unlock(&queue.lock, RANK_RUNQ);
}

const struct sched_built_in sched_single = {
    .policy =
        {
            .name = "single",
            .help = "one ready queue shared by all CPUs; threads migrate",
            .options = SCHED_OPTIONS(DISCIPLINE_OPTIONS, AFFINITY_OPTIONS{0}),
            .init = single_init,
            .fini = FOR_TESTS(classes_fini),
            .enqueue = single_enqueue,
            .pick = single_pick,
            .remove = single_remove,
            .has_work = single_has_work,
            .check = FOR_TESTS(single_check),
        },
    .yield = FOR_SPEED(single_yield),
    .classes = SCHED_CLASSES(.thread_init = classes_thread_init, .preempt = single_preempt,
                             .requeue = single_requeue, .charge = classes_charge),
    .affinity =
        SCHED_AFFINITY(.run = single_run, .length = single_length, .urgency = single_urgency),
};

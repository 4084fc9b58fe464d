/* SPDX-License-Identifier: MIT */
/*
 * single.c - organization "single" (P1, SMP): one ready queue for all CPUs under one lock; threads
 * migrate freely.
 *
 * Lock: queue.lock (RANK_RUNQ). queue.length is written under it and read without it by has_work,
 * whose caller has fenced (ORDER(idle-wake)).
 */
#include "cpu.h"
#include "runq_fifo.h"

static struct {
    spinlock_t lock;
    struct runq q; /* (lock) */
    bool lifo;     /* (C) */
} queue ALIGNED(RT_CACHELINE);

static int single_set_discipline(const char *value, const char **why)
{
    (void)why;
    queue.lifo = sched_choice(SCHED_DISCIPLINES, value) == 1;
    return 0;
}

static int single_init(unsigned ncpu)
{
    (void)ncpu;
    at_init(&queue.lock.word, 0u);
    runq_init(&queue.q, queue.lifo);
    return 0;
}

static struct pirn_kick single_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    (void)self;
    bool head =
        runq_to_head(&queue.q, why); /* outside: the lock is held for some 14 instructions (P2) */
    spin_lock(&queue.lock, RANK_RUNQ);
    runq_push_locked(&queue.q, t, head);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static struct thread *single_pick(struct cpu *self)
{
    (void)self;
    if (runq_estimate(&queue.q) == 0) {
        return NULL;
    }
    spin_lock(&queue.lock, RANK_RUNQ);
    struct thread *t = runq_pop_locked(&queue.q);
    spin_unlock(&queue.lock, RANK_RUNQ);
    return t;
}

static bool single_remove(struct cpu *self, struct thread *t)
{
    (void)self;
    spin_lock(&queue.lock, RANK_RUNQ);
    bool queued = at_load_rlx(&t->state) == THREAD_READY && list_linked(&t->rq);
    if (queued) {
        runq_remove_locked(&queue.q, t);
    }
    spin_unlock(&queue.lock, RANK_RUNQ);
    return queued;
}

static bool single_has_work(struct cpu *self)
{
    (void)self;
    return runq_estimate(&queue.q) != 0; /* ORDER(idle-wake) */
}

static void single_check(void)
{
    spin_lock(&queue.lock, RANK_RUNQ);
    uint32_t n = 0;
    for (struct list *node = queue.q.threads.next; node != &queue.q.threads; node = node->next) {
        RT_VERIFY(at_load_rlx(&CONTAINER_OF(node, struct thread, rq)->state) == THREAD_READY);
        n++;
    }
    RT_VERIFY(n == at_load_rlx(&queue.q.length));
    spin_unlock(&queue.lock, RANK_RUNQ);
}

const struct pirn_policy sched_single = {
    .name = "single",
    .help = "one ready queue shared by all CPUs; threads migrate (P1: SMP)",
    .options = (const struct pirn_policy_option[]){{.name = "discipline",
                                                    .values = SCHED_DISCIPLINES,
                                                    .deflt = "fifo",
                                                    .help = "order of the ready queue",
                                                    .set = single_set_discipline},
                                                   {0}},
    .init = single_init,
    .enqueue = single_enqueue,
    .pick = single_pick,
    .remove = single_remove,
    .has_work = single_has_work,
    .check = single_check,
};

/* SPDX-License-Identifier: MIT */
/*
 * steal_preempt.c - policy "steal" with classes: preemption of the running thread, and changes of
 * priority. The invariants are those of steal.c.
 */
#include "mutant.h"
#include "steal.h"
#include "wake.h"

/* Move threads of class OTHER that foreign threads made ready to the CPU's own queue, where they
 * compete by virtual time. In the shared queue each would wait for a turn of that queue. */
void steal_shared_drain(struct cpu *self)
{
    struct list batch;
    struct thread *t;
    list_init(&batch);
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    for (unsigned n = 0; n < BATCH_MAX && at_load_rlx(&steal.urgency) == URGENCY_OTHER; n++) {
        t = steal_shared_taken_locked(ready_take_locked(&steal.shared));
        list_push_back(&batch, &t->rq);
    }
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    for (struct list *node; (node = list_pop_front(&batch)) != NULL;) {
        t = CONTAINER_OF(node, struct thread, rq);
        if (!steal_own_push(self, t, PIRN_WHY_WAKE)) {
            classes_preempt_lowest(steal_shared_push(t, PIRN_WHY_MIGRATE));
        }
    }
    rt_kick_any(self); /* invariant 7 */
}

static struct thread *shared_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    struct thread *next =
        steal_shared_taken_locked(ready_preempt_locked(self, &steal.shared, running, why));
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return next;
}

static struct thread *local_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct steal_queue *sq = queue_of(self);
    bias_lock_owner(&sq->lock);
    struct thread *next = ready_preempt_locked(self, &sq->q, running, why);
    if (next != NULL) {
        at_store_rlx(&stealable_of(next)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_owner(&sq->lock);
    return next;
}

struct thread *steal_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct steal_queue *sq = queue_of(self);
    uint32_t here = classq_urgency(RUNQ_CLASSES(&sq->q), running);
    uint32_t shared = at_load_rlx(&steal.urgency);
    if (unlikely(here > URGENCY_OTHER)) {
        return shared_preempt(self, running, why);
    }
    struct thread *next = NULL;
    /* From time to time it is the turn of threads that foreign threads made ready. */
    bool stops = why == PIRN_WHY_YIELD || running->sched.ticks_left == 0;
    bool turn = shared != URGENCY_IDLE && stops && (runq_estimate(&sq->q) == 0 || shared_turn(sq));
    if (unlikely(shared > here)) {
        next = shared_preempt(self, running, why);
    } else if (unlikely(turn)) {
        steal_shared_drain(self);
    }
    if (next == NULL) {
        next = local_preempt(self, running, why);
    }
    return next;
}

/* Take t out of a CPU's own queue, of which it is the owner or a guest. */
static bool local_requeue(struct cpu *self, struct steal_queue *sq, struct thread *t)
{
    bool owner = self != NULL && sq == queue_of(self);
    bool out = false;
    if (owner) {
        bias_lock_owner(&sq->lock);
    } else {
        bias_lock_guest(&sq->lock);
    }
    bool there = at_load_rlx(&stealable_of(t)->in) == sq;
    if (there && classq_urgency(RUNQ_CLASSES(&sq->q), t) == URGENCY_OTHER) {
        classq_requeue(RUNQ_CLASSES(&sq->q), t);
    } else if (there) {
        classq_remove(RUNQ_CLASSES(&sq->q), t);
        runq_add_length_locked(&sq->q, -1);
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        out = true;
    }
    if (owner) {
        bias_unlock_owner(&sq->lock);
    } else {
        bias_unlock_guest(&sq->lock);
    }
    if (out) {
        (void)steal_shared_push(t, PIRN_WHY_MIGRATE);
        if (!MUTANT(MOVE_QUIET)) {
            rt_kick_any(self); /* invariant 7 */
        }
    }
    return there;
}

static bool shared_requeue(struct thread *t)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    bool there = at_load_rlx(&stealable_of(t)->in) == SHARED;
    if (there) {
        classq_requeue(RUNQ_CLASSES(&steal.shared), t);
        (void)steal_shared_taken_locked(NULL);
    }
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return there;
}

void steal_requeue(struct thread *t)
{
    struct cpu *self = port_cpu_self();
    bool done = false;
    at_fence_heavy(); /* ORDER(requeue) */
    for (struct steal_queue *in; !done && (in = at_load_rlx(&stealable_of(t)->in)) != NULL;) {
        done = in == SHARED ? shared_requeue(t) : local_requeue(self, in, t);
    }
    if (done) {
        classes_preempt_lowest(classq_urgency(RUNQ_CLASSES(&steal.shared), t));
    } else {
        classes_look_again(t);
    }
}

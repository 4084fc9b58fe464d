/* SPDX-License-Identifier: MIT */
/*
 * steal_classes.c - policy "steal" with classes.
 *
 * Real-time threads are in one queue for all CPUs (steal.shared, with those that foreign kernel
 * threads made ready): so the most urgent ones run, on whatever CPU, as under "single". Threads of
 * class OTHER are in the queue of a CPU each, and are stolen as in steal.c.
 * Shares by weight hold within a queue; a thread that moves keeps how far it was ahead.
 *
 * Invariants, beside those of steal.c:
 *   1. stealable.in is SHARED exactly while the thread is in the shared queue.
 *   2. steal.urgency is that of the first thread in the shared queue, 0 if it is empty.
 *   3. Who pushes sets `in`, fences (light), and then reads the priority; requeue, which is called
 * when the priority is stored, fences (heavy) before it believes that a thread is in no queue. So
 * one of them sees the other: a thread never stays in a queue with an old priority.
 *   4. A CPU that takes a thread of class OTHER has said that it runs one, and then (ORDER(runs))
 * found no real-time thread in the shared queue; who puts one there looks for the lowest running
 * thread afterwards. So none waits while an OTHER thread runs of whom its waker did not know.
 *   5. A thread that moves to or from the shared queue is in none for a moment, in which a CPU may
 * go to sleep. So who moves it wakes a CPU as if it had just become ready: ORDER(idle-wake).
 */
#include "mutant.h"
#include "steal.h"
#include "yield.h"

#define SHARED ((struct steal_queue *)1)

static struct classq *local_of(struct cpu *self)
{
    return RUNQ_CLASSES(&queue_of(self)->q);
}

static void shared_note_locked(void)
{
    struct classq *q = RUNQ_CLASSES(&steal.shared);
    struct thread *first = classq_peek(q);
    at_store_rlx(&steal.urgency, first != NULL ? classq_urgency(q, first) : (uint32_t)URGENCY_IDLE);
}

/* Returns its urgency: in the queue, where whoever changes that later sees it. */
static uint32_t shared_push(struct thread *t, enum pirn_why why)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    at_store_rlx(&stealable_of(t)->in, SHARED);
    at_fence_light(); /* ORDER(requeue) */
    ready_push_locked(&steal.shared, t, why);
    shared_note_locked();
    uint32_t urgency = classq_urgency(RUNQ_CLASSES(&steal.shared), t);
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return urgency;
}

/* What takes from the shared queue: next is its result. */
static struct thread *shared_taken_locked(struct thread *next)
{
    if (next != NULL) {
        at_store_rlx(&stealable_of(next)->in, (struct steal_queue *)NULL);
    }
    shared_note_locked();
    return next;
}

static NOINLINE struct thread *shared_pop(struct cpu *self)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    struct thread *t = shared_taken_locked(ready_pop_locked(self, &steal.shared));
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return t;
}

/* Into the CPU's own queue. False: it has become a real-time thread meanwhile, and is not. */
static bool local_push(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct steal_queue *sq = queue_of(self);
    bias_lock_owner(&sq->lock);
    at_store_rlx(&stealable_of(t)->in, sq);
    at_fence_light(); /* ORDER(requeue) */
    bool stays = likely(classq_urgency(RUNQ_CLASSES(&sq->q), t) == URGENCY_OTHER);
    if (likely(stays)) {
        ready_push_locked(&sq->q, t, why);
    } else {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_owner(&sq->lock);
    return stays;
}

/* What foreign threads made ready, in class OTHER: to the CPU's own queue, where it competes with
 * the others by virtual time. Taken one by one, each would wait for a turn of the shared queue. */
static NOINLINE void shared_drain(struct cpu *self)
{
    struct list batch;
    struct thread *t;
    list_init(&batch);
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    for (unsigned n = 0; n < BATCH_MAX && at_load_rlx(&steal.urgency) == URGENCY_OTHER; n++) {
        t = shared_taken_locked(classq_take(RUNQ_CLASSES(&steal.shared)));
        runq_add_length_locked(&steal.shared, -1);
        list_push_back(&batch, &t->rq);
    }
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    for (struct list *node; (node = list_pop_front(&batch)) != NULL;) {
        t = CONTAINER_OF(node, struct thread, rq);
        if (!local_push(self, t, PIRN_WHY_WAKE)) {
            classes_preempt_lowest(shared_push(t, PIRN_WHY_MIGRATE));
        }
    }
    rt_kick_any(self); /* invariant 5 */
}

static NOINLINE struct pirn_kick steal_enqueue_slow(struct cpu *self, struct thread *t,
                                                    enum pirn_why why)
{
    uint32_t urgency = classq_urgency(RUNQ_CLASSES(&steal.shared), t);
    if (self == NULL || urgency > URGENCY_OTHER || !local_push(self, t, why)) {
        urgency = shared_push(t, why);
    }
    return classes_kick_lowest(self, urgency);
}

/* The short ways, for plain threads: as in steal.c. */

static struct pirn_kick steal_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(self == NULL || !classq_plain(t))) {
        return steal_enqueue_slow(self, t, why);
    }
    struct steal_queue *sq = queue_of(self);
    if (unlikely(!bias_trylock_owner(&sq->lock))) {
        return steal_enqueue_slow(self, t, why);
    }
    at_store_rlx(&stealable_of(t)->in, sq);
    at_fence_light(); /* ORDER(requeue) */
    if (unlikely(!classq_all_plain(RUNQ_CLASSES(&sq->q)) || !classq_plain(t))) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        bias_unlock_tried(&sq->lock);
        return steal_enqueue_slow(self, t, why);
    }
    classq_unranked_push(RUNQ_CLASSES(&sq->q), t, runq_to_head(&sq->q, why));
    runq_add_length_locked(&sq->q, 1);
    bias_unlock_tried(&sq->lock);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

ALWAYS_INLINE struct pirn_rotation steal_rotate(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    if (unlikely(at_load_rlx(&steal.urgency) != URGENCY_IDLE || !bias_trylock_owner(&sq->lock))) {
        return (struct pirn_rotation){0};
    }
    at_store_rlx(&stealable_of(t)->in, sq);
    at_fence_light(); /* ORDER(requeue) */
    struct thread *next = ready_rotate_classes_locked(self, &sq->q, t);
    if (unlikely(next == NULL)) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        bias_unlock_tried(&sq->lock);
        return (struct pirn_rotation){0};
    }
    at_store_rlx(&stealable_of(next)->in, (struct steal_queue *)NULL);
    return (struct pirn_rotation){next, bias_held_owner(&sq->lock)};
}

static bool steal_yield(void)
{
    return yield_by(steal_rotate, true);
}

static NOINLINE struct thread *steal_pick_slow(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    struct thread *t = NULL;
    uint32_t urgency;
    for (;;) {
        classes_announce_other(self);
        urgency = at_load_rlx(&steal.urgency);
        if (likely(urgency <= URGENCY_OTHER)) {
            break;
        }
        if ((t = shared_pop(self)) != NULL) {
            return t;
        }
        /* Another CPU was faster, and this one has just said that it runs nothing: who makes a
         * thread ready may count on that. Again, by invariant 4. */
    }
    if (shared_turn(sq) && urgency == URGENCY_OTHER) {
        shared_drain(self);
    }
    if (runq_estimate(&sq->q) != 0) {
        bias_lock_owner(&sq->lock);
        t = ready_pop_locked(self, &sq->q);
        if (t != NULL) {
            at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        }
        bias_unlock_owner(&sq->lock);
    }
    if (t == NULL && runq_estimate(&steal.shared) != 0) {
        t = shared_pop(self);
    }
    return t != NULL ? t : classes_take(self, local_of(self), NULL);
}

static struct thread *steal_pick(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    classes_announce_other(self);
    if (unlikely(at_load_rlx(&steal.urgency) != URGENCY_IDLE || runq_estimate(&sq->q) == 0 ||
                 !bias_trylock_owner(&sq->lock))) {
        return steal_pick_slow(self);
    }
    struct thread *t = NULL;
    if (likely(classq_all_plain(RUNQ_CLASSES(&sq->q)))) {
        t = classq_unranked_pop(RUNQ_CLASSES(&sq->q));
    }
    if (likely(t != NULL)) {
        runq_add_length_locked(&sq->q, -1);
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        classes_take_plain(self, t);
    }
    bias_unlock_tried(&sq->lock);
    return likely(t != NULL) ? t : steal_pick_slow(self);
}

static struct thread *shared_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    struct thread *next =
        shared_taken_locked(ready_preempt_locked(self, &steal.shared, running, why));
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

static struct thread *steal_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct steal_queue *sq = queue_of(self);
    uint32_t here = classq_urgency(RUNQ_CLASSES(&sq->q), running);
    uint32_t shared = at_load_rlx(&steal.urgency);
    if (unlikely(here > URGENCY_OTHER)) {
        return shared_preempt(self, running, why);
    }
    struct thread *next = NULL;
    /* What foreign threads made ready has its turn now and then. */
    bool stops = why == PIRN_WHY_YIELD || running->sched.ticks_left == 0;
    bool turn = shared != URGENCY_IDLE && stops && (runq_estimate(&sq->q) == 0 || shared_turn(sq));
    if (unlikely(shared > here)) {
        next = shared_preempt(self, running, why);
    } else if (unlikely(turn)) {
        shared_drain(self);
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
        (void)shared_push(t, PIRN_WHY_MIGRATE);
        if (!MUTANT(MOVE_QUIET)) {
            rt_kick_any(self); /* invariant 5 */
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
        shared_note_locked();
    }
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return there;
}

static void steal_requeue(struct thread *t)
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

/* May the CPU, which runs a thread of class OTHER, run another one past the queues? */
ALWAYS_INLINE bool may_run_other(const struct cpu *self)
{
    return classes_urgency_at(self->id) == URGENCY_OTHER &&
           at_load_rlx(&steal.urgency) <= URGENCY_OTHER;
}

/* What it stole goes into its queue if somebody more urgent is ready. */
static struct thread *classes_search(struct cpu *self)
{
    struct thread *t = steal_search(self);
    if (t == NULL) {
        return NULL;
    }
    at_fence_seq(); /* ORDER(runs) */
    if (likely(at_load_rlx(&steal.urgency) <= URGENCY_OTHER)) {
        return t;
    }
    (void)steal_enqueue(self, t, PIRN_WHY_HANDOFF);
    return NULL;
}

ALWAYS_INLINE bool steal_remove_locked(struct cpu *self, struct steal_queue *sq, struct thread *t)
{
    bool ours = at_load_rlx(&stealable_of(t)->in) == sq;
    if (likely(ours && classq_all_plain(RUNQ_CLASSES(&sq->q)) && classq_plain(t))) {
        sq->head_is_far = RUNQ_CLASSES(&sq->q)->unranked_list.next != &t->rq;
        classq_unranked_remove(RUNQ_CLASSES(&sq->q), t);
        runq_add_length_locked(&sq->q, -1);
        classes_take_plain(self, t);
    } else {
        ours = ours && ready_remove_locked(self, &sq->q, t);
    }
    if (ours) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    return ours;
}

static COLD bool steal_remove_slow(struct cpu *self, struct steal_queue *sq, struct thread *t)
{
    bias_lock_owner(&sq->lock);
    bool ours = steal_remove_locked(self, sq, t);
    bias_unlock_owner(&sq->lock);
    return ours;
}

static bool steal_remove(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = self != NULL ? queue_of(self) : NULL;
    if (sq == NULL || at_load_rlx(&stealable_of(t)->in) != sq || !may_run_other(self)) {
        return false;
    }
    if (unlikely(!bias_trylock_owner(&sq->lock))) {
        return steal_remove_slow(self, sq, t);
    }
    bool ours = steal_remove_locked(self, sq, t);
    bias_unlock_tried(&sq->lock);
    return ours;
}

static bool steal_direct(struct cpu *self, struct thread *t)
{
    if (unlikely(!may_run_other(self) || !classq_plain(t))) {
        return false;
    }
    classes_take_plain(self, t);
    return true;
}

static int steal_thread_init(struct thread *t, struct thread *creator)
{
    at_init(&stealable_of(t)->in, (struct steal_queue *)NULL);
    if (likely(sched_chosen.inherit_no_vtime && creator != NULL && creator->sched.no_vtime)) {
        classq_new_no_vtime(t);
        return 0;
    }
    return classes_thread_init(t, creator);
}

const struct sched_variant steal_classes = {
    .enqueue = steal_enqueue,
    .pick = steal_pick,
    .search = classes_search,
    .remove = steal_remove,
    .direct = steal_direct,
    .thread_init = steal_thread_init,
    .preempt = steal_preempt,
    .requeue = steal_requeue,
    .charge = classes_charge,
    .yield = steal_yield,
};

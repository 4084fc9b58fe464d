/* SPDX-License-Identifier: MIT */
/*
 * steal.c - policy "steal": a run queue for each CPU; CPUs without work steal from others' queues
 * (steal_search.c).
 *
 * Options: victim = neighbour (round robin from the right neighbour), max (longest queue by
 * unlocked estimate), random; amount = one, half (true half, in one visit); end = far, tail;
 * discipline.
 *
 * Short and long ways. Each operation of a switch has a short way, for threads that are all alike
 * (runq.h), with the queue's lock free; it has no calls, so the compiler saves no registers for
 * it. The short ways are functions with a constant `classes`, and the table below has each of them
 * twice: compiled for lists (fifo, lifo) and for queues with classes (posix, shmac). The long ways,
 * but pick's, exist once, and ask the queue what it is.
 *
 * With classes real-time threads are in one queue for all CPUs, the shared one: so the most urgent
 * ones run, on whatever CPU, as under "single". Threads of class OTHER are in the queue of a CPU
 * each. Shares by weight hold within a queue; a thread that moves keeps how far it was ahead.
 *
 * Invariants:
 *   1. A queue is guarded by its asymmetric lock: the owner enters with plain stores, a thief with
 *      a heavy fence (spinlock.h).
 *   2. stealable.in is q exactly while the thread is linked in queue q, SHARED while it is in the
 *      shared queue; it changes under that queue's lock. So read under q's lock, in == q is stable.
 *   3. Threads that foreign kernel threads make ready go to the shared queue; every CPU looks there
 *      when its own is empty, at every SHARED_EVERY-th pick, and at the first one after a tick:
 *      threads that never yield make 64 picks in as many ticks. Lists count every pick, in the
 *      short way, too. With classes only long ways count: while a thread is in the shared queue
 *      every way is long (invariant 4).
 *   4. steal.urgency is that of the first thread in the shared queue, URGENCY_IDLE if it is empty.
 * With classes:
 *   5. A thread's priority is read after `in` is set and a fence (light). requeue, which is called
 *      when the priority is stored, fences (heavy) before it believes that a thread is in no queue.
 *      So one of them sees the other: a thread never stays in a queue with an old priority.
 *   6. A CPU that takes a thread of class OTHER has said that it runs one, and then (ORDER(runs))
 *      found no real-time thread in the shared queue; a CPU that puts one there looks for the
 *      lowest running thread afterwards. So a real-time thread never waits while an OTHER thread
 *      runs of which its waker did not know.
 *   7. A thread that moves to or from the shared queue is in none for a moment, in which a CPU may
 *      go to sleep. So the CPU that moves it wakes one as if the thread had just become ready:
 *      ORDER(idle-wake).
 */
#include "steal.h"

#include <errno.h>

#include "affinity.h"
#include "capacities.h"
#include "mutant.h"
#include "runtime.h"
#include "yield.h"

struct steal steal;

static int steal_set_victim(const char *value, const char **why)
{
    (void)why;
    steal.victim = (unsigned)sched_choice("neighbour|max|random", value);
    return 0;
}

static int steal_set_amount(const char *value, const char **why)
{
    (void)why;
    steal.one = sched_choice("one|half", value) == 0;
    return 0;
}

static int steal_set_end(const char *value, const char **why)
{
    (void)why;
    steal.from_tail = sched_choice("far|tail", value) == 1;
    return 0;
}

static void steal_queue_init(struct steal_queue *sq, unsigned id)
{
    *sq = (struct steal_queue){.turns = SHARED_EVERY,
                               .look_from = id,
                               .random = id * 0x9e3779b97f4a7c15ull + 1,
                               .seen_victim = UINT32_MAX};
    bias_init(&sq->lock);
    ready_init(&sq->q, id);
    rt.cpus[id]->own = sq;
}

static int steal_init(unsigned ncpu)
{
    if (classes_init(ncpu + 1) != 0) {
        return -ENOMEM;
    }
    at_init(&steal.shared_lock.word, 0u);
    at_init(&steal.urgency, (uint32_t)URGENCY_IDLE);
    runq_init(&steal.shared, false);
    RUNQ_SET_CLASSES(&steal.shared, classes_queue(ncpu));
    capacity_init();
    for (unsigned i = 0; i < ncpu; i++) {
        steal_queue_init(&steal.queues[i], i);
    }
    return 0;
}

/* ---- the shared queue ---- */

static void shared_note_locked(void)
{
    struct thread *first = ready_peek_locked(&steal.shared);
    at_store_rlx(&steal.urgency,
                 first != NULL ? ready_urgency(&steal.shared, first) : (uint32_t)URGENCY_IDLE);
}

/* Lists take threads that are handed over at the tail, too. */
uint32_t steal_shared_push(struct thread *t, enum pirn_why why)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    at_store_rlx(&stealable_of(t)->in, SHARED);
    at_fence_light(); /* ORDER(requeue) */
    ready_push_locked(&steal.shared, t, sched_has_classes() ? why : PIRN_WHY_WAKE);
    shared_note_locked();
    uint32_t urgency = ready_urgency(&steal.shared, t);
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return urgency;
}

struct thread *steal_shared_taken_locked(struct thread *next)
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
    struct thread *t = steal_shared_taken_locked(ready_pop_locked(self, &steal.shared));
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return t;
}

/* May the CPU take a short way, which skips the shared queue? */
ALWAYS_INLINE bool shared_pass(bool classes, struct steal_queue *sq)
{
    return classes ? at_load_rlx(&steal.urgency) == URGENCY_IDLE : --sq->turns != 0;
}

/* A yield that takes the long way after all: its pick counts. */
ALWAYS_INLINE void shared_pass_undo(bool classes, struct steal_queue *sq)
{
    sq->turns += classes ? 0 : 1;
}

/* ---- enqueue ---- */

bool steal_own_push(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct steal_queue *sq = queue_of(self);
    bias_lock_owner(&sq->lock);
    at_store_rlx(&stealable_of(t)->in, sq);
    at_fence_light(); /* ORDER(requeue) */
    bool stays = likely(ready_urgency(&sq->q, t) == URGENCY_OTHER);
    if (likely(stays)) {
        ready_push_locked(&sq->q, t, why);
    } else {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_owner(&sq->lock);
    return stays;
}

NOINLINE struct pirn_kick steal_enqueue_long(struct cpu *self, struct thread *t, enum pirn_why why)
{
    uint32_t urgency = ready_urgency(&steal.shared, t);
    if (self == NULL || urgency > URGENCY_OTHER || !steal_own_push(self, t, why)) {
        urgency = steal_shared_push(t, why);
    }
    return classes_kick_lowest(self, urgency);
}

/* The short way of enqueue. False: nothing done. */
ALWAYS_INLINE bool push_short(bool classes, struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(self == NULL || !ready_alike(classes, t))) {
        return false;
    }
    struct steal_queue *sq = queue_of(self);
    if (unlikely(!bias_trylock_owner(&sq->lock))) {
        return false;
    }
    at_store_rlx(&stealable_of(t)->in, sq);
    if (classes) {
        at_fence_light(); /* ORDER(requeue) */
    }
    bool pushed = ready_push_alike_locked(classes, &sq->q, t, why);
    if (unlikely(!pushed)) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_tried(&sq->lock);
    return pushed;
}

static struct pirn_kick steal_lists_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(!push_short(false, self, t, why))) {
        return steal_enqueue_long(self, t, why);
    }
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static struct pirn_kick steal_classes_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(!push_short(true, self, t, why))) {
        return steal_enqueue_long(self, t, why);
    }
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

/* ---- pick ---- */

/* With classes: the most urgent real-time thread; NULL if there is none. */
static struct thread *pick_urgent(struct cpu *self)
{
    for (;;) {
        classes_announce_other(self);
        if (likely(at_load_rlx(&steal.urgency) <= URGENCY_OTHER)) {
            return NULL;
        }
        struct thread *t = shared_pop(self);
        if (t != NULL) {
            return t;
        }
        /* Another CPU was faster, and this one has just announced that it runs no thread. A waker
         * may have relied on that: look again, by invariant 6. */
    }
}

/* If it is the turn of the shared queue. Lists: returns its first thread, which runs now; the short
 * way has counted the pick. Classes: NULL; its threads go to the CPU's own queue. */
ALWAYS_INLINE struct thread *pick_in_turn(bool classes, struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    sq->turns -= classes ? 1 : 0;
    if (likely(sq->turns != 0)) {
        return NULL;
    }
    sq->turns = SHARED_EVERY;
    if (runq_estimate(&steal.shared) == 0) {
        return NULL;
    }
    if (!classes) {
        return shared_pop(self);
    }
    steal_shared_drain(self);
    return NULL;
}

ALWAYS_INLINE struct thread *pick_own(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (runq_estimate(&sq->q) == 0) {
        return NULL;
    }
    bias_lock_owner(&sq->lock);
    struct thread *t = ready_pop_locked(self, &sq->q);
    if (t != NULL) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_owner(&sq->lock);
    return t;
}

/* The long way of pick. */
ALWAYS_INLINE struct thread *pick_long(bool classes, struct cpu *self)
{
    struct thread *t = NULL;
    if (classes && (t = pick_urgent(self)) != NULL) {
        return t;
    }
    if ((t = pick_in_turn(classes, self)) != NULL || (t = pick_own(self)) != NULL) {
        return t;
    }
    if (runq_estimate(&steal.shared) != 0 && (t = shared_pop(self)) != NULL) {
        return t;
    }
    return classes ? classes_take(self, RUNQ_CLASSES(&queue_of(self)->q), NULL) : NULL;
}

static NOINLINE struct thread *lists_pick_long(struct cpu *self)
{
    return pick_long(false, self);
}

static NOINLINE struct thread *classes_pick_long(struct cpu *self)
{
    return pick_long(true, self);
}

ALWAYS_INLINE struct thread *steal_pick(bool classes, struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    struct thread *t = NULL;
    struct sched_runs *runs = classes ? classes_announce_other(self) : NULL;
    bool pass = shared_pass(classes, sq);
    bool empty = runq_estimate(&sq->q) == 0;
    if (!classes && empty && pass && likely(runq_estimate(&steal.shared) == 0)) {
        return NULL;
    }
    if (likely(pass && !empty && bias_trylock_owner(&sq->lock))) {
        t = ready_pop_alike_locked(runs, &sq->q);
        if (likely(t != NULL)) {
            at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        }
        bias_unlock_tried(&sq->lock);
    }
    return likely(t != NULL) ? t : classes ? classes_pick_long(self) : lists_pick_long(self);
}

static struct thread *steal_lists_pick(struct cpu *self)
{
    return steal_pick(false, self);
}

static struct thread *steal_classes_pick(struct cpu *self)
{
    return steal_pick(true, self);
}

/* ---- yield ---- */

/* For lists the store to `in` comes last: earlier, it would cost a twelfth of a yield. */
ALWAYS_INLINE struct pirn_rotation steal_rotate(bool classes, struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    if (unlikely(!shared_pass(classes, sq) || !bias_trylock_owner(&sq->lock))) {
        shared_pass_undo(classes, sq);
        return (struct pirn_rotation){0};
    }
    if (classes) {
        at_store_rlx(&stealable_of(t)->in, sq);
        at_fence_light(); /* ORDER(requeue) */
    }
    struct thread *next = ready_rotate_alike_locked(classes, self, &sq->q, t);
    if (unlikely(next == NULL)) {
        if (classes) {
            at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        }
        shared_pass_undo(classes, sq);
        bias_unlock_tried(&sq->lock);
        return (struct pirn_rotation){0};
    }
    at_store_rlx(&stealable_of(next)->in, (struct steal_queue *)NULL);
    if (!classes) {
        at_store_rlx(&stealable_of(t)->in, sq);
    }
    return (struct pirn_rotation){next, held_to_policy(held_biaslock_tried(&sq->lock))};
}

ALWAYS_INLINE struct pirn_rotation lists_rotate(struct cpu *self, struct thread *t)
{
    return steal_rotate(false, self, t);
}

ALWAYS_INLINE struct pirn_rotation classes_rotate(struct cpu *self, struct thread *t)
{
    return steal_rotate(true, self, t);
}

static bool steal_lists_yield(void)
{
    return yield_by(lists_rotate, true);
}

static bool steal_classes_yield(void)
{
    return yield_by(classes_rotate, true);
}

/* ---- a join: remove, direct ---- */

/* The short way: all alike. `runs`: with classes, the CPU's, class OTHER. False: nothing done. */
ALWAYS_INLINE bool remove_alike_locked(struct sched_runs *runs, struct steal_queue *sq,
                                       struct thread *t)
{
    bool classes = runs != NULL;
    if (unlikely(at_load_rlx(&stealable_of(t)->in) != sq ||
                 !ready_alike_locked(classes, &sq->q, t))) {
        return false;
    }
    sq->head_is_far = !ready_first_alike_locked(classes, &sq->q, t);
    if (!MUTANT(REMOVE_KEEPS)) {
        ready_remove_alike_locked(classes, &sq->q, t);
    }
    if (classes) {
        classes_take_other(runs, t);
    }
    at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    return true;
}

static NOINLINE bool steal_remove_long(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    struct sched_runs *runs = sched_has_classes() ? classes_runs(self) : NULL;
    bias_lock_owner(&sq->lock);
    bool removed = at_load_rlx(&stealable_of(t)->in) == sq &&
                   (remove_alike_locked(runs, sq, t) || ready_remove_locked(self, &sq->q, t));
    if (removed) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_owner(&sq->lock);
    return removed;
}

ALWAYS_INLINE bool steal_remove(struct cpu *self, struct sched_runs *runs, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    /* With classes: only a CPU that runs class OTHER takes another such thread past the queues. */
    if (at_load_rlx(&stealable_of(t)->in) != sq ||
        (runs != NULL && (at_load_rlx(&runs->urgency) != URGENCY_OTHER ||
                          at_load_rlx(&steal.urgency) > URGENCY_OTHER))) {
        return false;
    }
    if (likely(bias_trylock_owner(&sq->lock))) {
        bool removed = remove_alike_locked(runs, sq, t);
        bias_unlock_tried(&sq->lock);
        if (likely(removed)) {
            return true;
        }
    }
    return steal_remove_long(self, t);
}

static bool steal_lists_remove(struct cpu *self, struct thread *t)
{
    return self != NULL && steal_remove(self, NULL, t);
}

static bool steal_classes_remove(struct cpu *self, struct thread *t)
{
    return self != NULL && steal_remove(self, classes_runs(self), t);
}

static bool steal_lists_direct(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return true;
}

/* The CPU may have run another class before, or nothing: then invariant 6, as when it picks. */
static bool steal_classes_direct(struct cpu *self, struct thread *t)
{
    if (unlikely(!classq_plain(t))) {
        return false;
    }
    struct sched_runs *runs = classes_announce_other(self);
    if (unlikely(at_load_rlx(&steal.urgency) > URGENCY_OTHER)) {
        return false;
    }
    classes_take_other(runs, t);
    return true;
}

/* ---- the rest ---- */

/* At a tick: the next pick is one that looks into the shared queue. */
static void steal_poll(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (runq_estimate(&steal.shared) != 0 && !MUTANT(SHARED_LATE)) {
        sq->turns = 1;
    }
}

static bool steal_has_work(struct cpu *self)
{
    (void)self;
    if (runq_estimate(&steal.shared) != 0 && !MUTANT(BLIND_SHARED)) { /* ORDER(idle-wake) */
        return true;
    }
    for (unsigned i = MUTANT(BLIND_QUEUE); i < rt.ncpu; i++) {
        if (runq_estimate(&steal.queues[i].q) != 0) { /* ORDER(idle-wake) */
            return true;
        }
    }
    return false;
}

static void steal_check(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        struct steal_queue *sq = &steal.queues[i];
        ready_check_locked(&sq->q);
    }
    ready_check_locked(&steal.shared);
}

static int steal_classes_thread_init(struct thread *t, struct thread *creator)
{
    at_init(&stealable_of(t)->in, (struct steal_queue *)NULL);
    if (likely(sched_chosen.inherit_no_vtime && creator != NULL && creator->sched.no_vtime)) {
        classq_new_no_vtime(t);
        return 0;
    }
    return classes_thread_init(t, creator);
}

/* ---- task affinity ---- */

/* A thread of class OTHER: by invariant 6, as a pick. */
static bool run_other(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    classes_announce_other(self);
    if (at_load_rlx(&steal.urgency) > URGENCY_OTHER) {
        return false;
    }
    bias_lock_owner(&sq->lock);
    ready_run_locked(self, &sq->q, t);
    bias_unlock_owner(&sq->lock);
    return true;
}

static bool steal_run(struct cpu *self, struct thread *t)
{
    if (!sched_has_classes()) {
        return true;
    }
    if (ready_urgency(&steal.shared, t) <= URGENCY_OTHER) {
        return run_other(self, t);
    }
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    bool runs = ready_may_lead_locked(&steal.shared, t);
    if (runs) {
        ready_run_locked(self, &steal.shared, t);
    }
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return runs;
}

static uint32_t steal_length(unsigned id)
{
    return runq_estimate(&steal.queues[id].q);
}

static uint32_t steal_urgency(unsigned id)
{
    (void)id;
    return at_load_rlx(&steal.urgency);
}

static const struct pirn_policy_option steal_options[] = {
    {.name = "victim",
     .values = "neighbour|max|random",
     .deflt = "neighbour",
     .help = "whom to steal from",
     .set = steal_set_victim},
    {.name = "amount",
     .values = "one|half",
     .deflt = "half",
     .help = "how much to steal",
     .set = steal_set_amount},
    {.name = "end",
     .values = "far|tail",
     .deflt = "far",
     .help = "from which end: far from joins, or the tail",
     .set = steal_set_end},
    DISCIPLINE_OPTIONS,
    CAPACITY_OPTION AFFINITY_OPTIONS{0}};

const struct sched_built_in sched_steal = {
    .policy =
        {
            .name = "steal",
            .help = "a ready queue for each CPU; CPUs without work steal from others",
            .options = SCHED_OPTIONS_OF(steal_options),
            .init = steal_init,
            .fini = FOR_TESTS(classes_fini),
            .enqueue = steal_lists_enqueue,
            .pick = steal_lists_pick,
            .search = steal_search,
            .remove = steal_lists_remove,
            .has_work = steal_has_work,
            .poll = steal_poll,
            .idle_enter = steal_idle_enter,
            .idle_exit = steal_idle_exit,
            .stat = steal_stat,
            .direct = steal_lists_direct,
            .check = FOR_TESTS(steal_check),
        },
    .yield = FOR_SPEED(steal_lists_yield),
    .classes = SCHED_CLASSES(.enqueue = steal_classes_enqueue, .pick = steal_classes_pick,
                             .remove = steal_classes_remove, .direct = steal_classes_direct,
                             .thread_init = steal_classes_thread_init, .preempt = steal_preempt,
                             .requeue = steal_requeue, .charge = classes_charge,
                             .yield = FOR_SPEED(steal_classes_yield)),
    .capacity = STEAL_CAPACITY,
    .affinity = SCHED_AFFINITY(.run = steal_run, .length = steal_length, .urgency = steal_urgency),
};

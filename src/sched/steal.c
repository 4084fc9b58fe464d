/* SPDX-License-Identifier: MIT */
/*
 * steal.c - policy "steal": a ready queue for each CPU; CPUs without work steal from
 * others' queues.
 *
 * Options: victim = neighbour (round robin from the right neighbour), max (longest queue by
 * unlocked estimate), random; amount = one, half (true half, in one visit); end = far, tail;
 * discipline = fifo, lifo; posix and shmac are in steal_classes.c.
 *
 * Invariants:
 *   1. A queue is guarded by its asymmetric lock: the owner enters with plain stores, a thief with
 * a heavy fence (spinlock.h).
 *   2. stealable.in is q exactly while the thread is linked in queue q; both change under q's lock.
 * So read under q's lock, in == q is stable.
 *   3. Threads that foreign kernel threads make ready go to the shared queue; every CPU looks there
 * when its own is empty, at every SHARED_EVERY-th pick, and at the first one after a tick: threads
 * that never yield make 64 picks in as many ticks.
 *
 * From which end. A thread that joins another one takes that out of its CPU's queue, to run it at
 * once. Where threads create threads and join them (fork-join), those are the newest ones, and at
 * the other end lie the oldest, from which most will come; where one thread joins a row of others
 * in their order, they are the oldest. A thief takes from the end at which the owner's last join
 * did not take (end=far): it works far from the owner, and what it takes is not what the owner is
 * about to wait for. Not the first of all: what was handed over lies there. Without joins, or
 * with end=tail, from the tail.
 *
 * When a thief steals. A single ready thread is often about to be run by its own CPU (a semaphore
 * was posted and the poster is going to block): taking it would bounce the pair between CPUs. So a
 * lone thread is stolen only when PATIENCE looks in a row have found the queue non-empty. A batch
 * is worth its move if it kept the thief busy for WORTH_BATCH_NS, or for WORTH_THREAD_NS a thread
 * (a thread's cache lines, and those it fights for, cost about that much); else the thief waits
 * before the next steal, twice as long each time (BACKOFF_*). In both cases it keeps looking: a CPU
 * never sleeps while there is work.
 */
#include "steal.h"

#include <errno.h>

#include "mutant.h"
#include "yield.h"

#define LOOK_EVERY 8u
#define PATIENCE 8u
#define WORTH_THREAD_NS 2000u
#define WORTH_BATCH_NS 100000u
#define BACKOFF_FIRST_NS 2000u
#define BACKOFF_MAX_NS 500000u

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
    steal.half = sched_choice("one|half", value) == 1;
    return 0;
}

static int steal_set_end(const char *value, const char **why)
{
    (void)why;
    steal.far = sched_choice("far|tail", value) == END_FAR;
    return 0;
}

static void steal_queue_init(struct steal_queue *sq, unsigned id)
{
    *sq = (struct steal_queue){
        .turns = SHARED_EVERY, .random = id * 0x9e3779b97f4a7c15ull + 1, .seen_victim = UINT32_MAX};
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
    for (unsigned i = 0; i < ncpu; i++) {
        steal_queue_init(&steal.queues[i], i);
    }
    return 0;
}

ALWAYS_INLINE void steal_push_locked(struct steal_queue *sq, struct thread *t, bool head)
{
    at_store_rlx(&stealable_of(t)->in, sq);
    runq_push_locked(&sq->q, t, head);
}

static COLD void shared_push(struct thread *t)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    runq_push_locked(&steal.shared, t, false);
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
}

static COLD struct thread *shared_pop(void)
{
    spin_lock(&steal.shared_lock, RANK_RUNQ);
    struct thread *t = runq_pop_locked(&steal.shared);
    spin_unlock(&steal.shared_lock, RANK_RUNQ);
    return t;
}

/* The short ways below have no calls, so the compiler saves no registers for them. */
static COLD struct pirn_kick steal_enqueue_slow(struct cpu *self, struct thread *t,
                                                enum pirn_why why)
{
    if (self == NULL) {
        shared_push(t);
    } else {
        struct steal_queue *sq = queue_of(self);
        bias_lock_owner(&sq->lock);
        steal_push_locked(sq, t, runq_to_head(&sq->q, why));
        bias_unlock_owner(&sq->lock);
    }
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static struct pirn_kick steal_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(self == NULL)) {
        return steal_enqueue_slow(self, t, why);
    }
    struct steal_queue *sq = queue_of(self);
    if (unlikely(!bias_trylock_owner(&sq->lock))) {
        return steal_enqueue_slow(self, t, why);
    }
    steal_push_locked(sq, t, runq_to_head(&sq->q, why));
    bias_unlock_tried(&sq->lock);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

ALWAYS_INLINE struct thread *steal_pop_locked(struct steal_queue *sq)
{
    struct thread *t = runq_pop_locked(&sq->q);
    if (likely(t != NULL)) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    return t;
}

/* The pick is counted already. */
static NOINLINE struct thread *steal_pick_slow(struct steal_queue *sq)
{
    struct thread *t = NULL;
    bool turn = sq->turns == 0;
    bool shared = runq_estimate(&steal.shared) != 0;
    sq->turns = turn ? SHARED_EVERY : sq->turns;
    if (turn && shared && (t = shared_pop()) != NULL) {
        return t;
    }
    if (runq_estimate(&sq->q) != 0) {
        bias_lock_owner(&sq->lock);
        t = steal_pop_locked(sq);
        bias_unlock_owner(&sq->lock);
    }
    return t == NULL && shared ? shared_pop() : t;
}

static struct thread *steal_pick(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (unlikely(--sq->turns == 0 || runq_estimate(&sq->q) == 0 ||
                 !bias_trylock_owner(&sq->lock))) {
        return steal_pick_slow(sq);
    }
    struct thread *t = steal_pop_locked(sq);
    bias_unlock_tried(&sq->lock);
    return likely(t != NULL) ? t : steal_pick_slow(sq);
}

ALWAYS_INLINE struct pirn_rotation steal_rotate(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = queue_of(self);
    if (unlikely(--sq->turns == 0 || !bias_trylock_owner(&sq->lock))) {
        sq->turns++; /* the long way, by steal_pick, counts it */
        return (struct pirn_rotation){0};
    }
    struct thread *next = runq_rotate_locked(&sq->q, t);
    if (unlikely(next == NULL)) {
        sq->turns++;
        bias_unlock_tried(&sq->lock);
        return (struct pirn_rotation){0};
    }
    at_store_rlx(&stealable_of(next)->in, (struct steal_queue *)NULL);
    at_store_rlx(&stealable_of(t)->in, sq);
    return (struct pirn_rotation){next, bias_held_owner(&sq->lock)};
}

static bool steal_yield(void)
{
    return yield_by(steal_rotate, true);
}

/* Of the victim's queue: the first one to run now, the rest, in their order, to our own. */
static struct thread *steal_from(struct cpu *self, unsigned victim)
{
    struct steal_queue *from = &steal.queues[victim];
    struct steal_queue *to = queue_of(self);
    struct list batch;
    uint32_t taken = 0;
    STAT_INC(&self->stats.steal_attempts);
    if (!bias_trylock_guest(&from->lock)) {
        return NULL;
    }
    bool head = steal.far && from->head_is_far;
    bool tail = ready_all_alike_locked(&from->q) && !head;
    uint32_t want = steal.half ? (runq_estimate(&from->q) + 1) / 2 : 1;
    list_init(&batch);
    for (struct thread *t;
         taken < want && taken < BATCH_MAX && (t = ready_give_locked(&from->q, head)) != NULL;
         taken++) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        if (tail) {
            list_push_front(&batch, &t->rq);
        } else {
            list_push_back(&batch, &t->rq);
        }
    }
    bias_unlock_guest(&from->lock);
    struct list *first = list_pop_front(&batch);
    if (first == NULL) {
        return NULL;
    }
    STAT_ADD(&self->stats.steals, taken);
    trace_steal(self, victim, taken, CONTAINER_OF(first, struct thread, rq));
    to->batch_since = port_now();
    to->batch_size = taken;
    bias_lock_owner(&to->lock);
    for (struct list *node; (node = list_pop_front(&batch)) != NULL;) {
        struct thread *t = CONTAINER_OF(node, struct thread, rq);
        at_store_rlx(&stealable_of(t)->in, to);
        at_fence_light(); /* ORDER(requeue) */
        ready_push_locked(&to->q, t, PIRN_WHY_MIGRATE);
    }
    struct thread *next = CONTAINER_OF(first, struct thread, rq);
    ready_run_locked(self, &to->q, next);
    bias_unlock_owner(&to->lock);
    return next;
}

/* The k-th CPU to try. */
static unsigned steal_order(struct steal_queue *sq, unsigned self, unsigned k)
{
    if (steal.victim == VICTIM_RANDOM) {
        sq->random ^= sq->random << 13;
        sq->random ^= sq->random >> 7;
        sq->random ^= sq->random << 17;
        return (self + 1 + (unsigned)(sq->random % (rt.ncpu - 1))) % rt.ncpu;
    }
    return (self + 1 + k) % rt.ncpu;
}

/* Whom to rob; RT_MAX_CPUS if nobody. */
static unsigned steal_choose(struct steal_queue *sq, unsigned self)
{
    unsigned best = RT_MAX_CPUS;
    uint32_t best_length = 0;
    for (unsigned k = 0; k < rt.ncpu - 1; k++) {
        unsigned v = steal_order(sq, self, k);
        uint32_t length = runq_estimate(&steal.queues[v].q);
        if (length > best_length) {
            best = v;
            best_length = length;
            if (steal.victim != VICTIM_MAX) {
                break;
            }
        }
    }
    if (best_length != 1) {
        sq->seen_victim = UINT32_MAX;
        return best;
    }
    sq->seen = sq->seen_victim == best ? sq->seen + 1 : 1;
    sq->seen_victim = best;
    return sq->seen >= PATIENCE ? best : RT_MAX_CPUS;
}

struct thread *steal_search(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (rt.ncpu == 1 || ++sq->looks % LOOK_EVERY != 0) {
        return NULL;
    }
    if (sq->backoff_until != 0 && port_now() < sq->backoff_until) {
        return NULL;
    }
    unsigned victim = steal_choose(sq, self->id);
    return victim != RT_MAX_CPUS ? steal_from(self, victim) : NULL;
}

/* At a tick: the next pick is one that looks into the shared queue. */
static void steal_poll(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (runq_estimate(&steal.shared) != 0 && !MUTANT(SHARED_LATE)) {
        sq->turns = 1;
    }
}

/* Out of work: was the last batch worth stealing? */
static void steal_idle_enter(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (sq->batch_since == 0) {
        return;
    }
    uint64_t now = port_now();
    uint64_t ran = now - sq->batch_since;
    if (ran >= WORTH_BATCH_NS || ran >= (uint64_t)sq->batch_size * WORTH_THREAD_NS) {
        sq->backoff_ns = 0;
        sq->backoff_until = 0;
    } else {
        sq->backoff_ns = sq->backoff_ns == 0 ? BACKOFF_FIRST_NS : sq->backoff_ns * 2;
        sq->backoff_ns = sq->backoff_ns < BACKOFF_MAX_NS ? sq->backoff_ns : BACKOFF_MAX_NS;
        sq->backoff_until = now + sq->backoff_ns;
    }
    sq->batch_since = 0;
}

ALWAYS_INLINE bool steal_remove_locked(struct steal_queue *sq, struct thread *t)
{
    bool ours = at_load_rlx(&stealable_of(t)->in) == sq;
    if (likely(ours)) {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
        sq->head_is_far = sq->q.threads.next != &t->rq;
        runq_remove_locked(&sq->q, t);
    }
    return ours;
}

static COLD bool steal_remove_slow(struct steal_queue *sq, struct thread *t)
{
    bias_lock_owner(&sq->lock);
    bool ours = steal_remove_locked(sq, t);
    bias_unlock_owner(&sq->lock);
    return ours;
}

static bool steal_remove(struct cpu *self, struct thread *t)
{
    struct steal_queue *sq = self != NULL ? queue_of(self) : NULL;
    if (sq == NULL || at_load_rlx(&stealable_of(t)->in) != sq) {
        return false;
    }
    if (unlikely(!bias_trylock_owner(&sq->lock))) {
        return steal_remove_slow(sq, t);
    }
    bool ours = steal_remove_locked(sq, t);
    bias_unlock_tried(&sq->lock);
    return ours;
}

static bool steal_has_work(struct cpu *self)
{
    (void)self;
    if (runq_estimate(&steal.shared) != 0) { /* ORDER(idle-wake) */
        return true;
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (runq_estimate(&steal.queues[i].q) != 0) { /* ORDER(idle-wake) */
            return true;
        }
    }
    return false;
}

static bool steal_direct(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return true;
}

static void steal_check(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        struct steal_queue *sq = &steal.queues[i];
        ready_check_locked(&sq->q);
    }
    ready_check_locked(&steal.shared);
}

static const struct pirn_policy_option steal_options[] = {{.name = "victim",
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
                                                           .help =
                                                               "from which end of its queue: far "
                                                               "from where joins take, or the tail",
                                                           .set = steal_set_end},
                                                          DISCIPLINE_OPTIONS,
                                                          {0}};

const struct sched_built_in sched_steal = {
    .policy =
        {
            .name = "steal",
            .help = "a ready queue for each CPU; CPUs without work steal from others",
            .options = SCHED_OPTIONS_OF(steal_options),
            .init = steal_init,
            .fini = FOR_TESTS(classes_fini),
            .enqueue = steal_enqueue,
            .pick = steal_pick,
            .search = steal_search,
            .remove = steal_remove,
            .has_work = steal_has_work,
            .poll = steal_poll,
            .idle_enter = steal_idle_enter,
            .direct = steal_direct,
            .check = FOR_TESTS(steal_check),
        },
    .yield = steal_yield,
    .classes = WITH_CLASSES(&steal_classes),
};

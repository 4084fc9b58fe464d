/* SPDX-License-Identifier: MIT */
/*
 * steal_search.c - the thieves of policy "steal": from which CPU, from which end, how much, when.
 * Called by CPUs without work.
 *
 * From which end. A thread that joins another one takes that out of its CPU's queue, to run it at
 * once. In fork-join programs the joined threads are the newest ones; the oldest, which will create
 * the most threads, are at the other end. If one thread joins many others in order, the joined
 * threads are the oldest. A thief takes from the end at which the owner's last join did not take
 * (end=far): so it works far from the owner, and does not take threads that the owner will join
 * next. It leaves the very first thread, which may have been handed over. Without joins, or with
 * end=tail, it takes from the tail.
 *
 * When a thief steals. A single ready thread is often about to be run by its own CPU (a semaphore
 * was posted and the poster is going to block): taking it would bounce the pair between CPUs. So a
 * lone thread is stolen only when PATIENCE looks in a row have found the queue non-empty. A look
 * that has seen one goes on to the next CPUs: a longer queue there comes first. A batch is worth
 * its move if it kept the thief busy for WORTH_BATCH_NS, or for WORTH_THREAD_NS a thread: the cache
 * lines of a thread, and those for which it competes, cost about that much. Otherwise the thief
 * waits before the next steal, twice as long each time (BACKOFF_*). In both cases it keeps looking:
 * a CPU never sleeps while there is work.
 *
 * How far it looks. The owner of a queue pays for each look at it: the line with its length must
 * come back before the next change. So where there are many CPUs, a look covers the nearest ones
 * and a part of the others, each time the next part (LOOK_NEAR, LOOK_FAR). It stays at a part where
 * it has seen a lone thread. victim=max has to look at all.
 *
 * The victim's queue is locked as by a guest, then the thief's own as by its owner; never both.
 */
#include "../core/nodes.h"
#include "../trace/trace.h"
#include "mutant.h"
#include "runtime.h"
#include "steal.h"

#define LOOK_EVERY 8u
#define LOOK_NEAR PORT_LOOK_WIDTH
#define LOOK_FAR PORT_LOOK_WIDTH
#define PATIENCE 8u
#define WORTH_THREAD_NS 2000u
#define WORTH_BATCH_NS 100000u
#define BACKOFF_FIRST_NS 2000u
#define BACKOFF_MAX_NS 500000u

/* Steal from the victim's queue. Returns the first thread, which runs now; the others go to the
 * caller's queue, in their order. */
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
    bool head = !steal.from_tail && from->head_is_far;
    bool tail = ready_all_alike_locked(&from->q) && !head;
    uint32_t want = steal.one ? 1 : (runq_estimate(&from->q) + 1) / 2;
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
        if (MUTANT(BATCH_DROP) && list_empty(&batch)) {
            break;
        }
        at_store_rlx(&stealable_of(t)->in, to);
        at_fence_light(); /* ORDER(requeue) */
        ready_push_locked(&to->q, t, PIRN_WHY_MIGRATE);
    }
    struct thread *next = CONTAINER_OF(first, struct thread, rq);
    ready_run_locked(self, &to->q, next);
    bias_unlock_owner(&to->lock);
    return next;
}

static uint64_t random_next(struct steal_queue *sq)
{
    sq->random ^= sq->random << 13;
    sq->random ^= sq->random >> 7;
    sq->random ^= sq->random << 17;
    return sq->random;
}

static bool looks_at_all(void)
{
    return RT_MAX_CPUS <= 32 || steal.victim == VICTIM_MAX || rt.ncpu - 1 <= LOOK_NEAR + LOOK_FAR;
}

/* How many CPUs a look covers. */
static unsigned look_width(void)
{
    return looks_at_all() ? rt.ncpu - 1 : LOOK_NEAR + LOOK_FAR;
}

/* The place of the i-th one among all others. */
static unsigned look_at(const struct steal_queue *sq, unsigned i)
{
    unsigned far = i - LOOK_NEAR + sq->look_from;
    return looks_at_all() || i < LOOK_NEAR ? i : LOOK_NEAR + far % (rt.ncpu - 1 - LOOK_NEAR);
}

/* Nothing was seen: the next look covers the next part. */
static void look_further(struct steal_queue *sq)
{
    if (!looks_at_all()) {
        sq->look_from = (sq->look_from + LOOK_FAR) % (rt.ncpu - 1 - LOOK_NEAR);
    }
}

/* The k-th CPU to try. */
static unsigned steal_order(struct steal_queue *sq, unsigned self, unsigned k)
{
    if (steal.victim == VICTIM_RANDOM) {
        return (self + 1 + (unsigned)(random_next(sq) % (rt.ncpu - 1))) % rt.ncpu;
    }
    return (self + 1 + k) % rt.ncpu;
}

struct victim {
    unsigned cpu; /* RT_MAX_CPUS: none */
    uint32_t length;
};

static struct victim victim_among_all(struct steal_queue *sq, unsigned self)
{
    struct victim best = {RT_MAX_CPUS, 0};
    for (unsigned i = 0; i < look_width(); i++) {
        unsigned v = steal_order(sq, self, look_at(sq, i));
        uint32_t length = runq_estimate(&steal.queues[v].q);
        if (length > best.length) {
            best = (struct victim){v, length};
            if (steal.victim != VICTIM_MAX && length != 1) {
                break;
            }
        }
    }
    return best;
}

/* With several nodes: the nearest ones with a victim; of these the next one, or the longest queue,
 * or one by chance. */
static struct victim victim_by_node(struct steal_queue *sq, unsigned self)
{
    struct victim best = {RT_MAX_CPUS, 0};
    unsigned distance = 0;
    for (unsigned i = 0; i < look_width(); i++) {
        unsigned v = nodes_near(self, look_at(sq, i));
        if (best.length != 0 && nodes_distance(self, v) != distance) {
            break;
        }
        uint32_t length = runq_estimate(&steal.queues[v].q);
        distance = nodes_distance(self, v);
        if (steal.victim == VICTIM_RANDOM && length != 0) {
            length = 1 + (uint32_t)(random_next(sq) >> 33);
        }
        if (length > best.length) {
            best = (struct victim){v, length};
            if (steal.victim == VICTIM_NEIGHBOUR && length != 1) {
                break;
            }
        }
    }
    best.length = best.length != 0 ? runq_estimate(&steal.queues[best.cpu].q) : 0;
    return best;
}

/* The victim; RT_MAX_CPUS: none. */
static unsigned steal_choose(struct steal_queue *sq, unsigned self)
{
    struct victim victim = nodes_differ() ? victim_by_node(sq, self) : victim_among_all(sq, self);
    unsigned best = victim.cpu;
    uint32_t best_length = victim.length;
    if (best_length != 1) {
        sq->seen_victim = UINT32_MAX;
        if (best == RT_MAX_CPUS) {
            look_further(sq);
        }
        return best;
    }
    sq->seen = sq->seen_victim == best ? sq->seen + 1 : 1;
    sq->seen_victim = best;
    return sq->seen >= PATIENCE ? best : RT_MAX_CPUS;
}

static struct thread *search_victims(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (rt.ncpu == 1 || ++sq->looks % LOOK_EVERY != 0) {
        return NULL;
    }
    if (sq->backoff_until != 0 && port_now() < sq->backoff_until) {
        return NULL;
    }
    bool by_capacity = RT_CAPACITIES && unlikely(rt.by_capacity);
    if (by_capacity && steal_capacity_defers(self)) {
        return NULL;
    }
    unsigned victim = steal_choose(sq, self->id);
    if (victim != RT_MAX_CPUS) {
        return steal_from(self, victim);
    }
    if (by_capacity && sq->seen_victim == UINT32_MAX) {
        steal_capacity_nothing(self);
    }
    return NULL;
}

struct thread *steal_search(struct cpu *self)
{
    struct thread *t = search_victims(self);
    if (t == NULL || !sched_has_classes()) {
        return t;
    }
    at_fence_seq(); /* ORDER(runs) */
    if (likely(at_load_rlx(&steal.urgency) <= URGENCY_OTHER)) {
        return t;
    }
    (void)steal_enqueue_long(self, t, PIRN_WHY_HANDOFF); /* a real-time thread is ready */
    return NULL;
}

/* Out of work: was the last batch worth stealing? */
void steal_idle_enter(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (RT_CAPACITIES && unlikely(rt.by_capacity)) {
        steal_capacity_enter(self);
    }
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

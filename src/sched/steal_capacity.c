/* SPDX-License-Identifier: MIT */
/*
 * steal_capacity.c - policy "steal" on CPUs of different capacities: who asks whom for its running
 * thread, and which ready threads slow CPUs leave to faster ones. core/capacity.h has the protocol.
 *
 * A CPU without work first looks for ready threads, as ever. If PATIENCE looks in a row have found
 * none, or before it sleeps, it asks the slowest CPU that runs a thread, if that is slower by more
 * than an eighth. A thread that ran for less than WORTH_NS after it was taken over was not worth
 * the move: then the CPU does not steal for a while (steal_idle_enter), and asks only before it
 * sleeps.
 *
 * A slower CPU without work leaves ready threads to a faster one that has none, either: it wakes
 * that, and steals only after DEFER_NS. So no thread waits much longer than the wake-up of a CPU
 * takes.
 *
 * steal_queue.idle is a hint, written by its CPU. Of two CPUs that both believe that the other one
 * is idle, or runs, one may ask in vain, or a thread may move for nothing. ORDER(takeover), in
 * steal_idle_exit, is about sleeping: a CPU that begins to run clears `idle`, fences, and looks
 * for faster sleepers; a sleeper has set its bit, fenced, and looks for CPUs that are not idle.
 *
 * The asker's queue is locked as by a guest.
 */
#include "../core/capacity.h"

#include "mutant.h"
#include "runtime.h"
#include "steal.h"
#include "wake.h"

#if RT_CAPACITIES
#define PATIENCE 4u
#define DEFER_NS 100000u
#define WORTH_THREADS 4u /* a thread that is taken over counts as a batch of so many */

#define NOT_ASKED UINT32_MAX

static bool runs_a_thread(unsigned id)
{
    return at_load_rlx(&steal.queues[id].idle) == 0;
}

/* A total order. */
static bool slower(unsigned a, unsigned b)
{
    return rt_capacity(a) != rt_capacity(b) ? rt_capacity(a) < rt_capacity(b) : a < b;
}

/* Of the CPUs that run a thread, and are much slower than `self`, the slowest one behind `tried`
 * (NULL: of all). */
static struct cpu *slowest_running(const struct cpu *self, const struct cpu *tried)
{
    struct cpu *best = NULL;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (capacity_much_above(self->id, i) && runs_a_thread(i) &&
            (tried == NULL || slower(tried->id, i)) && (best == NULL || slower(i, best->id))) {
            best = rt.cpus[i];
        }
    }
    return best;
}

/* Until one is not asked already. The compare-and-swap, not a load, tells: a load may be old, and
 * the CPU may be about to sleep. */
static void steal_capacity_ask(struct cpu *self)
{
    struct cpu *source = NULL;
    while ((source = slowest_running(self, source)) != NULL) {
        uint32_t asker = takeover_ask(self, source);
        if (asker == 0 || asker == self->id + 1) {
            queue_of(self)->asked = source->id;
            return;
        }
    }
}

void steal_capacity_nothing(struct cpu *self)
{
    if (++queue_of(self)->nothing % PATIENCE == 0) {
        steal_capacity_ask(self);
    }
}

bool steal_capacity_defers(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    bool faster = false;
    for (unsigned i = 0; i < rt.ncpu && !faster; i++) {
        faster = capacity_much_above(i, self->id) && !runs_a_thread(i);
    }
    if (!faster) {
        return false;
    }
    uint64_t now = port_now();
    if (sq->defers_until == 0) {
        struct cpu *sleeper = capacity_faster_sleeper(self);
        sq->defers_until = now + DEFER_NS;
        if (sleeper != NULL) {
            rt_kick_cpu(self, sleeper->id);
        }
    }
    return now < sq->defers_until;
}

void steal_capacity_enter(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    sq->asked = NOT_ASKED;
    sq->nothing = 0;
    sq->defers_until = 0;
    at_store_rlx(&sq->idle, 1u);
    takeover_drop(self);
}

void steal_idle_exit(struct cpu *self)
{
    struct steal_queue *sq = queue_of(self);
    if (likely(!rt.by_capacity)) {
        return;
    }
    at_store_rlx(&sq->idle, 0u);
    if (sq->asked != NOT_ASKED) {
        takeover_withdraw(self, rt.cpus[sq->asked]);
        sq->batch_since = port_now();
        sq->batch_size = WORTH_THREADS;
    }
    at_fence_seq(); /* ORDER(takeover) */
    struct cpu *faster = capacity_faster_sleeper(self);
    if (faster != NULL) {
        rt_kick_cpu(self, faster->id);
    }
}

/* Not a real-time thread: these are in the queue of all CPUs. A ready thread is stolen instead; the
 * asker may have gone to sleep before it came. */
static bool steal_may_give(struct cpu *self, struct thread *t, struct cpu *asker)
{
    struct steal_queue *sq = queue_of(self);
    if (ready_urgency(&sq->q, t) != URGENCY_OTHER || runs_a_thread(asker->id)) {
        return false;
    }
    if (runq_estimate(&sq->q) != 0 || runq_estimate(&steal.shared) != 0) {
        rt_kick_cpu(self, asker->id);
        return false;
    }
    return true;
}

static void steal_give(struct cpu *self, struct thread *t, struct cpu *asker)
{
    struct steal_queue *to = queue_of(asker);
    queue_of(self)->given++;
    bias_lock_guest(&to->lock);
    at_store_rlx(&stealable_of(t)->in, to);
    at_fence_light(); /* ORDER(requeue) */
    bool stays = ready_urgency(&to->q, t) == URGENCY_OTHER;
    if (stays) {
        ready_push_locked(&to->q, t, PIRN_WHY_MIGRATE);
    } else {
        at_store_rlx(&stealable_of(t)->in, (struct steal_queue *)NULL);
    }
    bias_unlock_guest(&to->lock);
    if (!stays) {
        classes_preempt_lowest(steal_shared_push(t, PIRN_WHY_MIGRATE));
    }
}

void steal_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                void *to)
{
    emit(to, "taken-over", queue_of(self)->given);
}

const struct sched_capacity steal_capacity = {
    .ask = steal_capacity_ask, .may_give = steal_may_give, .give = steal_give};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request.c - policy "request": a CPU without work asks others for a thread, by
 * messages; no CPU ever touches another one's queue.
 *
 * Between every ordered pair of CPUs there is a ring (mailbox.h). box[to][from] carries requests
 * (the word REQUEST) and answers (a thread, or NULL for "none to spare"). A CPU with more than two
 * threads, the running one included, answers with one from the tail of its queue.
 *
 * Invariants:
 *   1. A queue belongs to its CPU; `asked` is written by its CPU only.
 *   2. asked[v] is set from the request to its answer: at most one request and one answer are
 *      between a pair, so a ring of MAILBOX_SLOTS is never full. If it were, the request would not
 *      be sent, or the thread would stay in its queue: nothing is lost.
 *   3. Every message is followed by rt_post, which wakes a sleeping receiver: an idle CPU may sleep
 *      with requests unanswered.
 *   4. promised counts the requests to a CPU that are not answered. Threads beyond SPARE and beyond
 *      the promised ones are free for a CPU that has not asked yet. While there are such threads
 *      and such a CPU sleeps, no searching CPU goes to sleep: it wakes that one first
 *      (request_search). So a waker may rely on any searching CPU, as wake.h says.
 *
 * With classes a CPU gives away its most urgent ready thread. A real-time thread that cannot run
 * here, but could on the CPU that runs the least urgent thread, is sent there. A change of priority
 * counts in request_changes and asks every CPU to sort its queue, because the thread may be on its
 * way between two. That a thread which is sent is not left behind if it becomes more urgent on its
 * way, or if its new CPU has just begun a less urgent one, follows as in dist.c (2, 3).
 */
#include <errno.h>
#include <inttypes.h>

#include "../trace/trace.h"
#include "cpu.h"
#include "mailbox.h"
#include "mutant.h"
#include "runq.h"
#include "runtime.h"
#include "wake.h"
#include "yield.h"

#define SPARE 2u /* ready threads, beside the running one, from which a CPU gives one away */
#define REQUEST ((void *)1)

struct request_cpu {
    struct runq q ALIGNED(RT_CACHELINE);              /* (O) */
    struct mailbox *box;                              /* (C) by sender */
    _Atomic(uint32_t) promised ALIGNED(RT_CACHELINE); /* (A) see invariant 4 */
    uint32_t sorted;                                  /* (O) changes when the queue was sorted */
    _Atomic(uint8_t) asked[RT_MAX_CPUS];              /* by victim; written by the owner */
};

static struct request_cpu request_cpus[RT_MAX_CPUS];
static _Atomic(uint32_t) request_changes; /* (A) of priorities */

struct requested {
    struct list rq;
    _Atomic(struct cpu *) queued; /* (O of that CPU) in whose queue; NULL = none */
};
_Static_assert(sizeof(struct requested) <= RT_POLICY_ROOM, "RT_POLICY_ROOM");

ALWAYS_INLINE _Atomic(struct cpu *) *queued_in(struct thread *t)
{
    return &((struct requested *)t->policy)->queued;
}

static int request_init(unsigned ncpu)
{
    if (classes_init(ncpu) != 0) {
        return -ENOMEM;
    }
    at_init(&request_changes, 0u);
    for (unsigned i = 0; i < ncpu; i++) {
        struct request_cpu *rc = &request_cpus[i];
        *rc = (struct request_cpu){.box = port_table_alloc(ncpu * sizeof(struct mailbox))};
        if (rc->box == NULL) {
            return -ENOMEM;
        }
        ready_init(&rc->q, i);
        at_init(&rc->promised, 0u);
        for (unsigned k = 0; k < ncpu; k++) {
            mailbox_init(&rc->box[k]);
            at_init(&rc->asked[k], (uint8_t)0);
        }
    }
    return 0;
}

static void request_fini(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (request_cpus[i].box != NULL) { /* else init did not come so far */
            port_table_free(request_cpus[i].box, rt.ncpu * sizeof(struct mailbox));
            request_cpus[i].box = NULL;
        }
    }
    classes_fini();
}

static void request_push_owner(struct cpu *self, struct thread *t, enum pirn_why why)
{
    at_store_rlx(queued_in(t), self);
    ready_push_locked(&request_cpus[self->id].q, t, why);
}

/* t goes to the CPU of that kick. `changes` was read before its urgency. Once it is sent it may
 * run, and end. */
static struct pirn_kick request_send(struct thread *t, struct pirn_kick kick, uint32_t changes)
{
    inbox_push(rt.cpus[kick.cpu], t);
    if (unlikely(at_load_rlx(&request_changes) != changes) &&
        !MUTANT(SENT_UNSEEN)) { /* ORDER(reorder) */
        kick.preempt = true;
    }
    return kick;
}

/* A real-time thread: it preempts here, or goes to a CPU where it can run. */
static COLD struct pirn_kick request_enqueue_urgent(struct cpu *self, struct thread *t,
                                                    enum pirn_why why)
{
    uint32_t changes = at_load_acq(&request_changes); /* ORDER(reorder) */
    struct pirn_kick kick = classes_kick_lowest(self, ready_urgency(&request_cpus[self->id].q, t));
    if (kick.preempt && kick.cpu != (int)self->id) {
        return request_send(t, kick, changes);
    }
    request_push_owner(self, t, why);
    return kick;
}

/* By a kernel thread that is no CPU. */
static COLD struct pirn_kick request_enqueue_foreign(struct thread *t)
{
    struct cpu *to = t->cpu != NULL ? t->cpu : rt.cpus[0];
    uint32_t changes = at_load_acq(&request_changes); /* ORDER(reorder) */
    uint32_t urgency = ready_urgency(&request_cpus[to->id].q, t);
    struct pirn_kick kick = classes_kick_lowest(NULL, urgency);
    if (!kick.preempt) {
        kick = (struct pirn_kick){.cpu = (int)to->id};
    }
    kick = request_send(t, kick, changes);
    if (urgency > URGENCY_OTHER && !kick.preempt) {
        kick.preempt = classes_kick_home(NULL, (unsigned)kick.cpu, urgency).preempt;
    }
    return kick; /* ORDER(runs) */
}

static struct pirn_kick request_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (unlikely(self == NULL)) {
        return request_enqueue_foreign(t);
    }
    struct request_cpu *rc = &request_cpus[self->id];
    uint32_t urgency = ready_urgency(&rc->q, t);
    if (unlikely(urgency > URGENCY_OTHER)) {
        return request_enqueue_urgent(self, t, why);
    }
    request_push_owner(self, t, why);
    return (struct pirn_kick){.cpu =
                                  runq_estimate(&rc->q) >= SPARE ? PIRN_KICK_ANY : PIRN_KICK_NONE};
}

static struct thread *request_pick(struct cpu *self)
{
    uint32_t before = classes_urgency_at(self->id);
    struct thread *t = ready_pop_locked(self, &request_cpus[self->id].q);
    if (t != NULL) {
        at_store_rlx(queued_in(t), (struct cpu *)NULL);
        classes_look_at_inbox(self, before);
    }
    return t;
}

ALWAYS_INLINE struct pirn_rotation request_rotate(struct cpu *self, struct thread *t)
{
    struct thread *next = ready_rotate_locked(self, &request_cpus[self->id].q, t);
    if (next != NULL) {
        at_store_rlx(queued_in(next), (struct cpu *)NULL);
        at_store_rlx(queued_in(t), self);
    }
    return (struct pirn_rotation){next, NULL};
}

static bool request_yield(void)
{
    return yield_by(request_rotate, false);
}

/* Answer `to`: a thread if there are enough. */
static void request_answer(struct cpu *self, unsigned to)
{
    struct request_cpu *rc = &request_cpus[self->id];
    struct thread *t = NULL;
    if (runq_estimate(&rc->q) >= SPARE) {
        t = ready_give_locked(&rc->q, false);
        at_store_rlx(queued_in(t), (struct cpu *)NULL);
    }
    at_sub_acq_rel(&rc->promised, 1u); /* ORDER(request) */
    if (!mailbox_send_spsc(&request_cpus[to].box[self->id], t)) {
        RT_PANIC("answer from CPU %" PRIu32 " to CPU %u does not fit", self->id, to);
    }
    trace_answer(self, to, t != NULL);
    rt_post(rt.cpus[to], RT_PENDING_POLL);
}

static void request_receive(struct cpu *self, unsigned from)
{
    struct request_cpu *rc = &request_cpus[self->id];
    void *message;
    while (mailbox_receive_spsc(&rc->box[from], &message)) {
        if (message == REQUEST) {
            request_answer(self, from);
            continue;
        }
        at_store_rlx(&rc->asked[from], (uint8_t)0);
        if (message != NULL) {
            STAT_INC(&self->stats.steals);
            request_push_owner(self, message, PIRN_WHY_MIGRATE);
        }
    }
}

static void request_poll(struct cpu *self)
{
    struct thread *t = inbox_take_owner(self);
    while (t != NULL) {
        struct thread *next = (struct thread *)t->rq.next;
        t->rq.next = NULL;
        request_push_owner(self, t, PIRN_WHY_WAKE);
        t = next;
    }
    struct request_cpu *rc = &request_cpus[self->id];
    uint32_t changes = at_load_acq(&request_changes); /* ORDER(reorder) */
    if (RUNQ_CLASSES(&rc->q) != NULL && changes != rc->sorted) {
        rc->sorted = changes;
        classq_reorder(RUNQ_CLASSES(&rc->q));
    }
    for (unsigned from = 0; from < rt.ncpu; from++) {
        request_receive(self, from);
    }
    if (runq_estimate(&rc->q) >= SPARE) {
        rt_kick_any(self); /* no sender could know how many there would be */
    }
}

/* Has v threads to spare for which no CPU has asked? */
static bool request_spare(unsigned v)
{
    return runq_estimate(&request_cpus[v].q) >=
           SPARE + MUTANT(SPARE_MORE) +
               at_load_rlx(&request_cpus[v].promised); /* ORDER(idle-wake) */
}

static bool request_asked(unsigned who, unsigned v)
{
    return at_load_rlx(&request_cpus[who].asked[v]) != 0;
}

static bool request_ask(struct cpu *self, unsigned v)
{
    struct request_cpu *rc = &request_cpus[self->id];
    STAT_INC(&self->stats.steal_attempts);
    at_add_acq_rel(&request_cpus[v].promised, 1u); /* ORDER(request) */
    at_store_rlx(&rc->asked[v], (uint8_t)1);
    if (mailbox_send_spsc(&request_cpus[v].box[self->id], REQUEST)) {
        trace_request(self, v);
        rt_post(rt.cpus[v], RT_PENDING_POLL);
        return true;
    }
    at_store_rlx(&rc->asked[v], (uint8_t)0);
    at_sub_acq_rel(&request_cpus[v].promised, 1u); /* ORDER(request) */
    return false;
}

/* A sleeping CPU that could still ask v; RT_MAX_CPUS if there is none. */
static unsigned request_sleeper(unsigned self, unsigned v)
{
    for (unsigned j = 0; j < rt.ncpu; j++) {
        if (j != self && j != v && !request_asked(j, v) && rt_cpu_sleeps(j)) {
            return j;
        }
    }
    return RT_MAX_CPUS;
}

/* Ask a CPU that has threads to spare. If we have asked it already, wake a CPU that has not. */
static struct thread *request_search(struct cpu *self)
{
    for (unsigned k = 1; k < rt.ncpu; k++) {
        unsigned v = (self->id + k) % rt.ncpu;
        if (!request_spare(v)) {
            continue;
        }
        if (!request_asked(self->id, v) && request_ask(self, v)) {
            break;
        }
        unsigned helper = request_sleeper(self->id, v);
        if (helper != RT_MAX_CPUS) {
            rt_kick_cpu(self, helper);
        }
    }
    return NULL;
}

static bool request_has_work(struct cpu *self)
{
    struct request_cpu *rc = &request_cpus[self->id];
    if (runq_estimate(&rc->q) != 0 || !inbox_empty(self)) { /* ORDER(idle-wake) */
        return true;
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (i == self->id) {
            continue;
        }
        if (!mailbox_empty(&rc->box[i])) {
            return true;
        }
        if (request_spare(i) &&
            (!request_asked(self->id, i) || request_sleeper(self->id, i) != RT_MAX_CPUS)) {
            return true;
        }
    }
    return false;
}

static bool request_remove(struct cpu *self, struct thread *t)
{
    if (self == NULL || at_load_rlx(queued_in(t)) != self) {
        return false;
    }
    uint32_t before = classes_urgency_at(self->id);
    if (!ready_remove_locked(self, &request_cpus[self->id].q, t)) {
        return false;
    }
    at_store_rlx(queued_in(t), (struct cpu *)NULL);
    classes_look_at_inbox(self, before);
    return true;
}

static struct thread *request_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    uint32_t before = classes_urgency_at(self->id);
    struct thread *next = ready_preempt_locked(self, &request_cpus[self->id].q, running, why);
    classes_look_at_inbox(self, before);
    if (next != NULL) {
        at_store_rlx(queued_in(next), (struct cpu *)NULL);
    }
    return next;
}

static void request_requeue(struct thread *t)
{
    (void)t;
    at_add_acq_rel(&request_changes, 1u); /* ORDER(reorder) */
    for (unsigned i = 0; i < rt.ncpu; i++) {
        rt_post(rt.cpus[i], RT_PENDING_POLL | RT_PENDING_RESCHED);
    }
}

static bool request_direct(struct cpu *self, struct thread *t)
{
    struct runq *q = &request_cpus[self->id].q;
    if (!ready_may_run_locked(q, t)) {
        return false;
    }
    uint32_t before = classes_urgency_at(self->id);
    ready_run_locked(self, q, t);
    classes_look_at_inbox(self, before);
    return true;
}

static void request_check(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        ready_check_locked(&request_cpus[i].q);
    }
}

const struct sched_built_in sched_request = {
    .policy =
        {
            .name = "request",
            .help = "a ready queue for each CPU; CPUs without work ask others by message",
            .private_queues = true,
            .options = SCHED_OPTIONS(DISCIPLINE_OPTIONS),
            .init = request_init,
            .fini = FOR_TESTS(request_fini),
            .enqueue = request_enqueue,
            .pick = request_pick,
            .search = request_search,
            .remove = request_remove,
            .has_work = request_has_work,
            .poll = request_poll,
            .direct = request_direct,
            .check = FOR_TESTS(request_check),
        },
    .yield = FOR_SPEED(request_yield),
    .classes = SCHED_CLASSES(.thread_init = classes_thread_init, .preempt = request_preempt,
                             .requeue = request_requeue, .charge = classes_charge),
};

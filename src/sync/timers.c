/* SPDX-License-Identifier: MIT */
/*
 * timers.c - software timers: one heap of expiries, and a thread that sleeps until the earliest and
 * calls the function.
 *
 * Callers: the native API. Invariants:
 *   1. A timer is in the heap exactly while it is started (expiry.armed). It leaves the heap, or
 *      gets its next expiry, before its function is called: so the function may start and stop it.
 *   2. The thread waits, with the earliest deadline, only after it has looked at the heap under the
 *      lock. Whoever puts a timer before all others wakes it, so no earlier deadline is missed.
 *   3. `running` is the timer whose function is being called. The thread does not touch that timer
 *      after the call, but for others that wait for the end of the call in rt_timer_stop_sync: then
 *      it stops it once more. So the function may free it.
 *   4. One wait queue has both kinds of waiters: the thread, and threads that wait for the end of a
 *      call (wait_object: the timer).
 *   5. The thread counts as ended from its beginning (life.h): it does not keep the program alive.
 * Lock: timers.queue.lock (RANK_WAITQ) guards everything that is marked (T).
 */
#include "timers.h"

#include <errno.h>

#include "life.h"
#include "mutant.h"
#include "sync.h"
#include "wake.h"

enum { TIMERS_NEXT = 1, TIMERS_CALLED }; /* wait_kind */

static struct {
    struct waitq queue;             /* its lock has no state */
    struct timer_heap heap;         /* (T) its own lock is not used */
    struct thread *thread;          /* (C) from `created` on */
    const struct rt_timer *running; /* (T) or NULL */
    bool ending;                    /* (T) simulator */
    struct rt_once created;
} timers;

static struct cpu *timers_lock(unsigned long *irq)
{
    struct cpu *cpu = rt_enter(irq);
    state_lock(&timers.queue.lock, RANK_WAITQ);
    return cpu;
}

static void timers_unlock(unsigned long irq)
{
    state_unlock(&timers.queue.lock, RANK_WAITQ);
    rt_leave(irq);
}

void rt_timers_reset(void)
{
    timers.heap.root = NULL;
    timers.queue.first = NULL;
    timers.thread = NULL;
    timers.running = NULL;
    timers.ending = false;
    timer_heap_init(&timers.heap);
    at_init(&timers.queue.lock.word, 0u);
    at_init(&timers.created.state, 0u);
}

bool rt_timers_claim(void)
{
    return rt_once_begin(&timers.created);
}

void rt_timers_claimed(struct thread *thread)
{
    timers.thread = thread;
    rt_once_end(&timers.created, thread != NULL);
}

/* ---- the thread ---- */

/* The lock is held again on return. */
static void timers_wait_locked(void)
{
    const struct timer *next = timers.heap.root;
    struct waitq_options options = {.deadline = next != NULL ? next->deadline : UINT64_MAX,
                                    .object = next,
                                    .reason = WAIT_TIMER,
                                    .kind = TIMERS_NEXT,
                                    .rank = RANK_WAITQ};
    RT_ASSERT(timers.running == NULL);
    waitq_block_locked(&timers.queue, &options);
    state_lock(&timers.queue.lock, RANK_WAITQ);
}

/* It is due: take it out, or set its next expiry. */
static void timer_expire_locked(struct rt_timer *t, uint64_t now)
{
    uint64_t due = t->expiry.deadline;
    RT_ASSERT(t->expiry.armed && due <= now && t->period <= RT_TIMER_PERIOD_MAX);
    timer_heap_remove(&timers.heap, &t->expiry);
    t->missed = 0;
    if (t->period != 0) {
        uint64_t missed = (now - due) / t->period;
        t->missed = missed < UINT32_MAX ? (uint32_t)missed : UINT32_MAX;
        t->expiry.deadline = (MUTANT(TIMER_DRIFTS) ? now : due + missed * t->period) + t->period;
        RT_ASSERT(t->expiry.deadline > now);
        timer_heap_insert(&timers.heap, &t->expiry);
    }
}

/* True if it was started. The thread may wake for it all the same, and finds it gone. */
static bool timer_stop_locked(struct rt_timer *t)
{
    bool armed = t->expiry.armed;
    if (armed && !(MUTANT(TIMER_FIRES) && t->expiry.deadline <= port_now())) {
        timer_heap_remove(&timers.heap, &t->expiry);
    }
    return armed;
}

/* Call the function of a timer that is due. The lock is held before and after. */
static void timers_call_locked(struct rt_timer *t, uint64_t now, unsigned long *irq)
{
    struct list woken;
    void (*fn)(void *) = t->fn;
    void *arg = t->arg;
    timer_expire_locked(t, now);
    timers.running = t;
    state_unlock(&timers.queue.lock, RANK_WAITQ);
    rt_leave_woken(*irq);
    fn(arg);
    rt_self(); /* it may have lost the CPU */
    struct cpu *cpu = timers_lock(irq);
    RT_ASSERT(timers.running == t);
    timers.running = NULL;
    list_init(&woken);
    if (waitq_pop_object_locked(&timers.queue, t, UINT32_MAX, &woken) != 0) {
        timer_stop_locked(t); /* the call may have started it */
        rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, RT_IRQ_STAY);
    }
}

void *rt_timers_run(void *unused)
{
    unsigned long irq;
    rt_self();                   /* a thread may begin without a CPU (port_tls_begin) */
    life_exited(rt_enter(&irq)); /* without locks: it may end the program */
    state_lock(&timers.queue.lock, RANK_WAITQ);
    while (!timers.ending) {
        struct timer *first = timers.heap.root;
        uint64_t now = port_now();
        if (first != NULL && first->deadline <= now) {
            timers_call_locked(CONTAINER_OF(first, struct rt_timer, expiry), now, &irq);
        } else {
            timers_wait_locked();
        }
    }
    timers_unlock(irq);
    return unused;
}

/* ---- timers ---- */

void rt_timer_init(struct rt_timer *t, void (*fn)(void *arg), void *arg)
{
    *t = (struct rt_timer){.fn = fn, .arg = arg};
}

int rt_timer_start(struct rt_timer *t, uint64_t deadline, uint64_t period)
{
    unsigned long irq;
    struct thread *woken = NULL;
    if (t->fn == NULL || period > RT_TIMER_PERIOD_MAX) {
        return -EINVAL;
    }
    struct cpu *cpu = timers_lock(&irq);
    if (t->expiry.armed) {
        timer_heap_remove(&timers.heap, &t->expiry);
    }
    t->expiry.deadline = deadline;
    t->period = period;
    if (deadline != UINT64_MAX) {
        timer_heap_insert(&timers.heap, &t->expiry);
    }
    if (timers.heap.root == &t->expiry) {
        woken = waitq_pop_kind_locked(&timers.queue, TIMERS_NEXT);
    }
    state_unlock(&timers.queue.lock, RANK_WAITQ);
    if (woken != NULL) {
        rt_wake(cpu, woken, PIRN_WHY_WAKE);
    }
    rt_leave_woken(irq);
    return 0;
}

bool rt_timer_stop(struct rt_timer *t)
{
    unsigned long irq;
    timers_lock(&irq);
    bool armed = timer_stop_locked(t);
    timers_unlock(irq);
    return armed;
}

bool rt_timer_stop_sync(struct rt_timer *t)
{
    unsigned long irq;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    struct thread *self = rt_self();
    timers_lock(&irq);
    bool armed = timer_stop_locked(t);
    if (timers.running == t && timers.thread != self) {
        struct waitq_options options = {.deadline = UINT64_MAX,
                                        .object = t,
                                        .reason = WAIT_TIMER,
                                        .kind = TIMERS_CALLED,
                                        .rank = RANK_WAITQ};
        waitq_block_locked(&timers.queue, &options); /* the thread has stopped it again */
        rt_leave(irq);
    } else {
        timers_unlock(irq);
    }
    return armed;
}

uint64_t rt_timer_deadline(struct rt_timer *t)
{
    unsigned long irq;
    timers_lock(&irq);
    uint64_t deadline = t->expiry.armed ? t->expiry.deadline : UINT64_MAX;
    timers_unlock(irq);
    return deadline;
}

uint32_t rt_timer_overruns(struct rt_timer *t)
{
    unsigned long irq;
    timers_lock(&irq);
    uint32_t missed = t->missed;
    timers_unlock(irq);
    return missed;
}

#ifdef PIRN_SIM
void rt_timers_end(void)
{
    unsigned long irq;
    struct cpu *cpu = timers_lock(&irq);
    struct thread *thread = timers.thread;
    timers.ending = true;
    struct thread *woken = waitq_pop_kind_locked(&timers.queue, TIMERS_NEXT);
    state_unlock(&timers.queue.lock, RANK_WAITQ);
    if (woken != NULL) {
        rt_wake(cpu, woken, PIRN_WHY_WAKE);
    }
    if (thread != NULL) {
        life_created(cpu); /* it counts as ended already, and ends now */
    }
    rt_leave(irq);
    if (thread != NULL) {
        rt_thread_join(thread, NULL, UINT64_MAX);
    }
}
#endif

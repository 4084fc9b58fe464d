/* SPDX-License-Identifier: MIT */
/*
 * pollers.c - threads that call functions which look for completions: <pirn/poll.h>.
 *
 * Callers: the native API; the idle loop (rt_pollers_wake, by core/objects.h).
 *
 * A poller's thread calls the function, and then yields (something was told or found) or waits. Its
 * wait always has one of these ends: someone tells; a CPU without work wakes it (EAGER); its
 * deadline. The deadline is a timer as every other, so a CPU that sleeps wakes up for it, and the
 * monitor delivers it to one that is busy.
 *
 * Invariants:
 *   1. No completion is missed for longer than the deadline: after a look that says "pending" the
 *      thread waits with a deadline, at most PIRN_POLL_MOST_NS ahead. Only after one that says
 *      "none" it waits for ever.
 *   2. Nothing told is lost. A look begins with told = false, under the lock. Whoever tells sets
 *      told under the lock, after it has published its request. So either its section is before
 *      that, and the look sees the request; or the thread sees `told` under the lock before it
 *      waits; or it waits already, and is woken.
 *   3. rt.pollers_eager is the number of pollers with `eager`, which changes under the lock. The
 *      idle loop reads it without: a CPU that misses a change sleeps, and 1 holds.
 *   4. All threads wait in one queue (wait_object: the poller), so the idle loop touches no poller
 *      that may have been removed. `eager` is cleared by whoever ends the wait.
 *   5. A thread that tells and waits in one step, and a poller whose look was DONE, hold the kick
 *      for the one thread that they make ready, and block without leaving the runtime in between
 *      (wake.h, invariant 6). If they do not block, because the semaphore was posted or somebody
 *      has told meanwhile, they kick.
 *   6. The thread counts as ended from its beginning (life.h): it does not keep the program alive.
 * Lock: pollers.queue.lock (RANK_WAITQ) guards everything that is marked (L).
 */
#include "pollers.h"

#include <pirn/poll.h>

#include "life.h"
#include "mutant.h"
#include "runtime.h"
#include "sync.h"
#include "wake.h"

enum { POLLER_PATIENT = 1, POLLER_EAGER }; /* wait_kind */

/* A run of the simulator lasts a few milliseconds of its time. */
#ifdef PIRN_SIM
#define MOST_NS (PIRN_POLL_MOST_NS / 10)
#else
#define MOST_NS PIRN_POLL_MOST_NS
#endif

/* When the processor is offered to other programs. An offer that lasts for TAKEN or longer was
 * taken; for LONG: by a program that computes, so it counts against further offers. After IN_VAIN
 * offers that nobody has taken, nobody wants the processor. */
#define OFFER_TAKEN_NS 1000u
#define OFFER_LONG_NS 1000000u
#define OFFERS_IN_VAIN 1024u
/* p->alone grows with each completion after which nothing was outstanding, up to MOST, and is
 * halved by each other one. From ALONE on, one thread at a time waits. */
#define ALONE 4u
#define ALONE_MOST 16u

static struct {
    struct waitq queue; /* its lock has no state */
} pollers;

static struct cpu *pollers_lock(unsigned long *irq)
{
    struct cpu *cpu = rt_enter(irq); /* NULL for one that only tells: rt_wake */
    state_lock(&pollers.queue.lock, RANK_WAITQ);
    return cpu;
}

static void pollers_unlock(unsigned long irq)
{
    state_unlock(&pollers.queue.lock, RANK_WAITQ);
    rt_leave_woken(irq);
}

void rt_pollers_reset(void)
{
    pollers.queue.first = NULL;
    at_init(&pollers.queue.lock.word, 0u);
    at_init(&rt.pollers_eager, 0u);
}

static void eager_set_locked(struct rt_poller *p, bool eager)
{
    uint32_t count = at_load_rlx(&rt.pollers_eager);
    if (p->eager != eager) {
        RT_ASSERT(eager || count != 0);
        p->eager = eager;
        at_store_rlx(&rt.pollers_eager, eager ? count + 1 : count - 1);
    }
}

/* ---- the thread ---- */

/* The look that has just ended was in vain. The lock is held again on return. */
static void poller_wait_locked(struct rt_poller *p, enum rt_poll found)
{
    uint64_t now = port_now();
    struct waitq_options options = {.deadline = UINT64_MAX,
                                    .object = p,
                                    .reason = WAIT_POLL,
                                    .kind = POLLER_PATIENT,
                                    .rank = RANK_WAITQ};
    if (found == POLL_PENDING && !MUTANT(POLL_ONCE)) {
        bool eager = now - p->since < PIRN_POLL_EAGER_NS && !MUTANT(POLL_LAZY);
        options.deadline = now + (eager || rt_has_work(port_cpu_self()) ? MOST_NS : p->pause);
        if (eager) {
            options.kind = POLLER_EAGER;
            eager_set_locked(p, true);
        } else {
            p->pause = p->pause < MOST_NS / 2 ? 2 * p->pause : MOST_NS;
        }
    }
    waitq_block_locked(&pollers.queue, &options);
    state_lock(&pollers.queue.lock, RANK_WAITQ);
    eager_set_locked(p, false);
}

/* Other programs, perhaps those that are to complete something, may want this processor. If they
 * give it back soon, as programs that wait by looking do, it is offered at once from now on, and
 * the time for which they had it does not count as waiting. But only while one thread at a time
 * waits: with several, each offer would delay some. */
static void poller_offer(struct rt_poller *p)
{
    uint64_t from = port_now(), age = from - p->since;
    bool early = p->alone >= ALONE && p->shared != 0;
    if (age >= PIRN_POLL_EAGER_NS || (age < PIRN_POLL_EAGER_NS / 2 && !early)) {
        return;
    }
    port_relax(UINT32_MAX);
    uint64_t took = port_now() - from;
    if (took >= OFFER_TAKEN_NS) {
        p->shared = took < OFFER_LONG_NS ? OFFERS_IN_VAIN : p->shared / 2;
        p->since += early ? took : 0;
    } else if (p->shared != 0) {
        p->shared--;
    }
}

static void poller_restart(struct rt_poller *p)
{
    p->since = port_now();
    p->pause = PIRN_POLL_LEAST_NS;
}

/* Outside the runtime. */
static enum rt_poll poller_look(struct rt_poller *p)
{
    enum rt_poll found = p->look(p->arg);
    if (found == POLL_FOUND) {
        p->alone /= 2;
        poller_restart(p);
        rt_yield();
    } else if (found == POLL_PENDING) {
        poller_offer(p);
    } else if (found == POLL_DONE) {
        RT_ASSERT(p->found != NULL);
        p->alone += p->alone < ALONE_MOST;
    }
    rt_self(); /* it may have lost the CPU in a call that sleeps, its own or the offer */
    return found;
}

/* Make the thread ready to which the poller's leaves the CPU. True: it has held a kick. */
static bool poller_post(struct rt_poller *p, struct cpu *cpu)
{
    rt_kick_hold(cpu);
    (void)rt_sem_post_inside(p->found, cpu);
    return rt_kick_held(cpu);
}

void *rt_poller_run(void *poller)
{
    struct rt_poller *p = poller;
    unsigned long irq;
    rt_self();                   /* a thread may begin without a CPU (port_tls_begin) */
    life_exited(rt_enter(&irq)); /* without locks: it may end the program */
    state_lock(&pollers.queue.lock, RANK_WAITQ);
    while (!p->ending) {
        if (p->told) {
            p->told = false;
            poller_restart(p);
        }
        pollers_unlock(irq);
        enum rt_poll found = poller_look(p);
        struct cpu *cpu = rt_enter(&irq);
        RT_ASSERT(cpu != NULL);
        bool held = found == POLL_DONE && poller_post(p, cpu);
        state_lock(&pollers.queue.lock, RANK_WAITQ);
        if (found != POLL_FOUND && !p->ending && (!p->told || MUTANT(POLL_UNTOLD))) {
            poller_wait_locked(p, found);
        } else if (held && !MUTANT(POLL_HELD)) {
            rt_kick_any(cpu);
        }
    }
    pollers_unlock(irq);
    return NULL;
}

/* ---- others ---- */

/* End the thread's wait, and release the lock. */
static void poller_wake(struct rt_poller *p, struct cpu *cpu)
{
    struct list woken;
    list_init(&woken);
    if (waitq_pop_object_locked(&pollers.queue, p, 1, &woken) != 0) {
        eager_set_locked(p, false);
    }
    state_unlock(&pollers.queue.lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, RT_IRQ_STAY);
}

void rt_poller_tell(struct rt_poller *p)
{
    unsigned long irq;
    struct cpu *cpu = pollers_lock(&irq);
    p->told = true;
    poller_wake(p, cpu);
    rt_leave_woken(irq);
}

/* The caller's CPU, if it has one, runs the poller's thread next. */
void rt_poller_wait(struct rt_poller *p, struct rt_sem *found, const struct pirn_label *label)
{
    unsigned long irq;
    RT_ASSERT(rt_may_wait(WAIT_SEM, found));
    rt_self();
    struct cpu *cpu = pollers_lock(&irq);
    p->told = true;
    if (cpu != NULL) {
        rt_kick_hold(cpu);
    }
    poller_wake(p, cpu);
    bool held = cpu != NULL && rt_kick_held(cpu);
    if (!rt_sem_wait_inside(found, label) && held) {
        rt_kick_any(cpu);
    }
    rt_leave_woken(irq);
}

void rt_poller_remove(struct rt_poller *p)
{
    unsigned long irq;
    rt_self(); /* the caller may have lost its CPU */
    RT_ASSERT(rt_self() != p->thread);
    struct cpu *cpu = pollers_lock(&irq);
    p->ending = true;
    life_created(cpu); /* it counts as ended already, and ends now */
    poller_wake(p, cpu);
    rt_leave(irq);
    rt_thread_join(p->thread, NULL, UINT64_MAX);
}

bool rt_pollers_wake(struct cpu *cpu)
{
    bool any = false;
    for (;;) {
        state_lock(&pollers.queue.lock, RANK_WAITQ);
        struct thread *t = waitq_pop_kind_locked(&pollers.queue, POLLER_EAGER);
        if (t != NULL) {
            eager_set_locked((struct rt_poller *)t->wait_object, false);
        }
        state_unlock(&pollers.queue.lock, RANK_WAITQ);
        if (t == NULL) {
            return any;
        }
        any = true;
        rt_wake(cpu, t, PIRN_WHY_WAKE);
    }
}

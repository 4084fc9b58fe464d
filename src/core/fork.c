/* SPDX-License-Identifier: MIT */
/*
 * fork.c - the runtime in the child of a fork: one kernel thread, and on it the thread that forked.
 *
 * The port calls rt_forked in the child before any code of the program runs there. It forgets the
 * old runtime: CPUs, queues, timers, caches. All other threads are dead: nothing runs them, and
 * wait queues, which lie in the program's objects, skip them (their waits count as ended). Their
 * memory stays.
 *
 * The next call that needs a runtime starts a new one (init.c). Its CPU 0 is this kernel thread,
 * and its main thread is the one that forked, with its descriptor, id, keys and mutexes. A child
 * that only calls exec starts none.
 *
 * A kernel thread that forks while another one starts the runtime waits until that is done, so that
 * no child finds half of it (rt_fork_begin). It does not wait for ever: the other one may need a
 * lock that the caller holds. Forks that the C library makes for itself do not wait, either. So the
 * child's code copes with CPUs that do not exist yet.
 *
 * Work of other kernel threads in the parent is left half done at the fork. Locks of the runtime
 * are released here. The locks in the program's objects cannot be listed. They are released when
 * somebody waits for one (rt_fork_give_back), while it is certain that nobody in this process holds
 * it:
 *   1. The thread that forked holds none: it forked outside the runtime.
 *   2. It is the only thread that has ever run here: none has been created, and the program has no
 *      other kernel threads.
 *   3. It has not been switched away: nothing has had a reason to end a wait of this thread.
 * This is for handlers of fork: they unlock the objects that they locked in the parent, and find
 * these locks free. POSIX gives up all other objects of the program.
 *
 * The object is consistent then: its queue is emptied, because all waiters are dead and the queue
 * may be half linked. Its state is one word, which changes at once. An object with inheritance has
 * no group any more (prio.h), whatever its word `leader` says.
 */
#include "../trace/trace.h"
#include "carrier.h"
#include "demand.h"
#include "id.h"
#include "io.h"
#include "life.h"
#include "objects.h"
#include "options.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_processes.h"
#include "prio.h"
#include "producers.h"
#include "runtime.h"

struct thread *rt_survivor;
bool rt_is_child;

/* Wakers that meet it in a queue unlink it and go on (waitq_take_locked). */
static void bury(struct thread *t, void *survivor)
{
    if (t != survivor && list_linked(&t->wait_link)) {
        t->claimable = 1;
        at_store_rlx(&t->park, (uint32_t)PARK_REMOVED);
    }
    t->prio_wait = NULL;
}

static void inherit(struct thread *self)
{
    at_init(&self->join.lock.word, 0u);
    self->join.first = NULL; /* who waited for it is dead */
    self->join_flags &= (uint8_t)~JOIN_WAITING;
    prio_forked(self);
    at_init(&rt.main_gone, self->flags & THREAD_MAIN ? at_load_rlx(&rt.main_gone) : 1u);
}

/* A foreign kernel thread has forked: it becomes the next runtime's main thread. Its descriptor is
 * its stand-in, which owns mutexes and has values of keys, or a new one: rt.main_thread may be
 * linked in a queue. */
static struct thread *main_new(void)
{
    struct thread *t = port_foreign_known();
    if (t != NULL) {
        inherit(t);
    } else {
        t = rt_foreign_new();
    }
    if (t == NULL) {
        static const char text[] = "pirn: no memory for the main thread of a child\n";
        port_write(text, sizeof(text) - 1);
        port_exit_now(1);
    }
    t->flags = THREAD_MAIN | (rt.tls_room != 0 ? (uint32_t)THREAD_TLS : 0);
    thread_set_name(t, rt_personality.main_name());
    at_init(&rt.main_gone, 0u);
    return t;
}

#define START_ROUNDS 20000u /* of port_relax: a second */

void rt_fork_begin(void)
{
    for (unsigned round = 0; round < START_ROUNDS; round++) {
        const struct thread *by = at_load_acq(&rt.starter); /* ORDER(start) */
        if (likely(by == NULL) || (PORT_IDENTITY && by == port_foreign_self())) {
            return;
        }
        port_relax(round);
    }
}

bool rt_forked(void)
{
    struct cpu *cpu = port_cpu_self();
    if (at_load_rlx(&rt.started) == 0) {
        return false;
    }
    id_forked();
    producers_forked();
    demands_forked();
    struct thread *self = cpu != NULL ? cpu->current : port_left_self();
    if (self != NULL) {
        rt_survivor = self;
        inherit(rt_survivor);
    } else {
        rt_survivor = main_new();
    }
    id_for_each(bury, rt_survivor);
    trace_forked();
    stack_forget_all();
    carrier_forked();
    io_forked();
    for (unsigned i = 0; i < rt.ncpu; i++) {
        rt.cpus[i] = NULL;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(rt.idle_map); i++) {
        at_init(&rt.idle_map[i], 0u);
    }
    at_init(&rt.idle_word, 0u);
    life_reset();
    rt_objects.forked();
    prio_reset();
    rt_survivor->flags |= THREAD_FOREIGN; /* it has no CPU: init.c */
    rt.main_carries = false;
    at_init(&rt.starter, (struct thread *)NULL);
    at_init(&rt.started, 0u);
    rt_is_child = true;
    return true;
}

void rt_forked_above(void)
{
    if (rt_personality.forked != NULL) {
        rt_personality.forked();
    }
}

void rt_fork_give_back(statelock_t *lock)
{
    const struct cpu *cpu = rt.cpus[0];
    bool first =
        at_load_rlx(&rt.started) != 2 || (life_created_ever() == 1 && CPU_SWITCHES(cpu) == 0);
    if (first && port_alone()) {
        CONTAINER_OF(lock, struct waitq, lock)->first = NULL;
        at_store_rel(&lock->word, lock_state(lock)); /* ORDER(spinlock) */
    }
}

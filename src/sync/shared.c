/* SPDX-License-Identifier: MIT */
/*
 * shared.c - waiting for a word that other processes see.
 *
 * Only the environment can wait for such a word, and it blocks a kernel thread. A user thread must
 * not block its CPU: the thread for which it waits may be ready on the same CPU. So it asks a
 * helper, a foreign kernel thread, and waits for the helper's answer like a user thread. A helper
 * is started when none is idle, and ends when it has been idle for IDLE_NS.
 *
 * Where there is no runtime, there are no other user threads: the caller waits itself, and the wait
 * starts no runtime. Many servers are a process for each connection, all with one thread.
 *
 * Invariants (helpers.lock):
 *   1. A request is queued only after it has claimed an idle helper or started a new one. So there
 *      are at least as many helpers as requests queued or in hand, and each request finds one, but
 *      not always the one that it claimed.
 *   2. helpers.work counts the requests that are queued. A helper takes one for each unit.
 *   3. A helper counts itself idle before it answers; the answer is its last access to the request,
 *      which lies on the stack of the thread that asked.
 */
#include <errno.h>

#include "mutant.h"
#include "port_foreign.h"
#include "port_processes.h"
#include "runtime.h"
#include "shared.h"

#define IDLE_NS 1000000000u
#define CANCEL_NS 1000000u

struct request {
    struct list link; /* (helpers.lock) */
    _Atomic(uint32_t) *word;
    uint64_t deadline;
    uint32_t value;
    bool realtime;
    void *pending; /* rt_shared_wait_pending, or NULL */
    int result;
    struct rt_sem done;
};

static struct {
    spinlock_t lock;
    struct list *first; /* (lock) oldest request; circular through link; NULL = empty */
    uint32_t idle;      /* (lock) helpers that nobody has claimed */
    struct rt_sem work;
} helpers;

void rt_shared_reset(void)
{
    helpers.first = NULL;
    helpers.idle = 0;
    at_init(&helpers.lock.word, 0u);
    rt_sem_init(&helpers.work, 0);
}

static struct request *request_take(void)
{
    unsigned long irq;
    rt_enter_lock(&irq, &helpers.lock, RANK_WAITQ);
    struct list *link = helpers.first;
    if (link->next == link) {
        helpers.first = NULL;
        link->next = NULL;
    } else {
        helpers.first = link->next;
        list_remove(link);
    }
    rt_leave_unlock(irq, &helpers.lock, RANK_WAITQ);
    return CONTAINER_OF(link, struct request, link);
}

static void request_put(struct request *r)
{
    unsigned long irq;
    rt_enter_lock(&irq, &helpers.lock, RANK_WAITQ);
    RT_ASSERT(!list_linked(&r->link));
    if (helpers.first == NULL) {
        r->link.next = r->link.prev = &r->link;
        helpers.first = &r->link;
    } else {
        list_insert_between(&r->link, helpers.first->prev, helpers.first);
    }
    rt_leave_unlock(irq, &helpers.lock, RANK_WAITQ);
    rt_sem_post(&helpers.work);
}

/* One idle helper more, or one less: false if there was none. */
static bool idle_change(int by)
{
    unsigned long irq;
    rt_enter_lock(&irq, &helpers.lock, RANK_WAITQ);
    RT_ASSERT(helpers.idle < INT32_MAX);
    bool possible = by > 0 || helpers.idle > 0;
    helpers.idle += possible ? (uint32_t)by : 0;
    rt_leave_unlock(irq, &helpers.lock, RANK_WAITQ);
    return possible;
}

/* Of the kernel thread that calls. */
static void pending_set(void *pending)
{
    uint32_t tid;
    unsigned long irq = port_irq_save();
    struct port_robust_list *list = port_robust_list(&tid);
    if (list != NULL) {
        at_store_rlx(&list->pending, pending);
    }
    port_irq_restore(irq);
}

static int wait_here(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime)
{
    int error = port_shared_wait(word, value, deadline, realtime);
    return error == -EINTR ? 0 : error; /* a handler that is not for a user thread */
}

static void helper_main(void *unused)
{
    (void)unused;
    bool pending =
        false; /* still, since the thread that asked has perhaps not taken the mutex yet */
    for (;;) {
        RT_ASSERT(port_cpu_self() == NULL && rt_is_outside());
        if (rt_sem_wait_until(&helpers.work, port_now() + IDLE_NS) != 0) {
            if (pending) {
                pending_set(NULL);
                pending = false;
            }
            if (idle_change(-1)) {
                return;
            }
            continue; /* claimed: the work is about to come */
        }
        struct request *r = request_take();
        if (pending || r->pending != NULL) {
            pending_set(r->pending);
            pending = r->pending != NULL;
        }
        r->result = wait_here(r->word, r->value, r->deadline, r->realtime);
        idle_change(1);
        rt_sem_post(&r->done);
    }
}

/* Make the helper answer that waits for the word, or is about to. Other waiters look at the word in
 * vain. They are woken once more at the end, because the helper may have got a wake-up that was
 * meant for one of them. */
static void request_cancel(struct request *r)
{
    do {
        port_shared_wake(r->word, RT_SHARED_ALL);
    } while (rt_sem_wait_until(&r->done, port_now() + CANCEL_NS) != 0);
    port_shared_wake(r->word, RT_SHARED_ALL);
}

/* A caller that waits itself for a robust mutex. Its next attempt to take it ends `pending`. */
static int wait_here_pending(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline,
                             bool realtime, void *pending)
{
    if (pending != NULL) {
        pending_set(pending);
    }
    int error = wait_here(word, value, deadline, realtime);
    if (pending != NULL && error != 0) {
        pending_set(NULL);
    }
    return error;
}

/* point: a cancellation point. interruptible: signals end the wait, and the caller takes them. */
static int shared_wait(_Atomic(uint32_t) *word, uint32_t value, const struct rt_shared_limit *limit,
                       bool point, bool interruptible, void *pending)
{
    uint64_t deadline = limit != NULL ? limit->deadline : UINT64_MAX;
    bool realtime = limit != NULL && limit->realtime;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    if (rt_is_unstarted()) { /* the kernel runs handlers, and restarts the wait if they say so */
        return interruptible ? port_shared_wait(word, value, deadline, realtime)
                             : wait_here_pending(word, value, deadline, realtime, pending);
    }
    struct thread *self = rt_self();
    if ((self->flags & THREAD_FOREIGN) ||
        (!idle_change(-1) && port_foreign_start(helper_main, NULL) != 0)) {
        return wait_here_pending(word, value, deadline, realtime, pending);
    }
    struct request r = {.word = word,
                        .value = value,
                        .deadline = deadline,
                        .realtime = realtime,
                        .pending = pending};
    rt_sem_init(&r.done, 0);
    request_put(&r);
    if (!point) {
        rt_sem_wait_until(&r.done, UINT64_MAX);
        RT_ASSERT(!list_linked(&r.link));
        return r.result;
    }
    int error;
    while ((error = rt_sem_wait_point(&r.done, UINT64_MAX)) == -EINTR && !interruptible) {
        rt_signals_act();
    }
    if (error != 0) {
        request_cancel(&r);
        RT_ASSERT(!list_linked(&r.link));
        return error == -EINTR ? -EINTR : -ECANCELED;
    }
    return r.result;
}

int rt_shared_wait(_Atomic(uint32_t) *word, uint32_t value, const struct rt_shared_limit *limit)
{
    return shared_wait(word, value, limit, false, false, NULL);
}

int rt_shared_wait_pending(_Atomic(uint32_t) *word, uint32_t value,
                           const struct rt_shared_limit *limit, void *pending)
{
    return shared_wait(word, value, limit, false, false, pending);
}

int rt_shared_wait_point(_Atomic(uint32_t) *word, uint32_t value,
                         const struct rt_shared_limit *limit)
{
    return shared_wait(word, value, limit, true, false, NULL);
}

int rt_shared_wait_interruptible(_Atomic(uint32_t) *word, uint32_t value,
                                 const struct rt_shared_limit *limit)
{
    return shared_wait(word, value, limit, true, true, NULL);
}

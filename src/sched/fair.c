/* SPDX-License-Identifier: MIT */
/*
 * fair.c - policy "fair": threads that share a cache get slices with which each does the work that
 * it would do if all had equal shares of the cache. After A. Fedorova, M. Seltzer and M. D. Smith,
 * "Improving performance isolation on chip multiprocessors via an operating system scheduler",
 * 2007 (cache-fair scheduling).
 *
 *   1. Threads that declare a working set (of any size) are cache-fair; all others best effort.
 *   2. A sample is a whole tick of a thread: its rate (misses by work), its cost (time by work),
 *      and the sum of the rates of the threads on the other CPUs. Ticks in which it blocked, was
 *      taken, or began are none.
 *   3. Co-runners share the cache fairly if all have the same rate. So the fair rate of a thread is
 *      where the regression of its rate over that sum gives all the same. The regression of its
 *      cost over its rate tells the fair cost there. It takes FAIR_SAMPLES samples at least.
 *   4. When a slice of a cache-fair thread ends, its next one is longer by the factor by which its
 *      cost exceeds the fair one, or shorter (fair.h), by whole ticks; the rest is kept.
 *   5. Best-effort threads give what the cache-fair ones take more, or get what they leave: so the
 *      cache-fair threads together take no more of the CPUs than with equal slices.
 *
 * One ready queue in order of arrival. There are no classes. Without ticks (PIRN_PREEMPT=0) there
 * are no slices, and it is a queue like single's. A slice of one tick cannot be corrected.
 *
 * Invariants:
 *   1. (lock) Each slice that begins longer or shorter than usual takes the difference from the
 *      pool, or leaves it there. The pool holds POOL_SLICES slices either way at most: what is
 *      beyond is dropped, so that a time without best-effort threads is not made up for later.
 *   2. A thread's room and its record's struct fair_thread are touched by the CPU that runs it, or,
 *      while it is ready, under the lock: the lock orders the two.
 *   3. A CPU's rate is written by itself; others read it as a hint (relaxed): a stale one makes one
 *      sample worse.
 * Lock: fair.lock (RANK_RUNQ).
 */
#include "fair.h"

#include <errno.h>

#include "built_in.h"
#include "classes.h"
#include "cpu.h"
#include "list.h"
#include "misses.h"
#include "runtime.h"
#include "wake.h"

#define POOL_SLICES 4

struct fair_room {
    struct list rq;
    uint16_t left; /* ticks of the slice; 0: it begins when the thread is taken */
    uint8_t fair;  /* cache-fair, as of the last time that it became ready */
    uint8_t unused;
    int32_t correction; /* of the next slice */
    uint32_t rate;      /* of its latest sample */
    uint32_t zero;
};
_Static_assert(sizeof(struct fair_room) <= RT_POLICY_ROOM, "RT_POLICY_ROOM");

struct fair_cpu {
    _Atomic(uint32_t) rate;   /* (A) of the thread that runs here; 0: none. Invariant 3 */
    uint64_t since;           /* (O) when the present span began */
    struct fair_span slice;   /* (O) what the thread did in whole ticks of its slice */
    uint64_t longer, shorter; /* (O) slices that were corrected */
} ALIGNED(RT_CACHELINE);

static struct {
    spinlock_t lock ALIGNED(RT_CACHELINE);
    struct list ready;        /* (lock) */
    _Atomic(uint32_t) length; /* (lock) written */
    int32_t pool;             /* (lock) ticks that best-effort threads are to get */
    struct fair_cpu cpus[RT_MAX_CPUS];
} fair;

ALWAYS_INLINE struct fair_room *room_of(struct thread *t)
{
    return (struct fair_room *)t->policy;
}

ALWAYS_INLINE struct thread *thread_at(struct list *node)
{
    return CONTAINER_OF(node, struct thread, rq);
}

static int fair_init(unsigned ncpu)
{
    const char *refusal = misses_refusal();
    if (refusal != NULL) {
        rt_refuse("pirn: option sched: policy fair needs to count cache misses, and %s. Valid "
                  "here: policies that do not, such as single\n",
                  refusal);
    }
    at_init(&fair.lock.word, 0u);
    list_init(&fair.ready);
    at_init(&fair.length, 0u);
    fair.pool = 0;
    for (unsigned i = 0; i < ncpu; i++) {
        fair.cpus[i] = (struct fair_cpu){0};
        at_init(&fair.cpus[i].rate, 0u);
    }
    return 0;
}

static int fair_thread_init(struct thread *t, struct thread *creator)
{
    (void)creator;
    *room_of(t) = (struct fair_room){.left = (uint16_t)rt.slice_ticks};
    return 0;
}

/* What is known of cache-fair t. */
static struct fair_thread *known(const struct thread *t)
{
    struct fair_thread *f = (struct fair_thread *)demand_of(t)->room;
    if (f->life != t->generation) {
        *f = (struct fair_thread){.life = t->generation};
    }
    return f;
}

/* ---- samples ---- */

/* A new span of self's thread begins: what came before is no sample. */
static void span_begins(struct cpu *self)
{
    misses_take(self);
    fair.cpus[self->id].since = port_now();
}

static uint64_t rates_of_others(const struct cpu *self)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        sum += i != self->id ? at_load_rlx(&fair.cpus[i].rate) : 0;
    }
    return sum;
}

/* A whole tick of t, which self runs, has passed. */
static void sample(struct cpu *self, struct thread *t)
{
    struct fair_cpu *c = &fair.cpus[self->id];
    struct port_misses n = misses_take(self);
    uint64_t now = port_now();
    struct fair_span span = {.ns = now - c->since, .misses = n.misses, .work = n.work};
    c->since = now;
    if (n.work == 0) {
        return;
    }
    room_of(t)->rate = fair_rate(&span);
    at_store_rlx(&c->rate, room_of(t)->rate);
    if (room_of(t)->fair) {
        fair_sample(known(t), &span, rates_of_others(self));
        c->slice.ns += span.ns;
        c->slice.misses += span.misses;
        c->slice.work += span.work;
    }
}

/* ---- slices ---- */

static int32_t bounded(int32_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* A slice of t begins: its length in ticks. */
static uint16_t slice_locked(struct thread *t)
{
    struct fair_room *room = room_of(t);
    int32_t slice = (int32_t)rt.slice_ticks, most = POOL_SLICES * slice;
    int32_t more = room->fair ? room->correction : bounded(fair.pool, 1 - slice, slice);
    fair.pool = bounded(fair.pool - more, -most, most);
    room->correction = 0;
    RT_ASSERT(slice + more >= 1);
    return (uint16_t)bounded(slice + more, 1, UINT16_MAX);
}

/* The slice of self's thread t has ended. */
static void slice_ends(struct cpu *self, struct thread *t)
{
    struct fair_cpu *c = &fair.cpus[self->id];
    struct fair_room *room = room_of(t);
    if (room->fair) {
        struct fair_thread *f = known(t);
        room->correction =
            fair_correction(f, fair_factor(f, &c->slice, rt.ncpu - 1), (int32_t)rt.slice_ticks);
        STAT_ADD(&c->longer, room->correction > 0);
        STAT_ADD(&c->shorter, room->correction < 0);
    }
    c->slice = (struct fair_span){0};
}

static bool fair_charge(struct cpu *self, struct thread *running, unsigned ticks)
{
    struct fair_room *room = room_of(running);
    bool ran = room->left != 0;
    sample(self, running);
    room->left = (uint16_t)(ticks < room->left ? room->left - ticks : 0);
    if (ran && room->left == 0) {
        slice_ends(self, running);
    }
    return room->left == 0;
}

/* ---- the queue ---- */

static void set_length_locked(uint32_t n)
{
    at_store_rlx(&fair.length, n);
}

static struct pirn_kick fair_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct demand_now now = {0};
    (void)self;
    demand_read(t, &now);
    spin_lock(&fair.lock, RANK_RUNQ);
    room_of(t)->fair = now.working_set != 0;
    if (why == PIRN_WHY_HANDOFF || (why == PIRN_WHY_PREEMPT && room_of(t)->left != 0)) {
        list_push_front(&fair.ready, &t->rq);
    } else {
        list_push_back(&fair.ready, &t->rq);
    }
    set_length_locked(at_load_rlx(&fair.length) + 1);
    spin_unlock(&fair.lock, RANK_RUNQ);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

/* The first thread; NULL: there is none. */
static struct thread *take_locked(void)
{
    struct list *node = list_pop_front(&fair.ready);
    if (node == NULL) {
        return NULL;
    }
    struct thread *t = thread_at(node);
    set_length_locked(at_load_rlx(&fair.length) - 1);
    if (room_of(t)->left == 0) {
        room_of(t)->left = slice_locked(t);
    }
    return t;
}

/* self runs t from now on; NULL: nothing, for all that is known here. */
static struct thread *runs(struct cpu *self, struct thread *t)
{
    struct fair_cpu *c = &fair.cpus[self->id];
    span_begins(self);
    c->slice = (struct fair_span){0};
    at_store_rlx(&c->rate, t != NULL ? room_of(t)->rate : 0u);
    return t;
}

static bool fair_has_work(struct cpu *self)
{
    (void)self;
    return at_load_rlx(&fair.length) != 0 && !MUTANT(FAIR_BLIND); /* ORDER(idle-wake) */
}

static struct thread *fair_pick(struct cpu *self)
{
    if (at_load_rlx(&fair.length) == 0) {
        if (at_load_rlx(&fair.cpus[self->id].rate) != 0) {
            at_store_rlx(&fair.cpus[self->id].rate, 0u);
        }
        return NULL;
    }
    spin_lock(&fair.lock, RANK_RUNQ);
    struct thread *t = take_locked();
    spin_unlock(&fair.lock, RANK_RUNQ);
    return t != NULL ? runs(self, t) : NULL;
}

static struct thread *fair_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct fair_room *room = room_of(running);
    if (why == PIRN_WHY_PREEMPT && room->left != 0) {
        return NULL;
    }
    spin_lock(&fair.lock, RANK_RUNQ);
    struct thread *t = take_locked();
    if (t == NULL && room->left == 0) {
        room->left = slice_locked(running);
    }
    spin_unlock(&fair.lock, RANK_RUNQ);
    return t != NULL ? runs(self, t) : NULL;
}

static void fair_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                      void *to)
{
    emit(to, "slices-longer", STAT_GET(&fair.cpus[self->id].longer));
    emit(to, "slices-shorter", STAT_GET(&fair.cpus[self->id].shorter));
}

static void fair_check(void)
{
    uint32_t n = 0;
    int32_t most = POOL_SLICES * (int32_t)rt.slice_ticks;
    spin_lock(&fair.lock, RANK_RUNQ);
    for (struct list *node = fair.ready.next; node != &fair.ready; node = node->next, n++) {
        RT_VERIFY(at_load_rlx(&thread_at(node)->state) == THREAD_READY);
    }
    RT_VERIFY(n == at_load_rlx(&fair.length));
    RT_VERIFY(fair.pool >= -most && fair.pool <= most);
    spin_unlock(&fair.lock, RANK_RUNQ);
}

const struct sched_built_in sched_fair = {
    .policy =
        {
            .name = "fair",
            .help = "slices make up for unequal shares of the shared cache; needs counters of "
                    "cache misses, and ticks",
            .init = fair_init,
            .enqueue = fair_enqueue,
            .pick = fair_pick,
            .has_work = fair_has_work,
            .thread_init = fair_thread_init,
            .preempt = WITH_CLASSES(fair_preempt),
            .charge = WITH_CLASSES(fair_charge),
            .stat = fair_stat,
            .check = FOR_TESTS(fair_check),
        },
};

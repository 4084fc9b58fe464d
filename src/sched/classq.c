/* SPDX-License-Identifier: MIT */
/*
 * classq.c - see classq.h: ranks, virtual time, slices. The order itself is a back end's.
 */
#include "classq.h"

#include "mutant.h"
#include "runtime.h"

#define SHARE_SHIFT 24      /* shmac: count / weight in fixed point; exact for weights to 100 */
#define CREDIT CLASSQ_SLICE /* how far behind the queue's time a thread may come back */
#define LAG_MAX (64 * CLASSQ_SLICE)
#define STINT_PART 16u   /* a thread that blocks before a tick pays this part of a slice */
#define YIELD_FACTOR 16u /* a thread that yields pays so many times what it has used */
#define YIELD_LEAST (CLASSQ_SLICE / 1024)
#define START (4 * CLASSQ_SLICE) /* time of a new queue: room for credit below it */

void classq_init(struct classq *q, enum discipline discipline, const struct classq_backend *backend)
{
    q->backend = backend;
    q->discipline = discipline;
    q->ranked = q->unranked = 0;
    list_init(&q->unranked_list);
    q->unranked_time = 0;
    q->min = discipline == DISCIPLINE_POSIX ? START : 0;
    backend->init(q);
}

ALWAYS_INLINE bool is_shmac(const struct classq *q)
{
    return q->discipline == DISCIPLINE_SHMAC;
}

/* The real-time priority that counts; 0: none, OTHER or RR of shmac. */
ALWAYS_INLINE unsigned level_of(const struct classq *q, const struct thread *t)
{
    unsigned priority = at_load_rlx(&t->priority);
    if (unlikely(is_shmac(q)) && sched_class_of(t) != SCHED_CLASS_FIFO &&
        priority <= at_load_rlx(&t->base_priority)) {
        return 0;
    }
    return priority < RANK_LEVELS ? priority : RANK_LEVELS - 1;
}

uint32_t classq_urgency(const struct classq *q, const struct thread *t)
{
    unsigned level = level_of(q, t);
    if (level != 0) {
        return URGENCY_REAL_TIME + level;
    }
    return is_shmac(q) && sched_class_of(t) == SCHED_CLASS_RR ? URGENCY_REAL_TIME : URGENCY_OTHER;
}

ALWAYS_INLINE uint64_t slice_cost(const struct thread *t)
{
    if (likely(at_load_rlx(&t->sched.attr) == 0)) {
        return CLASSQ_SLICE;
    }
    return CLASSQ_SLICE * SCHED_WEIGHT_DEFAULT / sched_weight_of(t);
}

ALWAYS_INLINE bool slice_ended(const struct thread *t)
{
    return t->sched.ticks_left == 0;
}

/* ---- virtual time ---- */

/* t's time in q, including `used`. */
static uint64_t time_in(const struct classq *q, const struct thread *t, uint64_t used)
{
    const struct thread_sched *s = &t->sched;
    uint64_t v = (s->queue == q ? s->vtime : q->min + s->lag) + used;
    return v + CREDIT < q->min ? q->min - CREDIT : v;
}

/* The cost of the time since t was chosen, at a yield: at most a slice, as if t had given up the
 * rest of its turn. Where threads are preempted it is less if t has run for less than a part of a
 * slice. So a thread that waits in a loop of yields runs more often than once in a turn of each
 * thread that computes, but takes only that part of the CPU. n such threads together take no more,
 * unless one of them runs for more than an nth of that part between its yields: unranked_cost. */
static uint64_t yield_cost(const struct thread *t)
{
    uint64_t part = rt.slice_ns / YIELD_FACTOR,
             used = rt.preempt ? port_now() - t->sched.since : part;
    if (used >= part) {
        return slice_cost(t);
    }
    uint64_t cost = slice_cost(t) * used / part;
    return cost > YIELD_LEAST ? cost : YIELD_LEAST;
}

/* A thread that may yield soon is chosen. If no others are ranked, nobody asks. */
static void note_since(struct thread *t)
{
    if (rt.preempt) {
        t->sched.since = port_now();
    }
}

/* The cost of the time since t was chosen: its ticks, and at least a part of a slice, so that a
 * thread that never meets a tick pays, too. Real-time threads pay nothing. */
ALWAYS_INLINE uint64_t used_until(const struct thread *t, enum pirn_why why)
{
    if (unlikely(sched_class_of(t) != SCHED_CLASS_OTHER)) {
        return 0;
    }
    uint64_t least = why == PIRN_WHY_YIELD                             ? yield_cost(t)
                     : why == PIRN_WHY_WAKE || why == PIRN_WHY_HANDOFF ? slice_cost(t) / STINT_PART
                                                                       : 0;
    return t->sched.charge > least ? t->sched.charge : least;
}

static uint64_t share_of(uint64_t count, const struct thread *t)
{
    return (count << SHARE_SHIFT) / sched_weight_of(t);
}

/* shmac: in another queue than before, t is as far ahead of the others as it was there. */
static uint64_t count_in(const struct classq *q, const struct thread *t)
{
    const struct thread_sched *s = &t->sched;
    if (s->queue == q || s->queue == NULL || sched_class_of(t) != SCHED_CLASS_OTHER) {
        return s->vtime;
    }
    return ((q->min + s->lag) * sched_weight_of(t)) >> SHARE_SHIFT;
}

/* t gets a virtual time of its own: the queue's. */
static void settle(struct classq *q, struct thread *t)
{
    t->sched.no_vtime = false;
    t->sched.queue = q;
    t->sched.vtime = q->min;
    t->sched.lag = 0;
}

ALWAYS_INLINE void time_passes(struct classq *q, uint64_t now)
{
    q->min = now > q->min ? now : q->min;
}

/* ---- ranks ---- */

static uint64_t rank_posix(const struct classq *q, const struct thread *t, uint64_t vtime)
{
    unsigned level = level_of(q, t);
    return level != 0 ? RANK_LEVELS - 1 - level : RANK_OTHER + vtime;
}

static uint64_t rank_shmac(const struct classq *q, const struct thread *t, uint64_t count)
{
    unsigned level = level_of(q, t);
    if (level != 0) {
        return RANK_LEVELS - 1 - level;
    }
    return sched_class_of(t) == SCHED_CLASS_RR ? RANK_RR + count : RANK_OTHER + share_of(count, t);
}

static uint64_t rank_in(const struct classq *q, const struct thread *t, uint64_t time)
{
    return unlikely(is_shmac(q)) ? rank_shmac(q, t, time) : rank_posix(q, t, time);
}

ALWAYS_INLINE bool same_class(uint64_t a, uint64_t b)
{
    return a >= RANK_RR && b >= RANK_RR && (a >= RANK_OTHER) == (b >= RANK_OTHER);
}

ALWAYS_INLINE bool is_unranked(const struct thread *t)
{
    return t->sched.place == CLASSQ_UNRANKED;
}

static uint64_t rank_of(const struct classq *q, const struct thread *t)
{
    return is_unranked(t) ? RANK_OTHER + q->unranked_time : t->sched.rank;
}

/* A thread may be about to be ranked. If the back end is empty, the unranked list gets the queue's
 * time. */
ALWAYS_INLINE void unranked_begin(struct classq *q)
{
    if (q->ranked == 0) {
        q->unranked_time = q->min;
    }
}

static void insert(struct classq *q, struct thread *t, bool head)
{
    unranked_begin(q);
    q->backend->insert(q, t, head);
    q->ranked++;
}

static void remove_ranked(struct classq *q, struct thread *t)
{
    q->backend->remove(q, t);
    q->ranked--;
}

void classq_remove(struct classq *q, struct thread *t)
{
    if (is_unranked(t)) {
        classq_unranked_remove(q, t);
    } else {
        remove_ranked(q, t);
    }
}

ALWAYS_INLINE struct thread *unranked_first(struct classq *q)
{
    return list_empty(&q->unranked_list) ? NULL
                                         : CONTAINER_OF(q->unranked_list.next, struct thread, rq);
}

struct thread *classq_peek(struct classq *q)
{
    struct thread *waiting = unranked_first(q);
    if (likely(classq_all_plain(q))) {
        return waiting;
    }
    struct thread *ranked = q->backend->first(q);
    return waiting == NULL || ranked->sched.rank < rank_of(q, waiting) ? ranked : waiting;
}

/* The first thread enters the unranked list. If it has waited, the list is as far behind the queue
 * as when it became empty, up to the credit of a long sleep. So threads that mostly wait run before
 * those that mostly compute, until they have paid for it. */
static void unranked_open(struct classq *q, enum pirn_why why)
{
    bool waited = why == PIRN_WHY_WAKE || why == PIRN_WHY_HANDOFF;
    if (!waited || q->unranked_time > q->min || MUTANT(UNRANKED_LATE)) {
        q->unranked_time = q->min;
    } else if (q->unranked_time + CREDIT < q->min) {
        q->unranked_time = q->min - CREDIT;
    }
}

/* What t, just pushed, costs the list. A yield costs no more than that of one thread in n, and what
 * it has used is not divided: the list leaves the CPU to ranked threads however many yield. */
static uint64_t unranked_cost(const struct classq *q, const struct thread *t, enum pirn_why why)
{
    if (why != PIRN_WHY_YIELD) {
        return why == PIRN_WHY_WAKE ? CLASSQ_SLICE / STINT_PART / q->unranked : 0;
    }
    uint64_t part = CLASSQ_SLICE / q->unranked, used = yield_cost(t);
    return used < part ? used : part;
}

/* A thread without a time of its own, while others are ranked. False: it must be ranked, too. */
static bool unranked_enter_no_vtime(struct classq *q, struct thread *t, enum pirn_why why)
{
    if (!classq_usual(t)) {
        return false;
    }
    if (why == PIRN_WHY_HANDOFF && !is_unranked(classq_peek(q))) {
        return false;
    }
    if (q->unranked == 0) {
        unranked_open(q, why);
    }
    classq_unranked_push(q, t, why == PIRN_WHY_HANDOFF || why == PIRN_WHY_PREEMPT);
    q->unranked_time += unranked_cost(q, t, why);
    return true;
}

/* May a thread with a time of its own, which has not met a tick lately, enter the unranked list? */
static bool unranked_admits(const struct classq *q, const struct thread *t)
{
    uint64_t now = q->unranked != 0 ? q->unranked_time : q->min;
    return !is_shmac(q) && classq_usual(t) &&
           (t->sched.vtime <= now + CLASSQ_SLICE || MUTANT(UNRANKED_KEEP));
}

static void unranked_enter(struct classq *q, struct thread *t)
{
    if (q->unranked == 0) {
        q->unranked_time = t->sched.vtime > q->min ? t->sched.vtime : q->min;
    }
    t->sched.no_vtime = true;
    classq_unranked_push(q, t, false);
}

static NOINLINE void push_slow(struct classq *q, struct thread *t, enum pirn_why why)
{
    struct thread_sched *s = &t->sched;
    bool preempted = why == PIRN_WHY_PREEMPT && !slice_ended(t);
    unranked_begin(q);
    if (s->no_vtime) {
        if (unranked_enter_no_vtime(q, t, why)) {
            return;
        }
        settle(q, t);
    }
    bool calm = MUTANT(UNRANKED_KEEP) ||
                (s->charge == 0 && why != PIRN_WHY_PREEMPT && why != PIRN_WHY_HANDOFF);
    s->vtime = unlikely(is_shmac(q)) ? count_in(q, t) : time_in(q, t, used_until(t, why));
    s->queue = q;
    s->charge = 0;
    if (!preempted) {
        s->ticks_left = (uint16_t)rt.slice_ticks;
    }
    if (calm && unranked_admits(q, t)) {
        unranked_enter(q, t);
        return;
    }
    s->rank = rank_in(q, t, s->vtime);
    /* Real-time threads go to the tail of their level, for every reason of becoming ready. */
    bool handoff = why == PIRN_WHY_HANDOFF && (s->rank >= RANK_RR || MUTANT(HANDOFF_FIRST));
    if (handoff && classq_length(q) != 0) {
        struct thread *before = classq_peek(q);
        uint64_t first =
            rank_of(q, before) - is_unranked(before); /* of equals, the unranked list is first */
        s->rank = same_class(first, s->rank) && first < s->rank ? first : s->rank;
    }
    insert(q, t, (preempted && !MUTANT(PREEMPT_TAIL)) || handoff);
}

void classq_push(struct classq *q, struct thread *t, enum pirn_why why)
{
    if (likely(classq_all_plain(q) && classq_plain(t))) {
        classq_unranked_push(q, t, why == PIRN_WHY_HANDOFF || why == PIRN_WHY_PREEMPT);
    } else {
        push_slow(q, t, why);
    }
}

/* How far t is ahead of the queue. */
ALWAYS_INLINE void note_lag(const struct classq *q, struct thread *t)
{
    uint64_t now = unlikely(is_shmac(q)) ? share_of(t->sched.vtime, t) : t->sched.vtime;
    uint64_t lag = now > q->min ? now - q->min : 0;
    t->sched.lag = is_shmac(q) || lag < LAG_MAX ? lag : LAG_MAX;
}

struct thread *classq_take(struct classq *q)
{
    if (likely(classq_all_plain(q))) {
        return classq_unranked_pop(q);
    }
    struct thread *t = classq_peek(q);
    if (is_unranked(t)) {
        time_passes(q, q->unranked_time);
        classq_remove(q, t);
        return t;
    }
    if (t->sched.rank >= RANK_OTHER) {
        /* A hand-over stands before its own time. */
        uint64_t place = t->sched.rank - RANK_OTHER;
        time_passes(q, unlikely(is_shmac(q)) || place < t->sched.vtime ? place : t->sched.vtime);
    }
    remove_ranked(q, t);
    note_lag(q, t);
    return t;
}

/* t is chosen: shmac counts that. */
ALWAYS_INLINE void count_choice(const struct classq *q, struct thread *t)
{
    if (unlikely(is_shmac(q))) {
        t->sched.vtime++;
    }
}

struct thread *classq_pop(struct classq *q)
{
    bool plain = classq_all_plain(q);
    struct thread *t = classq_take(q);
    if (unlikely(t == NULL)) {
        return NULL;
    }
    count_choice(q, t);
    if (unlikely(!plain)) {
        note_since(t);
    }
    return t;
}

void classq_run(struct classq *q, struct thread *t)
{
    struct thread_sched *s = &t->sched;
    if (s->no_vtime) {
        return;
    }
    s->vtime = is_shmac(q) ? count_in(q, t) : time_in(q, t, used_until(t, PIRN_WHY_WAKE));
    s->queue = q;
    s->charge = 0;
    s->ticks_left = (uint16_t)rt.slice_ticks;
    note_lag(q, t);
    count_choice(q, t);
}

static void requeue_unranked(struct classq *q, struct thread *t, bool tail)
{
    if (!classq_plain(t)) {
        classq_remove(q, t);
        settle(q, t);
        t->sched.rank = rank_in(q, t, t->sched.vtime);
        insert(q, t, false);
    } else if (tail) {
        classq_remove(q, t);
        classq_unranked_push(q, t, false);
    }
}

void classq_requeue(struct classq *q, struct thread *t)
{
    struct thread_sched *s = &t->sched;
    bool tail = at_load_rlx(&s->attr) & SCHED_TO_TAIL;
    if (MUTANT(RANK_STAY)) {
        return;
    }
    if (is_unranked(t)) {
        requeue_unranked(q, t, tail);
        return;
    }
    uint64_t rank = rank_in(q, t, s->vtime);
    if (rank != s->rank || tail) {
        bool lowered = rank > s->rank;
        remove_ranked(q, t);
        s->rank = rank;
        insert(q, t, lowered && rank < RANK_LEVELS && !tail);
    }
}

void classq_reorder(struct classq *q)
{
    struct list all;
    struct thread *t;
    list_init(&all);
    while (q->ranked != 0) {
        t = q->backend->first(q);
        remove_ranked(q, t);
        list_push_back(&all, &t->rq);
    }
    for (struct list *node = q->unranked_list.next, *next; node != &q->unranked_list; node = next) {
        next = node->next;
        requeue_unranked(q, CONTAINER_OF(node, struct thread, rq), false);
    }
    for (struct list *node; (node = list_pop_front(&all)) != NULL;) {
        t = CONTAINER_OF(node, struct thread, rq);
        t->sched.rank = rank_in(q, t, t->sched.vtime);
        insert(q, t, false);
    }
}

/* ---- slices ---- */

/* Its slice has ended and it goes on: no other thread comes first. */
static void go_on(struct classq *q, struct thread *t)
{
    struct thread_sched *s = &t->sched;
    s->ticks_left = (uint16_t)rt.slice_ticks;
    if (is_shmac(q)) {
        s->vtime++;
        return;
    }
    s->vtime = time_in(q, t, s->charge);
    s->queue = q;
    s->charge = 0;
    if (classq_length(q) == 0) {
        time_passes(q, s->vtime);
    }
    note_lag(q, t);
}

/* Threads of the same urgency: does the first one in the queue go before t, whose slice has ended?
 */
static bool turn_of_first(struct classq *q, const struct thread *first, const struct thread *t)
{
    if (is_shmac(q)) {
        return first->sched.rank >= RANK_RR &&
               first->sched.rank <= rank_shmac(q, t, t->sched.vtime);
    }
    if (level_of(q, t) != 0) {
        return sched_class_of(t) == SCHED_CLASS_RR;
    }
    return rank_of(q, first) <= RANK_OTHER + time_in(q, t, t->sched.charge);
}

/* The thread that yields goes on if no other one is before it: the first one is ranked, and behind
 * what the yield costs. One that has met a tick gives way. The first one may have lost a real-time
 * priority, and not been ranked again yet: then it comes first. */
static bool goes_on_after_yield(struct classq *q, const struct thread *first, struct thread *t)
{
    struct thread_sched *s = &t->sched;
    if (!rt.preempt || is_shmac(q) || is_unranked(first) || s->charge != 0) {
        return false;
    }
    uint64_t cost = yield_cost(t), now = s->no_vtime ? q->min + cost : time_in(q, t, cost);
    if (RANK_OTHER + now > first->sched.rank) {
        return false;
    }
    if (s->no_vtime) {
        time_passes(q, now);
    } else {
        s->vtime = now;
        s->queue = q;
    }
    note_since(t);
    return true;
}

struct thread *classq_preempt(struct classq *q, struct thread *running, enum pirn_why why)
{
    if (why == PIRN_WHY_YIELD && likely(classq_all_plain(q) && classq_usual(running))) {
        return classq_unranked_pop(q);
    }
    struct thread *first = classq_peek(q);
    uint32_t there = first != NULL ? classq_urgency(q, first) : 0;
    uint32_t here = classq_urgency(q, running);
    bool ended = slice_ended(running);
    if (there == here && here == URGENCY_OTHER && why == PIRN_WHY_YIELD &&
        goes_on_after_yield(q, first, running)) {
        return NULL;
    }
    if (there > here || (there == here && why == PIRN_WHY_YIELD)) {
        return classq_pop(q);
    }
    if (why == PIRN_WHY_PREEMPT && ended && there == here && turn_of_first(q, first, running)) {
        first = classq_take(q);
        count_choice(q, first);
        note_since(first); /* `running` will be ranked */
        return first;
    }
    if (ended) {
        go_on(q, running);
    }
    return NULL;
}

void classq_keep(struct classq *q, struct thread *running)
{
    if (slice_ended(running)) {
        go_on(q, running);
    }
}

bool classq_charge(const struct classq *q, struct thread *running, unsigned ticks)
{
    struct thread_sched *s = &running->sched;
    if (sched_class_of(running) == SCHED_CLASS_FIFO) {
        return false; /* it has no slices, and keeps its place when it is preempted */
    }
    if (!is_shmac(q) && sched_class_of(running) == SCHED_CLASS_OTHER) {
        if (s->no_vtime) { /* and starts at the time of the queue that it will enter */
            s->no_vtime = false;
            s->queue = NULL;
            s->lag = 0;
        }
        s->charge += MUTANT(SLICE_FREE) ? 0 : slice_cost(running) * ticks / rt.slice_ticks;
    }
    s->ticks_left = (uint16_t)(ticks < s->ticks_left ? s->ticks_left - ticks : 0);
    return slice_ended(running);
}

/* ---- new threads ---- */

static _Atomic(uint32_t) created;

void classq_new_thread(struct classq *q, struct thread *t, const struct thread *creator, bool copy)
{
    struct thread_sched *s = &t->sched;
    bool shmac = is_shmac(q);
    if (!shmac && copy && (creator == NULL || creator->sched.no_vtime)) {
        classq_new_no_vtime(t);
        return;
    }
    s->queue = NULL;
    s->no_vtime = false;
    s->vtime = s->lag = s->charge = 0;
    s->place = 0;
    s->ticks_left = (uint16_t)rt.slice_ticks;
    s->seq = shmac ? (int64_t)at_add_rlx(&created, 1u) : 0;
    if (!copy) {
        s->queue = creator != NULL && creator->sched.queue != NULL ? creator->sched.queue : q;
        return; /* its 0 counts there */
    }
    if (creator == NULL) {
        return;
    }
    const struct thread_sched *from = &creator->sched;
    s->queue = from->queue;
    s->vtime = from->vtime + from->charge;
    s->lag = from->lag + from->charge;
    if (shmac) {
        s->vtime = from->vtime * sched_weight_of(t) / sched_weight_of(creator);
    }
}

void classq_for_each(struct classq *q, void (*fn)(struct thread *t))
{
    classq_list_for_each(&q->unranked_list, fn);
    q->backend->for_each(q, fn);
}

/* SPDX-License-Identifier: MIT */
/*
 * classq_unranked.c - the unranked list of ready queues with classes (classq.h), by itself: the
 * threads in it, and the fair share of threads in it and beside it, as if each had a time of its
 * own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classq_test.h"
#include "runtime.h"

enum { N = 6, SLICE_TICKS = 2, TURNS = 6000 };

static struct classq q;
static struct thread *t[N];
static const char *backend_name;

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "FAILED unranked list, %s: %s\n", backend_name, what);
        repeat();
        exit(1);
    }
}

static void begin(const struct classq_backend *backend)
{
    backend_name = backend == &classq_heap ? "heap" : "levels";
    rt.slice_ticks = SLICE_TICKS;
    classq_init(&q, DISCIPLINE_POSIX, backend);
    for (unsigned i = 0; i < N; i++) {
        free(t[i]);
        t[i] = make_thread();
        classq_new_thread(&q, t[i], NULL, true);
    }
}

static void set_weight(struct thread *thread, unsigned weight)
{
    struct sched_params how = {SCHED_CLASS_OTHER, 0, weight};
    at_store_rlx(&thread->sched.attr, sched_attr_of(&how));
}

static void set_priority(struct thread *thread, unsigned priority)
{
    at_store_rlx(&thread->priority, priority);
    if (classq_queued(thread)) {
        classq_requeue(&q, thread);
    }
}

static void check_one(struct thread *thread)
{
    bool is_unranked = thread->sched.place == CLASSQ_UNRANKED;
    expect(classq_queued(thread), "a thread in the queue has no place");
    expect(!is_unranked || classq_plain(thread), "a thread in the unranked list is not plain");
}

static void check(void)
{
    classq_for_each(&q, check_one);
    expect(q.ranked == 0 || q.unranked == 0 || q.unranked_time + CLASSQ_SLICE >= q.min,
           "the unranked list is further behind the queue than its credit");
}

/* The next thread runs for ticks[thread] ticks and comes back; 0: it yields. */
static unsigned turn(const unsigned *ticks)
{
    struct thread *next = classq_pop(&q);
    unsigned i = 0;
    expect(next != NULL, "the queue is empty");
    while (t[i] != next) {
        i++;
    }
    if (ticks[i] != 0) {
        classq_charge(&q, next, ticks[i]);
    }
    classq_push(&q, next, ticks[i] != 0 ? PIRN_WHY_PREEMPT : PIRN_WHY_YIELD);
    check();
    return i;
}

static void all_ready(void)
{
    for (unsigned i = 0; i < N; i++) {
        classq_push(&q, t[i], PIRN_WHY_SPAWN);
    }
}

static void expect_shares(const unsigned *turns, const unsigned *weights)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < N; i++) {
        sum += weights[i];
    }
    for (unsigned i = 0; i < N; i++) {
        int fair = (int)(TURNS * weights[i] / sum);
        expect(abs((int)turns[i] - fair) <= fair / 50 + 12, "turns are not by weight");
    }
}

/* Some compute, each for a slice, some yield at once: a yield costs as much. */
static void yields_share_with_slices(const struct classq_backend *backend, unsigned weight)
{
    static const unsigned ticks[N] = {SLICE_TICKS, 0, 0, SLICE_TICKS, 0, 0};
    unsigned weights[N] = {10, 10, 10, 10, 10, 10}, turns[N] = {0};
    begin(backend);
    weights[3] = weight;
    set_weight(t[3], weight);
    all_ready();
    for (unsigned k = 0; k < TURNS; k++) {
        turns[turn(ticks)]++;
    }
    expect_shares(turns, weights);
}

static void plain_threads_go_round(const struct classq_backend *backend)
{
    static const unsigned none[N] = {0};
    begin(backend);
    all_ready();
    for (unsigned k = 0; k < TURNS; k++) {
        expect(turn(none) == k % N, "plain threads are not served in turn");
        expect(classq_all_plain(&q), "a plain thread left the unranked list");
    }
}

static void ticks_lead_out_and_calm_leads_back(const struct classq_backend *backend)
{
    static const unsigned none[N] = {0}, one[N] = {SLICE_TICKS};
    begin(backend);
    all_ready();
    expect(turn(one) == 0 && t[0]->sched.place != CLASSQ_UNRANKED,
           "who met a tick is in the unranked list");
    for (unsigned k = 1; k < N; k++) {
        expect(turn(none) == k, "who met a tick is before who did not");
    }
    for (unsigned k = 0; k < 4 * N; k++) {
        turn(none);
    }
    expect(classq_all_plain(&q), "who met a tick once does not come back to the unranked list");
}

static void priorities_lead_out(const struct classq_backend *backend)
{
    begin(backend);
    all_ready();
    for (unsigned k = 0; k < TURNS; k++) {
        unsigned i = below(N), best = 0;
        set_priority(t[i], below(2) * below(RANK_LEVELS));
        check();
        for (unsigned j = 0; j < N; j++) {
            unsigned p = at_load_rlx(&t[j]->priority);
            best = p > best ? p : best;
        }
        struct thread *first = classq_peek(&q);
        expect(at_load_rlx(&first->priority) == best, "the most urgent one is not first");
        if (best == 0 && below(2) != 0) {
            first = classq_pop(&q);
            classq_push(&q, first, below(2) ? PIRN_WHY_YIELD : PIRN_WHY_HANDOFF);
        }
        if (below(8) == 0) {
            classq_reorder(&q);
            check();
        }
        expect(classq_length(&q) == N, "the length is wrong");
    }
}

/* Two compute, the others wait mostly. If all waiting threads come back at once they run before the
 * first two do again, however many they are. But a thread that is woken repeatedly does not keep
 * the others from running. */
static void woken_threads_are_before_those_who_compute(const struct classq_backend *backend)
{
    static const unsigned ticks[N] = {SLICE_TICKS, SLICE_TICKS, 0, 0, 0, 0};
    unsigned turns[2] = {0, 0};
    begin(backend);
    classq_push(&q, t[0], PIRN_WHY_SPAWN);
    classq_push(&q, t[1], PIRN_WHY_SPAWN);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned k = 0; k < 5 + round % 2; k++) {
            turn(ticks);
        }
        for (unsigned i = 2; i < N; i++) {
            classq_push(&q, t[i], PIRN_WHY_WAKE);
            check();
        }
        for (unsigned i = 2; i < N; i++) {
            expect(classq_pop(&q) == t[i], "who computes is before who has waited");
        }
    }
    for (unsigned k = 0; k < TURNS; k++) {
        struct thread *next = classq_pop(&q);
        bool computes = next != t[2];
        turns[computes]++;
        if (computes) {
            classq_charge(&q, next, SLICE_TICKS);
        } else {
            classq_push(&q, next, PIRN_WHY_WAKE);
            continue;
        }
        classq_push(&q, next, PIRN_WHY_PREEMPT);
        if (k == 0) {
            classq_push(&q, t[2], PIRN_WHY_WAKE);
        }
        check();
    }
    expect(turns[1] >= TURNS / 20, "who is woken again and again keeps the others from running");
}

/* It does not depend on the others' virtual time. */
static void handed_over_thread_is_next(const struct classq_backend *backend)
{
    static const unsigned ticks[N] = {SLICE_TICKS, SLICE_TICKS, 0, 0, 0, 0};
    begin(backend);
    all_ready();
    for (unsigned k = 0; k < TURNS; k++) {
        turn(ticks);
        struct thread *some = t[below(N)];
        classq_remove(&q, some);
        classq_push(&q, some, PIRN_WHY_HANDOFF);
        check();
        expect(classq_peek(&q) == some, "a hand-over is not next");
    }
}

/* t[0] computes for a slice at a time, as many as `yielding` others yield. Returns how many yields
 * there are before it has its turn again. */
static unsigned yields_in_a_turn(unsigned yielding)
{
    unsigned yields = 0;
    classq_charge(&q, t[0], SLICE_TICKS);
    struct thread *runs = classq_preempt(&q, t[0], PIRN_WHY_PREEMPT);
    expect(runs != NULL && runs != t[0], "a slice does not end");
    classq_push(&q, t[0], PIRN_WHY_PREEMPT);
    while (runs != t[0]) {
        struct thread *next = classq_preempt(&q, runs, PIRN_WHY_YIELD);
        yields++;
        expect(next != NULL || yielding == 1, "a yield lets no other one yield");
        if (next != NULL) {
            classq_push(&q, runs, PIRN_WHY_YIELD);
            runs = next;
        }
        check();
    }
    return yields;
}

/* A slice may be so long that all yields come after a short time, or so short that none does. */
static void short_yields_cost_little(const struct classq_backend *backend, unsigned yielding)
{
    begin(backend);
    rt.preempt = true;
    for (unsigned i = 0; i <= yielding; i++) {
        classq_push(&q, t[i], PIRN_WHY_SPAWN);
    }
    expect(classq_pop(&q) == t[0], "the first one is not first");
    for (unsigned k = 0; k < 20; k++) {
        bool is_short = k % 2 == 0;
        rt.slice_ns = is_short ? UINT64_C(1) << 50 : 16;
        unsigned yields = yields_in_a_turn(yielding);
        expect(is_short ? yields > 900 && yields < 2200 : yields <= 2 * yielding,
               "short yields cost too much or too little");
    }
    rt.preempt = false;
}

void test_unranked(void)
{
    static const struct classq_backend *const backends[] = {&classq_heap, &classq_levels};
    for (unsigned i = 0; i < 2; i++) {
        plain_threads_go_round(backends[i]);
        ticks_lead_out_and_calm_leads_back(backends[i]);
        yields_share_with_slices(backends[i], 10);
        yields_share_with_slices(backends[i], 40);
        yields_share_with_slices(backends[i], 5);
        priorities_lead_out(backends[i]);
        handed_over_thread_is_next(backends[i]);
        short_yields_cost_little(backends[i], 1);
        short_yields_cost_little(backends[i], N - 1);
        woken_threads_are_before_those_who_compute(backends[i]);
    }
}

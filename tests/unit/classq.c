/* SPDX-License-Identifier: MIT */
/*
 * classq.c - the back ends of ready queues with classes, against a model: random operations, and a
 * comparison of the first thread after each.
 *
 *     pirn-classq --seed N    the test
 *     pirn-classq --bench     ns for taking the first of N threads and putting it back
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "classq_test.h"
#include "common/options.h"

enum { THREADS = 64, OPERATIONS = 400000 };

/* The model: smaller (rank, key) first; a thread that was put behind the window of levels may lose
 * its position among equals. */
struct entry {
    struct thread *t;
    uint64_t rank;
    int64_t key;
    bool in, far;
};

static uint64_t seed = 1, state;

uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % n;
}

void repeat(void)
{
    fprintf(stderr, "repeat: pirn-classq --seed %" PRIu64 "\n", seed);
}

static void fail(const struct classq *q, unsigned long step, const char *what)
{
    fprintf(stderr, "FAILED %s, operation %lu: %s\n",
            q->backend == &classq_heap ? "heap" : "levels", step, what);
    repeat();
    exit(1);
}

struct thread *make_thread(void)
{
    struct thread *t = aligned_alloc(64, (sizeof(*t) + 63) & ~(size_t)63);
    if (t == NULL) {
        perror("thread");
        exit(1);
    }
    memset((void *)t, 0, sizeof(*t));
    return t;
}

/* levels keeps the order by steps. */
static uint64_t order_of(const struct classq *q, uint64_t rank)
{
    return q->backend == &classq_heap || rank < RANK_LEVELS
               ? rank
               : RANK_OTHER + ((rank - RANK_OTHER) >> CLASSQ_SLICE_SHIFT);
}

static bool before(const struct classq *q, const struct entry *a, const struct entry *b)
{
    uint64_t x = order_of(q, a->rank), y = order_of(q, b->rank);
    bool equal = a->far || b->far;
    return x != y ? x < y : !equal && a->key < b->key;
}

static void check_first(struct classq *q, struct entry *entries, unsigned long step)
{
    struct thread *first = q->backend->first(q);
    struct entry *found = NULL;
    unsigned in = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        in += entries[i].in;
        found = entries[i].in && entries[i].t == first ? &entries[i] : found;
    }
    if ((in == 0) != (first == NULL) || (in != 0 && found == NULL)) {
        fail(q, step, "the first one is not in the queue");
    }
    for (unsigned i = 0; in != 0 && i < THREADS; i++) {
        if (entries[i].in && &entries[i] != found && before(q, &entries[i], found)) {
            fail(q, step, "another one should be the first");
        }
    }
}

static void run(const struct classq_backend *backend)
{
    static struct classq q;
    struct entry entries[THREADS] = {0};
    int64_t head = -1, tail = 0;
    uint64_t now = 10 * CLASSQ_SLICE;
    classq_init(&q, DISCIPLINE_POSIX, backend);
    q.min = now;
    for (unsigned i = 0; i < THREADS; i++) {
        entries[i].t = make_thread();
    }
    for (unsigned long step = 0; step < OPERATIONS; step++) {
        struct entry *e = &entries[below(THREADS)];
        if (!e->in) {
            bool front = below(4) == 0;
            uint64_t ahead = below(20) == 0 ? below(2000) : below(30);
            e->rank = below(3) == 0
                          ? below(RANK_LEVELS - 1)
                          : RANK_OTHER + (now > q.min ? now : q.min) + ahead * CLASSQ_SLICE / 2;
            e->key = front ? head-- : tail++;
            e->far = e->rank >= RANK_OTHER && ahead >= 2 * CLASSQ_STEPS - 8;
            e->t->sched.rank = e->rank;
            backend->insert(&q, e->t, front);
            e->in = true;
        } else if (below(2) == 0) {
            backend->remove(&q, e->t);
            e->in = false;
        } else {
            struct thread *first = backend->first(&q);
            for (unsigned i = 0; i < THREADS; i++) {
                if (entries[i].t == first) {
                    entries[i].in = false;
                }
            }
            if (first->sched.rank >= RANK_OTHER && first->sched.rank - RANK_OTHER > now) {
                now = first->sched.rank - RANK_OTHER;
                q.min = now > q.min ? now : q.min;
            }
            backend->remove(&q, first);
        }
        check_first(&q, entries, step);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        free(entries[i].t);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double rotate(const struct classq_backend *backend, unsigned n, bool weights)
{
    static struct classq q;
    enum { ROUNDS = 2000000 };
    classq_init(&q, DISCIPLINE_POSIX, backend);
    for (unsigned i = 0; i < n; i++) {
        struct thread *t = make_thread();
        t->sched.vtime = 10 * CLASSQ_SLICE;
        t->index = weights ? 1 + below(100) : 10;
        t->sched.rank = RANK_OTHER + t->sched.vtime;
        backend->insert(&q, t, false);
    }
    double from = seconds();
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct thread *t = backend->first(&q);
        backend->remove(&q, t);
        q.min = t->sched.vtime > q.min ? t->sched.vtime : q.min;
        t->sched.vtime += 10 * CLASSQ_SLICE / t->index;
        t->sched.rank = RANK_OTHER + t->sched.vtime;
        backend->insert(&q, t, false);
    }
    double ns = (seconds() - from) * 1e9 / ROUNDS;
    for (struct thread *t; (t = backend->first(&q)) != NULL; free(t)) {
        backend->remove(&q, t);
    }
    return ns;
}

static void bench(void)
{
    printf("threads weights  heap  levels  (ns for taking the first and putting it back)\n");
    for (unsigned n = 1; n <= 16384; n *= 4) {
        for (int weights = 0; weights < 2; weights++) {
            printf("%7u %-7s %5.0f %7.0f\n", n, weights ? "1..100" : "equal",
                   rotate(&classq_heap, n, weights), rotate(&classq_levels, n, weights));
        }
    }
}

int main(int argc, char **argv)
{
    bool ask_time = false;
    const struct option_spec options[] = {
        option_count("seed", &seed, 0, UINT64_MAX, "of the random operations"),
        option_flag("bench", &ask_time, "ns for taking the first of N threads and putting it back"),
        {0}};
    const struct option_page page = {.summary = "Ready queues with classes against a model.",
                                     .options = options};
    options_parse(argc, argv, &page);
    if (ask_time) {
        bench();
        return 0;
    }
    state = seed;
    run(&classq_heap);
    run(&classq_levels);
    test_unranked();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * kernel_ops.c - the cost of the runtime's operations on a board, in instructions. Run it with an
 * instruction counter as clock (`pirn board run --icount`): then the time on the board is the
 * number of instructions of all its cores, one after the other, and a sleeping core takes none.
 *
 *     kernel_ops NS        NS: nanoseconds that an instruction takes
 *
 * On each core one thread does each operation OPERATIONS times, all cores at once. The time is
 * divided by the number of operations and includes loops; a row of its own gives the cost of a loop
 * alone.
 */
#include "check_board.h"

#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"

enum { OPERATIONS = 1000, CORES_MAX = 8 };

static double ns_per_instruction;
static unsigned cores;
static pirn_barrier_t line;

static void row(const char *name, uint64_t ns, unsigned operations)
{
    printf("\"%s\",%u,%.1f\n", name, cores, (double)ns / ns_per_instruction / operations);
}

/* ---- operations of one thread alone, on each core ---- */

static pirn_mutex_t mutexes[CORES_MAX][OPERATIONS];
static pirn_sem_t sems[CORES_MAX][OPERATIONS];

static void loop(unsigned me, unsigned i)
{
    __asm__ volatile("" ::"r"(me), "r"(i) : "memory");
}

static void lock(unsigned me, unsigned i)
{
    pirn_mutex_lock(&mutexes[me][i]);
}

static void unlock(unsigned me, unsigned i)
{
    pirn_mutex_unlock(&mutexes[me][i]);
}

static void post(unsigned me, unsigned i)
{
    pirn_sem_post(&sems[me][i]);
}

static void take(unsigned me, unsigned i)
{
    pirn_sem_wait(&sems[me][i]);
}

static void yield(unsigned me, unsigned i)
{
    (void)me;
    (void)i;
    pirn_yield();
}

static void *nothing(void *arg)
{
    return arg;
}

static void create_join(unsigned me, unsigned i)
{
    pirn_thread_t t;
    (void)me;
    (void)i;
    CHECK(pirn_create(&t, NULL, nothing, NULL) == 0);
    CHECK(pirn_join(t, NULL) == 0);
}

static const struct operation {
    const char *name;
    void (*run)(unsigned me, unsigned i);
    unsigned threads; /* for each core */
} operations[] = {
    {"a loop alone", loop, 1},
    {"lock a free mutex", lock, 1},
    {"unlock, nobody waits", unlock, 1},
    {"post a semaphore, nobody waits", post, 1},
    {"take a unit", take, 1},
    {"yield to another thread", yield, 2},
    {"create a thread, run it, join it", create_join, 1},
};

static const struct operation *running;
static uint64_t began[2 * CORES_MAX], ended[2 * CORES_MAX];

static void *worker(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    void (*run)(unsigned, unsigned) = running->run;
    pirn_barrier_wait(&line);
    began[me] = pirn_now();
    for (unsigned i = 0; i < OPERATIONS; i++) {
        run(me % CORES_MAX, i);
    }
    ended[me] = pirn_now();
    return NULL;
}

static void measure(const struct operation *op)
{
    pirn_thread_t t[2 * CORES_MAX];
    unsigned n = cores * op->threads;
    running = op;
    CHECK(pirn_barrier_init(&line, n) == 0);
    for (uintptr_t i = 0; i < n; i++) {
        CHECK(pirn_create(&t[i], NULL, worker, (void *)i) == 0);
    }
    uint64_t from = UINT64_MAX, to = 0;
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
        from = began[i] < from ? began[i] : from;
        to = ended[i] > to ? ended[i] : to;
    }
    row(op->name, to - from, n * OPERATIONS);
}

/* ---- operations of two threads ---- */

static pirn_sem_t all_wait = PIRN_SEM_INIT(0);
static unsigned waiting;

static void *waits_for_mutex(void *mutex)
{
    if (__atomic_add_fetch(&waiting, 1, __ATOMIC_RELAXED) == OPERATIONS) {
        pirn_sem_post(&all_wait);
    }
    pirn_mutex_lock(mutex);
    pirn_mutex_unlock(mutex);
    return NULL;
}

/* Threads that are created, that begin and wait for a mutex each, that are released, and that
 * end. */
static void measure_waiting(void)
{
    static pirn_thread_t t[OPERATIONS];
    for (unsigned i = 0; i < OPERATIONS; i++) {
        pirn_mutex_lock(&mutexes[0][i]);
    }
    uint64_t at = pirn_now();
    for (unsigned i = 0; i < OPERATIONS; i++) {
        CHECK(pirn_create(&t[i], NULL, waits_for_mutex, &mutexes[0][i]) == 0);
    }
    if (cores == 1) { /* no other thread has run meanwhile */
        row("create a thread", pirn_now() - at, OPERATIONS);
        at = pirn_now();
    }
    pirn_sem_wait(&all_wait);
    row(cores == 1 ? "begin, lock a taken mutex, switch"
                   : "create, begin, lock a taken mutex, switch",
        pirn_now() - at, OPERATIONS);
    at = pirn_now();
    for (unsigned i = 0; i < OPERATIONS; i++) {
        pirn_mutex_unlock(&mutexes[0][i]);
    }
    if (cores == 1) {
        row("unlock, somebody waits", pirn_now() - at, OPERATIONS);
        at = pirn_now();
    }
    for (unsigned i = 0; i < OPERATIONS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    row(cores == 1 ? "take the mutex, end, be joined" : "unlock, take the mutex, end, be joined",
        pirn_now() - at, OPERATIONS);
}

int main(int argc, char **argv)
{
    const struct option_page page = {
        .summary = "The cost of operations on a board; NS: nanoseconds that an instruction takes.",
        .operand = "NS"};
    ns_per_instruction = operand_positive("NS", options_parse(argc, argv, &page)[0]);
    cores = pirn_cpu_count();
    CHECK(cores <= CORES_MAX);
    printf("operation,cores,instructions\n");
    for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        measure(&operations[i]);
    }
    measure_waiting();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * sections.c - the longest time, in instructions, for which each operation keeps interrupts
 * disabled and holds a lock. It needs a library that counts it (-DPIRN_SECTIONS=ON) and an
 * instruction counter (`pirn board run --icount`). Prints a line for each operation.
 *
 *     sections UNITS     UNITS: of the library's counter, that an instruction takes
 */
#include "check_board.h"

#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"

void bare_sections_take(unsigned long *off, unsigned long *held);

enum { ROUNDS = 200, MANY = 100 };

static double units;

static void begin(void)
{
    unsigned long off, held;
    bare_sections_take(&off, &held);
}

static void end(const char *name)
{
    unsigned long off, held;
    bare_sections_take(&off, &held);
    printf("\"%s\",%u,%.0f,%.0f\n", name, pirn_cpu_count(), (double)off / units,
           (double)held / units);
}

static pirn_mutex_t mutex;
static pirn_cond_t cond;
static pirn_sem_t sem, ready, go;
static pirn_barrier_t line;
static pirn_thread_t threads[MANY];

static void all(unsigned n, void *(*fn)(void *))
{
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_create(&threads[i], NULL, fn, NULL) == 0);
    }
}

static void joined(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_join(threads[i], NULL) == 0);
    }
}

static void free_mutex(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_mutex_lock(&mutex);
        pirn_mutex_unlock(&mutex);
    }
}

static void *takes_mutex(void *arg)
{
    pirn_sem_post(&ready);
    pirn_mutex_lock(&mutex);
    pirn_mutex_unlock(&mutex);
    return arg;
}

static void wanted_mutex(void)
{
    pirn_mutex_lock(&mutex);
    all(MANY, takes_mutex);
    for (unsigned i = 0; i < MANY; i++) {
        pirn_sem_wait(&ready);
    }
    pirn_yield();
    begin();
    pirn_mutex_unlock(&mutex);
    joined(MANY);
}

static void *posts(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&go);
        pirn_sem_post(&sem);
    }
    return arg;
}

static void semaphores(void)
{
    all(1, posts);
    begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_sem_post(&go);
        pirn_sem_wait(&sem);
    }
    joined(1);
}

static void *yields(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_yield();
    }
    return arg;
}

static void yield(void)
{
    all(MANY, yields);
    joined(MANY);
}

static void *nothing(void *arg)
{
    return arg;
}

static void create_join(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        all(1, nothing);
        joined(1);
    }
}

/* Afterwards the stack reservoir is full, or the pool has the stacks back. */
static void create_many(void)
{
    all(MANY, nothing);
    joined(MANY);
}

static unsigned waiting;

static void *waits_for_cond(void *arg)
{
    pirn_mutex_lock(&mutex);
    waiting++;
    pirn_cond_wait(&cond, &mutex);
    pirn_mutex_unlock(&mutex);
    return arg;
}

static void broadcast(void)
{
    waiting = 0;
    all(MANY, waits_for_cond);
    for (bool there = false; !there;) {
        pirn_yield();
        pirn_mutex_lock(&mutex);
        there = waiting == MANY;
        pirn_mutex_unlock(&mutex);
    }
    begin();
    pirn_cond_broadcast(&cond);
    joined(MANY);
}

static void *meets(void *arg)
{
    pirn_barrier_wait(&line);
    return arg;
}

static void barrier(void)
{
    CHECK(pirn_barrier_init(&line, MANY) == 0);
    all(MANY, meets);
    joined(MANY);
}

static uint64_t morning;

static void *sleeps(void *arg)
{
    pirn_sleep_until(morning);
    return arg;
}

static void expiry(void)
{
    morning = pirn_now() + 20000000;
    all(MANY, sleeps);
    joined(MANY);
}

static void *computes(void *arg)
{
    uint64_t until = pirn_now() + 50000000;
    while (pirn_now() < until) {
    }
    return arg;
}

static void ticks(void)
{
    all(4, computes);
    joined(4);
}

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {{"lock, unlock a free mutex", free_mutex},
                  {"unlock, 100 threads wait", wanted_mutex},
                  {"post, wait: two threads in turn", semaphores},
                  {"yield, 100 threads", yield},
                  {"create, end, join a thread", create_join},
                  {"create 100 threads, join them", create_many},
                  {"broadcast to 100 threads", broadcast},
                  {"a barrier of 100 threads", barrier},
                  {"100 threads sleep until the same time", expiry},
                  {"ticks, 4 threads that compute", ticks}};

int main(int argc, char **argv)
{
    const struct option_page page = {
        .summary =
            "How long interrupts are disabled; UNITS: of the counter, that an instruction takes.",
        .operand = "UNITS"};
    units = operand_positive("UNITS", options_parse(argc, argv, &page)[0]);
    CHECK(pirn_sem_init(&ready, 0) == 0 && pirn_sem_init(&go, 0) == 0 &&
          pirn_sem_init(&sem, 0) == 0);
    printf("operation,cores,off,held\n");
    for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        begin();
        operations[i].run();
        end(operations[i].name);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * preempt.c - threads that never call anything are preempted, and do not notice it.
 *
 * Run with PIRN_PREEMPT=1. Most cases spin until every thread has seen the others run, on PIRN_CPUS
 * CPUs; without preemption they would not end.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pirn/pirn.h>

#include "common/options.h"

enum { THREADS = 6, ROUNDS = 8 };

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A baton goes round: thread i may continue when turn % THREADS == i. Waiting is spinning. */
static volatile unsigned turn;

static void turn_await(unsigned me)
{
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) % THREADS != me) {
    }
}

static void turn_pass(void)
{
    __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
}

static void run_all(void *(*fn)(void *))
{
    pirn_thread_t t[THREADS];
    struct pirn_counters before, after;
    pirn_stats(&before);
    turn = 0;
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, fn, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    pirn_stats(&after);
    printf("%llu preemptions\n", (unsigned long long)(after.preemptions - before.preemptions));
    CHECK(after.preemptions > before.preemptions);
}

/* ---- nothing but a loop ---- */

static void *spins(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        turn_await((unsigned)(uintptr_t)arg);
        turn_pass();
    }
    return NULL;
}

/* ---- registers: integer, SSE, x87, rounding mode, flags ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    return x * 0x9e3779b97f4a7c15ull + 1;
}

/* Much live state in registers, between two reads of the baton. */
static void *computes(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    volatile double one = 1.0, three = 3.0;
    volatile long double lthree = 3.0L;
    CHECK(fesetround(modes[me % 4]) == 0);
    double quotient = one / three;
    long double lquotient = 1.0L / lthree;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = me + 1, b = me + 2, c = me + 3, d = me + 4;
        uint64_t a2 = a, b2 = b, c2 = c, d2 = d;
        double x = me, y = me + 0.5;
        while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) % THREADS != me) {
            a = mix(a), b = mix(b), c = mix(c), d = mix(d);
            a2 = mix(a2), b2 = mix(b2), c2 = mix(c2), d2 = mix(d2);
            x += 1.0, y += 1.0;
            CHECK(a == a2 && b == b2 && c == c2 && d == d2 && y - x == 0.5);
            CHECK(one / three == quotient && 1.0L / lthree == lquotient);
        }
        turn_pass();
    }
    CHECK(fegetround() == modes[me % 4]);
    CHECK(fesetround(FE_TONEAREST) == 0);
    return NULL;
}

/* ---- in and out of malloc and stdio, whose locks must not be held by a thread that waits ---- */

static FILE *sink;

static void *allocates(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) % THREADS != me) {
            for (size_t n = 16; n < 100000; n *= 5) {
                char *p = malloc(n);
                CHECK(p != NULL);
                memset(p, (int)me, n);
                CHECK(p[n - 1] == (char)me);
                free(p);
            }
            fprintf(sink, "%u %d\n", me, i);
        }
        turn_pass();
    }
    return NULL;
}

/* ---- a worker that waits in the kernel gets no ticks ---- */

static int blocking[2];

static void *reads(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    if (me != 0) {
        return spins(arg);
    }
    for (int i = 0; i < ROUNDS; i++) {
        turn_await(me);
        char c = 0;
        ssize_t n = read(blocking[0], &c, 1);
        CHECK(n == 1 && c == 'x');
        turn_pass();
    }
    return NULL;
}

static void *writes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        usleep(30000);
        CHECK(write(blocking[1], "x", 1) == 1);
    }
    return arg;
}

static void run_reads(void)
{
    pthread_t writer;
    CHECK(pipe(blocking) == 0);
    CHECK(pthread_create(&writer, NULL, writes, NULL) == 0);
    run_all(reads);
    CHECK(pthread_join(writer, NULL) == 0);
}

/* ---- threads that compute for less than a tick, and their joiner, which runs after each ---- */

enum { JOINERS = 2, YIELDS = 5, PART_NS = 500000, PARTS_MAX = 200 };
static unsigned parts;
static bool over;

static long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *computes_a_part(void *arg)
{
    long start = cpu_ns(), now;
    do {
        now = cpu_ns();
    } while (now >= start && now - start < PART_NS); /* earlier: on another kernel thread */
    __atomic_add_fetch(&parts, 1, __ATOMIC_SEQ_CST);
    return arg;
}

static void *joins(void *arg)
{
    while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
        pirn_thread_t t;
        CHECK(pirn_create(&t, NULL, computes_a_part, NULL) == 0);
        CHECK(pirn_join(t, NULL) == 0);
    }
    return arg;
}

static int ascending(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* A few ticks of each joiner pass in a yield. */
static void run_joins(void)
{
    pirn_thread_t t[JOINERS];
    unsigned in_yield[YIELDS];
    for (int i = 0; i < JOINERS; i++) {
        CHECK(pirn_create(&t[i], NULL, joins, NULL) == 0);
    }
    for (int i = 0; i < YIELDS; i++) {
        unsigned before = __atomic_load_n(&parts, __ATOMIC_SEQ_CST);
        pirn_yield();
        in_yield[i] = __atomic_load_n(&parts, __ATOMIC_SEQ_CST) - before;
    }
    __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < JOINERS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    qsort(in_yield, YIELDS, sizeof(in_yield[0]), ascending);
    printf("%u, %u, %u threads ran in a yield\n", in_yield[0], in_yield[YIELDS / 2],
           in_yield[YIELDS - 1]);
    CHECK(in_yield[YIELDS / 2] <= PARTS_MAX);
}

static void run_spins(void)
{
    run_all(spins);
}

static void run_registers(void)
{
    run_all(computes);
}

static void run_malloc(void)
{
    run_all(allocates);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"spin", run_spins},
             {"registers", run_registers},
             {"malloc", run_malloc},
             {"blocked", run_reads},
             {"joins", run_joins}};

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "Threads that do not yield.", cases);
    sink = fopen("/dev/null", "w");
    CHECK(sink != NULL);
    cases[i].run();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * many_threads.c - the workloads of bench/chip with threads of Pirn's native API, in cycles of the
 * chip: a parent creates threads that do some units of work.
 *
 *     many_threads --workload a|b|c|d|e --threads N --units N [--tree]
 *
 * Threads are detached, as threads of bench/chip are: nobody joins them, and the last one to end
 * wakes the main thread. With --tree the creator of a range creates a thread for its upper half
 * until LEAF threads are left, and creates these. Otherwise the main thread creates all.
 *
 * All that is done twice. The second time each CPU keeps the stacks of threads that ended on it.
 * Prints a name and a value on each line:
 *
 *     first     cycles from the first instruction of the parent to the end of the last thread
 *     cycles    the same of the second time
 *     mean      cycles of a thread, from its first instruction to its end
 *     cores     threads that each core has run
 *
 * mean and cores, too, are of the second time.
 *
 * Workloads: a has no more than units of work. In b each thread takes a shared Full/Empty word,
 * adds 1 and writes it back, before its work, and the sum must be right; c does it with a plain
 * word. In d and e it comes after the work.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <pirn/pirn.h>

#include "../../apps/common/options.h"

enum { THREADS_MAX = 2048, LEAF = 8, HARTS_MAX = 32, RANGE_BITS = 12 };

_Static_assert(THREADS_MAX < 1 << RANGE_BITS, "a range is two numbers in a word");

#define CHIP ((const volatile uint32_t *)0x14000000)

static const char *const workload_names[] = {"a", "b", "c", "d", "e", NULL};
static long workload, nthreads = 200, units = 1;
static bool tree;

static pirn_attr_t detached = {.detached = true};
static pirn_fe_t word;
static volatile uint32_t line __attribute__((aligned(64)));
static uint32_t ended __attribute__((aligned(64))); /* (A) threads */
static uint32_t end;                                /* of the last thread, before its post */
static pirn_sem_t all_ended;
static uint32_t times[THREADS_MAX];
static uint8_t harts[THREADS_MAX];

static void fails(const char *what, long value)
{
    printf("FAILED %s: %ld\n", what, value);
    exit(1);
}

static inline uint32_t cycles(void)
{
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now)::"memory");
    return now;
}

/* The instructions of bench/chip/start.S. */
static void works(uint32_t number)
{
    uint32_t left = (uint32_t)units, x = number, constant, shifted;
    __asm__ volatile("1: lui %2, 0x9e378\n\t"
                     "addi %2, %2, -0x647\n\t"
                     "xor %1, %1, %2\n\t"
                     "slli %3, %1, 13\n\t"
                     "xor %1, %1, %3\n\t"
                     "srli %3, %1, 17\n\t"
                     "add %1, %1, %3\n\t"
                     "addi %0, %0, -1\n\t"
                     "xor %1, %1, %4\n\t"
                     "bnez %0, 1b"
                     : "+r"(left), "+r"(x), "=&r"(constant), "=&r"(shifted)
                     : "r"(0x12345678));
}

static void adds(void)
{
    if (workload == 1 || workload == 3) {
        pirn_fe_write(&word, pirn_fe_take(&word) + 1);
    } else if (workload != 0) {
        line = line + 1;
    }
}

static void *thread(void *arg)
{
    uint32_t from = cycles(), number = (uint32_t)(uintptr_t)arg, hart;
    if (workload < 3) {
        adds();
    }
    works(number);
    if (workload >= 3) {
        adds();
    }
    uint32_t before = __atomic_fetch_add(&ended, 1, __ATOMIC_ACQ_REL);
    uint32_t now = cycles();
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    times[number] = now - from;
    harts[number] = (uint8_t)hart;
    if (before == (uint32_t)nthreads - 1) {
        end = now;
        pirn_sem_post(&all_ended);
    }
    return NULL;
}

static void create(void *(*fn)(void *), uint32_t what)
{
    pirn_thread_t created;
    int error = pirn_create(&created, &detached, fn, (void *)(uintptr_t)what);
    if (error != 0) {
        fails("pirn_create: error", error);
    }
}

static void *range(void *arg)
{
    uint32_t first = (uint32_t)(uintptr_t)arg >> RANGE_BITS;
    uint32_t after = (uint32_t)(uintptr_t)arg & ((1u << RANGE_BITS) - 1);
    while (tree && after - first > LEAF) {
        uint32_t middle = (first + after) / 2;
        create(range, middle << RANGE_BITS | after);
        after = middle;
    }
    for (uint32_t i = first; i < after; i++) {
        create(thread, i);
    }
    return NULL;
}

/* A thread is counted before it leaves its time. */
static void check(void)
{
    for (long i = 0; i < nthreads; i++) {
        while (((volatile uint32_t *)times)[i] == 0) {
            pirn_yield();
        }
    }
    if (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) != (uint32_t)nthreads) {
        fails("ends of threads", (long)ended);
    }
    if (workload == 1 || workload == 3) {
        uint64_t sum = pirn_fe_take(&word);
        if (sum != (uint64_t)nthreads) {
            fails("sum of the shared word", (long)sum);
        }
    }
}

static uint32_t one_round(void)
{
    for (long i = 0; i < nthreads; i++) {
        times[i] = 0;
    }
    ended = 0;
    pirn_fe_overwrite(&word, 0);
    uint32_t start = cycles();
    range((void *)(uintptr_t)nthreads);
    pirn_sem_wait(&all_ended);
    check();
    return end - start;
}

static void report(uint32_t first, uint32_t second)
{
    uint32_t each = CHIP[2], counts[HARTS_MAX] = {0};
    uint64_t sum = 0;
    for (long i = 0; i < nthreads; i++) {
        sum += times[i];
        counts[harts[i] / each]++;
    }
    printf("first %u\ncycles %u\nmean %u\ncores", (unsigned)first, (unsigned)second,
           (unsigned)(sum / (uint64_t)nthreads));
    for (uint32_t core = 0; core < CHIP[1]; core++) {
        printf(" %u", (unsigned)counts[core]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct option_spec table[] = {
        option_choice("workload", &workload, workload_names, "what a thread does"),
        option_number("threads", &nthreads, 1, THREADS_MAX, "threads"),
        option_number("units", &units, 1, 1000000, "units of work of each thread"),
        option_flag("tree", &tree, "threads create threads, by halves"),
        {0}};
    const struct option_page page = {"Measures threads of some units of work, in cycles.", NULL,
                                     table};
    options_parse(argc, argv, &page);
    uint32_t first = one_round();
    report(first, one_round());
    return 0;
}

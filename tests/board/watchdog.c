/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - on a board: sleeping cores have no ticks; the watchdog is petted while every CPU
 * makes progress, and not if one does not. No time limit decides: the test counts events of one
 * kind while many of the other kind occur.
 *
 *     watchdog tickless|progress|stuck-off|stuck-thread
 */
#include "check_board.h"

#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <pirn/watchdog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

#define MS 1000000u

static void compute(uint64_t ns)
{
    uint64_t until = pirn_now() + ns;
    while (pirn_now() < until) {
    }
}

/* Ticks of 1 ms. Main computes for 300 of them: its core has ticks, the others have none. A core
 * whose clock must be read now and then, or that falls asleep only now, has one interrupt. Then
 * main sleeps, and no core has ticks. */
static void tickless(void)
{
    uint32_t before[8], cores = pirn_cpu_count(), mine = 0, others = 0, all = 0;
    pirn_sleep(20 * MS); /* the others have started, and found no work */
    for (unsigned i = 0; i < cores; i++) {
        before[i] = pirn_timer_interrupts(i);
    }
    compute(300 * MS);
    int self = pirn_cpu_self();
    for (unsigned i = 0; i < cores; i++) {
        uint32_t n = pirn_timer_interrupts(i) - before[i];
        *((int)i == self ? &mine : &others) += n;
        before[i] += n;
    }
    CHECK(mine >= 100 && others < cores);
    pirn_sleep(300 * MS);
    for (unsigned i = 0; i < cores; i++) {
        all += pirn_timer_interrupts(i) - before[i];
    }
    CHECK(all >= 1 && all <= 2 + cores);
    CHECK(pirn_timer_interrupts(1000) == 0);
}

static volatile uint32_t pets;

static void pet(void)
{
    pets++;
}

static void *busy(void *arg)
{
    compute(200 * MS);
    return arg;
}

/* Sleeping, switching and computing alone are progress. */
static void progress(void)
{
    pirn_thread_t t[6];
    CHECK(pirn_watchdog(1000, pet) < 0);
    CHECK(pirn_watchdog(5 * MS, pet) == 0);
    pirn_sleep(200 * MS);
    uint32_t asleep = pets;
    CHECK(asleep >= 10);
    for (unsigned i = 0; i < 6; i++) {
        CHECK(pirn_create(&t[i], NULL, busy, NULL) == 0);
    }
    for (unsigned i = 0; i < 6; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    uint32_t computed = pets;
    CHECK(computed - asleep >= 10);
    compute(200 * MS);
    CHECK(pets - computed >= 10);
    CHECK(pirn_watchdog(0, NULL) == 0);
    pirn_sleep(20 * MS);
    uint32_t end = pets;
    pirn_sleep(100 * MS);
    CHECK(pets == end);
}

/* The running thread keeps its CPU, and another one waits for it (no preemption; one core). */
static void stuck_thread(void)
{
    pirn_thread_t t;
    CHECK(pirn_watchdog(5 * MS, pet) == 0);
    compute(50 * MS);
    CHECK(pets >= 3);
    CHECK(pirn_create(&t, NULL, busy, NULL) == 0);
    compute(20 * MS);
    uint32_t stuck = pets;
    compute(200 * MS);
    CHECK(pets == stuck);
    CHECK(pirn_join(t, NULL) == 0);
    pirn_sleep(50 * MS);
    CHECK(pets > stuck);
}

/* A thread with interrupts disabled, on another core than the watching one. */
static volatile bool is_off, spins;

static void never_ends(void)
{
    is_off = true;
    while (spins) {
    }
}

static void *holds_up(void *arg)
{
    (void)arg;
#if defined(__riscv)
    __asm__ volatile("csrc mstatus, 8");
    never_ends();
    __asm__ volatile("csrs mstatus, 8");
#elif defined(__arm__)
    __asm__ volatile("cpsid i");
    never_ends();
    __asm__ volatile("cpsie i");
#elif defined(__aarch64__)
    __asm__ volatile("msr daifset, #2");
    never_ends();
    __asm__ volatile("msr daifclr, #2");
#elif defined(__mips__)
    __asm__ volatile("di\n\tehb");
    never_ends();
    __asm__ volatile("ei\n\tehb");
#endif
    return NULL;
}

/* The core has a timer interrupt each period at most: it looks for the watchdog. */
static void compute_while(int core, uint32_t interrupts)
{
    uint32_t before = pirn_timer_interrupts((unsigned)core);
    while (pirn_timer_interrupts((unsigned)core) - before < interrupts) {
    }
}

static void sleep_until_petted(uint32_t most)
{
    while (pets <= most) {
        pirn_sleep(1 * MS);
    }
}

/* Nothing is measured in time: without instructions counted (MIPS) a busy machine may stop any core
 * for any time. Main stays on its core, the watching one, from pirn_watchdog until it joins. */
static void stuck_off(void)
{
    pirn_thread_t t;
    CHECK(pirn_cpu_count() > 1);
    CHECK(pirn_watchdog(5 * MS, pet) == 0);
    sleep_until_petted(3);
    spins = true;
    CHECK(pirn_watchdog(5 * MS, pet) == 0);
    int core = pirn_cpu_self();
    CHECK(pirn_create(&t, NULL, holds_up, NULL) == 0);
    while (!is_off) { /* another core takes the thread */
    }
    compute_while(core, 10); /* two looks find it out */
    uint32_t stuck = pets;
    compute_while(core, 40);
    CHECK(pets == stuck && pirn_cpu_self() == core);
    spins = false;
    CHECK(pirn_join(t, NULL) == 0);
    sleep_until_petted(stuck);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"tickless", tickless},
             {"progress", progress},
             {"stuck-thread", stuck_thread},
             {"stuck-off", stuck_off}};

int main(int argc, char **argv)
{
    modes[OPTIONS_CASE(argc, argv, "A watchdog that threads pet.", modes)].run();
    printf("done\n");
    return 0;
}

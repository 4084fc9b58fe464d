/* SPDX-License-Identifier: MIT */
/*
 * interrupts.c - the cost of a device's interrupt on a board, in instructions: from the interrupted
 * instruction to the program's handler; and from a post in the handler to the thread that waits for
 * it, on a board whose cores sleep. As kernel_ops.c, with an instruction counter as clock, and with
 * the alarm of tests/board as device.
 *
 *     interrupts NS        NS: nanoseconds that an instruction takes
 *
 * The interrupted thread only reads the clock, over and over. On average its last reading is half a
 * round before the interrupt, plus the part of a round between reading and storing. The handler's
 * first reading comes after the part of a round before the reading. Together that is one and a half
 * rounds, which are subtracted.
 */
#include "alarm.h"
#include "check_board.h"
#include "common/options.h"

#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALARMS = 100, ROUNDS = 10000 };

static double ns_per_instruction;
static pirn_sem_t rang = PIRN_SEM_INIT(0);
static volatile uint64_t last, before, entered; /* readings of the thread and of the handler */
static volatile unsigned alarms;

/* At times that are not in step with the rounds. */
static void next_alarm(void)
{
    static uint32_t random = 1;
    random = random * 1664525u + 1013904223u;
    alarm_in(2000000 + (random >> 16) * 8);
}

static void row(const char *name, double ns)
{
    printf("\"%s\",%u,%.1f\n", name, pirn_cpu_count(), ns / ns_per_instruction);
}

static __attribute__((noinline)) void reads_clock(unsigned until, uint64_t rounds)
{
    while (alarms != until && rounds-- != 0) {
        last = pirn_now();
    }
}

static double round_ns(void)
{
    uint64_t from = pirn_now();
    reads_clock(1, ROUNDS);
    return (double)(pirn_now() - from) / ROUNDS;
}

static void on_alarm(void *unused)
{
    (void)unused;
    entered = pirn_now();
    before = last;
    alarm_clear();
    alarms = alarms + 1;
}

/* No thread has waited yet: main is on the core on which it began, and so are the interrupts.
 * Interrupts that come before main has read the clock do not count. */
static void measure_entry(double round)
{
    double sum = 0;
    unsigned counted = 0;
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    for (unsigned i = 1; i <= ALARMS; i++) {
        next_alarm();
        uint64_t set = pirn_now();
        reads_clock(i, UINT64_MAX);
        if (before > set) {
            sum += (double)(entered - before);
            counted++;
        }
    }
    CHECK(counted > ALARMS / 2);
    row("interrupt, to its handler", sum / counted - 1.5 * round);
}

static void on_alarm_post(void *unused)
{
    (void)unused;
    alarm_clear();
    entered = pirn_now();
    pirn_sem_post(&rang);
}

static void measure_wake(double round)
{
    double sum = 0;
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm_post, NULL) == 0);
    for (unsigned i = 0; i < ALARMS; i++) {
        next_alarm();
        pirn_sem_wait(&rang);
        sum += (double)(pirn_now() - entered);
    }
    row("its handler posts, to the thread that waits", sum / ALARMS - round);
}

int main(int argc, char **argv)
{
    const struct option_page page = {
        .summary = "The cost of interrupts on a board; NS: nanoseconds that an instruction takes.",
        .operand = "NS"};
    ns_per_instruction = operand_positive("NS", options_parse(argc, argv, &page)[0]);
    printf("operation,cores,instructions\n");
    double round = round_ns();
    measure_entry(round);
    measure_wake(round);
    return 0;
}

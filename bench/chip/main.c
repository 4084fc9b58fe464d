/* SPDX-License-Identifier: MIT */
/*
 * main.c - a parent creates threads that do some units of work, under a scheduler of the hardware
 * or of software. Every thread must run once.
 *
 *     threads [scheduler=NAME] [workload=a|b|c|d|e] [threads=N] [units=N] [rounds=N] [cost=N]
 *             [seed=N]
 *
 * Prints a name and a value on each line:
 *
 *     cycles         from the parent's first instruction to the end of the last thread
 *     mean           cycles of a thread, from its first instruction to its end
 *     cores          threads that each core has run
 *     inlined        threads that found no room in the hardware queue (take)
 *     rtu_overflows, dtb_overflows, recruits, blocked     of the hardware scheduler
 *
 * A thread runs once: `ended` counts the ends of all threads, and each has left its time. As many
 * ends as threads, and a time of each of them, leave no room for one that ran twice.
 *
 * Workloads: a has no more than units of work. In b each thread adds 1 to a shared line before its
 * work, with conditional accesses, and the sum must be right; c does it with ordinary accesses. In
 * d and e it comes after the work.
 */
#include <stdbool.h>
#include <stddef.h>

#include "scheduler.h"
#include "threads.h"

enum { SYS_GET_CMDLINE = 0x15, GRACE = 4000 };

/* Words of scheduler.inc's memory_threads. */
enum { RTU_OVERFLOWS = 3, DTB_OVERFLOWS = 4 };

#define UART ((volatile uint8_t *)0x10000000)
#define CHIP ((const volatile uint32_t *)0x14000000)

static const char *const kinds[KINDS] = {
    "hard",        "hard-tree", "mts",          "lifo-backoff",  "lifo-look",  "lifo-look-backoff",
    "lifo-ticket", "lifo-mcs",  "deque-random", "deque-spawner", "deque-half", "deque-tree",
    "take",
};

struct options options = {.threads = 1000, .units = 1, .rounds = 1, .workload = 'a', .kind = HARD};
struct control control;
volatile struct context template;
struct descriptor descriptors[THREADS_MAX];
struct pause_line pauses[HARTS_MAX] __attribute__((aligned(LINE)));
uint32_t start, inlined;

static uint32_t times[THREADS_MAX];
static uint8_t harts[THREADS_MAX];
static uint32_t line[LINE / 4] __attribute__((aligned(LINE)));
static uint32_t rounds_done, total_cycles, hart_counts[HARTS_MAX];

extern const volatile uint32_t memory_threads[16];

static void text(const char *what)
{
    while (*what != '\0') {
        *UART = (uint8_t)*what++;
    }
}

static void number(uint32_t value)
{
    char digits[11] = "";
    char *at = &digits[10];
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    text(at);
}

static void row(const char *name, uint32_t value)
{
    text(name);
    text(" ");
    number(value);
    text("\n");
}

static _Noreturn void wrong(const char *what, uint32_t value)
{
    text("Error: ");
    row(what, value);
    leave(1);
}

/* ---- command line ---- */

static bool same(const char *one, const char *two)
{
    while (*one != '\0' && *one == *two) {
        one++;
        two++;
    }
    return *one == *two;
}

static bool read_number(const char *from, uint32_t least, uint32_t most, uint32_t *to)
{
    uint32_t value = 0;
    const char *at = from;
    for (; *at >= '0' && *at <= '9' && at - from < 9; at++) {
        value = 10 * value + (uint32_t)(*at - '0');
    }
    *to = value;
    return at != from && *at == '\0' && value >= least && value <= most;
}

static bool set_kind(const char *value)
{
    for (options.kind = 0; options.kind < KINDS; options.kind++) {
        if (same(value, kinds[options.kind])) {
            return true;
        }
    }
    return false;
}

static bool set(const char *name, const char *value)
{
    if (same(name, "scheduler")) {
        return set_kind(value);
    }
    if (same(name, "workload")) {
        options.workload = value[0];
        return value[0] >= 'a' && value[0] <= 'e' && value[1] == '\0';
    }
    if (same(name, "threads")) {
        return read_number(value, 1, THREADS_MAX, &options.threads);
    }
    if (same(name, "units")) {
        return read_number(value, 1, 1000000, &options.units);
    }
    if (same(name, "rounds")) {
        return read_number(value, 1, 1000000, &options.rounds);
    }
    if (same(name, "cost")) {
        return read_number(value, 0, 1000000, &options.cost);
    }
    return same(name, "seed") && read_number(value, 0, 1000000, &options.seed);
}

/* A word NAME=VALUE; others are left alone, among them the program's name. */
static void read_word(char *at)
{
    char *value = at;
    while (*value != '\0' && *value != '=') {
        value++;
    }
    if (*value == '\0') {
        return;
    }
    *value++ = '\0';
    if (!set(at, value)) {
        text("Error: ");
        text(at);
        text("=");
        text(value);
        text(": no such option, or not a valid value\n");
        leave(2);
    }
}

static void read_words(void)
{
    static char words[512];
    uint32_t block[2] = {(uint32_t)words, sizeof words};
    if (semihost(SYS_GET_CMDLINE, block) != 0) {
        return;
    }
    for (char *at = words; *at != '\0';) {
        char *end = at;
        while (*end != '\0' && *end != ' ') {
            end++;
        }
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        read_word(at);
        at = next;
    }
}

/* ---- a round ---- */

static bool conditional(void)
{
    return options.workload == 'b' || options.workload == 'd';
}

static void clear(void)
{
    for (uint32_t i = 0; i < options.threads; i++) {
        times[i] = 0;
    }
    control.ended = 0;
    control.done = 0;
    template.time = times;
    template.hart = harts;
    template.units = options.units;
    template.first = 0x12345678;
    template.line = line;
    template.second = options.seed;
    template.control = &control;
    template.last = options.threads - 1;
}

/* start.S, on hart 0 before the others: returns the mode. */
enum mode prepare(void)
{
    read_words();
    bool hard = options.kind == HARD || options.kind == HARD_TREE;
    if ((hard || options.kind == TAKE) && CHIP[7] == 0) {
        text("Error: this chip has no hardware scheduler (pirn chip run --scheduler N)\n");
        leave(2);
    }
    if (!hard && (conditional() || options.rounds != 1)) {
        text("Error: workloads b, d and several rounds need scheduler=hard or hard-tree\n");
        leave(2);
    }
    clear();
    return hard ? MODE_HARD : options.kind == TAKE ? MODE_TAKE : MODE_SOFT;
}

/* The words of all threads arrive some time after their ends. */
static void check(void)
{
    uint32_t from = cycles();
    for (uint32_t i = 0; i < options.threads; i++) {
        while (((volatile uint32_t *)times)[i] == 0) {
            if (cycles() - from > 100 * GRACE) {
                wrong("a thread has not run", i);
            }
        }
    }
    wait_cycles(GRACE);
    uint32_t ended = __atomic_load_n(&control.ended, __ATOMIC_SEQ_CST);
    if (ended != options.threads) {
        wrong("ends of threads", ended);
    }
    if (conditional() && line[0] != options.threads * (rounds_done + 1)) {
        wrong("sum of the shared line", line[0]);
    }
    total_cycles += control.end - start;
}

static void report_cores(void)
{
    uint32_t cores = CHIP[1], each = CHIP[2], *counts = hart_counts;
    for (uint32_t i = 0; i < options.threads; i++) {
        counts[harts[i]]++;
    }
    text("cores");
    for (uint32_t core = 0; core < cores; core++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < each; i++) {
            count += counts[core * each + i];
        }
        text(" ");
        number(count);
    }
    text("\n");
}

static _Noreturn void report(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < options.threads; i++) {
        sum += times[i];
    }
    if (sum >> 32 != 0) {
        wrong("times of threads do not fit", options.units);
    }
    row("cycles", total_cycles);
    row("mean", (uint32_t)sum / options.threads);
    report_cores();
    row("inlined", inlined);
    row("rtu_overflows", memory_threads[RTU_OVERFLOWS]);
    row("dtb_overflows", memory_threads[DTB_OVERFLOWS]);
    row("recruits", CHIP[7] == 0 ? 0 : hw_read(HW_RECRUITS));
    row("blocked", CHIP[7] == 0 ? 0 : hw_read(HW_BLOCKED));
    leave(0);
}

/* The parent: it gives its hart to the scheduler. */
static _Noreturn void hard_round(void)
{
    static body_fn *const bodies[] = {hard_a, hard_b, hard_c, hard_d, hard_e};
    body_fn *body = bodies[options.workload - 'a'];
    hw_st_full(line, line[0]);
    start = cycles();
    hard_spawn(&template, options.threads, body, options.kind == HARD_TREE);
}

/* start.S, in the last thread. */
_Noreturn void hard_finished(void)
{
    check();
    if (hw_read(HW_IN_DTB) != 0) {
        wrong("threads left in the DTB", hw_read(HW_IN_DTB));
    }
    if (++rounds_done == options.rounds) {
        report();
    }
    clear();
    hard_round();
}

/* start.S, on each hart; in mode HARD only on hart 0. */
void run(enum mode mode, uint32_t me)
{
    if (mode == MODE_HARD) {
        wait_cycles(GRACE); /* the others become idle */
        hard_round();
    }
    soft_run(me);
    if (me == 0) {
        check();
        report();
    }
}

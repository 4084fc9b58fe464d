/* SPDX-License-Identifier: MIT
 *
 * micro-floor: the machine's own cost of a switch, an atomic operation, a wake-up. No threads
 * library can be faster than the rows of which its operations consist; goals.toml states its goals
 * as multiples of these.
 *
 * --workers has no effect: the rows cache_line and futex take two CPUs, the others one.
 */
#include "clock.h"
#include "floor_switch.h"
#include "output.h"
#include "pin.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* Clocks a statement that is repeated `count` times. */
#define REPEAT(count, statement)                                                                   \
    do {                                                                                           \
        uint64_t start_ = clock_ns();                                                              \
        for (uint64_t i_ = 0; i_ < (count); i_++) {                                                \
            statement;                                                                             \
        }                                                                                          \
        return clock_ns() - start_;                                                                \
    } while (0)

/* ---- one CPU ---- */

static void *main_sp, *other_sp;

static void other_main(void)
{
    for (;;)
        floor_switch(&other_sp, main_sp);
}

/* Two switches are one repetition: there and back. */
static uint64_t switch_run(uint64_t count)
{
    static char stack[16384] __attribute__((aligned(64)));

    other_sp = floor_stack(stack + sizeof stack, other_main);
    REPEAT(count / 2, floor_switch(&main_sp, other_sp));
}

static _Atomic uint64_t word;

static uint64_t cmpxchg_run(uint64_t count)
{
    uint64_t expected = 0;

    word = 0;
    REPEAT(count, atomic_compare_exchange_strong(&word, &expected, 0));
}

static uint64_t lock_unlock_run(uint64_t count)
{
    REPEAT(count, { /* two exchanges, as the simplest mutex does */
                    while (atomic_exchange(&word, 1) != 0) {
                    }
                    atomic_exchange(&word, 0);
    });
}

static uint64_t fence_run(uint64_t count)
{
#if defined(__x86_64__)
    REPEAT(count, __asm__ volatile("mfence" ::: "memory"));
#else
    REPEAT(count, atomic_thread_fence(memory_order_seq_cst));
#endif
}

/* Reading the cycle (or time stamp) counter. */
static uint64_t counter_run(uint64_t count)
{
#if defined(__x86_64__)
    REPEAT(count, __asm__ volatile("rdtsc" ::: "rax", "rdx"));
#elif defined(__aarch64__)
    REPEAT(count, __asm__ volatile("mrs x9, cntvct_el0" ::: "x9"));
#else
    REPEAT(count, clock_ns());
#endif
}

static uint64_t clock_run(uint64_t count)
{
    REPEAT(count, clock_ns());
}

/* Setting the thread pointer, for threads with a __thread block of their own. */
#if defined(__x86_64__)
#define HWCAP2_FSGSBASE_BIT 2

static int lacks_fsbase(void)
{
    return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT) == 0;
}

static uint64_t fsbase_run(uint64_t count)
{
    uint64_t base;

    __asm__ volatile("rdfsbase %0" : "=r"(base));
    REPEAT(count, __asm__ volatile("wrfsbase %0" ::"r"(base) : "memory"));
}
#else
static int lacks_fsbase(void)
{
    return 1;
}

static uint64_t fsbase_run(uint64_t count)
{
    return count;
}
#endif

static uint64_t syscall_run(uint64_t count)
{
    REPEAT(count, syscall(SYS_getppid));
}

static uint64_t page_fault_run(uint64_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = count * page;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t start;

    check(memory != MAP_FAILED, "mmap");
    madvise(memory, size, MADV_NOHUGEPAGE);
    start = clock_ns();
    for (uint64_t i = 0; i < count; i++)
        ((volatile char *)memory)[i * page] = 1;
    start = clock_ns() - start;
    munmap(memory, size);
    return start;
}

/* ---- two CPUs ---- */

static struct {
    _Atomic uint32_t turn; /* 0: main's, 1: the partner's */
    uint64_t count;
    int sleeps; /* by futex, else spins */
} table __attribute__((aligned(128)));

static cpu_set_t usable; /* when the program started */

static void play(uint32_t mine)
{
    for (uint64_t i = 0; i < table.count; i++) {
        while (atomic_load_explicit(&table.turn, memory_order_acquire) != mine) {
            if (table.sleeps)
                syscall(SYS_futex, &table.turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
        }
        atomic_store_explicit(&table.turn, !mine, memory_order_release);
        if (table.sleeps)
            syscall(SYS_futex, &table.turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void *partner_main(void *arg)
{
    pin_to(usable, 1, 1);
    play(1);
    return arg;
}

static uint64_t round_trips(uint64_t count, int sleeps)
{
    pthread_t partner;
    uint64_t start;

    table.count = count;
    table.sleeps = sleeps;
    atomic_store(&table.turn, 0);
    pin_to(usable, 0, 1);
    start = clock_ns();
    check(pthread_create(&partner, NULL, partner_main, NULL) == 0, "pthread_create");
    play(0);
    pthread_join(partner, NULL);
    return clock_ns() - start;
}

static uint64_t cache_line_run(uint64_t count)
{
    return round_trips(count, 0);
}

static uint64_t futex_run(uint64_t count)
{
    return round_trips(count, 1);
}

/* ---- table, main ---- */

static const struct {
    const char *name;
    uint64_t unit;
    uint64_t (*run)(uint64_t count);
} rows[] = {
    {"switch", 2, switch_run},
    {"cmpxchg", 1, cmpxchg_run},
    {"lock_unlock", 1, lock_unlock_run},
    {"fence", 1, fence_run},
    {"counter", 1, counter_run},
    {"clock", 1, clock_run},
    {"fsbase", 1, fsbase_run},
    {"syscall", 1, syscall_run},
    {"page_fault", 1, page_fault_run},
    {"cache_line", 1, cache_line_run},
    {"futex", 1, futex_run},
};

static const char *lacks(const char *row)
{
    if (strcmp(row, "fsbase") == 0 && lacks_fsbase())
        return "a program cannot set the thread pointer on this machine";
    if ((strcmp(row, "cache_line") == 0 || strcmp(row, "futex") == 0) && CPU_COUNT(&usable) < 2)
        return "takes two CPUs";
    return NULL;
}

enum { ROWS = sizeof rows / sizeof rows[0] };

int main(int argc, char **argv)
{
    struct arguments args;
    const char *names[ROWS + 1] = {NULL};
    size_t i = 0;

    for (size_t k = 0; k < ROWS; k++)
        names[k] = rows[k].name;
    arguments_parse(&args, argc, argv, names);
    usable = pin_usable();
    if (lacks(args.row) != NULL)
        print_skip("floor", args.row, args.workers, lacks(args.row));
    while (names[i] != args.row)
        i++;
    measure(&args, "floor", rows[i].unit, rows[i].run);
    return 0;
}

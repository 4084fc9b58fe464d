/* SPDX-License-Identifier: MIT */
/*
 * hardware.c - features that only boards have: interrupts, a console, files of the host, a C
 * library with our locks; and misuse that ends the program with a message.
 *
 *     hardware MODE [ARGUMENT]
 */
#include "check_board.h"

#include <errno.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16

static void run_threads(void *(*fn)(void *))
{
    pirn_thread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, fn, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *ret;
        CHECK(pirn_join(t[i], &ret) == 0 && ret == NULL);
    }
}

/* ---- the C library from many threads on many cores ---- */

static void *allocates(void *arg)
{
    enum { KEPT = 32 };
    const char *given = getenv("ROUNDS"); // fewer for slow processors
    int rounds = given != NULL ? atoi(given) : 2000;
    unsigned char *kept[KEPT] = {0};
    size_t sizes[KEPT] = {0};
    uint32_t random = (uint32_t)(uintptr_t)arg + 1;
    unsigned char mark = (unsigned char)((uintptr_t)arg + 1);
    for (int i = 0; i < rounds; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned k = random >> 16 & (KEPT - 1);
        for (size_t j = 0; j < sizes[k]; j++) {
            CHECK(kept[k][j] == mark);
        }
        free(kept[k]);
        sizes[k] = 1 + (random >> 8) % 500;
        kept[k] = malloc(sizes[k]);
        CHECK(kept[k] != NULL);
        memset(kept[k], mark, sizes[k]);
        if (i % 16 == 0) {
            pirn_yield();
        }
    }
    for (int k = 0; k < KEPT; k++) {
        free(kept[k]);
    }
    return NULL;
}

static void *prints(void *arg)
{
    for (int i = 0; i < 20; i++) {
        printf("line %02u %02d of one thread, whole: %.3f\n", (unsigned)(uintptr_t)arg, i, i / 8.0);
    }
    return NULL;
}

static void *keeps_errno(void *arg)
{
    for (int i = 0; i < 200; i++) {
        errno = (int)(uintptr_t)arg + 1;
        pirn_yield();
        CHECK(errno == (int)(uintptr_t)arg + 1);
    }
    return NULL;
}

static void *sets_variable(void *arg)
{
    char name[24], value[24];
    snprintf(name, sizeof(name), "VARIABLE_%u", (unsigned)(uintptr_t)arg);
    for (int i = 0; i < 50; i++) {
        snprintf(value, sizeof(value), "%d", i);
        CHECK(setenv(name, value, 1) == 0);
        pirn_yield();
        CHECK(getenv(name) != NULL && strcmp(getenv(name), value) == 0);
    }
    return NULL;
}

static void at_the_end(void)
{
    puts("exit handler");
}

static void libc(void)
{
    CHECK(atexit(at_the_end) == 0);
    run_threads(allocates);
    run_threads(keeps_errno);
    run_threads(sets_variable);
    run_threads(prints);
    puts("done");
}

/* ---- files ---- */

static void *writes_own_file(void *arg)
{
    char name[512], line[64];
    int length = snprintf(name, sizeof(name), "%s.%u", getenv("FILES"), (unsigned)(uintptr_t)arg);
    CHECK(length > 0 && (size_t)length < sizeof(name));
    FILE *f = fopen(name, "w+");
    CHECK(f != NULL);
    for (int i = 0; i < 500; i++) {
        CHECK(fprintf(f, "%u %d\n", (unsigned)(uintptr_t)arg, i) > 0);
    }
    CHECK(fseek(f, 0, SEEK_SET) == 0);
    for (int i = 0; i < 500; i++) {
        char want[64];
        snprintf(want, sizeof(want), "%u %d\n", (unsigned)(uintptr_t)arg, i);
        CHECK(fgets(line, sizeof(line), f) != NULL && strcmp(line, want) == 0);
    }
    CHECK(fgets(line, sizeof(line), f) == NULL && feof(f));
    CHECK(fclose(f) == 0);
    f = fopen(name, "a");
    CHECK(f != NULL && fputs("more\n", f) >= 0 && fclose(f) == 0);
    f = fopen(name, "r");
    CHECK(f != NULL && fseek(f, -5, SEEK_END) == 0);
    CHECK(fgets(line, sizeof(line), f) != NULL && strcmp(line, "more\n") == 0 && fclose(f) == 0);
    CHECK(remove(name) == 0);
    errno = 0;
    CHECK(fopen(name, "r") == NULL && errno == ENOENT);
    return NULL;
}

static void files(void)
{
    CHECK(getenv("FILES") != NULL);
    run_threads(writes_own_file);
    puts("done");
}

/* ---- console ---- */

static volatile bool reading;

static void *counts_meanwhile(void *count)
{
    while (reading) {
        __atomic_add_fetch((unsigned long *)count, 1, __ATOMIC_RELAXED);
        pirn_yield();
    }
    return NULL;
}

/* Others run while one waits for a line. */
static void console(void)
{
    char line[128];
    unsigned long count = 0;
    pirn_thread_t t;
    reading = true;
    CHECK(pirn_create(&t, NULL, counts_meanwhile, &count) == 0);
    while (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0) {
        pirn_yield();
    }
    puts("ready");
    CHECK(fgets(line, sizeof(line), stdin) != NULL);
    reading = false;
    CHECK(pirn_join(t, NULL) == 0);
    printf("got %s", line);
}

/* ---- ticks ---- */

static volatile int runs;

static void *spins(void *unused)
{
    (void)unused;
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&runs, __ATOMIC_RELAXED) < THREADS) {
    }
    return NULL;
}

/* Threads that never call anything: all of them begin, on any number of cores. */
static void ticks(void)
{
    run_threads(spins);
    puts("done");
}

/* ---- registers ---- */

/* As wide as the registers of some processors: an interrupt must save all of them, though a call
 * need not. Microcontrollers have floats at most; then fewer terms, as functions compute them. */
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
typedef float real;
enum { TERMS = 2500, SERIES = 12, WIDE = 26 };
#else
typedef double real;
enum { TERMS = 25000, SERIES = 12, WIDE = 26 };
#endif
typedef real pair __attribute__((vector_size(16)));

/* Series that keep many registers of both kinds busy, and call nothing. */
static real series(unsigned seed)
{
    pair sums[WIDE], all = {0};
    unsigned mix[SERIES], mixed = 0;
    for (unsigned i = 0; i < WIDE; i++) {
        sums[i] = (pair){(real)(seed + i), (real)seed};
    }
    for (unsigned i = 0; i < SERIES; i++) {
        mix[i] = seed + i;
    }
    for (unsigned n = 1; n < TERMS; n++) {
#pragma GCC unroll 26
        for (unsigned i = 0; i < WIDE; i++) {
            sums[i] = sums[i] * (pair){(real)0.999, (real)0.998} + (real)n;
        }
#pragma GCC unroll 12
        for (unsigned i = 0; i < SERIES; i++) {
            mix[i] = mix[i] * 69069u + n;
        }
    }
    for (unsigned i = 0; i < WIDE; i++) {
        all += sums[i];
    }
    for (unsigned i = 0; i < SERIES; i++) {
        mixed += mix[i];
    }
    return all[0] + all[1] + (real)mixed;
}

static real wanted_series[THREADS];

static void *sums_up(void *arg)
{
    uintptr_t i = (uintptr_t)arg;
    for (int round = 0; round < 3; round++) {
        CHECK(series((unsigned)i) == wanted_series[i]);
    }
    return NULL;
}

/* Interrupted threads continue with the registers that they had. */
static void registers(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        wanted_series[i] = series(i);
    }
    run_threads(sums_up);
    puts("done");
}

/* ---- clock ---- */

static void *sleeps_long(void *arg)
{
    const uint64_t second = 1000000000u;
    uint64_t ns = (30 + (uintptr_t)arg) * second;
    for (int i = 0; i < 8; i++) {
        uint64_t before = pirn_now();
        pirn_sleep(ns);
        uint64_t took = pirn_now() - before;
        CHECK(took >= ns && took < ns + second);
    }
    return NULL;
}

/* Runs for minutes, in which a 32-bit counter wraps, on a machine whose time is not the host's. */
static void clock_runs(void)
{
    run_threads(sleeps_long);
    puts("done");
}

/* ---- misuse ---- */

/* A little too deep; then a call in which the runtime checks the stack. */
static __attribute__((noinline)) int recurses(unsigned left, void (*then)(void))
{
    volatile char room[256];
    for (unsigned i = 0; i < sizeof(room); i++) {
        room[i] = (char)left;
    }
    if (left < sizeof(room)) {
        then();
        return room[0];
    }
    return recurses(left - (unsigned)sizeof(room), then) + room[0];
}

static void yields(void)
{
    pirn_yield();
}

static void computes(void)
{
    for (;;) {
        __asm__ volatile("" ::: "memory");
    }
}

static void *overflows(void *then)
{
    pirn_set_name(pirn_self(), "deep");
    /* Odd, and so is each smaller number on the stack. Where memory begins at 0, an even number may
     * be the address of a call and appear in the backtrace. */
    recurses(66001, (void (*)(void))(uintptr_t)then);
    return NULL;
}

static void overflow(void (*then)(void))
{
    pirn_thread_t t;
    pirn_attr_t attr = {.stack_size = 64 << 10};
    CHECK(pirn_create(&t, &attr, overflows, (void *)(uintptr_t)then) == 0);
    pirn_join(t, NULL);
}

static void overflow_then_switch(void)
{
    overflow(yields);
}

static void overflow_then_tick(void)
{
    overflow(computes);
}

static void *reads_nothing(void *unused)
{
    (void)unused;
    pirn_set_name(pirn_self(), "astray");
    return (void *)(uintptr_t) * (volatile char *)(uintptr_t)0xf0000000u;
}

static void *writes_nothing(void *unused)
{
    pirn_set_name(pirn_self(), "astray");
    *(volatile char *)(uintptr_t)0xf0000000u = 1;
    return unused;
}

static void *jumps_nowhere(void *unused)
{
    pirn_set_name(pirn_self(), "astray");
    ((void (*)(void))(uintptr_t)0xf0000000u)();
    return unused;
}

static void *traps(void *unused)
{
    (void)unused;
    pirn_set_name(pirn_self(), "astray");
    __builtin_trap();
}

static void fault_of(void *(*fn)(void *))
{
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, fn, NULL) == 0);
    pirn_join(t, NULL);
}

static void fault(void)
{
    fault_of(reads_nothing);
}

static void fault_write(void)
{
    fault_of(writes_nothing);
}

static void fault_jump(void)
{
    fault_of(jumps_nowhere);
}

static void fault_trap(void)
{
    fault_of(traps);
}

static void *locks_crooked(void *unused)
{
    static char room[sizeof(pirn_mutex_t) + sizeof(void *)] __attribute__((aligned(16)));
    pirn_set_name(pirn_self(), "crooked");
    pirn_mutex_lock((pirn_mutex_t *)(void *)(room + 2));
    return unused;
}

static void unaligned(void)
{
    fault_of(locks_crooked);
}

/* Creates threads until there is no memory: an error, and the program continues. */
static void *waits(void *sem)
{
    pirn_sem_wait(sem);
    return NULL;
}

static void memory(void)
{
    static pirn_sem_t sem = PIRN_SEM_INIT(0);
    static pirn_thread_t t[4096];
    unsigned n = 0;
    int error = 0;
    while (n < sizeof(t) / sizeof(t[0]) && (error = pirn_create(&t[n], NULL, waits, &sem)) == 0) {
        n++;
    }
    CHECK(error == -EAGAIN);
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_sem_post(&sem) == 0);
    }
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    run_threads(keeps_errno);
    printf("done: %s\n", n > 500 ? "more than 500 threads" : "too few threads");
}

static void cores(void)
{
    printf("%u cores\n", pirn_cpu_count());
}

static void words(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        printf("[%s]", argv[i]);
    }
    puts("");
}

/* The program has taken all memory before it calls the runtime. */
static void no_memory(void)
{
    static void *volatile block; /* else the compiler leaves malloc out */
    for (size_t size = 1u << 20; size >= 16; size /= 2) {
        do {
            block = malloc(size);
        } while (block != NULL);
    }
    printf("the runtime has started with %u CPUs\n", pirn_cpu_count());
}

/* ---- a mutex that the caller does not hold ---- */

static pirn_mutex_t foreign = PIRN_MUTEX_INIT;

static void *locks_foreign(void *arg)
{
    pirn_mutex_lock(&foreign);
    pirn_sem_post(arg);
    pirn_sleep_until(PIRN_FOREVER);
    return arg;
}

static void unlock_free(void)
{
    pirn_self();
    pirn_mutex_unlock(&foreign);
}

static void unlock_other(void)
{
    pirn_sem_t locked = PIRN_SEM_INIT(0);
    pirn_attr_t attr = {.name = "locks"};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, locks_foreign, &locked) == 0);
    pirn_sem_wait(&locked);
    pirn_mutex_unlock(&foreign);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"libc", libc},
                 {"files", files},
                 {"console", console},
                 {"ticks", ticks},
                 {"registers", registers},
                 {"clock", clock_runs},
                 {"overflow", overflow_then_switch},
                 {"overflow-tick", overflow_then_tick},
                 {"fault", fault},
                 {"fault-write", fault_write},
                 {"fault-jump", fault_jump},
                 {"fault-trap", fault_trap},
                 {"unaligned", unaligned},
                 {"memory", memory},
                 {"no-memory", no_memory},
                 {"unlock-free", unlock_free},
                 {"unlock-other", unlock_other},
                 {"cores", cores}};
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "words") == 0) {
        words(argc, argv);
        return 0;
    }
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(mode, modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    printf("no mode \"%s\"; valid: words", mode);
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        printf(", %s", modes[i].name);
    }
    puts("");
    return 2;
}

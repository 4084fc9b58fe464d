/* SPDX-License-Identifier: MIT */
/*
 * kernel_cycles.c - the cost of operations of POSIX threads, and of Pirn's Full/Empty words, on the
 * chip, in cycles: means of at least CALLS calls of all hardware threads, which do the same at
 * once. One row for each operation: its name, the number of CPUs, the number of calls, the mean and
 * the largest number of cycles, and the mean number of instructions.
 *
 *     kernel_cycles
 *     kernel_waits       the same, Full/Empty words, and waits for semaphores, conditions and words
 *                        (built with KERNEL_WAITS)
 *
 * kernel_waits is for policies that move threads often. Under the others a waiter is often alone on
 * its CPU. Then few of its waits are counted, and the program takes very long.
 *
 * The cycle counter is one for all hardware threads; each counts its own instructions. The cost of
 * reading the counters is subtracted.
 *
 * An operation that ends in another thread (a switch, a lock that suspends, an exit) begins with a
 * mark of the CPU: which operation, which thread, and when. The next thread that runs on the CPU
 * takes the mark, and adds the time since. More threads are always ready than there are CPUs, so no
 * CPU is idle meanwhile. The program runs without preemption, except for interrupts.
 */
#include "check_board.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <pirn/pirn.h>

#ifdef KERNEL_WAITS
static const bool all_waits = true;
#else
static const bool all_waits = false;
#endif

enum { CALLS = 1000, CPUS_MAX = 32, WARM = 20, BATCH = 10 };

/* Of each CPU; a multiple of BATCH. */
#define CALLS_EACH ((int)((CALLS + ncpu * BATCH - 1) / (ncpu * BATCH) * BATCH))

enum operation {
    SWITCH,
    LOCK,
    UNLOCK,
    LOCK_SUSPENDED,
    UNLOCK_WAKES,
    CREATE,
    EXIT,
    SEM_WAIT,
    SEM_POST,
    INTERRUPT,
    SEM_SUSPENDED,
    SEM_WAKES,
    COND_SUSPENDED,
    COND_WAKES,
    WORD_TAKE,
    WORD_WRITE,
    WORD_SUSPENDED,
    WORD_WAKES,
    OPERATIONS,
    NONE = OPERATIONS
};

static const char *const names[OPERATIONS] = {
    "context switch",
    "lock a free mutex",
    "unlock, nobody waits",
    "lock a taken mutex, to the next thread",
    "unlock, a thread waits",
    "create a thread",
    "end of a thread, to the next thread",
    "take a unit of a semaphore",
    "post a semaphore, nobody waits",
    "interrupt of all CPUs at once",
    "wait for a semaphore, to the next thread",
    "post a semaphore, a thread waits",
    "wait for a condition, to the next thread",
    "signal a condition, a thread waits",
    "take a full word",
    "write an empty word, nobody waits",
    "take an empty word, to the next thread",
    "write an empty word, a thread waits",
};

struct count {
    uint32_t cycles, instructions;
};

/* Of a CPU, and only used by the thread that runs on it. */
static struct cpu {
    enum operation mark;
    void *marked_by;
    struct count since;
    struct sum {
        uint64_t cycles, instructions;
        uint32_t calls, most;
    } sums[OPERATIONS];
} cpus[CPUS_MAX] __attribute__((aligned(64)));

static unsigned ncpu;
static struct count reading; /* between two readings of the counters */
static pthread_barrier_t line;

static inline uint32_t cycles(void)
{
    uint32_t value;
    __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
    return value;
}

/* Before an operation, and after it: the cycles are read next to it. */
static inline struct count before(void)
{
    struct count now;
    __asm__ volatile("csrr %0, minstret" : "=r"(now.instructions)::"memory");
    now.cycles = cycles();
    return now;
}

static inline struct count after(void)
{
    struct count now = {.cycles = cycles()};
    __asm__ volatile("csrr %0, minstret" : "=r"(now.instructions)::"memory");
    return now;
}

static struct count between(struct count from, struct count to)
{
    return (struct count){to.cycles - from.cycles, to.instructions - from.instructions};
}

static struct cpu *here(void)
{
    uint32_t hart;
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart)::"memory");
    return &cpus[hart];
}

static void add(struct cpu *cpu, enum operation operation, struct count took)
{
    struct sum *sum = &cpu->sums[operation];
    took = between(reading, took);
    sum->cycles += took.cycles;
    sum->instructions += took.instructions;
    sum->calls++;
    sum->most = took.cycles > sum->most ? took.cycles : sum->most;
}

/* An operation begins that ends in another thread. */
static inline void mark(enum operation operation, void *me)
{
    struct cpu *cpu = here();
    cpu->mark = operation;
    cpu->marked_by = me;
    cpu->since = before();
}

/* After each call that may have switched, and at the beginning of a thread. */
static inline void resumed(void *me)
{
    struct count now = after();
    struct cpu *cpu = here();
    if (cpu->mark != NONE && cpu->marked_by != me) {
        add(cpu, cpu->mark, between(cpu->since, now));
    }
    cpu->mark = NONE;
}

static void forget(void)
{
    for (unsigned i = 0; i < CPUS_MAX; i++) {
        cpus[i].mark = NONE;
        for (unsigned o = 0; o < OPERATIONS; o++) {
            cpus[i].sums[o] = (struct sum){0};
        }
    }
}

static void print(enum operation operation)
{
    struct sum all = {0};
    for (unsigned i = 0; i < ncpu; i++) {
        const struct sum *sum = &cpus[i].sums[operation];
        all.cycles += sum->cycles;
        all.instructions += sum->instructions;
        all.calls += sum->calls;
        all.most = sum->most > all.most ? sum->most : all.most;
    }
    CHECK(all.calls >= CALLS);
    printf("\"%s\",%u,%u,%.1f,%u,%.1f\n", names[operation], ncpu, (unsigned)all.calls,
           (double)all.cycles / all.calls, (unsigned)all.most,
           (double)all.instructions / all.calls);
}

/* `count` threads, numbered by their argument, from their creation to their end. */
static void run(unsigned count, void *(*fn)(void *number))
{
    pthread_t threads[3 * CPUS_MAX];
    CHECK(count <= 3 * CPUS_MAX && pthread_barrier_init(&line, NULL, count) == 0);
    for (uintptr_t i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, fn, (void *)i) == 0);
    }
    for (unsigned i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    pthread_barrier_destroy(&line);
}

/* ---- operations of one thread, on each CPU ---- */

static struct objects {
    pthread_mutex_t mutex;
    sem_t sem;
    pirn_fe_t word;
} objects[CPUS_MAX] __attribute__((aligned(64)));

#define MEASURE(operation, call)                                                                   \
    do {                                                                                           \
        struct count from = before();                                                              \
        call;                                                                                      \
        struct count to = after();                                                                 \
        if (i >= 0) {                                                                              \
            add(here(), operation, between(from, to));                                             \
        }                                                                                          \
    } while (0)

static void *alone(void *number)
{
    struct objects *own = &objects[(uintptr_t)number];
    pthread_barrier_wait(&line);
    for (int i = -WARM; i < CALLS_EACH; i++) {
        MEASURE(LOCK, pthread_mutex_lock(&own->mutex));
        MEASURE(UNLOCK, pthread_mutex_unlock(&own->mutex));
    }
    for (int i = -WARM; i < CALLS_EACH; i++) {
        MEASURE(SEM_POST, sem_post(&own->sem));
        MEASURE(SEM_WAIT, sem_wait(&own->sem));
    }
    for (int i = -WARM; i < CALLS_EACH; i++) {
        MEASURE(WORD_WRITE, pirn_fe_write(&own->word, 1));
        MEASURE(WORD_TAKE, (void)pirn_fe_take(&own->word));
    }
    return NULL;
}

/* ---- context switch ---- */

static unsigned done; /* threads that have made their calls */

static void yield_marked(void *me, enum operation operation)
{
    mark(operation, me);
    sched_yield();
    resumed(me);
}

/* Threads go on until the last one has made its calls. */
static void *yields(void *me)
{
    pthread_barrier_wait(&line);
    for (int i = 0; i < WARM; i++) {
        yield_marked(me, NONE);
    }
    for (int i = 0; i < CALLS_EACH; i++) {
        yield_marked(me, SWITCH);
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&done, __ATOMIC_RELAXED) != 3 * ncpu) {
        yield_marked(me, NONE);
    }
    return NULL;
}

/* ---- waits: an owner, a waiter and one that yields, for each CPU. The owner holds what the waiter
 * waits for: a mutex, the unit of a semaphore, a word that is full while it is free. Or the waiter
 * waits for a condition, which the owner signals without the mutex. ---- */

static const struct kind {
    enum object { MUTEX, SEM, COND, WORD } object;
    enum operation suspends, wakes;
} kinds[] = {
    {MUTEX, LOCK_SUSPENDED, UNLOCK_WAKES},
    {SEM, SEM_SUSPENDED, SEM_WAKES},
    {COND, COND_SUSPENDED, COND_WAKES},
    {WORD, WORD_SUSPENDED, WORD_WAKES},
};
static const struct kind *kind;

static struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sem_t sem;
    pirn_fe_t word;
    /* 0: the owner takes it; 1: it has it; 2: the waiter is about to wait; 3: it has gone on;
     * 4: the owner has ended */
    unsigned state;
} pairs[CPUS_MAX] __attribute__((aligned(64)));

static void wait_while(const unsigned *word, unsigned value, void *me)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
        yield_marked(me, NONE);
    }
}

static void own_once(struct pair *pair, bool measured, void *me)
{
    int i = measured ? 0 : -1;
    if (kind->object == MUTEX) {
        pthread_mutex_lock(&pair->mutex);
    } else if (kind->object == SEM) {
        sem_wait(&pair->sem);
    } else if (kind->object == WORD) {
        (void)pirn_fe_take(&pair->word);
    }
    resumed(me);
    __atomic_store_n(&pair->state, 1, __ATOMIC_RELEASE);
    wait_while(&pair->state, 1, me);
    yield_marked(me, NONE); /* with several CPUs the waiter may still be on its way */
    yield_marked(me, NONE);
    if (kind->object == COND) { /* the waiter waits as soon as its mutex can be locked */
        pthread_mutex_lock(&pair->mutex);
        resumed(me);
        pthread_mutex_unlock(&pair->mutex);
    }
    __atomic_store_n(&pair->state, 0, __ATOMIC_RELEASE);
    switch (kind->object) {
    case MUTEX:
        MEASURE(UNLOCK_WAKES, pthread_mutex_unlock(&pair->mutex));
        break;
    case SEM:
        MEASURE(SEM_WAKES, sem_post(&pair->sem));
        break;
    case COND:
        MEASURE(COND_WAKES, pthread_cond_signal(&pair->cond));
        break;
    case WORD:
        MEASURE(WORD_WAKES, pirn_fe_write(&pair->word, 1));
        break;
    }
    wait_while(&pair->state, 0, me);
}

static unsigned calls(enum operation operation)
{
    unsigned all = 0;
    for (unsigned i = 0; i < ncpu; i++) {
        all += __atomic_load_n(&cpus[i].sums[operation].calls, __ATOMIC_RELAXED);
    }
    return all;
}

/* A policy may leave a waiter alone on its CPU, and nobody takes its marks: then it does it more
 * often. */
static void owns(struct pair *pair, void *me)
{
    enum { AGAIN = 20 };
    for (int i = 0; i < WARM; i++) {
        own_once(pair, false, me);
    }
    for (int again = 0; again < AGAIN && calls(kind->suspends) < CALLS; again++) {
        for (int i = 0; i < CALLS_EACH; i++) {
            own_once(pair, true, me);
        }
    }
    __atomic_store_n(&pair->state, 4, __ATOMIC_RELEASE);
}

static void waits(struct pair *pair, void *me)
{
    for (int i = -WARM;; i++) {
        unsigned found;
        while ((found = __atomic_load_n(&pair->state, __ATOMIC_ACQUIRE)) != 1 && found != 4) {
            yield_marked(me, NONE);
        }
        if (found == 4) {
            return;
        }
        if (kind->object == COND) {
            pthread_mutex_lock(&pair->mutex);
            resumed(me);
        }
        __atomic_store_n(&pair->state, 2, __ATOMIC_RELEASE);
        mark(i < 0 ? NONE : kind->suspends, me);
        switch (kind->object) {
        case MUTEX:
            pthread_mutex_lock(&pair->mutex);
            resumed(me);
            pthread_mutex_unlock(&pair->mutex);
            break;
        case SEM:
            sem_wait(&pair->sem);
            resumed(me);
            sem_post(&pair->sem);
            break;
        case COND:
            pthread_cond_wait(&pair->cond, &pair->mutex);
            resumed(me);
            CHECK(__atomic_load_n(&pair->state, __ATOMIC_RELAXED) == 0);
            pthread_mutex_unlock(&pair->mutex);
            break;
        case WORD:
            (void)pirn_fe_take(&pair->word);
            resumed(me);
            pirn_fe_write(&pair->word, 1);
            break;
        }
        __atomic_store_n(&pair->state, 3, __ATOMIC_RELEASE);
    }
}

static void *shares(void *me)
{
    unsigned number = (unsigned)(uintptr_t)me;
    pthread_barrier_wait(&line);
    if (number < ncpu) {
        owns(&pairs[number], me);
    } else if (number < 2 * ncpu) {
        waits(&pairs[number - ncpu], me);
    } else {
        while (__atomic_load_n(&done, __ATOMIC_RELAXED) != 2 * ncpu) {
            yield_marked(me, NONE);
        }
        return NULL;
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* ---- creation and end ---- */

static void *ends(void *me)
{
    resumed(me);
    mark(EXIT, me);
    return NULL;
}

static void *creates(void *me)
{
    pthread_t threads[BATCH];
    uintptr_t first = 3 * CPUS_MAX + BATCH * (uintptr_t)me;
    if ((uintptr_t)me >= ncpu) {
        while (__atomic_load_n(&done, __ATOMIC_RELAXED) != ncpu) {
            yield_marked(me, NONE);
        }
        return NULL;
    }
    for (int i = -2 * BATCH; i < CALLS_EACH; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            void *number = (void *)(first + (uintptr_t)j);
            MEASURE(CREATE, pthread_create(&threads[j], NULL, ends, number));
        }
        for (int j = 0; j < BATCH; j++) {
            CHECK(pthread_join(threads[j], NULL) == 0);
            resumed(me);
        }
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* ---- interrupts: the timers of all CPUs at the same time ---- */

#define MTIMECMP(hart) ((volatile uint32_t *)(uintptr_t)(0x2004000u + 8u * (hart)))

static unsigned rounds, seen[CPUS_MAX];

/* Reads the counters again and again; a gap between two readings of the cycles is an interrupt. It
 * comes at any instruction, so instructions are counted from before the first of the two readings
 * to after the second. If the runtime sets a timer meanwhile, the round has no interrupt: so there
 * are some rounds more. */
static void *is_interrupted(void *number)
{
    enum { GAP = 60, PAUSE = 6000, MORE = 10 };
    uint32_t me = (uint32_t)(uintptr_t)number;
    pthread_barrier_wait(&line);
    for (unsigned round = 0; round < (unsigned)(CALLS_EACH + CALLS_EACH / MORE + WARM); round++) {
        if (me == 0) { /* all are there: set all timers */
            for (unsigned i = 1; i < ncpu; i++) {
                while (__atomic_load_n(&seen[i], __ATOMIC_ACQUIRE) != round) {
                }
            }
            uint64_t now = (uint64_t) * (volatile uint32_t *)0x200bffcu << 32 |
                           *(volatile uint32_t *)0x200bff8u;
            now += PAUSE;
            for (unsigned i = 0; i < ncpu; i++) {
                MTIMECMP(i)[1] = UINT32_MAX;
                MTIMECMP(i)[0] = (uint32_t)now;
                MTIMECMP(i)[1] = (uint32_t)(now >> 32);
            }
            __atomic_store_n(&rounds, round + 1, __ATOMIC_RELEASE);
        } else {
            while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) != round + 1) {
            }
        }
        struct count last = before(), from = last, gap = {0};
        while (gap.cycles < GAP && last.cycles - from.cycles < 2 * PAUSE) {
            struct count next = before();
            struct count now = {next.cycles, after().instructions};
            gap = between(last, now);
            last = next;
        }
        if (gap.cycles >= GAP && round >= WARM) {
            add(here(), INTERRUPT, gap);
        }
        __atomic_store_n(&seen[me], round + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void measure(enum operation first, enum operation last, unsigned threads,
                    void *(*fn)(void *))
{
    forget();
    done = 0;
    run(threads * ncpu, fn);
    for (enum operation o = first; o <= last; o++) {
        print(o);
    }
}

int main(void)
{
    ncpu = pirn_cpu_count();
    CHECK(ncpu <= CPUS_MAX);
    reading.cycles = UINT32_MAX;
    for (int i = 0; i < WARM; i++) {
        struct count from = before(), took = between(from, after());
        reading = took.cycles < reading.cycles ? took : reading;
    }
    for (unsigned i = 0; i < ncpu; i++) {
        CHECK(pthread_mutex_init(&objects[i].mutex, NULL) == 0);
        CHECK(sem_init(&objects[i].sem, 0, 0) == 0);
        CHECK(pthread_mutex_init(&pairs[i].mutex, NULL) == 0);
        CHECK(pthread_cond_init(&pairs[i].cond, NULL) == 0);
        CHECK(sem_init(&pairs[i].sem, 0, 1) == 0);
        pirn_fe_init(&objects[i].word);
        pirn_fe_init(&pairs[i].word);
        pirn_fe_write(&pairs[i].word, 1);
    }
    printf("operation,cpus,calls,cycles,most,instructions\n");
    measure(SWITCH, SWITCH, 3, yields);
    measure(LOCK, UNLOCK, 1, alone);
    print(SEM_WAIT);
    print(SEM_POST);
    if (all_waits) {
        print(WORD_TAKE);
        print(WORD_WRITE);
    }
    for (size_t k = 0; k < (all_waits ? sizeof kinds / sizeof kinds[0] : 1); k++) {
        kind = &kinds[k];
        measure(kind->suspends, kind->wakes, 3, shares);
    }
    measure(CREATE, EXIT, 2, creates);
    measure(INTERRUPT, INTERRUPT, 1, is_interrupted);
    return 0;
}

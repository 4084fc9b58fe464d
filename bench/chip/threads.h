/* SPDX-License-Identifier: MIT */
/*
 * threads.h - fine-grained threads on the bare chip, without Pirn: of the hardware scheduler, or as
 * descriptors that software schedulers hand to a worker on each hart.
 *
 * start.S has the bodies and the hardware parent, main.c the command line and the checks, soft.c
 * the software schedulers, queues.h what they are made of.
 */
#ifndef THREADS_H
#define THREADS_H

#include <stdint.h>

#define NOT_CACHED 0x40000000u

enum { THREADS_MAX = 2048, HARTS_MAX = 32, LINE = 64 };

enum mode { MODE_HARD = 1, MODE_SOFT = 2, MODE_TAKE = 3 };

/* What a parent loads for each thread, and start.S's bodies find in s0, s1, a0 to a5. */
struct context {
    uint32_t *time;
    uint8_t *hart;
    uint32_t units;
    uint32_t first;
    uint32_t *line;
    uint32_t second;
    struct control *control;
    uint32_t last;
};

/* A thread in memory: 64 bytes, as for the hardware scheduler. */
struct descriptor {
    void (*body)(void);
    struct context context;
    uint32_t unused[7];
} __attribute__((aligned(LINE)));

/* (A) atomic. Offsets are known to start.S. */
struct control {
    uint32_t ended; /* (A) threads */
    uint32_t unused[15];
    uint32_t done; /* (A) all of them have ended */
    uint32_t end;  /* when; before `done` */
} __attribute__((aligned(LINE)));

/* The command line. */
struct options {
    uint32_t threads, units, rounds, seed;
    uint32_t cost; /* cycles under the lock, for each thread that enters or leaves the queue */
    char workload; /* a to e */
    uint32_t kind; /* of enum kind */
};

enum kind {
    HARD,
    HARD_TREE,
    MTS,
    LIFO_BACKOFF,
    LIFO_LOOK,
    LIFO_LOOK_BACKOFF,
    LIFO_TICKET,
    LIFO_MCS,
    DEQUE_RANDOM,
    DEQUE_SPAWNER,
    DEQUE_HALF,
    DEQUE_TREE,
    TAKE,
    KINDS
};

extern struct options options;
extern struct control control;
extern volatile struct context template; /* volatile: a parent loads it again for each thread */
extern struct descriptor descriptors[THREADS_MAX];
extern struct pause_line {
    uint32_t words[4];
} pauses[HARTS_MAX];
extern uint32_t start;   /* when the parent began */
extern uint32_t inlined; /* mode TAKE: threads that found no room in the queue */

/* start.S */
typedef void body_fn(void);
body_fn hard_a, hard_b, hard_c, hard_d, hard_e, soft_a, soft_c, soft_e;
_Noreturn void hard_spawn(const volatile struct context *from, uint32_t threads, void (*body)(void),
                          uint32_t tree);
uint32_t semihost(uint32_t operation, void *block);
_Noreturn void leave(uint32_t status);
void take_trap(void);

/* soft.c: what the harts of a software scheduler do, until all threads have ended. */
void soft_run(uint32_t me);

static inline uint32_t cycles(void)
{
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now)::"memory");
    return now;
}

/* The second level's latency, in which the hart does not use the pipeline that it shares: it loads
 * a word that is not cached. Each hart has its own, so all banks have their share. */
static inline void pause(void)
{
    uint32_t hart;
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    (void)*(volatile uint32_t *)((uintptr_t)&pauses[hart] + NOT_CACHED);
}

static inline void wait_cycles(uint32_t count)
{
    uint32_t from = cycles();
    while (cycles() - from < count) {
        pause();
    }
}

/* The body's return address is ra; C keeps nothing in the registers that a body uses. */
static inline void execute(const struct descriptor *thread)
{
    __asm__ volatile("mv t2, %0\n\t"
                     "lw t0, 0(t2)\n\t"
                     "lw s0, 4(t2)\n\t"
                     "lw s1, 8(t2)\n\t"
                     "lw a0, 12(t2)\n\t"
                     "lw a1, 16(t2)\n\t"
                     "lw a2, 20(t2)\n\t"
                     "lw a3, 24(t2)\n\t"
                     "lw a4, 28(t2)\n\t"
                     "lw a5, 32(t2)\n\t"
                     "jalr t0" ::"r"(thread)
                     : "ra", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
                       "memory");
}

#endif

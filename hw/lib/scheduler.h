/* SPDX-License-Identifier: MIT */
/*
 * scheduler.h - the instructions of the chip's hardware scheduler as functions, for C programs
 * without an operating system. scheduler.inc has them for assembler, and start.S starts a program.
 * docs/internals/chip.md has the rules of the hardware, and an example. Pirn's port has those that
 * it needs itself (arch_ready.h), as its libraries are built from include, port and src alone.
 *
 * Each function is one instruction, and a barrier for the compiler. All but hw_term, hw_take and
 * hw_take_for first wait until all harts see the stores that the caller has made.
 *
 * A line is 16 bytes, aligned, and has one state: empty, as all are after reset, or full. Ordinary
 * loads and stores ignore it. `at` is the address of any word of a line.
 *
 * Traps: 2 (illegal instruction) on a chip without the scheduler; 6 if `at` is not a multiple of 4;
 * 7 if it is not memory. Functions that trap with 24 or 25 say so; scheduler.inc handles both.
 *
 * Context: any thread. A trap handler may call those that neither wait for a line nor spawn.
 *
 * Rules:
 *   1. A thread owns x1 to x15 only. hw_spawn, hw_ld_cfe, hw_ld_cff and hw_st_cfe change x16 to
 *      x31, and tell the compiler so. Assembler text around them has to do the same.
 *   2. After hw_ld_cfe, hw_ld_cff or hw_st_cfe the thread may be on another hart. What belongs to a
 *      hart, such as mhartid, must be read again.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdint.h>

#define HW_INLINE static inline __attribute__((always_inline))

/* Rule 1. */
#define HW_LOST                                                                                    \
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"

/* Assembler text: a new thread at the address in register pc, with a copy of the registers. */
#define HW_SPAWN(pc) ".insn r 0x0b, 0, 0, x0, " pc ", x0"

/* Registers: what there is now, and counts since reset. */
enum hw_register {
    HW_IN_DTB = 0x404,   /* threads and words that wait */
    HW_ASSIGNED = 0x408, /* threads that have started on a hart */
    HW_BLOCKED = 0x40c,  /* times that a thread or word had to wait */
    HW_WAKES = 0x410,    /* and was woken */
    HW_RECRUITS = 0x414, /* recruiting threads */
    HW_QUEUE = 0x418,    /* entries of each queue; 0: there is no scheduler */
    HW_READY = 0x41c,    /* ready threads and words, of all cores */
};

HW_INLINE uint32_t hw_read(enum hw_register at)
{
    return *(const volatile uint32_t *)(0x13000000u + at);
}

/* ---- threads ---- */

/* A thread that calls entry(argument) on the stack that ends at `stack`, a multiple of 16. It must
 * end by hw_term, as there is nothing to return to. The core's youngest thread runs first. Trap 24
 * if the core's RTU_LIFO is full. No interrupt whose handler uses the stack may be enabled. */
HW_INLINE void hw_spawn(void (*entry)(uint32_t), uint32_t argument, void *stack)
{
    register uint32_t a0 __asm__("a0") = argument;
    __asm__ volatile("mv t0, sp\n\tmv sp, %1\n\t" HW_SPAWN("%0") "\n\tmv sp, t0"
                     :
                     : "r"(entry), "r"(stack), "r"(a0)
                     : "t0", "memory", HW_LOST);
}

/* Ends the calling thread. The hart takes another one. */
HW_INLINE _Noreturn void hw_term(void)
{
    __asm__ volatile(".insn r 0x0b, 1, 0, x0, x0, x0" ::: "memory");
    __builtin_unreachable();
}

/* ---- lines: threads wait ---- */

#define HW_LOAD(func7, at, ...)                                                                    \
    __extension__({                                                                                \
        uint32_t word_;                                                                            \
        __asm__ volatile(".insn r 0x0b, 2, " #func7 ", %0, %1, x0"                                 \
                         : "=r"(word_)                                                             \
                         : "r"(at)                                                                 \
                         : __VA_ARGS__);                                                           \
        word_;                                                                                     \
    })

/* The answer is the instruction's rd. */
#define HW_STORE(func7, at, word)                                                                  \
    __extension__({                                                                                \
        uint32_t done_;                                                                            \
        __asm__ volatile(".insn r 0x0b, 3, " #func7 ", %0, %1, %2"                                 \
                         : "=r"(done_)                                                             \
                         : "r"(at), "r"(word)                                                      \
                         : "memory");                                                              \
        done_;                                                                                     \
    })

/* Waits until the line is full; loads the word and makes the line empty. Trap 25 if the thread has
 * to wait and the DTB is full. */
HW_INLINE uint32_t hw_ld_cfe(void *at)
{
    return HW_LOAD(0, at, "memory", HW_LOST);
}

/* Waits until the line is full; loads the word. Trap 25 as hw_ld_cfe. */
HW_INLINE uint32_t hw_ld_cff(const void *at)
{
    return HW_LOAD(1, at, "memory", HW_LOST);
}

/* Waits until the line is empty; stores the word and makes the line full. Trap 25 as hw_ld_cfe. */
HW_INLINE void hw_st_cfe(void *at, uint32_t word)
{
    __asm__ volatile(".insn r 0x0b, 3, 0, x0, %1, %0" ::"r"(word), "r"(at) : "memory", HW_LOST);
}

/* ---- lines: nobody waits ---- */

/* Stores the word, and makes the line full whatever it was. */
HW_INLINE void hw_st_full(void *at, uint32_t word)
{
    __asm__ volatile(".insn r 0x0b, 3, 1, x0, %1, %0" ::"r"(word), "r"(at) : "memory");
}

/* Stores the word, and makes the line empty whatever it was. */
HW_INLINE void hw_st_empty(void *at, uint32_t word)
{
    __asm__ volatile(".insn r 0x0b, 3, 2, x0, %1, %0" ::"r"(word), "r"(at) : "memory");
}

/* As hw_st_full and hw_st_empty; 1 if that has woken a thread or a word, else 0. */
HW_INLINE uint32_t hw_st_full_wakes(void *at, uint32_t word)
{
    return HW_STORE(1, at, word);
}

HW_INLINE uint32_t hw_st_empty_wakes(void *at, uint32_t word)
{
    return HW_STORE(2, at, word);
}

/* As hw_ld_cfe and hw_ld_cff, but 0 if the line is not full, or is kept for a thread that has been
 * woken. So words of such lines must not be 0. */
HW_INLINE uint32_t hw_ld_cfe_try(void *at)
{
    return HW_LOAD(4, at, "memory");
}

HW_INLINE uint32_t hw_ld_cff_try(const void *at)
{
    return HW_LOAD(5, at, "memory");
}

/* As hw_st_cfe; 1, or 0 if the line is not empty, or is kept: then nothing is stored. */
HW_INLINE uint32_t hw_st_cfe_try(void *at, uint32_t word)
{
    return HW_STORE(4, at, word);
}

/* ---- words of software ---- */

/* The word waits in the DTB until the line is full. Then a hart in hw_take or hw_take_for gets it,
 * and the line is kept for it: the functions hw_..._kept access it. 1; or 0 if the line is full
 * already, or the DTB: then the word does not wait. */
HW_INLINE uint32_t hw_wait_full(void *at, uint32_t word)
{
    return HW_STORE(16, at, word);
}

/* The same until the line is empty. */
HW_INLINE uint32_t hw_wait_empty(void *at, uint32_t word)
{
    return HW_STORE(17, at, word);
}

/* As hw_ld_cfe_try, hw_ld_cff_try and hw_st_cfe_try, for a word that has come back from the DTB.
 * They too answer 0 if hw_st_full or hw_st_empty has changed the state meanwhile. */
HW_INLINE uint32_t hw_ld_cfe_kept(void *at)
{
    return HW_LOAD(12, at, "memory");
}

HW_INLINE uint32_t hw_ld_cff_kept(const void *at)
{
    return HW_LOAD(13, at, "memory");
}

HW_INLINE uint32_t hw_st_cfe_kept(void *at, uint32_t word)
{
    return HW_STORE(12, at, word);
}

/* Puts the word into the core's RTU_FILLQ: 1, or 0 if that is full. To the hardware it is a thread
 * at address 0 with the word in x10. So no hart may be idle (hw_term) while a queue has words. */
HW_INLINE uint32_t hw_give(uint32_t word)
{
    uint32_t given;
    __asm__ volatile(".insn r 0x0b, 7, 2, %0, %1, x0" : "=r"(given) : "r"(word) : "memory");
    return given;
}

/* Waits for a word of hw_give, the oldest of its core first, or for one that comes back from the
 * DTB; or for a thread of hw_spawn, of which only x10 is left. An interrupt that mie enables,
 * whatever mstatus says, ends it with 0. */
HW_INLINE uint32_t hw_take(void)
{
    uint32_t word;
    __asm__ volatile(".insn r 0x0b, 7, 0, %0, x0, x0" : "=r"(word)::"memory");
    return word;
}

/* The same, but waits at most so many cycles, up to 65535, and a few more; then it answers 0. An
 * interrupt does not end it. */
HW_INLINE uint32_t hw_take_for(uint32_t cycles)
{
    uint32_t word;
    __asm__ volatile(".insn r 0x0b, 7, 1, %0, %1, x0" : "=r"(word) : "r"(cycles) : "memory");
    return word;
}

#endif

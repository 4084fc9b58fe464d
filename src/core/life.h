/* SPDX-License-Identifier: MIT */
/*
 * life.h - how many threads live, and the end of the program.
 */
#ifndef PIRN_CORE_LIFE_H
#define PIRN_CORE_LIFE_H

#include "cpu.h"
#include "runtime.h"

/* Threads made by foreign kernel threads. */
HIDDEN extern _Atomic(uint32_t) life_created_foreign;

ALWAYS_INLINE void life_created(struct cpu *cpu)
{
    RT_ASSERT(cpu != NULL || !RT_MAIN_STARTS);
    if (RT_MAIN_STARTS || likely(cpu != NULL)) {
        at_add_alone_rel(&cpu->created, 1); /* ORDER(life) */
    } else {
        at_add_acq_rel(&life_created_foreign, 1u); /* ORDER(life) */
    }
}

COLD void life_exited_late(void);

/* The running thread ends. Ends the program if it is the last one and main has gone. */
ALWAYS_INLINE void life_exited(struct cpu *cpu)
{
    RT_ASSERT(cpu != NULL);
    at_add_alone_rel(&cpu->exited, 1); /* ORDER(life) */
    at_fence_light();                  /* ORDER(life-main) */
    if (unlikely(at_load_rlx(&rt.main_gone))) {
        life_exited_late();
    }
}

/* Main ends without ending the program (pthread_exit): from now on the last thread ends it. */
NORETURN void life_main_exit(void *ret);

/* Threads alive, main included; exact when nothing is created or ends meanwhile. */
uint32_t life_count(void);

/* Threads that there have ever been, main included. */
uint32_t life_created_ever(void);

void life_reset(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * litmus.h - litmus tests: a few threads, a few atomic words, one outcome to look for.
 *
 * Each thread is a foreign context of the simulator (port/env/sim/sim.h). Words are X, Y, Z and F,
 * zero at the beginning. Threads access them only by the operations of atomic.h and store the
 * values read in r[], which is plain. The outcome is checked after the run, when the words hold
 * their last values. A sequentially consistent run never shows it.
 */
#ifndef PIRN_TESTS_LITMUS_H
#define PIRN_TESTS_LITMUS_H

#include "atomic.h"
#include "sim.h"

enum expect {
    NEVER,     /* forbidden: must not appear in weak mode */
    WEAK,      /* allowed: must appear in weak mode, or the model is too strong to find mistakes */
    RACE,      /* wrong under any memory: must appear in both modes */
    UNMODELLED /* C11 allows it, the model does not produce it: a known limit, must not appear */
};

struct litmus {
    const char *name;
    const char *tag; /* the ORDER tag that it covers; "model" = none */
    enum expect expect;
    bool (*outcome)(void);
    void (*thread[4])(void);
    void (*init)(void); /* runs on the main thread before the others start; NULL = nothing */
};

extern const struct litmus litmus_model[], litmus_tags[], litmus_sync[], litmus_tls[],
    litmus_shared[], litmus_calls[], litmus_policy[]; /* end with name == NULL */

#define MAX_READS 8
extern _Atomic(uint32_t) X, Y, Z, F, word[4];
extern uint32_t r[MAX_READS];
extern volatile unsigned litmus_done; /* threads that have ended */

#endif

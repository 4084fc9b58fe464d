/* SPDX-License-Identifier: MIT */
/*
 * sim.h - the deterministic simulator.
 *
 * The core runs on virtual CPUs, each a coroutine (context) on one kernel thread. Every atomic
 * access, interrupt restore and port call is a scheduling point, where a seeded scheduler decides
 * which context goes on: a random walk or PCT (priorities with a few change points; Burckhardt et
 * al., ASPLOS 2010), chosen by the seed. Time is virtual. The same seed gives the same run and the
 * same trace hash, whatever ran before in the process.
 *
 * Memory is sequentially consistent, or weak: then sim_mem.c keeps the recent stores of each
 * location with their views, and a load may return any value that C11 without load buffering
 * allows. Data that is not atomic is always up to date: races on it are ThreadSanitizer's business.
 *
 * A run fails on: a failed assertion, a deadlock (nobody can go on and no timer is armed), a step
 * limit (livelock), a CPU that sleeps while it has work and nobody is about to wake it, a thread
 * that the policy loses or returns twice (the oracle), a leaked stack.
 */
#ifndef PIRN_SIM_H
#define PIRN_SIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mutant.h"

struct sim_timing;

struct sim_config {
    uint64_t seed;
    unsigned ncpu;
    bool weak;
    const char *sched;     /* policy and options */
    const char *reservoir; /* option values, NULL = default */
    const char *detour;
    const char *preempt;
    unsigned nodes; /* of NUMA, in turn; 0: one. With `timed`: those of its topology */
    bool unequal;   /* CPUs have different capacities */
    enum mutant mutant;
    const char *trace; /* a file for the run's event trace; NULL: none */
    /* Looks at the event trace when the run has ended, in memory, then as it is in its file
     * (`saved`): NULL, or what is wrong. */
    const char *(*traced)(const void *file, size_t size, bool saved);
    uint64_t step_limit; /* 0 = default */
    unsigned fail_alloc; /* the n-th stack allocation fails; 0 = none */
    bool fail_more;      /* and all after it, until sim_alloc_mend */
    bool expect_exit;    /* the run ends by port_exit */
    /* Not NULL: nothing is explored; the run models time (sim_timed.h). */
    const struct sim_timing *timed;
};

struct sim_result {
    uint64_t hash; /* of every decision and every access */
    uint64_t steps;
    bool failed;
    int exit_status; /* of port_exit; -1 = not called */
    char why[1024];
};

/* Run `body` as the main thread. */
void sim_run(const struct sim_config *config, void (*body)(void *), void *arg,
             struct sim_result *result);

/* From inside a run: fail it with a message. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *fmt, ...);

/* Random number below n from the run's seed: for tests that vary with it. */
void sim_alloc_mend(void); /* see fail_more */
uint32_t sim_random(uint32_t n);

/* Start a foreign kernel thread. */
void sim_foreign(void (*fn)(void *), void *arg);

/* A word in the running thread's TLS block; NULL if threads have none in this run. */
uint64_t *sim_tls_word(void);
/* A tick passes on the caller's CPU: accounting, and preemption at the end of a slice. */
void sim_tick(void);

/* A tick comes, though the calling thread has not run for a whole one. */
void sim_part(void);

/* The calling thread has run for a whole tick: as a preemption. */
void sim_preempt(void);

/* The caller's context, in a call or foreign, waits. */
void sim_block(uint32_t ns);

/* The caller, a user thread outside the runtime, loses its CPU. False: there is no spare carrier.
 */
bool sim_unannounced(void);

/* Descriptors of the simulator: what is the case with fd, from now on (bits of poll()). */
enum { SIM_FDS = 24, SIM_FILES = 64 };
void sim_fd_set(int fd, uint32_t events);
uint32_t sim_fd_get(int fd);
uint32_t sim_fd_peek(int fd); /* without a scheduling point */
void sim_fd_renew(int fd);    /* it means a new file, of which nothing is the case */
void sim_fd_close(int fd);
void sim_fd_copy(int fd, int to); /* as dup2 */
int sim_fd_take(int fd); /* as a read: what was the case is no more. The file's id; -errno */
int sim_fd_id(int fd);

/* The running thread has missed the shared cache so often, in so much work (port_misses.h). Only in
 * runs without `timed`, where nothing else misses it. False: it has no CPU that would count. */
bool sim_misses(uint64_t misses, uint64_t work);
uint64_t sim_measured(void); /* the working set that was measured of the running thread's jobs */

/* Samples that the profiler has got in this run. */
unsigned sim_samples(void);

/* From now on consumers (task affinity) have to go where the rules say. What they depend on does
 * not change any more, and all that wake one know it. All threads are of class OTHER. */
void sim_placing(void);

/* A scheduling point in the test's own code. */
void sim_pause(void);

/* Between the model and the scheduler (sim_mem.c, sim.c). */
enum { SIM_CONTEXTS = 300 };

struct sim_rng {
    uint64_t state;
};
uint64_t sim_rng_next(struct sim_rng *rng);

extern unsigned sim_current;   /* running context */
extern unsigned sim_ncontexts; /* in use */
extern bool sim_active;        /* inside a run */
extern bool sim_quiet;         /* the oracle looks: no scheduling point, newest values */
void sim_point(uint32_t what, uint32_t detail);

/* If the kernel thread ended now that has taken the robust mutex with this word, would its kernel
 * find the mutex? True, too, if nobody has it. */
bool sim_robust_finds(_Atomic(uint32_t) *word, _Atomic(void *) *entry);
bool sim_fresh(unsigned context); /* has spun: must see newest values */
uint64_t sim_step(void);
uint32_t sim_choose(uint32_t n);

void sim_mem_begin(bool weak, bool asymmetric);
void sim_mem_end(void);
void sim_mem_inherit(unsigned context); /* created by the running one */
void sim_mem_forget(void *low, size_t size);
const volatile void *sim_mem_address(uint32_t location); /* the detail of its points */

#endif

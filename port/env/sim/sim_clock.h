/* SPDX-License-Identifier: MIT */
/*
 * sim_clock.h - between the simulator's files: clocks of contexts, in timed runs (sim_timed.h).
 */
#ifndef PIRN_SIM_CLOCK_H
#define PIRN_SIM_CLOCK_H

#include "sim_internal.h"
#include "sim_timed.h"

static inline bool sim_is_timed(void)
{
    return sim.config.timed != NULL;
}

/* All but timed_begin and usage_begin are called in timed runs only. sim_timed.c: */
void timed_begin(void); /* a run of either kind */

/* The running context spends time. At a scheduling point (what, detail: as sim_point), spinning. */
void timed_spend(uint64_t ps);
void timed_pass(uint32_t what, uint32_t detail);
void timed_relax(unsigned round);

/* The context that goes on, which is runnable then, and sim.now its clock. SIM_CONTEXTS: none. */
unsigned timed_next(void);

/* A context gets a permit, and will know at permit_at. */
void timed_permit(struct context *c);

/* A context's state, deadline or permit has changed. */
void timed_update(struct context *c);
static inline void timed_changed(struct context *c)
{
    if (sim_is_timed()) {
        timed_update(c);
    }
}

/* Ticks come so often from now on. True if one is due on the running CPU; then it has come. */
void timed_ticks_start(uint64_t ns);
const char *timed_option(const char *name); /* its value in a timed run; NULL: the default */
bool timed_tick(void);

/* sim_misses.c: a run begins. */
void misses_begin(void);

/* sim_usage.c: threads, and the memory that they and the runtime use. usage_access: the running
 * context touches the line of this address; returns the time. */
void usage_begin(void);
void usage_switch(const struct thread *from, const struct thread *to);
uint64_t usage_access(const volatile void *at, bool write, bool by_program);

/* sim_lines.c: what each line costs. */
void lines_note(uintptr_t address, const struct caches_outcome *outcome);

#endif

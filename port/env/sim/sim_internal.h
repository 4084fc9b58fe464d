/* SPDX-License-Identifier: MIT */
/*
 * sim_internal.h - shared by the files of the simulator: its contexts and the state of a run.
 */
#ifndef PIRN_SIM_INTERNAL_H
#define PIRN_SIM_INTERNAL_H

#include "cpu.h"
#include "port_processes.h"
#include "sim.h"

#define SIM_MAX_STACKS 65536u
#define SIM_CONTEXT_WORDS ((SIM_CONTEXTS + 63u) / 64)
#define DEVICE 0u /* context number; the program's main thread starts on 1 */

#define POINT_PERMIT 43u /* sim_point: a permit is about to be posted */

enum context_state { CTX_FREE, CTX_RUNNABLE, CTX_WAITING, CTX_DONE };

void sim_preempts(bool on);

struct context {
    struct port_ctx ctx;
    void *stack;
    enum context_state state; /* written by context_set_state */
    struct cpu *cpu;          /* NULL: device, foreign, or a carrier without */
    struct thread *left;      /* runs on a carrier without a CPU */
    void (*fn)(void *);
    void *arg;
    uint64_t deadline;  /* while waiting; written by context_waits, context_wake_by */
    uint64_t priority;  /* PCT */
    uint64_t clock;     /* timed mode: of one that does not run; the running one's is sim.now */
    uint32_t clock_ps;  /* and a fraction, also of the running one */
    uint64_t permit_at; /* timed mode: when the permit arrives */
    unsigned irq_off;
    unsigned spins; /* port_relax since the last progress */
    bool permit;
    _Atomic(uint32_t) posted; /* what a foreign thread's permit publishes */
    struct thread thread;     /* stand-in of a foreign kernel thread */
    bool has_thread;
    const volatile void *shared; /* word that it waits for in port_shared_wait */
    struct prof_thread outside;
    bool sampling;
    bool on_signal_stack; /* in a handler that runs there */
    struct port_robust_list robust;
    struct thread *becomes; /* after a fork: the thread that a foreign context is; or NULL */
};

/*
 * A kernel under the simulated CPUs: posix/sim_kernel.h, where the POSIX layer is linked. Without
 * it (sim_kernel_none.c) all are NULL: threads are interrupted at once, and make no system calls.
 */
struct sim_kernel {
    void (*begin)(void);                        /* a run */
    void (*point)(void);                        /* a scheduling point of the running context */
    void (*user)(void);                         /* the same in the program's own code */
    void (*interrupt)(unsigned context);        /* port_carrier_interrupt */
    void (*accept)(void);                       /* port_interrupt_accept */
    void (*thread_interrupt)(struct thread *t); /* port_thread_interrupt */
    void (*changed)(void);                      /* a descriptor's state */
    void (*leaves)(void);                       /* the running context has left the runtime */
    void (*left)(void);                         /* the run has ended; not in a child of fork */
};
extern const struct sim_kernel sim_kernel;

/* An open file. Freed when no number refers to it. */
struct sim_file {
    uint32_t state; /* what is the case: bits of poll() */
    unsigned numbers;
    int id; /* no two files of a run have the same; 0: none */
};

/* file: 0: not open. asked_of: whose state was asked for by this number; 0: none. */
struct sim_fd {
    unsigned file, asked_of;
    uint32_t armed;
};

struct sim {
    struct sim_config config;
    struct sim_result *result;
    struct sim_rng rng;
    struct port_ctx driver;
    struct context contexts[SIM_CONTEXTS];
    uint64_t now, hash, steps;
    uint64_t runnable[SIM_CONTEXT_WORDS]; /* a bit for each context in this state */
    unsigned nrunnable;
    uint64_t wake_at;              /* no context waits for an earlier time */
    bool permits;                  /* one that waits may have got a permit */
    uint64_t tick_at[RT_MAX_CPUS]; /* port_timer_set */
    bool preempt;
    struct sim_file files[SIM_FILES]; /* sim_fd.c */
    struct sim_fd fds[SIM_FDS];
    int file_ids;
    bool alone; /* this is the child of a fork */
    bool watch; /* scan the calls */
    bool ask;   /* make a spare carrier */
    bool tls;   /* threads have TLS blocks in this run */
    bool pct;
    uint32_t walk;         /* switch at one in so many points */
    uint64_t floor;        /* PCT: lowest priority given */
    uint64_t change_at[4]; /* PCT: steps at which the running context falls back */
    uint64_t change_next;  /* the first of them that is to come */
    unsigned allocations;
    bool mended;
    uint64_t sample_ns, sample_at; /* sim_prof.c */
    unsigned samples;
    struct port_stack stacks[SIM_MAX_STACKS];
    unsigned nstacks;
};

extern struct sim sim;

/* sim.c */
unsigned sim_context_new(void (*fn)(void *), void *arg, struct cpu *cpu);
void context_set_state(struct context *c, enum context_state state);
void context_waits(struct context *c, uint64_t deadline);    /* its state from now on */
void context_wake_by(struct context *c, uint64_t deadline);  /* not later than so */
void sim_context_wait(struct context *c, uint64_t deadline); /* for a permit or the deadline */
void sim_context_permit(unsigned n);
void sim_switch(bool must_leave);
void sim_check_steps(void);
NORETURN void sim_leave(void);

/* In the child of a fork: a context is gone; the device begins anew; the caller, a foreign context
 * from now on, is that thread. */
void sim_context_end(unsigned n);
void sim_device_renew(void);
void sim_foreign_becomes(struct thread *t);

/* sim_irq.c: a tick comes here, perhaps, in code that may be interrupted. */
void sim_interrupt(void);

/* sim_blocked.c: a tick where the thread cannot be switched takes its CPU; or it gets one again. */
void sim_away(void);

/* sim_placing.c: a run begins. The CPU has taken t from the policy by that operation; runs t. */
void sim_placing_begin(void);
void sim_placing_takes(const struct cpu *cpu, const struct thread *t, const char *by);
void sim_placing_runs(const struct cpu *cpu, const struct thread *t);

/* sim_oracle.c: a context leaves the runtime: fail if a CPU sleeps that should not. The record of
 * who is ready: forget it; NULL, or who is still with the policy. */
void sim_oracle(void);
void sim_ready_begin(void);
const char *sim_ready_left(void);

/* sim_port.c */
void sim_device_call(uint64_t after);
void sim_device(void *unused);

/* sim_ready.c */
void sim_ready_reset(void);

/* sim_fd.c */
void sim_fds_reset(void);
bool sim_fds_due(void);

/* sim_trace.c: the options; look at the trace, if there is one, write it, and forget it: NULL or
 * what is wrong */
const char *sim_trace_option(void);
const char *sim_trace_size(void);
const char *sim_trace_full(void);
const char *sim_trace_end(void);

/* sim_prof.c: at a scheduling point; how many there have been. */
void sim_sample(void);

/* sim_tls.c */
void sim_tls_reset(void);
unsigned sim_tls_blocks(void); /* that exist, but for those of main and of the workers */
void sim_tls_adopt(struct thread *t);

/* One more allocation: is it to fail? */
bool sim_alloc_fails(void);

#endif

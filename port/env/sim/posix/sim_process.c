/* SPDX-License-Identifier: MIT */
/*
 * sim_process.c (simulator) - fork, exec and the end of a process, its clocks and tools: see
 * sim_kernel.h.
 *
 * A simulated fork is one of the host's: the child has a copy of the whole simulation. In it all
 * contexts but the caller's and the device are gone, as the kernel does it; it goes on with the
 * same random numbers until it ends, and writes to a pipe how. Only then does the parent go on. So
 * a seed determines both, and the parent's hash has the child's in it. The host's calls are made by
 * number: their names belong to the POSIX layer.
 */
#include "sim_kernel.h"
#include "sim_posix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port_processes.h"

#define CHILDREN 8u

struct end {
    uint64_t hash, steps;
    int status;
    bool failed;
    char why[512];
};

static struct {
    int pipe; /* to the parent; 0: this is none's child */
    int status[CHILDREN];
    unsigned children;
    void (*look)(uint64_t mask, uint64_t pending);
} process;

void sim_process_reset(void)
{
    if (process.pipe != 0) {
        return; /* sim_run is not left in a child */
    }
    memset(&process, 0, sizeof(process));
}

/* ---- fork ---- */

static void others_end(void)
{
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        if (i != sim_current && i != DEVICE) {
            sim_context_end(i);
        }
        sim_kthreads[i] = (struct sim_kthread){0};
    }
    sim_device_renew();
    sim_ready_begin();
    sim.alone = true;
}

static void child_begins(int pipe)
{
    process.pipe = pipe;
    process.children = 0;
    others_end();
    sim_signals_reset();
    rt_forked();
    sim_foreign_becomes(rt_survivor);
    rt_forked_above();
}

static int child_ended(int pipe, pid_t child)
{
    struct end end = {.failed = true, .why = "it crashed"};
    size_t got = 0;
    long n;
    while (got < sizeof(end) &&
           (n = syscall(SYS_read, pipe, (char *)&end + got, sizeof(end) - got)) > 0) {
        got += (size_t)n;
    }
    syscall(SYS_close, pipe);
    syscall(SYS_wait4, child, NULL, 0, NULL);
    if (end.failed) {
        sim_fail("in the child: %s", end.why);
    }
    sim.hash = (sim.hash ^ end.hash) * 0x100000001b3ull;
    sim.steps += end.steps - sim.steps;
    process.status[process.children] = end.status;
    return (int)++process.children;
}

int sim_fork(void)
{
    int ends[2];
    sim_point(57, 0);
    if (process.children == CHILDREN || pipe(ends) != 0) {
        sim_fail("too many children: at most %u", CHILDREN);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        sim_fail("fork: %s", strerror(errno));
    }
    if (child != 0) {
        syscall(SYS_close, ends[1]);
        return child_ended(ends[0], child);
    }
    syscall(SYS_close, ends[0]);
    child_begins(ends[1]);
    return 0;
}

int sim_child_status(int child)
{
    return process.status[child - 1];
}

void sim_process_left(void)
{
    if (process.pipe == 0) {
        return;
    }
    struct end end = {.hash = sim.hash,
                      .steps = sim.steps,
                      .status = sim.result->exit_status,
                      .failed = sim.result->failed};
    snprintf(end.why, sizeof(end.why), "%.500s", sim.result->why);
    _exit(syscall(SYS_write, process.pipe, &end, sizeof(end)) != (long)sizeof(end));
}

void sim_child_exit(int status)
{
    if (process.pipe == 0) {
        sim_fail("sim_child_exit: this is not the child of a fork");
    }
    sim.result->exit_status = status;
    sim_leave();
}

/* ---- exec ---- */

void sim_expect_exec(void (*look)(uint64_t mask, uint64_t pending))
{
    process.look = look;
}

long sim_exec(const char *path)
{
    struct sim_kthread *k = sim_kthread_self();
    if (strcmp(path, SIM_PROGRAM) != 0) {
        return -ENOENT;
    }
    if (process.look == NULL) {
        sim_fail("the process becomes another program");
    }
    if (k->pending) {
        sim_fail("the new program would die of a signal of the runtime's");
    }
    process.look(k->mask, sim_process_pending());
    port_exit(0);
}

void port_exec_begin(const uint64_t *mask)
{
    struct sim_kthread *k = sim_kthread_self();
    k->pending = false;
    k->sent = true; /* nobody sends another one */
    k->mask = *mask;
}

void port_exec_end(void)
{
    struct sim_kthread *k = sim_kthread_self();
    k->sent = false;
    k->mask = 0;
}

int port_fork_watch(void)
{
    return 0;
}

/* ---- clocks and tools ---- */

int sim_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock; /* the system's clock is the same, and is never set */
    *t = (struct timespec){(time_t)(sim.now / 1000000000u), (long)(sim.now % 1000000000u)};
    return 0;
}

/* CPU time is not simulated. */
bool port_time_self(uint64_t *ns)
{
    *ns = 0;
    return port_cpu_self() != NULL;
}

uint64_t port_time_of(struct thread *t)
{
    (void)t;
    return 0;
}

clockid_t port_time_kernel_clock(int tid)
{
    (void)tid;
    return CLOCK_MONOTONIC;
}

enum port_sanitizer port_sanitizer(void)
{
    return SANITIZER_NONE;
}

int port_helper_create(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    (void)thread;
    (void)fn;
    (void)arg;
    return -ENOTSUP;
}

bool port_helper_next(void)
{
    return false;
}

bool port_helper_self(void)
{
    return false;
}

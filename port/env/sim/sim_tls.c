/* SPDX-License-Identifier: MIT */
/*
 * sim_tls.c (simulator) - thread-local storage as a ledger: each block knows where it is in its
 * life and whether somebody runs on it, and every call of the core is checked against that.
 *
 *     FRESH --begin--> LIVE --end, reset--> FRESH;   given up: FRESH only
 *
 * A block has one word for tests, which stands for all of a program's __thread variables: zero when
 * a life begins.
 */
#include <errno.h>

#include "port_calls.h"
#include "port_tls.h"
#include "sim_clock.h"

enum sim_tls_state { TLS_FRESH = 0x51ab, TLS_LIVE, TLS_GONE };

struct sim_tls {
    enum sim_tls_state state;
    bool installed; /* a CPU runs on it */
    bool ended;     /* destructors were called */
    uint64_t word;
};

static struct sim_tls adopted[SIM_CONTEXTS]; /* by context: of main and of the workers */
static bool on;
static unsigned nblocks;

void sim_tls_reset(void)
{
    on = false;
    nblocks = 0;
}

unsigned sim_tls_blocks(void)
{
    return nblocks;
}

/* With a CPU or, after a handler that has lost it, without. */
static struct sim_tls *tls_self(void)
{
    const struct cpu *cpu = sim_cpu_self();
    return (cpu != NULL ? cpu->current : port_left_self())->port.tls;
}

uint64_t *sim_tls_word(void)
{
    return on ? &tls_self()->word : NULL;
}

int port_tls_start(bool by_syscall, const char **why)
{
    (void)by_syscall;
    *why = NULL;
    on = true;
    return 0;
}

size_t port_tls_room(void)
{
    return 128;
}

void sim_tls_adopt(struct thread *t)
{
    if (on) {
        adopted[sim_current] = (struct sim_tls){.state = TLS_LIVE, .installed = true};
        t->port.tls = &adopted[sim_current];
    }
}

int port_tls_alloc(struct thread *t, void *at)
{
    bool counts = !(t->flags & THREAD_IDLE); /* the scheduler's stack stands for both */
    if (counts && sim_alloc_fails()) {
        return -ENOMEM;
    }
    t->port.tls = at;
    *t->port.tls = (struct sim_tls){.state = TLS_FRESH};
    nblocks++;
    return 0;
}

void port_tls_free(struct thread *t)
{
    struct sim_tls *tls = t->port.tls;
    if (tls->state != TLS_FRESH || tls->installed) {
        sim_fail("the TLS block of thread %u is given up in state %#x%s", t->index,
                 (unsigned)tls->state, tls->installed ? ", in use" : "");
    }
    tls->state = TLS_GONE;
    nblocks--;
}

void port_tls_begin(void)
{
    struct sim_tls *tls = tls_self();
    if (tls->state != TLS_FRESH || tls->word != 0) {
        sim_fail("a thread begins on a TLS block in state %#x", (unsigned)tls->state);
    }
    tls->state = TLS_LIVE;
    tls->ended = false;
}

void port_tls_end(void)
{
    struct sim_tls *tls = tls_self();
    if (tls->state != TLS_LIVE || tls->ended) {
        sim_fail("a thread ends on a TLS block in state %#x", (unsigned)tls->state);
    }
    tls->ended = true;
}

void port_tls_reset(void)
{
    struct sim_tls *tls = tls_self();
    if (tls->state != TLS_LIVE || !tls->ended) {
        sim_fail("a TLS block is reset in state %#x", (unsigned)tls->state);
    }
    tls->state = TLS_FRESH;
    tls->word = 0;
}

bool port_tls_reset_unused(void)
{
    if (tls_self()->word != 0) {
        return false;
    }
    port_tls_end();
    port_tls_reset();
    return true;
}

void sim_tls_switch(struct thread *from, struct thread *to)
{
    if (sim_is_timed()) {
        usage_switch(from, to);
    }
    if (!on) {
        return;
    }
    bool fresh_idle = (to->flags & THREAD_IDLE) && to->port.tls->state == TLS_FRESH;
    if (fresh_idle) {
        to->port.tls->state = TLS_LIVE; /* the scheduler's own thread has no life to begin */
    }
    if (!from->port.tls->installed || to->port.tls->installed || to->port.tls->state == TLS_GONE) {
        sim_fail("a CPU switches from thread %u to %u, and their TLS blocks are %s and %s (%#x)",
                 from->index, to->index, from->port.tls->installed ? "in use" : "not in use",
                 to->port.tls->installed ? "in use" : "not in use", (unsigned)to->port.tls->state);
    }
    from->port.tls->installed = false;
    to->port.tls->installed = true;
}

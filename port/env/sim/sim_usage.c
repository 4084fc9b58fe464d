/* SPDX-License-Identifier: MIT */
/*
 * sim_usage.c - timed runs: frames of pages, accesses through the caches, and what each thread has
 * used.
 *
 * Real addresses change from one process to the next, by pages. So the caches see frames: numbers
 * that pages get in the order of their first touch.
 */
#include <string.h>
#include <sys/mman.h>

#include "sim_clock.h"

enum { PAGE = CACHES_PAGE * CACHES_LINE, PAGES = 1 << 16, THREADS = 32768 };

/* Low bits of a frame's number that the seed chooses: they decide about the sets of caches. */
enum { COLOUR_BITS = 8, FRAME_NODE_SHIFT = CACHES_NODE_SHIFT - 6 };
_Static_assert(1 << 6 == CACHES_PAGE, "a line's number is its frame's, and 6 bits");

static struct {
    uintptr_t page; /* 0: free */
    uint64_t frame;
} pages[PAGES];
static unsigned npages;
static struct sim_rng colours;

static struct caches *machine;
static size_t machine_size;

/* By the thread's index. */
static struct user {
    uint32_t generation;
    bool known;
    unsigned cpu;   /* where it runs, or ran last */
    uint64_t since; /* runs: from then on */
    struct sim_usage used;
} users[THREADS];
static unsigned nusers; /* indexes below are in use */

static void machine_begin(void)
{
    const struct sim_timing *t = sim.config.timed;
    if (machine != NULL) {
        munmap((void *)machine, machine_size);
        machine = NULL;
    }
    if (t->topology == NULL) {
        return;
    }
    machine_size = caches_size(t->topology);
    void *memory = mmap(NULL, machine_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    RT_VERIFY(memory != MAP_FAILED);
    machine = caches_init(memory, t->topology, t->prefetch);
}

void usage_begin(void)
{
    memset(pages, 0, sizeof(pages));
    memset(users, 0, nusers * sizeof(users[0]));
    nusers = 0;
    npages = 0;
    colours.state = (sim.config.seed + 1) * 0x9e3779b97f4a7c15ull;
    machine_begin();
    sim_lines_forget();
}

const struct caches *sim_caches(void)
{
    return machine;
}

/* ---- memory ---- */

static uint64_t frame_of(uintptr_t page, unsigned core)
{
    unsigned i = (unsigned)(page * 0x9e3779b97f4a7c15ull >> 40) % PAGES;
    while (pages[i].page != 0 && pages[i].page != page) {
        i = (i + 1) % PAGES;
    }
    if (pages[i].page == 0) {
        if (npages == PAGES / 2) {
            sim_fail("more than %d pages are touched", PAGES / 2);
        }
        uint64_t colour = sim_rng_next(&colours) >> (64 - COLOUR_BITS);
        uint64_t node = caches_node(machine, core);
        pages[i].page = page;
        pages[i].frame = node << FRAME_NODE_SHIFT | (uint64_t)++npages << COLOUR_BITS | colour;
    }
    return pages[i].frame;
}

static struct user *user_of(const struct thread *t)
{
    if (t->index >= THREADS) {
        sim_fail("a timed run has at most %d threads", THREADS);
    }
    struct user *u = &users[t->index];
    nusers = t->index < nusers ? nusers : t->index + 1;
    if (!u->known || u->generation != t->generation) {
        *u = (struct user){
            .generation = t->generation, .known = true, .cpu = RT_NO_CPU, .since = sim.now};
    }
    return u;
}

uint64_t usage_access(const volatile void *at, bool write, bool by_program)
{
    const struct context *c = &sim.contexts[sim_current];
    if (machine == NULL || c->cpu == NULL || c->cpu->id == RT_NO_CPU) {
        return sim.config.timed->access_ps;
    }
    unsigned core = c->cpu->id;
    if (core >= sim.config.timed->topology->cores) {
        sim_fail("CPU %u: the topology %s has %u cores", core, sim.config.timed->topology->name,
                 sim.config.timed->topology->cores);
    }
    uintptr_t address = (uintptr_t)at;
    uint64_t line = frame_of(address / PAGE, core) * CACHES_PAGE + address % PAGE / CACHES_LINE;
    struct caches_outcome out =
        caches_access(machine, core, line, write, sim.now * 1000 + c->clock_ps);
    struct sim_usage *used = &user_of(c->cpu->current)->used;
    caches_count(by_program ? &used->program : &used->runtime, write, &out);
    if (!by_program && sim.config.timed->lines) {
        lines_note(address, &out);
    }
    return out.ps;
}

/* ---- threads ---- */

void usage_switch(const struct thread *from, const struct thread *to)
{
    struct user *stops = user_of(from), *runs = user_of(to);
    unsigned id = sim_cpu_self()->id;
    stops->used.run_ns += sim.now - stops->since;
    timed_spend((uint64_t)sim.config.timed->switch_ns * 1000);
    runs->since = sim.now;
    runs->used.switches++;
    runs->used.migrations += runs->cpu != RT_NO_CPU && runs->cpu != id;
    runs->cpu = id;
}

void sim_usage(struct sim_usage *usage)
{
    const struct cpu *cpu = sim_cpu_self();
    *usage = (struct sim_usage){0};
    if (sim_is_timed() && cpu != NULL) {
        const struct user *u = user_of(cpu->current);
        *usage = u->used;
        usage->run_ns += sim.now - u->since;
    }
}

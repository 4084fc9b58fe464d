/* SPDX-License-Identifier: MIT
 *
 * steps: plays situations of task affinity, one step after another, so that the trace of the
 * scheduler can be compared line by line with what the rule says (steps.toml, traces.py).
 *
 *     steps [--plays=N] SITUATION
 *
 * A situation says which CPUs the threads are tied to, who depends on whom, and has a list of
 * steps. Each step names the thread that makes it. A thread that is awake spins until a step is its
 * own, so the CPU that it is tied to is busy with it; one that sleeps has left its CPU idle. Mixers
 * may run on every CPU: the scheduler places them. The conductor begins a play and ends it; its
 * name is "play N" for a moment before the steps, and "end N" after them.
 *
 * Four CPUs, x86-64. Status 1: a call failed, or no library has the functions of task affinity.
 *
 * Invariants:
 *  1. Only the thread whose step it is writes `turn` and `leaving`.
 *  2. A step begins when the thread that went to sleep before it is off its CPU.
 */
#include "common/check.h"
#include "common/name.h"
#include "common/options.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));

enum who { CONDUCTOR, WAVE0, WAVE1, WAVE2, WAVE3, MIXER0, MIXER1, MIXER2, OTHER, THREADS, NOBODY };
enum { ANY = -1, CPUS = 4, STEPS = 64, DEPENDENCIES = 8, SETTLE_NS = 100000 };
enum { POLL_US = 1000, REST_US = 250000, SPINS = 250 };

static const char *const names[THREADS] = {"conductor", "wave0",  "wave1",  "wave2", "wave3",
                                           "mixer0",    "mixer1", "mixer2", "other"};

enum what { OVER, WAKES, SLEEPS, RUNS }; /* RUNS: it runs, and that is all */

struct step {
    enum who who;
    enum what what;
    enum who whom; /* WAKES: this thread, which sleeps */
};

struct situation {
    const char *name;
    int cpus[THREADS]; /* that each is tied to, or ANY */
    struct {
        enum who consumer, producer;
    } dependencies[DEPENDENCIES]; /* the first with consumer 0, the conductor, ends them */
    int priorities[THREADS];      /* of SCHED_FIFO; 0: an ordinary thread */
    struct step steps[STEPS];
};

#define FREE_MIXERS [MIXER0] = ANY, [MIXER1] = ANY, [MIXER2] = ANY
#define ALL_DEPENDENCIES                                                                           \
    {                                                                                              \
        {MIXER0, WAVE0}, {MIXER0, WAVE1}, {MIXER1, WAVE2}, {MIXER1, WAVE3}, {MIXER2, MIXER0},      \
        {                                                                                          \
            MIXER2, MIXER1                                                                         \
        }                                                                                          \
    }

static const struct situation situations[] = {
    /* Figure 3.14; its CPUs 1 to 4 are 0 to 3 here. Rule "old". */
    {.name = "bounce",
     .cpus = {[WAVE0] = 1, [WAVE1] = 3, [WAVE2] = 2, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = ALL_DEPENDENCIES,
     .steps = {{CONDUCTOR, WAKES, WAVE1},
               {WAVE1, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE2},
               {WAVE2, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE3},
               {CONDUCTOR, SLEEPS, NOBODY},
               {WAVE3, RUNS, NOBODY},
               /* Step A: wave1's CPU has fewer threads than wave0's. */
               {WAVE1, SLEEPS, NOBODY},
               {WAVE0, WAKES, MIXER0},
               {MIXER0, RUNS, NOBODY},
               {WAVE2, SLEEPS, NOBODY},
               {WAVE3, WAKES, MIXER1},
               {MIXER1, RUNS, NOBODY},
               /* Step B: mixer0's CPU has fewer threads than mixer1's. */
               {MIXER0, SLEEPS, NOBODY},
               {MIXER1, WAKES, MIXER2},
               {MIXER2, RUNS, NOBODY},
               /* Step C, the next sample: mixer2 is on wave1's CPU, and wave1 waits there. */
               {WAVE0, WAKES, WAVE1},
               {WAVE0, WAKES, MIXER0},
               {WAVE0, SLEEPS, NOBODY},
               {MIXER0, RUNS, NOBODY},
               {MIXER1, SLEEPS, NOBODY},
               {MIXER2, SLEEPS, NOBODY},
               {WAVE1, SLEEPS, NOBODY},
               {WAVE3, SLEEPS, NOBODY},
               {MIXER0, WAKES, CONDUCTOR},
               {MIXER0, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Figure 3.23: all CPUs are busy, and another thread is ready first. */
    {.name = "head",
     .cpus = {[WAVE0] = 1, [WAVE1] = 2, [WAVE2] = 3, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = {{MIXER0, WAVE0}},
     .steps = {{CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE1},
               {WAVE1, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE2},
               {WAVE2, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE3},
               {CONDUCTOR, SLEEPS, NOBODY},
               {WAVE3, WAKES, OTHER},
               {WAVE1, WAKES, MIXER0},
               {WAVE0, SLEEPS, NOBODY},
               {MIXER0, SLEEPS, NOBODY},
               {OTHER, SLEEPS, NOBODY},
               {WAVE1, SLEEPS, NOBODY},
               {WAVE2, SLEEPS, NOBODY},
               {WAVE3, WAKES, CONDUCTOR},
               {WAVE3, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Figure 3.23 with two consumers of one CPU: the later one goes before the other. */
    {.name = "two",
     .cpus = {[WAVE0] = 1, [WAVE1] = 2, [WAVE2] = 3, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = {{MIXER0, WAVE0}, {MIXER1, WAVE0}},
     .steps = {{CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE1},
               {CONDUCTOR, SLEEPS, NOBODY},
               {WAVE1, WAKES, MIXER0},
               {WAVE1, WAKES, MIXER1},
               {WAVE0, SLEEPS, NOBODY},
               {MIXER1, SLEEPS, NOBODY},
               {MIXER0, SLEEPS, NOBODY},
               {WAVE1, WAKES, CONDUCTOR},
               {WAVE1, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Figures 4.5 and 4.12: one sample. */
    {.name = "sample",
     .cpus = {[WAVE0] = 0, [WAVE1] = 1, [WAVE2] = 2, [WAVE3] = 3, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = ALL_DEPENDENCIES,
     .steps = {{CONDUCTOR, WAKES, WAVE1}, {WAVE1, RUNS, NOBODY},       {CONDUCTOR, WAKES, WAVE2},
               {WAVE2, RUNS, NOBODY},     {CONDUCTOR, WAKES, WAVE3},   {WAVE3, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE0}, {CONDUCTOR, SLEEPS, NOBODY}, {WAVE0, SLEEPS, NOBODY},
               {WAVE1, WAKES, MIXER0},    {WAVE1, SLEEPS, NOBODY},     {MIXER0, RUNS, NOBODY},
               {WAVE3, SLEEPS, NOBODY},   {WAVE2, WAKES, MIXER1},      {WAVE2, SLEEPS, NOBODY},
               {MIXER1, RUNS, NOBODY},    {MIXER0, SLEEPS, NOBODY},    {MIXER1, WAKES, MIXER2},
               {MIXER1, SLEEPS, NOBODY},  {MIXER2, WAKES, CONDUCTOR},  {MIXER2, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Figure 4.5: a CPU counts by the thread that ran there last. */
    {.name = "last",
     .cpus = {[WAVE0] = 1, [WAVE1] = 3, [WAVE2] = 1, [WAVE3] = 2, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = {{MIXER0, WAVE0}, {MIXER0, WAVE1}},
     .steps = {{CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE1},
               {WAVE1, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE3},
               {CONDUCTOR, SLEEPS, NOBODY},
               /* Step A: wave2 has run on wave0's CPU. */
               {WAVE0, SLEEPS, NOBODY},
               {WAVE3, WAKES, WAVE2},
               {WAVE2, SLEEPS, NOBODY},
               {WAVE1, SLEEPS, NOBODY},
               {WAVE3, WAKES, MIXER0},
               /* Step B: mixer0 has run on wave1's CPU, and wave0 again on its own. */
               {MIXER0, SLEEPS, NOBODY},
               {WAVE3, WAKES, WAVE0},
               {WAVE0, SLEEPS, NOBODY},
               {WAVE3, WAKES, MIXER0},
               {MIXER0, SLEEPS, NOBODY},
               {WAVE3, WAKES, CONDUCTOR},
               {WAVE3, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Section 3.5.1: a thread of higher priority precedes the consumers on wave0's CPU. */
    {.name = "push",
     .cpus = {[WAVE0] = 1, [WAVE1] = 3, [WAVE2] = 2, FREE_MIXERS, [OTHER] = 1},
     .dependencies = {{MIXER0, WAVE0}, {MIXER0, WAVE1}, {MIXER1, WAVE0}},
     .priorities = {[WAVE0] = 10, [OTHER] = 5},
     .steps = {{CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE1},
               {WAVE1, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE2},
               {WAVE2, RUNS, NOBODY},
               {CONDUCTOR, SLEEPS, NOBODY},
               {WAVE1, WAKES, OTHER},
               {WAVE0, WAKES, MIXER0},
               {WAVE1, SLEEPS, NOBODY},
               {MIXER0, RUNS, NOBODY},
               {WAVE0, WAKES, MIXER1},
               {MIXER1, SLEEPS, NOBODY},
               {MIXER0, SLEEPS, NOBODY},
               {WAVE0, SLEEPS, NOBODY},
               {OTHER, SLEEPS, NOBODY},
               {WAVE2, WAKES, CONDUCTOR},
               {WAVE2, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
    /* Section 3.5.1, migration: wave0 goes on, and CPU 3 has been idle. */
    {.name = "late",
     .cpus = {[WAVE0] = 1, [WAVE1] = 2, [WAVE2] = 0, [WAVE3] = 3, FREE_MIXERS, [OTHER] = ANY},
     .dependencies = {{MIXER0, WAVE0}},
     .steps = {{CONDUCTOR, WAKES, WAVE3},
               {WAVE3, SLEEPS, NOBODY},
               {CONDUCTOR, WAKES, WAVE0},
               {WAVE0, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE1},
               {WAVE1, RUNS, NOBODY},
               {CONDUCTOR, WAKES, WAVE2},
               {CONDUCTOR, SLEEPS, NOBODY},
               {WAVE2, RUNS, NOBODY},
               {WAVE0, WAKES, MIXER0},
               {MIXER0, SLEEPS, NOBODY},
               {WAVE0, SLEEPS, NOBODY},
               {WAVE2, SLEEPS, NOBODY},
               {WAVE1, WAKES, CONDUCTOR},
               {WAVE1, SLEEPS, NOBODY},
               {CONDUCTOR, RUNS, NOBODY}}},
};

struct actor {
    pthread_t thread;
    sem_t sem;
    _Atomic(pid_t) tid; /* 0: not there yet */
};

static const struct situation *situation;
static struct actor actors[THREADS];
static atomic_int turn, leaving; /* leaving: who went to sleep in the last step; NOBODY */

/* About a microsecond. The instruction at its end lets the guest's other CPUs run, which take turns
 * on one of the host's; it costs the host thousands of others. */
static void pause_spinning(void)
{
    for (int i = 0; i < SPINS; i++)
        __asm__ volatile("" ::: "memory");
    __builtin_ia32_pause();
}

/* ---- a thread that sleeps ---- */

static bool is_asleep(pid_t tid)
{
    char path[64], line[128];
    const char *state;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    file = fopen(path, "re");
    if (file == NULL)
        app_die("%s cannot be read", path);
    state = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    return state != NULL && state[1] == ' ' && state[2] == 'S';
}

/* The state is set a few instructions before the thread leaves its CPU. */
static void settle(void)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        pause_spinning();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < SETTLE_NS);
}

static void await_asleep(int who)
{
    if (who == NOBODY)
        return;
    while (!is_asleep(atomic_load(&actors[who].tid)))
        pause_spinning();
    settle();
}

/* ---- steps ---- */

static void make_step(int at)
{
    const struct step *step = &situation->steps[at];

    await_asleep(atomic_load(&leaving));
    atomic_store(&leaving, step->what == SLEEPS ? step->who : NOBODY);
    if (step->what == WAKES)
        semaphore_post(&actors[step->whom].sem);
    atomic_store(&turn, at + 1);
    if (step->what == SLEEPS)
        semaphore_wait(&actors[step->who].sem);
}

static void make_steps(enum who who)
{
    int at;

    while (situation->steps[at = atomic_load(&turn)].what != OVER) {
        if (situation->steps[at].who == who)
            make_step(at);
        else
            pause_spinning();
    }
}

static void *act(void *context)
{
    struct actor *a = context;

    atomic_store(&a->tid, gettid());
    semaphore_wait(&a->sem);
    make_steps((enum who)(a - actors));
    return NULL;
}

/* ---- a play ---- */

/* A new thread has the conductor's CPUs. */
static void tie(pthread_t thread, int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = 0; i < CPUS; i++) {
        if (cpu == ANY || cpu == i)
            CPU_SET((size_t)i, &set);
    }
    check_rc(pthread_setaffinity_np(thread, sizeof set, &set), "pthread_setaffinity_np");
}

static void create(enum who who)
{
    struct sched_param param = {.sched_priority = situation->priorities[who]};
    struct actor *a = &actors[who];

    atomic_store(&a->tid, 0);
    semaphore_init(&a->sem, 0);
    thread_start(&a->thread, act, a);
    check_rc(pthread_setname_np(a->thread, names[who]), "pthread_setname_np");
    tie(a->thread, situation->cpus[who]);
    if (param.sched_priority != 0)
        check_rc(pthread_setschedparam(a->thread, SCHED_FIFO, &param), "pthread_setschedparam");
    while (atomic_load(&a->tid) == 0 || !is_asleep(atomic_load(&a->tid)))
        usleep(POLL_US);
}

static void declare_all(void)
{
    for (int i = 0; i < DEPENDENCIES && situation->dependencies[i].consumer != CONDUCTOR; i++) {
        enum who consumer = situation->dependencies[i].consumer;
        enum who producer = situation->dependencies[i].producer;

        check_rc(pthread_add_taskaffinity_np(actors[consumer].thread, actors[producer].thread),
                 "pthread_add_taskaffinity_np");
    }
}

/* The conductor runs with this name, which the trace then has. Before that all sleep, so that the
 * kernel's own threads can end what the new ones have caused. */
static void run_as(const char *what, uint64_t number)
{
    char name[16];

    snprintf(name, sizeof name, "%s %" PRIu64, what, number % 1000);
    check_rc(pthread_setname_np(pthread_self(), name), "pthread_setname_np");
    usleep(REST_US);
    check_rc(pthread_setname_np(pthread_self(), names[CONDUCTOR]), "pthread_setname_np");
    usleep(POLL_US); /* the trace has the name with which a thread began to run */
}

static void play(uint64_t number)
{
    atomic_store(&turn, 0);
    atomic_store(&leaving, NOBODY);
    for (int who = CONDUCTOR + 1; who < THREADS; who++)
        create((enum who)who);
    declare_all();
    run_as("play", number);
    make_steps(CONDUCTOR);
    run_as("end", number);
    for (int who = CONDUCTOR + 1; who < THREADS; who++)
        semaphore_post(&actors[who].sem);
    for (int who = CONDUCTOR + 1; who < THREADS; who++) {
        thread_join(actors[who].thread);
        semaphore_destroy(&actors[who].sem);
    }
}

int main(int argc, char **argv)
{
    uint64_t plays = 1;
    const struct option_spec options[] = {
        option_count("plays", &plays, 1, 999, "how often it is played"),
        {0},
    };
    struct option_page page = {.summary = "Plays a situation of task affinity, step by step.",
                               .operand = "SITUATION",
                               .options = options};
    char **operands = options_parse(argc, argv, &page);

    situation = &situations[OPERAND_CHOICE("SITUATION", operands[0], situations)];
    if (pthread_add_taskaffinity_np == NULL)
        app_die("no library here has pthread_add_taskaffinity_np");
    atomic_store(&actors[CONDUCTOR].tid, gettid());
    semaphore_init(&actors[CONDUCTOR].sem, 0);
    tie(pthread_self(), situation->cpus[CONDUCTOR]);
    for (uint64_t i = 1; i <= plays; i++)
        play(i);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * relay: producers and consumers that wait for each other, and where the kernel places them.
 *
 *     wave0 wave1 ──→ mixer0 ┐
 *     wave2 wave3 ──→ mixer1 ┴→ mixer2      player: needs mixer2, but main wakes it
 *
 * Every round main wakes the waves; each works, and the second of two wakes their mixer; and so
 * on; main waits for mixer2 and then wakes the player. A consumer notes where it runs when it has
 * been woken: on the CPU of the thread that woke it, on that of another producer, or apart from
 * both.
 *
 * With --rt wave0 is a SCHED_FIFO thread, and so is `noise`, of lower priority. wave0 waits for
 * wave1, makes noise ready on its own CPU, and then wakes mixer0, which could not run next there.
 *
 * Each thread writes its own numbers only; a semaphore is between a write of `cpu` and its readers,
 * but a producer that has begun its next round may have written again: those are counted as
 * apart.
 */
#include "common/check.h"
#include "common/clock.h"
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

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));

enum { WAVES = 4, ACTORS = 8, PRODUCERS = 2, NONE = -1 };

struct actor {
    const char *name;
    int producers[PRODUCERS]; /* indices; NONE ends them */
    int wakes;                /* whom it wakes; NONE: main */
    /* The rest is the thread's own, but for sem and what is atomic. */
    pthread_t thread;
    sem_t sem;
    atomic_int missing; /* producers that are not ready yet */
    atomic_int cpu;     /* where it was when it woke its consumer */
    atomic_int waker;   /* CPU of the thread that woke it last */
    int last_cpu;
    unsigned at_waker, at_producer, apart, moves;
};

static struct actor actors[ACTORS] = {
    {.name = "wave0", .producers = {NONE, NONE}, .wakes = 4},
    {.name = "wave1", .producers = {NONE, NONE}, .wakes = 4},
    {.name = "wave2", .producers = {NONE, NONE}, .wakes = 5},
    {.name = "wave3", .producers = {NONE, NONE}, .wakes = 5},
    {.name = "mixer0", .producers = {0, 1}, .wakes = 6},
    {.name = "mixer1", .producers = {2, 3}, .wakes = 6},
    {.name = "mixer2", .producers = {4, 5}, .wakes = NONE},
    {.name = "player", .producers = {6, NONE}, .wakes = NONE},
};
enum { WAVE0 = 0, WAVE1 = 1, PLAYER = 7 };

static uint64_t rounds = 200, work_us = 200, tail_us;
static bool affinity, real_time, each;
static sem_t done, noise_sem, wave1_ready;
static pthread_t noise_thread;
static atomic_bool finished;

static int here_now(void)
{
    return sched_getcpu();
}

/* CPU time, so that a thread that waits for a CPU does not count as one that works. */
static void work(uint64_t us)
{
    struct timespec now;
    uint64_t end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    end = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + us;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 < end);
}

static void *make_noise(void *unused)
{
    (void)unused;
    for (semaphore_wait(&noise_sem); !atomic_load(&finished); semaphore_wait(&noise_sem))
        work(2000);
    return NULL;
}

/* By wave0, a real-time thread of higher priority, when wave1 is ready: `noise` is ready here, and
 * waits. */
static void ready_noise(void)
{
    cpu_set_t set;

    semaphore_wait(&wave1_ready);
    CPU_ZERO(&set);
    CPU_SET((size_t)here_now(), &set);
    check_rc(pthread_setaffinity_np(noise_thread, sizeof set, &set), "pthread_setaffinity_np");
    semaphore_post(&noise_sem);
}

static int inputs_of(const struct actor *a)
{
    return a->producers[1] != NONE ? 2 : 1; /* waves need main */
}

/* The last of a consumer's producers wakes it. */
static void wake(int which)
{
    struct actor *a;

    if (which == NONE) {
        semaphore_post(&done);
        return;
    }
    a = &actors[which];
    if (atomic_fetch_sub(&a->missing, 1) != 1)
        return;
    atomic_store(&a->missing, inputs_of(a));
    atomic_store(&a->waker, here_now());
    semaphore_post(&a->sem);
}

static bool ran_on(const struct actor *a, int cpu)
{
    for (int i = 0; i < PRODUCERS; i++) {
        if (a->producers[i] != NONE && atomic_load(&actors[a->producers[i]].cpu) == cpu)
            return true;
    }
    return false;
}

static void note_place(struct actor *a)
{
    int cpu = here_now();

    if (atomic_load(&a->waker) == cpu)
        a->at_waker++;
    else if (ran_on(a, cpu))
        a->at_producer++;
    else
        a->apart++;
    a->moves += a->last_cpu >= 0 && a->last_cpu != cpu;
    a->last_cpu = cpu;
}

static void *act(void *context)
{
    struct actor *a = context;
    a->last_cpu = NONE;
    for (uint64_t i = 0; i < rounds; i++) {
        semaphore_wait(&a->sem);
        note_place(a);
        work(work_us);
        atomic_store(&a->cpu, here_now());
        if (real_time && a == &actors[WAVE0])
            ready_noise();
        wake(a->wakes);
        if (real_time && a == &actors[WAVE1])
            semaphore_post(&wave1_ready);
        work(tail_us);
    }
    return NULL;
}

static void make_real_time(pthread_t thread, int priority)
{
    struct sched_param param = {.sched_priority = priority};

    check_rc(pthread_setschedparam(thread, SCHED_FIFO, &param), "pthread_setschedparam");
}

static void create_all(void)
{
    semaphore_init(&done, 0);
    semaphore_init(&noise_sem, 0);
    semaphore_init(&wave1_ready, 0);
    for (int i = 0; i < ACTORS; i++) {
        semaphore_init(&actors[i].sem, 0);
        atomic_store(&actors[i].missing, inputs_of(&actors[i]));
        thread_start(&actors[i].thread, act, &actors[i]);
        check_rc(pthread_setname_np(actors[i].thread, actors[i].name), "pthread_setname_np");
    }
    if (!real_time)
        return;
    thread_start(&noise_thread, make_noise, NULL);
    make_real_time(noise_thread, 5);
    make_real_time(actors[0].thread, 10);
}

/* Returns the first error. */
static int declare_all(void)
{
    for (int i = 0; i < ACTORS; i++) {
        for (int k = 0; k < PRODUCERS; k++) {
            int producer = actors[i].producers[k];
            int error;

            if (producer == NONE)
                continue;
            if (pthread_add_taskaffinity_np == NULL)
                return -1;
            error = pthread_add_taskaffinity_np(actors[i].thread, actors[producer].thread);
            if (error != 0)
                return error;
        }
    }
    return 0;
}

static void run_rounds(void)
{
    for (uint64_t i = 0; i < rounds; i++) {
        for (int k = 0; k < WAVES; k++)
            wake(k);
        semaphore_wait(&done); /* mixer2 */
        wake(PLAYER);
        semaphore_wait(&done);
    }
}

static void join_all(void)
{
    for (int i = 0; i < ACTORS; i++)
        thread_join(actors[i].thread);
    atomic_store(&finished, true);
    semaphore_post(&noise_sem);
    if (real_time)
        thread_join(noise_thread);
}

static const char *affinity_word(int declared)
{
    if (!affinity)
        return "off";
    if (declared < 0)
        return "absent";
    return declared == 0 ? "on" : strerror(declared);
}

static void print_results(double seconds, int declared)
{
    struct actor sum = {.at_waker = 0};

    for (int i = 0; i < ACTORS; i++)
        sum.moves += actors[i].moves;
    for (int i = WAVES; i < ACTORS; i++) {
        const struct actor *a = &actors[i];

        if (each)
            printf("%s: at_waker=%u at_producer=%u apart=%u moves=%u\n", a->name, a->at_waker,
                   a->at_producer, a->apart, a->moves);
        sum.at_waker += a->at_waker;
        sum.at_producer += a->at_producer;
        sum.apart += a->apart;
    }
    printf("relay: rounds=%" PRIu64 " at_waker=%u at_producer=%u apart=%u moves=%u affinity=%s"
           " seconds=%.3f\n",
           rounds, sum.at_waker, sum.at_producer, sum.apart, sum.moves, affinity_word(declared),
           seconds);
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_count("rounds", &rounds, 1, 1000000, "how often the waves are woken"),
        option_count("work", &work_us, 0, 1000000, "microseconds of each thread's work"),
        option_count("tail", &tail_us, 0, 1000000, "microseconds of work after waking another"),
        option_flag("affinity", &affinity, "declare who needs whom"),
        option_flag("rt", &real_time, "wave0 is a real-time thread, and another disturbs"),
        option_flag("each", &each, "print a line for each consumer, too"),
        {0},
    };
    struct option_page page = {.summary = "Producers and consumers, and where they run.",
                               .options = options};
    double begin, end;
    int declared = 0;

    options_parse(argc, argv, &page);
    create_all();
    if (affinity)
        declared = declare_all();
    begin = clock_seconds();
    run_rounds();
    end = clock_seconds();
    join_all();
    print_results(end - begin, declared);
    return EXIT_SUCCESS;
}

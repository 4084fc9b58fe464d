/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - what a small system uses of a kernel, for its size (docs/results/board-size.md): four
 * threads in the program's own memory, with priorities, a mutex, a semaphore, and sleeping. It does
 * not depend on how long anything takes. Status 0: it works.
 *
 * The sampler sleeps for a period and posts; the handler, the most urgent thread, waits for that.
 * The two others share a counter under the mutex and sleep in between. On one core the handler has
 * counted an event before the sampler's next instruction.
 */
#include <pirn/static.h>

#define STACK_BYTES 1536u /* small.py knows it */
#define ROUNDS 10u
#define PERIOD_NS 1000000u

const struct pirn_settings pirn_settings = {.preempt = true, .priorities = true};

static pirn_mutex_t mutex = PIRN_MUTEX_INIT;
static pirn_sem_t events = PIRN_SEM_INIT(0);
static unsigned handled, shared, late;

static const pirn_sched_t high = {PIRN_CLASS_FIFO, 3, 0}, middle = {PIRN_CLASS_FIFO, 2, 0},
                          low = {PIRN_CLASS_FIFO, 1, 0};

static void *handle(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&events);
        handled++;
    }
    return unused;
}

static void *sample(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_sleep(PERIOD_NS);
        pirn_sem_post(&events);
        late += handled != i + 1;
    }
    return unused;
}

static void *count(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_mutex_lock(&mutex);
        unsigned seen = shared;
        pirn_yield();
        shared = seen + 1;
        pirn_mutex_unlock(&mutex);
        pirn_sleep(PERIOD_NS);
    }
    return unused;
}

PIRN_THREAD_ROOM(handler, STACK_BYTES, handle, NULL);
PIRN_THREAD_ROOM(sampler, STACK_BYTES, sample, NULL);
PIRN_THREAD_ROOM(first, STACK_BYTES, count, NULL);
PIRN_THREAD_ROOM(second, STACK_BYTES, count, NULL);

static int begin(pirn_static_thread_t *thread, const pirn_sched_t *sched)
{
    thread->sched = sched;
    return pirn_static_create(thread);
}

int main(void)
{
    if (begin(&handler, &high) != 0 || begin(&sampler, &middle) != 0 || begin(&first, &low) != 0 ||
        begin(&second, &low) != 0) {
        return 2;
    }
    if (pirn_static_join(&handler, NULL) != 0 || pirn_static_join(&sampler, NULL) != 0 ||
        pirn_static_join(&first, NULL) != 0 || pirn_static_join(&second, NULL) != 0) {
        return 3;
    }
    return late == 0 && handled == ROUNDS && shared == 2 * ROUNDS ? 0 : 1;
}

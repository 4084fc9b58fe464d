/* SPDX-License-Identifier: MIT */
/*
 * boots.c - a program of threads on the minimal port: create, join, yield, mutexes, conditions,
 * sleep. It uses the public API alone, so a new port links it unchanged.
 */
#include <inttypes.h>
#include <pirn/pirn.h>
#include <stdio.h>

enum { THREADS = 20, ROUNDS = 100 };
#define SLEEP_NS 20000000u

static pirn_mutex_t mutex;
static pirn_cond_t cond;
static uint64_t sum;
static unsigned done;

static void *work(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_mutex_lock(&mutex);
        sum += (uintptr_t)arg;
        pirn_yield();
        pirn_mutex_unlock(&mutex);
    }
    pirn_mutex_lock(&mutex);
    done++;
    pirn_cond_signal(&cond);
    pirn_mutex_unlock(&mutex);
    return arg;
}

static int threads(void)
{
    pirn_thread_t thread[THREADS];
    uint64_t wanted = 0;
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pirn_create(&thread[i], NULL, work, (void *)i) != 0) {
            return 1;
        }
        wanted += i * ROUNDS;
    }
    pirn_mutex_lock(&mutex);
    while (done < THREADS) {
        pirn_cond_wait(&cond, &mutex);
    }
    pirn_mutex_unlock(&mutex);
    for (uintptr_t i = 0; i < THREADS; i++) {
        void *ret = NULL;
        if (pirn_join(thread[i], &ret) != 0 || ret != (void *)i) {
            return 1;
        }
    }
    return sum == wanted ? 0 : 1;
}

/* Late is correct, early is not. */
static int sleeps(void)
{
    uint64_t before = pirn_now();
    pirn_sleep(SLEEP_NS);
    return pirn_now() - before >= SLEEP_NS ? 0 : 1;
}

int main(void)
{
    pirn_mutex_init(&mutex);
    pirn_cond_init(&cond);
    if (threads() != 0 || sleeps() != 0) {
        fprintf(stderr, "boots: sum %" PRIu64 ", %u threads of %d ended\n", sum, done, THREADS);
        return 1;
    }
    printf("boots: %d threads, sum %" PRIu64 "\n", THREADS, sum);
    return 0;
}

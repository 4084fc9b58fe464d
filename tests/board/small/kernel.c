/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - a program that uses the functions of Pétrot and Gomez' kernel
 * (docs/results/board-size.md): threads with attributes, create, join, exit, self, yield; spin
 * locks, mutexes, conditions, semaphores. The part of the library in its image is compared with
 * their kernel. Status 0: it works.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#define STACK_BYTES 32768
#define WORKERS 3
#define ROUNDS 100

static unsigned char stacks[WORKERS][STACK_BYTES] __attribute__((aligned(64)));
static pthread_spinlock_t spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t tokens;
static unsigned turns, spun, ended;
static pthread_t made[WORKERS];

static void *work(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        sem_wait(&tokens);
        pthread_mutex_lock(&mutex);
        turns++;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        pthread_spin_lock(&spin);
        spun++;
        pthread_spin_unlock(&spin);
        sched_yield();
    }
    pthread_mutex_lock(&mutex);
    ended++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    *(pthread_t *)arg = pthread_self();
    pthread_exit(arg);
}

int main(void)
{
    pthread_t threads[WORKERS];
    pthread_attr_t attr;
    void *ret;
    pthread_spin_init(&spin, 0);
    sem_init(&tokens, 0, 0);
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < WORKERS; i++) {
        if (pthread_attr_init(&attr) != 0 ||
            pthread_attr_setstack(&attr, stacks[i], STACK_BYTES) != 0 ||
            pthread_create(&threads[i], &attr, work, &made[i]) != 0) {
            return 2;
        }
    }
    for (unsigned i = 0; i < WORKERS * ROUNDS; i++) {
        sem_post(&tokens);
    }
    while (ended < WORKERS) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    for (unsigned i = 0; i < WORKERS; i++) {
        if (pthread_join(threads[i], &ret) != 0 || ret != &made[i] ||
            !pthread_equal(made[i], threads[i])) {
            return 3;
        }
    }
    return turns == WORKERS * ROUNDS && spun == turns ? 0 : 1;
}

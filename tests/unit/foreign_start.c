/* SPDX-License-Identifier: MIT */
/*
 * foreign_start.c - the first call of the API comes from a kernel thread that is not main and ends:
 * the runtime goes on, and main and other kernel threads use it.
 */
#include <pirn/pirn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int ran;

static void *count(void *arg)
{
    pirn_yield();
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    return arg;
}

static void create_and_join(void)
{
    pirn_thread_t t[10];
    for (int i = 0; i < 10; i++) {
        if (pirn_create(&t[i], NULL, count, NULL) != 0) {
            abort();
        }
    }
    for (int i = 0; i < 10; i++) {
        if (pirn_join(t[i], NULL) != 0) {
            abort();
        }
    }
}

static void *kernel_thread(void *arg)
{
    create_and_join();
    return arg;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, kernel_thread, NULL) != 0 ||
            pthread_join(thread, NULL) != 0) {
            abort();
        }
    }
    create_and_join();
    printf("%d threads have run; main is on CPU %d (-1: foreign)\n", ran, pirn_cpu_self());
    return ran == 40 && pirn_cpu_self() == -1 ? 0 : 1;
}

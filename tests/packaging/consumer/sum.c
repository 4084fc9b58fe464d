/* SPDX-License-Identifier: MIT */
/* As a user of the packages writes it: 100 threads add their numbers. All 101 run on Pirn. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *add(void *n)
{
    pthread_mutex_lock(&lock);
    sum += (long)n;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    static pthread_t thread[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, add, (void *)i) != 0)
            return 1;
    for (long i = 0; i < THREADS; i++)
        if (pthread_join(thread[i], NULL) != 0)
            return 1;
    printf("%ld\n", sum);
    return sum == THREADS * (THREADS - 1) / 2 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
#include "sum.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *add(void *n)
{
    pthread_mutex_lock(&lock);
    sum += (long)n;
    pthread_mutex_unlock(&lock);
    return NULL;
}

long sum_of_threads(int threads)
{
    pthread_t *t = calloc((size_t)threads, sizeof(*t));
    int made = 0;
    sum = 0;
    while (t != NULL && made < threads &&
           pthread_create(&t[made], NULL, add, (void *)(long)made) == 0) {
        made++;
    }
    for (int i = 0; i < made; i++) {
        pthread_join(t[i], NULL);
    }
    free(t);
    return made == threads ? sum : -1;
}

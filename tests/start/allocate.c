/* SPDX-License-Identifier: MIT */
/*
 * allocate.c - 32 threads allocate, free and read their __thread variable; three times, so that
 * threads with the allocator's data end. Prints "done".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 32
#define KEPT 64

static __thread long own;

static void *worker(void *arg)
{
    long me = (long)arg, wrong = 0;
    unsigned char *kept[KEPT] = {0};
    own = me;
    for (unsigned i = 0; i < 20000; i++) {
        unsigned k = (i * 7 + (unsigned)me) % KEPT;
        size_t size = i * 131 % 5000 + 1;
        wrong += kept[k] != NULL && kept[k][0] != (unsigned char)me;
        free(kept[k]);
        kept[k] = malloc(size);
        memset(kept[k], (int)me, size);
        wrong += own != me;
    }
    for (unsigned k = 0; k < KEPT; k++) {
        free(kept[k]);
    }
    return (void *)wrong;
}

int main(void)
{
    long wrong = 0;
    for (int round = 0; round < 3; round++) {
        pthread_t t[THREADS];
        for (long i = 0; i < THREADS; i++) {
            if (pthread_create(&t[i], NULL, worker, (void *)(i + 1)) != 0) {
                return 2;
            }
        }
        for (int i = 0; i < THREADS; i++) {
            void *ret;
            pthread_join(t[i], &ret);
            wrong += (long)ret;
        }
    }
    puts(wrong == 0 ? "done" : "wrong");
    return wrong != 0;
}

/* SPDX-License-Identifier: MIT */
/* The same with the native API, all of whose headers are there. */
#include <pirn/pirn.h>
#include <stdio.h>

enum { THREADS = 100 };

static void *give(void *n)
{
    pirn_yield();
    return n;
}

int main(void)
{
    static pirn_thread_t thread[THREADS];
    long sum = 0;
    for (long i = 0; i < THREADS; i++)
        if (pirn_create(&thread[i], NULL, give, (void *)i) != 0)
            return 1;
    for (long i = 0; i < THREADS; i++) {
        void *n;
        if (pirn_join(thread[i], &n) != 0)
            return 1;
        sum += (long)n;
    }
    printf("%ld\n", sum);
    return sum == THREADS * (THREADS - 1) / 2 ? 0 : 1;
}

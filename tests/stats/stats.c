/* SPDX-License-Identifier: MIT */
/* stats.c - creates 50 threads that yield, then prints the counters in the Prometheus format. */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 50

static void *yields(void *arg)
{
    for (int i = 0; i < 10; i++) {
        pirn_yield();
    }
    return arg;
}

int main(void)
{
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pirn_create(&t[i], NULL, yields, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pirn_join(t[i], NULL);
    }
    char small[16];
    size_t size = pirn_stats_prometheus(NULL, 0);
    char *text = malloc(2 * size);
    if (text == NULL || pirn_stats_prometheus(small, sizeof(small)) < sizeof(small) ||
        strlen(small) != sizeof(small) - 1) {
        fprintf(stderr, "stats: what does not fit is not cut off\n");
        return 1;
    }
    size = pirn_stats_prometheus(text, 2 * size);
    if (size != strlen(text)) {
        fprintf(stderr, "stats: %zu bytes are said to be %zu\n", strlen(text), size);
        return 1;
    }
    fputs(text, stdout);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* plain.c - a program that is not linked with Pirn: creates a thread, joins it, and prints that. */
#include <pthread.h>
#include <stdio.h>

static void *nothing(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, nothing, NULL) != 0 || pthread_join(t, NULL) != 0) {
        return 1;
    }
    puts("done");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* cost.c - an operation, so many times: `cost yield|create_join|pingpong N`. For cost.py. */
#include <pirn/pirn.h>
#include <stdlib.h>
#include <string.h>

static long n;
static pirn_sem_t ping, pong;

static void *yields(void *arg)
{
    for (long i = 0; i < n; i++) {
        pirn_yield();
    }
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *answers(void *arg)
{
    for (long i = 0; i < n; i++) {
        pirn_sem_wait(&ping);
        pirn_sem_post(&pong);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pirn_thread_t t;
    n = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (n == 0) {
        return 2;
    }
    if (strcmp(argv[1], "yield") == 0) {
        pirn_create(&t, NULL, yields, NULL);
        yields(NULL);
        pirn_join(t, NULL);
    } else if (strcmp(argv[1], "create_join") == 0) {
        for (long i = 0; i < n; i++) {
            pirn_create(&t, NULL, nothing, NULL);
            pirn_join(t, NULL);
        }
    } else {
        pirn_create(&t, NULL, answers, NULL);
        for (long i = 0; i < n; i++) {
            pirn_sem_post(&ping);
            pirn_sem_wait(&pong);
        }
        pirn_join(t, NULL);
    }
    return 0;
}

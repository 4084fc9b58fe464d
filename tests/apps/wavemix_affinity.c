/* SPDX-License-Identifier: MIT
 *
 * A library to preload, with the functions of task affinity by which wavemix declares its
 * dependencies: they print the names of both threads. With AFFINITY_ERROR=NUMBER they return that
 * number.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int print(const char *what, pthread_t consumer, pthread_t producer)
{
    const char *error = getenv("AFFINITY_ERROR");
    char names[2][16];

    if (error != NULL)
        return atoi(error);
    if (pthread_getname_np(consumer, names[0], sizeof names[0]) != 0 ||
        pthread_getname_np(producer, names[1], sizeof names[1]) != 0)
        abort();
    fprintf(stderr, "%s %s %s\n", what, names[0], names[1]);
    return 0;
}

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer);
int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer);

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    return print("add", consumer, producer);
}

int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    return print("del", consumer, producer);
}

/* SPDX-License-Identifier: MIT */
/*
 * unlock.c - a thread unlocks a mutex that it does not hold: debug builds of the library say so.
 *
 *     unlock free|other|native
 */
#include <pirn/pirn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pirn_mutex_t native = PIRN_MUTEX_INIT;

/* And does not end. */
static void *locks(void *arg)
{
    pirn_set_name(pirn_self(), "locks");
    pthread_mutex_lock(&mutex);
    pirn_mutex_lock(&native);
    pirn_sem_post(arg);
    pirn_sleep_until(PIRN_FOREVER);
    return arg;
}

static void *nothing(void *arg)
{
    pirn_sem_post(arg);
    return arg;
}

int main(int argc, char **argv)
{
    enum { IS_FREE, IS_OTHER, IS_NATIVE };
    static const char *const kinds[] = {"free", "other", "native"};
    const struct option_page page = {.summary = "Unlocks a mutex that the caller does not hold.",
                                     .operand = "KIND"};
    size_t kind = OPERAND_CHOICE("KIND", options_parse(argc, argv, &page)[0], kinds);
    pthread_t t;
    pirn_sem_t locked = PIRN_SEM_INIT(0);
    if (pthread_create(&t, NULL, kind != IS_FREE ? locks : nothing, &locked) != 0) {
        return 1;
    }
    pirn_sem_wait(&locked);
    if (kind == IS_NATIVE) {
        pirn_mutex_unlock(&native);
    } else {
        pthread_mutex_unlock(&mutex);
    }
    puts("done");
    return 0;
}
